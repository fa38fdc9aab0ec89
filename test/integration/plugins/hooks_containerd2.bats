#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The image verifier in a containerd that knows them (2.0 and newer), where there is one.

load ../harness
load ../images
load ../variantd
load ../cri

setup_file()
{
    containerd2_here >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq
    make_programs "$STATE/layout"
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    start_variantd --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json"
    printf 'policy: enforce\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/enforce.yaml"
    start_verified "$STATE/enforce.yaml"
}

setup()
{
    local reason
    reason=$(containerd2_here) || skip "$reason"
}

@test "what the mirror chose passes, and an ordinary image" {
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of "$(wanted h100)")" ]
    run -0 cri_pull "$REGISTRY/demo/plain:1"
}

@test "a variant that does not fit is blocked before anything is fetched, and the user is told why" {
    rocm=$(digest_of rocm7.1)
    # the node knows it: it was resolved here when the machine was another one
    "$VPULL" --profile "$PROFILES/mi300x.json" --to "oci:$STATE/before" --quiet "$IMAGE"
    run ! cri_pull "$REGISTRY/demo/app@$rocm"
    echo "$output"
    [[ $output == *"does not fit this node"* ]]
    run ! grep -q "$rocm" <(cri_images)
}

@test "a sibling that nobody chose here is known by the index that was resolved" {
    # what the mirror resolved for the first test; no machine of this node ever chose this one
    run -0 pulled_digest "$IMAGE"
    rm -f "$STATE/node/resolved/$(record_of "$(digest_of rocm7.1)" "$REGISTRY/demo/app")"
    run ! cri_pull "$REGISTRY/demo/app@$(digest_of rocm7.1)"
    echo "$output"
    [[ $output == *"(rocm7.1) does not fit this node"*"what would fit: $(wanted h100)"* ]]
    # and one that would do, though it is not the best
    run -0 cri_pull "$REGISTRY/demo/app@$(digest_of cuda12.6)"
}

@test "without the mirror the unresolved variant index arrives: blocked" {
    rm -rf "$STATE/certs.d"
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://127.0.0.1:1"
    run ! cri_pull "$IMAGE"
    echo "$output"
    [[ $output == *"unresolved variant index"* ]]
}
