#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index against a registry that has everything (referrers, If-Match, pages), and where
# somebody else writes, an upload fails or the user stops at the worst moment.

load ../harness

start_full() # NAME OPTION...: sets FULL=HOST:PORT
{
    local name=$1
    shift
    start_daemon "$name" "$OCV_BUILD/test/tools/fullregistry" "$@"
    await "$name" grep -q . "$STATE/log/$name"
    FULL=127.0.0.1:$(head -n 1 "$STATE/log/$name")
}

setup_file()
{
    state_start
    export L=$STATE/images
    mkimage "$L" cpu --file etc/build=cpu
    mkimage "$L" v3 --file etc/build=v3
    mkimage "$L" cuda --file etc/build=cuda --layer 3000000
    start_full other --page 2
    export OTHER=$FULL
    start_full nomount --no-mount
    export NOMOUNT=$FULL
    start_full full --page 2
    export R=$FULL
    "$VARIANTCTL" index copy --quiet "oci:$L:cpu" "$R/src/cpu:1"
    "$VARIANTCTL" index copy --quiet "oci:$L:v3" "$R/src/v3:1"
    "$VARIANTCTL" index copy --quiet "oci:$L:cuda" "$R/src/cuda:1"
}

CUDA='nvidia :: cuda_version_lower_bound :: 12.8'

create() # TARGET
{
    "$VARIANTCTL" index create "$@" "null=$R/src/cpu:1" "v3=$R/src/v3:1,x86_64 :: level :: v3" "cuda12.8=$R/src/cuda:1,$CUDA"
}

at() # REQUEST QUERY: what happens at a request
{
    curl -sfG "http://$R/_test/at" --data-urlencode "request=$1" -d "$2"
}

names() # REPO TAG: the digest, empty for nothing
{
    curl -s -o /dev/null -D - "http://$R/v2/$1/manifests/$2" | tr -d '\r' | sed -n 's/^Docker-Content-Digest: //p'
}

mark() # remember where the log stands
{
    wc -l <"$STATE/log/full" >"$STATE/mark"
}

since()
{
    tail -n "+$(($(<"$STATE/mark") + 1))" "$STATE/log/full"
}

@test "the tag is written last, and only once everything is there" {
    mark
    create --quiet "$R/order:1"
    since >"$STATE/requests"
    local put
    put=$(grep -n '^PUT /v2/order/manifests/1 201' "$STATE/requests" | cut -d: -f1)
    [ -n "$put" ]
    # nothing there: a registry that refuses HEAD would say the same, so that GET confirms it
    [ "$(sed -n "$((put - 2))p" "$STATE/requests")" = "HEAD /v2/order/manifests/1 404" ]
    [ "$(sed -n "$((put - 1))p" "$STATE/requests")" = "GET /v2/order/manifests/1 404" ]
    [ "$(sed -n "$((put + 1))p" "$STATE/requests")" = "GET /v2/order/manifests/1 200" ]
    [ "$(tail -n "+$put" "$STATE/requests" | grep -c PUT)" = 1 ]
    # everything was mounted
    run ! grep 'PUT /v2/order/blobs' "$STATE/requests"
}

@test "a tag that moves while children are copied is not overwritten" {
    local theirs
    theirs=$(names src/cpu 1)
    create --quiet "$R/moved:1"
    "$VARIANTCTL" index copy --quiet "oci:$L:cpu" "$R/moved:theirs"
    # the second HEAD of the tag is the comparison right before the PUT
    at "HEAD /v2/moved/manifests/1" "n=2&retag=moved:1@$theirs"
    mark
    run -1 "$VARIANTCTL" index create "$R/moved:1" "null=$R/src/cpu:1" "v3=$R/src/v3:1,x86_64 :: level :: v3"
    [[ $output == *"$R/moved:1 was changed meanwhile: it named sha256:"*", now $theirs"* ]]
    [ "$(names moved 1)" = "$theirs" ]
    # it was seen before the write, which a registry that ignores If-Match would have taken
    since >"$STATE/requests"
    grep -q '^HEAD /v2/moved/manifests/1 200' "$STATE/requests"
    run ! grep '^PUT /v2/moved/manifests/1 ' "$STATE/requests"
    # a tag that was not there at the beginning
    "$VARIANTCTL" index copy --quiet "oci:$L:cpu" "$R/new:theirs"
    at "HEAD /v2/new/manifests/1" "n=2&retag=new:1@$theirs"
    run -1 create "$R/new:1"
    [[ $output == *"$R/new:1 was changed meanwhile: it named nothing, now $theirs"* ]]
    [ "$(names new 1)" = "$theirs" ]
}

