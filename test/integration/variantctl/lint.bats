#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl lint on files, layouts and a real registry.

load ../harness
load ../images
load ../schema

setup_file()
{
    require docker-registry skopeo jq
    state_start
    start_registry
    export OCV_DATADIR=$OCV_TOP/plugins
    make_variants "$STATE/layout"
}

setup()
{
    empty_checkout
}

lint()
{
    "$VARIANTCTL" lint "$@"
}

index_of_app()
{
    "$VARIANTCTL" index show --format json "oci:$VARIANTS:app"
}

@test "what index create writes is clean, in a layout, a file and a registry" {
    run -0 lint "oci:$VARIANTS:app"
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
    index_of_app >index.json
    run -0 lint index.json
    push_layout "$VARIANTS:app" "$REGISTRY/clean/app:1.0"
    run -0 lint --insecure "$REGISTRY" "$REGISTRY/clean/app:1.0"
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
}

@test "a layout without a tag is all of its tags" {
    mkimage layout good >/dev/null
    mkimage layout typo --label ai.backend..x=1 >/dev/null
    run -0 lint oci:layout
    [[ $output == *"oci:layout:typo: warning: manifests[0]: the image's label ai.backend..x has an empty part"* ]]
    [[ $output == *"0 errors, 1 warning, 0 notes"* ]]
}

@test "findings have file, line and column; errors end with 5" {
    index_of_app | jq '(.manifests[] | select(.annotations["dev.ocivariant.label"] == "cpu.v3")
        .annotations["dev.ocivariant.properties"]) = "x86_64 :: levle :: v3"' >index.json
    line=$(grep -n levle index.json | cut -d: -f1)
    run -5 lint index.json
    [[ $output == *"index.json:$line:9: error: manifests["*"] (cpu.v3): the namespace x86_64 has no feature levle [OCV204 feature-unknown]"* ]]
    [[ $output == *"hint: did you mean x86_64 :: level :: v3? variantctl index annotate REPO:TAG"* ]]
    run -0 lint --fail-on never index.json
    # columns count characters, whatever stands before
    printf '{"annotations": {"a": "ü€"}, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:%064d", "size": 1}]}' 1 >one.json
    run -0 lint one.json
    [[ $output == *"one.json:1:44: warning: manifests[0]: "*OCV514* ]]
}

@test "warnings end with 0, or with 5 on request" {
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"])' >index.json
    run -0 lint index.json
    [[ $output == *"OCV101 schema-missing"* ]]
    run -5 lint --fail-on warning index.json
}

@test "several inputs: what cannot be read is 4, and the others are checked" {
    echo '{"manifests": [' >broken.json
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"])' >index.json
    run -4 --separate-stderr lint broken.json index.json oci:nowhere:tag
    [[ $output == *"index.json:"*"OCV101"* ]]
    [[ $stderr == *"variantctl: broken.json: index is not valid JSON: line 2"* ]]
    [[ $stderr == *"oci:nowhere:tag"* ]]
    [ "$(<broken.json)" = '{"manifests": [' ]
}

@test "bad input has a place, and nothing is written" {
    printf 'registry.example/a:1\nNOT A REFERENCE\n' >tags.txt
    run -4 lint tags.txt
    [[ $output == *"tags.txt:2: "* ]]
    run -1 lint missing.json
    [[ $output == *"missing.json: No such file"*"1 error (unreadable), 0 warnings, 0 notes"* ]]
    : >empty.json
    run -4 lint empty.json
    printf 'a\0b' >nul.json
    run -4 lint --fix nul.json
    echo '{"manifests": [{"mediaType": "a/b", "digest": "x", "size": 1}]}' >digest.json
    cp digest.json before.json
    run -5 lint --fix digest.json
    [[ $output == *"digest.json:1:16: error: manifests[0]: entry: malformed digest 'x' [OCV516 child-broken]"* ]]
    [ "$(jq -c .manifests digest.json)" = "$(jq -c .manifests before.json)" ]
    run -2 lint
    run -2 lint --format xml index.json
    run -2 lint --dry-run index.json
}

