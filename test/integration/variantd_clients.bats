#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Unmodified clients through the mirror, over a registry with TLS.

load harness
load images
load variantd

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman jq openssl
    start_registry tls
    export SSL_CERT_FILE=$STATE/ca.pem
    make_variants "$STATE/layout"
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-cert-dir "$STATE/certs" \
        --dest-tls-verify=false "oci:$STATE/layout:app" "docker://$REGISTRY/demo/app:1"
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci:$STATE/layout:cpu" \
        "docker://$REGISTRY/demo/plain:1"
    cat >"$STATE/variantd.yaml" <<YAML
registries:
  "$REGISTRY": {ca: $STATE/ca.pem}
YAML
    start_variantd h100 --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    export H100=$VARIANTD
    start_variantd mi300x --config "$STATE/variantd.yaml" --profile "$PROFILES/mi300x.json"
    export MI300X=$VARIANTD
    export SEGMENT=${REGISTRY/:/--}
    start_containerd
    start_podman
}

teardown_file()
{
    state_stop
}

# hosts MIRROR: a hosts directory for containerd in $hosts
hosts_for()
{
    hosts=$BATS_TEST_TMPDIR/hosts
    mkdir -p "$hosts/$REGISTRY"
    cat >"$hosts/$REGISTRY/hosts.toml" <<TOML
server = "https://$REGISTRY"
ca = "$STATE/ca.pem"
[host."http://$1"]
capabilities = ["pull", "resolve"]
TOML
}

target_of()
{
    ctr images ls "name==\"$1\"" | awk 'NR == 2 { print $3 }'
}

@test "ctr: each machine's own variant, blobs straight from upstream" {
    hosts_for "$H100"
    run -0 ctr images pull --hosts-dir "$hosts" "$REGISTRY/demo/app:1"
    [ "$(target_of "$REGISTRY/demo/app:1")" = "$(digest_of cuda12.8)" ]
    hosts_for "$MI300X"
    run -0 ctr images pull --hosts-dir "$hosts" "$REGISTRY/demo/app:1"
    [ "$(target_of "$REGISTRY/demo/app:1")" = "$(digest_of rocm7.1)" ]
    run ! grep -q '"GET [^"]*/blobs/[^"]*" 200' "$STATE/log/mi300x"
}

@test "ctr: an ordinary image as without us" {
    hosts_for "$H100"
    run -0 ctr images pull --hosts-dir "$hosts" "$REGISTRY/demo/plain:1"
    [ "$(target_of "$REGISTRY/demo/plain:1")" = "$(digest_of null)" ]
}

@test "ctr: the daemon is gone, the default arrives" {
    start_variantd gone --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    hosts_for "$VARIANTD"
    stop_daemon gone
    ctr images rm "$REGISTRY/demo/app:1" >/dev/null 2>&1 || true
    run -0 ctr images pull --hosts-dir "$hosts" --platform linux/amd64 "$REGISTRY/demo/app:1"
    run -0 ctr images check "name==\"$REGISTRY/demo/app:1\""
    [[ $output == *"application/vnd.oci.image.index.v1+json"* ]]
}

@test "ctr: fail-closed, all of it through /proxy, and nothing without the daemon" {
    start_variantd closed --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    hosts=$BATS_TEST_TMPDIR/hosts
    mkdir -p "$hosts/$REGISTRY"
    cat >"$hosts/$REGISTRY/hosts.toml" <<TOML
server = "http://$VARIANTD/proxy"
[host."http://$VARIANTD/proxy"]
capabilities = ["pull", "resolve"]
TOML
    ctr images rm --sync "$REGISTRY/demo/app:1" "$REGISTRY/demo/plain:1" >/dev/null 2>&1 || true
    run -0 ctr images pull --hosts-dir "$hosts" "$REGISTRY/demo/app:1"
    [ "$(target_of "$REGISTRY/demo/app:1")" = "$(digest_of cuda12.8)" ]
    grep -q '"GET /proxy/v2/demo/app/blobs/[^"]*" 200' "$STATE/log/closed"
    run -0 ctr images pull --hosts-dir "$hosts" "$REGISTRY/demo/plain:1"
    stop_daemon closed
    run ctr images pull --hosts-dir "$hosts" "$REGISTRY/demo/app:1"
    [ "$status" -ne 0 ]
}

