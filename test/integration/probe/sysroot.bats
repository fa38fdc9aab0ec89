#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe --sysroot over trees that mean harm: every file that a provider reads is replaced
# by each thing it must not be. Nothing outside the tree is read, nothing hangs, and what stands
# beside the broken file is still found.

load ../harness

# Longer than any of this takes, shorter than the test run's own limit.
PATIENCE=60

setup()
{
    ROOT=$BATS_TEST_TMPDIR/root
    CARDS=$ROOT/sys/bus/pci/devices
    SECRET=$BATS_TEST_TMPDIR/secret
    mkdir -p "$ROOT/proc/sys/kernel/random" "$ROOT/etc" "$ROOT/sys/module/rebellions" "$ROOT/dev"
    printf 'processor : 0\nflags : fpu lm mmx sse sse2 cx8 cmov fxsr syscall\n' >"$ROOT/proc/cpuinfo"
    echo recorded >"$ROOT/etc/hostname"
    echo 6a1f0d9c-0000-4000-8000-000000000001 >"$ROOT/proc/sys/kernel/random/boot_id"
    echo 2.0.1 >"$ROOT/sys/module/rebellions/version"
    card 0000:01:00.0
    card 0000:02:00.0
    echo 0x1eff >"$SECRET" # what a vendor file of the tree would say
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_SUITE_TMPDIR"
    export OCV_DATADIR=$OCV_TOP/plugins
}

card() # ADDRESS
{
    mkdir -p "$CARDS/$1"
    echo 0x1eff >"$CARDS/$1/vendor"
    echo 0x1250 >"$CARDS/$1/device"
    echo 0x120000 >"$CARDS/$1/class"
    echo 0x00 >"$CARDS/$1/revision"
    echo 0x1eff >"$CARDS/$1/subsystem_vendor"
    echo 0x0001 >"$CARDS/$1/subsystem_device"
    ln -s ../../drivers/rebellions "$CARDS/$1/driver"
}

probe()
{
    run -0 --separate-stderr timeout -k 1 $PATIENCE "$VARIANTCTL" probe --sysroot "$ROOT" --format json
    [ "$(jq -r .schema <<<"$output")" = dev.ocivariant.profile/v1 ]
}

namespace() # NAME FILTER
{
    jq -r --arg name "$1" ".namespaces[] | select(.namespace == \$name) | $2" <<<"$output"
}

# what each attack puts in the place of FILE
ATTACKS=(absolute_link upward_link loop dangling fifo zero_link zero_node tty_node directory huge nul
    control empty socket)

attack() # KIND FILE
{
    rm -rf "$2"
    case $1 in
    absolute_link) ln -s "$SECRET" "$2" ;;
    upward_link) ln -s ../../../../../../../../../../../../../../../../.."$SECRET" "$2" ;;
    loop)
        ln -s "$(basename "$2").other" "$2"
        ln -sf "$(basename "$2")" "$2.other"
        ;;
    dangling) ln -s nowhere "$2" ;;
    fifo) mkfifo "$2" ;;
    zero_link) ln -s /dev/zero "$2" ;;
    zero_node) mknod "$2" c 1 5 2>/dev/null || ln -s /dev/zero "$2" ;;
    tty_node) mknod "$2" c 5 0 2>/dev/null || ln -s /dev/tty "$2" ;;
    directory) mkdir "$2" ;;
    huge) head -c 1048576 /dev/zero | tr '\0' 1 >"$2" ;;
    nul) printf '0x1eff\0\n0x1250' >"$2" ;;
    control) printf '0x\033[31m1eff\n' >"$2" ;;
    empty) : >"$2" ;;
    socket) perl -MIO::Socket::UNIX -e 'chdir shift; IO::Socket::UNIX->new(Local => shift, Listen => 1) or die' \
        "$(dirname "$2")" "$(basename "$2")" ;;
    esac
}

@test "without harm, both cards, processor, host and driver are found" {
    require jq
    probe
    [ "$(namespace rebellions '.devices | length')" = 2 ]
    [ "$(namespace rebellions .driver)" = 2.0.1 ]
    [ "$(namespace x86_64 .status)" = ok ]
    [ "$(jq -r .hostname <<<"$output")" = recorded ]
}

@test "a PCI attribute that is something else costs its own card at most" {
    require jq perl
    local kind file
    for file in vendor device class revision subsystem_vendor subsystem_device; do
        for kind in "${ATTACKS[@]}"; do
            echo "$file: $kind"
            rm -rf "$CARDS"
            card 0000:01:00.0
            card 0000:02:00.0
            attack "$kind" "$CARDS/0000:01:00.0/$file"
            probe
            [ "$(namespace rebellions '.devices[] | select(.id == "0000:02:00.0") | .features[0].values[0]')" = atom_max ]
            [ "$(namespace x86_64 .status)" = ok ]
            case $file in
            vendor | device | class)
                [ "$(namespace rebellions '.devices | length')" = 1 ]
                ;;
            esac
        done
    done
}