@test "a list of tags: drift, look-alikes, families" {
    cat >tags.txt <<'TAGS'
# one a line
registry.example/mindie:2.0-300I-Duo
registry.example/mindie:2.1-300I-Duo
registry.example/mindie:2.2-300l-Duo

registry.example/app:1-cu126
registry.example/app:2-cu128
registry.example/app:3-cuda12
ghcr.io/huggingface/text-embeddings-inference:turing-1.9
ghcr.io/huggingface/text-embeddings-inference:turnig-1.9
lablup/python-pytorch:2.5-py310-cuda12.1
lablup/python-tensorflow:2.18-py310-cu124
TAGS
    run -0 lint tags.txt
    [[ $output == *"tags.txt:4: warning: registry.example/mindie:2.2-300l-Duo: '300l' looks like '300I'"* ]]
    [[ $output == *"tags.txt:8: warning: registry.example/app:3-cuda12: CUDA is written 'cuda12' here"* ]]
    [[ $output == *"tags.txt:10: note: "*"do not know 'turnig'"* ]]
    # two repositories of one family
    [[ $output == *"tags.txt:12: warning: lablup/python-tensorflow:2.18-py310-cu124: CUDA is written 'cu124' here and 'cuda12.1'"* ]]
    [[ $output == *"0 errors, 3 warnings, 1 note"* ]]
}

