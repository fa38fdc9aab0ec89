#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# dockerd through the mirror, with containerd's store, which is the default of new installations since 29:
# the variant's name comes from the mirror, all that it consists of from docker.io itself.

load ../harness
load ../images
load ../variantd
load ../docker

setup_file()
{
    docker_here containerd >/dev/null || return 0
    state_start
    require docker-registry skopeo dockerd docker runc jq openssl htpasswd nsenter unshare ip
    start_hub
    SSL_CERT_FILE=$STATE/ca.pem start_docker containerd
}

setup()
{
    local reason
    reason=$(docker_here containerd) || skip "$reason"
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

@test "an ordinary index of levels: this machine's, where the daemon chooses among them" {
    levels_are_chosen demo/levels:1
}

@test "ordinary images and pulls by digest are as without us" {
    as_without_us demo/plain:1 "demo/app@$(digest_of rocm7.1)" "demo/app@$(index_digest)"
}

@test "verify finds what does not fit, with and without a tag" {
    verify_reads_it
}

# The mirror sees a tag only: it gives this machine's image, whatever the client asked for.
@test "--platform gets this machine's image, and another by digest" {
    through h100
    pull --platform linux/arm64 demo/wide:1
    [ "$(stored demo/wide:1)" = "$(digest_of cuda12.8)" ]
    pull --platform linux/arm64 "demo/wide@$(wide_index)"
    run -0 docker image inspect --platform linux/arm64 --format '{{.Architecture}}' "demo/wide@$(wide_index)"
    [ "$output" = arm64 ]
    pull --platform linux/amd64/x-rocm7-1 "demo/app@$(index_digest)"
    run -0 says "demo/app@$(index_digest)"
    [ "$output" = "this is rocm7.1" ]
}

@test "a private image needs its user's own password, as without us" {
    private_as_without_us
}

# The daemon's own password answers the tag, and the user's fetches what it names.
@test "a private image, and the daemon has the password: the variant with the user's own, else nothing" {
    local machine
    hub_is_private
    for machine in trusted sharing; do # serve_private is for those who take all from one endpoint
        through "$machine"
        log_out
        run ! pull demo/app:1
        run ! docker image inspect demo/app:1
        log_in
        run -0 pull demo/app:1
        [ "$(stored demo/app:1)" = "$(digest_of cuda12.8)" ]
        run -0 says demo/app:1
        [ "$output" = "this is cuda12.8" ]
    done
}
