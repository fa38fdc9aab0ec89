#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The resolving mirror's table (section 8 of the specification), a test for each of its cells, over
# docker-registry.

load ../harness
load ../images
load ../variantd
load ../mirror

setup_file()
{
    state_start
    require docker-registry skopeo curl jq
    start_mirror
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:same"
    push_layout "$STATE/layout:cpu" "$REGISTRY/demo/plain:1"
    mkimage "$STATE/layout" big --layer 20M
    push_layout "$STATE/layout:big" "$REGISTRY/demo/big:1"
    # nothing fits: one variant for other hardware, no default
    mkimage "$STATE/layout" odd --file etc/build=odd
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/layout:nofit" \
        "rocm=oci:$STATE/layout:odd,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$STATE/layout:nofit" "$REGISTRY/demo/nofit:1"
}

@test "a tag with variants: resolver HEAD and GET give the chosen child" {
    ask HEAD "/v2/demo/app/manifests/1?$NS"
    expect_child
    [ "$(header oci-namespace)" = "$REGISTRY" ]
    ask GET "/v2/demo/app/manifests/1?$NS"
    expect_child
    [ "$(sha256_of "$body")" = "$CUDA" ]
}

@test "a GET beside a HEAD of the same tag: both shared, both named" {
    local i method url
    for i in 1 2 3 4 5; do
        push_layout "$STATE/layout:app" "$REGISTRY/demo/both$i:1"
        url="http://$VARIANTD/v2/demo/both$i/manifests/1?$NS"
        curl --silent --parallel --parallel-immediate -H "$ACCEPT_ALL" --output /dev/null \
            --head --dump-header "$BATS_TEST_TMPDIR/both.$i.HEAD" "$url" --next --silent \
            -H "$ACCEPT_ALL" --output /dev/null --dump-header "$BATS_TEST_TMPDIR/both.$i.GET" "$url"
        for method in HEAD GET; do
            grep -q "chose cuda12.8 of $REGISTRY/demo/both$i:1" "$BATS_TEST_TMPDIR/both.$i.$method"
            grep -qi "docker-content-digest: $CUDA" "$BATS_TEST_TMPDIR/both.$i.$method"
        done
    done
}

@test "a tag with variants: proxy HEAD and GET give the chosen child" {
    ask HEAD "/v2/$SEGMENT/demo/app/manifests/1"
    expect_child
    [ -z "$(header oci-namespace)" ]
    ask GET "/v2/$SEGMENT/demo/app/manifests/1"
    expect_child
    [ "$(sha256_of "$body")" = "$CUDA" ]
    ask GET "/v2/demo/app/manifests/1" # the only registry is the default one
    expect_child
}

@test "docker.io by each of its names, and OCI-Namespace is the one that was asked for" {
    local name
    push_layout "$STATE/layout:app" "$REGISTRY/library/app:1"
    start_variantd hub --registry "docker.io=http://$REGISTRY" --profile "$PROFILES/h100.json"
    for name in docker.io index.docker.io registry-1.docker.io; do
        ask HEAD "/v2/app/manifests/1?ns=$name"
        [ "$code" = 200 ]
        [ "$(header docker-content-digest)" = "$CUDA" ]
        [ "$(header oci-namespace)" = "$name" ]
        [ "$(header warning)" = '299 - "variantd: chose cuda12.8 of docker.io/library/app:1"' ]
    done
    stop_daemon hub
}

@test "nothing but the default fits: it is the chosen child, like any other" {
    local path
    jq '.namespaces = []' "$PROFILES/h100.json" >"$STATE/bare.json"
    start_variantd bare --registry "$REGISTRY=http://$REGISTRY" --profile "$STATE/bare.json"
    for path in "/v2/demo/app/manifests/1?$NS" "/v2/$SEGMENT/demo/app/manifests/1"; do
        ask HEAD "$path"
        [ "$code" = 200 ]
        [ "$(header docker-content-digest)" = "$(digest_of null)" ]
        [ "$(header warning)" = "299 - \"variantd: chose the default of $REGISTRY/demo/app:1\"" ]
        ask GET "$path"
        [ "$code" = 200 ]
        [ "$(sha256_of "$body")" = "$(digest_of null)" ]
    done
    [ "$(metric 'variantd_chosen_total{label="default"}')" = 4 ]
    # so it is where it has a label, as in indexes of before
    curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/app/manifests/1" |
        jq -c '(.manifests[] | select(.annotations == null)) |= (.annotations = {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""})' |
        curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @- \
            "http://$REGISTRY/v2/demo/app/manifests/before"
    ask HEAD "/v2/demo/app/manifests/before?$NS"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$(digest_of null)" ]
    [ "$(header warning)" = "299 - \"variantd: chose null of $REGISTRY/demo/app:before\"" ]
    [ "$(metric 'variantd_chosen_total{label="null"}')" = 1 ]
    curl -sf -X DELETE "http://$REGISTRY/v2/demo/app/manifests/$(curl -sfI -H "$ACCEPT_ALL" \
        "http://$REGISTRY/v2/demo/app/manifests/before" | tr -d '\r' | sed -n 's/^Docker-Content-Digest: //p')"
    stop_daemon bare
}

