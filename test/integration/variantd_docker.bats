#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# dockerd through the mirror. It mirrors docker.io alone, so a registry here is docker.io: in a
# network namespace of its own, under that name, with TLS.

load harness
load images
load variantd

setup_file()
{
    state_start
    require docker-registry skopeo dockerd docker runc jq openssl htpasswd nsenter unshare ip
    make_programs "$STATE/layout"
    make_wide "$STATE/layout"
    start_namespace
    start_registry tls port=443
    push_within "$STATE/layout:app" demo/app:1
    push_within "$STATE/layout:wide" demo/wide:1
    push_within "$STATE/layout:cpu.v3" demo/plain:1
    push_within "$STATE/layout:app" library/app:1
    printf 'registries:\n  docker.io: {ca: %s}\n' "$STATE/ca.pem" >"$STATE/variantd.yaml"
    start_machines --config "$STATE/variantd.yaml"
    printf '{"auths": {"https://index.docker.io/v1/": {"auth": "%s"}}}' "$(printf user:secret | base64)" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    for machine in trusted sharing; do
        start_variantd "$machine" --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json" \
            --credentials "$STATE/auth.json" --serve-private "$([ "$machine" = sharing ] && echo true || echo false)"
        echo "$VARIANTD" >"$STATE/$machine.address"
    done
    SSL_CERT_FILE=$STATE/ca.pem start_dockerd
}

teardown_file()
{
    state_stop
}

# through MACHINE: "none": as without us
through()
{
    export VARIANTD_SOCKET=$STATE/$1.sock
    if [ "$1" = none ]; then docker_mirrors; else docker_mirrors "http://$(machine "$1")/"; fi
}

says()
{
    docker run --rm --network none "$1"
}

stored()
{
    docker_digest "$1"
}

record()
{
    docker image inspect "$1" | jq 'map(del(.Metadata, .GraphDriver))'
}

# a fresh pull: nothing of an earlier one helps
pull()
{
    docker_forget
    docker pull --quiet "$@"
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    each_machine_pulls demo/app:1
    run -0 pull app:1 # library/app
    [ "$(stored app:1)" = "$(digest_of cpu.v3)" ]
}

@test "without a mirror the same tag is the default entry" {
    through none
    run -0 pull demo/app:1
    [ "$(stored demo/app:1)" = "$(index_digest)" ]
    run -0 says demo/app:1
    [ "$output" = "this is null" ]
}

@test "ordinary images and pulls by digest are as without us" {
    as_without_us demo/plain:1 "demo/app@$(digest_of rocm7.1)" "demo/app@$(index_digest)"
}

# The mirror sees a tag only: it gives this machine's image, whatever the client asked for. (dockerd
# takes no mirror with a path, so /raw is none of its ways round.)
@test "--platform gets this machine's image or none, and another by digest" {
    local index
    index=$(within curl -sf --cacert "$STATE/ca.pem" -H "$ACCEPT_ALL" https://registry-1.docker.io/v2/demo/wide/manifests/1 |
        sha256sum | cut -d' ' -f1)
    through h100
    # Docker 20.10 is content with it; newer ones have it, too, and say that it is not what was asked for
    if ! pull --platform linux/arm64 demo/wide:1 2>"$BATS_TEST_TMPDIR/said"; then
        grep 'was found but does not match the specified platform: wanted linux/arm64, actual: linux/amd64' \
            "$BATS_TEST_TMPDIR/said"
    fi
    [ "$(stored demo/wide:1)" = "$(digest_of cuda12.8)" ]
    pull --platform linux/arm64 "demo/wide@sha256:$index"
    [ "$(docker image inspect --format '{{.Architecture}}' "demo/wide@sha256:$index")" = arm64 ]
    pull --platform linux/amd64/x-rocm7-1 "demo/app@$(index_digest)"
    run -0 says "demo/app@$(index_digest)"
    [ "$output" = "this is rocm7.1" ]
}

# docker.io wants a password, as long as the test runs
locked()
{
    stop_daemon registry
    start_registry tls htpasswd port=443
}

@test "a private image needs its user's own password, as without us" {
    local side
    locked
    for side in none h100; do
        through "$side"
        echo '{}' >"$DOCKER_CONFIG/config.json"
        run ! pull demo/app:1
        cp "$STATE/auth.json" "$DOCKER_CONFIG/config.json"
        run -0 pull demo/app:1
        [ "$(stored demo/app:1)" = "$(index_digest)" ]
    done
    [ "$(outcome denied)" -ge 1 ]
}

# dockerd takes all from one endpoint: the daemon's own password answers the tag, and no content
@test "a private image, and the daemon has the password: the default entry with the user's own, else nothing" {
    locked
    through trusted
    echo '{}' >"$DOCKER_CONFIG/config.json"
    run ! pull demo/app:1
    run ! docker image inspect demo/app:1
    cp "$STATE/auth.json" "$DOCKER_CONFIG/config.json"
    run -0 pull demo/app:1
    [ "$(stored demo/app:1)" = "$(index_digest)" ]
    run -0 says demo/app:1
    [ "$output" = "this is null" ]
}

@test "serve_private: the variant of a private image, which is what it says" {
    locked
    through sharing
    echo '{}' >"$DOCKER_CONFIG/config.json"
    run -0 pull demo/app:1
    [ "$(stored demo/app:1)" = "$(digest_of cuda12.8)" ]
    run -0 says demo/app:1
    [ "$output" = "this is cuda12.8" ]
}
