#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A directory with an OCI layout in place of a registry.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require skopeo curl jq
    make_variants "$STATE/layout"
    CUDA=$(digest_of cuda12.8)
    export CUDA
    start_variantd --layout "$STATE/layout" --registry localhost:5000 --profile "$PROFILES/h100.json"
}

@test "its tags are answered with the variant, under any repository" {
    ask HEAD "/v2/some/name/manifests/app?ns=localhost:5000"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask GET "/v2/some/name/manifests/app"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask HEAD "/v2/some/name/manifests/cpu?ns=localhost:5000"
    [ "$code" = 404 ]
    ask GET "/v2/some/name/manifests/cpu"
    [ "$code" = 200 ]
    ask GET "/raw/v2/some/name/manifests/app"
    [ "$(header content-type)" = application/vnd.oci.image.index.v1+json ]
    ask GET "/v2/some/name/manifests/none"
    [ "$code" = 404 ]
}

@test "by the configuration: a registry's name and a directory, or a directory alone" {
    printf 'layout: ["registry.example=%s", "%s"]\n' "$STATE/layout" "$STATE/layout" >"$STATE/layout.yaml"
    run -0 "$VARIANTD_BIN" --check --config "$STATE/layout.yaml"
    local before=$VARIANTD socket=$VARIANTD_SOCKET
    start_variantd configured --config "$STATE/layout.yaml" --profile "$PROFILES/h100.json"
    grep -q "registry registry.example: OCI layout $STATE/layout" "$STATE/log/configured"
    ask HEAD "/v2/some/name/manifests/app?ns=registry.example"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    stop_daemon configured
    VARIANTD=$before VARIANTD_SOCKET=$socket
    for wrong in layout registry.example=layout no/host=/srv "$STATE/nowhere"; do
        echo "layout: [\"$wrong\"]" >"$STATE/wrong.yaml"
        run -2 "$VARIANTD_BIN" --check --config "$STATE/wrong.yaml" || run -1 "$VARIANTD_BIN" --check --config "$STATE/wrong.yaml"
        [[ $output == *"${wrong##*=}"* ]]
    done
}

