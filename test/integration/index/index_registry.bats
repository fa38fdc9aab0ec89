#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index against docker-registry: children are mounted or uploaded, the tag changes last,
# and what other tools make and copy is the same to us.

load ../harness

setup_file()
{
    require docker-registry skopeo htpasswd
    state_start
    export L=$STATE/images
    mkimage "$L" cpu --file etc/build=cpu
    mkimage "$L" arm --arch arm64 --file etc/build=arm
    mkimage "$L" v3 --file etc/build=v3
    mkimage "$L" cuda --file etc/build=cuda --layer 300000
    start_registry other
    export OTHER=$REGISTRY
    start_registry locked htpasswd
    export LOCKED=$REGISTRY
    start_registry
    export R=$REGISTRY
    local name
    for name in cpu arm v3 cuda; do
        push_layout "$L:$name" "$R/src/$name:1"
        push_layout "$L:$name" "$OTHER/far/$name:1"
    done
}

CUDA='nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real'

# create TARGET: the usual index, from the registry's own images
create()
{
    "$VARIANTCTL" index create "$@" "null=$R/src/cpu:1" "null=$R/src/arm:1" \
        "v3=$R/src/v3:1,x86_64 :: level :: v3" "cuda12.8=$R/src/cuda:1,$CUDA"
}

labels() # NAME
{
    "$VARIANTCTL" index show --format json "$1" |
        jq -r '[.manifests[] | .annotations["dev.ocivariant.label"] // "-"] | join(" ")'
}

tag_digest() # HOST/REPO TAG
{
    curl -sfI -H 'Accept: application/vnd.oci.image.index.v1+json' \
        "http://${1%%/*}/v2/${1#*/}/manifests/$2" | tr -d '\r' |
        sed -n 's/^[Dd]ocker-[Cc]ontent-[Dd]igest: //p'
}

uploads() # LOG: finished uploads of blobs that were no mounts
{
    grep -c '"PUT /v2/[^"]*/blobs/uploads/' "$STATE/log/$1" || true
}

@test "create writes into a registry, mounts what lies in another repository, and is idempotent" {
    local before
    before=$(uploads registry)
    run -0 create "$R/app:1.0"
    [[ ${lines[0]} == "$R/app:1.0  sha256:"*"(4 entries)" ]]
    [[ $output == *"blobs: 0 B sent, "* ]]
    [[ $output == *"cosign sign --recursive $R/app@sha256:"* ]]
    [ "$(uploads registry)" = "$before" ]
    [ "$(labels "$R/app:1.0")" = "- - cuda12.8 v3" ]
    # every child is in the repository itself
    local digest
    for digest in $("$VARIANTCTL" index show --format json "$R/app:1.0" | jq -r '.manifests[].digest'); do
        curl -sfI -H 'Accept: application/vnd.oci.image.manifest.v1+json' \
            "http://$R/v2/app/manifests/$digest" >/dev/null
    done
    local first
    first=$(tag_digest "$R/app" 1.0)
    run -0 create --quiet "$R/app:1.0"
    [ "$output" = "$first" ]
    run -0 create "$R/app:1.0"
    [[ ${lines[0]} == *"; unchanged)" ]]
}

@test "create says how the index is signed, in the words that it was given, and runs nothing" {
    run "$VARIANTCTL" index create --sign-with 'touch signed;' "$R/app:signed" "null=$R/src/cpu:1"
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} == "sign it with everything in it: touch signed; $R/app@$(tag_digest "$R/app" signed)" ]]
    [ ! -e signed ]
    run "$VARIANTCTL" index create "$R/app:signed" "null=$R/src/cpu:1"
    [[ ${lines[-1]} == *": cosign sign --recursive $R/app@sha256:"* ]]
}

@test "vpull takes what create wrote" {
    create --quiet "$R/pull:1"
    run -0 "$VPULL" --profile "$OCV_TOP/plugins/profiles/h100.json" --print-ref "$R/pull:1"
    [ "$output" = "$R/pull@$("$VARIANTCTL" index show --format json "$R/pull:1" | jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8").digest')" ]
}

@test "the same input gives the same bytes in a registry and in a layout" {
    local a b
    a=$(create --quiet "$R/same:1")
    b=$("$VARIANTCTL" index create --quiet "oci:$L:same" "cuda12.8=oci:$L:cuda,$CUDA" \
        "v3=oci:$L:v3,x86_64::level::v3" "null=oci:$L:arm" "null=oci:$L:cpu")
    [ "$a" = "$b" ]
}

