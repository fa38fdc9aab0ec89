#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup and variantd together: unmodified engines get this machine's variant by tag, fall
# back to the default without the daemon, and pull nothing past it where that was asked for.

load ../harness
load ../images
load ../variantd
load ../cri

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman curl openssl
    start_registry tls
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    IMAGE=$REGISTRY/demo/app:1
    export IMAGE
    printf 'registries:\n  "%s": {ca: %s}\n' "$REGISTRY" "$STATE/ca.pem" >"$STATE/variantd.yaml"
    # what an administrator of a registry with its own CA already has
    mkdir -p "$STATE/certs.d/$REGISTRY"
    export HOSTS=$STATE/certs.d/$REGISTRY/hosts.toml
    printf '# ours\nserver = "https://%s"\nca = "%s"\n' "$REGISTRY" "$STATE/ca.pem" >"$HOSTS"
    cp "$HOSTS" "$STATE/hosts.before"
    export DIR=$HOME/.config/containers
    mkdir -p "$DIR"
    printf 'unqualified-search-registries = ["docker.io"]\n' >"$DIR/registries.conf"
    start_cri
    start_podman
    unset CONTAINERS_REGISTRIES_CONF
}

daemon()
{
    start_variantd variantd --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
}

set_up()
{
    "$VARIANTCTL" setup "$1" --listen "$VARIANTD" "${@:2}" >/dev/null
}

set_up_containerd()
{
    set_up containerd --config-dir "$STATE/certs.d" --engine-config "$STATE/cri.toml" "$@"
    restart_cri
}

# The tag's digest after a fresh pull by CRI.
pulled()
{
    ctr -a "$STATE/cri.sock" -n k8s.io images rm "$IMAGE" >/dev/null 2>&1 || true
    cri_pull "$IMAGE" >/dev/null || return 1
    cri_images "$IMAGE" | awk 'NR == 2 { print $3 }'
}

podman_pulled()
{
    podman rmi -f "$IMAGE" >/dev/null 2>&1 || true
    SSL_CERT_FILE=$STATE/ca.pem podman pull -q "$IMAGE" >/dev/null || return 1
    # what podman has of an index it shows by the child's label alone
    podman image inspect --format '{{.Labels.build}} {{.Digest}}' "$IMAGE"
}

@test "containerd's CRI: the variant with it, the default without the daemon, all as it was after" {
    daemon
    set_up_containerd
    run -0 pulled
    [ "$output" = "$(digest_of cuda12.8)" ]
    stop_daemon variantd
    run -0 pulled
    [ "$output" = "$(sha256sum <"$(blob_of_index)" | sed 's/^\([0-9a-f]*\).*/sha256:\1/')" ]
    "$VARIANTCTL" setup containerd --uninstall >/dev/null
    cmp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    cmp "$HOSTS" "$STATE/hosts.before"
    [ "$(ls "$STATE/certs.d")" = "$REGISTRY" ]
}

# What setup writes for containerd serves ctr and nerdctl as well, which read no configuration of
# containerd's.
@test "ctr with --hosts-dir, and nerdctl where there is one: the variant" {
    daemon
    set_up_containerd
    run -0 ctr -a "$STATE/cri.sock" images pull --hosts-dir "$STATE/certs.d" "$IMAGE"
    run -0 ctr -a "$STATE/cri.sock" images ls "name==$IMAGE"
    [[ $output == *"$(digest_of cuda12.8)"* ]]
    if command -v nerdctl >/dev/null; then
        run -0 nerdctl --address "$STATE/cri.sock" --namespace nerdctl --hosts-dir "$STATE/certs.d" \
            --data-root "$STATE/nerdctl" pull --quiet "$IMAGE"
        run -0 ctr -a "$STATE/cri.sock" -n nerdctl images ls "name==$IMAGE"
        [[ $output == *"$(digest_of cuda12.8)"* ]]
    fi
    stop_daemon variantd
    "$VARIANTCTL" setup containerd --uninstall >/dev/null
    cmp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    cmp "$HOSTS" "$STATE/hosts.before"
}