@test "an ordinary image: resolver 404, proxy the same bytes" {
    local method
    ask HEAD "/v2/demo/plain/manifests/1?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/demo/plain/manifests/1?$NS"
    [ "$code" = 404 ]
    [ "$(jq -r '.errors[0].code' "$body")" = MANIFEST_UNKNOWN ]
    curl -sf -H "$ACCEPT_ALL" -o "$BATS_TEST_TMPDIR/direct" "http://$REGISTRY/v2/demo/plain/manifests/1"
    for method in HEAD GET HEAD; do # before the bytes are known, and after it
        ask "$method" "/v2/$SEGMENT/demo/plain/manifests/1"
        [ "$code" = 200 ]
        [ "$(header docker-content-digest)" = "$(sha256_of "$BATS_TEST_TMPDIR/direct")" ]
        [ "$(header content-length)" = "$(stat -c %s "$BATS_TEST_TMPDIR/direct")" ]
        [ -z "$(header accept-ranges)" ] # it comes whole
        [ -z "$(header warning)" ]
        [ "$method" = HEAD ] || cmp "$body" "$BATS_TEST_TMPDIR/direct"
    done
}

@test "levels of an ordinary index: of a repository for which cpu_levels is on, and of no other" {
    local repository v3
    make_levels "$STATE/layout" cpu
    for repository in levels plainly; do
        push_layout "$STATE/layout:cpu" "$REGISTRY/demo/$repository:base"
        push_layout "$STATE/layout:level.v3" "$REGISTRY/demo/$repository:v3"
        curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
            --data-binary "@$STATE/levels.json" "http://$REGISTRY/v2/demo/$repository/manifests/1"
    done
    v3=$(jq -r '.manifests[0].digest' "$STATE/levels.json")
    printf 'cpu_levels: off\nrepositories:\n  "%s/demo/levels": {cpu_levels: on}\n' "$REGISTRY" >"$STATE/levels.yaml"
    start_variantd levels --config "$STATE/levels.yaml" --registry "$REGISTRY=http://$REGISTRY" \
        --profile "$PROFILES/h100.json"
    for repository in plainly levels plainly; do # the same index: what it means here depends on where
        ask HEAD "/v2/demo/$repository/manifests/1?$NS"
        if [ "$repository" = plainly ]; then
            [ "$code" = 404 ]
            ask HEAD "/v2/$SEGMENT/demo/$repository/manifests/1"
            [ "$(header docker-content-digest)" = "$(sha256_of "$STATE/levels.json")" ]
        else
            [ "$code" = 200 ]
            [ "$(header docker-content-digest)" = "$v3" ]
            [ "$(header warning)" = "299 - \"variantd: chose linux/amd64/v3 of $REGISTRY/demo/levels:1\"" ]
        fi
    done
    stop_daemon levels
}

@test "an entry without a platform whose image is gone leaves the choice to the others" {
    local gone=$BATS_TEST_TMPDIR/gone.json digest
    push_layout "$STATE/layout:app" "$REGISTRY/demo/gone:app"
    push_layout "$STATE/layout:odd" "$REGISTRY/demo/gone:odd"
    digest=$(curl -sfI -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/gone/manifests/odd" | tr -d '\r' |
        sed -n 's/^Docker-Content-Digest: //p')
    curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/gone/manifests/app" |
        jq -c --arg digest "$digest" '.manifests += [.manifests[0] | {mediaType, $digest, size}]' >"$gone"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$gone" \
        "http://$REGISTRY/v2/demo/gone/manifests/1"
    curl -sf -X DELETE "http://$REGISTRY/v2/demo/gone/manifests/$digest"
    ask HEAD "/v2/demo/gone/manifests/1?$NS"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
}

