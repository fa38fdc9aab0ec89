#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# dockerd through the mirror, with its classic store: everything comes from one endpoint.

load ../harness
load ../images
load ../variantd
load ../docker

setup_file()
{
    state_start
    own_docker
    require docker-registry skopeo dockerd docker runc jq openssl htpasswd nsenter unshare ip
    start_hub
    SSL_CERT_FILE=$STATE/ca.pem start_docker classic
}

setup()
{
    own_docker
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    each_machine_pulls demo/app:1
    run -0 pull app:1 # library/app
    [ "$(stored app:1)" = "$(digest_of cpu.v3)" ]
}

@test "without a mirror the same tag is the default" {
    through none
    run -0 pull demo/app:1
    [ "$(stored demo/app:1)" = "$(index_digest)" ]
    run -0 says demo/app:1
    [ "$output" = "this is null" ]
}

# bats test_tags=slow
@test "an ordinary index of levels: this machine's, where the daemon chooses among them" {
    levels_are_chosen demo/levels:1
}

# bats test_tags=slow
@test "ordinary images and pulls by digest are as without us" {
    as_without_us demo/plain:1 "demo/app@$(digest_of rocm7.1)" "demo/app@$(index_digest)"
}

@test "verify finds what does not fit, with and without a tag" {
    verify_reads_it
}

# The mirror sees a tag only: it gives this machine's image, whatever the client asked for. (dockerd
# takes no mirror with a path, so /raw is none of its ways round.)
@test "--platform gets this machine's image or none, and another by digest" {
    local index
    index=$(wide_index)
    through h100
    # Docker 20.10 is content with it; newer ones have it, too, and say that it is not what was asked for
    if ! pull --platform linux/arm64 demo/wide:1 2>"$BATS_TEST_TMPDIR/said"; then
        grep 'was found but does not match the specified platform: wanted linux/arm64, actual: linux/amd64' \
            "$BATS_TEST_TMPDIR/said"
    fi
    [ "$(stored demo/wide:1)" = "$(digest_of cuda12.8)" ]
    pull --platform linux/arm64 "demo/wide@$index"
    [ "$(docker image inspect --format '{{.Architecture}}' "demo/wide@$index")" = arm64 ]
    pull --platform linux/amd64/x-rocm7-1 "demo/app@$(index_digest)"
    run -0 says "demo/app@$(index_digest)"
    [ "$output" = "this is rocm7.1" ]
}

@test "slim variants: a GPU gets the code of its own number, everybody else the image as it was" {
    local original slim
    original=$(python3 "$OCV_TOP/test/integration/slim.py" make "$STATE/layout" fat gzip "$OCV_BUILD/test/tools/gpu_library")
    XDG_CACHE_HOME=$BATS_TEST_TMPDIR "$VARIANTCTL" slim --quiet "oci:$STATE/layout:fat" --for sm_90 --to "oci:$STATE/layout:slim"
    slim=$("$VARIANTCTL" index show --format json "oci:$STATE/layout:slim" |
        jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "sm90").digest')
    push_within "$STATE/layout:slim" demo/slim:1
    through h100
    run -0 pull demo/slim:1
    [ "$(stored demo/slim:1)" = "$slim" ]
    through laptop
    run -0 pull demo/slim:1
    [ "$(stored demo/slim:1)" = "$original" ]
}

# bats test_tags=slow
@test "a private image needs its user's own password, as without us" {
    private_as_without_us
}

# The daemon's own password answers the tag, and no content.
@test "a private image, and the daemon has the password: the default with the user's own, else nothing" {
    hub_is_private
    through trusted
    log_out
    run ! pull demo/app:1
    run ! docker image inspect demo/app:1
    log_in
    run -0 pull demo/app:1
    [ "$(stored demo/app:1)" = "$(index_digest)" ]
    run -0 says demo/app:1
    [ "$output" = "this is null" ]
}

@test "serve_private: the variant of a private image, which is what it says" {
    hub_is_private
    through sharing
    log_out
    run -0 pull demo/app:1
    [ "$(stored demo/app:1)" = "$(digest_of cuda12.8)" ]
    run -0 says demo/app:1
    [ "$output" = "this is cuda12.8" ]
}
