#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Images of published wheels: built with buildah, pushed, read, linted with a promise that they do not keep, and
# chosen by eight machines. WHEELS is a directory for the wheels, which the Python registry has; so this is a part of
# `make check-wheels` and not of `make check`.

load ../integration/harness

PLACE=usr/lib/python3/dist-packages
EXAMPLES=$OCV_TOP/plugins/profiles

build() # WHEEL TAG: an image of the wheel, unpacked as by pip
{
    local b="buildah --storage-driver overlay" c m
    c=$($b from scratch)
    m=$($b mount "$c")
    mkdir -p "$m/$PLACE"
    python3 -m zipfile -e "$1" "$m/$PLACE"
    $b umount "$c" >/dev/null
    $b commit -q --rm --timestamp 0 "$c" "$2" >/dev/null
    $b push -q --tls-verify=false "$2" "docker://$R/real:$2"
}

setup_file()
{
    require docker-registry buildah python3
    state_start
    start_podman
    start_registry
    export R=$REGISTRY XDG_CACHE_HOME=$STATE/cache
    python3 "$OCV_TOP/test/wheels/check.py" --fetch "$WHEELS" nvidia_cuda_cuobjdump custatevec_cu13-1.15 nvidia_nvjpeg_cu12-12.4 \
        jax_rocm7_plugin-0.10.2 bitsandbytes-0.50.2
    mkdir -p "$STATE/nodes/gang"
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
    build "$WHEELS"/nvidia_cuda_cuobjdump-*.whl cpu
    build "$WHEELS"/custatevec_cu13-1.15*.whl cu13
    build "$WHEELS"/nvidia_nvjpeg_cu12-12.4*.whl cu12
    build "$WHEELS"/jax_rocm7_plugin-0.10.2*.whl rocm7
    build "$WHEELS"/bitsandbytes-0.50.2*.whl all
}

teardown_file()
{
    podman system reset --force >/dev/null 2>&1 || true
    state_stop
}

has() # TAG PROPERTY...: checks that these are among the derived properties
{
    local properties property
    properties=$("$VARIANTCTL" derive --json "$R/real:$1" | jq -r '.images[0].properties[]')
    shift
    for property; do
        grep -qxF "$property" <<<"$properties" || { echo "$property is not in $properties"; return 1; }
    done
}

@test "published wheels: an image of each says what it was built for" {
    [ "$("$VARIANTCTL" derive --json "$R/real:cpu" | jq '.images[0].properties | length')" = 0 ]
    # its PTX is of CUDA 13.4
    has cu13 "nvidia :: cuda_version_lower_bound :: 13.4" "nvidia :: sm_arch :: 90_real" "nvidia :: sm_arch :: 100_virtual"
    has cu12 "nvidia :: sm_arch :: 70_real" "nvidia :: sm_arch :: 90_real"
    has rocm7 "amd :: gfx_arch :: gfx942" "amd :: gfx_arch :: gfx1201"
    has all "nvidia :: sm_arch :: 90_real" "amd :: gfx_arch :: gfx942"
    run -0 "$VARIANTCTL" derive --json "$R/real:all"
    jq -e '.images[0].needs | any(.is == "Intel SYCL")' <<<"$output"
}

@test "published wheels: a promise that is not kept is found" {
    "$VARIANTCTL" index create --quiet "$R/real:wrong" "null=$R/real:cpu" "cu13=$R/real:cu13,nvidia :: sm_arch :: 70_real"
    run -5 "$VARIANTCTL" lint --deep "$R/real:wrong"
    [[ $output == *"nvidia :: sm_arch :: 70_real is claimed"*OCV701* ]]
    "$VARIANTCTL" index create --quiet "$R/real:wrong" "null=$R/real:cpu" "rocm7=$R/real:rocm7,amd :: gfx_arch :: gfx803"
    run -5 "$VARIANTCTL" lint --deep "$R/real:wrong"
    [[ $output == *"amd :: gfx_arch :: gfx803 is claimed"*OCV701* ]]
}

# a driver of CUDA 13.0 runs the machine code of 13.4, and compiles none of its PTX
@test "published wheels: eight machines take their own" {
    run -0 "$VARIANTCTL" index create --quiet --derive --namespaces 'nvidia, amd' "$R/real:1" "null=$R/real:cpu" \
        "cu13=$R/real:cu13" "cu12=$R/real:cu12" "rocm7=$R/real:rocm7"
    local profile want got
    while read -r want profile; do
        run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$profile" "$R/real:1"
        got=$(jq -r .selected.label <<<"$output")
        echo "$profile: $got, wanted $want"
        [ "$got" = "$want" ]
    done <<END
cu13_minor $STATE/nodes/h100new.json
cu12 $STATE/nodes/h100old.json
cu12 $STATE/nodes/a100.json
cu12 $STATE/nodes/v100.json
cu12 $EXAMPLES/h100.json
rocm7 $EXAMPLES/mi300x.json
null $STATE/nodes/gaudi.json
null $EXAMPLES/laptop.json
END
}
