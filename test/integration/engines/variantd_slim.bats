#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What `variantctl slim` publishes, pulled by unmodified engines through the mirror: five machines, one tag.

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

MACHINES="a100 a10 rtx4090 h100 laptop"

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman jq zstd
    start_registry
    export SERVER=$REGISTRY IMAGE=$REGISTRY/slim/app:1 XDG_CACHE_HOME=$STATE/cache
    mkdir -p "$STATE/layout"
    ORIGINAL=$(python3 "$OCV_TOP/test/integration/slim.py" make "$STATE/layout" app zstd "$OCV_BUILD/test/tools/gpu_library")
    export ORIGINAL
    push_layout "$STATE/layout:app" "$SERVER/fat/app:1"
    "$VARIANTCTL" slim --quiet --insecure "$SERVER" --for sm_80 "$SERVER/fat/app:1" --to "$IMAGE" >/dev/null 2>&1
    start_machines --registry "$SERVER=http://$SERVER"
    start_containerd
    start_podman
}

through()
{
    certs_d "$1" '' "$SERVER"
    registries_conf "$(machine "$1")" "$SERVER"
}

@test "slim: containerd and podman on five machines, each the code of its own number or the image as it was" {
    local machine slim
    slim=$("$VARIANTCTL" index show --insecure "$SERVER" --format json "$IMAGE" |
        jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "sm80").digest')
    [ "$slim" != "$ORIGINAL" ]
    for machine in $MACHINES; do
        through "$machine"
        for CLIENT in ctr podman; do
            run -0 pull "$IMAGE"
            run -0 --separate-stderr stored "$IMAGE"
            echo "$CLIENT on $machine: $output"
            if [ "$machine" = a100 ]; then [ "$output" = "$slim" ]; else [ "$output" = "$ORIGINAL" ]; fi
        done
    done
}
