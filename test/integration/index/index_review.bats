#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What variantctl index says before it pushes: lint's errors, accelerators without an order, a tag
# that is its own default. In the words that a publisher sees.

load ../harness
load ../images

setup_file()
{
    start_publisher cpu cuda rocm arm
}

setup()
{
    empty_checkout
    L=$VARIANTS
    CUDA='nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real'
}

published() # REPO:TAG
{
    curl -sf -o /dev/null -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$R/v2/${1%:*}/manifests/${1##*:}"
}

@test "a feature that does not exist is refused before anything is pushed, with the one that was meant" {
    run -4 "$VARIANTCTL" index create "$R/typo:1" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cuda,nvidia :: cuda_version :: 12.8"
    [ "${lines[0]}" = "variantctl: error: cuda12.8: the namespace nvidia has no feature cuda_version [OCV204 feature-unknown]" ]
    [ "${lines[1]}" = "hint: did you mean nvidia :: cuda_version_lower_bound :: 12.8?" ]
    [ "${lines[2]}" = "variantctl: $R/typo:1: lint finds 1 error: nothing was written" ]
    [ "${lines[3]}" = "hint: --no-lint writes it anyway" ]
    [ "$(curl -s "http://$R/v2/typo/tags/list" | jq -r '.errors[0].code')" = NAME_UNKNOWN ]
    run -4 "$VARIANTCTL" index create --dry-run "$R/typo:1" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cuda,nvidia :: cuda_version :: 12.8"
    run -0 --separate-stderr "$VARIANTCTL" index create --no-lint "$R/typo:1" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cuda,nvidia :: cuda_version :: 12.8"
    [[ $stderr == *"warning: cuda12.8: the namespace nvidia has no feature cuda_version [OCV204 feature-unknown]"* ]]
    published typo:1
}

@test "a value that lost its dot is never taken for a lower version" {
    run -4 "$VARIANTCTL" index create "$R/dot:1" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cuda,nvidia :: cuda_version_lower_bound :: 128"
    [ "${lines[1]}" = "hint: did you mean nvidia :: cuda_version_lower_bound :: 12.8?" ]
    run ! published dot:1
}

@test "two builds that no host can tell apart are refused, with the way out" {
    run -4 "$VARIANTCTL" index create "$R/equal:1" "null=$R/app:1.0-cpu" "a=$R/app:1.0-cuda,$CUDA" "b=$R/app:1.0-rocm,$CUDA"
    [ "${lines[0]}" = "variantctl: error: b: a and b have equal properties: only the label separates them [OCV119 sets-equal]" ]
    [ "${lines[1]}" = "hint: leave one out, or say what one needs and the other does not" ]
    run -0 "$VARIANTCTL" index create --quiet "$R/equal:1" "null=$R/app:1.0-cpu" "a=$R/app:1.0-cuda,$CUDA" "b=$R/app:1.0-rocm,nvidia :: sm_arch :: 80_real"
}

@test "two builds that only the label ranks: a warning, whose hint leads out" {
    local hint
    run -0 "$VARIANTCTL" index create "$R/rank:1" "null=$R/app:1.0-cpu" "a=$R/app:1.0-cuda,nvidia :: sm_arch :: 80_real,nvidia :: sm_arch :: 90_real" \
        "b=$R/app:1.0-rocm,nvidia :: sm_arch :: 75_real,nvidia :: sm_arch :: 90_real"
    [[ $output == *"warning: b: on some hosts only the label decides between a and b [OCV120 only-label-separates]"* ]]
    run -0 "$VARIANTCTL" lint "$R/rank:1"
    hint=$(sed -n 's/^ *hint: rank them, the better one 1: //p' <<<"$output")
    [[ $hint == "variantctl index annotate --static "* ]]
    eval "${hint/variantctl/\"\$VARIANTCTL\"}"
    run -0 "$VARIANTCTL" lint "$R/rank:1"
    [[ $output != *OCV120* && $output == *"0 errors, "* ]]
    # where the namespaces have an order of the publisher's, and where one fits wherever the other does
    run -0 "$VARIANTCTL" index create --namespaces 'nvidia, amd' "$R/rank:2" "null=$R/app:1.0-cpu" "a=$R/app:1.0-cuda,nvidia :: sm_arch :: 80_real" \
        "b=$R/app:1.0-rocm,nvidia :: sm_arch :: 80_real,nvidia :: sm_arch :: 90_real"
    run -0 "$VARIANTCTL" lint "$R/rank:2"
    hint=$(sed -n 's/^ *hint: rank them, the better one 1: //p' <<<"$output")
    eval "${hint/variantctl/\"\$VARIANTCTL\"}"
    run -0 "$VARIANTCTL" lint "$R/rank:2"
    [[ $output != *OCV120* && $output != *OCV121* && $output == *"0 errors, "* ]]
}

@test "what the image itself asks for is compared with its properties" {
    mkimage layout cpu >/dev/null
    mkimage layout cuda --layer 1000 --env 'NVIDIA_REQUIRE_CUDA=cuda>=12.8' >/dev/null
    run -4 "$VARIANTCTL" index create "oci:layout:app" null=oci:layout:cpu "cuda=oci:layout:cuda,nvidia :: cuda_version_lower_bound :: 12.4"
    [[ ${lines[0]} == "variantctl: error: cuda: NVIDIA_REQUIRE_CUDA refuses hosts below cuda 12.8"*"[OCV402 require-stricter]" ]]
    run -0 "$VARIANTCTL" index create --quiet "oci:layout:app" null=oci:layout:cpu "cuda=oci:layout:cuda,nvidia :: cuda_version_lower_bound :: 12.8"
}

@test "two accelerators need an order, and the line to add is given" {
    run -4 "$VARIANTCTL" index create "$R/order:1" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cuda,$CUDA" "rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942"
    [ "${lines[0]}" = "variantctl: two accelerators without an order: nvidia, amd" ]
    [ "${lines[1]}" = "hint: list them, most important first: --namespaces 'nvidia, amd'" ]
    run ! published order:1
    run -0 "$VARIANTCTL" index create --quiet "$R/order:1" --namespaces 'nvidia, amd' "null=$R/app:1.0-cpu" \
        "cuda12.8=$R/app:1.0-cuda,$CUDA" "rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942"
    # one that is added to an index of one
    "$VARIANTCTL" index create --quiet "$R/order:2" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cuda,$CUDA"
    run -4 "$VARIANTCTL" index add "$R/order:2" "rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942"
    [ "${lines[1]}" = "hint: list them, most important first: --namespaces 'nvidia, amd'" ]
    run -0 "$VARIANTCTL" index add --quiet "$R/order:2" --namespaces nvidia,amd "rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942"
    # processors have their place, and so has a list of the publisher's own
    run -0 "$VARIANTCTL" index create --quiet "$R/order:3" --static 'own=order :: 1' "null=$R/app:1.0-cpu" \
        "cuda12.8=$R/app:1.0-cuda,$CUDA,own :: order :: 1" "v3=$R/app:1.0-rocm,x86_64 :: level :: v3"
    cat >app.yaml <<YAML
target: $R/order:4
variants:
  - {label: null, image: "$R/app:1.0-cpu"}
  - {label: rocm7.1, image: "$R/app:1.0-rocm", properties: {amd: {gfx_arch: gfx942}}}
  - {label: cuda12.8, image: "$R/app:1.0-cuda", properties: {nvidia: {sm_arch: 90_real, cuda_version_lower_bound: 12.8}}}
YAML
    run -4 "$VARIANTCTL" index create --from app.yaml
    [ "${lines[0]}" = "variantctl: error: app.yaml:1: 2 accelerators without an order: amd, nvidia [OCV103 namespaces-missing]" ]
    [ "${lines[1]}" = "hint: add 'namespaces: [amd, nvidia]', most important first" ]
    echo 'namespaces: [nvidia, amd]' >>app.yaml
    run -0 "$VARIANTCTL" index create --quiet --from app.yaml
}

@test "an error of --from names the line" {
    cat >app.yaml <<YAML
target: $R/lines:1
variants:
  - {label: null, image: "$R/app:1.0-cpu"}
  - label: cuda12.8
    image: $R/app:1.0-cuda
    properties: {nvidia: {sm_arhc: 90_real}}
YAML
    run -4 "$VARIANTCTL" index create --from app.yaml
    [ "${lines[0]}" = "variantctl: error: app.yaml:6: cuda12.8: the namespace nvidia has no feature sm_arhc [OCV204 feature-unknown]" ]
}

@test "what was wrong before an edit does not forbid it, what it makes wrong does" {
    "$VARIANTCTL" index create --quiet --no-lint "$R/old:1" "null=$R/app:1.0-cpu" \
        "a=$R/app:1.0-cuda,nvidia :: sm_arhc :: 90_real" "b=$R/app:1.0-rocm,nvidia :: sm_arch :: 80real" 2>/dev/null
    run -4 "$VARIANTCTL" index annotate "$R/old:1" 'a=nvidia :: sm_acrh :: 90_real'
    [[ $output == *"error: a: the namespace nvidia has no feature sm_acrh"* ]]
    [[ $output == *"warning: b: nvidia :: sm_arch has no value 80real"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet "$R/old:1" 'a=nvidia :: sm_arch :: 90_real'
    [[ $stderr == *"warning: b: nvidia :: sm_arch has no value 80real [OCV205 value-unknown]"*"hint: did you mean nvidia :: sm_arch :: 80_real?"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet "$R/old:1" 'b=nvidia :: sm_arch :: 80_real'
    [ -z "$stderr" ]
}

@test "a repository's settings decide here, too" {
    printf 'level: {OCV204: warning}\n' >.ocivariant-lint.yaml
    run -0 --separate-stderr "$VARIANTCTL" index create "$R/settings:1" "null=$R/app:1.0-cpu" "cuda=$R/app:1.0-cuda,nvidia :: newer :: 1"
    [[ $stderr == *"warning: cuda: the namespace nvidia has no feature newer [OCV204 feature-unknown]"* ]]
    printf 'level: {OCV204: nonsense}\n' >.ocivariant-lint.yaml
    run -2 "$VARIANTCTL" index create "$R/settings:2" "null=$R/app:1.0-cpu" "cuda=$R/app:1.0-cuda,nvidia :: newer :: 1"
    [[ $output == *".ocivariant-lint.yaml:1"* ]]
}

@test "a tag that is its own default can be made again, as a pipeline does" {
    local first build
    push_layout "$L:cpu" "$R/own:1.0"
    build=$(curl -sfI -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$R/v2/own/manifests/1.0" | tr -d '\r' | sed -n 's/^Docker-Content-Digest: //Ip')
    first=$("$VARIANTCTL" index create --quiet "$R/own:1.0" "null=$R/own:1.0" "null=$R/app:1.0-arm" "cuda12.8=$R/app:1.0-cuda,$CUDA")
    run -0 "$VARIANTCTL" index create "$R/own:1.0" "null=$R/own:1.0" "null=$R/app:1.0-arm" "cuda12.8=$R/app:1.0-cuda,$CUDA"
    [[ ${lines[0]} == "$R/own:1.0  $first  (3 entries; unchanged)" ]]
    run -0 "$VARIANTCTL" index show --format json "$R/own:1.0"
    [ "$(jq -r '.manifests[0].digest' <<<"$output")" = "$build" ]
    # any other index with variants is still no build
    run -2 "$VARIANTCTL" index create "$R/own:2.0" "null=$R/own:1.0"
    [[ $output == *"has variants itself"* ]]
}
