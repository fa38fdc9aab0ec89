#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A newer containerd (2.x) through the mirror, where there is one: its CRI plugin pulls by the transfer
# service, which takes every entry of an index that matches the platform.

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

setup_file()
{
    containerd2_here >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq htpasswd
    make_programs "$STATE/layout"
    start_registry
    export SERVER=$REGISTRY PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:cpu.v3" "$SERVER/demo/plain:1"
    start_private "$STATE/layout" app
    start_machines --registry "$SERVER=http://$SERVER" --registry "$PRIVATE=http://$PRIVATE"
    start_cri2 "$STATE/certs.d"
}

setup()
{
    local reason
    reason=$(containerd2_here) || skip "$reason"
    export CLIENT=cri
}

through()
{
    certs_d "$1" "${2:-}" "$SERVER" "$PRIVATE"
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    each_machine_pulls "$IMAGE"
}

# what the written layout is for: entries that match no platform are not downloaded
@test "without a mirror the same tag is the default, and no variant is fetched" {
    local label
    through none
    forget_images
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(index_digest)" ]
    run -0 cri run "$IMAGE"
    [ "$output" = "this is null" ]
    run -0 ctr -a "$STATE/cri.sock" -n k8s.io content ls -q
    for label in cuda12.6 cuda12.8 rocm7.1 cpu.v3; do
        [[ $output != *$(digest_of "$label")* ]]
    done
}

@test "ordinary images and pulls by digest are as without us" {
    as_without_us "$SERVER/demo/plain:1" "$SERVER/demo/app@$(digest_of rocm7.1)" "$SERVER/demo/app@$(index_digest)"
}

@test "a private image needs the kubelet's own credentials, as without us" {
    private_as_without_us
}

@test "fail-closed, as setup writes it and with server alone: nothing without the daemon" {
    local direct address
    direct=$(grep -c 'containerd/' "$STATE/log/registry" || true)
    start_variantd closed --registry "$SERVER=http://$SERVER" --profile "$PROFILES/mi300x.json"
    address=http://$VARIANTD/proxy
    hosts_toml "$STATE/certs.d" "$SERVER" "$address" "$address"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of rocm7.1)" ]
    run -0 pulled_digest "$SERVER/demo/plain:1"
    [ "$output" = "$(digest_of cpu.v3)" ]
    hosts_toml "$STATE/certs.d" "$SERVER" "$address"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of rocm7.1)" ]
    stop_daemon closed
    run ! pulled_digest "$IMAGE"
    hosts_toml "$STATE/certs.d" "$SERVER" "$address" "$address"
    run ! pulled_digest "$IMAGE"
    [ "$(grep -c 'containerd/' "$STATE/log/registry" || true)" = "$direct" ]
}

@test "the daemon is gone: the default; nothing stored is anything but whole" {
    start_variantd gone --registry "$SERVER=http://$SERVER" --profile "$PROFILES/h100.json"
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$SERVER" "http://$VARIANTD"
    stop_daemon gone
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(index_digest)" ]
    cri_store_is_whole
}

@test "after variantctl setup: the variant, fail-closed too; all as it was after" {
    local how
    for how in --fail-open --fail-closed; do
        rm -rf "$STATE/certs.d"
        mkdir "$STATE/certs.d"
        stop_daemon cri
        start_cri2
        start_variantd setup --registry "$SERVER=http://$SERVER" --profile "$PROFILES/h100.json"
        "$VARIANTCTL" setup containerd --config-dir "$STATE/certs.d" --engine-config "$STATE/cri.toml" \
            --listen "$VARIANTD" ${how#--fail-open}
        restart_cri2
        run -0 pulled_digest "$IMAGE"
        [ "$output" = "$(digest_of cuda12.8)" ]
        stop_daemon setup
        if [ "$how" = --fail-open ]; then
            run -0 pulled_digest "$IMAGE"
            [ "$output" = "$(index_digest)" ]
        else
            run ! pulled_digest "$IMAGE"
        fi
        "$VARIANTCTL" setup containerd --uninstall
        cmp "$STATE/cri.toml" "$STATE/cri.toml.orig"
        [ -z "$(find "$STATE/certs.d" -type f)" ]
    done
}
