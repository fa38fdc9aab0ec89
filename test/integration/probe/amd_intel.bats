#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# AMD and Intel from the recorded or hand-made machine to the image that is chosen for it.
# shellcheck disable=SC2154 # stderr is set by run --separate-stderr

load ../harness

setup()
{
    TREE=$BATS_TEST_TMPDIR/tree
    PROFILE=$BATS_TEST_TMPDIR/profile.json
    INDEX=$BATS_TEST_TMPDIR/index.json
    unset ROCM_PATH
    mkdir -p "$TREE/proc"
    printf 'processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: lm fpu\n' >"$TREE/proc/cpuinfo"
}

pci() # ADDRESS VENDOR DEVICE CLASS [DRIVER]
{
    local dir=$TREE/sys/bus/pci/devices/$1
    mkdir -p "$dir"
    echo "0x$2" >"$dir/vendor"
    echo "0x$3" >"$dir/device"
    echo "0x$4" >"$dir/class"
    [ -z "${5:-}" ] || ln -s "../../../../bus/pci/drivers/$5" "$dir/driver"
}

node() # NUMBER TARGET DEVICE LOCATION [CAPABILITY]
{
    local dir=$TREE/sys/class/kfd/kfd/topology/nodes/$1
    mkdir -p "$dir"
    printf 'cpu_cores_count 0\nsimd_count 64\ncapability %s\ngfx_target_version %s\nvendor_id 4098\ndevice_id %s\nlocation_id %s\ndomain 0\n' \
        "${5:-0}" "$2" "$3" "$4" >"$dir/properties"
}

# An index with one image for each line "LABEL PROPERTIES".
index()
{
    jq -nR '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        annotations: {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": "amd, intel"},
        manifests: [[inputs] | to_entries[] | .key as $n |
            (.value | capture("^(?<label>[^ ]+) ?(?<properties>.*)$")) |
            {mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1000,
             digest: ("sha256:" + ("0" * 64 + ($n | tostring))[-64:]),
             platform: {os: "linux", architecture: "amd64"},
             annotations: {"dev.ocivariant.label": .label,
                 "dev.ocivariant.properties": .properties}}]}' >"$INDEX"
}

probe()
{
    "$VARIANTCTL" probe --sysroot "$TREE" --format json >"$PROFILE"
}

# The table as one line: where it is wrapped does not matter here.
table()
{
    "$VARIANTCTL" probe --sysroot "$TREE" --format text | tr -s ' \n' ' '
}

selected()
{
    "$VARIANTCTL" resolve --profile "$PROFILE" --index "$INDEX" "$@" | jq -r .selected.label
}

@test "the exact target before the generic one, that before the default, on a recorded MI300X" {
    require jq
    require_fixtures kfd/mi300x-cpx
    cp -r "$OCV_FIXTURES/kfd/mi300x-cpx/sys" "$TREE/"
    probe
    index <<'LINES'
null
gfx942 amd :: gfx_arch :: gfx942
gfx9_4 amd :: gfx_arch :: gfx9_4_generic
gfx1100 amd :: gfx_arch :: gfx1100
ecc_off amd :: gfx_arch :: gfx942, amd :: sramecc :: off
LINES
    run -0 "$VARIANTCTL" resolve --profile "$PROFILE" --index "$INDEX"
    [ "$(jq -c .order <<<"$output")" = '["gfx942","gfx9_4","null"]' ]
}

@test "an integrated GPU does not keep a build from the card beside it" {
    require jq
    pci 0000:03:00.0 1002 744c 030000 amdgpu
    pci 0000:0e:00.0 1002 164e 030000 amdgpu
    node 1 110000 29772 768
    node 2 100306 5710 3584
    probe
    index <<'LINES'
null
gfx1100 amd :: gfx_arch :: gfx1100
gfx1036 amd :: gfx_arch :: gfx1036
LINES
    [ "$(selected)" = gfx1100 ]
    [ "$(selected --devices amd=0000:0e:00.0 --device-policy amd=any)" = gfx1036 ]
    run -0 table
    [[ $output == *"gfx_arch: gfx1100 gfx1036 gfx11_generic gfx10_3_generic"* ]]
}

