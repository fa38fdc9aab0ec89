#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What the image verifier knows of an image that was pinned by its digest: by indexes that were
# resolved on this node, by a tag beside the digest, by the image's own labels. And who may know it.

load harness
load images
load variantd

VERIFIER=$OCV_BUILD/libexec/ocivariant-verifier

setup_file()
{
    state_start
    require docker-registry skopeo curl jq htpasswd openssl
    chmod 711 "$STATE" # others reach the daemon's socket
    start_registry
    export PLAIN=$REGISTRY
    make_variants "$STATE/images"
    mkimage "$STATE/images" labelled --file etc/build=labelled --label dev.ocivariant.label=rocm7.1 \
        --label 'dev.ocivariant.properties=amd :: gfx_arch :: gfx942'
    mkimage "$STATE/images" fitting --file etc/build=fitting --label dev.ocivariant.label=cuda12.8 \
        --label 'dev.ocivariant.properties=nvidia :: cuda_version_lower_bound :: 12.8'
    push_layout "$STATE/images:app" "$PLAIN/app:1"
    push_layout "$STATE/images:labelled" "$PLAIN/labelled:1"
    push_layout "$STATE/images:fitting" "$PLAIN/fitting:1"
    start_registry tls htpasswd
    export PRIVATE=$REGISTRY
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        --dest-creds user:secret "oci:$STATE/images:app" "docker://$PRIVATE/app:1"
    printf 'registries:\n  "%s": {ca: %s}\n  "%s": {url: "http://%s"}\n' "$PRIVATE" "$STATE/ca.pem" "$PLAIN" "$PLAIN" >"$STATE/variantd.yaml"
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:secret | base64)" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    export CUDA ROCM INDEX
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    INDEX=$(index_digest)
    start_variantd --config "$STATE/variantd.yaml" --credentials "$STATE/auth.json" --profile "$PROFILES/h100.json"
    printf 'policy: enforce\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/enforce.yaml"
    printf 'policy: enforce\nfail: closed\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/closed.yaml"
}

setup()
{
    rm -rf "$STATE/node/resolved" # what another test resolved
}

teardown_file()
{
    state_stop
}

# verdict [COMMAND...] -- ARGUMENT=VALUE...: the daemon's answer
verdict()
{
    local command=() args=()
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    for pair; do
        args+=(--data-urlencode "$pair")
    done
    "${command[@]}" curl --silent --max-time 10 --get --unix-socket "$VARIANTD_SOCKET" "${args[@]}" \
        http://localhost/v1/verdict
}

# verify POLICY REF DIGEST
verify()
{
    OCIVARIANT_CONFIG=$STATE/$1.yaml "$VERIFIER" -name "$2" -digest "$3" \
        -stdin-media-type application/vnd.oci.descriptor.v1+json <<<"{\"digest\":\"$3\"}"
}

