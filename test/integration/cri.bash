# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# containerd with its CRI plugin, pulled from as a kubelet does (`load cri` after harness).
#
#   start_cri [DIR]    configuration $STATE/cri.toml, with a copy in cri.toml.orig; DIR is its
#                      config_path. PAUSE_IMAGE: what pods start with, where containers are to run
#   start_cri2 [DIR]   the same with containerd 2.x: this machine's, or the one that OCV_CONTAINERD2 has,
#                      a directory with its package and its libc6's unpacked (containerd2_here says why
#                      there is none)
#   restart_cri        after a change of that file
#   cri VERB ...       test/tools/cri.c
#   cri_pull IMAGE     PullImage by gRPC; fails where that does
#   pulled_digest IMAGE
#   ctr_digest IMAGE   the digest that ctr's store has for the name
#   cri_images [NAME]  what its store has (ctr images ls)
#   cri_digest IMAGE   and CRI's
#   cri_store_is_whole every blob is what its digest says
#   push_nested HOST/REPO DIGEST   an index whose only entry is that index; prints its digest

start_cri()
{
    containerd_toml cri >"$STATE/cri.toml"
    cat >>"$STATE/cri.toml" <<TOML
[plugins."io.containerd.grpc.v1.cri"] # the kubelet's
  restrict_oom_score_adj = true
TOML
    [ -z "${PAUSE_IMAGE:-}" ] || echo "  sandbox_image = \"$PAUSE_IMAGE\"" >>"$STATE/cri.toml"
    [ -z "${1:-}" ] || cat >>"$STATE/cri.toml" <<TOML
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "$1"
TOML
    cp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    restart_cri
}

# dpkg -x containerd_2*.deb DIR; dpkg -x libc6_*.deb DIR; dpkg -x libseccomp2_*.deb DIR
containerd2_here()
{
    if [ -z "${OCV_CONTAINERD2:-}" ]; then
        ! containerd_is_2 || return 0
        echo "no containerd 2.x: OCV_CONTAINERD2 names no directory with one"
    elif [ ! -x "$OCV_CONTAINERD2/usr/bin/containerd" ]; then
        echo "no containerd 2.x in $OCV_CONTAINERD2"
    elif ! containerd2 --version >/dev/null 2>&1; then
        echo "the containerd in $OCV_CONTAINERD2 does not run here"
    else
        return 0
    fi
    return 1
}

# with the loader and libraries of its own release; runc is this machine's, and the shim where the other
# does not run here
containerd2_command()
{
    local libraries
    containerd2=(containerd)
    [ -n "${OCV_CONTAINERD2:-}" ] || return 0
    libraries=$(echo "$OCV_CONTAINERD2"/usr/lib/*-linux-gnu)
    containerd2=("$(echo "$libraries"/ld-linux*.so.[12])" --library-path "$libraries" "$OCV_CONTAINERD2/usr/bin/containerd")
    [ -x "${containerd2[0]}" ] || containerd2=("$OCV_CONTAINERD2/usr/bin/containerd")
}

containerd2_path()
{
    local bin=$OCV_CONTAINERD2/usr/bin
    [ -z "${OCV_CONTAINERD2:-}" ] || ! "$bin/containerd-shim-runc-v2" -v >/dev/null 2>&1 || printf '%s:' "$bin"
    echo "$PATH"
}

containerd2()
{
    local containerd2
    containerd2_command
    "${containerd2[@]}" "$@"
}

start_cri2()
{
    CONTAINERD_TOML=3 containerd_toml cri >"$STATE/cri.toml"
    cat >>"$STATE/cri.toml" <<TOML
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$PAUSE_IMAGE"
TOML
    [ -z "${1:-}" ] || cat >>"$STATE/cri.toml" <<TOML
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "$1"
TOML
    cp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    restart_cri2
}

# start_verified CONFIG: containerd 2.x with the mirror for $REGISTRY, and our image verifier with this configuration
start_verified()
{
    mkdir "$STATE/verifiers"
    printf '#!/bin/sh\nOCIVARIANT_CONFIG=%s exec %s "$@"\n' "$1" "$VERIFIER" >"$STATE/verifiers/ocivariant"
    chmod 755 "$STATE/verifiers/ocivariant"
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$VARIANTD"
    start_cri2 "$STATE/certs.d"
    printf '[plugins."io.containerd.image-verifier.v1.bindir"]\n  bin_dir = "%s"\n' "$STATE/verifiers" >>"$STATE/cri.toml"
    restart_cri2
}

restart_cri2()
{
    local containerd2
    stop_daemon cri
    containerd2_command
    start_daemon cri env PATH="$(containerd2_path)" "${containerd2[@]}" --config "$STATE/cri.toml"
    await cri ctr --address "$STATE/cri.sock" version
}

restart_cri()
{
    stop_daemon cri
    start_daemon cri containerd --config "$STATE/cri.toml"
    await cri ctr --address "$STATE/cri.sock" version
}

cri()
{
    "$OCV_BUILD/test/tools/cri" "$STATE/cri.sock" "$@"
}

cri_pull()
{
    cri pull "$1"
}

# pulled_digest IMAGE: a fresh pull; the digest that the store has for the name
pulled_digest()
{
    cri rmi "$1"
    cri pull "$1" >/dev/null || return 1
    cri_digest "$1"
}

cri_digest()
{
    cri status "$1" | jq -r '.repo_digests[0] | sub(".*@"; "")'
}

ctr_digest()
{
    ctr images ls "name==$1" | awk 'NR == 2 { print $3 }' | grep .
}

cri_images()
{
    ctr -a "$STATE/cri.sock" -n k8s.io images ls ${1:+"name==$1"}
}

# store_is_whole CTR-OPTION...: every blob that containerd has committed is what its digest says
store_is_whole()
{
    local digest n=0
    for digest in $(ctr "$@" content ls -q); do
        [ "sha256:$(ctr "$@" content get "$digest" | sha256sum | cut -d' ' -f1)" = "$digest" ] || {
            echo "$digest is damaged"
            return 1
        }
        n=$((n + 1))
    done
    [ "$n" -gt 0 ]
}

cri_store_is_whole()
{
    store_is_whole -a "$STATE/cri.sock" -n k8s.io
}

# hosts_toml DIR REGISTRY SERVER [MIRROR]: what setup writes, in DIR for the registry
hosts_toml()
{
    mkdir -p "$1/$2"
    printf 'server = "%s"\n' "$3" >"$1/$2/hosts.toml"
    [ -z "${4:-}" ] ||
        printf '[host."%s"]\n  capabilities = ["pull", "resolve"]\n' "$4" >>"$1/$2/hosts.toml"
}

push_nested()
{
    local url=http://${1%%/*}/v2/${1#*/}/manifests type='application/vnd.oci.image.index.v1+json' file=$BATS_TEST_TMPDIR/nested
    jq -cn --arg type "$type" --arg digest "$2" --argjson size "$(curl -sf -H "Accept: $type" "$url/$2" | wc -c)" \
        '{schemaVersion: 2, mediaType: $type, manifests: [{mediaType: $type, digest: $digest, size: $size}]}' >"$file"
    curl -sfS -X PUT -H "Content-Type: $type" --data-binary "@$file" "$url/nested" >&2 || return 1
    echo "sha256:$(sha256sum <"$file" | cut -d' ' -f1)"
}
