#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl derive --attach: findings beside an image, as a referrer, which nobody here believes.

load ../harness
load ../schema

TYPE=application/vnd.dev.ocivariant.content.v1+json
MANIFEST=application/vnd.oci.image.manifest.v1+json
INDEX=application/vnd.oci.image.index.v1+json

setup_file()
{
    require docker-registry
    state_start
    start_podman
    export SAMPLES=$OCV_TOP/test/data/fuzz/content L=$STATE/images XDG_CACHE_HOME=$STATE/cache
    mkimage "$L" cuda --binary usr/lib/libk.so="$SAMPLES/cuda.so"
    mkimage "$L" rocm --binary opt/libh.so="$SAMPLES/hip.so" --gzip
    mkimage "$L" cpu --file etc/build=cpu
    "$VARIANTCTL" index create --quiet "oci:$L:app" --namespaces 'nvidia, amd' "null=oci:$L:cpu" \
        "cuda12.8=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.8" \
        "rocm7.1=oci:$L:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    start_registry
    export R=$REGISTRY
    push_layout "$L:app" "$R/app:1"
}

teardown_file()
{
    podman system reset --force >/dev/null 2>&1 || true
    state_stop
}

document() # REGISTRY REPO NAME TYPE
{
    curl -sf -H "Accept: $4" "http://$1/v2/$2/manifests/$3"
}

child_of() # IMAGE LABEL: the digest of a variant
{
    "$VARIANTCTL" index show --json "$1" |
        jq -r --arg l "$2" '.manifests[] | select(.annotations["dev.ocivariant.label"] == $l) | .digest'
}

# The list of what refers to a digest, one that has a signature on it already.
sign() # REPO DIGEST
{
    jq -nc --arg d "$2" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests:
        [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: 1, artifactType: "application/x-signature"}]}' |
        curl -sf -X PUT --data-binary @- -H "Content-Type: $INDEX" "http://$R/v2/$1/manifests/${2/:/-}"
}

