#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe --format text on machines made here: what an operator reads. The golden texts
# are test/data/probe/*.txt; the provider beside them is shipped by nobody.
# shellcheck disable=SC2154,SC2119,SC2120 # stderr is set by run --separate-stderr; table takes options

load ../harness

DATA=$OCV_TOP/test/data/probe

setup()
{
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/proc" "$tree/etc" "$tree/sys/bus/pci/devices"
    export OCV_DATADIR=$DATA
}

# device ADDRESS VENDOR DEVICE CLASS [DRIVER]
device()
{
    local dir=$tree/sys/bus/pci/devices/$1
    mkdir -p "$dir"
    echo "0x$2" >"$dir/vendor"
    echo "0x$3" >"$dir/device"
    echo "0x$4" >"$dir/class"
    [ -z "${5:-}" ] || ln -s "../../drivers/$5" "$dir/driver"
}

table()
{
    "$VARIANTCTL" probe --sysroot "$tree" --format text "$@"
}

golden()
{
    table >"$BATS_TEST_TMPDIR/table"
    diff -u "$DATA/$1.txt" "$BATS_TEST_TMPDIR/table"
}

@test "a baseline processor is ready, and no accelerator is said to be none" {
    printf 'processor\t: 0\nhart\t: 0\nisa\t: rv64imac\n' >"$tree/proc/cpuinfo"
    echo board-3 >"$tree/etc/hostname"
    mkdir -p "$tree/proc/sys/kernel/random"
    echo 7c8f8f38-8b2e-4f3f-9f6e-0a52a2a3b4c5 >"$tree/proc/sys/kernel/random/boot_id"
    golden baseline
}

@test "devices: alike, without a driver, of an unknown kind, without a provider, broken" {
    printf 'vendor_id : IBM/S390\nfeatures : esan3 zarch vx\n' >"$tree/proc/cpuinfo"
    mkdir -p "$tree/sys/module/testnpu"
    echo 2.4.1 >"$tree/sys/module/testnpu/version"
    for address in 0000:3b:00.0 0000:3c:00.0 0000:5e:00.0 0000:5f:00.0 0000:86:00.0; do
        device $address 1e0e 0003 120000 testnpu
        echo 34359738368 >"$tree/sys/bus/pci/devices/$address/memory_bytes"
        echo 1.7.0 >"$tree/sys/bus/pci/devices/$address/fw"
    done
    device 0000:d8:00.0 1e0e 0002 120000
    device 0000:d9:00.0 1e0e 0099 120000 testnpu
    device 0000:02:00.0 1a03 2000 030000 ast
    mkdir -p "$tree/sys/bus/pci/devices/0000:e0:00.0" "$tree/sys/bus/pci/devices/junk"
    golden devices
    [ "$(awk 'length > 80' "$BATS_TEST_TMPDIR/table")" = "" ]
}

@test "no colour and no control characters" {
    run -0 table
    [[ $output != *$'\e'* ]]
}

@test "the table keeps to the width of the terminal" {
    command -v script >/dev/null || skip "no script"
    printf 'vendor_id : IBM/S390\nfeatures : esan3 zarch vx\n' >"$tree/proc/cpuinfo"
    device 0000:d9:00.0 1e0e 0099 120000 testnpu
    for columns in 50 120; do
        script -qec "stty cols $columns; '$VARIANTCTL' probe --sysroot '$tree'" /dev/null </dev/null |
            tr -d '\r' >"$BATS_TEST_TMPDIR/table"
        [ "$(awk -v n=$columns 'length > n' "$BATS_TEST_TMPDIR/table")" = "" ]
        grep -q "^testnpu  *needs attention" "$BATS_TEST_TMPDIR/table"
        run ! grep -q $'\e' "$BATS_TEST_TMPDIR/table"
    done
    # what is broken at 50 columns stands on one line at 120
    grep -q "Prototype of an accelerator with a name too long for one line of eighty$" "$BATS_TEST_TMPDIR/table"
}

@test "control characters of a provider do not reach the terminal" {
    device 0000:01:00.0 1e0e 0002 120000 testnpu
    mkdir -p "$BATS_TEST_TMPDIR/data/providers"
    cp "$DATA/providers/testnpu.yaml" "$BATS_TEST_TMPDIR/data/providers"
    printf '1e0e  Testing\n\t0002  \033[31mred\302\233bell\007\n' >"$BATS_TEST_TMPDIR/data/pci.ids"
    OCV_DATADIR=$BATS_TEST_TMPDIR/data run -0 table
    [[ $output == *"Testing ?[31mred?bell?"* ]]
}

