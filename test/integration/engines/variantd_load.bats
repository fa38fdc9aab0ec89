#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Many clients at the same time, upstreams that fail in every way under real runtimes, and a tag
# that moves while it is being resolved.

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman jq curl
    make_programs "$STATE/layout"
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:next" --namespaces nvidia \
        "null=oci:$STATE/layout:null" \
        "cuda12.6=oci:$STATE/layout:cuda12.6,nvidia :: cuda_version_lower_bound :: 12.6" >/dev/null 3>&-
    start_registry
    start_gate "${REGISTRY#*:}"
    export DIRECT=$REGISTRY SERVER=$GATE
    push_layout "$STATE/layout:app" "$DIRECT/demo/app:1"
    push_layout "$STATE/layout:next" "$DIRECT/demo/app:next"
    start_variantd node --registry "$SERVER=http://$SERVER" --profile "$PROFILES/h100.json"
    export NODE=$VARIANTD SEGMENT=${SERVER/:/--}
    push_layout "$STATE/layout:pause" "$DIRECT/pause:1"
    PAUSE_IMAGE=$SERVER/pause:1 start_cri "$STATE/certs.d"
    export CONTAINERD_ADDRESS=$STATE/cri.sock CONTAINERD_NAMESPACE=default
    start_podman
    CUDA=$(digest_of cuda12.8)
    OLDER=$(digest_of cuda12.6)
    export CUDA OLDER
}

setup()
{
    release
    export VARIANTD=$NODE VARIANTD_SOCKET=$STATE/node.sock
}

teardown()
{
    release
}

# put_index REPO:TAG FILE: straight to the registry
put_index()
{
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$2" \
        "http://$DIRECT/v2/${1%:*}/manifests/${1#*:}"
}

get_index() # REPO:TAG FILE
{
    curl -sf -H "$ACCEPT_ALL" -o "$2" "http://$DIRECT/v2/${1%:*}/manifests/${1#*:}"
}

fetch_all() # with curl's configuration on stdin, all in parallel
{
    curl --silent --show-error --fail --parallel --parallel-immediate --parallel-max 200 \
        -H "$ACCEPT_ALL" --write-out '%{http_code}\n' --config - 2>/dev/null | sort | uniq -c
}

# through MIRROR: containerd and podman
through()
{
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$SERVER" "http://$1"
    registries_conf "$1" "$SERVER"
}

