#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Tag rules: what tags say, the sets they form, and images chosen by their tags. The registries of
# the real names are pointed to one on this machine, which holds small images under those tags.

load ../harness
load ../variantd
load ../tags
load ../schema

setup_file()
{
    local tag
    state_start
    require docker-registry skopeo jq
    start_named_registries
    # one image for each tag, so that digests tell them apart
    TEI=huggingface/text-embeddings-inference VLLM=vllm/vllm-openai
    for tag in 1.9 86-1.9 89-1.9 hopper-1.9 turing-1.9 cpu-1.9 cpu-arm64-1.9 120-1.9 cuda-1.9 \
        86-1.9-grpc 1.9-grpc xpu-ipex-1.9 86-1.8 sha-0123abc; do
        put "$TEI:$tag"
    done
    for tag in v0.14.1 v0.14.1-cu130 v0.13.0-cu130 gemma4 v0.19.0 latest; do
        put "$VLLM:$tag"
    done
    put ascend/vllm-ascend:v0.17.0rc1
    put ascend/vllm-ascend:v0.17.0rc1-a3
    # a group that is not a tag itself, with images for two platforms in one of its tags
    mkimage "$STATE/layout" ray-amd64 --label build=ray-cpu
    mkimage "$STATE/layout" ray-arm64 --arch arm64 --label build=ray-arm
    skopeo_index ray rayproject/ray:2.49.2-py311-cpu
    put rayproject/ray:2.49.2-py311-cu128
    put rayproject/ray:2.49.2-py310-cu128
    # a group whose name does not mention CUDA, and two tags with the same meaning
    for tag in 2.9.1-cuda12.6-cudnn9-runtime 2.9.1-cuda12.8-cudnn9-runtime 2.9.1-cuda13.0-cudnn9-runtime latest; do
        put "pytorch/pytorch:$tag"
    done
    for tag in server server-cuda server-cuda12 server-cuda13; do
        put "ggml-org/llama.cpp:$tag"
    done
    # an index that already has variants
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:own" "null=oci:$STATE/layout:ray-amd64" \
        "gaudi=oci:$STATE/layout:ray-amd64,habana :: arch :: gaudi3" 3>&-
    push_layout "$STATE/layout:own" "$REGISTRY/$VLLM:v0.16.0"
    put "$VLLM:v0.16.0-cu130"
    profile t4 '"75_real","75_virtual"' 13 0
    profile a10 '"86_real","80_real","86_virtual"' 13 0
    profile h100 '"90a_real","90_real","90_virtual"' 13 0
    profile old '"90_real"' 12 4
    profile mid '"90_real"' 12 9
    profile driver570 '"90_real"' 12 8
    profile b200 '"100_real"' 12 8
    profile eleven '"90_real"' 11 8
    echo '{"schema": "dev.ocivariant.profile/v1", "platform": {"os": "linux", "architecture": "amd64"},
        "namespaces": []}' >"$STATE/cpu.json"
    jq '.platform.architecture = "arm64"' "$STATE/cpu.json" >"$STATE/arm.json"
    profile node '"90_real"' 12 9
    for tag in on off; do
        OCV_DATADIR=$DATA start_variantd "rules-$tag" --registry "docker.io=http://$REGISTRY" \
            --registry "ghcr.io=http://$REGISTRY" --profile "$STATE/node.json" --tag-rules "$tag"
        printf -v "RULES_${tag^^}" %s "$VARIANTD"
        printf -v "SOCKET_${tag^^}" %s "$VARIANTD_SOCKET"
    done
    export RULES_ON RULES_OFF SOCKET_ON
    export REGISTRY DATA CONFIG TEI VLLM OCV_STATE_DIR=$STATE/node
}

setup()
{
    export OCV_DATADIR=$DATA
}

# put REPOSITORY:TAG: an image with that name in its label
put()
{
    mkimage "$STATE/layout" one --label "build=$1" --file "etc/build=$1" ${2:+--arch "$2"}
    skopeo --insecure-policy copy --quiet --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:one" "docker://$REGISTRY/$1" 3>&-
}

# skopeo_index NAME REPOSITORY:TAG: an ordinary index of the two images NAME-amd64 and NAME-arm64
skopeo_index()
{
    local dir=$STATE/index-$1 arch digest size entries=
    cp -r "$STATE/layout" "$dir"
    for arch in amd64 arm64; do
        digest=$(jq -r --arg t "$1-$arch" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $t) | .digest' "$dir/index.json")
        size=$(stat -c %s "$dir/blobs/${digest/://}")
        entries+=${entries:+,}$(printf '{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"%s","size":%s,"platform":{"os":"linux","architecture":"%s"}}' "$digest" "$size" "$arch")
    done
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$entries" >"$dir/index"
    digest=$(sha256sum "$dir/index" | cut -d' ' -f1)
    size=$(stat -c %s "$dir/index")
    mv "$dir/index" "$dir/blobs/sha256/$digest"
    printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:%s","size":%s,"annotations":{"org.opencontainers.image.ref.name":"i"}}]}' "$digest" "$size" >"$dir/index.json"
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$dir:i" "docker://$REGISTRY/$2" 3>&-
}

