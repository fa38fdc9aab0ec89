#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# vpull takes an image only where what its name stands for is signed by a key that `trust` names.

load ../harness
load ../images
load ../trust

setup_file()
{
    state_start
    require docker-registry skopeo jq curl openssl
    start_registry
    make_variants "$STATE/images"
    make_keys team other
    mkimage "$STATE/images" alone --file etc/build=alone
    export TRUST=$STATE/trust.yaml OCV_DATADIR=$OCV_TOP/plugins
}

# fresh REPO: the index, unsigned, as REPO:1; sets INDEX
fresh()
{
    # each has bytes of its own, since signatures are about digests
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:${1//\//-}" --namespaces 'nvidia, amd, x86_64' \
        "null=oci:$STATE/images:cpu" "cuda12.8=oci:$STATE/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8" \
        --annotation "org.opencontainers.image.title=$1" >/dev/null
    "$VARIANTCTL" index copy --quiet --insecure "$REGISTRY" "oci:$STATE/images:${1//\//-}" "$REGISTRY/$1:1" >/dev/null
    INDEX=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/$1:1" | sha256sum)
    INDEX=sha256:${INDEX%% *}
}

pull()
{
    "$VPULL" --config "$TRUST" --profile "$PROFILES/h100.json" --to "oci:$BATS_TEST_TMPDIR/out:1" "$@"
}

@test "an index that is not signed is refused, and nothing is written" {
    fresh unsigned
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    run -4 --separate-stderr pull "$REGISTRY/unsigned:1"
    [ -z "$output" ]
    [[ $stderr == *"$REGISTRY/unsigned@$INDEX is not signed"* ]]
    [[ $stderr == *"$TRUST:3 asks for a signature by $STATE/keys/team.pub"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/out" ]
    run -4 "$VPULL" --config "$TRUST" --profile "$PROFILES/h100.json" --print-ref "$REGISTRY/unsigned:1"
    run -4 "$VPULL" --config "$TRUST" --profile "$PROFILES/h100.json" --dry-run "$REGISTRY/unsigned:1"
    # a rule for other names says nothing of it, and one without `require` only tells
    trust_config '' "$REGISTRY/team/**" "{keys: [$STATE/keys/team.pub]}"
    run -0 pull "$REGISTRY/unsigned:1"
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub], require: false}"
    run -0 --separate-stderr pull "$REGISTRY/unsigned:1"
    [[ $stderr == *"warning: $REGISTRY/unsigned@$INDEX is not signed"* ]]
}

@test "a bundle, and a payload under its tag, by a key that is named" {
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/other.pub, $STATE/keys/team.pub]}"
    fresh bundle
    sign_bundle team bundle "$INDEX"
    run -0 --separate-stderr pull "$REGISTRY/bundle:1"
    [[ $stderr == *"signed by the key $(key_of team)"* ]]
    run -0 pull --progress json "$REGISTRY/bundle:1"
    [ "$(jq -rs '.[] | select(.event == "decision").signature.key' <<<"$output")" = "$(key_of team)" ]
    fresh payload
    sign_payload team payload "$INDEX"
    run -0 --separate-stderr pull "$REGISTRY/payload:1"
    [[ $stderr == *"signed by the key $(key_of team)"* ]]
    # several: one that is good is enough
    fresh several
    sign_bundle other several "$INDEX"
    sign_bundle team several "$INDEX"
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    run -0 pull "$REGISTRY/several:1"
    # by tag and by digest
    run -0 pull "$REGISTRY/several@$INDEX"
}

