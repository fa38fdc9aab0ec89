#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What `variantctl slim` publishes, pulled by dockerd through the mirror (variantd_slim.bats for the other engines).

load ../harness
load ../images
load ../variantd
load ../docker

MACHINES="a100 a10 rtx4090 h100 laptop"

setup_file()
{
    state_start
    own_docker
    require docker-registry skopeo dockerd docker runc jq openssl nsenter unshare ip
    export XDG_CACHE_HOME=$STATE/cache ORIGINAL SLIM
    mkdir -p "$STATE/layout"
    ORIGINAL=$(python3 "$OCV_TOP/test/integration/slim.py" make "$STATE/layout" app gzip "$OCV_BUILD/test/tools/gpu_library")
    "$VARIANTCTL" slim --quiet --for sm_80 "oci:$STATE/layout:app" --to "oci:$STATE/layout:slim" >/dev/null 2>&1
    SLIM=$("$VARIANTCTL" index show --format json "oci:$STATE/layout:slim" |
        jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "sm80").digest')
    start_namespace
    start_registry tls port=443
    push_within "$STATE/layout:slim" slim/app:1
    printf 'registries:\n  docker.io: {ca: %s}\n' "$STATE/ca.pem" >"$STATE/variantd.yaml"
    start_machines --config "$STATE/variantd.yaml"
    SSL_CERT_FILE=$STATE/ca.pem start_docker classic
}

setup()
{
    own_docker
}

@test "slim: docker on five machines, each the code of its own number or the image as it was" {
    local machine
    [ -n "$SLIM" ] && [ "$SLIM" != "$ORIGINAL" ]
    for machine in $MACHINES; do
        through "$machine"
        run -0 pull slim/app:1
        run -0 stored slim/app:1
        echo "docker on $machine: $output"
        if [ "$machine" = a100 ]; then [ "$output" = "$SLIM" ]; else [ "$output" = "$ORIGINAL" ]; fi
    done
}
