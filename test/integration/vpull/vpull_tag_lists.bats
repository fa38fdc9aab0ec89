#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Lists of tags and of referrers that come in other ways than our own registry's, as tag rules and hints read them.

load ../harness
load ../images
load ../variantd

IMAGE=ghcr.io/immich-app/immich-machine-learning

setup_file()
{
    state_start
    require python3 jq curl
    export OCV_DATADIR=$OCV_TOP/plugins
    mkimage "$STATE/layout" v2.4.0 --label build=cpu
    mkimage "$STATE/layout" v2.4.0-cuda --label build=cuda --layer 30000
    CPU=$(jq -r '.manifests[0].digest' "$STATE/layout/index.json")
    CUDA=$(jq -r '.manifests[1].digest' "$STATE/layout/index.json")
    export CPU CUDA
}

# start_lists NAME RULE,...: a registry with these answers to requests for the list
start_lists()
{
    start_rules "$1" "$STATE/layout" <<<"[$2, {\"path\": \"/tags/list\", \"status\": 404}, {\"path\": \"\", \"layout\": true}]"
    printf 'registries:\n  ghcr.io: {url: "http://%s", insecure: true}\n' "$RULES" >"$STATE/$1.yaml"
    CONFIG=$STATE/$1.yaml
}

chosen()
{
    run -0 --separate-stderr "$VPULL" --print-ref --config "$CONFIG" --profile "$PROFILES/h100.json" "$IMAGE:v2.4.0"
    [ "$output" = "$IMAGE@$1" ]
}

# everyone_chooses_cuda: vpull, and variantd
everyone_chooses_cuda()
{
    chosen "$CUDA"
    start_variantd "lists-$1" --config "$CONFIG" --tag-rules on --profile "$PROFILES/h100.json"
    ask HEAD "/v2/${IMAGE#*/}/manifests/v2.4.0?ns=ghcr.io"
    [ "$code $(header docker-content-digest)" = "200 $CUDA" ]
    stop_daemon "lists-$1"
}

FIRST='"body": {"name": "x", "tags": ["v2.4.0"]}'
SECOND='{"path": "last=two", "body": {"name": "x", "tags": ["v2.4.0-cuda"]}}'

