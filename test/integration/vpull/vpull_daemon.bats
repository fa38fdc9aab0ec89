#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# vpull --print-ref on a node where variantd runs: it asks the daemon for the choice, and makes it
# itself wherever the daemon's need not be its own.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require docker-registry skopeo curl jq
    start_registry
    make_variants "$STATE/layout"
    for image in app cpu; do
        push_layout "$STATE/layout:$image" "$REGISTRY/team/$image:1"
    done
    start_variantd --profile "$PROFILES/h100.json" --registry "$REGISTRY=http://$REGISTRY"
    CUDA=$(digest_of cuda12.8)
    export CUDA OCV_SOCKET=$VARIANTD_SOCKET
}

# Runs vpull --print-ref with the arguments; $here is "yes" where it asked the registry itself.
print_ref()
{
    run --separate-stderr env LD_DEBUG=files LD_DEBUG_OUTPUT="$BATS_TEST_TMPDIR/ld" "$VPULL" --print-ref "$@"
    here=no
    if grep -q 'libcurl' "$BATS_TEST_TMPDIR"/ld.*; then here=yes; fi
    rm -f "$BATS_TEST_TMPDIR"/ld.*
}

@test "the daemon's choice is printed, and no registry is asked by vpull" {
    print_ref "$REGISTRY/team/app:1"
    [ "$status" = 0 ]
    [ "$output" = "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = no ]
    run -0 --separate-stderr "$VPULL" -v --print-ref "$REGISTRY/team/app:1"
    [[ $stderr == *"chosen by variantd"* ]]
}

@test "by the digest of the index, too" {
    local index
    index=$(curl -sf -H "$ACCEPT_ALL" -o /dev/null -D - "http://$REGISTRY/v2/team/app/manifests/1" |
        tr -d '\r' | sed -n 's/^[Dd]ocker-[Cc]ontent-[Dd]igest: //p')
    print_ref "$REGISTRY/team/app@$index"
    [ "$output" = "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = no ]
}

@test "without the daemon the same reference comes from the registry" {
    OCV_SOCKET=$STATE/nobody.sock print_ref --profile "$PROFILES/h100.json" "$REGISTRY/team/app:1"
    [ "$output" = "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = yes ]
}

@test "an option that bears on the choice is obeyed" {
    print_ref --disable nvidia "$REGISTRY/team/app:1"
    [ "$status" = 0 ]
    [ "$output" != "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = yes ]
    print_ref --label null "$REGISTRY/team/app:1"
    [ "$output" != "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = yes ]
}

@test "a variable or a file of the user's is obeyed" {
    OCV_DISABLE=nvidia print_ref "$REGISTRY/team/app:1"
    [ "$output" != "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = yes ]
    mkdir -p "$XDG_CONFIG_HOME/ocivariant"
    echo "disable: [nvidia]" >"$XDG_CONFIG_HOME/ocivariant/config.yaml"
    print_ref "$REGISTRY/team/app:1"
    rm -r "$XDG_CONFIG_HOME/ocivariant"
    [ "$output" != "$REGISTRY/team/app@$CUDA" ]
    [ "$here" = yes ]
}

@test "what the daemon has no variants for is asked here: ordinary, missing, of another registry" {
    print_ref "$REGISTRY/team/cpu:1"
    [ "$status" = 0 ]
    [ "$here" = yes ]
    print_ref "$REGISTRY/team/nothing:1"
    [ "$status" = 1 ]
    [[ $stderr == *"$REGISTRY/team/nothing:1"* ]]
    print_ref "127.0.0.1:1/team/app:1"
    [ "$status" = 1 ]
    [ "$here" = yes ]
}

@test "a daemon that does not answer is not waited for" {
    kill -STOP "$(cat "$STATE/pids/$VARIANTD_NAME")"
    print_ref --profile "$PROFILES/h100.json" "$REGISTRY/team/app:1"
    local with_profile=$output
    print_ref "$REGISTRY/team/app:1"
    kill -CONT "$(cat "$STATE/pids/$VARIANTD_NAME")"
    [ "$with_profile" = "$REGISTRY/team/app@$CUDA" ]
    [ "$status" = 0 ]
    [ "$here" = yes ]
}