@test "real tags, and indexes of real wheels, raise no false alarm" {
    require_fixtures tags/real_tags.txt
    run -0 lint --format json "$OCV_FIXTURES/tags/real_tags.txt"
    [ "$(jq '.summary.errors' <<<"$output")" = 0 ]
    [ "$(jq '[.findings[] | select(.rule == "OCV303")] | length' <<<"$output")" = 0 ]
    [ "$(jq '[.findings[] | select(.rule == "OCV302")] | length' <<<"$output")" -le 10 ]
    run lint --format json "$OCV_FIXTURES"/index/*/index.json
    # torch has its default last, and some have none, as wheels may; all else is what publishers may do
    [ "$(jq -r '[.findings[] | select(.level == "error").rule] | unique | join(" ")' <<<"$output")" = "OCV501 OCV502" ]
}

@test "children against the index: missing, wrong architecture, other labels" {
    local digest
    mkimage layout v3 --label dev.ocivariant.label=v3 \
        --label "dev.ocivariant.properties=x86_64 :: level :: v2" >/dev/null
    mkimage layout cpu >/dev/null
    "$VARIANTCTL" index create --quiet oci:layout:app --namespaces x86_64 null=oci:layout:cpu \
        "v3=oci:layout:v3,x86_64 :: level :: v3" >/dev/null
    run -0 lint oci:layout:app
    [[ $output == *"(v3): the image's own labels are 'v3' and 'x86_64 :: level :: v2' [OCV405"* ]]
    digest=$("$VARIANTCTL" index show --format json oci:layout:app | jq -r '.manifests[1].digest')
    rm "layout/blobs/${digest/://}"
    run -5 lint oci:layout:app
    [[ $output == *"(v3): $digest is not there [OCV515 child-missing]"* ]]
    run -0 lint --no-children oci:layout:app
    # not what it was said to be, or not all of it
    "$VARIANTCTL" index create --quiet oci:layout:app --namespaces x86_64 null=oci:layout:cpu
    digest=$("$VARIANTCTL" index show --format json oci:layout:app | jq -r '.manifests[0].digest')
    cp "layout/blobs/${digest/://}" whole
    sed -i 's/"layers"/"layer5"/' "layout/blobs/${digest/://}"
    run -5 lint oci:layout:app
    [[ $output == *"manifests[0]: "*"$digest"*" [OCV516 child-broken]"* ]]
    cp whole "layout/blobs/${digest/://}"
    run -0 lint oci:layout:app
    rm "layout/blobs/$(jq -r '.layers[0].digest' whole | tr : /)"
    run -5 lint oci:layout:app
    [[ $output == *"manifests[0]: layer 0, sha256:"*", is not there [OCV516 child-broken]"* ]]
}

@test "an index that nobody reads is a finding, not a failure" {
    local digest
    mkdir -p big/blobs/sha256
    cp "$VARIANTS/oci-layout" big
    index_of_app | jq -c '.annotations.fill = ("0" * 4300000)' >big.json
    digest=$(sha256sum <big.json | cut -d' ' -f1)
    cp big.json "big/blobs/sha256/$digest"
    jq -n --arg digest "sha256:$digest" --argjson size "$(stat -c %s big.json)" '{schemaVersion: 2, manifests: [{
        mediaType: "application/vnd.oci.image.index.v1+json", digest: $digest, size: $size,
        annotations: {"org.opencontainers.image.ref.name": "app"}}]}' >big/index.json
    run -5 lint oci:big:app
    [[ $output == *"[OCV510 index-too-large]"* ]]
    run -5 lint big.json
    [[ $output == *"[OCV510 index-too-large]"* ]]
}

@test "the container toolkit's conditions, CUDA's version and Backend.AI's labels of real images" {
    mkimage layout cpu >/dev/null
    mkimage layout cuda --env CUDA_VERSION=13.0.1 --env "NVIDIA_REQUIRE_CUDA=cuda>=12.8" \
        --label ai.backend.accelerators=rocm --label ai.backend.envs.corecounest=NPROC >/dev/null
    "$VARIANTCTL" index create --quiet --no-lint oci:layout:app --namespaces nvidia null=oci:layout:cpu \
        "cu=oci:layout:cuda,nvidia :: cuda_version_lower_bound :: 12.4,nvidia :: sm_arch :: 90_real" >/dev/null
    run -5 lint oci:layout:app
    [[ $output == *"OCV402 require-stricter"* ]]
    [[ $output == *"OCV404 env-version-disagrees"* ]]
    [[ $output == *"OCV408 label-key-typo"* ]]
    [[ $output == *"OCV410 accelerator-label-disagrees"* ]]
}

@test "--fix corrects a file in place, and once is enough" {
    index_of_app | jq 'del(.annotations) | .manifests |= reverse |
        (.manifests[].annotations["dev.ocivariant.properties"] | values) |= gsub(" "; "") |
        del(.manifests[].platform.variant)' >index.json
    cp index.json before.json
    run -5 lint --fix --dry-run --change-default index.json
    [[ $output == *"index.json: would fix OCV101 schema-missing: dev.ocivariant.schema is now 1"* ]]
    cmp index.json before.json
    # and what that changes, as `index diff` says it of both
    "$VARIANTCTL" lint --fix --change-default --output fixed.json index.json >/dev/null 2>&1 || true
    run -0 "$VARIANTCTL" index diff index.json fixed.json
    diff <(grep '^[-+~ ]' <<<"$output") <("$VARIANTCTL" lint --fix --dry-run --change-default index.json 2>&1 >/dev/null | grep '^[-+~ ]')
    grep -q '^+ dev.ocivariant.schema: 1' <<<"$output"
    # the ROCm build stands first, and is what old clients get: that is not changed by the way
    local cpu rocm
    cpu=$(jq -r '.manifests[] | select(.annotations == null and .platform.architecture == "amd64").digest' index.json)
    rocm=$(jq -r '.manifests[0].digest' index.json)
    run -5 lint --fix index.json
    [[ $output == *"index.json: not corrected: clients that know nothing of variants on linux/amd64 would get $cpu instead of $rocm"$'\n'"hint: --change-default "* ]]
    [ "$(jq -c '[.manifests[].digest]' index.json)" = "$(jq -c '[.manifests[].digest]' before.json)" ]
    [ "$(jq '[.manifests[].platform.variant | values] | length' index.json)" = 0 ]
    [[ $output == *OCV502* && $output != *"[OCV101"* ]]
    run -2 lint --change-default index.json
    cp before.json index.json
    run -0 lint --fix --change-default index.json
    [[ $output == *"index.json: clients that know nothing of variants on linux/amd64 get $cpu instead of $rocm"* ]]
    # each thing that was done has a line, and nothing else is left
    [[ $output == *"index.json: fixed OCV103 namespaces-missing: dev.ocivariant.namespaces is now "* ]]
    [[ $output == *"index.json: fixed OCV202 property-not-canonical: cuda12.8: dev.ocivariant.properties is now nvidia :: "* ]]
    [[ $output == *"index.json: fixed OCV502 default-not-first: moved the default to the front"* ]]
    [[ $output == *$'\n'"0 errors, 0 warnings, 0 notes" ]]
    run -0 lint index.json
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
    [ "$(jq -r '.manifests[0].annotations' index.json)" = null ]
    cp index.json fixed.json
    run -0 lint --fix --change-default index.json
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
    run -0 lint --fix index.json
    cmp index.json fixed.json
    run -0 --separate-stderr lint --fix --change-default --output - before.json
    jq -e .manifests <<<"$output" >/dev/null
}

@test "--fix does not list a misspelt namespace, and says what it cannot do" {
    index_of_app | jq '(.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8")
        .annotations["dev.ocivariant.properties"]) |= gsub("nvidia"; "nvdia")' >index.json
    cp index.json before.json
    run -5 lint --fix index.json
    cmp index.json before.json
    [[ $output == *"the namespace nvdia is not in dev.ocivariant.namespaces"*"did you mean nvidia?"* ]]
    [[ $output != *"--fix appends"* ]]
    # without the list none is written that has it
    index_of_app | jq 'del(.annotations["dev.ocivariant.namespaces"]) | (.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8")
        .annotations["dev.ocivariant.properties"]) |= gsub("nvidia"; "nvdia")' >index.json
    run -5 lint --fix index.json
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"] | test("nvdia")' index.json)" = false ]
    printf 'target: r.example/app:1\nvariants:\n  - {label: null, image: r.example/app:cpu}\n  - {label: a, image: r.example/app:a, properties: ["nvidia :: sm_arch :: 9_real"]}\n' >app.yaml
    cp app.yaml before.yaml
    run lint --fix app.yaml
    cmp app.yaml before.yaml
    [[ $output == *"app.yaml: --fix writes indexes, not YAML: correct it by hand"* ]]
}

@test "--fix leaves builds that wait for their annotations where they are" {
    index_of_app | jq 'del(.annotations, .manifests[].annotations) |
        .manifests |= [.[4], .[0], .[3]]' >index.json
    cp index.json before.json
    run -5 lint --fix index.json
    cmp <(jq '.manifests |= sort_by(.digest)' index.json) <(jq '.manifests |= sort_by(.digest)' before.json)
    [ "$(jq -r '.manifests[0].platform.variant' index.json)" = null ]
    [ "$(grep -c 'platform.variant x-.* and no annotations: it is never chosen \[OCV522 variant-unannotated\]' <<<"$output")" = 2 ]
    [[ $output == *"hint: variantctl index annotate --label sha256:"*"=LABEL"* ]]
    run -0 "$VARIANTCTL" resolve --profile "$PROFILES/mi300x.json" --index index.json
    [ "$(jq -r .selected.platform.variant <<<"$output")" = null ]
}

@test "--fix reports what is left, at its place in what was written" {
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"]) | .manifests |= reverse |
        (.manifests[] | select(.annotations["dev.ocivariant.label"] == "cpu.v3")
        .annotations["dev.ocivariant.properties"]) = "x86_64 :: levle :: v3"' >index.json
    cp index.json before.json
    run -5 lint --fix index.json
    line=$(grep -n levle index.json | cut -d: -f1)
    [ "$line" != "$(grep -n levle before.json | cut -d: -f1)" ]
    [[ $output == *"index.json:$line:9: error: manifests["*"] (cpu.v3): "*OCV204* ]]
    [[ $output == *"1 error, 0 warnings, 0 notes" ]]
    # the images of entries that moved are still theirs
    mkdir kept && cp -r "$VARIANTS/." kept && rm kept/index.json
    index_of_app | jq -c '.manifests |= reverse' | tr -d '\n' >reversed.json
    digest=$(sha256sum <reversed.json | cut -d' ' -f1)
    cp reversed.json "kept/blobs/sha256/$digest"
    jq -n --arg digest "sha256:$digest" --argjson size "$(stat -c %s reversed.json)" '{schemaVersion: 2, manifests: [{
        mediaType: "application/vnd.oci.image.index.v1+json", digest: $digest, size: $size,
        annotations: {"org.opencontainers.image.ref.name": "app"}}]}' >kept/index.json
    run -5 lint oci:kept:app
    run -0 lint --fix oci:kept:app
    [[ $output == "oci:kept:app: corrected"$'\n'"    was sha256:$digest"$'\n'"    now sha256:"*$'\n'"sign again where it is published: signatures are for the old digest"$'\n'"oci:kept:app: fixed OCV"*$'\n'"0 errors, 0 warnings, 0 notes" ]]
    # where nothing can be written, everything is reported
    run -1 lint --fix --output /nowhere/index.json before.json
    [[ $output == *"/nowhere/index.json"*"No such file"* ]]
    [[ $output == *OCV101* && $output == *OCV502* ]]
    run -1 lint --output /nowhere/report before.json
    [[ $output == *"/nowhere/report: No such file or directory"* ]]
}

@test "--fix writes a layout and a registry, and the images stay" {
    local before after
    index_of_app | jq -c 'del(.annotations["dev.ocivariant.schema"])' | tr -d '\n' >index.json
    push_layout "$VARIANTS:app" "$REGISTRY/fixed/app:1.0"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
        --data-binary @index.json "http://$REGISTRY/v2/fixed/app/manifests/1.0"
    before=$(jq -c '[.manifests[].digest]' index.json)
    run -0 lint --insecure "$REGISTRY" --fix --dry-run "$REGISTRY/fixed/app:1.0"
    [[ $output == "$REGISTRY/fixed/app:1.0: would be corrected"$'\n'"    was sha256:$(sha256sum <index.json | cut -d' ' -f1)"$'\n'"    would be sha256:"* ]]
    [[ $output != *"sign again"* ]]
    run -5 lint --insecure "$REGISTRY" --fail-on warning "$REGISTRY/fixed/app:1.0"
    run -0 lint --insecure "$REGISTRY" --fix "$REGISTRY/fixed/app:1.0"
    [[ ${lines[1]} == "    was sha256:$(sha256sum <index.json | cut -d' ' -f1)" ]]
    [[ ${lines[2]} == "    now sha256:"* ]]
    [ "${lines[3]}" = "sign again: cosign sign --recursive $REGISTRY/fixed/app@${lines[2]#    now }" ]
    run -0 lint --insecure "$REGISTRY" --fail-on warning "$REGISTRY/fixed/app:1.0"
    after=$(curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' \
        "http://$REGISTRY/v2/fixed/app/manifests/1.0" | jq -c '[.manifests[].digest]')
    [ "$before" = "$after" ]
    run -0 lint --insecure "$REGISTRY" --fix "$REGISTRY/fixed/app:1.0"
}

@test "tags of a registry that disagree with the index" {
    mkimage layout cpu >/dev/null
    mkimage layout ada --seed 1 --layer 1000 >/dev/null
    mkimage layout hopper --seed 2 --layer 1000 >/dev/null
    "$VARIANTCTL" index create --quiet oci:layout:app --namespaces nvidia null=oci:layout:cpu \
        "ada=oci:layout:ada,nvidia :: cuda_version_lower_bound :: 12.9,nvidia :: sm_arch :: 89_real" \
        "hopper=oci:layout:hopper,nvidia :: cuda_version_lower_bound :: 12.9,nvidia :: sm_arch :: 90_real" >/dev/null
    push_layout layout:app "$REGISTRY/tei:1.9"
    push_layout layout:cpu "$REGISTRY/tei:cpu-1.9"
    push_layout layout:ada "$REGISTRY/tei:86-1.9" # it is 89
    push_layout layout:hopper "$REGISTRY/tei:hopper-1.9"
    run -5 lint --insecure "$REGISTRY" \
        --repository ghcr.io/huggingface/text-embeddings-inference "$REGISTRY/tei:1.9"
    [[ $output == *"text-embeddings-inference:86-1.9: by the rules of huggingface-tei it is nvidia :: sm_arch :: 86_real, entry 1 (ada)"* ]]
    [[ $output != *"hopper-1.9"* ]]
    # no rule knows this repository; what stands beside the tag says something all the same
    push_layout layout:ada "$REGISTRY/tei:1.9-cu118"
    push_layout layout:hopper "$REGISTRY/tei:1.9-cu129"
    push_layout layout:hopper "$REGISTRY/tei:1.8-cu118"
    run -5 lint --insecure "$REGISTRY" "$REGISTRY/tei:1.9"
    [[ $output == *"tei:1.9-cu118: it says 'cu118'; nvidia :: cuda_version_lower_bound :: 12.9 of entry 1 (ada) is above it [OCV301"* ]]
    [ "$(grep -c OCV301 <<<"$output")" = 1 ]
}

@test "the tags of the set, or all of the repository" {
    local tag
    mkimage layout cpu >/dev/null
    push_layout "$VARIANTS:app" "$REGISTRY/all/app:9.0"
    for tag in 1-cu126 2-cu128 3-cuda12; do push_layout layout:cpu "$REGISTRY/all/app:$tag"; done
    run -0 lint --insecure "$REGISTRY" "$REGISTRY/all/app:9.0"
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
    run -0 lint --insecure "$REGISTRY" --tags "$REGISTRY/all/app:9.0"
    [[ $output == *"all/app:3-cuda12: CUDA is written 'cuda12' here"*"OCV302"* ]]
}

@test "an index that is signed alone" {
    local digest hex
    push_layout "$VARIANTS:app" "$REGISTRY/signed/app:1.0"
    digest=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/signed/app:1.0" | sha256sum)
    hex=${digest%% *}
    mkimage layout signature >/dev/null
    push_layout layout:signature "$REGISTRY/signed/app:sha256-$hex.sig"
    run -0 lint --insecure "$REGISTRY" "$REGISTRY/signed/app:1.0"
    [[ $output == *"OCV605 children-unsigned"* ]]
    [[ $output == *"cosign sign --recursive"* ]]
    # by a list of referrers under its fallback tag
    push_layout "$VARIANTS:app" "$REGISTRY/signed/other:1.0"
    push_layout layout:signature "$REGISTRY/signed/other:note"
    for kind in application/x-note application/vnd.cncf.notary.signature; do
        jq -c --arg kind "$kind" '.manifests |= map(select(.annotations["org.opencontainers.image.ref.name"] == "signature") |
            {mediaType, digest, size, artifactType: $kind}) | .mediaType = "application/vnd.oci.image.index.v1+json"' layout/index.json >list.json
        curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @list.json \
            "http://$REGISTRY/v2/signed/other/manifests/sha256-$hex"
        run -0 lint --insecure "$REGISTRY" "$REGISTRY/signed/other:1.0"
        if [ "$kind" = application/x-note ]; then [[ $output != *OCV605* ]]; else [[ $output == *"OCV605 children-unsigned"* ]]; fi
    done
    for digest in $(index_of_app | jq -r '.manifests[].digest'); do
        curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @list.json \
            "http://$REGISTRY/v2/signed/other/manifests/${digest/:/-}"
    done
    run -0 lint --insecure "$REGISTRY" "$REGISTRY/signed/other:1.0"
    [[ $output == "0 errors, 0 warnings, 0 notes" ]]
}

@test "settings: levels, what is allowed and why, and mistakes in them" {
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"])' >index.json
    mkdir deeper
    printf 'level: {OCV101: error}\n' >.ocivariant-lint.yaml
    run -5 lint index.json
    (cd deeper && run -5 lint ../index.json)
    # of another repository's settings nothing is read
    : >deeper/.git
    (cd deeper && run -0 lint ../index.json)
    printf 'allow:\n  - {rule: OCV101, input: "*.json", reason: made by hand}\n' >.ocivariant-lint.yaml
    run -0 lint --fail-on warning index.json
    [[ $output == *"0 errors, 0 warnings, 0 notes, 1 allowed"* ]]
    printf 'disable: [schema-misssing]\n' >.ocivariant-lint.yaml
    run -2 lint index.json
    [[ $output == *".ocivariant-lint.yaml:1: no rule or group 'schema-misssing'"* ]]
    [[ $output == *"; did you mean 'schema-missing'?"* ]]
    run -2 lint --settings nowhere.yaml index.json
}

@test "the schema of the settings accepts what the program reads, and refuses what it refuses" {
    local wrong
    require_validator
    index_of_app >index.json
    sed -n '/^## Settings/,/^Allowed findings/s/^    //p' "$OCV_TOP/docs/lint.md" >.ocivariant-lint.yaml
    grep -q '^allow:' .ocivariant-lint.yaml
    valid lint-config .ocivariant-lint.yaml
    run -0 lint index.json
    for wrong in 'disable: OCV101' 'disable: [OCV999x]' 'level: {OCV101: fatal}' 'enabel: []' 'allow: [{rule: OCV101}]' \
        'allow: [{reason: x}]' 'allow: [{rule: OCV101, reason: x, until: soon}]' 'allow: [{rule: OCV101, reason: ""}]' '[a]'; do
        echo "$wrong" >.ocivariant-lint.yaml
        echo "$wrong"
        run -2 lint index.json
        cp .ocivariant-lint.yaml wrong.yaml
        run ! valid lint-config wrong.yaml
    done
}

@test "JSON and SARIF are valid by their schemas, with findings, allowances and failures" {
    require_validator
    local sarif=$OCV_TOP/test/data/sarif/sarif-schema-2.1.0.json wrong
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"]) |
        .manifests[0].annotations["dev.ocivariant.properties"] = "x"' >'in dex.json'
    echo '{' >broken.json
    printf 'ghcr.io/huggingface/text-embeddings-inference:turnig-1.9\n' >tags.txt
    printf 'allow:\n  - {rule: OCV101, reason: "made by hand"}\nlevel: {OCV304: warning, OCV106: off}\n' >.ocivariant-lint.yaml
    run -5 --separate-stderr lint --format sarif 'in dex.json' broken.json tags.txt "oci:$VARIANTS:app"
    printf '%s\n' "$output" >out.sarif
    valid "$sarif" out.sarif
    [ "$(jq -r '.["$schema"]' out.sarif)" = "$(jq -r .id "$sarif")" ]
    [ "$(jq -r '.runs[0].invocations[0].executionSuccessful' out.sarif)" = false ]
    [[ $(jq -r '.runs[0].invocations[0].toolExecutionNotifications[0].message.text' out.sarif) == "broken.json: "* ]]
    [ "$(jq -r '.runs[0].results[] | select(.ruleId == "OCV101").suppressions[0].justification' out.sarif)" = "made by hand" ]
    [ "$(jq -r '.runs[0].results[] | select(.ruleId == "OCV304").level' out.sarif)" = warning ]
    [[ $(jq -r '.runs[0].results[] | select(.ruleId == "OCV101").message.text' out.sarif) == *". Hint: --fix adds it" ]]
    [ "$(jq -r '[.runs[0].results[] | .locations[0].physicalLocation.artifactLocation.uri] | unique | join(" ")' out.sarif)" = "in%20dex.json tags.txt" ]
    jq -e '.runs[0] as $run | all($run.results[]; $run.tool.driver.rules[.ruleIndex].id == .ruleId)' out.sarif
    jq -e '[.runs[0].results[].partialFingerprints["ocivariant/v1"]] | length == (unique | length)' out.sarif
    lint --format sarif "oci:$VARIANTS:app" >clean.sarif
    valid "$sarif" clean.sarif
    [ "$(jq -c '.runs[0].results' clean.sarif)" = '[]' ]
    run -5 --separate-stderr lint --format json 'in dex.json' broken.json
    printf '%s\n' "$output" >out.json
    valid lint-report out.json
    # a validator that accepts everything proves nothing
    for wrong in '.runs[0].results[0].level = "fatal"' '.runs[0].colour = 1' 'del(.version)' \
        '.runs[0].results[0].locations[0].physicalLocation.region.startLine = 0' 'del(.runs[0].tool)'; do
        jq "$wrong" out.sarif >bad.sarif
        run -1 valid "$sarif" bad.sarif
        [[ $output == "bad.sarif: "* ]]
    done
}

@test "GitHub's annotations" {
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"])' >'a,b.json'
    run -0 lint --format github 'a,b.json'
    [[ $output == "::warning file=a%2Cb.json,line="*"title=OCV101 schema-missing::"* ]]
    run -0 lint --format json --output report.json 'a,b.json'
    [ -z "$output" ]
    jq -e '.summary.warnings == 1' report.json
}

@test "the documentation is what the rules say, and templates name options that exist" {
    (cd "$OCV_TOP" && "$OCV_BUILD/generate" lint-page schema/lint-rules.yaml) >lint.md
    diff lint.md "$OCV_TOP/docs/lint.md"
    run -0 lint --rules
    [ "$(wc -l <<<"$output")" = "$(grep -c '^  - id: ' "$OCV_TOP/schema/lint-rules.yaml")" ]
    run -0 lint --explain child-missing
    [[ $output == "OCV515 child-missing (error)"* ]]
    run -2 lint --explain OCV999
    lint --help-all >help
    grep -ohE 'variantctl lint [^|]*' "$OCV_TOP"/contrib/ci/*.y*ml | grep -oE -- '--[a-z-]+' | sort -u >used
    grep -q -- --format used
    while read -r option; do
        grep -q -- "$option" help
    done <used
}

@test "a source of index create is checked before there is an index, with its lines" {
    cat >app.yaml <<'YAML'
target: registry.example/app:1.0
variants:
  - {label: null, image: registry.example/app:1.0-cpu}
  - label: cuda12.8
    image: registry.example/app:1.0-cu128
    properties: {nvidia: {cuda_version: 12.8}}
  - {label: rocm7.1, image: registry.example/app:1.0-rocm, properties: ['amd :: gfx_arch :: gfx942']}
  - {label: twin, image: registry.example/app:1.0-twin, properties: ['amd :: gfx_arch :: gfx942']}
YAML
    run -5 lint app.yaml
    [ "${lines[0]}" = "app.yaml:1: warning: 2 accelerators without an order: nvidia, amd [OCV103 namespaces-missing]" ]
    [ "${lines[1]}" = "    hint: add 'namespaces: [nvidia, amd]', most important first" ]
    [ "${lines[2]}" = "app.yaml:8: error: twin: rocm7.1 and twin have equal properties: only the label separates them [OCV119 sets-equal]" ]
    [ "${lines[4]}" = "app.yaml:6: error: cuda12.8: the namespace nvidia has no feature cuda_version [OCV204 feature-unknown]" ]
    [ "${lines[5]}" = "    hint: did you mean nvidia :: cuda_version_lower_bound :: 12.8?" ]
    [ "${lines[6]}" = "2 errors, 1 warning, 0 notes" ]
    cp app.yaml before.yaml
    run -5 lint --fix app.yaml # corrects indexes alone
    cmp app.yaml before.yaml
    cat >good.yaml <<'YAML'
namespaces: [nvidia, amd]
variants:
  - {label: null, image: registry.example/app:1.0-cpu}
  - {label: null, image: registry.example/app:1.0-arm}
  - {label: cuda12.8, image: registry.example/app:1.0-cu128, properties: {nvidia: {cuda_version_lower_bound: 12.8}}}
  - {label: cuda12.8, image: registry.example/app:1.0-arm-cu128, properties: {nvidia: {cuda_version_lower_bound: 12.8}}}
  - {label: rocm7.1, image: registry.example/app:1.0-rocm, properties: ['amd :: gfx_arch :: gfx942']}
YAML
    run -0 lint --fail-on warning good.yaml
    [ "$output" = "0 errors, 0 warnings, 0 notes" ]
    sed -i '/label: null/d' good.yaml
    run -5 lint good.yaml
    [[ ${lines[0]} == "good.yaml:1: error: no build has the label null: "*"[OCV501 default-missing]" ]]
    printf 'variants:\n  - {label: a..b, image: x}\n' >bad.yaml
    run -4 lint bad.yaml
    [[ $output == *"bad.yaml:2: invalid value 'a..b' for label: a label"* ]]
    run -5 lint --format sarif app.yaml
    [ "$(jq -c '[.runs[0].results[].locations[0].physicalLocation | [.artifactLocation.uri, .region.startLine]]' <<<"$output")" = '[["app.yaml",1],["app.yaml",8],["app.yaml",6]]' ]
}

@test "keys that are nearly ours, and architectures by other names" {
    index_of_app | jq '(.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8")).annotations |= (.["dev.ocivariant.lable"] = "x" |
        .["dev.ocivarient.label"] = "y" | .["dev.ocivariant.namespaces"] = "nvidia" | .["org.example.label"] = "z") |
        .annotations["dev.ocivariant.namespace"] = "nvidia" | (.manifests[] | select(.platform.architecture == "arm64")).platform.architecture = "aarch64"' >index.json
    run -5 lint index.json
    [[ $output == *"error: nothing reads the annotation dev.ocivariant.namespace of an index [OCV125 annotation-key-unknown]"$'\n'"    hint: did you mean dev.ocivariant.namespaces?"* ]]
    [[ $output == *"(cuda12.8): nothing reads the annotation dev.ocivariant.lable of an entry"*$'\n'"    hint: did you mean dev.ocivariant.label?"* ]]
    [[ $output == *"nothing reads the annotation dev.ocivarient.label of an entry"* ]]
    [[ $output == *"nothing reads the annotation dev.ocivariant.namespaces of an entry"*$'\n'"    hint: it belongs on the index"* ]]
    [[ $output != *org.example* ]]
    [[ $output == *"(the default): the architecture is called aarch64: did you mean arm64? [OCV523 architecture-name]"$'\n'"    hint: --fix writes arm64"* ]]
    run -5 lint --fix index.json
    [[ $output != *"[OCV523"* ]]
    [ "$(jq -r '[.manifests[].platform.architecture] | unique | join(" ")' index.json)" = "amd64 arm64" ]
    # not a word of building it for aarch64
    push_layout "$VARIANTS:app" "$REGISTRY/arm/app:1.0"
    index_of_app | jq -c '(.manifests[] | select(.platform.architecture == "arm64")).platform.architecture = "aarch64"' | tr -d '\n' >index.json
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @index.json "http://$REGISTRY/v2/arm/app/manifests/1.0"
    run -5 lint --insecure "$REGISTRY" "$REGISTRY/arm/app:1.0"
    [[ $output == *OCV523* && $output != *OCV401* ]]
    run -0 lint --insecure "$REGISTRY" --fix "$REGISTRY/arm/app:1.0"
}

@test "SARIF: help that people can read, with its page" {
    index_of_app | jq 'del(.annotations["dev.ocivariant.schema"])' >index.json
    run -0 lint --format sarif index.json
    printf '%s\n' "$output" >out.sarif
    valid "$OCV_TOP/test/data/sarif/sarif-schema-2.1.0.json" out.sarif
    # no page is named that is not there
    jq -e '.runs[0].tool.driver.rules | all(has("helpUri") | not)' out.sarif
    jq -e '.runs[0].tool.driver.rules | all(.help.text | test("^@|^linux/") | not)' out.sarif
    [ "$(jq -r '.runs[0].tool.driver.rules[] | select(.id == "OCV101").help.text' out.sarif)" = "The index has variants but no dev.ocivariant.schema. The number tells readers which version of the annotations to expect.

'variantctl lint --fix' corrects it.

'variantctl lint --explain OCV101' shows an example." ]
    [[ $(jq -r '.runs[0].results[0].message.text' out.sarif) == *"Hint: --fix adds it" ]]
    # what was installed is, and each rule has its place in it
    local data=$BATS_TEST_TMPDIR/usr/share/ocivariant page anchor n=0
    install_tree "$BATS_TEST_TMPDIR"
    OCV_DATADIR=$data run -0 lint --format sarif index.json
    printf '%s\n' "$output" >out.sarif
    valid "$OCV_TOP/test/data/sarif/sarif-schema-2.1.0.json" out.sarif
    while IFS='#' read -r page anchor; do
        [ "$page" = "file://$data/docs/lint.md" ]
        grep -qi "^### ${anchor/-/ }$" "${page#file://}"
        n=$((n + 1))
    done < <(jq -r '.runs[0].tool.driver.rules[].helpUri' out.sarif)
    [ "$n" = "$(grep -c '^  - id: ' "$OCV_TOP/schema/lint-rules.yaml")" ]
}
