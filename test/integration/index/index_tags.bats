#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index create --from-tags on a repository that no rule knows, with tags as publishers
# write them.

load ../harness
load ../images
load ../schema

setup_file()
{
    require docker-registry skopeo
    require_validator
    state_start
    start_registry
    export OCV_DATADIR=$OCV_TOP/plugins R=$REGISTRY
    local tag
    for tag in cpu cu126 cu128 rocm7.0 gfx942; do
        mkimage "$STATE/images" "$tag" --file "etc/build=$tag" >/dev/null
        push_layout "$STATE/images:$tag" "$R/team/app:1.0-$tag"
        push_layout "$STATE/images:$tag" "$R/team/app:1.1-py312-$tag"
    done
    mkimage "$STATE/images" arm64 --arch arm64 --file etc/build=arm >/dev/null
    mkimage "$STATE/images" cu128-arm64 --arch arm64 --file etc/build=arm-cuda >/dev/null
    push_layout "$STATE/images:arm64" "$R/team/app:1.0-arm64"
    push_layout "$STATE/images:cu128-arm64" "$R/team/app:1.0-cu128-arm64"
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    : >.git
}

@test "VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN, -arm64: one command, short labels, and lint finds nothing" {
    run -4 "$VARIANTCTL" index create --from-tags '1.0-*' "$R/team/app:1.0"
    [ "${lines[0]}" = "variantctl: two accelerators without an order: nvidia, amd" ]
    [ "${lines[1]}" = "hint: list them, most important first: --namespaces 'nvidia, amd'" ]
    run -0 "$VARIANTCTL" index create --quiet --namespaces 'nvidia, amd' --from-tags '1.0-*' "$R/team/app:1.0"
    run -0 "$VARIANTCTL" index show --format json "$R/team/app:1.0"
    [ "$(jq -r '[.manifests[] | (.annotations["dev.ocivariant.label"] // "-") + "/" + .platform.architecture] | join(" ")' <<<"$output")" = \
        "-/amd64 -/arm64 cuda12.6/amd64 cuda12.8/amd64 gfx942/amd64 rocm7.0/amd64 cuda12.8/arm64" ]
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "nvidia, amd, priority" ]
    [ "$(jq -r '.annotations["dev.ocivariant.static.priority"]' <<<"$output")" = "order :: 12.6, order :: 12.8" ]
    run -0 "$VARIANTCTL" lint "$R/team/app:1.0"
    [[ $output == "0 errors, 0 warnings, "* ]]
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$PROFILES/h100.json" "$R/team/app:1.0"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$PROFILES/mi300x.json" "$R/team/app:1.0"
    [ "$(jq -r .selected.label <<<"$output")" = rocm7.0 ]
    # the same again, with its own tag among the others
    run -0 "$VARIANTCTL" index create --namespaces 'nvidia, amd' --from-tags '1.0*' "$R/team/app:1.0"
    [[ ${lines[0]} == *"; unchanged)" ]]
}

@test "Python and the system belong to the set's name" {
    run -0 "$VARIANTCTL" index create --quiet --namespaces 'nvidia, amd' --from-tags '1.1-*' "$R/team/app:1.1"
    run -0 "$VARIANTCTL" index show "$R/team/app:1.1"
    [[ $output == *" cuda12.6 "* && $output == *" rocm7.0 "* ]]
}

@test "what does not say which build it is stays out, and an error names it" {
    push_layout "$STATE/images:cu126" "$R/other/app:1.0-gpu"
    run -4 "$VARIANTCTL" index create --from-tags '*' "$R/other/app:1.0"
    [ "${lines[0]}" = "variantctl: --from-tags *: these tags make no set: 1.0-gpu: nothing to choose: no other tag is in its group" ]
    [ "${lines[1]}" = "hint: tags are read as VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN, -gaudiN or -arm64; --rules adds your own rules" ]
}