@test "another key, another digest, another image's signature, a changed one" {
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    fresh foreign
    sign_bundle other foreign "$INDEX"
    run -4 pull "$REGISTRY/foreign:1"
    [[ $output == *"none of 1 signature is good: no key given here made it"* ]]
    sign_payload other foreign "$INDEX"
    run -4 pull "$REGISTRY/foreign:1"
    [[ $output == *"none of 2 signatures is good"* ]]
    # a good bundle of another index
    fresh first
    first=$INDEX
    fresh second
    make_bundle team "$first" >"$BATS_TEST_TMPDIR/bundle"
    attach_bundle second "$INDEX" "$BATS_TEST_TMPDIR/bundle"
    run -4 pull "$REGISTRY/second:1"
    [[ $output == *"it is for another digest"* ]]
    # its statement is another one
    fresh third
    make_bundle team "$INDEX" | jq -c '.dsseEnvelope.payload = (.dsseEnvelope.payload | @base64d | sub("v1"; "v2") | @base64)' >"$BATS_TEST_TMPDIR/bundle"
    attach_bundle third "$INDEX" "$BATS_TEST_TMPDIR/bundle"
    run -4 pull "$REGISTRY/third:1"
    [[ $output == *"no key given here made it"* ]]
    # keyless
    make_bundle team "$INDEX" | jq -c '.verificationMaterial = {certificate: {rawBytes: ""}}' >"$BATS_TEST_TMPDIR/bundle"
    fresh fourth
    attach_bundle fourth "$INDEX" "$BATS_TEST_TMPDIR/bundle"
    run -4 pull "$REGISTRY/fourth:1"
    [[ $output == *"(keyless)"* ]]
    # a signed index to which somebody added a build
    fresh fifth
    sign_bundle team fifth "$INDEX"
    run -0 pull "$REGISTRY/fifth:1"
    "$VARIANTCTL" index add --insecure "$REGISTRY" --quiet "$REGISTRY/fifth:1" "rocm7.1=oci:$STATE/images:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    run -4 pull "$REGISTRY/fifth:1"
    [[ $output == *"is not signed"* ]]
}

@test "repository: match wants the payload to name this one" {
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub], repository: match}"
    fresh named
    sign_payload team named "$INDEX"
    run -0 pull "$REGISTRY/named:1"
    fresh moved
    sign_payload team moved "$INDEX" "$REGISTRY/named"
    run -4 pull "$REGISTRY/moved:1"
    [[ $output == *"it is for the repository $REGISTRY/named"* ]]
    fresh nameless
    sign_bundle team nameless "$INDEX"
    run -4 pull "$REGISTRY/nameless:1"
    [[ $output == *"it names no repository, as bundles do, and one is required"* ]]
}

