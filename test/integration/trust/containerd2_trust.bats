#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A resolver cannot keep an engine from the registry: with its image verifier, containerd 2 refuses what is not signed,
# whichever way it came.

load ../harness
load ../images
load ../variantd
load ../cri
load ../trust

setup_file()
{
    containerd2_here >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq openssl curl
    make_programs "$STATE/layout"
    start_registry
    make_keys team other
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1 INDEX CUDA
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    INDEX=$(index_digest) CUDA=$(digest_of "$(wanted h100)")
    trust_config "socket: $STATE/variantd.sock
registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\"}}" "$REGISTRY/demo/**" "{keys: [$STATE/keys/team.pub]}"
    start_variantd --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
    start_verified "$STATE/trust.yaml"
}

setup()
{
    local reason
    reason=$(containerd2_here) || skip "$reason"
}

# refused REFERENCE [TEXT]: the pull fails for that reason, and nothing is left under the name
refused()
{
    run ! cri_pull "$1"
    echo "$output"
    [[ $output == *"${2:-is not signed}"* ]]
    run -0 cri status "$1"
    [ "$output" = null ]
}

@test "not signed: by tag, by the index's digest, by a build's digest, a single image, and through /raw/" {
    before=$(metric variantd_untrusted_total)
    refused "$IMAGE"
    [ "$(metric variantd_untrusted_total)" -gt "$before" ] # it was asked, and answered 404
    refused "$REGISTRY/demo/app@$INDEX"
    refused "$REGISTRY/demo/app@$CUDA"
    refused "$REGISTRY/demo/plain:1"
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$VARIANTD/raw"
    refused "$IMAGE"
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$VARIANTD"
    run -0 cri_pull "$PAUSE_IMAGE" # no rule is about it
}

@test "signed by another key: refused; by the key: the build runs, and its digest passes" {
    sign_bundle other demo/app "$INDEX"
    refused "$IMAGE"
    sign_bundle team demo/app "$INDEX"
    for _ in {1..100}; do ! cri_pull "$IMAGE" >/dev/null 2>&1 || break; sleep 0.2; done # the refusal is remembered for a while
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$CUDA" ]
    run -0 cri run "$IMAGE"
    [ "$output" = "this is $(wanted h100)" ]
    cri rmi "$IMAGE"
    run -0 cri_pull "$REGISTRY/demo/app@$CUDA"
}

@test "without the daemon what it never verified is refused" {
    stop_daemon variantd
    refused "$REGISTRY/demo/plain:1" "variantd cannot be asked"
    run -0 cri_pull "$PAUSE_IMAGE"
}