@test "variants by tag rules: a registry that tells digests is asked for the tags' heads alone" {
    mkdir -p "$STATE/ruled/tags.d"
    printf '%s\n' 'schema: dev.ocivariant.tags/v1' 'family: ruled' \
        "repositories: [{match: '127\\.0\\.0\\.1:[0-9]+/demo/ruled', kind: repository}]" \
        'parts:' "  - {match: 'gpu', kind: device, gives: ['nvidia :: sm_arch :: 90_real']}" \
        "  - {match: '[0-9]+\\.[0-9]+', group: version}" "group_tags: ['{version}']" >"$STATE/ruled/tags.d/10-ruled.yaml"
    push_layout "$STATE/layout:cpu" "$REGISTRY/demo/ruled:1.0"
    push_layout "$STATE/layout:odd" "$REGISTRY/demo/ruled:1.0-gpu"
    echo 'tag_rules: on' >"$STATE/ruled.yaml"
    OCV_DATADIR=$STATE/ruled start_variantd ruled --config "$STATE/ruled.yaml" --registry "$REGISTRY=http://$REGISTRY" \
        --profile "$PROFILES/h100.json"
    ask HEAD "/v2/demo/ruled/manifests/1.0?$NS"
    [ "$code" = 200 ]
    [ "$(upstream_count 'HEAD /v2/demo/ruled/manifests/1.0-gpu')" -gt 0 ]
    [ "$(upstream_count 'GET /v2/demo/ruled/manifests/1.0-gpu')" = 0 ]
    [ "$(header docker-content-digest)" = "$(curl -sfI -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/ruled/manifests/1.0-gpu" |
        tr -d '\r' | sed -n 's/^Docker-Content-Digest: //p')" ]
    run ! grep 'no choice by tag rules' "$STATE/log/ruled"
    stop_daemon ruled
}

@test "nothing fits: resolver 404, proxy the index itself" {
    ask HEAD "/v2/demo/nofit/manifests/1?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/$SEGMENT/demo/nofit/manifests/1"
    [ "$code" = 200 ]
    [ "$(header content-type)" = application/vnd.oci.image.index.v1+json ]
    [ "$(outcome no_fit)" -ge 1 ]
}