@test "one broken device hides no other" {
    require jq
    device 0000:01:00.0 1e0e 0003 120000 testnpu
    device 0000:02:00.0 1e0e 0003 120000 testnpu
    device 0000:03:00.0 1e0e 0003 120000 testnpu
    rm "$tree/sys/bus/pci/devices/0000:02:00.0/vendor"
    mkfifo "$tree/sys/bus/pci/devices/0000:02:00.0/vendor"
    ln -s nowhere "$tree/sys/bus/pci/devices/0000:00:00.0"
    run -0 --separate-stderr "$VARIANTCTL" probe --sysroot "$tree" --format json
    [ "$(jq -c '[.namespaces[] | select(.namespace == "testnpu").devices[].id]' <<<"$output")" = \
        '["0000:01:00.0","0000:03:00.0"]' ]
    run -0 table
    [[ $output == *"2 PCI devices could not be read and are left out"* ]]
}

@test "what the JSON form says does not change with the list of names" {
    require jq
    device 0000:01:00.0 1e0e 0002 120000 testnpu
    run -0 --separate-stderr "$VARIANTCTL" probe --sysroot "$tree" --format json
    [ "$(jq '[.. | objects | select(has("pci_id") or has("kernel_driver"))] | length' <<<"$output")" = 0 ]
    [ "$(jq 'has("other_devices")' <<<"$output")" = false ]
    run -0 table
    [[ $output == *"0000:01:00.0 Testing Corporation Second Generation NPU"* ]]
}

@test "long lists are shortened, and shown in full with -v" {
    printf 'processor : 0\nBogoMIPS : 50\nFeatures : fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 frint svei8mm svebf16 i8mm bf16 dgh rng bti ecv wfxt\nCPU implementer : 0x41\nCPU architecture: 8\nCPU variant : 0x0\nCPU part : 0xd4f\nCPU revision : 0\n' >"$tree/proc/cpuinfo"
    run -0 table
    [[ $output == *"version: 9.2a 9.1a 9.0a 8.7a ... 8a (11 in all)"* ]]
    run -0 table -v
    [[ $output == *"version: 9.2a 9.1a 9.0a 8.7a 8.6a 8.5a 8.4a 8.3a 8.2a 8.1a 8a"* ]]
}

# one line per namespace, for texts that the table wraps
unwrapped()
{
    awk '/^[^ ]/ { if (line) print line; line = $0; next } { sub(/^ +/, " "); line = line $0 } END { print line }' \
        <<<"$output"
}

@test "what is missing and why: driver not loaded, upgraded without a reboot, taken by another" {
    export OCV_DATADIR=$OCV_TOP/plugins
    device 0000:18:00.0 10de 2330 030200
    run -0 table
    [[ $(unwrapped) == *"nvidia        needs attention: the NVIDIA driver is not loaded"* ]]
    [[ $output == *"no driver is bound to it"* ]]
    ln -s ../../drivers/nvidia "$tree/sys/bus/pci/devices/0000:18:00.0/driver"
    mkdir -p "$tree/sys/module/nvidia" "$tree/usr/lib/x86_64-linux-gnu"
    echo 535.161.08 >"$tree/sys/module/nvidia/version"
    run -0 table
    [[ $(unwrapped) == *"nvidia        ready (driver 535.161.08, from sysfs)"* ]]
    touch "$tree/usr/lib/x86_64-linux-gnu/libcuda.so.570.124.06"
    ln -s libcuda.so.570.124.06 "$tree/usr/lib/x86_64-linux-gnu/libcuda.so.1"
    run -0 table
    [[ $(unwrapped) == *"needs attention: the driver's libraries are of version 570.124.06 and its loaded module of 535.161.08"* ]]
    [[ $(unwrapped) == *"driver/library version mismatch: reboot or reload the module"* ]]
    [[ $(unwrapped) == *"does not count: the driver's libraries are of version 570.124.06"* ]]
    [[ $output == *"no build can use it"* ]]
}

