#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# From wheels to a choice: images that buildah makes of them, pushed, derived, published by what was derived,
# and chosen by eight machines.

load ../harness

PLACE=usr/lib/python3/dist-packages
EXAMPLES=$OCV_TOP/plugins/profiles

build() # WHEEL TAG [ENV]: an image of two layers, a base and the wheel as pip unpacks it
{
    local b="buildah --storage-driver overlay" c m
    c=$($b from --pull-never base)
    m=$($b mount "$c")
    mkdir -p "$m/$PLACE"
    python3 -m zipfile -e "$1" "$m/$PLACE"
    $b umount "$c" >/dev/null
    [ -z "${3:-}" ] || $b config --env "$3" "$c"
    $b commit -q --timestamp 0 "$c" "$2" >/dev/null
    $b rm "$c" >/dev/null
    $b push -q --tls-verify=false "$2" "docker://$R/torch:$2"
}

setup_file()
{
    require docker-registry buildah python3
    state_start
    start_podman
    start_registry
    export R=$REGISTRY XDG_CACHE_HOME=$STATE/cache
    local c w
    mkdir "$STATE/wheels" "$STATE/base" "$STATE/nodes" "$STATE/nodes/gang"
    python3 "$OCV_TOP/test/data/content_wheels.py" "$STATE/wheels"
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
    echo base >"$STATE/base/release"
    c=$(buildah --storage-driver overlay from scratch)
    buildah --storage-driver overlay add "$c" "$STATE/base" /etc >/dev/null
    buildah --storage-driver overlay commit -q --timestamp 0 "$c" base >/dev/null
    for w in cpu cu11 cu12 cu13 rocm7; do
        build "$STATE/wheels/torch-2.9+$w-"*.whl "$w" "$([[ $w != cu12 ]] || echo CUDA_VERSION=12.6.3)"
    done
}

teardown_file()
{
    podman system reset --force >/dev/null 2>&1 || true
    state_stop
}

derived() # TAG: its properties
{
    "$VARIANTCTL" derive --json "$R/torch:$1" | jq -r '.images[0].properties | sort | join(", ")'
}

@test "wheels: an image of each says what the wheel was built for" {
    [ "$(derived cpu)" = "" ]
    [ "$(derived cu11)" = "nvidia :: cuda_version_lower_bound :: 11, nvidia :: sm_arch :: 60_real, nvidia :: sm_arch :: 70_real, nvidia :: sm_arch :: 75_real" ]
    # sm_86 is in one of two libraries, and runs what is built for sm_80 in the other; sm_90a needs
    # the chip itself, on which the other's sm_90 runs, too
    [ "$(derived cu12)" = "nvidia :: cuda_version_lower_bound :: 12.0, nvidia :: cuda_version_lower_bound :: 12.6, nvidia :: sm_arch :: 80_real, nvidia :: sm_arch :: 86_real, nvidia :: sm_arch :: 90_real, nvidia :: sm_arch :: 90a_real" ]
    [ "$(derived cu13)" = "nvidia :: cuda_version_lower_bound :: 13, nvidia :: sm_arch :: 100_real, nvidia :: sm_arch :: 120_real, nvidia :: sm_arch :: 120_virtual, nvidia :: sm_arch :: 80_real, nvidia :: sm_arch :: 90_real" ]
    [ "$(derived rocm7)" = "amd :: gfx_arch :: gfx90a, amd :: gfx_arch :: gfx942" ]
    run -0 "$VARIANTCTL" derive "$R/torch:cu12"
    [[ $output == *"$PLACE/torch/version.py: cuda 12.6"* ]]
    [[ $output == *"config: CUDA_VERSION=12.6.3"* ]]
    [[ $output == *"variant.json: variant.json: stated by the publisher"* ]]
}

@test "wheels: the base that all images share is read once" {
    rm -rf "$XDG_CACHE_HOME"
    run -0 "$VARIANTCTL" derive -v "$R/torch:cu11"
    [[ $output != *"read before"* ]]
    run -0 "$VARIANTCTL" derive -v "$R/torch:cu12"
    [ "$(grep -c "read before" <<<"$output")" = 1 ]
}

@test "wheels: published by what was derived, eight machines take their own" {
    run -0 "$VARIANTCTL" index create --quiet --derive --namespaces 'nvidia, amd' "$R/torch:2.9" "null=$R/torch:cpu" \
        "cu13=$R/torch:cu13" "cu12=$R/torch:cu12" "cu11=$R/torch:cu11" "rocm7=$R/torch:rocm7"
    local profile want got
    while read -r want profile; do
        run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$profile" "$R/torch:2.9"
        got=$(jq -r .selected.label <<<"$output")
        echo "$profile: $got, wanted $want"
        [ "$got" = "$want" ]
    done <<END
cu13 $STATE/nodes/h100new.json
cu12 $STATE/nodes/h100old.json
cu12 $STATE/nodes/a100.json
cu11 $STATE/nodes/v100.json
cu12 $EXAMPLES/h100.json
rocm7 $EXAMPLES/mi300x.json
null $STATE/nodes/gaudi.json
null $EXAMPLES/laptop.json
END
}

@test "wheels: a promise that the wheel does not keep is found, and what is kept passes" {
    "$VARIANTCTL" index create --quiet "$R/torch:wrong" "null=$R/torch:cpu" \
        "cu12=$R/torch:cu12,nvidia :: cuda_version_lower_bound :: 12,nvidia :: sm_arch :: 70_real"
    run -5 "$VARIANTCTL" lint --deep "$R/torch:wrong"
    [[ $output == *"nvidia :: sm_arch :: 70_real is claimed, but its files are built for sm_80, sm_86, sm_90, sm_90a"*OCV701* ]]
    "$VARIANTCTL" index create --quiet "$R/torch:right" "null=$R/torch:cpu" \
        "cu12=$R/torch:cu12,nvidia :: cuda_version_lower_bound :: 12,nvidia :: sm_arch :: 80_real"
    run "$VARIANTCTL" lint --deep --json "$R/torch:right"
    [ "$(jq '[.findings[] | select(.rule == "OCV701" or .rule == "OCV702")] | length' <<<"$output")" = 0 ]
    # the older major of a user space
    "$VARIANTCTL" index create --quiet "$R/torch:older" "null=$R/torch:cpu" \
        "cu12=$R/torch:cu13,nvidia :: cuda_version_lower_bound :: 12.8"
    run -5 "$VARIANTCTL" lint --deep "$R/torch:older"
    [[ $output == *"12.8 is claimed"*"libcudart.so.13"* ]]
}
