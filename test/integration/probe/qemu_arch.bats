#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The CPU providers of other architectures on emulated processors: test/tools/cpuprobe.c, built
# static for each of them. qemu-user passes the /proc/cpuinfo of its host, which must not be taken
# for the guest's.

load ../harness

# cross ARCH PREFIX: build $BATS_FILE_TMPDIR/ARCH, or say why not in ARCH.skip
cross()
{
    local sources=(test/tools/cpuprobe.c lib/probe/cpu/{cpuinfo,riscv_isa}.c lib/probe/providers/cpu/{cpu,"$1"}.c
        lib/base/buffer.c lib/base/error.c lib/base/text.c) oldest=
    [ "$1" != ppc64le ] || oldest=-mcpu=power8 # compilers of some distributions begin with newer ones
    command -v "$2-gcc" >/dev/null || return 0
    (cd "$OCV_TOP" && "$2-gcc" -std=gnu11 -O1 -Wall -Wextra -Wconversion -Werror -static $oldest -D_GNU_SOURCE \
        -DOCV_VERSION='"test"' -I. -Ilib/include -o "$BATS_FILE_TMPDIR/$1" "${sources[@]}" &&
        "$2-gcc" -static -x c -o "$BATS_FILE_TMPDIR/$1.nothing" - <<<'#include <stdio.h>
            int main(int n, char **v) { printf("%s %d\n", v[0], n); return !fopen("/proc/cpuinfo", "r"); }')
}

# runs_at_all ARCH MODEL: a libc may be built for newer processors than that, as Ubuntu's are
runs_at_all()
{
    "qemu-$1" -cpu "$2" "$BATS_FILE_TMPDIR/$1.nothing" >/dev/null 2>&1
}

setup_file()
{
    cross aarch64 aarch64-linux-gnu
    cross riscv64 riscv64-linux-gnu
    cross ppc64le powerpc64le-linux-gnu
    cross s390x s390x-linux-gnu
}

# on ARCH PREFIX MODEL [FILE]: what cpuprobe says on an emulated processor, into $output
on()
{
    require "qemu-$1" "$2-gcc"
    run -0 --separate-stderr "qemu-$1" -cpu "$3" "$BATS_FILE_TMPDIR/$1" "${@:4}"
    [[ $output != *"source cpuinfo"* ]] || [ $# -gt 3 ]
}

# values FEATURE: its values in $output, best first
values()
{
    sed -n "s/^.* :: $1 :: //p" <<<"$output" | paste -sd ' '
}

# has FLAG, lacks FLAG
has() { [ "$(values "$1")" = on ]; }
lacks() { [ "$(values "$1")" = "" ]; }

arm() { on aarch64 aarch64-linux-gnu "$@"; }
riscv() { on riscv64 riscv64-linux-gnu "$@"; }
power() { on ppc64le powerpc64le-linux-gnu "$@"; }
z() { on s390x s390x-linux-gnu "$@"; }

@test "cortex-a53 is Armv8.0" {
    arm cortex-a53
    [ "$(values version)" = 8a ]
    [[ $output == *$'\nvariant v8\n'* ]]
    [[ $output == "source hwcap"* ]]
    has crc32
    lacks atomics
}

@test "cortex-a76 is Armv8.2" {
    arm cortex-a76
    [ "$(values version)" = "8.2a 8.1a 8a" ]
    has asimddp
    lacks sve
}

@test "neoverse-n1 is Armv8.2" {
    arm neoverse-n1
    [ "$(values version)" = "8.2a 8.1a 8a" ]
    [[ $output == *$'\nvariant v8.2\n'* ]]
    has lrcpc
}

@test "a64fx is Armv8.2 with SVE: it has fcma without jscvt" {
    arm a64fx
    [ "$(values version)" = "8.2a 8.1a 8a" ]
    has sve
    has fcma
    lacks jscvt
}

@test "max has SVE2, and loses it with SVE" {
    arm max
    [[ $(values version) == *"8.3a 8.2a 8.1a 8a" ]]
    has sve2
    has bf16
    arm max,sve=off
    lacks sve2
    [[ $(values version) == 8.*"8.1a 8a" ]]
}

@test "rv64 has the base profile" {
    riscv rv64
    [[ $(values profile) == *rva20u64 ]]
    lacks v
}

@test "a RISC-V processor with vectors has them" {
    riscv rv64,v=on,vext_spec=v1.0
    has v
}

@test "a RISC-V machine's own file counts" {
    riscv rv64 "$OCV_TOP/test/data/cpuinfo/riscv64/rva22-with-v/proc/cpuinfo"
    [ "$(values profile)" = "rva22u64 rva20u64" ]
    has zicond
    [[ $output == "source cpuinfo"* ]]
}

@test "power8, power9 and power10 are their generations" {
    if runs_at_all ppc64le power8; then
        power power8
        [ "$(values level)" = power8 ]
    fi
    power power9
    [ "$(values level)" = "power9 power8" ]
    lacks mma
    power power10
    [ "$(values level)" = "power10 power9 power8" ]
    has mma
}

@test "s390x: vectors make z13; what the emulator lacks is not claimed" {
    z max
    [[ $(values level) == *z13 ]]
    has vx
    has vxe
    z max,vxeh=off
    [ "$(values level)" = z13 ]
    lacks vxe
    if runs_at_all s390x max,vx=off; then
        z max,vx=off
        [ "$(values level)" = "" ]
        lacks vx
    fi
}

@test "big-endian: a recorded z17 reads the same there" {
    z max "$OCV_TOP/test/data/cpuinfo/s390x/z17/proc/cpuinfo"
    [ "$(values level)" = "z17 z16 z15 z14 z13" ]
}

@test "a file of another architecture says nothing" {
    require qemu-aarch64 aarch64-linux-gnu-gcc
    run -1 qemu-aarch64 "$BATS_FILE_TMPDIR/aarch64" \
        "$OCV_TOP/test/data/cpuinfo/s390x/z17/proc/cpuinfo"
    [[ $output == *"no facts"* ]]
}
