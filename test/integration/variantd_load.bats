#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Many clients at once, upstreams that fail in every way under real runtimes, and a tag that moves
# while it is being resolved.

load harness
load images
load variantd
load cri

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
    start_containerd
    start_podman
    CUDA=$(digest_of cuda12.8)
    OLDER=$(digest_of cuda12.6)
    export CUDA OLDER
}

teardown_file()
{
    state_stop
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

fetch_all() # with curl's configuration on stdin, everything at once
{
    curl --silent --show-error --fail --parallel --parallel-immediate --parallel-max 200 \
        -H "$ACCEPT_ALL" --write-out '%{http_code}\n' --config - 2>/dev/null | sort | uniq -c
}

# through MIRROR: containerd and podman
through()
{
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$SERVER" "http://$1"
    export CONTAINERS_REGISTRIES_CONF=$STATE/mirror.conf
    cat >"$CONTAINERS_REGISTRIES_CONF" <<TOML
unqualified-search-registries = ["docker.io"]
[[registry]]
location = "$SERVER"
insecure = true
[[registry.mirror]]
location = "$1/$SEGMENT"
insecure = true
TOML
}

target_of()
{
    ctr images ls "name==$1" | awk 'NR == 2 { print $3 }'
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
            podman pull --quiet "$SERVER/demo/app:t8"
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
    [ "$(target_of "$SERVER/demo/app:t7")" = "$CUDA" ]
    [ "$(podman image inspect --format '{{.Digest}}' "$SERVER/demo/app:t8")" = "$CUDA" ]
    # clients at once share what is fetched: 50 indexes, and few things more
    [ "$(upstream_count '"GET /v2/demo/app/manifests/[^"]*" 200 .*variantd')" -lt 100 ]
    rm -rf "${work:?}"/b.*
}

@test "an upstream of 429, 500, silence or rubbish: containerd and podman get the default entry" {
    local mode index
    start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    await bad awk 'NR == 3 { found = 1 } END { exit !found }' "$STATE/log/bad"
    start_variantd worse --registry "$SERVER=http://127.0.0.1:$(awk 'NR == 1 { print $1 }' "$STATE/log/bad")" \
        --profile "$PROFILES/h100.json"
    through "$VARIANTD"
    get_index demo/app:1 "$BATS_TEST_TMPDIR/index"
    index=sha256:$(sha256sum <"$BATS_TEST_TMPDIR/index" | cut -d' ' -f1)
    for mode in m429 m500 m403 slow badgzip wrongdigest; do
        push_layout "$STATE/layout:app" "$DIRECT/$mode/app:1"
        run -0 ctr images pull --hosts-dir "$STATE/certs.d" "$SERVER/$mode/app:1"
        [ "$(target_of "$SERVER/$mode/app:1")" = "$index" ]
        run -0 podman pull --quiet "$SERVER/$mode/app:1"
        [ "$(podman image inspect --format '{{.Labels.build}}' "$SERVER/$mode/app:1")" = null ]
    done
    [ "$(outcome upstream_error)" -ge 8 ]
    [ "$(outcome timeout)" -ge 2 ]
    [ "$(outcome denied)" -ge 2 ]
    stop_daemon worse
    store_is_whole
}

# moved_meanwhile COMMAND...: what ctr has after a pull during which COMMAND moved the tag, which
# was after the daemon had asked where it points and before it had the index
moved_meanwhile()
{
    local pulling
    through "$NODE"
    ctr images rm --sync "$SERVER/demo/moving:1" >/dev/null 2>&1 || true
    hold request GET /v2/demo/moving/manifests/
    ctr images pull --hosts-dir "$STATE/certs.d" "$SERVER/demo/moving:1" >"$BATS_TEST_TMPDIR/pull" 2>&1 3>&- &
    pulling=$!
    held
    "$@"
    release
    wait "$pulling"
    target_of "$SERVER/demo/moving:1"
}

pull_moving()
{
    through "$NODE"
    ctr images pull --hosts-dir "$STATE/certs.d" "$SERVER/demo/moving:1" >/dev/null
    target_of "$SERVER/demo/moving:1"
}

@test "a tag that moves between HEAD and GET: one index's variant, never a mixture" {
    get_index demo/app:1 - | jq '.annotations.number = "first"' >"$BATS_TEST_TMPDIR/first"
    get_index demo/app:next - | jq '.annotations.number = "next"' >"$BATS_TEST_TMPDIR/next"
    push_layout "$STATE/layout:app" "$DIRECT/demo/moving:1" # its children
    put_index demo/moving:1 "$BATS_TEST_TMPDIR/first"
    run -0 moved_meanwhile put_index demo/moving:1 "$BATS_TEST_TMPDIR/next"
    [ "$output" = "$CUDA" ] || [ "$output" = "$OLDER" ]
    run -0 pull_moving
    [ "$output" = "$OLDER" ]
    store_is_whole
}

# and_delete FILE: the tag goes to the index in FILE, and the one it had is deleted
and_delete()
{
    local old
    old=$(curl -sfI -H "$ACCEPT_ALL" "http://$DIRECT/v2/demo/moving/manifests/1" | tr -d '\r' |
        sed -n 's/^Docker-Content-Digest: //p')
    put_index demo/moving:1 "$1"
    curl -sf -X DELETE "http://$DIRECT/v2/demo/moving/manifests/$old"
}

@test "a tag that moves, and its old index is deleted: the new one's variant or its default entry" {
    get_index demo/app:1 - | jq '.annotations.number = "second"' >"$BATS_TEST_TMPDIR/second"
    get_index demo/app:next - | jq '.annotations.number = "last"' >"$BATS_TEST_TMPDIR/last"
    push_layout "$STATE/layout:app" "$DIRECT/demo/moving:1"
    put_index demo/moving:1 "$BATS_TEST_TMPDIR/second"
    run -0 moved_meanwhile and_delete "$BATS_TEST_TMPDIR/last"
    [ "$output" = "$OLDER" ] || [ "$output" = "sha256:$(sha256sum <"$BATS_TEST_TMPDIR/last" | cut -d' ' -f1)" ]
    run -0 pull_moving
    [ "$output" = "$OLDER" ]
    store_is_whole
}
