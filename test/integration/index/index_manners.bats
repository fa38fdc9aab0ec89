#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What people type wrong, and what the verbs of variantctl have in common.

load ../harness
load ../images

setup_file()
{
    state_start
    export OCV_DATADIR=$OCV_TOP/plugins
    make_variants "$STATE/images"
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    L=$VARIANTS
}

@test "words that the vocabulary does not have are warned about when an index is made" {
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet --no-lint "oci:$L:typo" "null=oci:$L:cpu" \
        "cuda=oci:$L:cuda,nvidia :: sm_arhc :: 90_real" --namespaces 'nvidia, amd, own' \
        "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx942,own :: order :: 1" --static 'own=order :: 1'
    [[ $stderr == *"warning: cuda: the namespace nvidia has no feature sm_arhc"* ]]
    [[ $stderr == *"hint: did you mean nvidia :: sm_arch :: 90_real?" ]]
    [[ $stderr != *rocm* ]]
    [[ $stderr != *"(own"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet --no-lint "oci:$L:typo" 'cuda=nvidia :: sm_arch :: 90real'
    [[ $stderr == *"warning: cuda: nvidia :: sm_arch has no value 90real"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet "oci:$L:typo" 'cuda=nvidia :: sm_arch :: 90_real'
    [ -z "$stderr" ]
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run "oci:$L:other" "null=oci:$L:cpu" \
        "cuda=oci:$L:cuda,nvidai :: sm_arch :: 90_real"
    [[ $stderr == *"no provider owns the namespace nvidai"*"hint: did you mean nvidia :: sm_arch :: 90_real?"* ]]
}

@test "a platform without default is refused, once, unless the settings say that there need be none" {
    run -4 --separate-stderr "$VARIANTCTL" index create --quiet "oci:$L:bare" --namespaces 'nvidia, amd' \
        "cuda=oci:$L:cuda,nvidia :: sm_arch :: 90_real" "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx942"
    [[ $stderr == *"variantctl: error: cuda: no default for linux/amd64: hosts that no variant fits find nothing, nor do Docker and containerd; crane, ko, kaniko and cosign take the first variant, whatever it needs [OCV501 default-missing]"$'\n'"hint: --default IMAGE, built for linux/amd64; if these images need an accelerator by nature: level: {OCV501: warning} in .ocivariant-lint.yaml"* ]]
    [ "$(grep -c "no default for linux/amd64" <<<"$stderr")" = 1 ]
    # what the hint says, in the settings
    printf 'level: {OCV501: warning}\n' >.ocivariant-lint.yaml
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "oci:$L:bare" --namespaces 'nvidia, amd' \
        "cuda=oci:$L:cuda,nvidia :: sm_arch :: 90_real" "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx942"
    [[ $stderr == *"variantctl: warning: cuda: no default for linux/amd64: "* ]]
    [ "$(grep -c "no default for linux/amd64" <<<"$stderr")" = 1 ]
    run -0 --separate-stderr "$VARIANTCTL" index add --quiet "oci:$L:bare" "null=oci:$L:arm"
    [[ $stderr != *"no default for"* ]] # it was so before
    run -0 --separate-stderr "$VARIANTCTL" index add --quiet "oci:$L:bare" --default "oci:$L:cpu"
    [ -z "$stderr" ]
}

# tag_digest TAG: what it names in the layout
tag_digest()
{
    jq -r --arg tag "$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag).digest' "$L/index.json"
}

@test "the default is not taken away unless that is meant" {
    local old
    "$VARIANTCTL" index create --quiet "oci:$L:kept" "null=oci:$L:cpu" "cuda=oci:$L:cuda,nvidia :: sm_arch :: 90_real"
    old=$(tag_digest kept)
    for how in null --default; do
        run -4 --separate-stderr "$VARIANTCTL" index remove "oci:$L:kept" $how
        [ "${stderr_lines[0]}" = "variantctl: oci:$L:kept would have no default for linux/amd64: docker, podman and other clients that know nothing of variants would find no image there, and hosts that no variant fits would get none: nothing was written" ]
        [ "${stderr_lines[1]}" = "hint: 'index add --replace oci:$L:kept null=REF' replaces it by another build; --no-lint does it anyway" ]
        [ "$(tag_digest kept)" = "$old" ]
    done
    # what is advised works
    run -0 --separate-stderr "$VARIANTCTL" index add --quiet --replace "oci:$L:kept" "null=oci:$L:v3"
    [ "$(tag_digest kept)" != "$old" ]
    run -0 --separate-stderr "$VARIANTCTL" index remove --quiet --no-lint "oci:$L:kept" null
    [[ $stderr == *"warning: cuda: no default for linux/amd64: hosts that no variant fits"* ]]
    # where the variants have plain platforms those clients would take the first one
    "$VARIANTCTL" index create --quiet --layout same-platform "oci:$L:plain" "null=oci:$L:cpu" \
        "cuda=oci:$L:cuda,nvidia :: sm_arch :: 90_real"
    run -4 --separate-stderr "$VARIANTCTL" index remove "oci:$L:plain" null
    [[ $stderr == *"would pull cuda on every machine there, and hosts"* ]]
    # if a whole platform is removed, no client is left that could lose it
    "$VARIANTCTL" index add --quiet "oci:$L:plain" "null=oci:$L:arm"
    run -0 --separate-stderr "$VARIANTCTL" index remove --quiet --platform linux/arm64 "oci:$L:plain" null
    [ -z "$stderr" ]
}

@test "show is a table for people: every entry with its platform and what it needs" {
    run -0 "$VARIANTCTL" index show "oci:$L:app"
    [[ ${lines[0]} == "Index  sha256:"* ]]
    [ "${lines[1]}" = "Namespaces: nvidia, amd, x86_64" ]
    [[ $output == *"cuda12.8 "*" linux/amd64/x-cuda12-8 "*" $(digest_of cuda12.8)"$'\n'"        nvidia :: cuda_version_lower_bound :: 12.8"$'\n'"        nvidia :: sm_arch :: 90_real"$'\n'* ]]
    [ "$(grep -cE '^ +[0-9] ' <<<"$output")" = 5 ]
}

@test "diff tells each change in words, and that there is one when it has none for it" {
    "$VARIANTCTL" index show --format json "oci:$L:app" >old.json
    jq '(.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8")) |= (.platform.variant = "x-cuda" |
        .digest = "sha256:" + ("0" * 64) | .annotations["dev.ocivariant.properties"] = "nvidia :: sm_arch :: 90_real") |
        del(.manifests[0]) | .annotations["org.example.note"] = "new"' old.json >new.json
    run -0 "$VARIANTCTL" index diff old.json new.json
    [ "${lines[0]}" = "- the default  linux/amd64  $(jq -r '.manifests[0].digest' old.json)" ]
    [ "${lines[1]}" = "~ cuda12.8  linux/amd64/x-cuda12-8 -> linux/amd64/x-cuda  $(digest_of cuda12.8) -> sha256:$(printf %064d 0)" ]
    [ "${lines[2]}" = "      - nvidia :: cuda_version_lower_bound :: 12.8" ]
    [ "${lines[3]}" = "+ org.example.note: new" ]
    [ "${#lines[@]}" = 4 ]
    jq '.manifests |= reverse' old.json >new.json
    run -5 "$VARIANTCTL" index diff --exit-code old.json new.json
    [ "$output" = "~ the order of entries" ]
    jq '.manifests[1].annotations["org.example.note"] = "x"' old.json >new.json
    run -5 "$VARIANTCTL" index diff --exit-code old.json new.json
    [ "$output" = "~ different bytes, same variants: sha256:$(sha256sum <old.json | cut -d' ' -f1) -> sha256:$(sha256sum <new.json | cut -d' ' -f1)" ]
}

@test "diff: an image and the index that has it as its default hold the same" {
    run -5 "$VARIANTCTL" index diff --exit-code "oci:$L:cpu" "oci:$L:app"
    [[ $output != *"$(digest_of null)"* && $output != *unknown* ]]
    [[ $output == *"+ cuda12.8  linux/amd64/x-cuda12-8  $(digest_of cuda12.8)"* ]]
    run -5 "$VARIANTCTL" index diff --exit-code "oci:$L:app" "oci:$L:cpu"
    [[ $output != *"$(digest_of null)"* && $output == *"- cuda12.8  linux/amd64/x-cuda12-8  "* ]]
}

@test "a plan names the image that each label was given, one image under two labels, too" {
    "$VARIANTCTL" index copy --quiet "oci:$L:cuda" "oci:$L:cuda-again"
    run -0 "$VARIANTCTL" index create --dry-run "oci:$L:twice" "null=oci:$L:cpu" \
        "a=oci:$L:cuda,nvidia :: sm_arch :: 80_real" "b=oci:$L:cuda-again,nvidia :: sm_arch :: 90_real"
    [[ $output == *" a "*"from oci:$L:cuda"$'\n'*" b "*"from oci:$L:cuda-again"$'\n'* ]]
}

@test "a wrong option names the verb whose help tells more" {
    run -2 "$VARIANTCTL" index create --bogus x y=z
    [ "${lines[0]}" = "variantctl: unknown option '--bogus'" ]
    [ "${lines[1]}" = "hint: variantctl index create --help" ]
    run -2 "$VARIANTCTL" tags parse -Z
    [ "${lines[0]}" = "variantctl: unknown option '-Z'" ]
    [ "${lines[1]}" = "hint: variantctl tags parse --help" ]
    run -2 "$VARIANTCTL" resolve -q
    [ "${lines[0]}" = "variantctl: unknown option '-q'" ]
    run -2 "$VARIANTCTL" tags check --strict x
    [ "${lines[0]}" = "variantctl: unknown option '--strict'" ]
}

@test "what vpull and lock have by a letter, index and lint have, too" {
    run -0 "$VARIANTCTL" index copy -q "oci:$L:app" "oci:$L:short"
    [[ $output == sha256:* && ${#lines[@]} = 1 ]]
    run -0 "$VARIANTCTL" index remove -q "oci:$L:short" rocm7.1
    [[ $output == sha256:* && ${#lines[@]} = 1 ]]
    run -0 "$VARIANTCTL" lint -o report.json --format json "oci:$L:app"
    jq -e '.summary.errors == 0' report.json
}

@test "rules of one's own are read by every verb that reads tags" {
    cat >rules.yaml <<'YAML'
schema: dev.ocivariant.tags/v1
family: mine
description: mine
repositories: [registry.example/team/app]
parts:
  - {match: 'v[0-9]+', group: version}
  - {match: 'hopper', kind: device, gives: ['nvidia :: sm_arch :: 90_real']}
defaults:
  - {missing: device, gives: []}
group_tags: ['{version}']
YAML
    run -0 "$VARIANTCTL" tags check rules.yaml
    run -0 "$VARIANTCTL" tags parse --rules rules.yaml registry.example/team/app:v1-hopper
    [ "$(jq -c '[.family, .properties]' <<<"$output")" = '["mine",["nvidia :: sm_arch :: 90_real"]]' ]
    printf 'v1\nv1-hopper\n' >tags
    mkdir -p rules.d && cp rules.yaml rules.d
    run -0 "$VARIANTCTL" tags plan --rules rules.d --tags-file tags registry.example/team/app
    [ "$(jq -c '[.family, (.sets[0].members | length)]' <<<"$output")" = '["mine",2]' ]
    run -1 "$VARIANTCTL" tags parse --rules none.yaml registry.example/team/app:v1
    [[ $output == *"none.yaml: No such file"* ]]
}

@test "a reader that has seen enough ends every verb alike, without a word" {
    local arguments code
    mkfifo pipe
    # shellcheck disable=SC2094
    exec 4<>pipe 5>pipe 4>&- # nobody reads
    for arguments in "index show oci:$L:app" "index diff oci:$L:app oci:$L:cpu" "explain oci:$L:app" \
        "lint oci:$L:app" "index coverage --profiles $FLEET_DIR oci:$L:app" "--help" "index create --help" \
        "index copy --quiet oci:$L:app oci:$L:piped" "tags parse vllm/vllm-openai:v0.14.1-cu130"; do
        code=0
        # shellcheck disable=SC2086
        "$VARIANTCTL" $arguments >&5 2>words || code=$?
        [ "$code" = 141 ] || { echo "$arguments: $code" && false; }
        [ ! -s words ] || { echo "$arguments: $(<words)" && false; }
    done
    exec 5>&-
}

@test "the name of a file or directory where an image is wanted brings a hint" {
    "$VARIANTCTL" index show --format json "oci:$L:app" >index.json
    cp -r "$L" directory
    for verb in "index show" resolve explain "index coverage --profiles $FLEET_DIR"; do
        # shellcheck disable=SC2086
        run -1 "$VARIANTCTL" $verb --timeout 1 127.0.0.1:1/index.json
        [[ $output != *hint:*--index* ]]
        printf 'registries: {docker.io: {url: "http://127.0.0.1:1", insecure: true}}\n' >config.yaml
        # shellcheck disable=SC2086
        run -1 "$VARIANTCTL" $verb --config config.yaml index.json
        [[ $output == *"hint: to read the file of that name: --index index.json"* ]]
        # shellcheck disable=SC2086
        run -1 "$VARIANTCTL" $verb --config config.yaml directory
        [[ $output == *"hint: an OCI layout in the directory of that name is oci:directory"* ]]
    done
}

@test "an option that has no effect is refused" {
    run -2 "$VARIANTCTL" index create --rules rules.yaml "oci:$L:x" "null=oci:$L:cpu"
    [[ $output == *"--rules requires --from-tags"* ]]
    run -2 "$VARIANTCTL" index create --from-tags 'a*' --from-tags 'b*' "oci:$L:x"
    [ "$output" = "variantctl: --from-tags is given twice" ]
    run -2 "$VARIANTCTL" index create --from a.yaml --from b.yaml "oci:$L:x"
}

@test "an entry or a set that is not there is named, with what there is" {
    run -1 "$VARIANTCTL" index annotate "oci:$L:app" 'cuda=nvidia :: sm_arch :: 90_real'
    [ "${lines[0]}" = "variantctl: oci:$L:app: no entry cuda" ]
    [[ ${lines[1]} == "hint: it has: null, "*"cuda12.8"* ]]
    run -1 "$VARIANTCTL" index annotate "oci:$L:app" --label cuda=cuda13
    [ "${lines[0]}" = "variantctl: oci:$L:app: no entry cuda" ]
    run -1 "$VARIANTCTL" index remove "oci:$L:app" cuda
    [[ ${lines[1]} == "hint: it has: null, "*"cuda12.8"* ]]
    run -4 "$VARIANTCTL" index create "oci:$L:x" "cuda=oci:$L:cuda"
    [ "${lines[0]}" = "variantctl: cuda: it has no property" ]
    [ "${lines[1]}" = "hint: a build that needs nothing is labelled null, or --derive reads them from its files" ]
    printf 'cpu-1.9\nturing-1.9\n' >tags
    run -0 --separate-stderr "$VARIANTCTL" tags plan --tags-file tags ghcr.io/huggingface/text-embeddings-inference:1.8
    [ "$stderr" = "variantctl: warning: the tags form no set named 1.8" ]
    run -0 --separate-stderr "$VARIANTCTL" tags plan --tags-file tags ghcr.io/huggingface/text-embeddings-inference:1.9
    [ -z "$stderr" ]
}