@test "the next page may be in any link of any header" {
    start_lists links "$SECOND, {\"path\": \"/tags/list\", $FIRST, \"headers\": [[\"Link\", \"</v2/x>; rel=first, </v2/y?last=one>; rel=prev\"],
        [\"Link\", \"</v2/z>; rel=last, <?last=two>; title=\\\"a, b\\\"; rel=\\\"prefetch next\\\"\"]]}"
    everyone_chooses_cuda links
    run -0 "$VARIANTCTL" tags plan --config "$CONFIG" "$IMAGE"
    [[ $output == *v2.4.0-cuda* ]]
}

@test "a registry that refuses the size of a page is asked without one" {
    local refusal
    for refusal in 400 406 413 416 422; do
        start_lists "size-$refusal" "$SECOND, {\"path\": \"n=\", \"status\": $refusal}, {\"path\": \"/tags/list\", $FIRST, \"headers\": {\"Link\": \"<?last=two>; rel=next\"}}"
        everyone_chooses_cuda "size-$refusal"
    done
}

@test "a list that turns in circles ends where it was before" {
    start_lists circle "{\"path\": \"last=two\", \"body\": {\"tags\": [\"v2.4.0-cuda\"]}, \"headers\": {\"Link\": \"<?last=one>; rel=next\"}},
        {\"path\": \"/tags/list\", $FIRST, \"headers\": {\"Link\": \"<?last=two>; rel=next\"}}"
    everyone_chooses_cuda circle
    [ "$(grep -c 'tags/list' "$RULES_LOG")" -le 6 ]
    # the address of the next page is another one each time, and the page is not
    start_lists spiral "{\"path\": \"last=one&$\", \"times\": 3, $FIRST, \"headers\": {\"Link\": \"<?last=one>; rel=next\"}},
        {\"path\": \"last=one\", \"times\": 3, $FIRST, \"headers\": {\"Link\": \"<?last=two>; rel=next\"}}, {\"path\": \"last=two\", \"status\": 500},
        {\"path\": \"/tags/list\", $FIRST, \"headers\": {\"Link\": \"<?last=one>; rel=next\"}}"
    chosen "$CPU"
    run ! grep last=two "$RULES_LOG"
}

@test "empty pages, one like the other, stand before others; a circle of them ends" {
    local empty='"body": {"tags": []}'
    start_lists empty "{\"path\": \"last=two\", \"body\": {\"tags\": [\"v2.4.0\", \"v2.4.0-cuda\"]}},
        {\"path\": \"last=one\", $empty, \"headers\": {\"Link\": \"<?last=two>; rel=next\"}},
        {\"path\": \"/tags/list\", $empty, \"headers\": {\"Link\": \"<?last=one>; rel=next\"}}"
    everyone_chooses_cuda empty
    start_lists empty-circle "{\"path\": \"last=two\", $empty, \"headers\": {\"Link\": \"<?last=one>; rel=next\"}},
        {\"path\": \"last=one\", $empty, \"headers\": {\"Link\": \"<?last=two>; rel=next\"}},
        {\"path\": \"/tags/list\", $empty, \"headers\": {\"Link\": \"<?last=one>; rel=next\"}}"
    chosen "$CPU"
    [ "$(grep -c 'tags/list' "$RULES_LOG")" = 3 ]
}

@test "more tags than are read: what was asked for is pulled, with a warning" {
    start_lists many "{\"path\": \"/tags/list\", \"body\": $(jq -nc '{tags: [range(100001) | "commit-\(.)"]}')}"
    chosen "$CPU"
    [[ $stderr == *"$IMAGE:v2.4.0 is used unchanged, since its tags cannot be listed: $IMAGE has more than 100000 tags"* ]]
    # a name for a set of tags alone is not there
    run -1 --separate-stderr "$VPULL" --print-ref --config "$CONFIG" --profile "$PROFILES/h100.json" "$IMAGE:v2.5.0"
    [[ $stderr == *"$IMAGE:v2.5.0 is looked for as a single tag, since its tags cannot be listed: $IMAGE has more than 100000 tags"*"not found"* ]]
    # in variantd containerd's own pull follows
    start_variantd many-tags --config "$CONFIG" --tag-rules on --profile "$PROFILES/h100.json"
    ask HEAD "/v2/${IMAGE#*/}/manifests/v2.4.0?ns=ghcr.io"
    [ "$code" = 404 ]
    grep -qi "warn.*no choice by tag rules: $IMAGE has more than 100000 tags" "$STATE/log/many-tags"
    # a list that is none
    start_lists garbage '{"path": "/tags/list", "body": "[]"}'
    chosen "$CPU"
    [[ $stderr == *"cannot be listed: $IMAGE: the list of tags is malformed"* ]]
}

# The list answers 500: whoever reads it fails.
@test "no list is read where the name, or what it points to, tells that there is no choice among tags" {
    local image host name
    mkdir -p "$BATS_TEST_TMPDIR/data"
    cp -r "$OCV_TOP/plugins/tags.d" "$BATS_TEST_TMPDIR/data"
    cat >"$BATS_TEST_TMPDIR/data/tags.d/silent.yaml" <<'END'
schema: dev.ocivariant.tags/v1
family: silent
repositories: [docker.io/team/silent]
parts:
  - {match: 'v[0-9.]+', first: true, group: version}
  - {match: 'cuda', kind: device, gives: ['nvidia :: sm_arch :: 90_real']}
defaults:
  - {missing: device, refuse: 'which device it needs is not stated'}
group_tags: ['{version}']
END
    export OCV_DATADIR=$BATS_TEST_TMPDIR/data
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:v2.3.0" "null=oci:$STATE/layout:v2.4.0" \
        "cuda=oci:$STATE/layout:v2.4.0-cuda,nvidia :: sm_arch :: 90_real" 3>&-
    start_lists unread '{"path": "/tags/list", "status": 500}'
    sed -i "s|^  ghcr.io: .*|&\n  docker.io: {url: \"http://$RULES\", insecure: true}|" "$CONFIG"
    start_variantd unread --config "$CONFIG" --tag-rules on --profile "$PROFILES/h100.json"
    # a build's own tag; a tag that does not say what it needs, and is there; an index with variants; no family
    for image in "$IMAGE:v2.4.0-cuda" docker.io/team/silent:v2.4.0 "$IMAGE:v2.3.0" \
        docker.io/team/app:v2.4.0; do
        run -0 --separate-stderr "$VPULL" --print-ref --config "$CONFIG" --profile "$PROFILES/h100.json" "$image"
        run ! grep HEAD "$RULES_LOG" # it was read already
        host=${image%%/*} name=${image#*/}
        ask HEAD "/v2/${name%:*}/manifests/${name##*:}?ns=$host"
        run ! grep tags/list "$RULES_LOG"
        : >"$RULES_LOG"
    done
    # the name of a set
    run "$VPULL" --print-ref --config "$CONFIG" --profile "$PROFILES/h100.json" "$IMAGE:v2.4.0"
    grep tags/list "$RULES_LOG"
    stop_daemon unread
}

# bats test_tags=slow
@test "a list that drips is read for 30 s, then what was asked for is pulled, and the warning says so" {
    start_lists drip "{\"path\": \"/tags/list\", \"wait\": 2, \"body\": {\"tags\": []}, \"headers\": {\"Link\": \"<?last=@COUNT@>; rel=next\"}}"
    chosen "$CPU"
    [[ $stderr == *"$IMAGE:v2.4.0 is used unchanged, since its tags cannot be listed: $IMAGE: the list of its tags is longer than 30 s"* ]]
    [ "$(grep -c 'tags/list' "$RULES_LOG")" -gt 2 ] # no single page was too late
}

# copied_referrers NAME RULE,...: those of the image that a copy takes along, of a registry with these answers
copied_referrers()
{
    local out=$BATS_TEST_TMPDIR/$1
    start_rules "$1" "$STATE/layout" <<<"[$2, {\"path\": \"/referrers/\", \"body\": {\"manifests\": []}}, {\"path\": \"\", \"layout\": true}]"
    run -0 "$VARIANTCTL" index copy --referrers "$RULES/demo/app:v2.4.0" "oci:$out:copy"
    jq -r '.manifests[].digest' "$out/blobs/sha256/$(jq -r --arg tag "${CPU/:/-}" \
        '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag) | .digest[7:]' "$out/index.json")"
}

@test "a list of referrers that turns in circles ends where it was before, and empty pages do not end it" {
    local one two
    echo '{}' >"$DOCKER_CONFIG/config.json"
    one="\"path\": \"/referrers/$CPU\", \"body\": {\"manifests\": [$(jq -c '.manifests[1] | del(.annotations)' "$STATE/layout/index.json")]}"
    two="\"path\": \"/referrers/$CPU\", \"body\": {\"manifests\": []}"
    [ "$(copied_referrers ring "{${one/\/referrers\/$CPU/$CPU.page=2}, \"headers\": {\"Link\": \"<?page=1>; rel=next\"}},
        {$one, \"headers\": {\"Link\": \"<?page=2>; rel=next\"}}")" = "$CUDA" ]
    [ "$(grep -c "referrers/$CPU" "$STATE/log/ring.requests")" -le 2 ]
    # another address each time
    [ "$(copied_referrers coil "{${one/\/referrers\/$CPU/$CPU.page=3}, \"status\": 500},
        {${one/\/referrers\/$CPU/$CPU.page=2}, \"headers\": {\"Link\": \"<?page=3>; rel=next\"}},
        {$one, \"headers\": {\"Link\": \"<?page=2>; rel=next\"}}")" = "$CUDA" ]
    # pages that say nothing, to themselves or on the way
    [ "$(copied_referrers gap "{${one/\/referrers\/$CPU/$CPU.page=3}, \"headers\": {\"Link\": \"<?page=3>; rel=next\"}},
        {${two/\/referrers\/$CPU/$CPU.page=2}, \"headers\": {\"Link\": \"<?page=3>; rel=next\"}},
        {$two, \"headers\": {\"Link\": \"<?page=2>; rel=next\"}}")" = "$CUDA" ]
    [ "$(grep -c "referrers/$CPU" "$STATE/log/gap.requests")" = 3 ]
}

@test "half a list of referrers is none, however its next page is refused" {
    local code
    echo '{}' >"$DOCKER_CONFIG/config.json"
    for code in 404 400 405 501; do
        start_rules "half$code" "$STATE/layout" <<<"[{\"path\": \"/referrers/$CPU.page=2\", \"status\": $code},
            {\"path\": \"/referrers/\", \"body\": {\"manifests\": [$(jq -c '.manifests[1] | del(.annotations)' "$STATE/layout/index.json")]},
             \"headers\": {\"Link\": \"<?page=2>; rel=next\"}}, {\"path\": \"\", \"layout\": true}]"
        run -1 "$VARIANTCTL" index copy --referrers "$RULES/demo/app:v2.4.0" "oci:$BATS_TEST_TMPDIR/half$code:copy"
        [[ $output == *"what refers to $CPU"* ]]
    done
}