# mirror_for MIRROR: podman and skopeo reach the registry through it
mirror_for()
{
    export CONTAINERS_REGISTRIES_CONF=$BATS_TEST_TMPDIR/registries.conf
    cat >"$CONTAINERS_REGISTRIES_CONF" <<TOML
unqualified-search-registries = ["docker.io"]
[[registry]]
location = "$REGISTRY"
insecure = true
[[registry.mirror]]
location = "$1/$SEGMENT"
insecure = true
TOML
}

@test "podman: each machine's own variant, all of it through the mirror" {
    mirror_for "$H100"
    run -0 podman pull --quiet "$REGISTRY/demo/app:1"
    [ "$(podman image inspect --format '{{index .Labels "build"}}' "$REGISTRY/demo/app:1")" = cuda ]
    [ "$(podman image inspect --format '{{.Digest}}' "$REGISTRY/demo/app:1")" = "$(digest_of cuda12.8)" ]
    grep -q '"GET [^"]*/blobs/[^"]*" 200' "$STATE/log/h100"
    mirror_for "$MI300X"
    run -0 podman pull --quiet "$REGISTRY/demo/app:1"
    [ "$(podman image inspect --format '{{index .Labels "build"}}' "$REGISTRY/demo/app:1")" = rocm ]
}

@test "podman: an ordinary image, and one by digest, as without us" {
    mirror_for "$H100"
    run -0 podman pull --quiet "$REGISTRY/demo/plain:1"
    [ "$(podman image inspect --format '{{.Digest}}' "$REGISTRY/demo/plain:1")" = "$(digest_of null)" ]
    run -0 podman pull --quiet "$REGISTRY/demo/app@$(digest_of rocm7.1)"
    [ "$(podman image inspect --format '{{index .Labels "build"}}' "$output")" = rocm ]
}

@test "skopeo: inspect and copy give the variant, --all too" {
    mirror_for "$H100"
    run -0 skopeo --insecure-policy --registries-conf "$CONTAINERS_REGISTRIES_CONF" inspect --format '{{.Digest}}' "docker://$REGISTRY/demo/app:1"
    [ "$output" = "$(digest_of cuda12.8)" ]
    run -0 skopeo --insecure-policy --registries-conf "$CONTAINERS_REGISTRIES_CONF" copy --quiet --preserve-digests \
        "docker://$REGISTRY/demo/app:1" "oci:$BATS_TEST_TMPDIR/out:1"
    [ "$(jq -r '.manifests[0].digest' "$BATS_TEST_TMPDIR/out/index.json")" = "$(digest_of cuda12.8)" ]
    # --all of the client cannot be seen: a mirrored tag is this machine's image
    run -0 skopeo --insecure-policy --registries-conf "$CONTAINERS_REGISTRIES_CONF" copy --quiet --all --preserve-digests "docker://$REGISTRY/demo/app:1" \
        "oci:$BATS_TEST_TMPDIR/all:1"
    [ "$(jq '.manifests | length' "$BATS_TEST_TMPDIR/all/index.json")" = 1 ]
    [ "$(jq -r '.manifests[0].digest' "$BATS_TEST_TMPDIR/all/index.json")" = "$(digest_of cuda12.8)" ]
}

@test "ctr: upstream hangs for the daemon, the default arrives" {
    start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    await bad awk 'NR == 3 { found = 1 } END { exit !found }' "$STATE/log/bad"
    local bad
    bad=127.0.0.1:$(awk 'NR == 1 { print $1 }' "$STATE/log/bad")
    # what the daemon is told is this registry says nothing after the head
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:app" "docker://$REGISTRY/slow/app:1"
    start_variantd hung --registry "$REGISTRY=http://$bad" --profile "$PROFILES/h100.json"
    hosts_for "$VARIANTD"
    run -0 ctr images pull --hosts-dir "$hosts" --platform linux/amd64 "$REGISTRY/slow/app:1"
    grep -q '"HEAD /v2/slow/app/manifests/1" 504 timeout' "$STATE/log/hung"
    [ "$(target_of "$REGISTRY/slow/app:1")" != "$(digest_of cuda12.8)" ]
    run -0 ctr images check "name==\"$REGISTRY/slow/app:1\""
    stop_daemon hung
    stop_daemon bad
}