@test "200 clients pull 50 tags at once, and real ones among them" {
    local i digest work=$BATS_TEST_TMPDIR real
    get_index demo/app:1 "$work/index"
    for i in $(seq 50); do # 50 indexes, no two the same
        jq --arg i "$i" '.annotations.number = $i' "$work/index" >"$work/index.$i"
        put_index "demo/app:t$i" "$work/index.$i"
    done
    through "$NODE"
    {
        ctr images pull --hosts-dir "$STATE/certs.d" "$SERVER/demo/app:t7" &&
            cri pull "$SERVER/demo/app:t9" && podman pull --quiet "$SERVER/demo/app:t8"
    } >"$work/real" 2>&1 3>&- &
    real=$!
    run -0 fetch_all < <(for i in $(seq 200); do
        printf 'url = http://%s/v2/%s/demo/app/manifests/t%d\noutput = %s/m.%d\n' "$NODE" "$SEGMENT" $((i % 50 + 1)) "$work" "$i"
    done)
    [ "$(tr -s ' ' <<<"$output")" = " 200 200" ]
    sha256sum "$work"/m.* | awk -v want="${CUDA#sha256:}" '$1 != want { exit 1 }'
    run -0 fetch_all < <(for i in $(seq 200); do
        for digest in $(jq -r '.config.digest, .layers[].digest' "$work/m.1"); do
            printf 'url = http://%s/v2/%s/demo/app/blobs/%s\noutput = %s/b.%d.%s\n' "$NODE" "$SEGMENT" "$digest" "$work" "$i" "${digest#sha256:}"
        done
    done)
    [ "$(tr -s ' ' <<<"$output")" = " 600 200" ]
    sha256sum "$work"/b.* | awk '{ split($2, name, "."); if (name[length(name)] != $1) exit 1 }'
    wait "$real"
    [ "$(ctr_digest "$SERVER/demo/app:t7")" = "$CUDA" ]
    [ "$(cri_digest "$SERVER/demo/app:t9")" = "$CUDA" ]
    [ "$(podman image inspect --format '{{.Digest}}' "$SERVER/demo/app:t8")" = "$CUDA" ]
    # parallel clients share upstream requests: 50 indexes, and few others
    [ "$(upstream_count '"GET /v2/demo/app/manifests/[^"]*" 200 .*variantd')" -lt 100 ]
    rm -rf "${work:?}"/b.*
}

@test "an upstream of 429, 500, silence or rubbish: containerd and podman get the default" {
    local mode index
    start_badregistry
    start_variantd worse --registry "$SERVER=http://$BAD" --profile "$PROFILES/h100.json"
    through "$VARIANTD"
    get_index demo/app:1 "$BATS_TEST_TMPDIR/index"
    index=sha256:$(sha256sum <"$BATS_TEST_TMPDIR/index" | cut -d' ' -f1)
    for mode in m429 m500 m403 slow badgzip wrongdigest; do
        push_layout "$STATE/layout:app" "$DIRECT/$mode/app:1"
        for CLIENT in ctr cri podman; do
            run -0 pull "$SERVER/$mode/app:1"
            [ "$CLIENT" = podman ] || [ "$(stored "$SERVER/$mode/app:1")" = "$index" ]
            run -0 --separate-stderr says "$SERVER/$mode/app:1"
            [ "$output" = "this is null" ]
        done
    done
    [ "$(outcome upstream_error)" -ge 12 ]
    [ "$(outcome timeout)" -ge 3 ]
    [ "$(outcome denied)" -ge 3 ]
    stop_daemon worse
    cri_store_is_whole
}

# moved_meanwhile COMMAND...: what $CLIENT has after a pull during which COMMAND moved the tag, which
# was after the daemon had asked where it points and before it had the index
moved_meanwhile()
{
    local pulling
    through "$NODE"
    hold request GET /v2/demo/moving/manifests/
    pull "$SERVER/demo/moving:1" >"$BATS_TEST_TMPDIR/pull" 2>&1 3>&- &
    pulling=$!
    held
    "$@"
    release
    wait "$pulling"
}

# one_of LABEL...: the image is one of these, and runs as such
one_of()
{
    local label
    run -0 --separate-stderr says "$SERVER/demo/moving:1"
    [[ " $* " == *" ${output#this is } "* ]]
    label=${output#this is }
    [ "$label" = null ] || [ "$(stored "$SERVER/demo/moving:1")" = "$(digest_of "$label")" ]
}

@test "a tag that moves between HEAD and GET: one index's variant, never a mixture" {
    push_layout "$STATE/layout:app" "$DIRECT/demo/moving:1" # its children
    for CLIENT in ctr cri podman; do
        get_index demo/app:1 - | jq --arg c "$CLIENT" '.annotations.number = "first" + $c' >"$BATS_TEST_TMPDIR/first"
        get_index demo/app:next - | jq --arg c "$CLIENT" '.annotations.number = "next" + $c' >"$BATS_TEST_TMPDIR/next"
        put_index demo/moving:1 "$BATS_TEST_TMPDIR/first"
        moved_meanwhile put_index demo/moving:1 "$BATS_TEST_TMPDIR/next"
        one_of cuda12.8 cuda12.6
        run -0 pull "$SERVER/demo/moving:1"
        one_of cuda12.6
    done
    CLIENT=cri
    run -0 pull "$SERVER/demo/moving:1"
    cri_store_is_whole
}

# and_delete FILE: the tag moves to the index in FILE, and its former index is deleted
and_delete()
{
    local old
    old=$(curl -sfI -H "$ACCEPT_ALL" "http://$DIRECT/v2/demo/moving/manifests/1" | tr -d '\r' |
        sed -n 's/^Docker-Content-Digest: //p')
    put_index demo/moving:1 "$1"
    curl -sf -X DELETE "http://$DIRECT/v2/demo/moving/manifests/$old"
}

@test "a tag that moves, and its old index is deleted: the new one's variant or its default" {
    push_layout "$STATE/layout:app" "$DIRECT/demo/moving:1"
    for CLIENT in ctr cri podman; do
        get_index demo/app:1 - | jq --arg c "$CLIENT" '.annotations.number = "second" + $c' >"$BATS_TEST_TMPDIR/second"
        get_index demo/app:next - | jq --arg c "$CLIENT" '.annotations.number = "last" + $c' >"$BATS_TEST_TMPDIR/last"
        put_index demo/moving:1 "$BATS_TEST_TMPDIR/second"
        moved_meanwhile and_delete "$BATS_TEST_TMPDIR/last"
        one_of cuda12.6 null
        run -0 pull "$SERVER/demo/moving:1"
        one_of cuda12.6
    done
}