@test "a tag that moves after the comparison: If-Match keeps it" {
    local theirs
    theirs=$(names src/cpu 1)
    create --quiet "$R/ifmatch:1"
    "$VARIANTCTL" index copy --quiet "oci:$L:cpu" "$R/ifmatch:theirs"
    at "PUT /v2/ifmatch/manifests/1" "n=1&retag=ifmatch:1@$theirs"
    run -1 "$VARIANTCTL" index annotate "$R/ifmatch:1" --annotation a=b
    [[ $output == *"was changed meanwhile"* ]]
    [ "$(names ifmatch 1)" = "$theirs" ]
}

@test "a tag that moves after the PUT is noticed by reading back" {
    local theirs
    theirs=$(names src/cpu 1)
    "$VARIANTCTL" index copy --quiet "oci:$L:cpu" "$R/after:theirs"
    # two GETs confirm that nothing is there, the third reads back
    at "GET /v2/after/manifests/1" "n=3&retag=after:1@$theirs"
    run -1 create "$R/after:1"
    [[ $output == *"another writer changed it since"* ]]
    # a replica that is late is asked again
    at "GET /v2/late/manifests/1" "n=3&status=404"
    run -0 create --quiet "$R/late:1"
    [ "$output" = "$(names late 1)" ]
}

@test "an edit of an index that moved since it was read is refused" {
    local theirs
    create --quiet "$R/edit:1"
    theirs=$("$VARIANTCTL" index create --quiet "$R/edit:theirs" "null=$R/src/cpu:1")
    at "HEAD /v2/edit/manifests/1" "n=2&retag=edit:1@$theirs"
    run -1 "$VARIANTCTL" index remove "$R/edit:1" v3
    [[ $output == *"was changed meanwhile"* ]]
    [ "$(names edit 1)" = "$theirs" ]
}

@test "lint --fix of an index that moved since it was read is refused" {
    local theirs
    create --quiet "$R/fix:1"
    "$VARIANTCTL" index show --format json "$R/fix:1" | jq -c 'del(.annotations)' >"$STATE/bare.json"
    curl -sf -X PUT --data-binary @"$STATE/bare.json" -H 'Content-Type: application/vnd.oci.image.index.v1+json' "http://$R/v2/fix/manifests/1"
    theirs=$("$VARIANTCTL" index create --quiet "$R/fix:theirs" "null=$R/src/cpu:1")
    # the first HEAD reads it, the second begins to write
    at "HEAD /v2/fix/manifests/1" "n=2&retag=fix:1@$theirs"
    run -1 "$VARIANTCTL" lint --fix "$R/fix:1"
    [[ $output == *"$R/fix:1 was changed meanwhile"* ]]
    [ "$(names fix 1)" = "$theirs" ]
}

@test "an index in an index is copied, too" {
    local inner
    create --quiet "$R/nest:inner"
    inner=$(names nest inner)
    jq -nc --arg d "$inner" --argjson n "$(curl -sf "http://$R/v2/nest/manifests/inner" | wc -c)" \
        '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [{mediaType: "application/vnd.oci.image.index.v1+json", digest: $d, size: $n}]}' >"$STATE/outer.json"
    curl -sf -X PUT --data-binary @"$STATE/outer.json" -H 'Content-Type: application/vnd.oci.image.index.v1+json' "http://$R/v2/nest/manifests/outer"
    run -0 "$VARIANTCTL" index copy --quiet "$R/nest:outer" "$OTHER/nest:outer"
    [ "$output" = "$(names nest outer)" ]
    curl -sf "http://$OTHER/v2/nest/manifests/$inner" | cmp - <(curl -sf "http://$R/v2/nest/manifests/inner")
}

