#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What the image verifier knows of an image that was pinned by its digest: by indexes that were
# resolved on this node, by a tag beside the digest, by the image's own labels. And who may know it.

load ../harness
load ../images
load ../variantd

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
    mkimage "$STATE/images" newer --file etc/build=newer --label dev.ocivariant.label=cuda12.9 \
        --label 'dev.ocivariant.properties=nvidia :: cuda_version_lower_bound :: 12.0, nvidia :: cuda_version_lower_bound :: 12.9'
    push_layout "$STATE/images:newer" "$PLAIN/newer:1"
    push_layout "$STATE/images:app" "$PLAIN/app:1"
    push_layout "$STATE/images:labelled" "$PLAIN/labelled:1"
    push_layout "$STATE/images:fitting" "$PLAIN/fitting:1"
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci:$STATE/images:cpu" "docker://$PLAIN/nginx:1" 3>&-
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
    run -0 verify closed "$PLAIN/app@$(digest_of cpu.v3)" "$(digest_of cpu.v3)"
    # what another repository has under that digest is nobody's word
    for digest in "$ROCM" "$CUDA" "$(digest_of cpu.v3)"; do
        run -0 verify enforce "registry.invalid/copy@$digest" "$digest"
        run -1 verify closed "registry.invalid/copy@$digest" "$digest"
        [[ $output == *"cannot be checked"* ]]
    done
}

# everybody on the node may ask the mirror, and publish somewhere
plant()
{
    local repository=$1 annotations=$2 digest=$3 size=$4
    local index="{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"manifests\":[
        {\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"$digest\",\"size\":$size,
         \"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},\"annotations\":$annotations}${5:+,$5}]}"
    curl --silent --fail --output /dev/null --request PUT --data-binary "$index" \
        --header 'Content-Type: application/vnd.oci.image.index.v1+json' "http://$PLAIN/v2/$repository/manifests/t"
    setpriv --reuid 65534 --regid 65534 --clear-groups curl --silent --head --output /dev/null \
        --header "$ACCEPT_ALL" "http://$VARIANTD/v2/$repository/manifests/t?ns=${PLAIN/:/%3A}"
}

# entry LABEL PROPERTIES: its annotations
entry()
{
    printf '{"dev.ocivariant.label":"%s","dev.ocivariant.properties":"%s"}' "$1" "$2"
}

# a copy of the image under the planter's own name: registries mount blobs for whoever may read them
copy_to()
{
    skopeo --insecure-policy copy --quiet --preserve-digests --src-tls-verify=false --dest-tls-verify=false \
        "docker://$1" "docker://$2"
}

@test "nobody makes an image a misfit by publishing its digest somewhere else" {
    require setpriv
    [ "$(id -u)" = 0 ] || skip "needs root"
    plain=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/nginx:1" | sha256sum)
    plain=sha256:${plain%% *}
    size=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/nginx:1" | wc -c)
    copy_to "$PLAIN/nginx:1" "$PLAIN/attacker/x:copy"
    copy_to "$PLAIN/app@$CUDA" "$PLAIN/attacker/x:fits"
    run -0 verify enforce "$PLAIN/nginx:1" "$plain"
    # alone, where nothing fits; beside one that fits, and is chosen; and as what is chosen
    plant attacker/x "$(entry bad 'nvidia :: cuda_version_lower_bound :: 99.0')" "$plain" "$size"
    run -0 --separate-stderr verify enforce "$PLAIN/nginx:1" "$plain"
    [ -z "$output$stderr" ]
    good="{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"$CUDA\",
        \"size\":$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/attacker/x@$CUDA" | wc -c),
        \"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},\"annotations\":$(entry good 'nvidia :: cuda_version_lower_bound :: 12.0')}"
    plant attacker/x "$(entry bad 'nvidia :: cuda_version_lower_bound :: 99.0')" "$plain" "$size" "$good"
    kept "$CUDA" "$PLAIN/attacker/x"
    run -0 --separate-stderr verify enforce "$PLAIN/nginx:1" "$plain"
    [ -z "$output$stderr" ]
    run -0 --separate-stderr verify enforce "$PLAIN/nginx@$plain" "$plain"
    [ -z "$output$stderr" ]
    # nor one without a name
    [ "$(verdict -- "digest=$plain" | jq -r .verdict)" = unknown ]
    # in the planter's own repository it is what he says
    run -1 verify enforce "$PLAIN/attacker/x@$plain" "$plain"
}

