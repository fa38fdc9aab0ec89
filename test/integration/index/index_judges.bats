#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What others make of an index: the reference implementation of PEP 825, uv, and go-containerregistry. They are not
# packaged:
#   OCV_VARIANTLIB  a python3 that has variantlib 0.2.2 or newer
#   OCV_UV          uv 0.13.9 or newer
#   OCV_CRANE       crane 0.22.1 or newer

load ../harness

teardown()
{
    state_stop
}

@test "variantlib gives the builds of an index the same order" {
    [ -n "${OCV_VARIANTLIB:-}" ] || skip "OCV_VARIANTLIB names no python3 with variantlib"
    run -0 "$OCV_VARIANTLIB" "$OCV_TOP/test/oracles/order.py" 1000
    [[ $output == "1000 cases, "*" 0 differences "* ]]
}

@test "uv takes the same build for a driver and a GPU" {
    [ -n "${OCV_UV:-}" ] || skip "OCV_UV names no uv"
    UV=$OCV_UV run -0 python3 "$OCV_TOP/test/oracles/order_uv.py" 1000
    [[ $output == "1000 cases, "*" 0 differences "* ]]
}

@test "crane takes the first variant of an index without a default, and the default where there is one" {
    [ -n "${OCV_CRANE:-}" ] || skip "OCV_CRANE names no crane"
    require docker-registry skopeo jq
    state_start
    start_registry
    mkimage "$STATE/images" cpu >/dev/null
    mkimage "$STATE/images" cuda --seed 1 >/dev/null
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/images:none" \
        "cuda12.8=oci:$STATE/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8"
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:with" "null=oci:$STATE/images:cpu" \
        "cuda12.8=oci:$STATE/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8"
    push_layout "$STATE/images:none" "$REGISTRY/app:none"
    push_layout "$STATE/images:with" "$REGISTRY/app:with"
    # what OCV501 says
    run -0 "$OCV_CRANE" digest --insecure --platform linux/amd64 "$REGISTRY/app:none"
    [ "$output" = "$("$VARIANTCTL" index show --format json "$REGISTRY/app:none" | jq -r '.manifests[0].digest')" ]
    run -0 "$OCV_CRANE" digest --insecure --platform linux/amd64 "$REGISTRY/app:with"
    [ "$output" = "$("$VARIANTCTL" index show --format json "$REGISTRY/app:with" | jq -r '.manifests[0].digest')" ]
    run -0 "$VARIANTCTL" index show --format json "$REGISTRY/app:with"
    [ "$(jq -r '.manifests[0].annotations["dev.ocivariant.label"]' <<<"$output")" = null ]
}