@test "an upload that fails leaves the tag as it was" {
    create --quiet "$R/failing:1"
    local before
    before=$(names failing 1)
    mkimage "$L" more --file etc/build=more
    at "PUT /v2/failing/blobs/uploads/" "n=1&status=400"
    run -1 "$VARIANTCTL" index add "$R/failing:1" "v4=oci:$L:more,x86_64 :: level :: v4"
    [[ $output == *"v4: "* ]]
    [ "$(names failing 1)" = "$before" ]
    at "PUT /v2/failing/manifests/sha256" "n=1&status=403"
    run -1 "$VARIANTCTL" index add "$R/failing:1" "v4=oci:$L:more,x86_64 :: level :: v4"
    [ "$(names failing 1)" = "$before" ]
    # what is over soon is tried again
    at "PUT /v2/failing/blobs/uploads/" "n=1&status=0"
    at "POST /v2/failing/blobs/uploads/" "n=1&status=503"
    run -0 "$VARIANTCTL" index add "$R/failing:1" "v4=oci:$L:more,x86_64 :: level :: v4"
    [ "$(names failing 1)" != "$before" ]
}

@test "an upload goes nowhere but to its registry, and there by any Location" {
    local url code message
    while read -r url code message; do
        start_full "at-${url//[^a-z0-9]/_}" --upload-at "$url"
        run "-$code" "$VARIANTCTL" index copy "oci:$L:cpu" "$FULL/up/cpu:1"
        echo "$url: $output"
        [[ $output == *"$message"* ]]
        run ! curl -sf "http://$FULL/v2/up/cpu/manifests/1"
    done <<END
http://127.0.0.1:1/v2/up/cpu/blobs/uploads/1 1 the registry redirects the upload to another server
https://127.0.0.1/v2/ 1 the registry redirects the upload to another server
//127.0.0.2/v2/ 1 not found on 127.0.0.1
ftp://x/ 1 the registry redirects the upload to another server
nonsense 1 the registry redirects the upload to another server
here 4 a Location without a path for the upload
END
    start_full at-nothing --upload-at ""
    run -4 "$VARIANTCTL" index copy "oci:$L:cpu" "$FULL/up/cpu:1"
    [[ $output == *"no Location for the upload"* ]]
    start_full at-here --upload-at 'here/v2/up/cpu/blobs/uploads/1?_state=a'
    run -0 "$VARIANTCTL" index copy "oci:$L:cpu" "$FULL/up/cpu:1"
    curl -sf -o /dev/null "http://$FULL/v2/up/cpu/manifests/1"
}

@test "an interrupted upload leaves the tag as it was, and says 130" {
    create --quiet "$R/stopped:1"
    local before pid code=0 _
    before=$(names stopped 1)
    mkimage "$L" stop --file etc/build=stop
    for _ in 1 2 3 4 5 6 7 8; do at "POST /v2/stopped/blobs/uploads/" "n=1&status=503"; done
    mark
    "$VARIANTCTL" index add "$R/stopped:1" "v4=oci:$L:stop,x86_64 :: level :: v4" 3>&- &
    pid=$!
    until since | grep -q 'POST /v2/stopped/blobs/uploads/ 503'; do kill -0 "$pid"; done
    kill -TERM "$pid"
    wait "$pid" || code=$?
    [ "$code" = 130 ]
    [ "$(names stopped 1)" = "$before" ]
}

@test "a registry that does not mount gets the bytes, and nothing stays behind here" {
    mkdir "$STATE/tmp"
    TMPDIR=$STATE/tmp run -0 "$VARIANTCTL" index copy "$R/src/cuda:1" "$NOMOUNT/first/cuda:1"
    TMPDIR=$STATE/tmp run -0 "$VARIANTCTL" index create --no-lint "$NOMOUNT/second/app:1" "cuda12.8=$NOMOUNT/first/cuda:1,$CUDA"
    [[ $output == *"blobs: 3."*" MB sent, 0 B mounted"* ]]
    [ -z "$(ls -A "$STATE/tmp")" ]
}

# refer REPOSITORY SUBJECT MEMBERS: pushes a document about the subject; prints its digest
refer()
{
    local digest
    jq -nc --arg d "$2" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: "application/x-note", subject: {mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: 1}} + '"$3" | tr -d '\n' >"$STATE/note"
    digest=sha256:$(sha256sum <"$STATE/note" | cut -d' ' -f1)
    curl -sf -X PUT --data-binary @"$STATE/note" -H "Content-Type: $(jq -r .mediaType "$STATE/note")" "http://$R/v2/$1/manifests/$digest"
    echo "$digest"
}