@test "the rules of a mirror's own name and of what it mirrors hold, both" {
    mirror="registries: {$REGISTRY: {mirror_of: docker.io}}"
    fresh mirrored/app
    sign_payload team mirrored/app "$INDEX" index.docker.io/mirrored/app
    trust_config "$mirror" "docker.io/mirrored/**" "{keys: [$STATE/keys/team.pub], repository: match}"
    run -0 pull "$REGISTRY/mirrored/app:1"
    trust_config "$mirror" "docker.io/mirrored/**" "{keys: [$STATE/keys/other.pub]}"
    run -4 pull "$REGISTRY/mirrored/app:1"
    trust_config "$mirror" "docker.io/mirrored/**" "{keys: [$STATE/keys/team.pub]}" "$REGISTRY/**" "{keys: [$STATE/keys/other.pub]}"
    run -4 pull "$REGISTRY/mirrored/app:1"
    trust_config "$mirror" "docker.io/mirrored/**" "{keys: [$STATE/keys/team.pub]}" "$REGISTRY/**" "{require: false}"
    run -0 pull "$REGISTRY/mirrored/app:1"
    # of two rules for a name the more specific one counts
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/other.pub]}" "$REGISTRY/mirrored/**" "{keys: [$STATE/keys/team.pub]}"
    run -0 pull "$REGISTRY/mirrored/app:1"
}

@test "a single image, and a choice by tag rules: what was chosen is signed" {
    trust_config 'tag_rules: on' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    push_layout "$STATE/images:alone" "$REGISTRY/alone:1"
    run -4 pull "$REGISTRY/alone:1"
    digest=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/alone:1")
    sign_bundle team alone "$digest"
    run -0 pull "$REGISTRY/alone:1"
    # pytorch's rules choose among these two
    mirror="registries: {$REGISTRY: {mirror_of: docker.io}}"
    trust_config "$mirror" "docker.io/pytorch/*" "{keys: [$STATE/keys/team.pub]}"
    push_layout "$STATE/images:cuda" "$REGISTRY/pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime"
    push_layout "$STATE/images:rocm" "$REGISTRY/pytorch/pytorch:2.9.1-cuda12.6-cudnn9-runtime"
    run -4 pull "$REGISTRY/pytorch/pytorch:2.9.1-runtime"
    [[ $output == *"pytorch/pytorch@sha256:"*" is not signed"* ]]
    digest=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/pytorch/pytorch:2.9.1-cuda12.6-cudnn9-runtime")
    sign_bundle team pytorch/pytorch "$digest"
    # on record is that one tag, and nothing else that was there to choose from
    export OCV_STATE_DIR=$BATS_TEST_TMPDIR/state
    run -0 pull "$REGISTRY/pytorch/pytorch:2.9.1-runtime"
    run -0 jq -c '[.digest, (.members | unique)]' "$OCV_STATE_DIR"/resolved/trusted/*.json
    [ "$output" = "[\"$digest\",[\"$digest\"]]" ]
}

@test "the next best of a sparse mirror is another tag, which needs a signature of its own" {
    local registry="{url: \"http://127.0.0.1:1\", mirror_of: ghcr.io, sparse: next}" cuda plain
    push_layout "$STATE/images:cuda" "$REGISTRY/ggml-org/llama.cpp:server-cuda"
    push_layout "$STATE/images:cpu" "$REGISTRY/ggml-org/llama.cpp:server"
    cuda=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/ggml-org/llama.cpp:server-cuda")
    plain=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/ggml-org/llama.cpp:server")
    sign_payload team ggml-org/llama.cpp "$cuda"
    # a registry that shows its best build once, to who reads the tags, and then no more
    for tag in server server-cuda "${cuda/:/-}.sig"; do
        skopeo copy --quiet --preserve-digests --src-tls-verify=false "docker://$REGISTRY/ggml-org/llama.cpp:$tag" "oci:$BATS_TEST_TMPDIR/half:$tag"
    done
    start_rules half "$BATS_TEST_TMPDIR/half" <<<"[{\"path\": \"/tags/list\", \"body\": {\"tags\": [\"server\", \"server-cuda\"]}},
        {\"path\": \"/manifests/$cuda\", \"times\": 1, \"layout\": true}, {\"path\": \"/manifests/$cuda\", \"status\": 404},
        {\"path\": \"/referrers/\", \"status\": 404}, {\"path\": \"\", \"layout\": true}]"
    registry=${registry/127.0.0.1:1/$RULES}
    trust_config "registries: {\"$RULES\": $registry}" "$RULES/**" "{keys: [$STATE/keys/other.pub]}"
    run -4 pull "$RULES/ggml-org/llama.cpp:server"
    trust_config "registries: {\"$RULES\": $registry}" "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
    run -4 --separate-stderr pull "$RULES/ggml-org/llama.cpp:server"
    [[ $stderr == *"$plain is not signed"* ]]
    run -4 "$VPULL" --config "$TRUST" --profile "$PROFILES/h100.json" --print-ref "$RULES/ggml-org/llama.cpp:server"
    # without a rule the next best is taken
    trust_config "registries: {\"$RULES\": $registry}" "other.example/**" "{keys: [$STATE/keys/team.pub]}"
    run -0 --separate-stderr pull "$RULES/ggml-org/llama.cpp:server"
    [[ $stderr == *"is not mirrored here"* && $output == *"$plain"* ]]
}

@test "rules and keys that cannot be meant" {
    fresh bad
    trust_config '' "$REGISTRY/**" "{require: true}"
    run -2 pull "$REGISTRY/bad:1"
    [[ $output == *"trust.yaml:3: $REGISTRY/**: keys are missing"* ]]
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/absent.pub]}"
    run -2 pull "$REGISTRY/bad:1"
    [[ $output == *"trust.yaml:3: $REGISTRY/**: $STATE/keys/absent.pub: No such file or directory"* ]]
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys]}"
    run -2 pull "$REGISTRY/bad:1"
    [[ $output == *"is a directory"* ]]
    trust_config '' "$REGISTRY/**" "{keys: [keys/team.pub]}"
    run -2 pull "$REGISTRY/bad:1"
    [[ $output == *"the absolute path of a file"* ]]
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub], repository: maybe}"
    run -2 pull "$REGISTRY/bad:1"
    chmod 666 "$STATE/keys/other.pub"
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/other.pub]}"
    run -2 pull "$REGISTRY/bad:1"
    [[ $output == *"can be written by others"* ]]
    chmod 644 "$STATE/keys/other.pub"
}

# crowd N ARTIFACT-TYPE: a registry whose referrers are N of that type, and whose other documents are those of `crowded`
crowd()
{
    jq -nc --argjson n "$1" --arg t "$2" '[{path: "/referrers/", status: 200, headers: {"Content-Type": "application/vnd.oci.image.index.v1+json"}, body:
        {schemaVersion: 2, manifests: [range($n) | {mediaType: "application/vnd.oci.image.manifest.v1+json", size: 100, artifactType: $t,
         digest: ("sha256:" + ("000000000000000000000000000000000000000000000000000000000000000" + tostring)[-64:])}]}}, {layout: true}]' >"$BATS_TEST_TMPDIR/rules"
    start_rules "crowd$1" "$BATS_TEST_TMPDIR/crowded" <"$BATS_TEST_TMPDIR/rules"
}

@test "ten thousand referrers bury no good signature, nor do they let a bad one pass" {
    fresh crowded
    "$VARIANTCTL" index copy --insecure "$REGISTRY" --quiet "$REGISTRY/crowded:1" "oci:$BATS_TEST_TMPDIR/crowded:1" >/dev/null
    sign_payload other crowded "$INDEX"
    skopeo copy --quiet --src-tls-verify=false "docker://$REGISTRY/crowded:${INDEX/:/-}.sig" "oci:$BATS_TEST_TMPDIR/crowded:${INDEX/:/-}.sig"
    crowd 10000 "$BUNDLE_TYPE"
    trust_config '' "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
    run -4 pull "$RULES/crowded:1"
    [[ $output == *"none of 2 signatures is good"* ]]
    [ "$(wc -l <"$RULES_LOG")" -lt 20 ]
    trust_config '' "$RULES/**" "{keys: [$STATE/keys/other.pub]}"
    run -0 pull "$RULES/crowded:1"
    # of a thousand that claim to be bundles no more than 128 documents are asked for
    crowd 1000 "$BUNDLE_TYPE"
    trust_config '' "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
    run -4 pull "$RULES/crowded:1"
    [[ $output == *"there are more, which were not looked at"* ]]
    [ "$(grep -c 'manifests/sha256:0000' "$RULES_LOG")" -le 256 ]
    trust_config '' "$RULES/**" "{keys: [$STATE/keys/other.pub]}"
    run -0 pull "$RULES/crowded:1"
}

@test "registries without referrers, however they say it: the signature under its tag is found" {
    fresh refusing
    "$VARIANTCTL" index copy --insecure "$REGISTRY" --quiet "$REGISTRY/refusing:1" "oci:$BATS_TEST_TMPDIR/refusing:1" >/dev/null
    sign_payload team refusing "$INDEX"
    skopeo copy --quiet --src-tls-verify=false "docker://$REGISTRY/refusing:${INDEX/:/-}.sig" "oci:$BATS_TEST_TMPDIR/refusing:${INDEX/:/-}.sig"
    for status in 400 401 403 404 405 406 501; do
        start_rules "refusing$status" "$BATS_TEST_TMPDIR/refusing" <<<"[{\"path\": \"/referrers/\", \"status\": $status}, {\"layout\": true}]"
        trust_config '' "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
        run -0 pull "$RULES/refusing:1"
        trust_config '' "$RULES/**" "{keys: [$STATE/keys/other.pub]}"
        run ! pull "$RULES/refusing:1"
        stop_daemon "refusing$status"
    done
}

@test "a registry with the referrers API has the bundles there, over its pages" {
    start_daemon full "$OCV_BUILD/test/tools/fullregistry" --page 2
    await full grep -q . "$STATE/log/full"
    REGISTRY=127.0.0.1:$(head -n 1 "$STATE/log/full")
    fresh full
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    for key in other other other team; do
        run -4 pull "$REGISTRY/full:1"
        make_bundle "$key" "$INDEX" | jq -c --arg n "$((n += 1))" '.verificationMaterial.publicKey.hint = $n' >"$BATS_TEST_TMPDIR/bundle"
        attach_bundle full "$INDEX" "$BATS_TEST_TMPDIR/bundle"
    done
    [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$REGISTRY/v2/full/manifests/${INDEX/:/-}")" = 404 ]
    run -0 pull "$REGISTRY/full:1"
    stop_daemon full
}

@test "what keys do not stop: an older index that was signed, under a tag that was moved back" {
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    fresh rollback
    sign_bundle team rollback "$INDEX"
    old=$INDEX
    "$VARIANTCTL" index add --quiet --insecure "$REGISTRY" "$REGISTRY/rollback:1" "rocm7.1=oci:$STATE/images:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    run -4 pull "$REGISTRY/rollback:1"
    curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/rollback/manifests/$old" >"$BATS_TEST_TMPDIR/old"
    put_manifest rollback 1 application/vnd.oci.image.index.v1+json "$BATS_TEST_TMPDIR/old"
    run -0 pull "$REGISTRY/rollback:1"
}

@test "a registry that shows a signature to one client and not to another: the other one refuses" {
    fresh shown
    "$VARIANTCTL" index copy --insecure "$REGISTRY" --quiet "$REGISTRY/shown:1" "oci:$BATS_TEST_TMPDIR/shown:1" >/dev/null
    sign_payload team shown "$INDEX"
    skopeo copy --quiet --src-tls-verify=false "docker://$REGISTRY/shown:${INDEX/:/-}.sig" "oci:$BATS_TEST_TMPDIR/shown:${INDEX/:/-}.sig"
    start_rules shown "$BATS_TEST_TMPDIR/shown" <<<'[{"path": "/v2/$", "auth": "^$", "status": 401, "headers": {"WWW-Authenticate": "Basic realm=x"}},
        {"path": "[.]sig$", "auth": "^$", "status": 404}, {"layout": true}]'
    trust_config '' "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
    run -4 pull "$RULES/shown:1"
    printf '{"auths": {"%s": {"auth": "%s"}}}' "$RULES" "$(printf user:secret | base64)" >"$BATS_TEST_TMPDIR/auth.json"
    run -0 pull --authfile "$BATS_TEST_TMPDIR/auth.json" "$RULES/shown:1"
    run -4 pull "$RULES/shown:1"
    stop_daemon shown
}

@test "a lock has the signature, and --locked asks for the same again" {
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    fresh locked
    lock() { "$VARIANTCTL" lock --config "$TRUST" --insecure "$REGISTRY" --profile h100="$PROFILES/h100.json" -o "$BATS_TEST_TMPDIR/lock" "$REGISTRY/locked:1"; }
    run -4 lock
    [[ $output == *"is not signed"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/lock" ]
    sign_bundle team locked "$INDEX"
    run -0 lock
    [ "$(jq -r '.images[0].profiles.h100.signature | "\(.subject) \(.key)"' "$BATS_TEST_TMPDIR/lock")" = "$INDEX $(key_of team)" ]
    run -0 pull --locked "$BATS_TEST_TMPDIR/lock"
    export OCV_STATE_DIR=$BATS_TEST_TMPDIR/state
    run -0 pull --locked "$BATS_TEST_TMPDIR/lock" --lock-profile h100
    # and it is on record, with all that the signed index names
    run -0 "$VARIANTCTL" verify --config "$TRUST" --trust --profile "$PROFILES/h100.json" --from "oci:$BATS_TEST_TMPDIR/out"
    run -0 pull "$REGISTRY/locked:1"
    # shellcheck disable=SC2016
    run -0 jq -e --arg i "$INDEX" '.digest == $i and (.members | unique | length) == 2' "$OCV_STATE_DIR"/resolved/trusted/*.json
    # where the payload has to name the repository, the record has to say that it does
    judged() { "$VARIANTCTL" verify --config "$TRUST" --trust --profile "$PROFILES/h100.json" --from "oci:$BATS_TEST_TMPDIR/out"; }
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub], repository: match}"
    run -5 judged
    [[ $output == *"unsigned  oci:"*"$TRUST:3 asks for a signature"* ]]
    fresh matched
    sign_payload team matched "$INDEX"
    rm -rf "$BATS_TEST_TMPDIR/out"
    run -0 pull "$REGISTRY/matched:1"
    run -0 judged
    # of two documents that name it, one by another key, either does
    record=$(grep -l "$INDEX" "$OCV_STATE_DIR"/resolved/trusted/*.json)
    for name in 0 f; do
        hex=$(printf "$name%.0s" {1..64})
        jq -c --arg d "sha256:$hex" --arg k "$(key_of other)" '.digest = $d | .key = $k' "$record" >"${record/${INDEX#sha256:}/$hex}"
    done
    [ "$(cat "$OCV_STATE_DIR"/resolved/trusted/*.json | grep -c '"repository": ".*/matched"\|"repository":".*/matched"')" = 3 ]
    run -0 judged
    fresh locked
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    # by a key that this machine does not have
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/other.pub]}"
    run -4 pull --locked "$BATS_TEST_TMPDIR/lock"
    trust_config '' "other.example/**" "{keys: [$STATE/keys/team.pub]}"
    run -4 pull --locked "$BATS_TEST_TMPDIR/lock"
    [[ $output == *"is locked with a signature by the key $(key_of team)"*"name its file in \`trust\`"* ]]
    # another signature by the same key is not the one that was locked
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    jq '.images[0].profiles.h100.signature.digest = .images[0].profiles.h100.signature.subject' "$BATS_TEST_TMPDIR/lock" >"$BATS_TEST_TMPDIR/forged"
    run -4 pull --locked "$BATS_TEST_TMPDIR/forged"
    [[ $output == *"the signature $INDEX is not there"* ]]
    # a build that the signed index does not name
    jq --arg d "$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/alone:1" 2>/dev/null || echo "$INDEX")" \
        '.images[0].profiles.h100.digest = $d' "$BATS_TEST_TMPDIR/lock" >"$BATS_TEST_TMPDIR/forged"
    run ! pull --locked "$BATS_TEST_TMPDIR/forged" --lock-profile h100
    # nor does one signature do for another index of the repository
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:evil" "null=oci:$STATE/images:rocm" >/dev/null
    "$VARIANTCTL" index copy --quiet --insecure "$REGISTRY" "oci:$STATE/images:evil" "$REGISTRY/locked:evil" >/dev/null
    run -0 "$VARIANTCTL" lock --insecure "$REGISTRY" --profile h100="$PROFILES/h100.json" -o "$BATS_TEST_TMPDIR/evil" "$REGISTRY/locked:evil"
    jq -s '.[0].images[0].profiles.h100.signature = .[1].images[0].profiles.h100.signature | .[0]' \
        "$BATS_TEST_TMPDIR/evil" "$BATS_TEST_TMPDIR/lock" >"$BATS_TEST_TMPDIR/forged"
    run -0 jq -e '.images[0].profiles.h100.signature.subject' "$BATS_TEST_TMPDIR/forged"
    run -4 pull --locked "$BATS_TEST_TMPDIR/forged"
    [[ $output == *"is not in $INDEX, which is signed"* ]]
    run -4 pull --locked "$BATS_TEST_TMPDIR/forged" --lock-profile h100
}

