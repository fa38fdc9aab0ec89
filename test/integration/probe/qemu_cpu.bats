#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe as other processors' users would run it: emulated x86-64 models with exact levels.
# qemu-user emulates no AVX-512, so v4 is tested with recorded CPUID words (test_cpuid).

load ../harness

setup_file()
{
    require qemu-x86_64 jq
    # the emulator runs this machine's own binary and libraries
    [ "$(uname -m)" = x86_64 ] || skip "variantctl is not an x86-64 program here"
}

# probe_as MODEL: the profile of an emulated processor into $output
probe_as()
{
    run -0 --separate-stderr qemu-x86_64 -cpu "$1" "$VARIANTCTL" probe --format json
}

# level_of MODEL LEVEL: exactly this level, the ones below it, and the same platform variant
level_of()
{
    local want
    want=$(for ((v = ${2#v}; v > 0; v--)); do printf 'v%d ' "$v"; done)
    probe_as "$1"
    [ "$(jq -r '.namespaces[] | select(.namespace == "x86_64") | .features[]
        | select(.name == "level") | .values | join(" ")' <<<"$output") " = "$want" ]
    [ "$(jq -r '.platform | [.os, .architecture, .variant] | join("/")' <<<"$output")" = \
        "linux/amd64/$2" ]
    [ "$(jq -r '.namespaces[0].provider.source' <<<"$output")" = cpuid ]
}

# flag MODEL NAME: "on", or nothing
flag()
{
    probe_as "$1"
    jq -r --arg name "$2" '.namespaces[].features[] | select(.name == $name) | .values[]' \
        <<<"$output"
}

@test "qemu64 is v1" { level_of qemu64 v1; }
@test "Conroe is v1" { level_of Conroe v1; }
@test "Penryn is v1" { level_of Penryn v1; }
@test "Opteron_G3 is v1" { level_of Opteron_G3 v1; }
@test "Nehalem is v2" { level_of Nehalem v2; }
@test "Westmere is v2" { level_of Westmere v2; }
@test "SandyBridge is v2: AVX alone is not v3" { level_of SandyBridge v2; }
@test "IvyBridge is v2" { level_of IvyBridge v2; }
@test "Opteron_G5 is v2" { level_of Opteron_G5 v2; }
@test "Haswell is v3" { level_of Haswell v3; }
@test "Broadwell is v3" { level_of Broadwell v3; }
@test "Skylake-Client is v3" { level_of Skylake-Client v3; }
@test "EPYC is v3" { level_of EPYC v3; }
@test "max is v3" { level_of max v3; }

@test "Haswell without movbe is v2" { level_of Haswell,-movbe v2; }
@test "Haswell without lzcnt is v2" { level_of Haswell,-abm v2; }
@test "Haswell without xsave is v2" { level_of Haswell,-xsave v2; }
@test "max without f16c is v2" { level_of max,-f16c v2; }
@test "max without cx16 is v1, whatever it has above" { level_of max,-cx16 v1; }

@test "a flag that is taken away is not in the profile, another that is left is" {
    [ "$(flag EPYC aes)" = on ]
    [ "$(flag EPYC,-aes aes)" = "" ]
    [ "$(flag EPYC,-aes pclmulqdq)" = on ]
    [ "$(flag Nehalem avx2)" = "" ]
    # no saved state, no AVX: whatever the processor's own bits say
    [ "$(flag Haswell,-xsave avx2)" = "" ]
}

@test "a recorded tree is read without openat2, which the emulator lacks" {
    local tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/proc" "$tree/recorded"
    printf 'processor : 0\nflags : lm fpu cx8 cmov mmx fxsr sse sse2\n' >"$tree/recorded/cpuinfo"
    ln -s /recorded/cpuinfo "$tree/proc/cpuinfo"
    run -0 --separate-stderr qemu-x86_64 -cpu max "$VARIANTCTL" probe --sysroot "$tree" \
        --format json
    [ "$(jq -r .platform.variant <<<"$output")" = v1 ]
    [ "$(jq -r '.namespaces[0].provider.source' <<<"$output")" = cpuinfo ]
}

@test "the answer is the same for a file of CPUID words, emulated or not" {
    local file=$OCV_TOP/test/data/cpuid/no-zmm-state.v3.cpuid
    run -0 --separate-stderr qemu-x86_64 -cpu Nehalem "$VARIANTCTL" probe --cpuid "$file" \
        --format json
    [ "$(jq -r .platform.variant <<<"$output")" = v3 ]
}
