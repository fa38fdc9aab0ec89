#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index create --from-tags on a repository that no rule knows, with tags as publishers
# write them.

load harness
load images
load schema

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

teardown_file()
{
    state_stop
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    : >.git
}

@test "VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN, -arm64: one command, short labels, and lint finds nothing" {
    run -4 "$VARIANTCTL" index create --from-tags '1.0-*' "$R/team/app:1.0"
    [ "${lines[0]}" = "variantctl: two accelerators and no order: nvidia, amd" ]
    [ "${lines[1]}" = "hint: say which counts more: --namespaces 'nvidia, amd', most important first" ]
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
    [ "${lines[0]}" = "variantctl: --from-tags *: these tags make no set: 1.0-gpu: which CUDA version it needs is not said" ]
    [ "${lines[1]}" = "hint: tags are read as VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN or -arm64; --rules adds your own rules" ]
}

@test "nobody else's tags are read so: they are pulled as they are, and a plan says it in one line" {
    run -0 --separate-stderr "$VARIANTCTL" tags parse "$R/team/app:1.0-cu128"
    [ "$(jq -c '[.family, .properties]' <<<"$output")" = '[null,[]]' ]
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$PROFILES/h100.json" "$R/team/app:1.0-cpu"
    [ "$(jq -r .source <<<"$output")" = none ]
    run -0 --separate-stderr "$VARIANTCTL" tags plan --format table "$R/other/app"
    [[ $output == "$R/other/app  no tag rule knows it, "*" tag" || $output == "$R/other/app  no tag rule knows it, "*" tags" ]]
    [ "$stderr" = "hint: --rules FILE reads rules of your own (plugins/tags.d/README.md); 'variantctl index create --from-tags' reads VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN and -arm64 without" ]
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
