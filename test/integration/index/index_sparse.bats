#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index copy --for: of an index only what a fleet's machines get, with digest and signatures as they were.

load ../harness
load ../images
load ../trust
load ../variantd

setup_file()
{
    state_start
    require docker-registry skopeo curl jq
    start_registry
    make_variants "$STATE/images"
    # what buildkit says of two of the images stands in the index, too
    for tag in cuda rocm; do
        mkimage "$STATE/images" "about-$tag" --file "etc/about=$tag"
    done
    jq '.manifests += [$all[] | select(.annotations["org.opencontainers.image.ref.name"] | startswith("about-")) |
            (.annotations["org.opencontainers.image.ref.name"] | ltrimstr("about-")) as $of |
            .platform = {os: "unknown", architecture: "unknown"} |
            .annotations = {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": $digests[$of]}]' \
        --argjson all "$(jq .manifests "$STATE/images/index.json")" \
        --argjson digests "$(jq -n --arg cuda "$(digest_of cuda12.8)" --arg rocm "$(digest_of rocm7.1)" '{cuda: $cuda, rocm: $rocm}')" \
        <("$VARIANTCTL" index show --format json "oci:$STATE/images:app") >"$STATE/app.json"
    digest=sha256:$(sha256sum <"$STATE/app.json" | cut -d' ' -f1)
    cp "$STATE/app.json" "$STATE/images/blobs/sha256/${digest#sha256:}"
    jq --arg d "$digest" --argjson n "$(stat -c %s "$STATE/app.json")" '.manifests += [{mediaType: "application/vnd.oci.image.index.v1+json",
        digest: $d, size: $n, annotations: {"org.opencontainers.image.ref.name": "told"}}]' "$STATE/images/index.json" >"$STATE/new"
    mv "$STATE/new" "$STATE/images/index.json"
    export INDEX=$digest
    mkdir "$STATE/fleet"
    cp "$PROFILES"/{h100,laptop}.json "$STATE/fleet"
}

# blobs DIR: how many manifests and configurations it has of those that were made
has() { [ -e "$1/blobs/sha256/${2#sha256:}" ]; }