@test "what cosign 3 signs, in both of its forms, and what it verifies is what we do" {
    [ -n "${OCV_COSIGN:-}" ] || skip "no cosign: OCV_COSIGN names no program"
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/cosign.pub]}"
    (cd "$STATE/keys" && COSIGN_PASSWORD='' "$OCV_COSIGN" generate-key-pair --output-key-prefix cosign)
    chmod go-w "$STATE/keys/cosign.pub"
    fresh cosign/bundle
    run -4 pull "$REGISTRY/cosign/bundle:1"
    cosign_sign cosign "$REGISTRY/cosign/bundle@$INDEX" --use-signing-config=false --tlog-upload=false --new-bundle-format=true
    run -0 pull "$REGISTRY/cosign/bundle:1"
    run -0 "$OCV_COSIGN" verify --key "$STATE/keys/cosign.pub" --insecure-ignore-tlog=true --allow-http-registry "$REGISTRY/cosign/bundle@$INDEX"
    fresh cosign/payload
    cosign_sign cosign "$REGISTRY/cosign/payload@$INDEX" --use-signing-config=false --tlog-upload=false --new-bundle-format=false
    run -0 pull "$REGISTRY/cosign/payload:1"
    trust_config '' "$REGISTRY/**" "{keys: [$STATE/keys/cosign.pub], repository: match}"
    run -0 pull "$REGISTRY/cosign/payload:1"
    run -4 pull "$REGISTRY/cosign/bundle:1"
    # and cosign takes ours
    fresh cosign/ours
    sign_payload team cosign/ours "$INDEX"
    run -0 "$OCV_COSIGN" verify --key "$STATE/keys/team.pub" --insecure-ignore-tlog=true --new-bundle-format=false --allow-http-registry "$REGISTRY/cosign/ours@$INDEX"
}