@test "--referrers uses the API, over all pages, and writes no fallback tag" {
    create --quiet "$R/signed:1"
    local digest i manifest
    digest=$("$VARIANTCTL" index show --format json "$R/signed:1" | jq -r '.manifests[1].digest')
    printf '{}' >"$STATE/empty"
    curl -sf -X PUT --data-binary @"$STATE/empty" "http://$R/v2/signed/blobs/uploads/1?digest=sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    for i in 1 2 3 4 5; do
        manifest=$(jq -nc --arg d "$digest" --arg i "$i" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: "application/x-signature", config: {mediaType: "application/vnd.oci.empty.v1+json", digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2}, layers: [], annotations: {n: $i}, subject: {mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: 1}}')
        printf %s "$manifest" >"$STATE/sig"
        curl -sf -X PUT --data-binary @"$STATE/sig" -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' "http://$R/v2/signed/manifests/sha256:$(sha256sum <"$STATE/sig" | cut -d' ' -f1)"
    done
    # of the index itself, of what refers to it, and one that is an index
    local top sbom
    top=$(names signed 1)
    sbom=$(refer signed "$top" '{config: {mediaType: "application/vnd.oci.empty.v1+json", digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2}, layers: []}')
    refer signed "$sbom" '{config: {mediaType: "application/vnd.oci.empty.v1+json", digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2}, layers: []}'
    refer signed "$top" '{mediaType: "application/vnd.oci.image.index.v1+json", manifests: []}'
    run -0 "$VARIANTCTL" index copy --referrers "$R/signed:1" "$OTHER/signed:1"
    run -0 curl -sf "http://$OTHER/v2/signed/referrers/$sbom"
    [ "$(jq '.manifests | length' <<<"$output")" = 1 ]
    run -0 curl -sf "http://$OTHER/v2/signed/referrers/$top"
    [ "$(jq -c '[.manifests[].mediaType] | sort' <<<"$output")" = '["application/vnd.oci.image.index.v1+json","application/vnd.oci.image.manifest.v1+json"]' ]
    run -0 curl -sf "http://$OTHER/v2/signed/referrers/$digest?from=4"
    [ "$(jq '.manifests | length' <<<"$output")" = 1 ]
    run -0 curl -sf "http://$OTHER/v2/signed/tags/list"
    [ "$(jq -c .tags <<<"$output")" = '["1"]' ]
    # create takes those of the children
    run -0 "$VARIANTCTL" index create --quiet --referrers "$OTHER/again:1" "null=$R/src/cpu:1" "v3=$R/signed@$digest,x86_64 :: level :: v3"
    run -0 curl -sf "http://$OTHER/v2/again/referrers/$digest?from=4"
    [ "$(jq '.manifests | length' <<<"$output")" = 1 ]
}