as_nobody()
{
    HOME=/nonexistent XDG_CONFIG_HOME='' setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

@test "a device node that this user may not open is named with its group" {
    [ "$(id -u)" = 0 ] || skip "not root: cannot make a device node"
    as_nobody test -x "$VARIANTCTL" || skip "another user cannot reach the build directory"
    mkdir -p "$tree/dev"
    mknod "$tree/dev/kfd" c 1 3 2>/dev/null || skip "no device nodes here"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$(dirname "$BATS_TEST_TMPDIR")" "$tree"
    chgrp video "$tree/dev/kfd"
    chmod 660 "$tree/dev/kfd"
    run -0 table
    [[ $output != *permission* ]]
    run -0 as_nobody "$VARIANTCTL" probe --sysroot "$tree" --format text
    [[ $output == *"access        no permission to open /dev/kfd: this user is not in group 'video'"* ]]
    chmod 600 "$tree/dev/kfd"
    run -0 as_nobody "$VARIANTCTL" probe --sysroot "$tree" --format text
    [[ $output == *"/dev/kfd (mode 0600, owner 0:"* ]]
}

@test "a dump stands for the PCI devices of this machine" {
    require jq
    OCV_DATADIR=$OCV_TOP/plugins run -0 --separate-stderr "$VARIANTCTL" probe \
        --pci-dump "$OCV_TOP/test/data/pci/gpu-server.lspci" --format json
    [ "$(jq -c '[.namespaces[].devices[]?.id] | unique' <<<"$output")" = '["0000:18:00.0","10001:3b:00.0"]' ]
    [ "$(jq 'has("hostname") or has("boot_id") or has("platform")' <<<"$output")" = false ]
    [ "$(jq '[.namespaces[].namespace] | any(. == "x86_64" or . == "aarch64")' <<<"$output")" = false ]
    printf '%s\n' '0 0 d 0 0 0' '1 0 0 0 2000000 178bfbff' '80000000 0 80000001 0 0 0' \
        '80000001 0 0 0 1 20100800' >"$BATS_TEST_TMPDIR/cpuid"
    OCV_DATADIR=$OCV_TOP/plugins run -0 --separate-stderr "$VARIANTCTL" probe \
        --pci-dump "$OCV_TOP/test/data/pci/gpu-server.lspci" --cpuid "$BATS_TEST_TMPDIR/cpuid" --format json
    [ "$(jq -r .platform.architecture <<<"$output")" = amd64 ]
    [ "$(jq -r '.namespaces[] | select(.namespace == "x86_64").provider.source' <<<"$output")" = cpuid ]
    run -1 --separate-stderr "$VARIANTCTL" probe --pci-dump "$BATS_TEST_TMPDIR/none"
    [[ $stderr == "variantctl: $BATS_TEST_TMPDIR/none: No such file or directory"* ]]
    echo "no dump" >"$BATS_TEST_TMPDIR/bad"
    run -4 --separate-stderr "$VARIANTCTL" probe --pci-dump "$BATS_TEST_TMPDIR/bad"
    [[ $stderr == *"no device in it; expected the output of 'lspci -kx'"* ]]
}

@test "libpci reads this machine, and neither a tree nor a dump" {
    device 0000:01:00.0 1e0e 0003 120000 testnpu
    run -0 env LD_DEBUG=files "$VARIANTCTL" probe --sysroot "$tree"
    [[ $output == *libjansson* ]]
    [[ $output != *libpci* ]]
    run -0 env LD_DEBUG=files "$VARIANTCTL" probe --pci-dump "$OCV_TOP/test/data/pci/gpu-server.lspci"
    [[ $output != *libpci* ]]
    [ -d /sys/bus/pci/devices ] || skip "no PCI here"
    run -0 env LD_DEBUG=files "$VARIANTCTL" probe --format json
    grep -q 'calling init: .*libpci.so.3' <<<"$output"
}

@test "this machine without libpci has the same devices" {
    require jq
    run -0 --separate-stderr "$VARIANTCTL" probe --format json
    with=$(jq -S 'del(.generated)' <<<"$output")
    mkdir "$BATS_TEST_TMPDIR/lib"
    head -c 4096 /dev/zero >"$BATS_TEST_TMPDIR/lib/libpci.so.3" # no library
    export LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/lib
    run -0 env LD_DEBUG=files "$VARIANTCTL" probe --format json
    [[ $output == *"file=libpci.so.3"* ]]
    run ! grep -q 'calling init: .*libpci.so.3' <<<"$output"
    run -0 --separate-stderr "$VARIANTCTL" probe --format json
    [ "$(jq -S 'del(.generated)' <<<"$output")" = "$with" ]
    [ -z "$stderr" ]
}

@test "a broken device in a dump hides no other" {
    require jq
    sed '/^00: a3 1d/s/a3/zz/; /^00: 86 80/d' "$OCV_TOP/test/data/pci/gpu-server.lspci" >"$BATS_TEST_TMPDIR/dump"
    run -0 --separate-stderr "$VARIANTCTL" probe --pci-dump "$BATS_TEST_TMPDIR/dump" --format json
    [ "$(jq -c '[.namespaces[].devices[]?.id] | unique' <<<"$output")" = '["0000:18:00.0"]' ]
    run -0 "$VARIANTCTL" probe --pci-dump "$BATS_TEST_TMPDIR/dump" --format text
    [[ $output == *"2 PCI devices could not be read and are left out"* ]]
}

@test "a profile that was recorded is shown as a table, and a wrong one refused" {
    run -0 "$VARIANTCTL" probe --format text --profile "$OCV_TOP/plugins/profiles/h100.json"
    [[ ${lines[0]} == "host "*"h100"* ]]
    [[ $output == *"nvidia        ready (driver "*"NVIDIA H100 80GB HBM3"* ]]
    run -0 "$VARIANTCTL" probe --json --profile "$OCV_TOP/plugins/profiles/h100.json"
    diff <(jq -S . <<<"$output") <(jq -S . "$OCV_TOP/plugins/profiles/h100.json")
    printf '{}' >"$BATS_TEST_TMPDIR/none.json"
    run -4 "$VARIANTCTL" probe --profile "$BATS_TEST_TMPDIR/none.json"
    [[ $output == "variantctl: $BATS_TEST_TMPDIR/none.json: "* ]]
}
