#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a publisher is told of the tag that is written: what it named, what changed, what is gone.

load ../harness
load ../images

setup_file()
{
    start_publisher cpu cuda rocm
}

setup()
{
    empty_checkout
    L=$VARIANTS
    CUDA="cuda12.8=$R/app:1.0-cuda,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real"
    cuda=$(digest_of cuda12.8) rocm=$(digest_of rocm7.1)
}

@test "annotate says what was replaced, and which digest the tag had" {
    local was
    was=$("$VARIANTCTL" index create --quiet "$R/note:1" "null=$R/app:1.0-cpu" "$CUDA")
    run -0 "$VARIANTCTL" index annotate --dry-run "$R/note:1" "cuda12.8=nvidia :: cuda_version_lower_bound :: 12.6"
    [[ $output == *"  (2 entries; nothing was written)"$'\n'"would replace $was"$'\n'"~ cuda12.8  linux/amd64/x-cuda12-8  $cuda"$'\n'* ]]
    run -0 "$VARIANTCTL" index annotate "$R/note:1" "cuda12.8=nvidia :: cuda_version_lower_bound :: 12.6"
    [[ ${lines[0]} == "$R/note:1  sha256:"*"  (2 entries)" ]]
    [ "${lines[1]}" = "was $was" ]
    [ "${lines[2]}" = "~ cuda12.8  linux/amd64/x-cuda12-8  $cuda" ]
    [ "${lines[3]}" = "      - nvidia :: cuda_version_lower_bound :: 12.8" ]
    [ "${lines[4]}" = "      - nvidia :: sm_arch :: 90_real" ]
    [ "${lines[5]}" = "      + nvidia :: cuda_version_lower_bound :: 12.6" ]
    # a second time nothing changes, and nothing is said
    run -0 "$VARIANTCTL" index annotate "$R/note:1" "cuda12.8=nvidia :: cuda_version_lower_bound :: 12.6"
    [[ ${lines[0]} == *"  (2 entries; unchanged)" ]]
    [[ $output != *"was sha256:"* ]]
}

@test "annotate adds a property to those that there are, and takes one away" {
    local all
    "$VARIANTCTL" index create --quiet "oci:more:1" "null=oci:$L:cpu" "cuda12.8=oci:$L:cuda,nvidia :: sm_arch :: 90_real,nvidia :: cuda_version_lower_bound :: 12.8" >/dev/null
    properties() { "$VARIANTCTL" index show --format json oci:more:1 | jq -r '.manifests[-1].annotations["dev.ocivariant.properties"]'; }
    all=$(properties)
    run -0 "$VARIANTCTL" index annotate oci:more:1 'cuda12.8+=nvidia :: sm_arch :: 80_real'
    [ "$(grep -c '^      [+-] ' <<<"$output")" = 1 ]
    [[ $output == *"      + nvidia :: sm_arch :: 80_real"* ]]
    # what is there already is no second one
    run -0 "$VARIANTCTL" index annotate oci:more:1 'cuda12.8+=nvidia :: sm_arch :: 80_real'
    [[ ${lines[0]} == *"unchanged)" ]]
    run -0 "$VARIANTCTL" index annotate oci:more:1 'cuda12.8-=nvidia :: sm_arch :: 80_real'
    [ "$(properties)" = "$all" ]
    run -4 --separate-stderr "$VARIANTCTL" index annotate oci:more:1 'cuda12.8-=nvidia :: sm_arch :: 80_real'
    [[ $stderr == "variantctl: cuda12.8: it has no nvidia :: sm_arch :: 80_real"* ]]
    run -1 --separate-stderr "$VARIANTCTL" index annotate oci:more:1 'cuda12.9+=nvidia :: sm_arch :: 80_real'
    [[ $stderr == *"cuda12.9"* ]]
}

@test "add and remove print the build, and the digest that the tag had" {
    local was
    was=$("$VARIANTCTL" index create --quiet "oci:here:1" "null=oci:$L:cpu" "cuda12.8=oci:$L:cuda,nvidia :: sm_arch :: 90_real")
    run -0 --separate-stderr "$VARIANTCTL" index add --namespaces 'nvidia, amd' oci:here:1 "rocm7.1=oci:$L:rocm,amd :: gfx_arch :: gfx942"
    [ "${lines[1]}" = "was $was" ]
    [ "${lines[2]}" = "+ rocm7.1  linux/amd64/x-rocm7-1  $rocm" ]
    [ "${lines[3]}" = "      + amd :: gfx_arch :: gfx942" ]
    run -0 --separate-stderr "$VARIANTCTL" index remove oci:here:1 rocm7.1
    [ "${lines[2]}" = "- rocm7.1  linux/amd64/x-rocm7-1  $rocm" ]
    # that it is gone was asked for; that the list still has its namespace was not
    [ "$stderr" = "variantctl: note: no variant uses the namespace amd [OCV106 namespace-unused]"$'\n'"hint: --namespaces 'nvidia' leaves it out" ]
}

@test "create onto an index that somebody added to: what is gone is a warning, with the way back" {
    local mine theirs
    mine=$("$VARIANTCTL" index create --quiet "$R/team:1" "null=$R/app:1.0-cpu" "$CUDA")
    theirs=$("$VARIANTCTL" index add --quiet --namespaces nvidia,amd "$R/team:1" "rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942")
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run "$R/team:1" "null=$R/app:1.0-cpu" "$CUDA"
    [ "$stderr" = "variantctl: warning: $R/team:1 would lose rocm7.1 (linux/amd64/x-rocm7-1)" ]
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "$R/team:1" "null=$R/app:1.0-cpu" "$CUDA"
    [ "$output" = "$mine" ]
    # programs read it in the JSON, too
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run --format json "$R/team:1" "null=$R/app:1.0-cpu"
    [ "$(jq -c '[.previous, .changes.entries[] | if type == "object" then [.change, .label, .properties[0]] else . end]' <<<"$output")" = \
        "[\"$mine\",[\"removed\",\"cuda12.8\",\"nvidia :: cuda_version_lower_bound :: 12.8\"]]" ]
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "$R/team:1" "null=$R/app:1.0-cpu" "$CUDA"
    [ -z "$stderr" ]
    "$VARIANTCTL" index add --quiet --namespaces nvidia,amd "$R/team:1" "rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942"
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "$R/team:1" "null=$R/app:1.0-cpu" "$CUDA"
    [ "${stderr_lines[0]}" = "variantctl: warning: $R/team:1 has lost rocm7.1 (linux/amd64/x-rocm7-1)" ]
    [ "${stderr_lines[1]}" = "hint: variantctl index copy $R/team@$theirs $R/team:1 restores it" ]
    # the way back works, and says nothing of a loss
    run -0 --separate-stderr "$VARIANTCTL" index copy "$R/team@$theirs" "$R/team:1"
    [ "${lines[1]}" = "was $mine" ]
    [[ $output == *$'\n'"+ rocm7.1  linux/amd64/x-rocm7-1  $rocm"$'\n'* ]]
    [ -z "$stderr" ]
}

@test "a plan shows the properties that each label would have" {
    run -0 "$VARIANTCTL" index create --dry-run "$R/plan:1" "null=$R/app:1.0-cpu" "$CUDA"
    [[ $output == *" cuda12.8 "*"  from $R/app:1.0-cuda"$'\n'"        nvidia :: cuda_version_lower_bound :: 12.8"$'\n'"        nvidia :: sm_arch :: 90_real"$'\n'"to copy: "* ]]
    [[ $output != *"would replace"* ]]
}