@test "derive --attach: a referrer of every variant, under the fallback tag where there is no API" {
    require_validator
    local cuda referrer blob
    cuda=$(child_of "$R/app:1" cuda12.8)
    sign app "$cuda"
    run -0 "$VARIANTCTL" derive --json --attach "$R/app:1"
    [ "$(jq '[.images[].attached] | unique | length' <<<"$output")" = 3 ]
    referrer=$(jq -r '.images[] | select(.name | endswith("cuda12.8")) | .attached' <<<"$output")
    printf %s "$output" >"$BATS_TEST_TMPDIR/derive.json"
    valid derive "$BATS_TEST_TMPDIR/derive.json"
    # beside the signature that was on the list
    run -0 document "$R" app "${cuda/:/-}" "$INDEX"
    [ "$(jq -r '[.manifests[].artifactType] | join(" ")' <<<"$output")" = "application/x-signature $TYPE" ]
    [ "$(jq -r '.manifests[1].digest' <<<"$output")" = "$referrer" ]
    run -0 document "$R" app "$referrer" "$MANIFEST"
    [ "$(jq -r '.artifactType, .layers[0].mediaType, .subject.digest, .subject.mediaType' <<<"$output")" = "$TYPE
$TYPE
$cuda
$MANIFEST" ]
    [ "$(jq .subject.size <<<"$output")" = "$(document "$R" app "$cuda" "$MANIFEST" | wc -c)" ]
    # what it holds is what the files say
    blob=$(jq -r '.layers[0].digest' <<<"$output")
    curl -sf "http://$R/v2/app/blobs/$blob" >"$BATS_TEST_TMPDIR/content.json"
    valid content "$BATS_TEST_TMPDIR/content.json"
    [ "$(jq -r '[.files[] | select(.path == "usr/lib/libk.so") | .facts[] | select(.fact == "cuda-code") | .value] | join(" ")' \
        "$BATS_TEST_TMPDIR/content.json")" = "80 90a 100f" ]
    # once more: the same artifact, and the list does not grow
    run -0 "$VARIANTCTL" derive --attach --label cuda12.8 "$R/app:1"
    [[ $output == *"Attached: $referrer"* ]]
    [ "$(document "$R" app "${cuda/:/-}" "$INDEX" | jq '.manifests | length')" = 2 ]
}

@test "derive --attach: to a layout; index copy --referrers takes it along" {
    local rocm referrer
    rocm=$(child_of "oci:$L:app" rocm7.1)
    run -0 "$VARIANTCTL" derive --json --attach "oci:$L:app"
    referrer=$(jq -r '.images[] | select(.name | endswith("rocm7.1")) | .attached' <<<"$output")
    [ "$(jq -r .subject.digest "$L/blobs/sha256/${referrer#sha256:}")" = "$rocm" ]
    run -0 "$VARIANTCTL" index copy --quiet --referrers "oci:$L:app" "$R/copied:1"
    [ "$(document "$R" copied "${rocm/:/-}" "$INDEX" | jq -r '.manifests[].digest')" = "$referrer" ]
    run -0 document "$R" copied "$referrer" "$MANIFEST"
}

@test "derive --attach: by the API where the registry has it, without a tag" {
    start_daemon full "$OCV_BUILD/test/tools/fullregistry"
    await full grep -q . "$STATE/log/full"
    local full cuda
    full=127.0.0.1:$(head -n 1 "$STATE/log/full")
    "$VARIANTCTL" index copy --quiet "oci:$L:app" "$full/app:1"
    cuda=$(child_of "$full/app:1" cuda12.8)
    run -0 "$VARIANTCTL" derive --json --attach --label cuda12.8 "$full/app:1"
    local referrer
    referrer=$(jq -r '.images[0].attached' <<<"$output")
    run -0 curl -sfG "http://$full/v2/app/referrers/$cuda" --data-urlencode "artifactType=$TYPE"
    [ "$(jq -r '.manifests[].digest' <<<"$output")" = "$referrer" ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$full/v2/app/manifests/${cuda/:/-}")" = 404 ]
}

@test "derive: a referrer that lies changes nothing" {
    local lie=$STATE/lie cuda referrer blob size digest before
    cp -r "$L" "$lie"
    cuda=$(child_of "oci:$lie:app" cuda12.8)
    before=$("$VARIANTCTL" derive --json "$R/app:1" | jq -S 'del(.images[].name)')
    referrer=$("$VARIANTCTL" derive --json --attach --label cuda12.8 "oci:$lie:app" | jq -r '.images[0].attached')
    # the same with code for sm_75 in every file, and no other
    blob=$(jq -r '.layers[0].digest' "$lie/blobs/sha256/${referrer#sha256:}")
    jq -c '(.files[].facts[] | select(.fact == "cuda-code") | .value) = "75"' "$lie/blobs/sha256/${blob#sha256:}" >"$STATE/lie.json"
    digest=$(sha256sum <"$STATE/lie.json" | cut -d' ' -f1)
    size=$(wc -c <"$STATE/lie.json")
    cp "$STATE/lie.json" "$lie/blobs/sha256/$digest"
    jq -c --arg d "sha256:$digest" --argjson n "$size" '.layers[0].digest = $d | .layers[0].size = $n' \
        "$lie/blobs/sha256/${referrer#sha256:}" >"$STATE/liar.json"
    digest=$(sha256sum <"$STATE/liar.json" | cut -d' ' -f1)
    cp "$STATE/liar.json" "$lie/blobs/sha256/$digest"
    jq -nc --arg d "sha256:$digest" --argjson n "$(wc -c <"$STATE/liar.json")" --arg t "$TYPE" '{schemaVersion: 2,
        mediaType: "application/vnd.oci.image.index.v1+json", manifests:
        [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $d, size: $n, artifactType: $t}]}' >"$STATE/liars.json"
    size=$(wc -c <"$STATE/liars.json")
    blob=$(sha256sum <"$STATE/liars.json" | cut -d' ' -f1)
    cp "$STATE/liars.json" "$lie/blobs/sha256/$blob"
    jq -c --arg d "sha256:$blob" --argjson n "$size" --arg t "${cuda/:/-}" \
        '(.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $t)) |= (.digest = $d | .size = $n)' \
        "$lie/index.json" >"$STATE/index.json"
    cp "$STATE/index.json" "$lie/index.json"
    "$VARIANTCTL" index copy --quiet --referrers "oci:$lie:app" "$R/lied:1"
    [ "$(document "$R" lied "${cuda/:/-}" "$INDEX" | jq -r '.manifests[].digest')" = "sha256:$digest" ]
    # read again: the files decide
    rm -rf "$XDG_CACHE_HOME"
    [ "$("$VARIANTCTL" derive --json "$R/lied:1" | jq -S 'del(.images[].name)')" = "$before" ]
    rm -rf "$XDG_CACHE_HOME"
    [ "$("$VARIANTCTL" derive --json "oci:$lie:app" | jq -S 'del(.images[].name)')" = "$before" ]
    # the promise of the referrer is not one that the files keep
    run -4 "$VARIANTCTL" index create --derive "$R/lied:2" "null=oci:$L:cpu" \
        "cuda=$R/lied@$cuda,nvidia :: sm_arch :: 75_real"
    [[ $output == *"nvidia :: sm_arch :: 75_real is claimed, but its files are built for sm_80"*OCV701* ]]
}

@test "derive --attach: only to images, and an error names what it was about" {
    run -2 "$VARIANTCTL" derive --attach "$SAMPLES"
    [[ $output == *"--attach is for images; $SAMPLES is a path"* ]]
    # a cache takes no uploads
    start_registry cache "proxy=http://$R"
    run ! "$VARIANTCTL" derive --attach "$REGISTRY/app:1"
    [[ $output == *"--attach: $REGISTRY/app:1: "* ]]
}