# as somebody who may not know what the daemon's credentials read
stranger()
{
    verdict setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

# resolve PROFILE IMAGE: as the node would; what it learns is recorded where the daemon looks
resolve()
{
    OCV_STATE_DIR=$STATE/node "$VPULL" --config "$STATE/variantd.yaml" --profile "$PROFILES/$1.json" --to "oci:$BATS_TEST_TMPDIR/pulled" \
        --quiet "$2" >/dev/null
}

@test "a pinned sibling of an index that was resolved here is blocked, and told what would fit" {
    # of an index that nobody has seen here, the pinned image is an ordinary one
    run -0 verify enforce "$PLAIN/app@$ROCM" "$ROCM"
    resolve h100 "$PLAIN/app:1"
    run -1 verify enforce "$PLAIN/app@$ROCM" "$ROCM"
    [[ $output == *"$PLAIN/app@$ROCM (rocm7.1) does not fit this node: "*amd*"; what would fit: cuda12.8" ]]
    # without the registry, under whatever name
    run -1 verify closed "registry.invalid/copy@$ROCM" "$ROCM"
    run -0 verify closed "registry.invalid/copy@$CUDA" "$CUDA"
    run -0 verify closed "registry.invalid/copy@$(digest_of cpu.v3)" "$(digest_of cpu.v3)"
}

@test "the mirror records every index that it resolves, also where nothing fits" {
    ask HEAD "/v2/app/manifests/1?ns=${PLAIN/:/%3A}"
    [ "$code" = 200 ]
    [ "$(jq -r .index "$STATE/node/resolved/indexes/${INDEX/:/-}.json")" = "$INDEX" ]
    [ "$(jq -r .reference "$STATE/node/resolved/indexes/${INDEX/:/-}.json")" = "$PLAIN/app:1" ]
    [ "$(verdict -- "digest=$ROCM" | jq -r '"\(.verdict) \(.label) \(.fit)"')" = "misfit rocm7.1 cuda12.8" ]
    mkimage "$STATE/only" rocm --file etc/build=only
    "$VARIANTCTL" index create --quiet "oci:$STATE/only:app" "rocm7.1=oci:$STATE/only:rocm,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$STATE/only:app" "$PLAIN/only:1"
    only=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/only:1" | jq -r '.manifests[0].digest')
    ask HEAD "/v2/only/manifests/1?ns=${PLAIN/:/%3A}"
    [ "$code" = 404 ]
    [ "$(verdict -- "digest=$only" | jq -r '"\(.verdict) \(.label) \(.fit)"')" = "misfit rocm7.1 " ]
}

@test "an index that is known here and arrives by its digest is blocked without the registry" {
    resolve h100 "$PLAIN/app:1"
    run -1 verify enforce "registry.invalid/copy@$INDEX" "$INDEX"
    [[ $output == *"nobody has chosen; what would fit: cuda12.8" ]]
}

@test "a tag beside the digest leads to the index" {
    run -1 verify enforce "$PLAIN/app:1@$ROCM" "$ROCM"
    [[ $output == *"(rocm7.1) does not fit this node"*"what would fit: cuda12.8" ]]
    run -0 verify closed "$PLAIN/app:1@$CUDA" "$CUDA"
    run -1 verify enforce "$PLAIN/app:1@$INDEX" "$INDEX"
    [[ $output == *"nobody has chosen"* ]]
    # one that leads elsewhere says nothing
    run -1 verify closed "$PLAIN/labelled:1@$CUDA" "$CUDA"
    [[ $output == *"cannot be judged"* ]]
}

@test "labels alone only warn" {
    labelled=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/labelled:1" | sha256sum)
    labelled=sha256:${labelled%% *}
    run -0 --separate-stderr verify closed "$PLAIN/labelled@$labelled" "$labelled"
    [ -z "$output" ]
    [[ $stderr == *"warning: $PLAIN/labelled@$labelled (rocm7.1) does not fit this node"* ]]
    [ "$(verdict -- "ref=$PLAIN/labelled:1" "digest=$labelled" | jq -r '"\(.verdict) \(.source)"')" = "misfit labels" ]
    fitting=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/fitting:1" | sha256sum)
    fitting=sha256:${fitting%% *}
    run -0 --separate-stderr verify closed "$PLAIN/fitting@$fitting" "$fitting"
    [ -z "$output$stderr" ]
}

@test "what the daemon's credentials learn is told to root, and of it to others the verdict alone" {
    require setpriv
    # one that has resolved nothing yet
    start_variantd private --config "$STATE/variantd.yaml" --credentials "$STATE/auth.json" --profile "$PROFILES/h100.json"
    printf 'policy: enforce\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/private.yaml"
    ask HEAD "/v2/app/manifests/1?ns=$PRIVATE"
    [ "$code" = 200 ]
    record=$STATE/node/resolved/indexes/${INDEX/:/-}.json
    [ "$(stat -c %a "$record")" = 640 ]
    run -1 verify private "$PRIVATE/app@$ROCM" "$ROCM"
    [[ $output == *"(rocm7.1) does not fit this node"*"what would fit: cuda12.8" ]]
    # what was chosen: its digest is any tag's answer, what it is called is not
    [ "$(stranger "digest=$CUDA" | jq -r '"\(.verdict) \(.label)\(.fit)\(.reason)"')" = "fits " ]
    # what was not chosen, and the index itself
    for digest in "$ROCM" "$INDEX" "$(digest_of cpu.v3)"; do
        run -0 stranger "digest=$digest"
        [[ $output == *'"unknown","label":"","fit":""'*"nothing is known"* ]]
        run -0 stranger "ref=$PRIVATE/app:1" "digest=$digest"
        [ "$(jq -r '"\(.verdict) \(.label)\(.fit)"' <<<"$output")" = "unknown " ]
        run -0 stranger "ref=$PRIVATE/app:1@$digest" "digest=$digest"
        [ "$(jq -r '"\(.verdict) \(.label)\(.fit)"' <<<"$output")" = "unknown " ]
    done
    run setpriv --reuid 65534 --regid 65534 --clear-groups cat "$record"
    [ "$status" -ne 0 ]
    stop_daemon private
}

@test "a record that is damaged is as none" {
    resolve h100 "$PLAIN/app:1"
    record=$STATE/node/resolved/indexes/${INDEX/:/-}.json
    head -c 200 "$record" >"$record.part"
    mv "$record.part" "$record"
    printf '{"child":"%s"' "$ROCM" >"$STATE/node/resolved/${ROCM/:/-}.json"
    run -0 verify enforce "$PLAIN/app@$ROCM" "$ROCM"
    [ "$(verdict -- "digest=$ROCM" | jq -r .verdict)" = unknown ]
}

@test "records of before there were indexes are read as ever" {
    mkdir -p "$STATE/node/resolved"
    printf '{"child":"%s","index":"%s","label":"rocm7.1","properties":"amd :: gfx_arch :: gfx942","reference":"%s/app:1","time":"2026-01-01T00:00:00Z"}' \
        "$ROCM" "$INDEX" "$PLAIN" >"$STATE/node/resolved/${ROCM/:/-}.json"
    run -1 verify enforce "$PLAIN/elsewhere@$ROCM" "$ROCM"
    [[ $output == *"(rocm7.1) does not fit this node"*"what would fit: cuda12.8" ]]
    [ "$(stranger "digest=$ROCM" | jq -r '"\(.verdict) \(.label)"')" = "misfit rocm7.1" ]
}
