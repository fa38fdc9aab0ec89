#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A newer containerd (2.x) through the mirror, where there is one: its CRI plugin pulls by the transfer
# service, which takes every entry of an index that matches the platform.

load harness
load images
load variantd
load cri

setup_file()
{
    local profile
    containerd2_here >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq
    make_programs "$STATE/layout"
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    for profile in h100 mi300x laptop; do
        start_variantd "$profile" --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/$profile.json"
        echo "$VARIANTD" >"$STATE/$profile.address"
    done
    start_cri2 "$STATE/certs.d"
}

teardown_file()
{
    state_stop
}

setup()
{
    local reason
    reason=$(containerd2_here) || skip "$reason"
}

through()
{
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$(<"$STATE/$1.address")"
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    local profile
    for profile in h100 mi300x laptop; do
        through "$profile"
        run -0 pulled_digest "$IMAGE"
        [ "$output" = "$(digest_of "$(wanted "$profile")")" ]
        run -0 cri run "$IMAGE"
        [ "$output" = "this is $(wanted "$profile")" ]
    done
}

# what the written layout is for: entries that match no platform are not downloaded
@test "without a mirror the same tag is the default entry, and no variant is fetched" {
    local label
    rm -rf "$STATE/certs.d"
    ctr -a "$STATE/cri.sock" -n k8s.io images ls -q |
        xargs ctr -a "$STATE/cri.sock" -n k8s.io images rm --sync >/dev/null
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
    local with without
    for image in "$REGISTRY/demo/plain:1" "$REGISTRY/demo/app@$(digest_of rocm7.1)" \
        "$REGISTRY/demo/app@$(index_digest)"; do
        rm -rf "$STATE/certs.d"
        pulled_digest "$image" >/dev/null
        without=$(cri status "$image")
        through h100
        pulled_digest "$image" >/dev/null
        with=$(cri status "$image")
        [ -n "$with" ]
        [ "$with" = "$without" ]
    done
}

@test "fail-closed, as setup writes it and with server alone: nothing without the daemon" {
    local direct address
    direct=$(grep -c 'containerd/' "$STATE/log/registry" || true)
    start_variantd closed --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/mi300x.json"
    address=http://$VARIANTD/proxy
    hosts_toml "$STATE/certs.d" "$REGISTRY" "$address" "$address"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of rocm7.1)" ]
    run -0 pulled_digest "$REGISTRY/demo/plain:1"
    [ "$output" = "$(digest_of cpu.v3)" ]
    hosts_toml "$STATE/certs.d" "$REGISTRY" "$address"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of rocm7.1)" ]
    stop_daemon closed
    run ! pulled_digest "$IMAGE"
    hosts_toml "$STATE/certs.d" "$REGISTRY" "$address" "$address"
    run ! pulled_digest "$IMAGE"
    [ "$(grep -c 'containerd/' "$STATE/log/registry" || true)" = "$direct" ]
}

@test "the daemon is gone: the default entry; nothing stored is anything but whole" {
    start_variantd gone --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json"
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$VARIANTD"
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
        start_variantd setup --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json"
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