@test "a digest: resolver 404, proxy streams it" {
    ask GET "/v2/demo/app/manifests/$CUDA?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/$SEGMENT/demo/app/manifests/$CUDA"
    [ "$code" = 200 ]
    [ "$(sha256_of "$body")" = "$CUDA" ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask HEAD "/v2/$SEGMENT/demo/app/manifests/$CUDA"
    [ "$code" = 200 ]
    [ "$(header content-length)" = 549 ]
}

@test "a digest of an index is passed as it is" {
    local index
    index=$(curl -sfI -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/app/manifests/1" | tr -d '\r' |
        sed -n 's/^Docker-Content-Digest: //p')
    ask GET "/v2/$SEGMENT/demo/app/manifests/$index"
    [ "$code" = 200 ]
    [ "$(sha256_of "$body")" = "$index" ]
    [ -z "$(header warning)" ]
}

@test "a blob: resolver 404, proxy streams it, HEAD and parts too" {
    local blob
    blob=$(curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/big/manifests/1" |
        jq -r '.layers | max_by(.size) | .digest')
    ask GET "/v2/demo/big/blobs/$blob?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/$SEGMENT/demo/big/blobs/$blob"
    [ "$code" = 200 ]
    [ "$(sha256_of "$body")" = "$blob" ]
    local size
    size=$(stat -c %s "$body")
    [ "$(header content-length)" = "$size" ]
    cp "$body" "$BATS_TEST_TMPDIR/whole"
    ask HEAD "/v2/$SEGMENT/demo/big/blobs/$blob"
    [ "$code" = 200 ]
    [ "$(header content-length)" = "$size" ]
    [ "$(header accept-ranges)" = bytes ]
    ask GET "/v2/$SEGMENT/demo/big/blobs/$blob" --range 1000-1999
    [ "$code" = 206 ]
    [ "$(header content-range)" = "bytes 1000-1999/$size" ]
    cmp "$body" <(tail -c +1001 "$BATS_TEST_TMPDIR/whole" | head -c 1000)
    ask GET "/v2/$SEGMENT/demo/big/blobs/$blob" --range 1000000-
    [ "$code" = 206 ]
    cmp "$body" <(tail -c +1000001 "$BATS_TEST_TMPDIR/whole")
    ask GET "/v2/$SEGMENT/demo/big/blobs/$blob" --range 99999999-
    [ "$code" = 416 ]
    ask GET "/v2/$SEGMENT/demo/big/blobs/$CUDA"
    [ "$code" = 404 ]
    [ "$(jq -r '.errors[0].code' "$body")" = BLOB_UNKNOWN ]
    # the empty blob is a blob, too
    local empty=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 upload
    upload=$(curl -sf -D - -o /dev/null -X POST "http://$REGISTRY/v2/demo/big/blobs/uploads/" |
        tr -d '\r' | sed -n 's/^Location: //p')
    curl -sf -X PUT -H 'Content-Length: 0' "$upload&digest=$empty"
    ask GET "/v2/$SEGMENT/demo/big/blobs/$empty"
    [ "$code" = 200 ]
    [ ! -s "$body" ]
    [ "$(header content-length)" = 0 ]
}

@test "tags/list and referrers: resolver 404, proxy passes them" {
    ask GET "/v2/demo/app/tags/list?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/$SEGMENT/demo/app/tags/list"
    [ "$code" = 200 ]
    [ "$(jq -r '.tags | sort | join(" ")' "$body")" = "1 same" ]
    ask GET "/v2/demo/app/referrers/$CUDA?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/$SEGMENT/demo/app/referrers/$CUDA" # docker-registry has none
    [ "$code" = 404 ]
}

# a registry that has pages and referrers
@test "lists through the proxy: page by page to the end, and referrers by their type" {
    local full digest path tags i
    start_daemon full "$OCV_BUILD/test/tools/fullregistry" --page 2
    await full grep -q . "$STATE/log/full"
    full=127.0.0.1:$(head -n 1 "$STATE/log/full")
    for i in 1 2 3 4 5; do
        "$VARIANTCTL" index copy --quiet "oci:$STATE/layout:cpu" "$full/demo/list:t$i"
    done
    start_variantd lists --registry "$full=http://$full" --profile "$PROFILES/h100.json"
    for path in "/v2/${full/:/--}/demo/list/tags/list" "/proxy/v2/demo/list/tags/list?ns=$full"; do
        tags=
        for i in 1 2 3; do
            ask GET "$path"
            [ "$code" = 200 ]
            tags+=$(jq -r '.tags[]' "$body" | tr '\n' ' ')
            [ "$i" = 3 ] || [[ $(header link) == "<${path%%\?*}?"*">; rel=\"next\"" ]]
            path=$(header link | sed 's/^<\(.*\)>.*/\1/')
        done
        [ "$tags" = "t1 t2 t3 t4 t5 " ]
        [ -z "$path" ]
    done
    digest=$(curl -sf -H "$ACCEPT_ALL" "http://$full/v2/demo/list/manifests/t1" | sha256sum | sed 's/^\([0-9a-f]*\).*/sha256:\1/')
    for i in one two; do
        curl -sf -H "$ACCEPT_ALL" "http://$full/v2/demo/list/manifests/t1" |
            jq -c --arg d "$digest" --arg type "application/vnd.$i" '. + {artifactType: $type, subject: {
                mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: 1}}' |
            curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' --data-binary @- \
                "http://$full/v2/demo/list/manifests/$i"
    done
    ask GET "/v2/${full/:/--}/demo/list/referrers/$digest"
    [ "$code" = 200 ]
    [ "$(header content-type)" = application/vnd.oci.image.index.v1+json ]
    [ "$(jq -r '[.manifests[].artifactType] | sort | join(" ")' "$body")" = "application/vnd.one application/vnd.two" ]
    ask GET "/v2/${full/:/--}/demo/list/referrers/$digest?artifactType=application/vnd.two"
    [ "$code" = 200 ]
    [ "$(jq -r '.manifests[].artifactType' "$body")" = application/vnd.two ]
    [ "$(header oci-filters-applied)" = artifactType ]
    stop_daemon lists
    stop_daemon full
}

@test "/v2/ is 200 everywhere" {
    local prefix
    for prefix in '' /resolver /proxy /raw; do
        ask GET "$prefix/v2/"
        [ "$code" = 200 ]
        [ "$(header docker-distribution-api-version)" = registry/2.0 ]
    done
}

@test "prefixes decide: resolver, proxy, raw" {
    ask HEAD "/resolver/v2/demo/plain/manifests/1"
    [ "$code" = 404 ]
    ask HEAD "/proxy/v2/demo/plain/manifests/1?$NS"
    [ "$code" = 200 ]
    ask GET "/raw/v2/demo/app/manifests/1?$NS"
    [ "$code" = 200 ]
    [ "$(header content-type)" = application/vnd.oci.image.index.v1+json ]
    [ -z "$(header warning)" ]
    ask HEAD "/proxy/v2/demo/app/manifests/1?$NS"
    expect_child
}

