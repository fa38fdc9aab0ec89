#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# dockerd through the mirror. It mirrors docker.io alone, so a registry here is docker.io: in a
# network namespace of its own, under that name, with TLS.

load harness
load images
load variantd

setup_file()
{
    local profile
    state_start
    require docker-registry skopeo dockerd docker runc jq openssl htpasswd nsenter unshare ip
    make_programs "$STATE/layout"
    mkimage "$STATE/layout" arm --arch arm64 --file etc/build=arm >/dev/null
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:wide" \
        "null=oci:$STATE/layout:null" "null=oci:$STATE/layout:arm" \
        "cuda12.8=oci:$STATE/layout:cuda12.8,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    start_namespace
    start_registry tls port=443
    push app demo/app:1
    push wide demo/wide:1
    push cpu.v3 demo/plain:1
    push app library/app:1
    printf 'registries:\n  docker.io: {ca: %s}\n' "$STATE/ca.pem" >"$STATE/variantd.yaml"
    for profile in h100 mi300x laptop; do
        start_variantd "$profile" --config "$STATE/variantd.yaml" --profile "$PROFILES/$profile.json"
        echo "$VARIANTD" >"$STATE/$profile.address"
    done
    SSL_CERT_FILE=$STATE/ca.pem start_dockerd
}

teardown_file()
{
    state_stop
}

push()
{
    within skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:$1" "docker://$REGISTRY/$2"
}

# through PROFILE: dockerd reads its mirrors again on SIGHUP; "none": as without us
through()
{
    local mirror=
    [ "$1" = none ] || mirror=http://$(<"$STATE/$1.address")/
    jq -n --arg mirror "$mirror" '{"registry-mirrors": (if $mirror == "" then [] else [$mirror] end)}' >"$STATE/daemon.json"
    kill -HUP "$(<"$STATE/pids/dockerd")"
    export VARIANTD_SOCKET=$STATE/$1.sock
    for _ in {1..200}; do
        [ "$(docker info --format '{{with .RegistryConfig.Mirrors}}{{index . 0}}{{end}}')" != "$mirror" ] || return 0
        sleep 0.05
    done
    return 1
}

says()
{
    docker run --rm --network none "$1"
}

digest_stored()
{
    docker image inspect --format '{{index .RepoDigests 0}}' "$1" | sed 's/.*@//'
}

# a fresh pull: nothing of an earlier one helps
pull()
{
    docker images --quiet | sort -u | xargs --no-run-if-empty docker rmi --force >/dev/null
    docker pull --quiet "$@"
}

@test "three machines pull one tag: each its own digest, and its container says so" {
    local profile
    for profile in h100 mi300x laptop; do
        through "$profile"
        run -0 pull demo/app:1
        [ "$(digest_stored demo/app:1)" = "$(digest_of "$(wanted "$profile")")" ]
        run -0 says demo/app:1
        [ "$output" = "this is $(wanted "$profile")" ]
    done
    run -0 pull app:1 # library/app
    [ "$(digest_stored app:1)" = "$(digest_of cpu.v3)" ]
}

@test "without a mirror the same tag is the default entry" {
    through none
    run -0 pull demo/app:1
    [ "$(digest_stored demo/app:1)" = "$(index_digest)" ]
    run -0 says demo/app:1
    [ "$output" = "this is null" ]
}

@test "ordinary images and pulls by digest are as without us" {
    local image without
    for image in demo/plain:1 "demo/app@$(digest_of rocm7.1)" "demo/app@$(index_digest)"; do
        through none
        pull "$image" >/dev/null
        without=$(docker image inspect "$image" | jq 'map(del(.Metadata, .GraphDriver))')
        through h100
        pull "$image" >/dev/null
        diff <(echo "$without") <(docker image inspect "$image" | jq 'map(del(.Metadata, .GraphDriver))')
    done
}

# The mirror sees a tag only: it gives this machine's image, whatever the client asked for. (dockerd
# takes no mirror with a path, so /raw is none of its ways round.)
@test "--platform gets this machine's image or none, and another by digest" {
    local index
    index=$(within curl -sf --cacert "$STATE/ca.pem" -H "$ACCEPT_ALL" https://registry-1.docker.io/v2/demo/wide/manifests/1 |
        sha256sum | cut -d' ' -f1)
    through h100
    pull --platform linux/arm64 demo/wide:1
    [ "$(digest_stored demo/wide:1)" = "$(digest_of cuda12.8)" ]
    pull --platform linux/arm64 "demo/wide@sha256:$index"
    [ "$(docker image inspect --format '{{.Architecture}}' "demo/wide@sha256:$index")" = arm64 ]
    pull --platform linux/amd64/x-rocm7-1 "demo/app@$(index_digest)"
    run -0 says "demo/app@$(index_digest)"
    [ "$output" = "this is rocm7.1" ]
}

# From here on docker.io wants a password.
@test "a private image needs its user's own password, as without us" {
    local side
    stop_daemon registry
    start_registry tls htpasswd port=443
    for side in none h100; do
        through "$side"
        echo '{}' >"$DOCKER_CONFIG/config.json"
        run ! pull demo/app:1
        printf '{"auths": {"https://index.docker.io/v1/": {"auth": "%s"}}}' "$(printf user:secret | base64)" \
            >"$DOCKER_CONFIG/config.json"
        run -0 pull demo/app:1
        [ "$(digest_stored demo/app:1)" = "$(index_digest)" ]
    done
    [ "$(outcome denied)" -ge 1 ]
}
