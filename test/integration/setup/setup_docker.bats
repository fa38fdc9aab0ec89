#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup and dockerd together, with either of its image stores: pulls and builds by a tag give
# this machine's variant, and all is as it was afterwards.

load ../harness
load ../images
load ../variantd
load ../cri
load ../docker

setup_file()
{
    docker_here classic >/dev/null || return 0
    state_start
    require docker-registry skopeo dockerd docker ctr runc jq openssl curl nsenter unshare ip
    make_programs "$STATE/layout"
    start_namespace
    start_registry other tls
    export OTHER=$REGISTRY
    start_registry tls port=443
    push "$OTHER" app demo/app:1
    push "$REGISTRY" app demo/app:1
    push "$REGISTRY" cpu.v3 demo/plain:1
    printf 'registries:\n  docker.io: {ca: %s}\n  "%s": {ca: %s}\n' "$STATE/ca.pem" "$OTHER" "$STATE/ca.pem" \
        >"$STATE/variantd.yaml"
    PORT=$(free_port) # one for all: BuildKit keeps a repository's mirrors in memory for minutes
    export PORT SSL_CERT_FILE=$STATE/ca.pem
}

teardown()
{
    # daemons end with the test that started them; the next store starts from nothing
    docker_here classic >/dev/null || return 0
    stop_daemon dockerd
    stop_daemon containerd
    within umount /etc/docker 2>/dev/null || true
    rm -rf "$STATE/etc-docker" "$STATE"/docker{,-run}
}

# with STORE: a dockerd that has it, as nobody has touched it
with()
{
    local reason
    reason=$(docker_here "$1") || skip "$reason"
    start_docker "$1"
    cp -a "$STATE/etc-docker" "$BATS_TEST_TMPDIR/etc-docker"
}

push() # REGISTRY LAYOUT-TAG NAME
{
    within skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:$2" "docker://$1/$3"
}

daemon() # PROFILE
{
    start_variantd "$1" --listen "127.0.0.1:$PORT" --config "$STATE/variantd.yaml" --profile "$PROFILES/$1.json"
}

# pull_gives LABEL [IMAGE]: a fresh pull
pull_gives()
{
    local image=${2:-demo/app:1}
    docker_forget
    run -0 docker pull --quiet "$image"
    [ "$(docker_digest "$image")" = "$(stored_for "$1")" ]
    run -0 says "$image"
    [ "$output" = "this is $1" ]
}

# build_gives LABEL: what a build FROM the tag stands on
build_gives()
{
    docker_forget
    mkdir -p "$BATS_TEST_TMPDIR/build"
    echo more >"$BATS_TEST_TMPDIR/build/more"
    printf 'FROM demo/app:1\nCOPY more /more\n' >"$BATS_TEST_TMPDIR/build/Dockerfile"
    run -0 docker_build --no-cache --quiet --tag built "$BATS_TEST_TMPDIR/build"
    run -0 says built
    [ "$output" = "this is $1" ]
}

# the files in /etc/docker as they were
as_it_was()
{
    set_up --uninstall
    diff -r "$STATE/etc-docker" "$BATS_TEST_TMPDIR/etc-docker"
}

@test "classic store: daemon.json makes three machines pull and build their own variant" {
    local profile
    with classic
    for profile in h100 mi300x laptop; do
        daemon "$profile"
        set_up --listen "$VARIANTD" --registry docker.io
        restart_docker
        pull_gives "$(wanted "$profile")"
        build_gives "$(wanted "$profile")"
        [ "$profile" = laptop ] || stop_daemon "$profile"
    done
    pull_gives cpu.v3 demo/plain:1
    stop_daemon laptop
    pull_gives null
    as_it_was
    restart_docker
    pull_gives null
    build_gives null
}

@test "containerd store: hosts.toml makes three machines pull and build their own variant, from any registry" {
    local profile
    with containerd
    rm -r "$BATS_TEST_TMPDIR/etc-docker"
    mkdir -p "$STATE/etc-docker/certs.d/$OTHER"
    cp "$STATE/ca.pem" "$STATE/etc-docker/certs.d/$OTHER/ca.crt"
    cp -a "$STATE/etc-docker" "$BATS_TEST_TMPDIR/etc-docker"
    for profile in h100 mi300x laptop; do
        daemon "$profile"
        set_up --listen "$VARIANTD" --registry docker.io --registry "$OTHER"
        pull_gives "$(wanted "$profile")"
        pull_gives "$(wanted "$profile")" "$OTHER/demo/app:1"
        build_gives "$(wanted "$profile")"
        [ "$profile" = laptop ] || stop_daemon "$profile"
    done
    pull_gives cpu.v3 demo/plain:1
    stop_daemon laptop
    pull_gives null
    pull_gives null "$OTHER/demo/app:1"
    as_it_was
    pull_gives null
    restart_docker
    build_gives null
    store_is_whole --address "$(docker_containerd)" --namespace moby
}

@test "containerd store, fail-closed: the variant through the daemon, nothing without it" {
    local seen
    with containerd
    daemon h100
    set_up --listen "$VARIANTD" --registry docker.io --fail-closed
    seen=$(upstream_count '"docker/')
    pull_gives cuda12.8
    pull_gives cpu.v3 demo/plain:1
    stop_daemon h100
    docker_forget
    run ! docker pull demo/app:1
    [ "$(upstream_count '"docker/')" = "$seen" ]
    as_it_was
    pull_gives null
    [ "$(upstream_count '"docker/')" -gt "$seen" ]
}