@test "an unknown registry or name is 404 and is counted" {
    local before
    before=$(outcome unknown_registry)
    ask HEAD "/v2/demo/app/manifests/1?ns=evil.example"
    [ "$code" = 404 ]
    ask GET "/proxy/v2/demo/app/manifests/1?ns=127.0.0.1:1"
    [ "$code" = 404 ]
    [ "$(outcome unknown_registry)" = $((before + 2)) ]
    ask HEAD "/v2/demo/none/manifests/1?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/$SEGMENT/demo/none/manifests/1"
    [ "$code" = 404 ]
    ask GET --path-as-is "/v2/$SEGMENT/demo/../app/manifests/1" || true
    [ "$(outcome unknown_registry)" = $((before + 2)) ]
}

@test "writes are 405" {
    local method
    for method in PUT POST PATCH DELETE; do
        ask "$method" "/v2/demo/app/manifests/1?$NS"
        [ "$code" = 405 ]
        ask "$method" "/v2/$SEGMENT/demo/app/blobs/uploads/"
        [ "$code" = 405 ]
        [ "$(header allow)" = "GET, HEAD" ]
    done
    ask PUT "/v2/$SEGMENT/demo/app/manifests/1" --data-binary '{}'
    [ "$code" = 405 ]
}

@test "Accept: several headers are one list; a type that is not wanted is not given" {
    ACCEPT='Accept: application/vnd.oci.image.index.v1+json' ask HEAD "/v2/demo/app/manifests/1?$NS" \
        --header 'Accept: application/vnd.oci.image.manifest.v1+json'
    expect_child
    ACCEPT='Accept: application/vnd.docker.distribution.manifest.v2+json' \
        ask HEAD "/v2/demo/app/manifests/1?$NS"
    [ "$code" = 404 ]
    ACCEPT='Accept: application/vnd.oci.image.index.v1+json' \
        ask GET "/v2/$SEGMENT/demo/app/manifests/1"
    [ "$code" = 200 ]
    [ "$(header content-type)" = application/vnd.oci.image.index.v1+json ]
    ACCEPT='Accept: application/*;q=0.1' ask HEAD "/v2/demo/app/manifests/1?$NS"
    expect_child
    ACCEPT='Accept: */*;q=0' ask HEAD "/v2/demo/app/manifests/1?$NS"
    [ "$code" = 404 ]
    ACCEPT='Accept;' ask HEAD "/v2/demo/app/manifests/1?$NS" --header 'Accept:'
    expect_child
}

@test "a resolver never says 304" {
    ask HEAD "/v2/demo/app/manifests/1?$NS" --header "If-None-Match: \"$CUDA\""
    expect_child
}