@test "two cards of different kinds: what serves both is chosen, unless one is enough" {
    require jq
    node 1 110000 29772 768
    node 2 90402 29857 1280
    probe
    index <<'LINES'
null
gfx942 amd :: gfx_arch :: gfx942
both amd :: gfx_arch :: gfx942, amd :: gfx_arch :: gfx1100
LINES
    [ "$(selected)" = both ]
    # the card for computing stands first
    [ "$(jq -r '.namespaces[] | select(.namespace == "amd").devices[0].id' "$PROFILE")" = 0000:05:00.0 ]
    run -0 "$VARIANTCTL" resolve --profile "$PROFILE" --index "$INDEX"
    [ "$(jq -c .order <<<"$output")" = '["both","null"]' ]
    run -0 "$VARIANTCTL" resolve --profile "$PROFILE" --index "$INDEX" --device-policy amd=first
    [ "$(jq -c .order <<<"$output")" = '["both","gfx942","null"]' ]
    run -0 "$VARIANTCTL" resolve --profile "$PROFILE" --index "$INDEX" --devices amd=0
    [ "$(jq -c .order <<<"$output")" = '["both","null"]' ]
}

@test "a newer ROCm takes images for an older one, and explain says what an even newer image needs" {
    require jq
    node 1 110000 29772 768
    mkdir -p "$TREE/opt/rocm-6.4.1/.info"
    echo 6.4.1-83 >"$TREE/opt/rocm-6.4.1/.info/version"
    ln -s rocm-6.4.1 "$TREE/opt/rocm"
    probe
    index <<'LINES'
null
r62 amd :: gfx_arch :: gfx1100, amd :: rocm_version_lower_bound :: 6.2
r57 amd :: gfx_arch :: gfx1100, amd :: rocm_version_lower_bound :: 5.7
r70 amd :: gfx_arch :: gfx1100, amd :: rocm_version_lower_bound :: 7.0
LINES
    [ "$(selected)" = r62 ]
    run -0 "$VARIANTCTL" explain --profile "$PROFILE" --index "$INDEX"
    [[ $output == *"ROCm at least 7.0"* ]]
}

@test "without the driver nothing is chosen for the GPU, and the table says why" {
    require jq
    pci 0000:05:00.0 1002 74a1 120000
    pci 0000:03:00.0 8086 e20b 030000
    probe
    index <<'LINES'
null
gfx942 amd :: gfx_arch :: gfx942
bmg intel :: device_ip :: 20.1.0
LINES
    [ "$(selected)" = null ]
    run -0 table
    [[ $output == *"amd "*"GPU 0000:05:00.0: the driver 'amdgpu' is not loaded for it"* ]]
    [[ $output == *"intel "*"GPU 0000:03:00.0: neither 'xe' nor 'i915' is loaded for it"* ]]
}

@test "an Intel card runs code for its base version; GPU and NPU do not stand in each other's way" {
    require jq
    pci 0000:00:02.0 8086 a780 030000 i915
    pci 0000:03:00.0 8086 e221 030000 xe
    pci 0000:00:0b.0 8086 643e 120000 intel_vpu
    probe
    index <<'LINES'
null
bmg intel :: device_ip :: 20.1.0
adl intel :: device_ip :: 12.2.0
LINES
    [ "$(selected)" = bmg ]
    index <<'LINES'
null
npu intel :: npu_arch :: 40xx
old intel :: npu_arch :: 37xx
LINES
    [ "$(selected)" = npu ]
}

@test "the recorded laptop's GPU is served" {
    require jq
    require_fixtures pci/ghw-linux-amd64-intel-i7-1270P
    cp -r "$OCV_FIXTURES/pci/ghw-linux-amd64-intel-i7-1270P/." "$TREE"
    chmod -R u+w "$TREE"
    # links may have become files that hold their target
    grep -rlE '^[.][.]/' --include=driver --include='*:*' "$TREE/sys" | while IFS= read -r file; do
        target=$(cat "$file")
        rm "$file"
        ln -s "$target" "$file"
    done || true
    run -0 table
    [[ $output == *"device_ip: 12.3.0"* ]]
}