@test "nobody makes an image fit by publishing its digest somewhere else" {
    require setpriv
    [ "$(id -u)" = 0 ] || skip "needs root"
    run -1 verify enforce "$PLAIN/app:1" "$ROCM"
    size=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/app@$ROCM" | wc -c)
    copy_to "$PLAIN/app@$ROCM" "$PLAIN/attacker/y:copy"
    mkdir -p "$STATE/node/resolved"
    # not there as the index says: nothing is announced, nothing is kept
    plant attacker/y "$(entry good 'nvidia :: cuda_version_lower_bound :: 12.0')" "$ROCM" "$((size + 1))"
    run -0 find "$STATE/node/resolved" -name "*$(record_of x "$PLAIN/attacker/y" | cut -c 2-)"
    [ -z "$output" ]
    run -1 verify enforce "$PLAIN/app:1" "$ROCM"
    # there, and chosen
    plant attacker/y "$(entry good 'nvidia :: cuda_version_lower_bound :: 12.0')" "$ROCM" "$size"
    kept "$ROCM" "$PLAIN/attacker/y"
    run -0 find "$STATE/node/resolved" -name "*$(record_of x "$PLAIN/attacker/y" | cut -c 2-)"
    [ "$(wc -l <<<"$output")" = 2 ]
    run -1 verify enforce "$PLAIN/app:1" "$ROCM"
    [[ $output == *"(rocm7.1) does not fit this node"* ]]
    # without a name: all that have it must agree
    [ "$(verdict -- "digest=$ROCM" | jq -r .verdict)" = fits ]
    resolve mi300x "$PLAIN/app:1"
    run -0 verdict -- "digest=$ROCM"
    [ "$(jq -r .verdict <<<"$output")" = unknown ]
    [[ $output == *"disagree about it"* ]]
    run -1 verify enforce "$PLAIN/app@$ROCM" "$ROCM"
    run -0 verify enforce "$PLAIN/attacker/y@$ROCM" "$ROCM"
}

@test "a build that runs by CUDA's minor-version compatibility is a warning, whatever the policy" {
    local digest
    digest=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/newer:1" | sha256sum | cut -d' ' -f1)
    run -0 --separate-stderr verify closed "$PLAIN/newer:1" "sha256:$digest"
    [ -z "$output" ]
    [[ $stderr == *"warning: "*"(cuda12.9) fits this node: runs by CUDA minor-version compatibility: built with 12.9, this driver has 12.8"* ]]
}

@test "the mirror records every index that it resolves, also where nothing fits" {
    ask HEAD "/v2/app/manifests/1?ns=${PLAIN/:/%3A}"
    [ "$code" = 200 ]
    kept "$INDEX" "$PLAIN/app" indexes/
    [ "$(jq -r '"\(.index) \(.reference)"' "$record")" = "$INDEX $PLAIN/app:1" ]
    [ "$(verdict -- "ref=$PLAIN/app@$ROCM" "digest=$ROCM" | jq -r '"\(.verdict) \(.label) \(.fit)"')" = "misfit rocm7.1 cuda12.8" ]
    mkimage "$STATE/only" rocm --file etc/build=only
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/only:app" "rocm7.1=oci:$STATE/only:rocm,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$STATE/only:app" "$PLAIN/only:1"
    only=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN/only:1" | jq -r '.manifests[0].digest')
    ask HEAD "/v2/only/manifests/1?ns=${PLAIN/:/%3A}"
    [ "$code" = 404 ]
    [ "$(verdict -- "ref=$PLAIN/only@$only" "digest=$only" | jq -r '"\(.verdict) \(.label) \(.fit)"')" = "misfit rocm7.1 " ]
}

@test "an index that is known here and arrives by its digest is blocked without the registry" {
    resolve h100 "$PLAIN/app:1"
    run -1 verify enforce "registry.invalid/copy@$INDEX" "$INDEX"
    [[ $output == *"unresolved variant index; what would fit: cuda12.8" ]]
}

@test "a tag beside the digest leads to the index" {
    run -1 verify enforce "$PLAIN/app:1@$ROCM" "$ROCM"
    [[ $output == *"(rocm7.1) does not fit this node"*"what would fit: cuda12.8" ]]
    run -0 verify closed "$PLAIN/app:1@$CUDA" "$CUDA"
    run -1 verify enforce "$PLAIN/app:1@$INDEX" "$INDEX"
    [[ $output == *"unresolved variant index"* ]]
    # one that leads elsewhere says nothing
    run -1 verify closed "$PLAIN/labelled:1@$CUDA" "$CUDA"
    [[ $output == *"cannot be checked"* ]]
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
    kept "$CUDA" "$PRIVATE/app" # written after the index
    kept "$INDEX" "$PRIVATE/app" indexes/
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
    kept "$INDEX" "$PLAIN/app" indexes/
    head -c 200 "$record" >"$record.part"
    mv "$record.part" "$record"
    printf '{"child":"%s"' "$ROCM" >"$STATE/node/resolved/$(record_of "$ROCM" "$PLAIN/app")"
    run -0 verify enforce "$PLAIN/app@$ROCM" "$ROCM"
    [ "$(verdict -- "digest=$ROCM" | jq -r .verdict)" = unknown ]
}

@test "records of before there were repositories in them are discarded, and that is said once" {
    mkdir -p "$STATE/node/resolved/indexes"
    printf '{"child":"%s","index":"%s","label":"rocm7.1","properties":"amd :: gfx_arch :: gfx942","reference":"%s/app:1","time":"2026-01-01T00:00:00Z"}' \
        "$ROCM" "$INDEX" "$PLAIN" >"$STATE/node/resolved/${ROCM/:/-}.json"
    echo '{}' >"$STATE/node/resolved/indexes/${INDEX/:/-}.json"
    # nobody reads them, and a daemon that starts takes them away
    [ "$(verdict -- "digest=$ROCM" | jq -r .verdict)" = unknown ]
    start_variantd later --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    [ "$(grep -c '2 records of an earlier version are discarded' "$STATE/log/later")" = 1 ]
    run -0 find "$STATE/node/resolved" -type f
    [ -z "$output" ]
    stop_daemon later
}