@test "every pull asks upstream, and an unchanged index is fetched once" {
    local heads gets
    heads=$(upstream_count '"HEAD /v2/demo/app/manifests/1 ')
    gets=$(upstream_count '"GET /v2/demo/app/manifests/')
    for _ in 1 2 3; do
        ask HEAD "/v2/demo/app/manifests/1?$NS"
        expect_child
    done
    ask HEAD "/v2/demo/app/manifests/same?$NS" # another tag of the same index
    [ "$code" = 200 ]
    [ "$(upstream_count '"HEAD /v2/demo/app/manifests/1 ')" = $((heads + 3)) ]
    [ "$(upstream_count '"GET /v2/demo/app/manifests/')" = "$gets" ]
    grep -q '"HEAD /v2/demo/app/manifests/1 HTTP/1.1" 304' "$STATE/log/$REGISTRY_NAME"
}

@test "a child that was seen upstream is not asked for again" {
    local asked
    ask HEAD "/v2/demo/app/manifests/1?$NS"
    expect_child
    asked=$(upstream_count "/v2/demo/app/manifests/$CUDA ")
    [ "$asked" -ge 1 ]
    for _ in 1 2 3; do
        ask HEAD "/v2/demo/app/manifests/1?$NS"
        expect_child
    done
    [ "$(upstream_count "/v2/demo/app/manifests/$CUDA ")" = "$asked" ]
}

@test "a mode is what bare /v2/ means: a prefix still decides before it" {
    start_variantd always --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json" --mode resolver
    ask HEAD "/v2/$SEGMENT/demo/plain/manifests/1"
    [ "$code" = 404 ]
    ask HEAD "/v2/$SEGMENT/demo/app/manifests/1"
    expect_child
    ask GET "/v2/$SEGMENT/demo/app/manifests/$CUDA"
    [ "$code" = 404 ]
    ask HEAD "/proxy/v2/$SEGMENT/demo/plain/manifests/1"
    [ "$code" = 200 ]
    stop_daemon always
    start_variantd never --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json" --mode proxy
    ask HEAD "/v2/demo/plain/manifests/1?$NS"
    [ "$code" = 200 ]
    ask HEAD "/v2/demo/app/manifests/1?$NS"
    expect_child
    [ "$(header oci-namespace)" = "$REGISTRY" ]
    ask HEAD "/resolver/v2/demo/plain/manifests/1?$NS"
    [ "$code" = 404 ]
    stop_daemon never
}

@test "every error that is ours has the distribution format's body" {
    local path
    for path in "v2/demo/app/manifests/1?ns=evil.example" "v2/demo/none/manifests/1?$NS" "v2/UPPER/manifests/1?$NS" \
        "v2/demo/app/nothing/1?$NS" "elsewhere" "v2/demo/app/manifests/sha256:12?$NS" \
        "v2/$SEGMENT/demo/app/blobs/$CUDA" "v2/$SEGMENT/demo/none/tags/list" "v2/demo/plain/manifests/1?$NS"; do
        ask GET "/$path"
        [ "$code" = 404 ]
        [ "$(header content-type)" = application/json ]
        jq -e '.errors | length == 1 and (.[0].code | test("^[A-Z_]+$")) and (.[0].message | length > 0)' "$body"
    done
    ask PUT "/v2/demo/app/manifests/1?$NS"
    [ "$(jq -r '.errors[0].code' "$body")" = UNSUPPORTED ]
    ask GET "/v2/?$NS" --data x
    [ "$code" = 400 ]
    [ "$(jq -r '.errors[0].code' "$body")" = UNSUPPORTED ]
}

@test "a busy disk makes no answer late: what is known is told, and recorded afterwards" {
    push_layout "$STATE/layout:app" "$REGISTRY/demo/disk:1"
    watch_calls -e trace=fsync -e inject=fsync:delay_enter=20000000 -o "$BATS_TEST_TMPDIR/calls"
    ask HEAD "/v2/demo/disk/manifests/1?$NS"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask GET "/v2/demo/disk/manifests/1?$NS" # while the first one is being recorded
    [ "$code" = 200 ]
    [ "$(sha256_of "$body")" = "$CUDA" ]
    run -1 grep "$REGISTRY/demo/disk:1" "$STATE"/node/resolved/*.json
    stop_daemon strace
    for _ in {1..200}; do
        ! grep "$REGISTRY/demo/disk:1" "$STATE"/node/resolved/*.json || break
        sleep 0.05
    done
    grep "$REGISTRY/demo/disk:1" "$STATE"/node/resolved/*.json
}

@test "many clients for many tags at once: each the right child, few requests upstream" {
    local i heads
    push_layout "$STATE/layout:app" "$REGISTRY/demo/many:1"
    curl -sf -H "$ACCEPT_ALL" -o "$BATS_TEST_TMPDIR/index" "http://$REGISTRY/v2/demo/many/manifests/1"
    for i in $(seq 2 50); do
        curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
            --data-binary "@$BATS_TEST_TMPDIR/index" "http://$REGISTRY/v2/demo/many/manifests/$i"
    done
    heads=$(upstream_count '"HEAD /v2/demo/many/manifests/[0-9]* ')
    for i in $(seq 1 200); do
        echo "url = http://$VARIANTD/v2/demo/many/manifests/$((i % 50 + 1))?$NS"
        echo "output = $BATS_TEST_TMPDIR/many.$i"
    done >"$BATS_TEST_TMPDIR/list"
    curl --silent --show-error --parallel --parallel-immediate --parallel-max 200 -H "$ACCEPT_ALL" \
        --config "$BATS_TEST_TMPDIR/list"
    for i in $(seq 1 200); do
        [ "$(sha256_of "$BATS_TEST_TMPDIR/many.$i")" = "$CUDA" ]
    done
    heads=$(($(upstream_count '"HEAD /v2/demo/many/manifests/[0-9]* ') - heads))
    [ "$heads" -le 200 ]
    [ "$(upstream_count '"GET /v2/demo/many/manifests/[0-9]* ')" -le 50 ]
}