@test "what machines get, the default and what speaks of these; the index stays, and each machine gets its image of the copy" {
    local to=$BATS_TEST_TMPDIR/mirror
    run -0 --separate-stderr "$VARIANTCTL" index copy --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "oci:$to:app"
    [[ $stderr == *"for 2 machines: "*"cuda12.8"* && $stderr == *"left out: rocm7.1 ("*"kB)"* ]]
    [ "$("$VARIANTCTL" resolve --format json --profile "$PROFILES/h100.json" "oci:$to:app" | jq -r .index)" = "$INDEX" ]
    cmp "$STATE/app.json" "$to/blobs/sha256/${INDEX#sha256:}"
    for label in cuda12.8 cpu.v3; do has "$to" "$(digest_of "$label")"; done
    run ! has "$to" "$(digest_of rocm7.1)"
    # attestations: that of what is here, and no other
    about() { jq -r --arg t "about-$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $t).digest' "$STATE/images/index.json"; }
    has "$to" "$(about cuda)"
    run ! has "$to" "$(about rocm)"
    for machine in h100 laptop; do
        run -0 --separate-stderr "$VPULL" --profile "$PROFILES/$machine.json" --to "oci:$BATS_TEST_TMPDIR/$machine" "oci:$to:app"
    done
    # a machine of another kind: its image is not here
    run --separate-stderr "$VPULL" --profile "$PROFILES/mi300x.json" --to "oci:$BATS_TEST_TMPDIR/none" "oci:$to:app"
    [ "$status" != 0 ]
    [[ $stderr == *"vpull: variant rocm7.1: "*"hint: the index names it, and it is not here"* ]]
}

@test "a fleet that grew: the same command copies what is missing, and the tag stays" {
    local to=$BATS_TEST_TMPDIR/mirror
    "$VARIANTCTL" index copy --quiet --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "oci:$to:app"
    run -0 --separate-stderr "$VARIANTCTL" index copy --for "$STATE/fleet" --for "$PROFILES/mi300x.json" --sparse "oci:$STATE/images:told" "oci:$to:app"
    [[ $output == *unchanged* ]]
    has "$to" "$(digest_of rocm7.1)"
}

@test "--all-ranks: also what they could run" {
    cp "$PROFILES/h100.json" "$BATS_TEST_TMPDIR/h100.json"
    "$VARIANTCTL" index copy --quiet --for "$BATS_TEST_TMPDIR/h100.json" --sparse "oci:$STATE/images:told" "oci:$BATS_TEST_TMPDIR/one:app"
    run ! has "$BATS_TEST_TMPDIR/one" "$(digest_of cpu.v3)"
    "$VARIANTCTL" index copy --quiet --for "$BATS_TEST_TMPDIR/h100.json" --sparse --all-ranks "oci:$STATE/images:told" "oci:$BATS_TEST_TMPDIR/all:app"
    has "$BATS_TEST_TMPDIR/all" "$(digest_of cpu.v3)"
    run ! has "$BATS_TEST_TMPDIR/all" "$(digest_of rocm7.1)"
}

@test "a registry that wants every image of an index says so, with the way out: --prune, an index of its own" {
    run ! "$VARIANTCTL" index copy --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "$REGISTRY/sparse:1" --insecure "$REGISTRY"
    [[ $output == *"hint: a registry that wants all images of an index takes one with --prune"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index copy --quiet --for "$STATE/fleet" --prune "oci:$STATE/images:told" "$REGISTRY/sparse:1" --insecure "$REGISTRY"
    [ "$output" != "$INDEX" ]
    run -0 "$VARIANTCTL" index show --format json --insecure "$REGISTRY" "$REGISTRY/sparse:1"
    [ "$(jq -r '[.manifests[] | .annotations["dev.ocivariant.label"] // "-"] | sort | join(" ")' <<<"$output")" = "- - - cpu.v3 cuda12.8" ]
    [ "$(jq -c .annotations <<<"$output")" = "$(jq -c .annotations "$STATE/app.json")" ]
    run -0 --separate-stderr "$VPULL" --insecure "$REGISTRY" --profile "$PROFILES/h100.json" --dry-run "$REGISTRY/sparse:1"
    [ "$output" = "$(digest_of cuda12.8)" ]
}

@test "--dry-run writes nothing; wrong options" {
    run -0 --separate-stderr "$VARIANTCTL" index copy --dry-run --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "oci:$BATS_TEST_TMPDIR/none:app"
    [[ $stderr == *"left out: rocm7.1"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/none" ]
    for wrong in "--all-ranks" "--update" "--sparse --prune" "--for $STATE/fleet" "--for $STATE/fleet --sparse --prune" "--for $STATE/fleet --update --prune"; do
        # shellcheck disable=SC2086 # several words
        run -2 "$VARIANTCTL" index copy $wrong "oci:$STATE/images:told" "oci:$BATS_TEST_TMPDIR/none:app"
    done
    run -4 "$VARIANTCTL" index copy --for "$STATE/fleet" --sparse "oci:$STATE/images:cpu" "oci:$BATS_TEST_TMPDIR/none:app"
    [[ $output == *"is no index: there is nothing to leave out"* ]]
}

@test "--update adds what a fleet needs since, and wants a copy to be there" {
    local to=$BATS_TEST_TMPDIR/mirror
    run -1 "$VARIANTCTL" index copy --for "$STATE/fleet" --update "oci:$STATE/images:told" "oci:$to:app"
    [[ $output == *"hint: the first copy is made with --sparse"* ]]
    [ ! -e "$to" ]
    "$VARIANTCTL" index copy --quiet --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "oci:$to:app"
    run ! has "$to" "$(digest_of rocm7.1)"
    run -0 --separate-stderr "$VARIANTCTL" index copy --for "$PROFILES/mi300x.json" --update "oci:$STATE/images:told" "oci:$to:app"
    [[ $output == *unchanged* ]]
    has "$to" "$(digest_of rocm7.1)"
    has "$to" "$(digest_of cuda12.8)" # what was there stays
}

@test "--sparse without machines: what is there, so that such a copy is carried on as it is" {
    local to=$BATS_TEST_TMPDIR/mirror
    "$VARIANTCTL" index copy --quiet --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "oci:$to:app"
    run -1 "$VARIANTCTL" index copy "oci:$to:app" "oci:$BATS_TEST_TMPDIR/site:app"
    run -0 --separate-stderr "$VARIANTCTL" index copy --sparse "oci:$to:app" "oci:$BATS_TEST_TMPDIR/site:app"
    [[ $stderr == "oci:$to:app has "*cuda12.8*$'\n'"not there: rocm7.1" ]]
    cmp "$to/index.json" "$BATS_TEST_TMPDIR/site/index.json"
    has "$BATS_TEST_TMPDIR/site" "$(digest_of cuda12.8)"
    run ! has "$BATS_TEST_TMPDIR/site" "$(digest_of rocm7.1)"
    # an index of it, where a registry wants all that one names
    run -0 --separate-stderr "$VARIANTCTL" index copy --prune --insecure "$REGISTRY" "oci:$to:app" "$REGISTRY/carried:1"
    run -0 --separate-stderr "$VPULL" --insecure "$REGISTRY" --profile "$PROFILES/h100.json" --dry-run "$REGISTRY/carried:1"
    [ "$output" = "$(digest_of cuda12.8)" ]
}

@test "sparse: next takes the next best that is there, and tells; error, which is the default, names what is missing" {
    local to=$BATS_TEST_TMPDIR/sparse cuda cpu
    cuda=$(digest_of cuda12.8) cpu=$(digest_of cpu.v3)
    "$VARIANTCTL" index copy --quiet --for "$PROFILES/laptop.json" --sparse "oci:$STATE/images:told" "oci:$to:app"
    run ! has "$to" "$cuda"
    start_rules sparse "$to" <<<'[{"layout": true}]'
    for said in '' 'sparse: error'; do
        printf 'registries: {"%s": {insecure: true, %s}}\n' "$RULES" "$said" >"$BATS_TEST_TMPDIR/config.yaml"
        run -1 "$VPULL" --config "$BATS_TEST_TMPDIR/config.yaml" --profile "$PROFILES/h100.json" --to "oci:$BATS_TEST_TMPDIR/none" "$RULES/any:app"
        [[ $output == *"variant cuda12.8: "* ]]
    done
    printf 'registries: {"%s": {url: "http://%s", sparse: next}}\nsocket: %s\n' "$RULES" "$RULES" "$STATE/variantd.sock" >"$BATS_TEST_TMPDIR/config.yaml"
    run -0 --separate-stderr "$VPULL" --config "$BATS_TEST_TMPDIR/config.yaml" --profile "$PROFILES/h100.json" --dry-run "$RULES/any:app"
    [ "$output" = "$cpu" ]
    [[ $stderr == *"warning: $RULES/any:app: cuda12.8 fits best and is not mirrored here; cpu.v3 is the next best"* ]]
    run -0 --separate-stderr "$VPULL" --config "$BATS_TEST_TMPDIR/config.yaml" --profile "$PROFILES/h100.json" --print-ref "$RULES/any:app"
    [ "$output" = "$RULES/any@$cpu" ]
    # the mirror of a node
    start_variantd --config "$BATS_TEST_TMPDIR/config.yaml" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/any/manifests/app?ns=$RULES"
    [ "$(header docker-content-digest)" = "$cpu" ]
    [ "$(metric variantd_sparse_next_total)" = 1 ]
    grep -q "$RULES/any:app: cuda12.8 fits best and is not mirrored there; cpu.v3 is the next best" "$STATE/log/variantd"
    # when it is mirrored, it is taken
    "$VARIANTCTL" index copy --quiet --for "$PROFILES/h100.json" --update "oci:$STATE/images:told" "oci:$to:app"
    ask HEAD "/v2/any/manifests/app?ns=$RULES"
    [ "$(header docker-content-digest)" = "$cuda" ]
    [ "$(metric variantd_sparse_next_total)" = 1 ]
    stop_daemon variantd
    stop_daemon sparse
}

# start_distribution3: one that takes an index some of whose images are not there; sets REGISTRY
start_distribution3()
{
    local port
    port=$(free_port)
    cat >"$STATE/three.yml" <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: $STATE/three}, delete: {enabled: true}}
validation: {manifests: {indexes: {platforms: none}}}
http: {addr: "127.0.0.1:$port"}
YAML
    start_daemon three "$OCV_DISTRIBUTION3" serve "$STATE/three.yml"
    await three curl --silent --fail "http://127.0.0.1:$port/v2/"
    REGISTRY=127.0.0.1:$port
}

@test "distribution 3 with platforms: none takes it, and containerd's kind of client gets its image by digest" {
    [ -x "${OCV_DISTRIBUTION3:-}" ] || skip "OCV_DISTRIBUTION3 names no distribution 3"
    start_distribution3
    run -0 --separate-stderr "$VARIANTCTL" index copy --quiet --insecure "$REGISTRY" --for "$STATE/fleet" --sparse "oci:$STATE/images:told" "$REGISTRY/sparse:1"
    [ "$output" = "$INDEX" ]
    curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/sparse/manifests/1" | cmp - "$STATE/app.json"
    run -0 --separate-stderr "$VPULL" --insecure "$REGISTRY" --profile "$PROFILES/h100.json" --to "oci:$BATS_TEST_TMPDIR/pulled" "$REGISTRY/sparse:1"
    run ! "$VPULL" --insecure "$REGISTRY" --profile "$PROFILES/mi300x.json" --to "oci:$BATS_TEST_TMPDIR/none" "$REGISTRY/sparse:1"
    [[ $output == *"variant rocm7.1: "* ]]
    # from there on: the same, of what is there
    run -0 --separate-stderr "$VARIANTCTL" index copy --quiet --insecure "$REGISTRY" --for "$STATE/fleet" --sparse "$REGISTRY/sparse:1" "oci:$BATS_TEST_TMPDIR/again:app"
    [ "$output" = "$INDEX" ]
    stop_daemon three
}

@test "signatures stay valid: cosign verifies the sparse copy of what it signed, and so does vpull" {
    [ -x "${OCV_DISTRIBUTION3:-}" ] || skip "OCV_DISTRIBUTION3 names no distribution 3"
    [ -x "${OCV_COSIGN:-}" ] || skip "no cosign: OCV_COSIGN names no program"
    local from=$REGISTRY
    mkdir -p "$STATE/keys"
    (cd "$STATE/keys" && COSIGN_PASSWORD='' "$OCV_COSIGN" generate-key-pair --output-key-prefix cosign)
    chmod go-w "$STATE/keys/cosign.pub"
    "$VARIANTCTL" index copy --quiet --insecure "$from" "oci:$STATE/images:told" "$from/signed:1" >/dev/null
    cosign_sign cosign "$from/signed@$INDEX" --use-signing-config=false --tlog-upload=false --new-bundle-format=true
    start_distribution3
    run -0 --separate-stderr "$VARIANTCTL" index copy --quiet --insecure "$from" --insecure "$REGISTRY" --for "$STATE/fleet" --sparse "$from/signed:1" "$REGISTRY/signed:1"
    [ "$output" = "$INDEX" ]
    run -0 "$OCV_COSIGN" verify --key "$STATE/keys/cosign.pub" --insecure-ignore-tlog=true --allow-http-registry "$REGISTRY/signed@$INDEX"
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/cosign.pub]}"
    run -0 "$VPULL" --insecure "$REGISTRY" --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json" --to "oci:$BATS_TEST_TMPDIR/signed" "$REGISTRY/signed:1"
    [[ $output == *"signed by the key"* ]]
    stop_daemon three
}
