#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# ctr through the mirror: what runs, what a mirror cannot see, what is none of its business.
# (variantd_clients.bats: over TLS; variantd_cri.bats: as a kubelet.)

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr runc jq htpasswd
    start_images
    start_containerd
}

setup()
{
    export CLIENT=ctr
}

# through MACHINE [PATH]: "none" is as without us; PATH: before /v2 in the mirror's address
through()
{
    certs_d "$1" "${2:-}" "$SERVER" "$PRIVATE"
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    each_machine_pulls "$IMAGE"
}

@test "an ordinary index of levels: this machine's, where the daemon chooses among them" {
    levels_are_chosen "$SERVER/demo/levels:1"
}

@test "ordinary images and pulls by digest are as without us" {
    as_without_us "$SERVER/demo/plain:1" "$SERVER/demo/app@$(digest_of rocm7.1)" "$SERVER/demo/app@$(index_digest)"
}

@test "a private image needs its user's own password, as without us" {
    private_as_without_us
}

# The mirror sees a tag only: it gives this machine's image, whatever platform was asked for.
@test "--platform of another architecture: not through a mirrored tag, but by digest and /raw" {
    local index arm
    index=$(curl -sf -H "$ACCEPT_ALL" "http://$SERVER/v2/demo/wide/manifests/1" | sha256sum | cut -d' ' -f1)
    arm=$(curl -sf -H "$ACCEPT_ALL" "http://$SERVER/v2/demo/wide/manifests/1" |
        jq -r '.manifests[] | select(.platform.architecture == "arm64") | .digest')
    through h100
    pull --platform linux/arm64 "$WIDE" || true
    run stored "$WIDE" # of another architecture than was asked for: there, or nothing at all
    [ "$output" != "sha256:$index" ]
    run -0 ctr content ls -q
    [[ $output != *$arm* ]]
    run -0 pull --platform linux/arm64 "$SERVER/demo/wide@sha256:$index"
    run -0 ctr content ls -q
    [[ $output == *$arm* ]]
    through h100 /raw
    run -0 pull --platform linux/arm64 "$WIDE"
    [ "$(stored "$WIDE")" = "sha256:$index" ]
}

@test "a variant is picked by hand through /raw" {
    through h100 /raw
    run -0 pull --platform linux/amd64/x-rocm7-1 "$IMAGE"
    [ "$(stored "$IMAGE")" = "$(index_digest)" ]
    run -0 ctr content ls -q
    [[ $output == *$(digest_of rocm7.1)* ]]
}

@test "a peer after the mirror, without resolve: it is asked for digests alone, and gives the image" {
    start_rules peer "$STATE/layout" <<<'[{"layout": true}]'
    through h100
    printf '[host."http://%s"]\n  capabilities = ["pull"]\n' "$RULES" >>"$STATE/certs.d/$SERVER/hosts.toml"
    run -0 pull "$IMAGE"
    [ "$(stored "$IMAGE")" = "$(digest_of cuda12.8)" ]
    run -0 pull "$SERVER/demo/plain:1" # which the mirror leaves to the registry
    run ! grep -E '/manifests/1[? ]' "$RULES_LOG"
    grep -F "/demo/app/manifests/$(digest_of cuda12.8)" "$RULES_LOG"
    stop_daemon peer
}

@test "fail-closed: everything through the daemon, nothing without it" {
    local direct
    direct=$(grep -c 'containerd/' "$STATE/log/registry" || true)
    start_variantd closed --registry "$SERVER=http://$SERVER" --profile "$PROFILES/mi300x.json"
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$VARIANTD/proxy" "http://$VARIANTD/proxy"
    run -0 pull "$IMAGE"
    [ "$(stored "$IMAGE")" = "$(digest_of rocm7.1)" ]
    run -0 says "$IMAGE"
    [ "$output" = "this is rocm7.1" ]
    stop_daemon closed
    run ! pull "$IMAGE"
    [ "$(grep -c 'containerd/' "$STATE/log/registry")" = "$direct" ]
    through none
    run -0 pull "$IMAGE" # for the next test
}

@test "nothing that was stored is anything but whole" {
    store_is_whole
}