@test "what a tag leaves open its image's configuration says" {
    mkimage "$STATE/images" gpu --file etc/build=gpu --env CUDA_VERSION=12.8.1 >/dev/null
    mkimage "$STATE/images" cu12 --file etc/build=cu12 --env CUDA_VERSION=13.0.1 >/dev/null
    mkimage "$STATE/images" silent --file etc/build=silent >/dev/null
    push_layout "$STATE/images:cpu" "$R/open/app:1.0-cpu"
    push_layout "$STATE/images:gpu" "$R/open/app:1.0-gpu"
    push_layout "$STATE/images:cu12" "$R/open/app:1.0-cu12"
    run -0 --separate-stderr "$VARIANTCTL" index create --from-tags '1.0-*' "$R/open/app:1.0"
    [[ $stderr != *"is left out"* ]]
    run -0 "$VARIANTCTL" index show --format json "$R/open/app:1.0"
    [ "$(jq -r '[.manifests[].annotations["dev.ocivariant.properties"] // "-" | [scan("cuda_version_lower_bound :: [0-9.]+")] | join(",")] | join(" ")' <<<"$output")" = \
        "cuda_version_lower_bound :: 13.0 cuda_version_lower_bound :: 12.8" ]
    push_layout "$STATE/images:silent" "$R/open/app:1.0-gpu"
    run -0 --separate-stderr "$VARIANTCTL" index create --from-tags '1.0-*' "$R/open/app:1.0"
    [[ $stderr == *"warning: 1.0-gpu is left out: which CUDA version it needs is not stated"* ]]
}

@test "nobody else's tags are read so: they are pulled as they are, and a plan says it in one line" {
    run -0 --separate-stderr "$VARIANTCTL" tags parse "$R/team/app:1.0-cu128"
    [ "$(jq -c '[.family, .properties]' <<<"$output")" = '[null,[]]' ]
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$PROFILES/h100.json" "$R/team/app:1.0-cpu"
    [ "$(jq -r .source <<<"$output")" = none ]
    run -0 --separate-stderr "$VARIANTCTL" tags plan --format table "$R/other/app"
    [[ $output == "$R/other/app  no tag rule knows it, "*" tag" || $output == "$R/other/app  no tag rule knows it, "*" tags" ]]
    [ "$stderr" = "hint: --rules FILE reads rules of your own (plugins/tags.d/README.md); 'variantctl index create --from-tags' reads VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN, -gaudiN and -arm64 without" ]
}

@test "the family is a rule file as the others, by its schema, too" {
    local file=$OCV_TOP/plugins/tags.d/authoring/ordinary.yaml
    run -0 "$VARIANTCTL" tags check "$file"
    "$(validator)" -c 'import sys, yaml, json; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)' "$file" >ordinary.json
    valid "$OCV_TOP/schema/tag-rules.schema.json" ordinary.json
    run -0 --separate-stderr "$VARIANTCTL" tags parse --rules "$file" registry.example/app:v2.1.0-rc1-cu130-arm64
    [ "$(jq -c '[.group.version, .platform, .properties[0]]' <<<"$output")" = '["v2.1.0-rc1","linux/arm64","nvidia :: cuda_version_lower_bound :: 13.0"]' ]
    mkdir -p data/tags.d && cp "$OCV_TOP/plugins/tags.d/00-notations.yaml" data/tags.d
    OCV_DATADIR=$PWD/data run -4 "$VARIANTCTL" index create --from-tags '1.0-*' "$R/team/app:1.2"
    [[ $output == *"no tag rule makes a set of these tags"* ]]
}

@test "tags that the pattern means and the index does not get are named, each with its reason" {
    local tag
    for tag in 1.0-cpu 1.0-cu128 0.9-cpu 0.9-cu126; do push_layout "$STATE/images:${tag#*-}" "$R/left/app:$tag"; done
    for tag in 1.0-hpu 1.0-dcpu; do push_layout "$STATE/images:gfx942" "$R/left/app:$tag"; done
    for option in --dry-run --quiet; do
        run -0 --separate-stderr "$VARIANTCTL" index create "$option" --from-tags '1.0-*' "$R/left/app:1.0"
        [ "${stderr_lines[0]}" = "variantctl: warning: 1.0-dcpu is left out: it does not say which build it is, and 'dcpu' is not known" ]
        [ "${stderr_lines[1]}" = "variantctl: warning: 1.0-hpu is left out: which Gaudi it is for is not stated" ]
        [ "${stderr_lines[2]}" = "hint: name such a build itself ('LABEL=$R/left/app:1.0-dcpu,PROPERTY'), add tag rules (--rules), or narrow the pattern" ]
    done
    # added: what an argument names; not added: the tag being written, and the tags of another set
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet --namespaces 'nvidia, habana' --from-tags '*' "$R/left/app:1.0" \
        "gaudi3=$R/left/app:1.0-hpu,habana :: arch :: gaudi3"
    [[ ${stderr_lines[0]} == *"warning: 1.0-dcpu is left out: "* ]]
    [ "${stderr_lines[1]}" = "variantctl: warning: 0.9-cpu is left out: it is of the set 0.9" ]
    [ "${stderr_lines[2]}" = "variantctl: warning: 0.9-cu126 is left out: it is of the set 0.9" ]
    [[ ${stderr_lines[3]} == "hint: name such a build itself "* ]]
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet --from-tags '1.0-c*' "$R/left/app:1.0-all"
    [ -z "$stderr" ]
}

