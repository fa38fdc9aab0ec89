#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The harness itself: every daemon starts, and its own client gets a small image through it.

load ../harness

setup_file()
{
    state_start
    require docker-registry skopeo
    start_registry
    mkimage "$STATE/layout" small --file etc/hello=world
    push_layout "$STATE/layout:small" "$REGISTRY/demo/small:1"
    export REGISTRY
}

@test "docker-registry serves what was pushed" {
    run -0 curl -sf "http://$REGISTRY/v2/demo/small/tags/list"
    [ "$(jq -r '.tags[]' <<<"$output")" = 1 ]
}

@test "docker-registry with TLS is only trusted through its CA" {
    require openssl
    start_registry secure tls
    run ! curl -sS "https://$REGISTRY/v2/"
    run -0 curl -sSf --cacert "$STATE/ca.pem" "https://$REGISTRY/v2/"
    stop_daemon secure
}

@test "docker-registry asks for the password" {
    require htpasswd
    start_registry private htpasswd
    run -0 curl -sS -o /dev/null -w '%{http_code}' "http://$REGISTRY/v2/"
    [ "$output" = 401 ]
    run -0 curl -sSf -u user:secret "http://$REGISTRY/v2/"
    stop_daemon private
}

@test "docker-registry asks for a client certificate" {
    require openssl
    start_registry mutual client-cert
    run ! curl -sS --cacert "$STATE/ca.pem" "https://$REGISTRY/v2/"
    run -0 curl -sSf --cacert "$STATE/ca.pem" --cert "$STATE/client.crt" \
        --key "$STATE/client.key" "https://$REGISTRY/v2/"
    stop_daemon mutual
}

@test "a registry can be stopped and started again on its port" {
    start_registry again
    port=${REGISTRY#*:}
    stop_daemon again
    run ! curl -sS "http://127.0.0.1:$port/v2/"
    start_registry again port="$port"
    run -0 curl -sSf "http://127.0.0.1:$port/v2/"
    stop_daemon again
}

@test "dockerd pulls" {
    require dockerd docker
    start_dockerd
    run -0 docker pull --quiet "$REGISTRY/demo/small:1"
    run -0 docker image inspect --format '{{.Architecture}}' "$REGISTRY/demo/small:1"
    [ "$output" = amd64 ]
    stop_daemon dockerd
}

@test "containerd pulls" {
    require containerd ctr
    start_containerd
    run -0 ctr images pull --plain-http "$REGISTRY/demo/small:1"
    run -0 ctr images ls -q
    [ "$output" = "$REGISTRY/demo/small:1" ]
    stop_daemon containerd
}

@test "podman pulls, by command and through its API" {
    require podman
    start_podman
    podman_trust "$REGISTRY"
    run -0 podman pull --quiet "$REGISTRY/demo/small:1"
    run -0 --separate-stderr podman image inspect --format '{{.Architecture}}' "$REGISTRY/demo/small:1"
    [ "$output" = amd64 ]
    start_podman_service
    run -0 curl -sSf --unix-socket "$STATE/podman.sock" \
        "http://localhost/v4.0.0/libpod/images/$REGISTRY/demo/small:1/json"
    [ "$(jq -r .Os <<<"$output")" = linux ]
    stop_daemon podman
    [ -d "$STATE/podman/overlay-images" ]
}

@test "state_stop leaves no process and no file behind" {
    outer=$STATE
    state_start
    inner=$STATE
    start_registry
    pid=$(<"$STATE/pids/registry")
    state_stop
    STATE=$outer
    [ ! -e "$inner" ]
    run ! kill -0 "$pid"
}