# The index's bytes in the layout.
blob_of_index()
{
    local digest
    digest=$("$VARIANTCTL" resolve --profile "$PROFILES/h100.json" "oci:$VARIANTS:app" | jq -r .index)
    echo "$VARIANTS/blobs/sha256/${digest#sha256:}"
}

@test "containerd's CRI, fail-closed: the variant through the daemon, nothing without it" {
    daemon
    run -2 "$VARIANTCTL" setup containerd --config-dir "$STATE/certs.d" --engine-config "$STATE/cri.toml" \
        --listen "$VARIANTD" --fail-closed
    [[ $output == *"names a server, the registry itself or another"*"hint: take out the line \`server = ...\`"* ]]
    rm "$HOSTS"
    set_up_containerd --fail-closed
    run -0 pulled
    [ "$output" = "$(digest_of cuda12.8)" ]
    stop_daemon variantd
    before=$(grep -c '"GET\|"HEAD' "$STATE/log/registry")
    run ! pulled
    [ "$(grep -c '"GET\|"HEAD' "$STATE/log/registry")" = "$before" ]
    "$VARIANTCTL" setup containerd --uninstall >/dev/null
    cmp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    [ -z "$(find "$STATE/certs.d" -type f)" ]
}

@test "podman: the variant with it, the default without the daemon, all as it was after" {
    cp "$DIR/registries.conf" "$STATE/registries.before"
    daemon
    set_up podman --config-dir "$DIR" --registry "$REGISTRY"
    OCV_SOCKET=$VARIANTD_SOCKET run -0 "$VARIANTCTL" setup podman --status
    [ "${lines[0]}" = "variantd: answers at $VARIANTD" ]
    run -0 --separate-stderr podman_pulled
    [ "$output" = "cuda $(digest_of cuda12.8)" ]
    stop_daemon variantd
    # what status says comes true
    OCV_SOCKET=$VARIANTD_SOCKET run -5 "$VARIANTCTL" setup podman --status
    [ "${lines[0]}" = "variantd: not answering at $VARIANTD: engines take the default" ]
    run -0 --separate-stderr podman_pulled
    [[ $output == "cpu "* ]]
    daemon
    set_up podman --config-dir "$DIR" --registry "$REGISTRY" --fail-closed
    run -0 --separate-stderr podman_pulled
    [ "$output" = "cuda $(digest_of cuda12.8)" ]
    stop_daemon variantd
    run ! podman_pulled
    "$VARIANTCTL" setup podman --uninstall >/dev/null
    [ "$(ls "$DIR")" = registries.conf ]
    cmp "$DIR/registries.conf" "$STATE/registries.before"
    run -0 --separate-stderr podman_pulled
    [[ $output == "cpu "* ]]
}

@test "dockerd with the classic store: docker.io is the daemon's default registry" {
    require dockerd docker
    start_registry hub
    push_layout "$STATE/layout:app" "$REGISTRY/library/app:1"
    start_variantd hubd --profile "$PROFILES/mi300x.json" --registry "docker.io=http://$REGISTRY"
    DOCKER_SETTINGS=$CLASSIC_STORE start_dockerd
    cp "$STATE/daemon.json" "$STATE/daemon.before"
    set_up docker --registry docker.io --engine-config "$STATE/daemon.json"
    kill -HUP "$(<"$STATE/pids/dockerd")"
    for _ in {1..100}; do
        docker info 2>/dev/null | grep -q "http://$VARIANTD/" && break
        sleep 0.1
    done
    run -0 docker pull app:1
    [ "$(docker_digest app:1)" = "$(digest_of rocm7.1)" ]
    "$VARIANTCTL" setup docker --uninstall >/dev/null
    cmp "$STATE/daemon.json" "$STATE/daemon.before"
}