@test "--from-tags makes the index that published tags stand for" {
    local tag
    for tag in cpu-1.9 86-1.9 hopper-1.9 cpu-1.8 86-1.8; do
        mkimage "$L" "$tag" --file "etc/tag=$tag"
        "$VARIANTCTL" index copy --quiet "oci:$L:$tag" "$R/huggingface/text-embeddings-inference:$tag"
    done
    sed "s|ghcr.io/huggingface|$R/huggingface|" "$OCV_TOP/plugins/tags.d/huggingface-tei.yaml" >"$STATE/tei.yaml"
    run -0 --separate-stderr "$VARIANTCTL" index create --rules "$STATE/tei.yaml" --from-tags '*-1.9' "$R/huggingface/text-embeddings-inference:1.9"
    run -0 "$VARIANTCTL" index show --format json "$R/huggingface/text-embeddings-inference:1.9"
    [ "$(jq '.manifests | length' <<<"$output")" = 3 ]
    [ "$(jq -r '.manifests[0].annotations' <<<"$output")" = null ]
    [ "$(jq '[.manifests[].annotations["dev.ocivariant.properties"] | values | select(contains("sm_arch"))] | length' <<<"$output")" = 2 ]
    # several sets: the target says which, else they are named
    run -4 "$VARIANTCTL" index create --rules "$STATE/tei.yaml" --from-tags '*' "$R/huggingface/text-embeddings-inference:all"
    [[ $output == *"several sets"* ]]
    run -1 "$VARIANTCTL" index create --rules "$STATE/tei.yaml" --from-tags 'nothing*' "$R/huggingface/text-embeddings-inference:x"
    [[ $output == *"no tag like nothing*"* ]]
    # tags of another repository, and what became of each
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run --rules "$STATE/tei.yaml" \
        --from-tags "$R/huggingface/text-embeddings-inference:*1.8" "$R/tei:any"
    [[ $output == *" the default "*"from $R/huggingface/text-embeddings-inference:cpu-1.8"$'\n'*" 86_1.8 "*"from $R/huggingface/text-embeddings-inference:86-1.8"* ]]
    run -0 "$VARIANTCTL" index create --quiet --rules "$STATE/tei.yaml" \
        --from-tags "$R/huggingface/text-embeddings-inference:*1.8" "$R/tei:any"
    [ "$output" = "$(names tei any)" ]
    # all pages of the list
    run -0 "$VARIANTCTL" tags plan --rules "$STATE/tei.yaml" "$R/huggingface/text-embeddings-inference"
    [ "$(jq -c '[.sets[] | [.name, (.members | length)]]' <<<"$output")" = '[["1.9",4],["1.8",2]]' ]
    # tags between which the rules do not decide
    "$VARIANTCTL" index copy --quiet "oci:$L:86-1.8" "$R/huggingface/text-embeddings-inference:86-1.7"
    "$VARIANTCTL" index copy --quiet "oci:$L:86-1.8" "$R/huggingface/text-embeddings-inference:ampere-1.7"
    sed "s/'86|87/'ampere', first: true, kind: device, gives: ['nvidia :: sm_arch :: 86_real', 'nvidia :: cuda_version_lower_bound :: 12.2']}\n  - {match: &/" "$STATE/tei.yaml" >"$STATE/doubt.yaml"
    run -4 "$VARIANTCTL" index create --rules "$STATE/doubt.yaml" --from-tags '*-1.7' "$R/huggingface/text-embeddings-inference:1.7"
    [[ $output == *"1.7: 86-1.7 and ampere-1.7 say the same"* ]]
    [ -z "$(names huggingface/text-embeddings-inference 1.7)" ]
}

@test "--from-tags: CUDA builds keep their order, and stand twice where only machine code runs" {
    local tag
    cat >"$STATE/llama.yaml" <<YAML
schema: dev.ocivariant.tags/v1
family: llama
repositories: ['$R/llama']
parts:
  - {match: 'cu(1[0-9])([0-9])', kind: device, gives: ['nvidia :: cuda_version_lower_bound :: \1.\2']}
  - {match: 'cpu', kind: device}
  - {match: '[0-9]+', group: version}
cuda:
  - {toolkit: '12\.8', sm_arch: [80_virtual, 86_real], minor: true}
  - {sm_arch: [86_real], minor: true}
group_tags: ['{version}']
YAML
    for tag in 1-cpu 1-cu128 1-cu126; do
        mkimage "$L" "$tag" --file "etc/tag=llama-$tag"
        "$VARIANTCTL" index copy --quiet "oci:$L:$tag" "$R/llama:$tag"
    done
    run -0 --separate-stderr "$VARIANTCTL" index create --rules "$STATE/llama.yaml" --from-tags '*' "$R/llama:1"
    run -0 "$VARIANTCTL" index show --format json "$R/llama:1"
    [ "$(jq -r '.annotations["dev.ocivariant.static.priority"]' <<<"$output")" = "order :: 12.6, order :: 12.8" ]
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "nvidia, priority" ]
    [ "$(jq -r '[.manifests[].annotations["dev.ocivariant.label"] | values] | sort | join(" ")' <<<"$output")" = \
        "1_cu126 1_cu128 1_cu128_minor" ]
    [ "$(jq '[.manifests[].digest] | unique | length' <<<"$output")" = 3 ]
    # nothing for lint to say of it
    run -0 "$VARIANTCTL" lint "$R/llama:1"
    [[ $output != *OCV1* && $output != *OCV2* ]]
    # what is said by hand stands
    run -0 "$VARIANTCTL" index create --rules "$STATE/llama.yaml" --namespaces priority,nvidia --from-tags '1-*' "$R/llama:again"
    run -0 "$VARIANTCTL" index show --format json "$R/llama:again"
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "priority, nvidia" ]
}