@test "blobs, whole and in parts, and their heads" {
    local blob path size
    blob=$(jq -r '.layers[1].digest' "$STATE/layout/blobs/sha256/${CUDA#sha256:}")
    path=$STATE/layout/blobs/sha256/${blob#sha256:}
    size=$(stat -c %s "$path")
    ask GET "/v2/x/blobs/$blob"
    [ "$code" = 200 ]
    cmp "$body" "$path"
    ask HEAD "/v2/x/blobs/$blob"
    [ "$code" = 200 ]
    [ "$(header content-length)" = "$size" ]
    ask GET "/v2/x/blobs/$blob" --range 5-14
    [ "$code" = 206 ]
    [ "$(header content-range)" = "bytes 5-14/$size" ]
    cmp "$body" <(tail -c +6 "$path" | head -c 10)
    ask GET "/v2/x/blobs/$blob" --range -10
    [ "$code" = 206 ]
    cmp "$body" <(tail -c 10 "$path")
    ask GET "/v2/x/blobs/$blob" --range "$size-"
    [ "$code" = 416 ]
    ask GET "/v2/x/blobs/sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    [ "$code" = 404 ]
}

@test "a part of a blob is sent by the kernel" {
    local blob trace=$BATS_TEST_TMPDIR/trace
    blob=$(jq -r '.layers[1].digest' "$STATE/layout/blobs/sha256/${CUDA#sha256:}")
    watch_calls -e trace=sendfile -o "$trace"
    ask GET "/v2/x/blobs/$blob" --range 5-14
    [ "$code" = 206 ]
    stop_daemon strace
    grep 'sendfile(.* = 10$' "$trace"
}

@test "digests and lists of tags" {
    ask GET "/v2/x/manifests/$CUDA"
    [ "$code" = 200 ]
    [ "$(header content-type)" = application/vnd.oci.image.manifest.v1+json ]
    ask GET "/v2/x/tags/list"
    [ "$code" = 200 ]
    [ "$(jq -c '.tags | map(select(. == "app" or . == "cpu"))' "$body")" = '["app","cpu"]' ]
}

@test "a client pulls all of it" {
    run -0 skopeo --insecure-policy copy --quiet --preserve-digests --src-tls-verify=false \
        "docker://$VARIANTD/some/name:app" "oci:$BATS_TEST_TMPDIR/out:1"
    [ "$(jq -r '.manifests[0].digest' "$BATS_TEST_TMPDIR/out/index.json")" = "$CUDA" ]
}

@test "a layout's full image name is found by ?ns= and as a path" {
    local name
    cp -r "$STATE/layout" "$STATE/named"
    jq '(.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") | .annotations) +=
        {"io.containerd.image.name": "registry.example/team/app:2.0"}' "$STATE/layout/index.json" \
        >"$STATE/named/index.json"
    start_variantd named --layout "$STATE/named" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/team/app/manifests/2.0?ns=registry.example"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask HEAD "/v2/registry.example/team/app/manifests/2.0"
    [ "$code" = 200 ]
    for name in team/app/manifests/app team/other/manifests/2.0; do
        ask HEAD "/v2/$name?ns=registry.example"
        [ "$code" = 404 ]
    done
    ask GET "/v2/registry.example/team/app/tags/list"
    [[ $(jq -c .tags "$body") == *'"2.0"'* ]]
    stop_daemon named
}

@test "full names that skopeo writes belong to the registries of --registry, and a new image is there at once" {
    local copy=(skopeo --insecure-policy copy --quiet --all --preserve-digests)
    "${copy[@]}" "oci:$STATE/layout:app" "oci:$STATE/site:registry.example/team/app:1.0"
    start_variantd site --layout "$STATE/site" --registry registry.example --registry registry.k8s.io \
        --profile "$PROFILES/h100.json"
    ask HEAD "/proxy/v2/team/app/manifests/1.0?ns=registry.example"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask GET "/proxy/v2/team/app/manifests/$CUDA?ns=registry.example"
    [ "$code" = 200 ]
    ask HEAD "/proxy/v2/pause/manifests/3.10?ns=registry.k8s.io"
    [ "$code" = 404 ]
    "${copy[@]}" "oci:$STATE/layout:cpu" "oci:$STATE/site:registry.k8s.io/pause:3.10"
    ask HEAD "/proxy/v2/pause/manifests/3.10?ns=registry.k8s.io"
    [ "$code" = 200 ]
    # a resolver leaves it to a registry
    ask HEAD "/v2/pause/manifests/3.10?ns=registry.k8s.io"
    [ "$code" = 404 ]
    stop_daemon site
}

@test "a damaged blob never ends: the connection is cut before the last bytes" {
    local blob path
    cp -r "$STATE/layout" "$STATE/damaged"
    blob=$(jq -r '.layers[1].digest' "$STATE/layout/blobs/sha256/${CUDA#sha256:}")
    path=$STATE/damaged/blobs/sha256/${blob#sha256:}
    printf X | dd of="$path" bs=1 seek=1000 conv=notrunc status=none
    start_variantd damaged --layout "$STATE/damaged" --registry localhost:5000 --profile "$PROFILES/h100.json"
    ask GET "/v2/x/blobs/$blob"
    [ "$code" = 200 ]
    [ "$(header content-length)" = "$(stat -c %s "$path")" ]
    [ "$(stat -c %s "$body")" -lt "$(header content-length)" ]
    grep -q "the bytes have digest" "$STATE/log/damaged"
    : >"$path" # as after a power cut: of nothing no part can be held back
    ask GET "/v2/x/blobs/$blob"
    [ "$code" = 502 ]
    # a small one is right where it is right, and the blob of no bytes is one, too
    printf '{}' >"$STATE/damaged/blobs/sha256/44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    ask GET /v2/x/blobs/sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a
    [ "$code" = 200 ]
    [ "$(cat "$body")" = '{}' ]
    : >"$STATE/damaged/blobs/sha256/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    ask GET /v2/x/blobs/sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    [ "$code" = 200 ]
    [ "$(header content-length)" = 0 ]
    stop_daemon damaged
}

@test "a blob of up to 64 KiB is checked before its head is given, and its connection stays open" {
    local size connects path digest url
    local -A expected=([65536]="1 0" [65537]="1 1") damaged=([65536]=502 [65537]=200)
    cp -r "$STATE/layout" "$STATE/sized"
    start_variantd sized --layout "$STATE/sized" --registry localhost:5000 --profile "$PROFILES/h100.json"
    for size in 65536 65537; do
        path=$BATS_TEST_TMPDIR/blob
        head -c "$size" /dev/urandom >"$path"
        digest=$(sha256sum <"$path" | cut -d' ' -f1)
        cp "$path" "$STATE/sized/blobs/sha256/$digest"
        url="http://$VARIANTD/v2/x/blobs/sha256:$digest"
        connects=$(curl --silent --write-out '%{num_connects}\n' --output "$path.1" "$url" --output "$path.2" "$url")
        [ "${connects//$'\n'/ }" = "${expected[$size]}" ]
        cmp "$path" "$path.1"
        cmp "$path" "$path.2"
        printf X | dd of="$STATE/sized/blobs/sha256/$digest" bs=1 seek=1000 conv=notrunc status=none
        ask GET "/v2/x/blobs/sha256:$digest"
        [ "$code" = "${damaged[$size]}" ]
        [ "$size" = 65536 ] || [ "$(stat -c %s "$body")" -lt "$(header content-length)" ]
    done
    stop_daemon sized
}

# files_open: how many descriptors the daemon has
files_open()
{
    find "/proc/$(<"$STATE/pids/variantd")/fd" -mindepth 1 | wc -l
}

@test "every file of a layout is closed again" {
    local i before digest
    digest=$(jq -r '.manifests[0].digest' "$STATE/layout/index.json")
    ask GET "/v2/x/blobs/$digest"
    before=$(files_open)
    for _ in {1..20}; do
        ask GET "/v2/x/blobs/$digest"
        [ "$code" = 200 ]
        ask GET "/v2/x/manifests/$digest"
        [ "$code" = 200 ]
    done
    for ((i = 0; i < 50; i++)); do
        [ "$(files_open)" -gt $((before + 2)) ] || break
        sleep 0.1
    done
    [ "$(files_open)" -le $((before + 2)) ]
}

@test "a wrong blob is not a manifest" {
    local index
    cp -r "$STATE/layout" "$STATE/bad"
    index=$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") | .digest' \
        "$STATE/bad/index.json")
    echo '{}' >"$STATE/bad/blobs/sha256/${index#sha256:}"
    start_variantd bad --layout "$STATE/bad" --registry localhost:5000 --profile "$PROFILES/h100.json"
    ask HEAD "/v2/x/manifests/app?ns=localhost:5000"
    [ "$code" = 502 ]
    ask GET "/v2/x/manifests/app"
    [ "$code" = 502 ]
    stop_daemon bad
}
