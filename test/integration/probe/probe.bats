#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe: forms of output, wrong usage, exit codes.
# shellcheck disable=SC2154 # stderr is set by run --separate-stderr

load ../harness

DATA=$OCV_TOP/test/data/cpuid

@test "the JSON form is a profile that the other commands take" {
    require jq
    "$VARIANTCTL" probe --cpuid "$DATA/full.v4.cpuid" >"$BATS_TEST_TMPDIR/profile.json"
    cat >"$BATS_TEST_TMPDIR/index.json" <<'INDEX'
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
 "annotations": {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": "x86_64"},
 "manifests": [
  {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1000,
   "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000001",
   "platform": {"os": "linux", "architecture": "amd64"},
   "annotations": {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""}},
  {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1001,
   "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000002",
   "platform": {"os": "linux", "architecture": "amd64"},
   "annotations": {"dev.ocivariant.label": "v4",
                   "dev.ocivariant.properties": "x86_64 :: level :: v4"}}]}
INDEX
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$BATS_TEST_TMPDIR/profile.json" \
        --index "$BATS_TEST_TMPDIR/index.json"
    [ "$(jq -r .selected.label <<<"$output")" = v4 ]
    "$VARIANTCTL" probe --cpuid "$DATA/no-zmm-state.v3.cpuid" >"$BATS_TEST_TMPDIR/profile.json"
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$BATS_TEST_TMPDIR/profile.json" \
        --index "$BATS_TEST_TMPDIR/index.json"
    [ "$(jq -r .selected.label <<<"$output")" = null ]
}

@test "the table form names level, flags and platform, and keeps to 80 columns" {
    run -0 "$VARIANTCTL" probe --cpuid "$DATA/full.v4.cpuid" --format text
    [[ $output == *"platform      linux/amd64/v4"* ]]
    [[ $output == *"level: v4 v3 v2 v1"* ]]
    [[ $output == *" avx512vl "* ]]
    [ "$(awk 'length > 80' <<<"$output")" = "" ]
}

@test "without a terminal the form is JSON" {
    require jq
    run -0 --separate-stderr "$VARIANTCTL" probe --cpuid "$DATA/baseline.v1.cpuid"
    [ "$(jq -r .schema <<<"$output")" = dev.ocivariant.profile/v1 ]
}

@test "another architecture: its own namespace, none of this machine's" {
    mkdir -p "$BATS_TEST_TMPDIR/tree/proc"
    printf 'vendor_id : IBM/S390\nfeatures : esan3 zarch vx\n' >"$BATS_TEST_TMPDIR/tree/proc/cpuinfo"
    run -0 "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree" --format text
    [[ $output == *"linux/s390x"* ]]
    [[ $output == *"level: z13"* ]]
    [[ $output != *x86_64* ]]
}

@test "a missing file exits 1, a garbled one 4 with file and line" {
    run -1 --separate-stderr "$VARIANTCTL" probe --cpuid "$BATS_TEST_TMPDIR/none"
    [[ $stderr == "variantctl: $BATS_TEST_TMPDIR/none: No such file or directory"* ]]
    printf '# head\n00000000 00000000 0000000z 0 0 0\n' >"$BATS_TEST_TMPDIR/bad"
    run -4 --separate-stderr "$VARIANTCTL" probe --cpuid "$BATS_TEST_TMPDIR/bad"
    [[ $stderr == "variantctl: $BATS_TEST_TMPDIR/bad:2: "* ]]
    run -1 --separate-stderr "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/none"
    [ "$output" = "" ]
}

@test "what is not a recorded machine is refused, with no profile printed" {
    mkdir "$BATS_TEST_TMPDIR/downloads"
    run -4 --separate-stderr "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/downloads"
    [ "$output" = "" ]
    [[ $stderr == "variantctl: $BATS_TEST_TMPDIR/downloads has neither sys/ nor proc/: not a recorded machine"$'\n'"hint: "* ]]
    printf '00:01.0 3D controller: NVIDIA Corporation GH100 [H100] (rev a1)\n\tKernel driver in use: nvidia\n' >"$BATS_TEST_TMPDIR/lspci"
    run -4 --separate-stderr "$VARIANTCTL" probe --pci-dump "$BATS_TEST_TMPDIR/lspci"
    [ "$output" = "" ]
    [[ $stderr == "variantctl: $BATS_TEST_TMPDIR/lspci: names devices without their configuration"*"'lspci -kx'"* ]]
}

@test "wrong usage exits 2" {
    run -2 --separate-stderr "$VARIANTCTL" probe --format yaml
    run -2 --separate-stderr "$VARIANTCTL" probe argument
    run -2 --separate-stderr "$VARIANTCTL" probe --sysroot
    run -0 --separate-stderr "$VARIANTCTL" probe --help
    [[ $output == Usage:* ]]
}
