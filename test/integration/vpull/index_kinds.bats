#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Indexes as other tools make them: one in the other, platforms that stand in the images alone.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require python3 jq curl
    make_variants "$STATE/layout"
    APP=$(image_of app)
    CUDA=$(digest_of cuda12.8) CPU=$(digest_of null)
    export APP CUDA CPU
    ARM=$(image_of arm)
    export ARM
    start_rules registry "$STATE/layout" <<<'[{"path": "", "layout": true}]'
    export REG=$RULES/demo/app
}

# image_of TAG: its digest
image_of()
{
    jq -r --arg tag "$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag) | .digest' \
        "$STATE/layout/index.json"
}

# entry DIGEST [MEMBERS]: the entry of that document, with these members more
entry()
{
    jq -c --arg digest "$1" --argjson size "$(stat -c %s "$STATE/layout/blobs/sha256/${1#*:}")" \
        "{mediaType, digest: \$digest, size: \$size} + {${2:-}}" "$STATE/layout/blobs/sha256/${1#*:}"
}

# variant DIGEST: its entry in `app`, without the platform
variant()
{
    jq -c --arg digest "$1" '.manifests[] | select(.digest == $digest) | del(.platform)' "$STATE/layout/blobs/sha256/${APP#*:}"
}

# edited DIGEST FILTER: the document with that change, as a blob; prints its digest
edited()
{
    local digest
    jq -c "$2" "$STATE/layout/blobs/sha256/${1#*:}" >"$STATE/new"
    digest=$(sha256sum <"$STATE/new" | cut -d' ' -f1)
    cp "$STATE/new" "$STATE/layout/blobs/sha256/$digest"
    echo "sha256:$digest"
}

# add_index TAG ENTRY...: an index in the layout
add_index()
{
    local tag=$1 digest
    shift
    digest=$(edited "$APP" "$(jq -cs '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}' <<<"$*")")
    tag_index "$tag" "${digest#*:}"
}

# tag_index TAG HEX
tag_index()
{
    local tag=$1 digest=$2
    jq -c --arg tag "$tag" --argjson new "$(entry "sha256:$digest")" \
        '.manifests |= map(select(.annotations["org.opencontainers.image.ref.name"] != $tag)) +
            [$new + {annotations: {"org.opencontainers.image.ref.name": $tag}}]' "$STATE/layout/index.json" >"$STATE/new"
    cp "$STATE/new" "$STATE/layout/index.json"
    echo "sha256:$digest"
}

# choose OPTION...: what vpull chooses for an H100 machine
choose()
{
    "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$@"
}

@test "one image without a platform: a warning with the way out, and an error for who name another" {
    local name
    echo '{}' >"$DOCKER_CONFIG/config.json"
    add_index lone-arm "$(entry "$ARM")"
    add_index lone-part "$(entry "$ARM" 'platform: {os: "linux"}')"
    for name in "$REG:arm" "$REG:lone-arm" "oci:$STATE/layout:lone-arm"; do
        run -0 --separate-stderr "$VPULL" --dry-run --profile "$PROFILES/h100.json" "$name"
        [[ $stderr == *"$name: the only image is for linux/arm64, not for linux/amd64"*"only under emulation; add --platform linux/arm64 if you want it, --platform linux/amd64"*" to make this an error"* ]]
        run -3 --separate-stderr choose --platform linux/amd64 "$name"
        [[ $stderr == *"no image for linux/amd64; it has linux/arm64"* ]]
        run -0 --separate-stderr "$VPULL" --dry-run --platform linux/arm64 --profile "$PROFILES/h100.json" "$name"
        [[ $stderr != *emulation* ]]
    done
    # what the entry says itself counts
    run -3 choose "$REG:lone-part"
    # a variant that stands alone, for another architecture: nothing for this node
    add_index lone-variant "$(variant "$CUDA" | jq -c --argjson arm "$(entry "$ARM")" '. + $arm')"
    start_variantd lone --registry "${REG%%/*}=http://${REG%%/*}" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/demo/app/manifests/lone-variant?ns=${REG%%/*}"
    [ "$code" = 404 ]
    [ "$(outcome no_fit)" = 1 ]
    stop_daemon lone
    # and where it is for this one, it is the choice
    add_index lone-cuda "$(variant "$CUDA")"
    start_variantd lone --registry "${REG%%/*}=http://${REG%%/*}" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/demo/app/manifests/lone-cuda?ns=${REG%%/*}"
    [ "$code $(header docker-content-digest)" = "200 $CUDA" ]
    stop_daemon lone
}

# asked NAME: the digest that /v1/resolve of that daemon chooses
asked()
{
    curl -s --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/resolve?ref=$1" | jq -r '.selected.digest // "none"'
}

@test "every verb, the daemon's answers and the mirror read one index of indexes alike" {
    local name fleet=$STATE/fleet
    echo '{}' >"$DOCKER_CONFIG/config.json"
    mkdir -p "$fleet"
    cp "$PROFILES/h100.json" "$fleet"
    add_index nested "$(entry "$APP")" "$(entry "$APP")"
    add_index ordinary "$(entry "$(add_index inner "$(entry "$ARM")" "$(entry "$CPU")")")"
    start_variantd kinds --registry "${REG%%/*}=http://${REG%%/*}" --profile "$PROFILES/h100.json"
    for name in "$REG:nested" "oci:$STATE/layout:nested"; do
        [ "$(choose "$name")" = "${name%:nested}@$CUDA" ]
        [ "$("$VARIANTCTL" resolve --format json --profile "$PROFILES/h100.json" "$name" | jq -r .selected.digest)" = "$CUDA" ]
        run -0 --separate-stderr "$VARIANTCTL" coverage --format json --profiles "$fleet" "$name"
        [ "$(jq -r '.hosts[0].selected.digest' <<<"$output")" = "$CUDA" ]
        run -0 --separate-stderr "$VARIANTCTL" coverage --before "$OCV_TOP/plugins" --after "$OCV_TOP/plugins" --profiles "$fleet" "$name"
        run -0 --separate-stderr "$VARIANTCTL" match --print-ref --replicas 1 --profiles "$fleet" "$name"
        [ "$output" = "${name%:nested}@$CUDA" ]
        run -0 --separate-stderr "$VARIANTCTL" claim --image "$REG:nested" "$name"
        [[ $output == *cuda12-8* && $output == *rocm7-1* ]]
        run -0 --separate-stderr "$VARIANTCTL" claim --image "$REG:nested" --replicas 1 --profiles "$fleet" "$name"
        [[ $output == *"@$CUDA"* ]]
        run -0 --separate-stderr "$VARIANTCTL" claim --for slurm --features "$("$VARIANTCTL" export slurm --features --profile "$PROFILES/h100.json")" "$name"
        [[ $output == *"nvidia::sm_arch::90_real"* ]]
        run -0 --separate-stderr "$VARIANTCTL" lock --profile "$PROFILES/h100.json" "$name"
        [ "$(jq -r '.images[0].profiles[].digest' <<<"$output")" = "$CUDA" ]
        run -0 --separate-stderr "$VARIANTCTL" derive --format json "$name"
        [ "$(jq '.images | length' <<<"$output")" = 5 ]
    done
    [ "$(asked "$REG:nested")" = "$CUDA" ]
    # an image without variants, whose platforms stand in its configurations
    for name in "$REG:ordinary" "oci:$STATE/layout:ordinary"; do
        [ "$(choose "$name")" = "${name%:ordinary}@$CPU" ]
        [ "$("$VARIANTCTL" coverage --format json --profiles "$fleet" "$name" | jq -r '.hosts[0].selected.digest')" = "$CPU" ]
        [ "$("$VARIANTCTL" match --print-ref --replicas 1 --profiles "$fleet" "$name")" = "${name%:ordinary}@$CPU" ]
    done
    [ "$(asked "$REG:ordinary")" = "$CPU" ]
    stop_daemon kinds
    # the same of a layout that stands for a registry
    start_variantd kinds --registry registry.test --layout "$STATE/layout" --profile "$PROFILES/h100.json"
    [ "$(asked registry.test/demo/app:nested)" = "$CUDA" ]
    [ "$(asked registry.test/demo/app:ordinary)" = "$CPU" ]
    ask HEAD "/v2/demo/app/manifests/nested?ns=registry.test"
    [ "$code $(header docker-content-digest)" = "200 $CUDA" ]
    stop_daemon kinds
}

@test "members that are null, in the index, the manifest and the configuration: as if they were left out" {
    local what where filter manifest config name index=0
    echo '{}' >"$DOCKER_CONFIG/config.json"
    while IFS='|' read -r what where filter; do
        manifest=$CPU
        config=$(jq -r .config.digest "$STATE/layout/blobs/sha256/${CPU#*:}")
        if [ "$what" = config ]; then
            config=$(edited "$config" "$filter")
            manifest=$(edited "$CPU" ".config.digest = \"$config\" | .config.size = $(stat -c %s "$STATE/layout/blobs/sha256/${config#*:}")")
        elif [ "$what" = manifest ]; then
            manifest=$(edited "$CPU" "$filter")
        fi
        name=null-$((index += 1))
        add_index "$name" "$(entry "$manifest" 'platform: {os: "linux", architecture: "amd64"}')"
        if [ "$what" = index ]; then
            tag_index "$name" "$(edited "$(image_of "$name")" "$filter" | cut -d: -f2)"
        fi
        run -0 --separate-stderr "$VPULL" --to "oci:$BATS_TEST_TMPDIR/$name" --profile "$PROFILES/h100.json" "$REG:$name"
        run -0 --separate-stderr "$VPULL" --to "oci:$BATS_TEST_TMPDIR/$name" --profile "$PROFILES/h100.json" "oci:$STATE/layout:$name"
        run -0 "$VARIANTCTL" derive "$REG:$name"
        run "$VARIANTCTL" lint "oci:$STATE/layout:$name"
        if [ "$where" = - ]; then
            [[ $output != *OCV525* ]]
        else
            [[ $output == *"note: "*" has null at $where [OCV525"* ]]
        fi
    done <<'CASES'
index|/manifests/0/annotations|.manifests[0].annotations = null
index|/annotations|.annotations = null
index|/subject|.subject = null | .artifactType = null
index|/manifests/0/urls|.manifests[0] |= (.urls = null | .data = null)
index|/manifests/0/platform|.manifests[0].platform = null
index|/manifests/0/platform/variant|.manifests[0].platform.variant = null
index|/manifests/0/platform/os.version|.manifests[0].platform["os.version"] = null
index|/manifests/0/platform/os.features|.manifests[0].platform["os.features"] = null
index|/annotations/org.example~1a~0b|.annotations = {"org.example/a~b": null}
manifest|/layers|.layers = null
manifest|-|del(.layers)
manifest|-|.layers = []
manifest|/annotations|.annotations = null
manifest|/layers/0/annotations|.layers[0].annotations = null
config|/config|.config = null
config|/history|.history = null
config|-|.config = {Env: null, Cmd: null, Entrypoint: null, Labels: null}
CASES
    # none at all, and null: an index without images
    tag_index nobody "$(edited "$APP" '.manifests = null' | cut -d: -f2)"
    run -3 choose "$REG:nobody"
    tag_index nobody "$(edited "$APP" 'del(.manifests)' | cut -d: -f2)"
    run -3 choose "$REG:nobody"
    # a string of that word is none
    tag_index nobody "$(edited "$APP" '.annotations["org.example.word"] = "null"' | cut -d: -f2)"
    run "$VARIANTCTL" lint "oci:$STATE/layout:nobody"
    [[ $output != *OCV525* ]]
}

# mirrored TAG PROFILE: how the daemon of that machine answers for the tag: its status and digest
mirrored()
{
    start_variantd mirrored --registry "${REG%%/*}=http://${REG%%/*}" --profile "$2"
    ask HEAD "/v2/demo/app/manifests/$1?ns=${REG%%/*}"
    stop_daemon mirrored
    echo "$code $([ "$code" != 200 ] || header docker-content-digest)"
}

@test "variants beside images whose platforms are missing, or have a member missing" {
    local v3 name config image pad
    echo '{}' >"$DOCKER_CONFIG/config.json"
    v3=$(digest_of cpu.v3)
    jq '.platform = {os: "linux", architecture: "arm64"} | .namespaces = []' "$PROFILES/laptop.json" >"$STATE/arm.json"
    jq '.namespaces |= map(select(.namespace != "x86_64"))' "$PROFILES/laptop.json" >"$STATE/old.json"
    add_index beside "$(entry "$ARM")" "$(variant "$v3")"
    add_index beside-part "$(entry "$ARM" 'platform: {os: "linux"}')" "$(entry "$CPU" 'platform: {architecture: "amd64"}')" "$(variant "$v3")"
    for name in beside beside-part; do
        for image in "$REG:$name" "oci:$STATE/layout:$name"; do
            [ "$(choose "$image")" = "${image%:"$name"}@$v3" ]
            [ "$("$VPULL" --print-ref --profile "$STATE/arm.json" "$image")" = "${image%:"$name"}@$ARM" ]
        done
        [ "$(mirrored "$name" "$PROFILES/h100.json")" = "200 $v3" ]
        [ "$(mirrored "$name" "$STATE/arm.json")" = "200 $ARM" ]
    done
    # a machine that the variant does not fit gets no image of another architecture
    run -3 --separate-stderr "$VPULL" --print-ref --profile "$STATE/old.json" "$REG:beside"
    [ "$(mirrored beside "$STATE/old.json")" = "404 " ]
    [ "$("$VPULL" --print-ref --profile "$STATE/old.json" "$REG:beside-part")" = "$REG@$CPU" ]
    [ "$(mirrored beside-part "$STATE/old.json")" = "200 $CPU" ]
    # configurations of up to 64 KiB are read by the daemon; a larger one leaves the platform open
    config=$STATE/layout/blobs/sha256/$(jq -r '.config.digest[7:]' "$STATE/layout/blobs/sha256/${ARM#*:}")
    pad=$((65536 - $(jq -c '.comment = ""' "$config" | wc -c)))
    for name in read=404 large=200; do
        config=$(edited "$(jq -r .config.digest "$STATE/layout/blobs/sha256/${ARM#*:}")" ".comment = \"$(printf "%${pad}s")\"")
        [ "$(stat -c %s "$STATE/layout/blobs/sha256/${config#*:}")" = $((65536 + (${name#*=} == 200))) ]
        image=$(edited "$ARM" ".config.digest = \"$config\" | .config.size = $(stat -c %s "$STATE/layout/blobs/sha256/${config#*:}")")
        add_index "${name%=*}" "$(entry "$image")" "$(variant "$v3")"
        [ "$(mirrored "${name%=*}" "$STATE/old.json")" = "${name#*=} $([ "${name#*=}" = 404 ] || echo "$image")" ]
        pad=$((pad + 1))
    done
}

@test "what is left out of an index of many is said" {
    local nested=() i
    echo '{}' >"$DOCKER_CONFIG/config.json"
    for i in {1..65}; do nested+=("$(entry "$(edited "$APP" ".annotations[\"org.example.number\"] = \"$i\"")")"); done
    add_index many "${nested[@]}"
    run -0 --separate-stderr choose "$REG:many"
    [ "$output" = "$REG@$CUDA" ]
    [[ $stderr == *"$REG:many: indexes in the index: 64 are read, 1 left out"* ]]
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "$REG:many"
    [[ $output == *"64 are read, 1 left out"* ]]
    start_variantd many --registry registry.test --layout "$STATE/layout" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/demo/app/manifests/many?ns=registry.test"
    [ "$code $(header docker-content-digest)" = "200 $CUDA" ]
    grep -q "/demo/app: indexes in the index: 64 are read, 1 left out" "$STATE/log/many"
    stop_daemon many
}