@test "children of another registry and of a layout are uploaded" {
    run -0 "$VARIANTCTL" index create "$R/mixed:1" "null=$OTHER/far/cpu:1" "cuda12.8=oci:$L:cuda,$CUDA"
    [ "$(labels "$R/mixed:1")" = "- cuda12.8" ]
    run -0 skopeo copy -q --all --src-tls-verify=false "docker://$R/mixed:1" "oci:$STATE/mixed:1"
    [ -z "$(ls -A "$STATE"/variantctl.* 2>/dev/null)" ]
}

@test "create --dry-run tells the digest and writes nothing" {
    run -0 --separate-stderr create --dry-run "$R/dry:1"
    [[ ${lines[-1]} == "$R/dry:1  sha256:"*"nothing was written)" ]]
    local digest=${lines[-1]#*  }
    digest=${digest%%  *}
    [ "$(curl -s -o "$STATE/dry" -w '%{http_code}' "http://$R/v2/dry/tags/list")" = 404 ]
    run -0 create --quiet "$R/dry:1"
    [ "$output" = "$digest" ]
    run -0 "$VARIANTCTL" index create --dry-run "oci:$STATE/nothing:1" "null=oci:$L:cpu"
    [ ! -e "$STATE/nothing" ]
}

@test "create --format json tells programs what was written" {
    run -0 --separate-stderr create --format json "$R/json:1"
    [ "$(jq -r .schema <<<"$output")" = dev.ocivariant.publication/v1 ]
    [ "$(jq -r .digest <<<"$output")" = "$(tag_digest "$R/json" 1)" ]
    [ "$(jq -r .previous <<<"$output")" = null ]
    [ "$(jq -r '.document.manifests | length' <<<"$output")" = 4 ]
}

@test "add and remove keep the bytes of what they do not touch, and meet create in the middle" {
    local all part
    all=$(create --quiet "$R/edit:all")
    "$VARIANTCTL" index create --quiet "$R/edit:part" "null=$R/src/cpu:1" "null=$R/src/arm:1" "cuda12.8=$R/src/cuda:1,$CUDA"
    part=$(tag_digest "$R/edit" part)
    run -0 "$VARIANTCTL" index add --quiet "$R/edit:part" "v3=$R/src/v3:1,x86_64 :: level :: v3"
    [ "$output" = "$all" ]
    run -0 "$VARIANTCTL" index remove --quiet "$R/edit:part" v3
    [ "$output" = "$part" ]
    run -1 "$VARIANTCTL" index remove "$R/edit:part" v3
    [[ $output == *"$R/edit:part: no entry v3"* ]]
    run -2 "$VARIANTCTL" index remove "$R/edit:part" null cuda12.8
    [[ $output == *"$R/edit:part: no image would be left"* ]]
    run -1 "$VARIANTCTL" index remove "$R/nowhere:1" v3
    [[ $output == "variantctl: $R/nowhere:1: not found"* ]]
    run -2 "$VARIANTCTL" index create "$R/edit:nested" "null=$R/edit:part"
    [[ $output == *"has variants itself"*"REPO@DIGEST"* ]]
    [ "$(tag_digest "$R/edit" part)" = "$part" ]
}

@test "annotate changes properties, labels and the index, and nothing else" {
    create --quiet "$R/note:1"
    "$VARIANTCTL" index show --format json "$R/note:1" >"$STATE/before.json"
    run -0 "$VARIANTCTL" index annotate "$R/note:1" "v3=x86_64 :: level :: v4" --annotation org.example=yes
    run -0 "$VARIANTCTL" index diff --format json "$STATE/before.json" "$R/note:1"
    [ "$(jq -c '[.entries[] | [.change, .label, .removedProperties, .addedProperties]]' <<<"$output")" = '[["changed","v3",["x86_64 :: level :: v3"],["x86_64 :: level :: v4"]]]' ]
    [ "$(jq -c .annotations <<<"$output")" = '{"org.example":{"new":"yes"}}' ]
    run -0 "$VARIANTCTL" index annotate "$R/note:1" --label v3=v4
    [ "$(labels "$R/note:1")" = "- - cuda12.8 v4" ]
    run -0 "$VARIANTCTL" index show --format json "$R/note:1"
    [ "$(jq -r '.manifests[3].platform.variant' <<<"$output")" = x-v4 ]
    run -4 "$VARIANTCTL" index annotate "$R/note:1" --label v4=cuda12.8
}

@test "an index is not overwritten when the tag names something else than expected" {
    create --quiet "$R/race:1"
    local now
    now=$(tag_digest "$R/race" 1)
    run -1 "$VARIANTCTL" index create --expect none "$R/race:1" "null=$R/src/cpu:1"
    [[ $output == *"names $now and not nothing as expected"* ]]
    run -1 "$VARIANTCTL" index create --expect "sha256:$(printf '%064d' 0)" "$R/race:1" "null=$R/src/cpu:1"
    [ "$(tag_digest "$R/race" 1)" = "$now" ]
    run -0 "$VARIANTCTL" index create --quiet --expect "$now" "$R/race:1" "null=$R/src/cpu:1"
    run -2 "$VARIANTCTL" index create --expect nonsense "$R/race:1" "null=$R/src/cpu:1"
}

@test "a missing child, a wrong label, a duplicate: an error with the place, and no tag" {
    run -1 "$VARIANTCTL" index create "$R/bad:1" "null=$R/src/cpu:1" "v3=$R/src/nowhere:1,x86_64 :: level :: v3"
    [[ $output == *"v3: $R/src/nowhere:1: "* ]]
    run -4 "$VARIANTCTL" index create "$R/bad:1" "a..b=$R/src/cpu:1"
    run -4 "$VARIANTCTL" index create "$R/bad:1" "$(printf 'a%.0s' {1..49})=$R/src/cpu:1,x86_64 :: level :: v3"
    run -4 "$VARIANTCTL" index create "$R/bad:1" "null=$R/src/cpu:1" "null=$R/src/v3:1"
    run -4 "$VARIANTCTL" index create "$R/bad:1" "v3=$R/src/v3:1,x86_64 : level"
    run -4 "$VARIANTCTL" index create --static 'nvidia=sm_arch :: 90_real' "$R/bad:1" "null=$R/src/cpu:1"
    [ "$(curl -s -o "$STATE/bad" -w '%{http_code}' "http://$R/v2/bad/tags/list")" = 404 ]
}

@test "a namespace that no provider gives is warned about" {
    run -0 --separate-stderr "$VARIANTCTL" index create "$R/warn:1" "null=$R/src/cpu:1" "v3=$R/src/v3:1,acme :: chip :: a1"
    [[ $stderr == "variantctl: warning: v3: no provider owns the namespace acme [OCV203 namespace-unknown]" ]]
    run -0 --separate-stderr "$VARIANTCTL" index create --static 'acme=chip :: a1' "$R/warn:1" "null=$R/src/cpu:1" "v3=$R/src/v3:1,acme :: chip :: a1"
    [ -z "$stderr" ]
}

@test "a child whose manifest is not what its digest says is refused" {
    cp -r "$L" "$STATE/damaged"
    local digest
    digest=$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "v3").digest' "$STATE/damaged/index.json")
    sed -i 's/"layers"/"layer5"/' "$STATE/damaged/blobs/sha256/${digest#sha256:}"
    run -4 "$VARIANTCTL" index create "$R/damaged:1" "null=oci:$STATE/damaged:cpu" "v3=oci:$STATE/damaged:v3,x86_64 :: level :: v3"
    [[ $output == *"v3: "* ]]
    # a layer: the registry refuses it
    digest=$(jq -r '.layers[0].digest' "$L/blobs/sha256/$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "cuda").digest' "$L/index.json" | cut -d: -f2)")
    printf X | dd of="$STATE/damaged/blobs/sha256/${digest#sha256:}" conv=notrunc status=none
    run -4 "$VARIANTCTL" index create "$R/damaged:1" "null=oci:$STATE/damaged:cpu" "cuda12.8=oci:$STATE/damaged:cuda,$CUDA"
    [[ $output == *"cuda12.8: "*"$STATE/damaged: blob $digest: the bytes have digest sha256:"* ]]
    [ "$(curl -s -o "$STATE/out" -w '%{http_code}' "http://$R/v2/damaged/manifests/1")" = 404 ]
}

@test "copy keeps the digest: registry to layout to registry, by us and by skopeo" {
    local digest
    digest=$(create --quiet "$R/copy:1")
    run -0 "$VARIANTCTL" index copy --quiet "$R/copy:1" "oci:$STATE/copy:1"
    [ "$output" = "$digest" ]
    run -0 "$VARIANTCTL" index push --quiet "oci:$STATE/copy:1" "$OTHER/copied/app:1"
    [ "$output" = "$digest" ]
    run -0 "$VARIANTCTL" index copy --quiet "$R/copy:1" "$OTHER/copied/direct:1"
    [ "$output" = "$digest" ]
    run -0 "$VARIANTCTL" index copy "$R/copy:1" "$R/elsewhere:2"
    [[ $output == *"blobs: 0 B sent, "* ]]
    [ "$(tag_digest "$R/elsewhere" 2)" = "$digest" ]
}

# what each entry is for, in their order
entries()
{
    "$VARIANTCTL" index show --format json "$1" | jq -c '[.annotations, (.manifests[] | [.annotations, .platform])]'
}

@test "skopeo copy --all, registry to layout to registry, keeps every variant" {
    local digest keep
    digest=$(create --quiet "$R/skopeo:1")
    for keep in '' --preserve-digests; do
        # shellcheck disable=SC2086
        skopeo copy -q --all $keep --src-tls-verify=false "docker://$R/skopeo:1" "oci:$STATE/skopeo$keep:1"
        # shellcheck disable=SC2086
        skopeo copy -q --all $keep --dest-tls-verify=false "oci:$STATE/skopeo$keep:1" "docker://$OTHER/skopeo$keep:1"
        # without the option newer versions compress the images' layers again
        run -0 --separate-stderr entries "$OTHER/skopeo$keep:1"
        [[ $output == *cuda12.8* ]]
        [ "$output" = "$(entries "$R/skopeo:1")" ]
    done
    [ "$(tag_digest "$OTHER/skopeo--preserve-digests" 1)" = "$digest" ]
}

@test "a Docker manifest list is copied as it is, and an index is made of its images" {
    mkimage "$L" docker1 --docker --file x=1
    mkimage "$L" docker2 --docker --file x=2 --arch arm64
    "$VARIANTCTL" index copy --quiet "oci:$L:docker1" "$R/docker:1"
    "$VARIANTCTL" index copy --quiet "oci:$L:docker2" "$R/docker:2"
    jq -c '{schemaVersion: 2, mediaType: "application/vnd.docker.distribution.manifest.list.v2+json", manifests: [.manifests[] |
        select(.annotations["org.opencontainers.image.ref.name"] | startswith("docker")) |
        {mediaType, digest, size, platform: {os: "linux", architecture: (if .annotations["org.opencontainers.image.ref.name"] == "docker1" then "amd64" else "arm64" end)}}]}' \
        "$L/index.json" >"$STATE/list.json"
    curl -sf -X PUT --data-binary @"$STATE/list.json" -H 'Content-Type: application/vnd.docker.distribution.manifest.list.v2+json' "http://$R/v2/docker/manifests/list"
    run -0 "$VARIANTCTL" index copy --quiet "$R/docker:list" "$OTHER/docker:list"
    [ "$output" = "sha256:$(sha256sum <"$STATE/list.json" | cut -d' ' -f1)" ]
    run -0 "$VARIANTCTL" index copy --quiet "$OTHER/docker:list" "oci:$STATE/docker:list"
    run -0 "$VARIANTCTL" index create --quiet "$R/fromlist:1" "null=$R/docker:list"
    [ "$(labels "$R/fromlist:1")" = "- -" ]
    run -1 "$VARIANTCTL" index add "$R/docker:list" "v3=$R/src/v3:1,x86_64 :: level :: v3"
    [[ $output == *"$R/docker:list: a Docker manifest list"* ]]
}

@test "a registry that asks for a password gets it, and only that one" {
    printf 'user:secret' >"$STATE/secret"
    run -1 "$VARIANTCTL" index create "$LOCKED/app:1" "null=oci:$L:cpu"
    [[ $output == *"$LOCKED/app:1: access denied (HTTP 401)"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet --creds-stdin "$LOCKED/app:1" "null=oci:$L:cpu" <"$STATE/secret"
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet --creds-stdin "$LOCKED/app:crlf" "null=oci:$L:cpu" < <(printf 'user\r\nsecret\r\n')
    run -2 "$VARIANTCTL" index create --creds-stdin "$LOCKED/app:0" "null=oci:$L:cpu" <<<secret
    [[ $output == *"--creds-stdin: expected USER:PASSWORD"* ]]
    run -2 "$VARIANTCTL" index create --creds-stdin "$LOCKED/app:1" "null=$R/src/cpu:1" <"$STATE/secret"
    [[ $output == *"--creds-stdin applies to $LOCKED only"* ]]
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$LOCKED" "$(printf user:secret | base64)" >"$STATE/auth.json"
    run -0 create --authfile "$STATE/auth.json" --quiet "$LOCKED/app:2"
    run -0 "$VARIANTCTL" index remove --authfile "$STATE/auth.json" --quiet "$LOCKED/app:2" v3
}

@test "--relabel writes into the images, and tells the new digests" {
    run -0 create --relabel "$R/relabel:1"
    [[ $output == *"cuda12.8: sha256:"*" is now sha256:"* ]]
    local digest
    digest=$("$VARIANTCTL" index show --format json "$R/relabel:1" | jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8").digest')
    curl -sf -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$R/v2/relabel/manifests/$digest" >"$STATE/child.json"
    [ "$(jq -r '.layers[-1].annotations["containerd.io/snapshot/dev.ocivariant.label"]' "$STATE/child.json")" = cuda12.8 ]
    curl -sfL "http://$R/v2/relabel/blobs/$(jq -r .config.digest "$STATE/child.json")" >"$STATE/config.json"
    [ "$(jq -r '.config.Labels["dev.ocivariant.label"]' "$STATE/config.json")" = cuda12.8 ]
    [ "$(jq -r '.config.Labels["dev.ocivariant.properties"]' "$STATE/config.json")" = "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real" ]
    run -0 create --relabel --quiet "$R/relabel:2"
    [ "$output" = "$(tag_digest "$R/relabel" 1)" ]
    run -0 skopeo copy -q --all --src-tls-verify=false "docker://$R/relabel:1" "oci:$STATE/relabel:1"
}

@test "--referrers takes signatures along by fallback tags where there is no API" {
    local digest subject manifest
    create --quiet "$R/signed:1"
    digest=$("$VARIANTCTL" index show --format json "$R/signed:1" | jq -r '.manifests[2].digest')
    curl -sf -o "$STATE/empty" "http://$R/v2/" # the registry is there
    printf '{}' >"$STATE/empty"
    local location
    location=$(curl -sfi -X POST "http://$R/v2/signed/blobs/uploads/" | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
    curl -sf -X PUT --data-binary @"$STATE/empty" -H 'Content-Type: application/octet-stream' "$location&digest=sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    subject=$(jq -n --arg d "$digest" '{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: 1}')
    manifest=$(jq -nc --argjson s "$subject" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: "application/x-signature", config: {mediaType: "application/vnd.oci.empty.v1+json", digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2}, layers: [{mediaType: "application/vnd.oci.empty.v1+json", digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2}], subject: $s}')
    printf %s "$manifest" >"$STATE/sig.json"
    local sig
    sig=sha256:$(sha256sum <"$STATE/sig.json" | cut -d' ' -f1)
    curl -sf -X PUT --data-binary @"$STATE/sig.json" -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' "http://$R/v2/signed/manifests/$sig"
    jq -nc --arg d "$sig" --argjson n "$(wc -c <"$STATE/sig.json")" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: $n, artifactType: "application/x-signature"}]}' >"$STATE/fallback.json"
    curl -sf -X PUT --data-binary @"$STATE/fallback.json" -H 'Content-Type: application/vnd.oci.image.index.v1+json' "http://$R/v2/signed/manifests/${digest/:/-}"
    curl -sf -X PUT --data-binary @"$STATE/sig.json" -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' "http://$R/v2/signed/manifests/${digest/:/-}.sig"

    run -0 "$VARIANTCTL" index copy "$R/signed:1" "$OTHER/unsigned:1"
    [ "$(curl -s -o "$STATE/out" -w '%{http_code}' "http://$OTHER/v2/unsigned/manifests/$sig")" = 404 ]
    run -0 "$VARIANTCTL" index copy --referrers "$R/signed:1" "$OTHER/signed:1"
    curl -sf -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$OTHER/v2/signed/manifests/$sig" | cmp - "$STATE/sig.json"
    curl -sf -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$OTHER/v2/signed/manifests/${digest/:/-}.sig" | cmp - "$STATE/sig.json"
    [ "$(curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$OTHER/v2/signed/manifests/${digest/:/-}" | jq -r '.manifests[].digest')" = "$sig" ]
    # through a layout, and a second time without growing
    run -0 "$VARIANTCTL" index copy --referrers "$R/signed:1" "oci:$STATE/signed:1"
    run -0 "$VARIANTCTL" index copy --referrers "oci:$STATE/signed:1" "$OTHER/signed:1"
    [ "$(curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$OTHER/v2/signed/manifests/${digest/:/-}" | jq '.manifests | length')" = 1 ]
    # what somebody else put on the list there stays on it
    local theirs
    theirs=$("$VARIANTCTL" index copy --quiet "$R/src/cpu:1" "$OTHER/signed:theirs")
    jq -c --arg d "$theirs" '.manifests = [.manifests[0] | .digest = $d]' "$STATE/fallback.json" >"$STATE/theirs.json"
    curl -sf -X PUT --data-binary @"$STATE/theirs.json" -H 'Content-Type: application/vnd.oci.image.index.v1+json' "http://$OTHER/v2/signed/manifests/${digest/:/-}"
    run -0 "$VARIANTCTL" index copy --referrers "$R/signed:1" "$OTHER/signed:1"
    [ "$(curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$OTHER/v2/signed/manifests/${digest/:/-}" | jq -c '[.manifests[].digest]')" = "[\"$theirs\",\"$sig\"]" ]
}

# What Backend.AI's registry scanner keeps of an index (container_registry/base.py): whatever has
# annotations counts as an attestation.
scanned() # NAME
{
    "$VARIANTCTL" index show --format json "$1" | python3 -c '
import json, sys
kept = [item for item in json.load(sys.stdin)["manifests"] if "annotations" not in item]
print(*sorted(f"""{item["platform"]["architecture"]}={item["digest"]}""" for item in kept))'
}

@test "a reader that drops annotated entries finds the default for every platform" {
    require python3
    local cpu arm
    cpu=$(curl -sf -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$R/v2/src/cpu/manifests/1" | sha256sum)
    arm=$(curl -sf -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$R/v2/src/arm/manifests/1" | sha256sum)
    create --quiet "$R/scan:1" >/dev/null
    [ "$(scanned "$R/scan:1")" = "amd64=sha256:${cpu%% *} arm64=sha256:${arm%% *}" ]
    run -0 "$VARIANTCTL" lint "$R/scan:1"
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
    # an index of before: its bytes stay, lint tells, and --relayout mends it
    "$VARIANTCTL" index show --format json "$R/scan:1" |
        jq -c '.manifests[:2][].annotations = {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""}' | tr -d '\n' >"$STATE/before.json"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$STATE/before.json" "http://$R/v2/scan/manifests/1"
    [ -z "$(scanned "$R/scan:1")" ]
    run -0 "$VARIANTCTL" lint "$R/scan:1"
    [[ $output == *"linux/amd64 [OCV521 default-annotated]"*"linux/arm64 [OCV521 default-annotated]"*"0 errors, 0 warnings, 2 notes" ]]
    run -0 "$VARIANTCTL" index add --quiet "$R/scan:1" "v4=$R/src/v3:1,x86_64 :: level :: v4"
    run -0 "$VARIANTCTL" index remove --quiet "$R/scan:1" v4
    "$VARIANTCTL" index show --format json "$R/scan:1" | cmp - "$STATE/before.json"
    run -0 "$VARIANTCTL" index annotate --quiet --relayout "$R/scan:1"
    [ "$(scanned "$R/scan:1")" = "amd64=sha256:${cpu%% *} arm64=sha256:${arm%% *}" ]
    run -0 "$VARIANTCTL" lint "$R/scan:1"
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
}

# A converter's work: the same entries again in its format, which their platform names.
with_twins() # INDEX
{
    jq -c '.manifests |= map(., (select(.platform.architecture == "amd64") |
        .platform["os.features"] = ["nydus.remoteimage.v1"] | .digest = $twin[0].digest | .size = $twin[0].size))' \
        --slurpfile twin "$STATE/twin.json" <"$1" | tr -d '\n'
}

@test "twins in another format stand beside the plain entries: hosts that have the format get them" {
    local host="$OCV_TOP/plugins/profiles/h100.json" twin plain
    create --quiet "$R/twins:1" >/dev/null
    mkimage "$L" nydus --file etc/format=nydus
    "$VARIANTCTL" index copy --quiet "oci:$L:nydus" "$R/twins:nydus"
    jq '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "nydus")' "$L/index.json" >"$STATE/twin.json"
    twin=$(jq -r .digest "$STATE/twin.json")
    "$VARIANTCTL" index show --format json "$R/twins:1" >"$STATE/plain.json"
    plain=$(jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8").digest' "$STATE/plain.json")
    with_twins "$STATE/plain.json" >"$STATE/twins.json"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$STATE/twins.json" "http://$R/v2/twins/manifests/1"
    run -0 "$VPULL" --print-ref --profile "$host" "$R/twins:1"
    [ "$output" = "$R/twins@$plain" ]
    echo 'os_features: [nydus.remoteimage.v1]' >"$STATE/nydus.yaml"
    run -0 "$VPULL" --config "$STATE/nydus.yaml" --print-ref --profile "$host" "$R/twins:1"
    [ "$output" = "$R/twins@$twin" ]
    run -0 "$VARIANTCTL" explain --config "$STATE/nydus.yaml" --profile "$host" "$R/twins:1"
    [[ $output == *"Chosen  cuda12.8+nydus.remoteimage.v1  $twin"* ]]
    [[ $output == *" 1  cuda12.8+nydus.remoteimage.v1 "*" 2  cuda12.8 "*" the default+nydus.remoteimage.v1 "*" the default "* ]]
    run -0 "$VARIANTCTL" explain --profile "$host" "$R/twins:1"
    [[ $output == *" -  cuda12.8+nydus.remoteimage.v1 "*"for linux/amd64/x-cuda12-8 with nydus.remoteimage.v1, which this host lacks (os_features)"* ]]
    run -0 "$VARIANTCTL" index show "$R/twins:1"
    [[ $output == *" cuda12.8+nydus.remoteimage.v1 "* ]]
    run -0 "$VARIANTCTL" lock --config "$STATE/nydus.yaml" --profile "h=$host" -o "$STATE/twins.lock" "$R/twins:1"
    [ "$(jq -r '.images[0].profiles.h | .label + " " + .digest' "$STATE/twins.lock")" = "cuda12.8 $twin" ]
    run -0 "$VPULL" --config "$STATE/nydus.yaml" --profile "$host" --print-ref --locked "$STATE/twins.lock"
    [ "$output" = "$R/twins@$twin" ]
    run -3 "$VPULL" --profile "$host" --print-ref --locked "$STATE/twins.lock"
    # lint has nothing against them but a note or warning on what older clients make of os.features
    run -0 "$VARIANTCTL" lint "$R/twins:1"
    [[ $output != *OCV11* && $output != *OCV503* && $output == *"0 errors, "* ]]
    # a label is all of its twins
    run -0 "$VARIANTCTL" index remove --quiet "$R/twins:1" cuda12.8
    [ "$(labels "$R/twins:1")" = "- - - v3 v3" ]
}

@test "an index that a converter merged is a default with its twin" {
    "$VARIANTCTL" index copy --quiet "oci:$L:cpu" "$R/merged:plain"
    mkimage "$L" nydus --file etc/format=nydus
    "$VARIANTCTL" index copy --quiet "oci:$L:nydus" "$R/merged:nydus"
    jq -n '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [$layout[0].manifests[] |
        select(.annotations["org.opencontainers.image.ref.name"] | . == "cpu" or . == "nydus") |
        {mediaType, digest, size, platform: ({os: "linux", architecture: "amd64"} +
            if .annotations["org.opencontainers.image.ref.name"] == "nydus" then {"os.features": ["nydus.remoteimage.v1"]} else {} end)}]}' \
        --slurpfile layout "$L/index.json" >"$STATE/merged.json"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$STATE/merged.json" "http://$R/v2/merged/manifests/1"
    run -0 "$VARIANTCTL" index create --quiet "$R/merged:2" "null=$R/merged:1" "v3=$R/src/v3:1,x86_64 :: level :: v3"
    run -0 "$VARIANTCTL" index show --format json "$R/merged:2"
    [ "$(jq -c '[.manifests[].platform["os.features"]]' <<<"$output")" = '[null,["nydus.remoteimage.v1"],null]' ]
}