# chooses PROFILE IMAGE TAG: of the same repository
chooses()
{
    local repository=${2%:*}
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/$1.json" "$2"
    echo "$output, wanted the digest of $3; $stderr"
    [ "$output" = "$repository@$(digest_of "${repository#*.io/}:$3")" ]
    [[ $stderr == *"tag $3 by the tag rules of "* ]]
}

@test "text-embeddings-inference: by the GPU" {
    chooses a10 "ghcr.io/$TEI:1.9" 86-1.9
    chooses h100 "ghcr.io/$TEI:1.9" hopper-1.9
    chooses t4 "ghcr.io/$TEI:1.9" turing-1.9
    chooses cpu "ghcr.io/$TEI:1.9" cpu-1.9
    chooses a10 "ghcr.io/$TEI:1.9-grpc" 86-1.9-grpc
}

@test "vLLM: the CUDA build that the driver runs" {
    chooses h100 "docker.io/$VLLM:v0.14.1" v0.14.1-cu130
    chooses mid "docker.io/$VLLM:v0.14.1" v0.14.1
    chooses old "docker.io/$VLLM:v0.14.1" v0.14.1
    # across major versions nothing is promised
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/eleven.json" "$VLLM:v0.14.1"
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$STATE/cpu.json" "$VLLM:v0.14.1"
    [[ $stderr == *"v0.14.1_cu130: "*"cuda_version_lower_bound"* ]]
    [[ $stderr == *"hint: every build needs nvidia; --tag-rules off pulls v0.14.1 as docker would, --label v0.14.1"*" --unchecked that build" ]]
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --label v0.14.1 --unchecked --profile "$STATE/cpu.json" "$VLLM:v0.14.1"
    [[ $stderr == *"(not checked)"* && $stderr != *"matched priority"* ]]
    run -2 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --cpu --profile "$STATE/cpu.json" "$VLLM:v0.14.1"
    [[ $stderr == *"vpull: $VLLM:v0.14.1: it has no build that runs everywhere: it has "*v0.14.1* ]]
}

@test "an older driver of the same major version runs what is newer, and it is said" {
    local note="runs by CUDA minor-version compatibility: built with 12.9, this driver has 12.8; driver 575 or newer runs it natively"
    chooses driver570 "docker.io/$VLLM:v0.14.1" v0.14.1
    chooses old docker.io/pytorch/pytorch:2.9.1 2.9.1-cuda12.6-cudnn9-runtime
    chooses b200 docker.io/pytorch/pytorch:2.9.1 2.9.1-cuda12.8-cudnn9-runtime
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$STATE/driver570.json" "$VLLM:v0.14.1"
    [ "$output" = "$(digest_of "$VLLM:v0.14.1")" ]
    [[ $stderr == *"$note"* ]]
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --progress json --profile "$STATE/driver570.json" "$VLLM:v0.14.1"
    [ "$(jq -r 'select(.event == "decision") | .note' <<<"$output")" = "$note" ]
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$STATE/mid.json" "$VLLM:v0.14.1"
    [[ $stderr != *"minor-version"* ]]
    run -0 --separate-stderr "$VARIANTCTL" explain --config "$CONFIG" --profile "$STATE/driver570.json" "$VLLM:v0.14.1"
    [[ $output == *"note: $note"* ]]
    run -0 --separate-stderr "$VARIANTCTL" resolve --config "$CONFIG" --profile "$STATE/driver570.json" "$VLLM:v0.14.1"
    [ "$(jq -r .selected.note <<<"$output")" = "$note" ]
    require_validator
    printf '%s' "$output" >"$BATS_TEST_TMPDIR/decision.json"
    valid decision "$BATS_TEST_TMPDIR/decision.json"
    OCV_DATADIR=$DATA start_variantd rules-570 --registry "docker.io=http://$REGISTRY" \
        --profile "$STATE/driver570.json" --tag-rules on
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.14.1?ns=docker.io"
    [ "$(header docker-content-digest)" = "$(digest_of "$VLLM:v0.14.1")" ]
    grep -F "docker.io/$VLLM:v0.14.1 (v0.14.1) $note" "$STATE/log/rules-570"
}

@test "claim and match: no image of another architecture, whose tag names none" {
    local node
    for node in h100 t4; do
        jq -c --arg name "$node" '{name: $name, profile: (.platform.architecture = "arm64")}' "$STATE/$node.json"
    done >"$STATE/arm.jsonl"
    run -0 --separate-stderr "$VARIANTCTL" claim --config "$CONFIG" --format json "ghcr.io/$TEI:1.9"
    [ "$(jq -c '[.items[] | select(.kind == "PodTemplate") | [.. | .matchExpressions? // empty | .[].values]]' <<<"$output")" = \
        '[[["amd64"]],[["amd64","arm64"]]]' ]
    run -0 --separate-stderr "$VARIANTCTL" claim --config "$CONFIG" --format json --replicas 2 --profiles "$STATE/arm.jsonl" "ghcr.io/$TEI:1.9"
    [ "$(jq -c '[.items[].kind]' <<<"$output")" = '["PodTemplate"]' ]
    local pinned
    pinned=$(jq -r '.items[0].template.spec.containers[0].image' <<<"$output")
    run -0 --separate-stderr "$VARIANTCTL" match --config "$CONFIG" --print-ref --replicas 2 --profiles "$STATE/arm.jsonl" "ghcr.io/$TEI:1.9"
    [ "$output" = "$pinned" ]
    run -0 --separate-stderr "$VARIANTCTL" claim --config "$CONFIG" --for slurm --features "nvidia::sm_arch::90_real,nvidia::cuda_version_lower_bound::12.8,aarch64::version::8a" "ghcr.io/$TEI:1.9"
    [ "$output" = --constraint=nvidia::sm_arch::90_real ] # of the only kind of nodes
}

@test "the group need not be a tag itself; an index gives its platforms" {
    local arm
    chooses h100 docker.io/rayproject/ray:2.49.2-py311 2.49.2-py311-cu128
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/arm.json" rayproject/ray:2.49.2-py3.11
    arm=$(skopeo --insecure-policy inspect --raw --tls-verify=false "docker://$REGISTRY/rayproject/ray:2.49.2-py311-cpu" |
        jq -r '.manifests[1].digest')
    [ "$output" = "docker.io/rayproject/ray@$arm" ]
    # the newest python where the name leaves it open
    chooses h100 docker.io/rayproject/ray:2.49.2 2.49.2-py311-cu128
}

@test "a name that leaves the CUDA version open stands for the tags that say it" {
    chooses h100 docker.io/pytorch/pytorch:2.9.1 2.9.1-cuda13.0-cudnn9-runtime
    chooses mid docker.io/pytorch/pytorch:2.9.1-runtime 2.9.1-cuda12.8-cudnn9-runtime
    # but a tag of that name is what was asked for
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" pytorch/pytorch:latest
    [ "$output" = "docker.io/pytorch/pytorch@$(digest_of pytorch/pytorch:latest)" ]
    VARIANTD=$RULES_ON
    ask HEAD "/resolver/v2/pytorch/pytorch/manifests/2.9.1?ns=docker.io"
    [ "$(header docker-content-digest)" = "$(digest_of pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime)" ]
    ask HEAD "/resolver/v2/pytorch/pytorch/manifests/latest?ns=docker.io"
    [ "$code" = 404 ]
}

@test "llama.cpp: cuda and cuda12 map to one build" {
    chooses h100 ghcr.io/ggml-org/llama.cpp:server server-cuda
    chooses cpu ghcr.io/ggml-org/llama.cpp:server server
    run -0 --separate-stderr "$VARIANTCTL" tags plan --config "$CONFIG" --format text ghcr.io/ggml-org/llama.cpp
    [[ $output == *"server-cuda12"*"says the same as server-cuda, which is preferred"* ]]
}

@test "any other full tag is pulled as it is, and so is all with the rules off" {
    local image
    for image in "ghcr.io/$TEI:cpu-1.9" "ghcr.io/$TEI:cuda-1.9" "docker.io/$VLLM:gemma4" "docker.io/$VLLM:latest"; do
        run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" "$image"
        [ "$output" = "${image%:*}@$(digest_of "${image#*.io/}")" ]
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --tag-rules off --print-ref --profile "$STATE/h100.json" "ghcr.io/$TEI:1.9"
    [ "$output" = "ghcr.io/$TEI@$(digest_of "$TEI:1.9")" ]
    run -0 --separate-stderr env OCV_TAG_RULES=off "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" "ghcr.io/$TEI:1.9"
    [ "$output" = "ghcr.io/$TEI@$(digest_of "$TEI:1.9")" ]
    run -1 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" "ghcr.io/$TEI:0.1"
}

@test "a registry that stands in for another has its families" {
    local mirror=$BATS_TEST_TMPDIR/mirror.yaml
    printf 'tag_rules: on\nregistries: {"%s": {insecure: true, mirror_of: docker.io}}\n' "$REGISTRY" >"$mirror"
    run -0 --separate-stderr "$VPULL" --config "$mirror" --print-ref --profile "$STATE/mid.json" "$REGISTRY/$VLLM:v0.14.1"
    [ "$output" = "$REGISTRY/$VLLM@$(digest_of "$VLLM:v0.14.1")" ]
    [[ $stderr == *"tag v0.14.1 by the tag rules of vllm"* ]]
    run -0 "$VARIANTCTL" tags parse --config "$mirror" "$REGISTRY/$VLLM:v0.14.1"
    [ "$(jq -r '.reference, .family' <<<"$output" | tr '\n' ' ')" = "$REGISTRY/$VLLM:v0.14.1 vllm " ]
    run -0 "$VARIANTCTL" tags plan --config "$mirror" "$REGISTRY/$VLLM:v0.14.1"
    [[ $output == *v0.14.1-cu130* ]]
    run -0 "$VARIANTCTL" tags parse "$REGISTRY/$VLLM:v0.14.1"
    [ "$(jq -r .family <<<"$output")" = null ]
    start_variantd mirror-of --config "$mirror" --profile "$STATE/node.json"
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.14.1?ns=$REGISTRY"
    [ "$(header docker-content-digest)" = "$(digest_of "$VLLM:v0.14.1")" ]
    # a name that is not a registry is reported with its place in the configuration
    printf 'registries: {m.example: {mirror_of: docker.io/vllm}}\n' >"$mirror"
    run -2 "$VPULL" --config "$mirror" --print-ref "m.example/$VLLM:v0.14.1"
    [[ $output == *"mirror.yaml:1: invalid value 'docker.io/vllm' for mirror_of: the name of a registry"* ]]
}

@test "a path of a registry stands in for another, as Harbor's and Artifactory's do; the longest counts" {
    local mirror=$BATS_TEST_TMPDIR/mirror.yaml tag
    for tag in v0.14.1 v0.14.1-cu130; do
        skopeo --insecure-policy copy -q --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/$VLLM:$tag" "docker://$REGISTRY/cache/hub/$VLLM:$tag" || [ "$tag" != v0.14.1 ]
    done
    printf 'tag_rules: on\nregistries: {"%s/cache": {mirror_of: quay.io}, "%s/cache/hub": {mirror_of: docker.io}, "%s": {insecure: true}}\n' \
        "$REGISTRY" "$REGISTRY" "$REGISTRY" >"$mirror"
    run -0 "$VARIANTCTL" tags parse --config "$mirror" "$REGISTRY/cache/hub/$VLLM:v0.14.1"
    [ "$(jq -r .family <<<"$output")" = vllm ]
    for name in "$REGISTRY/cache/$VLLM" "$REGISTRY/$VLLM" "$REGISTRY/cache/hubs/$VLLM"; do
        run -0 "$VARIANTCTL" tags parse --config "$mirror" "$name:v0.14.1"
        [ "$(jq -r .family <<<"$output")" = null ]
    done
    run -0 --separate-stderr "$VPULL" --config "$mirror" --print-ref --profile "$STATE/mid.json" "$REGISTRY/cache/hub/$VLLM:v0.14.1"
    [[ $stderr == *"tag v0.14.1 by the tag rules of vllm"* ]]
    start_variantd path-of --config "$mirror" --profile "$STATE/node.json"
    ask HEAD "/resolver/v2/cache/hub/$VLLM/manifests/v0.14.1?ns=$REGISTRY"
    [ "$(header docker-content-digest)" = "$(digest_of "$VLLM:v0.14.1")" ]
    stop_daemon path-of
    for wrong in '"r.example/x": {mirror_of: docker.io, insecure: true}' '"r.example/x": {}' '"r.example/X": {mirror_of: docker.io}' '"r.example/": {mirror_of: docker.io}' \
        '"r.example//x": {mirror_of: docker.io}'; do
        echo "registries: {$wrong}" >"$mirror"
        run -2 "$VPULL" --config "$mirror" --print-ref "r.example/x/y:1"
        [[ $output == *"mirror.yaml:1: "* ]]
    done
}

# locked OPTION...: vpull by the lock of text-embeddings-inference
locked()
{
    "$VPULL" --config "$CONFIG" --locked "$STATE/tei.lock" "$@"
}

@test "lock records every tag of a rule-made set" {
    local lock=("$VARIANTCTL" lock --config "$CONFIG" --profile "a10=$STATE/a10.json" --profile "h100=$STATE/h100.json")
    local a10 h100 name
    for name in 1.9 86-1.9 hopper-1.9 cpu-1.9; do
        skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/$TEI:$name" "docker://$REGISTRY/$TEI-locked:$name" 3>&-
    done
    a10=$(digest_of "$TEI:86-1.9") h100=$(digest_of "$TEI:hopper-1.9")
    run -0 "${lock[@]}" -o "$STATE/tei.lock" "ghcr.io/$TEI:1.9"
    valid lock "$STATE/tei.lock"
    [ "$(jq -c '.images[0].rule' "$STATE/tei.lock")" = '{"family":"huggingface-tei","group":"1.9"}' ]
    [ "$(jq -r '.images[0].tags["86-1.9"].digest' "$STATE/tei.lock")" = "$a10" ]
    [ "$(jq -c '.images[0].profiles | [.a10, .h100] | map([.tag, .label, .digest])' "$STATE/tei.lock")" = \
        "[[\"86-1.9\",\"86_1.9\",\"$a10\"],[\"hopper-1.9\",\"hopper_1.9\",\"$h100\"]]" ]
    run -0 --separate-stderr "${lock[@]}" "ghcr.io/$TEI:1.9"
    [ "$output" = "$(cat "$STATE/tei.lock")" ] # the same bytes
    run -0 --separate-stderr locked --print-ref --profile "$STATE/h100.json"
    [ "$output" = "ghcr.io/$TEI@$h100" ]
    run -0 "$VARIANTCTL" lock --config "$CONFIG" --check "$STATE/tei.lock"
    [ "$output" = "" ]
    # the tag moves, then is deleted: the locked image is still pulled
    skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/$TEI:cpu-1.9" "docker://$REGISTRY/$TEI:hopper-1.9" 3>&-
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" "ghcr.io/$TEI:1.9"
    [ "$output" != "ghcr.io/$TEI@$h100" ]
    run -5 --separate-stderr "$VARIANTCTL" lock --config "$CONFIG" --check "$STATE/tei.lock"
    [ "$output" = "ghcr.io/$TEI:1.9: tag hopper-1.9: was $h100, is $(digest_of "$TEI:cpu-1.9")" ]
    jq 'del(.images[0].tags["86-1.9"]) | .images[0].tags["gone-1.9"] = .images[0].tags["1.9"]' "$STATE/tei.lock" >"$STATE/edited.lock"
    run -5 --separate-stderr "$VARIANTCTL" lock --config "$CONFIG" --check "$STATE/edited.lock"
    [[ $output == *"tag gone-1.9: was sha256:"*", is gone"* && $output == *"tag 86-1.9 is new: $a10"* ]]
    run -0 --separate-stderr locked --print-ref --profile "$STATE/h100.json"
    [ "$output" = "ghcr.io/$TEI@$h100" ]
    run -0 locked --to "oci:$STATE/locked" --profile "$STATE/a10.json" "ghcr.io/$TEI:1.9"
    [[ $output == *"86_1.9: "*"sm_86"* && $output == *"tag 86-1.9 by the tag rules of huggingface-tei"* ]]
    [[ $output == *"Digest: $a10"* ]]
    [ "$(jq -r '.manifests[0].annotations["io.containerd.image.name"]' "$STATE/locked/index.json")" = "ghcr.io/$TEI:1.9" ]
    # another machine's choice, unchecked; one that is not locked
    run -0 locked --to "oci:$STATE/other" --lock-profile h100
    [[ $output == *$'\n'"hopper_1.9"$'\n'* && $output == *"Digest: $h100"* && $output != *"without variants"* ]]
    run -3 --separate-stderr locked --print-ref --profile "$STATE/t4.json"
    [[ $stderr == *"this machine would get "*"which is not locked"* ]]
    # rules that make no set of these tags
    mkdir -p "$BATS_TEST_TMPDIR/tags.d"
    run -4 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --locked "$STATE/tei.lock" --print-ref --profile "$STATE/h100.json"
    [[ $stderr == *"form no set of the locked tags"*"--lock-profile"* ]]
    skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/$TEI-locked:hopper-1.9" "docker://$REGISTRY/$TEI:hopper-1.9" 3>&-
}

@test "annotations in the index come first, and then no rule is read" {
    mkdir -p "$BATS_TEST_TMPDIR/tags.d"
    echo 'not: [a rule file' >"$BATS_TEST_TMPDIR/tags.d/broken.yaml"
    run -0 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" "$VLLM:v0.16.0"
    [[ -z $stderr && $output == "docker.io/$VLLM@sha256:"* ]]
    run -4 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" "$VLLM:v0.14.1"
    [[ $stderr == *"broken.yaml:"* ]]
}

@test "the decision as JSON and as a table names the rule and the tag" {
    run -0 --separate-stderr "$VARIANTCTL" resolve --config "$CONFIG" --profile "$STATE/a10.json" "ghcr.io/$TEI:1.9"
    [ "$(jq -r '.source, .rule.family, .rule.group, .selected.tag, .selected.label, .selected.digest' <<<"$output" | tr '\n' ' ')" = \
        "rule huggingface-tei 1.9 86-1.9 86_1.9 $(digest_of "$TEI:86-1.9") " ]
    [ "$(jq -c '.order' <<<"$output")" = '["86_1.9","1.9","null"]' ]
    [ "$(jq -r '[.selected.matched[]] | join(", ")' <<<"$output")" = \
        "nvidia :: forward_compatibility :: 575, nvidia :: sm_arch :: 86_real" ]
    printf '%s' "$output" >"$BATS_TEST_TMPDIR/decision.json"
    require_validator
    valid decision "$BATS_TEST_TMPDIR/decision.json"
    run -0 --separate-stderr "$VARIANTCTL" explain --config "$CONFIG" --profile "$STATE/a10.json" "ghcr.io/$TEI:1.9"
    [[ $output == *"Rule    huggingface-tei, for the tags that stand for 1.9"* ]]
    [[ $output == *"tag 86-1.9"* ]]
}

@test "a pull by rule: shown, named as asked, recorded" {
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --to "oci:$STATE/out:x" --profile "$STATE/t4.json" "ghcr.io/$TEI:1.9"
    [[ $stderr == *"tag turing-1.9 by the tag rules of huggingface-tei"* ]]
    run -0 skopeo inspect "oci:$STATE/out:x"
    [ "$(jq -r .Labels.build <<<"$output")" = "$TEI:turing-1.9" ]
    run -0 cat "$OCV_STATE_DIR/resolved/"*"$(digest_of "$TEI:turing-1.9" | cut -d: -f2)"*
    [[ $output == *'turing_1.9'*'nvidia :: sm_arch :: 75_real'* ]]
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$STATE/t4.json" "ghcr.io/$TEI:1.9"
    [ "$output" = "$(digest_of "$TEI:turing-1.9")" ]
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --progress json --profile "$STATE/t4.json" "ghcr.io/$TEI:1.9"
    [ "$(jq -r 'select(.event == "decision") | .tag, .rule' <<<"$output" | tr '\n' ' ')" = "turing-1.9 huggingface-tei " ]
}

@test "a tag of one build is locked without the set of its rule" {
    run -0 "$VARIANTCTL" lock --config "$CONFIG" --profile "t4=$STATE/t4.json" -o "$STATE/rule.lock" "ghcr.io/$TEI:turing-1.9"
    [ "$(jq -r '.images[0].profiles.t4.digest' "$STATE/rule.lock")" = "$(digest_of "$TEI:turing-1.9")" ]
    [ "$(jq -r '.images[0] | has("tags")' "$STATE/rule.lock")" = false ]
}

@test "an image for another machine than its tag says loses once its config is read" {
    put "$VLLM:v0.15.0"
    put "$VLLM:v0.15.0-cu130" arm64
    chooses h100 "docker.io/$VLLM:v0.15.0" v0.15.0
}

@test "tags that the rules cannot tell apart: an error that names them" {
    local dir=$BATS_TEST_TMPDIR/tags.d
    mkdir "$dir"
    cat >"$dir/demo.yaml" <<'YAML'
schema: dev.ocivariant.tags/v1
family: demo
repositories: [docker.io/demo/app]
parts:
  - {match: '[0-9.]+', group: version}
  - {match: 'big|large', gives: ['nvidia :: sm_arch :: 90_real']}
group_tags: ['{version}']
YAML
    put demo/app:1.0
    put demo/app:1.0-big
    put demo/app:1.0-large
    run -4 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" demo/app:1.0
    [[ $stderr == *"1.0-big and 1.0-large say the same"*"hint: name one of them: demo/app:1.0-big, demo/app:1.0-large" ]]
    # they stop no machine that would get neither, nor whoever asks for the default
    run -0 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/cpu.json" demo/app:1.0
    [ "${output#*@}" = "$(digest_of demo/app:1.0)" ]
    run -0 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --print-ref --cpu --profile "$STATE/h100.json" demo/app:1.0
    [ "${output#*@}" = "$(digest_of demo/app:1.0)" ]
    run -4 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VARIANTCTL" tags plan --config "$CONFIG" --format text demo/app
    [[ $output == *"not told apart: 1.0-big and 1.0-large say the same"* ]]
    run -0 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR" "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/h100.json" demo/app:1.0-big
}

@test "tags parse: a JSON object a line, a list on standard input, exit codes" {
    run -0 --separate-stderr "$VARIANTCTL" tags parse quay.io/ascend/cann:9.0.0-910b-ubuntu22.04-py3.12 other/app:1
    [ "${lines[0]}" = '{"reference":"quay.io/ascend/cann:9.0.0-910b-ubuntu22.04-py3.12","family":"ascend-cann","properties":["ascend :: npu_type :: 910b"],"group":{"os":"ubuntu22.04","python":"3.12","version":"9.0.0"},"ignored":[],"unknown":[],"ambiguous":[]}' ]
    [ "$(jq -r .family <<<"${lines[1]}")" = null ]
    run -0 --separate-stderr "$VARIANTCTL" tags parse --format text nvcr.io/nvidia/driver:580.126.16-ubuntu24.04
    [[ $output == *"no variant: a driver, chosen by the kernel"* ]]
    run -4 --separate-stderr "$VARIANTCTL" tags parse - <<<$'# a list\n\nvllm/vllm-openai:v0.14.1\n:\nrocm/vllm:latest'
    [ "${#lines[@]}" = 2 ]
    [[ $stderr == *"line 4"* ]]
    run -5 --separate-stderr "$VARIANTCTL" tags parse --strict other/app:1
    run -2 --separate-stderr "$VARIANTCTL" tags parse 'UPPER:x'
    run -2 --separate-stderr "$VARIANTCTL" tags parse
    run -2 --separate-stderr "$VARIANTCTL" tags parse --format yaml a:b
    run -2 --separate-stderr "$VARIANTCTL" tags
}

@test "tags plan: from the registry page by page, and from a file" {
    run -0 --separate-stderr "$VARIANTCTL" tags plan --config "$CONFIG" "ghcr.io/$TEI:1.9"
    [ "$(jq -c '[.sets[] | .name]' <<<"$output")" = '["1.9"]' ]
    [ "$(jq -c '[.sets[0].members[] | .tag]' <<<"$output")" = '["cpu-1.9","cpu-arm64-1.9","120-1.9","turing-1.9","1.9","86-1.9","89-1.9","hopper-1.9"]' ]
    run -0 --separate-stderr "$VARIANTCTL" tags plan --config "$CONFIG" --format text "ghcr.io/$TEI"
    [[ $output == *"1.9-grpc"* && $output == *"Left out"*"cuda-1.9"*"all architectures in one image"* ]]
    printf '%s\n' 13.0.1-base-ubuntu24.04 12.8.1-base-ubuntu24.04 12.8.0-base-ubuntu24.04 latest >"$BATS_TEST_TMPDIR/list"
    run -0 --separate-stderr "$VARIANTCTL" tags plan --tags-file "$BATS_TEST_TMPDIR/list" nvidia/cuda
    [ "$(jq -c '[.sets[] | [.name, [.members[] | .tag]]]' <<<"$output")" = \
        '[["base-ubuntu24.04",["12.8.1-base-ubuntu24.04","13.0.1-base-ubuntu24.04"]]]' ]
    run -1 --separate-stderr "$VARIANTCTL" tags plan --config "$CONFIG" ghcr.io/no/such
    run -4 --separate-stderr "$VARIANTCTL" tags plan --tags-file - nvidia/cuda <<<$'latest\nnvidia/cuda:latest'
    [[ $stderr == *"-:2: not a tag"* ]]
    run -0 --separate-stderr env "OCV_DATADIR=$BATS_TEST_TMPDIR/none" "$VARIANTCTL" tags parse nvidia/cuda:latest
    [[ $stderr == *"no tag rules: neither "* ]]
}

@test "tags check: shipped files are rule files, and what is wrong is told with its line" {
    run -0 "$VARIANTCTL" tags check "$OCV_TOP"/plugins/tags.d/*.yaml
    printf 'schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n  - {match: "a("}\n' >"$BATS_TEST_TMPDIR/x.yaml"
    run -4 --separate-stderr "$VARIANTCTL" tags check "$BATS_TEST_TMPDIR/x.yaml"
    [[ $stderr == *"x.yaml:5: pattern 'a('"* ]]
    run -1 --separate-stderr "$VARIANTCTL" tags check "$BATS_TEST_TMPDIR/none.yaml"
    printf 'schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n  - {use: nothing}\n' >"$BATS_TEST_TMPDIR/x.yaml"
    run -4 --separate-stderr "$VARIANTCTL" tags check "$BATS_TEST_TMPDIR/x.yaml"
    [[ $stderr == *"x.yaml:5: no such notation: 'nothing'"*"hint: "*OCV_DATADIR* ]]
}

@test "variantd: off unless the administrator turns them on, and then as vpull" {
    VARIANTD=$RULES_ON
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.14.1?ns=docker.io"
    echo "$code $head"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$(digest_of "$VLLM:v0.14.1")" ]
    # a name that is not a tag
    ask HEAD "/resolver/v2/rayproject/ray/manifests/2.49.2-py311?ns=docker.io"
    [ "$(header docker-content-digest)" = "$(digest_of rayproject/ray:2.49.2-py311-cu128)" ]
    # a full tag, and an index that already has variants
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.14.1-cu130?ns=docker.io"
    [ "$code" = 404 ]
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.16.0?ns=docker.io"
    [ "$(header docker-content-digest)" = "$(skopeo --insecure-policy inspect --raw --tls-verify=false "docker://$REGISTRY/$VLLM:v0.16.0" | jq -r '.manifests[0].digest')" ]
    run -0 curl --silent --unix-socket "$SOCKET_ON" "http://localhost/v1/resolve?ref=ghcr.io/$TEI:1.9"
    echo "$output"
    [ "$(jq -r '.source, .selected.tag' <<<"$output" | tr '\n' ' ')" = "rule hopper-1.9 " ]
    VARIANTD=$RULES_OFF
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.14.1?ns=docker.io"
    [ "$code" = 404 ]
}

@test "the schema accepts what the program reads, and refuses what it refuses" {
    local wrong n=0
    require_validator
    valid tag-rules "$OCV_TOP"/plugins/tags.d/*.yaml
    for wrong in 'family: x' 'notations: []' 'family: x, repositories: [a], parts: [{match: a}]' \
        'family: x, repositories: [A/b], parts: [{match: a}]' 'family: x, repositories: [a/b], parts: []' 'family: x, repositories: [a/b], parts: [{mtch: a}]' \
        'family: x, repositories: [a/b], parts: [{match: a, gives: ["nvidia : sm"]}]' \
        'family: x, repositories: [a/b], parts: [{match: a}], group_tags: [latest]' \
        'family: x, repositories: [a/b], parts: [{match: a}], prefer: {os: best}' \
        'family: x, repositories: [a/b], parts: [{match: a}], prefer: {tag: newest}' \
        'family: x, repositories: [a/b], parts: [{match: a, first: 1}]' \
        'family: x, repositories: [a/b], parts: [{match: a}], cuda: major' \
        'family: x, repositories: [a/b], parts: [{match: a}], cuda: [{sm_arch: all}]' \
        'family: x, repositories: [a/b], parts: [{match: a}], cuda: [{sm_arch: [sm_90]}]' \
        'family: x, repositories: [a/b], parts: [{match: a}], cuda: [{minor: 1}]' \
        'family: x, repositories: [a/b], parts: [{match: a}], cuda: [{platform: amd64}]' \
        'family: x, repositories: [a/b], parts: [{match: a}], separators: "_-"'; do
        echo "{schema: dev.ocivariant.tags/v1, $wrong}" >"$BATS_TEST_TMPDIR/$n.yaml"
        echo "$wrong"
        run -4 "$VARIANTCTL" tags check "$BATS_TEST_TMPDIR/$n.yaml"
        run ! valid tag-rules "$BATS_TEST_TMPDIR/$n.yaml"
        n=$((n + 1))
    done
}

@test "the administrator's file replaces a family" {
    require unshare
    unshare -rm true 2>/dev/null || skip "no user namespaces here"
    export OWN=$BATS_TEST_TMPDIR/own
    mkdir "$OWN"
    cat >"$OWN/mine.yaml" <<'YAML'
schema: dev.ocivariant.tags/v1
family: immich
repositories: [ghcr.io/immich-app/immich-machine-learning]
parts:
  - {match: '.*', group: everything}
YAML
    # shellcheck disable=SC2016 # the inner shell expands it
    run -0 unshare -rm sh -c 'mount -t tmpfs none /etc && mkdir -p /etc/ocivariant/tags.d &&
        cp "$OWN"/* /etc/ocivariant/tags.d/ && exec "$@"' sh \
        "$VARIANTCTL" tags parse ghcr.io/immich-app/immich-machine-learning:v2.4.1-cuda
    [ "$(jq -c .group <<<"$output")" = '{"everything":"v2.4.1-cuda"}' ]
    run -0 "$VARIANTCTL" tags parse ghcr.io/immich-app/immich-machine-learning:v2.4.1-cuda
    [ "$(jq -c .group <<<"$output")" = '{"version":"v2.4.1"}' ]
}

# A machine with one NVIDIA GPU of this PCI id and this driver, probed: a profile.
machine()
{
    local tree=$BATS_TEST_TMPDIR/$1 device
    device=$tree/sys/bus/pci/devices/0000:3b:00.0
    mkdir -p "$device" "$tree/sys/module/nvidia" "$tree/proc/driver/nvidia/gpus/0000:3b:00.0"
    echo 0x10de >"$device/vendor"
    echo "0x$2" >"$device/device"
    echo 0x030200 >"$device/class"
    echo "$3" >"$tree/sys/module/nvidia/version"
    "$VARIANTCTL" probe --sysroot "$tree" --format json | jq '.platform.architecture = "amd64"' >"$BATS_TEST_TMPDIR/$1.json"
}

@test "images with compatibility libraries: on data-centre GPUs older drivers run them, on others none does" {
    local dir=$BATS_TEST_TMPDIR properties
    machine h100 2330 580.95.05
    machine rtx5090 2b85 580.95.05
    machine rtx5090-new 2b85 615.71.05
    machine h100-old 2330 570.133.20
    # what the tag says becomes the entry of an index
    run -0 --separate-stderr "$VARIANTCTL" tags parse nvcr.io/nvidia/pytorch:26.08-py3
    properties=$(jq -r '.properties | join(", ")' <<<"$output")
    [[ $properties == "nvidia :: forward_compatibility :: 615, "* && $properties != *cuda_version* ]]
    run -0 "$VARIANTCTL" index create --quiet "oci:$dir/ngc:1" "null=oci:$STATE/layout:ray-amd64" \
        "ngc=oci:$STATE/layout:ray-amd64,$properties"
    for chosen in h100=ngc rtx5090=null rtx5090-new=ngc h100-old=null; do
        run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$dir/${chosen%=*}.json" "oci:$dir/ngc:1"
        [ "$(jq -r .selected.label <<<"$output")" = "${chosen#*=}" ] || { echo "$chosen: $output" >&2; false; }
    done
    run -0 "$VARIANTCTL" explain --profile "$dir/rtx5090.json" "oci:$dir/ngc:1"
    [[ $output == *"this needs the libraries of driver 615: that driver or a newer one"* ]]
}