@test "vpull: the digests of a set are fixed once, whatever becomes of the tags" {
    local repository=huggingface/text-embeddings-inference tag hopper theirs
    for tag in cpu-2.0 hopper-2.0 other; do
        mkimage "$L" "$tag" --file "etc/tag=$tag"
        "$VARIANTCTL" index copy --quiet "oci:$L:$tag" "$R/$repository:$tag"
    done
    hopper=$(names "$repository" hopper-2.0)
    theirs=$(names "$repository" other)
    [ "$hopper" != "$theirs" ]
    printf 'registries:\n  ghcr.io: {url: "http://%s", insecure: true}\n' "$R" >"$STATE/ghcr.yaml"
    at "GET /v2/$repository/manifests/sha256" "n=1&retag=$repository:hopper-2.0@$theirs"
    OCV_DATADIR=$OCV_TOP/plugins run -0 --separate-stderr "$VPULL" --config "$STATE/ghcr.yaml" --to "oci:$STATE/fixed:x" \
        --profile "$OCV_TOP/plugins/profiles/h100.json" "ghcr.io/$repository:2.0"
    [ "$(names "$repository" hopper-2.0)" = "$theirs" ]
    [ "$(jq -r '.manifests[].digest' "$STATE/fixed/index.json")" = "$hopper" ]
    [[ $stderr == *"tag hopper-2.0 by the tag rules of huggingface-tei"* ]]
}

@test "attestations follow their image, and go with it" {
    local image size att entry
    image=$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "v3").digest' "$L/index.json")
    size=$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "v3").size' "$L/index.json")
    # an attestation manifest as BuildKit writes it: any image manifest will do
    mkimage "$L" att --file etc/att=1
    entry=$(jq -c '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "att")' "$L/index.json")
    att=$(jq -r .digest <<<"$entry")
    jq -nc --arg image "$image" --argjson size "$size" --arg att "$att" --argjson n "$(jq .size <<<"$entry")" \
        '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $image, size: $size, platform: {os: "linux", architecture: "amd64"}}, {mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $att, size: $n, annotations: {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": $image}, platform: {os: "unknown", architecture: "unknown"}}]}' >"$STATE/built.json"
    "$VARIANTCTL" index copy --quiet "oci:$L:v3" "$R/built:v3"
    "$VARIANTCTL" index copy --quiet "oci:$L:att" "$R/built:att"
    curl -sf -X PUT --data-binary @"$STATE/built.json" -H 'Content-Type: application/vnd.oci.image.index.v1+json' "http://$R/v2/built/manifests/1"
    run -0 "$VARIANTCTL" index create --quiet "$R/attested:1" "null=$R/src/cpu:1" "v3=$R/built:1,x86_64 :: level :: v3"
    run -0 "$VARIANTCTL" index show --format json "$R/attested:1"
    [ "$(jq -c '.manifests[2]' <<<"$output")" = "$(jq -c '.manifests[1]' "$STATE/built.json")" ]
    curl -sf "http://$R/v2/attested/manifests/$att" >/dev/null
    run -0 "$VARIANTCTL" index show "$R/attested:1"
    [[ $output == *attestation* ]]
    # of an image under two labels it stands once, and stays while either is there
    run -0 "$VARIANTCTL" index create --quiet "$R/attested:3" "null=$R/src/cpu:1" \
        "v3=$R/built:1,x86_64 :: level :: v3" "fma=$R/built:1,x86_64 :: fma :: on"
    run -0 "$VARIANTCTL" index show --format json "$R/attested:3"
    [ "$(jq -r '[.manifests[] | .annotations["dev.ocivariant.label"] // .annotations["vnd.docker.reference.type"] // "-"] | join(" ")' <<<"$output")" = "- fma v3 attestation-manifest" ]
    run -0 "$VARIANTCTL" index remove --quiet "$R/attested:3" v3
    run -0 "$VARIANTCTL" index show --format json "$R/attested:3"
    [ "$(jq '.manifests | length' <<<"$output")" = 3 ]
    run -0 --separate-stderr "$VARIANTCTL" index create --relabel "$R/attested:2" "null=$R/src/cpu:1" "v3=$R/built:1,x86_64 :: level :: v3"
    # shellcheck disable=SC2154 # set by run
    [[ $stderr == *"an attestation of $image is left out"* ]]
    run -0 "$VARIANTCTL" index remove --quiet "$R/attested:1" v3
    run -0 "$VARIANTCTL" index show --format json "$R/attested:1"
    [ "$(jq '.manifests | length' <<<"$output")" = 1 ]
}
