#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Unmodified clients through the mirror, over registries with TLS, one of which wants a password that the
# daemon has, too. (variantd_docker.bats: dockerd.)

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman buildah runc jq openssl htpasswd
    make_programs "$STATE/layout"
    start_registry tls
    export SERVER=$REGISTRY SSL_CERT_FILE=$STATE/ca.pem PAUSE_IMAGE=$REGISTRY/pause:1
    push_layout "$STATE/layout:app" "$SERVER/demo/app:1"
    push_layout "$STATE/layout:cpu.v3" "$SERVER/demo/plain:1"
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    start_private "$STATE/layout" app tls
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:secret | base64)" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    printf 'registries:\n  "%s": {ca: %s}\n  "%s": {ca: %s}\n' "$SERVER" "$STATE/ca.pem" "$PRIVATE" "$STATE/ca.pem" \
        >"$STATE/variantd.yaml"
    start_machines --config "$STATE/variantd.yaml" --credentials "$STATE/auth.json"
    start_variantd sharing --config "$STATE/variantd.yaml" --credentials "$STATE/auth.json" --serve-private true \
        --profile "$PROFILES/h100.json"
    echo "$VARIANTD" >"$STATE/sharing.address"
    start_cri "$STATE/certs.d"
    export CONTAINERD_ADDRESS=$STATE/cri.sock CONTAINERD_NAMESPACE=default
    start_podman
}

# hosts MIRROR: what containerd reads of both registries
hosts()
{
    local host
    rm -rf "$STATE/certs.d"
    for host in "$SERVER" "$PRIVATE"; do
        hosts_toml "$STATE/certs.d" "$host" "https://$host"
        printf 'ca = "%s"\n' "$STATE/ca.pem" >>"$STATE/certs.d/$host/hosts.toml"
        # containerd 1.6 takes no file without a host
        printf '[host."%s"]\n  capabilities = ["pull", "resolve"]\n' "${1:-https://$host}" >>"$STATE/certs.d/$host/hosts.toml"
        [ -n "$1" ] || printf '  ca = "%s"\n' "$STATE/ca.pem" >>"$STATE/certs.d/$host/hosts.toml"
    done
}

through()
{
    if [ "$1" = none ]; then
        hosts ''
        INSECURE=false registries_conf '' "$SERVER" "$PRIVATE"
    else
        hosts "http://$(machine "$1")"
        INSECURE=false registries_conf "$(machine "$1")" "$SERVER" "$PRIVATE"
    fi
    export VARIANTD_SOCKET=$STATE/$1.sock
}

@test "TLS: ctr, CRI, podman, buildah and skopeo on three machines, each its own digest, and it runs" {
    local blobs
    for CLIENT in ctr cri; do
        each_machine_pulls "$SERVER/demo/app:1"
    done
    # containerd has the blobs straight from upstream, podman from the daemon
    run ! grep -q '"GET [^"]*/blobs/[^"]*" 200' "$STATE/log/h100"
    for CLIENT in podman buildah skopeo; do
        blobs=$(grep -c '"GET [^"]*/blobs/[^"]*" 200' "$STATE/log/h100" || true)
        each_machine_pulls "$SERVER/demo/app:1"
        [ "$(grep -c '"GET [^"]*/blobs/[^"]*" 200' "$STATE/log/h100")" -gt "$blobs" ]
    done
}

@test "TLS: an ordinary image and pulls by digest are as without us" {
    for CLIENT in ctr cri podman; do
        as_without_us "$SERVER/demo/plain:1" "$SERVER/demo/app@$(digest_of rocm7.1)" "$SERVER/demo/app@$(index_digest)"
    done
}

