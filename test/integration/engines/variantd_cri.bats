#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# containerd's CRI plugin, called by gRPC like by a kubelet, through the mirror.

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr runc jq htpasswd
    make_programs "$STATE/layout"
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1 PLAIN_REGISTRY=$REGISTRY
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    start_private "$STATE/layout" app
    start_machines --registry "$PLAIN_REGISTRY=http://$PLAIN_REGISTRY" --registry "$PRIVATE=http://$PRIVATE"
    start_cri "$STATE/certs.d"
}

setup()
{
    export CLIENT=cri
}

# through MACHINE: containerd's mirror is that machine's daemon; "none": as without us
through()
{
    certs_d "$1" "${2:-}" "$PLAIN_REGISTRY" "$PRIVATE"
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    each_machine_pulls "$IMAGE"
}

@test "without a mirror the same tag is the default" {
    through none
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(index_digest)" ]
    run -0 cri run "$IMAGE"
    [ "$output" = "this is null" ]
}

@test "ordinary images and pulls by digest are as without us" {
    as_without_us "$PLAIN_REGISTRY/demo/plain:1" "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)" \
        "$PLAIN_REGISTRY/demo/app@$(index_digest)"
    run -0 cri run "$PLAIN_REGISTRY/demo/app@$(index_digest)"
    [ "$output" = "this is null" ] # what is pinned to the index stays the default
}

@test "a private image needs the kubelet's own credentials, as without us" {
    private_as_without_us
}

@test "fail-closed: everything through the daemon, nothing without it" {
    local direct
    direct=$(grep -c 'containerd/' "$STATE/log/registry" || true)
    start_variantd closed --registry "$PLAIN_REGISTRY=http://$PLAIN_REGISTRY" --profile "$PROFILES/mi300x.json"
    hosts_toml "$STATE/certs.d" "$PLAIN_REGISTRY" "http://$VARIANTD/proxy" "http://$VARIANTD/proxy"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of rocm7.1)" ]
    run -0 pulled_digest "$PLAIN_REGISTRY/demo/plain:1"
    [ "$output" = "$(digest_of cpu.v3)" ]
    stop_daemon closed
    run ! pulled_digest "$IMAGE"
    [ "$(grep -c 'containerd/' "$STATE/log/registry")" = "$direct" ]
}

@test "nothing that was stored is anything but whole" {
    cri_store_is_whole
}