@test "of many tags that stay out ten are named" {
    local i
    for i in a b c d e f g h i j k l; do push_layout "$STATE/images:cpu" "$R/many/app:1.0-$i"; done
    push_layout "$STATE/images:cpu" "$R/many/app:1.0-cpu"
    push_layout "$STATE/images:cu128" "$R/many/app:1.0-cu128"
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run --from-tags '1.0-*' "$R/many/app:1.0"
    [ "$(grep -c 'is left out: ' <<<"$stderr")" -eq 10 ]
    [[ $stderr == *$'\n'"variantctl: warning: 2 more are left out (--verbose lists them)"$'\n'* ]]
    run -0 --separate-stderr "$VARIANTCTL" --verbose index create --dry-run --from-tags '1.0-*' "$R/many/app:1.0"
    [ "$(grep -c 'is left out: ' <<<"$stderr")" -eq 12 ]
}

@test "devices that no tag names are assumed, and a plan and the result say so" {
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run --namespaces 'nvidia, amd' --from-tags '1.0-*' "$R/team/app:assumed" "hand=$R/team/app:1.0-cu126,nvidia :: sm_arch :: 90_real"
    [[ $output == *$'\n'"        nvidia :: cuda_version_lower_bound :: 12.8"$'\n'*"        nvidia :: sm_arch :: 90_real  (assumed)"$'\n'* ]]
    [[ $output == *" hand "*$'\n'"        nvidia :: sm_arch :: 90_real"$'\n'* ]]
    [[ $output == *$'\n'"        amd :: gfx_arch :: gfx942  (assumed)"$'\n'* ]]
    run -0 --separate-stderr "$VARIANTCTL" index create --namespaces 'nvidia, amd' --from-tags '1.0-*' "$R/team/app:1.0"
    [[ $output == *"devices assumed of cuda12.8 ($R/team/app:1.0-cu128): nvidia :: sm_arch, "*" values from 50_real to 120_real"* ]]
    [[ $output == *"devices assumed of rocm7.0 ($R/team/app:1.0-rocm7.0): amd :: gfx_arch, "*" values from gfx900 to gfx1201"* ]]
    [[ $output != *"devices assumed of gfx942"* ]] # its tag says it
    [[ $stderr == "hint: where a build holds fewer, say which: variantctl index annotate $R/team/app:1.0 '"*",nvidia :: sm_arch :: VALUE,...'" ]]
    run -0 --separate-stderr "$VARIANTCTL" index create --no-lint --dry-run --namespaces nvidia --from-tags '1.0-c*' "$R/team/app:1.0"
    [[ $stderr == *"annotate $R/team/app:1.0 'cuda12.8=nvidia :: cuda_version_lower_bound :: 12.8,"*"nvidia :: sm_arch :: VALUE,...'"* ]]
}

@test "index create asks for a missing target, and adds :latest" {
    run -2 "$VARIANTCTL" index create --from-tags '1.0-*'
    [ "$output" = "variantctl: index create: --from-tags needs the name of the index, too: index create --from-tags '1.0-*' REPO:TAG" ]
    run -2 "$VARIANTCTL" index create "null=$R/team/app:1.0-cpu"
    [ "$output" = "variantctl: index create: the name of the index comes first: index create REPO:TAG 'null=$R/team/app:1.0-cpu'" ]
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "$R/untagged/app" "null=$R/team/app:1.0-cpu"
    [ "$stderr" = "variantctl: warning: $R/untagged/app has no tag: using $R/untagged/app:latest" ]
}

@test "tags plan shows what they say to a publisher, and the command that makes an index of them" {
    local format
    for format in text json; do
        run -0 --separate-stderr "$VARIANTCTL" tags plan --format "$format" "$R/left/app"
        [ "$stderr" = "hint: vpull and variantd take such tags as they are; to a publisher they say: 0.9 (of 2 tags), 1.0 (of 2 tags). See 'variantctl index create --dry-run --from-tags \"0.9-*\" $R/left/app:0.9'" ]
    done
}