# The daemon's password answers a tag's HEAD; the content comes with the client's own.
@test "a private tag: containerd gets the variant with its own password, and nothing without" {
    local machine
    for CLIENT in ctr cri; do
        CLIENT=ctr forget_images # their content is one
        CLIENT=cri forget_images
        for machine in $MACHINES; do
            through "$machine"
            run ! pull "$PRIVATE/demo/app:1"
            run ! pull_as user:wrong "$PRIVATE/demo/app:1"
            run ! stored "$PRIVATE/demo/app:1"
            run -0 pull_as user:secret "$PRIVATE/demo/app:1"
            [ "$(stored "$PRIVATE/demo/app:1")" = "$(digest_of "$(wanted "$machine")")" ]
            run -0 --separate-stderr says "$PRIVATE/demo/app:1"
            [ "$output" = "this is $(wanted "$machine")" ]
        done
    done
}

# SECURITY.md: with the digest alone, containerd takes what the node has already.
@test "a private tag whose variant is on the node: its content is nobody's secret there" {
    CLIENT=cri
    through h100
    run -0 pull_as user:secret "$PRIVATE/demo/app:1"
    run -0 cri pull "$PRIVATE/demo/app:1"
    through none
    run ! cri pull "$PRIVATE/demo/app:1"
    forget_images
    through h100
    run ! cri pull "$PRIVATE/demo/app:1"
}

# podman asks for the tag with GET, which gives nothing private.
@test "a private tag: podman's family gets the default with its own password, and nothing without" {
    for CLIENT in podman buildah skopeo; do
        through h100
        run ! pull "$PRIVATE/demo/app:1"
        run ! pull_as user:wrong "$PRIVATE/demo/app:1"
        run -0 pull_as user:secret "$PRIVATE/demo/app:1"
        run -0 --separate-stderr says "$PRIVATE/demo/app:1"
        [ "$output" = "this is null" ]
    done
}

@test "serve_private: podman's family gets the variant of a private tag, which is what it says" {
    for CLIENT in podman buildah skopeo; do
        through sharing
        run -0 pull "$PRIVATE/demo/app:1"
        [ "$(stored "$PRIVATE/demo/app:1")" = "$(digest_of cuda12.8)" ]
        run -0 --separate-stderr says "$PRIVATE/demo/app:1"
        [ "$output" = "this is cuda12.8" ]
    done
}

@test "the daemon is gone: everyone gets the default" {
    start_variantd gone --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    echo "$VARIANTD" >"$STATE/gone.address"
    stop_daemon gone
    through gone
    for CLIENT in ctr cri podman buildah skopeo; do
        run -0 pull "$SERVER/demo/app:1"
        [[ $CLIENT != c* ]] || [ "$(stored "$SERVER/demo/app:1")" = "$(index_digest)" ]
        run -0 --separate-stderr says "$SERVER/demo/app:1"
        [ "$output" = "this is null" ]
    done
}

@test "fail-closed: all of it through /proxy, and nothing without the daemon" {
    local direct
    start_variantd closed --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    rm -rf "$STATE/certs.d"
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$VARIANTD/proxy" "http://$VARIANTD/proxy"
    direct=$(grep -c 'containerd/' "$STATE/log/registry" || true)
    for CLIENT in ctr cri; do
        run -0 pull "$SERVER/demo/app:1"
        [ "$(stored "$SERVER/demo/app:1")" = "$(digest_of cuda12.8)" ]
        grep -q '"GET /proxy/v2/demo/app/blobs/[^"]*" 200' "$STATE/log/closed"
        run -0 pull "$SERVER/demo/plain:1"
    done
    stop_daemon closed
    for CLIENT in ctr cri; do
        run ! pull "$SERVER/demo/app:1"
    done
    [ "$(grep -c 'containerd/' "$STATE/log/registry" || true)" = "$direct" ]
}

@test "skopeo: inspect gives the variant, and newer versions show what the daemon says of it" {
    through h100
    run -0 --separate-stderr skopeo --insecure-policy --registries-conf "$CONTAINERS_REGISTRIES_CONF" inspect --format '{{.Digest}}' \
        "docker://$SERVER/demo/app:1"
    [ "$output" = "$(digest_of cuda12.8)" ]
    # the Warning header, where this version has words for one
    if grep -q 'Warning from registry' "$(command -v skopeo)"; then
        [[ $stderr == *"variantd: chose cuda12.8 of $SERVER/demo/app:1"* ]]
    fi
}