@test "the vendor of a card is not read from outside the tree" {
    require jq
    # the tree's own file of that path would count, so it is one that the tree lacks
    attack absolute_link "$CARDS/0000:01:00.0/vendor"
    probe
    [ "$(namespace rebellions '.devices | length')" = 1 ]
    mkdir -p "$CARDS/0000:01:00.0$(dirname "$SECRET")"
    echo 0x1eff >"$CARDS/0000:01:00.0$SECRET"
    probe
    [ "$(namespace rebellions '.devices | length')" = 2 ]
}

@test "driver links, cards and directories of another kind cost their own device alone" {
    require jq perl
    local kind
    for kind in "${ATTACKS[@]}"; do
        echo "driver: $kind"
        attack "$kind" "$CARDS/0000:01:00.0/driver"
        probe
        [ "$(namespace rebellions '.devices[] | select(.id == "0000:02:00.0") | .features[0].values[0]')" = atom_max ]
    done
    for kind in "${ATTACKS[@]}"; do
        echo "card: $kind"
        attack "$kind" "$CARDS/0000:01:00.0"
        probe
        [ "$(namespace rebellions '.devices | length')" = 1 ]
    done
    rm -f "$CARDS/0000:01:00.0.other"
    for kind in "${ATTACKS[@]}"; do
        echo "devices: $kind"
        attack "$kind" "$CARDS"
        probe
        [ "$(namespace x86_64 .status)" = ok ]
    done
}

@test "/proc/cpuinfo that is something else costs the processor, and says why" {
    require jq perl
    local kind
    for kind in "${ATTACKS[@]}"; do
        echo "cpuinfo: $kind"
        attack "$kind" "$ROOT/proc/cpuinfo"
        probe
        [ "$(namespace rebellions '.devices | length')" = 2 ]
        [ "$(jq .platform <<<"$output")" = null ] || [ "$kind" = nul ]
        case $kind in
        fifo | zero_node | tty_node | directory | socket | loop)
            [ "$(namespace "$(uname -m)" .status)" = failed ]
            [[ $(namespace "$(uname -m)" .error) == "/proc/cpuinfo: "* ]]
            ;;
        esac
    done
    # as large as no machine's is
    rm -rf "$ROOT/proc/cpuinfo"
    truncate -s 65M "$ROOT/proc/cpuinfo"
    probe
    [[ $(namespace "$(uname -m)" .error) == "/proc/cpuinfo: "* ]]
    [ "$(namespace rebellions '.devices | length')" = 2 ]
}

@test "attributes and names of another kind of file are left out" {
    require jq perl
    local kind
    for kind in "${ATTACKS[@]}"; do
        echo "version, host name, boot id: $kind"
        attack "$kind" "$ROOT/sys/module/rebellions/version"
        attack "$kind" "$ROOT/etc/hostname"
        attack "$kind" "$ROOT/proc/sys/kernel/random/boot_id"
        probe
        [ "$(namespace rebellions '.devices | length')" = 2 ]
        [ "$(namespace rebellions .driver)" = null ]
        [ "$(jq .hostname <<<"$output")" = null ]
        [ "$(jq .boot_id <<<"$output")" = null ]
    done
    for kind in "${ATTACKS[@]}"; do
        echo "sys, proc: $kind"
        rm -rf "$ROOT/sys" "$ROOT/proc"
        attack "$kind" "$ROOT/sys"
        attack "$kind" "$ROOT/proc"
        probe
    done
}

@test "a file that may not be read is reported, and the rest is probed" {
    require jq setpriv
    [ "$(id -u)" = 0 ] || skip "only root can become somebody else"
    local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups -- env HOME=/nonexistent)
    "${nobody[@]}" test -x "$VARIANTCTL" || skip "another user cannot reach the build directory"
    chmod 000 "$CARDS/0000:01:00.0/vendor" "$ROOT/proc/cpuinfo" "$ROOT/etc/hostname"
    run -0 --separate-stderr "${nobody[@]}" timeout $PATIENCE "$VARIANTCTL" probe --sysroot "$ROOT" --format json
    [ "$(namespace rebellions '.devices | length')" = 1 ]
    [ "$(namespace "$(uname -m)" .error)" = "/proc/cpuinfo: Permission denied" ]
    chmod 000 "$CARDS"
    run -0 --separate-stderr "${nobody[@]}" timeout $PATIENCE "$VARIANTCTL" probe --sysroot "$ROOT" --format text
    [[ $output == *"/sys/bus/pci/devices: Permission denied"* ]]
    chmod 755 "$CARDS"
    # the sysroot itself is what the caller named
    chmod 000 "$ROOT"
    run -1 --separate-stderr "${nobody[@]}" timeout $PATIENCE "$VARIANTCTL" probe --sysroot "$ROOT/sys" --format json
    [[ $stderr == *"Permission denied"* ]]
    chmod 755 "$ROOT"
}
