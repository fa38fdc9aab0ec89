#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of docs/quickstart.md, as they stand, with the files that `make install` gives.

load ../harness
load ../images
load ../world

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman curl openssl unshare nsenter
    local tag
    start_world
    world_registry
    make_programs "$STATE/layout"
    for tag in null=cpu cpu.v3=v3 cuda12.8=cu128 rocm7.1=rocm; do
        in_world skopeo --insecure-policy copy --quiet "oci:$STATE/layout:${tag%=*}" "docker://registry.example/team/app:1.0-${tag#*=}"
    done
    in_world skopeo --insecure-policy copy --quiet --all "oci:$STATE/layout:app" docker://registry.example/team/app:1.0
}

# what this machine gets of `app`
mine()
{
    in_world variantctl resolve registry.example/team/app:1.0 | jq -r '.selected.label // "null"'
}

@test "every section of the page has commands, and every command is in a section that a test runs" {
    local section
    grep '^## ' "$OCV_TOP/docs/quickstart.md" | cut -c 4- >"$STATE/sections"
    while read -r section; do
        page_blocks quickstart.md "$section" | grep -q . || { echo "no commands: $section"; false; }
        grep -qF "\"$section\"" -r "$BATS_TEST_FILENAME" "$OCV_TOP/test/packages" || { echo "not run: $section"; false; }
    done <"$STATE/sections"
    # indented blocks are for what is shown, not for commands
    run ! grep -nE '^    (\$ )?(vpull|variantctl|variantd)' "$OCV_TOP/docs/quickstart.md"
}

@test "quick start: who pulls" {
    run -0 run_section quickstart.md "You pull images: data scientists"
    echo "$output"
    [[ $output == *"this is $(mine)"* ]]
    [[ $output == *"registry.example/team/app@sha256:"* ]]
    run -0 in_world podman run --rm registry.example/team/app:1.0
    [[ $output == *"this is null"* ]] # --label null was the last
}

@test "quick start: who publishes" {
    run -0 run_section quickstart.md "You publish images"
    echo "$output"
    run -0 in_world skopeo inspect --raw docker://registry.example/team/app:2.0
    [ "$(jq -r '.manifests | map(.annotations["dev.ocivariant.label"] // "null") | join(" ")' <<<"$output")" = "null cpu.v3 cuda12.8 rocm7.1" ]
    in_world jq -e '.schema == "dev.ocivariant.profile/v1"' machines/this.json
}

@test "quick start: who runs a node, and nothing is left of it" {
    run -0 run_section quickstart.md "You run a node"
    echo "$output"
    [[ $output == *"shadow: would serve $(mine)"* ]]
    # under shadow the index, then the variant by the same name
    run -0 in_world cat /run/variantd.log
    [ "$(grep -c '"HEAD /v2/team/app/manifests/1.0" 200' <<<"$output")" -ge 1 ]
    [[ $output == *" 200 variant $(mine) "* ]]
    [ -z "$(in_world find /etc -name hosts.toml)" ]
    run ! in_world curl -s --unix-socket /run/ocivariant/variantd.sock http://localhost/v1/healthz
}

@test "quick start: who runs a cluster" {
    run -0 run_section quickstart.md "You run a cluster"
    echo "$output"
    # shellcheck disable=SC2016 # jq's variable
    in_world jq -e --arg mine "$(mine)" '.images[0].profiles["node-a"].label == (if $mine == "null" then null else $mine end)' variants.lock
    in_world jq -e '.manifests | length > 0' pulled/index.json
    [ -z "$(in_world find image -name hosts.toml)" ]
}
