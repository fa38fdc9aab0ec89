#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The mirror over time: tags that move, a time-to-live for what was answered, and children that are gone.

load ../harness
load ../images
load ../variantd
load ../mirror

setup_file()
{
    state_start
    require docker-registry skopeo curl jq
    start_mirror
}

@test "a tag that is moved is seen at the next pull" {
    push_layout "$STATE/layout:app" "$REGISTRY/demo/moving:1"
    ask HEAD "/v2/demo/moving/manifests/1?$NS"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    push_layout "$STATE/layout:cpu" "$REGISTRY/demo/moving:1"
    ask HEAD "/v2/demo/moving/manifests/1?$NS"
    [ "$code" = 404 ]
    push_layout "$STATE/layout:app" "$REGISTRY/demo/moving:1"
    ask HEAD "/v2/demo/moving/manifests/1?$NS"
    [ "$(header docker-content-digest)" = "$CUDA" ]
}

@test "with a time-to-live upstream is not asked again" {
    local heads
    start_variantd ttl --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json" --tag-ttl 1h
    ask HEAD "/v2/demo/app/manifests/1?$NS"
    expect_child
    heads=$(upstream_count '"HEAD /v2/demo/app/manifests/')
    for _ in 1 2 3; do
        ask HEAD "/v2/demo/app/manifests/1?$NS"
        expect_child
        [ "$(header oci-namespace)" = "$REGISTRY" ]
        ask HEAD "/v2/$SEGMENT/demo/app/manifests/1"
        expect_child
    done
    ACCEPT='Accept: application/vnd.docker.distribution.manifest.v2+json' \
        ask HEAD "/v2/demo/app/manifests/1?$NS"
    [ "$code" = 404 ]
    [ "$(upstream_count '"HEAD /v2/demo/app/manifests/')" = "$heads" ]
    [ "$(outcome variant)" = 7 ]
    for _ in 1 2 3; do # the result of a HEAD must not answer a GET
        ask GET "/v2/demo/app/manifests/1?$NS"
        expect_child
        [ "$(sha256_of "$body")" = "$CUDA" ]
        ask HEAD "/v2/demo/app/manifests/1?$NS"
        expect_child
        ask GET "/v2/demo/app/manifests/1?ns=evil.example"
        [ "$code" = 404 ]
    done
    [ "$(upstream_count '"HEAD /v2/demo/app/manifests/')" = "$heads" ]
    stop_daemon ttl
}

# answered CODE PATH: waits until a HEAD of it is
answered()
{
    local i
    for ((i = 0; i < 200; i++)); do
        ask HEAD "$2"
        [ "$code" != "$1" ] || return 0
        sleep 0.05
    done
    return 1
}

@test "a time-to-live ends: a tag that was moved is seen, one way and the other" {
    push_layout "$STATE/layout:app" "$REGISTRY/demo/ending:1"
    start_variantd ending --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json" --tag-ttl 200ms
    ask HEAD "/v2/demo/ending/manifests/1?$NS"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    push_layout "$STATE/layout:cpu" "$REGISTRY/demo/ending:1"
    answered 404 "/v2/demo/ending/manifests/1?$NS"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/ending:1"
    answered 200 "/v2/demo/ending/manifests/1?$NS"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    stop_daemon ending
}

@test "a time-to-live is the tag's: another profile counts at once" {
    cp "$PROFILES/h100.json" "$STATE/turning.json"
    start_variantd turning --registry "$REGISTRY=http://$REGISTRY" --profile "$STATE/turning.json" --tag-ttl 1h \
        --probe-interval 200ms
    for _ in 1 2; do
        ask HEAD "/v2/demo/app/manifests/1?$NS"
        expect_child
    done
    cp "$PROFILES/mi300x.json" "$STATE/turning.new"
    mv "$STATE/turning.new" "$STATE/turning.json"
    for _ in {1..200}; do
        ask HEAD "/v2/demo/app/manifests/1?$NS"
        [ "$(header docker-content-digest)" = "$CUDA" ] || break
        sleep 0.05
    done
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$(digest_of rocm7.1)" ]
    stop_daemon turning
}

# What is said about a chosen child that is not there as its index says, and how often it was counted:
# the resolver's 404, the proxy's own answer of upstream, in which the client finds the default.
expect_missing()
{
    local path=$1 before
    before=$(outcome missing)
    for method in HEAD GET; do
        ask "$method" "/v2/$path?$NS"
        [ "$code" = 404 ]
    done
    [ "$(jq -r '.errors[0].code' "$body")" = MANIFEST_UNKNOWN ]
    for method in HEAD GET; do
        ask "$method" "/v2/$SEGMENT/$path"
        [ "$code" = 200 ]
        [ "$(header content-type)" = application/vnd.oci.image.index.v1+json ]
        [ -z "$(header warning)" ]
    done
    curl -sf -H "$ACCEPT_ALL" -o "$BATS_TEST_TMPDIR/direct" "http://$REGISTRY/v2/$path"
    cmp "$body" "$BATS_TEST_TMPDIR/direct"
    counted missing $((before + 4))
    [ "$(grep -c "/$path\" [0-9]* missing - " "$STATE/log/variantd")" = 4 ]
}

# push_lie TAG JQ: the index with another word about its chosen child
push_lie()
{
    curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/demo/app/manifests/1" |
        jq -c --arg d "$CUDA" "(.manifests[] | select(.digest == \$d)) |= ($2)" >"$BATS_TEST_TMPDIR/lie"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
        --data-binary "@$BATS_TEST_TMPDIR/lie" "http://$REGISTRY/v2/demo/app/manifests/$1"
}

@test "a child that is gone is not announced: 404, counted, the index passed by the proxy" {
    local passed
    push_layout "$STATE/layout:app" "$REGISTRY/demo/gone:1"
    curl -sf -X DELETE "http://$REGISTRY/v2/demo/gone/manifests/$CUDA"
    passed=$(outcome passed)
    expect_missing demo/gone/manifests/1
    counted passed "$passed"
    [ "$(metric "variantd_upstream_errors_total{registry=\"$REGISTRY\",kind=\"child\"}")" -ge 4 ]
    # the default arrives
    run -0 skopeo --insecure-policy --override-arch amd64 copy --quiet --preserve-digests --src-tls-verify=false \
        "docker://$VARIANTD/$SEGMENT/demo/gone:1" "oci:$BATS_TEST_TMPDIR/out:1"
    [ "$(jq -r '.manifests[0].digest' "$BATS_TEST_TMPDIR/out/index.json")" = "$(digest_of null)" ]
}

@test "a child of another size or type is not announced: 404, counted, the index passed by the proxy" {
    push_lie larger '.size += 1'
    expect_missing demo/app/manifests/larger
    grep -q "has another size" "$STATE/log/variantd"
    push_lie typed '.mediaType = "application/vnd.docker.distribution.manifest.v2+json"'
    expect_missing demo/app/manifests/typed
    grep -q "has another type" "$STATE/log/variantd"
}
