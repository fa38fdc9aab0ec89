#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Profiles of common machines: --profile takes their names, in every command that has it.
bats_require_minimum_version 1.5.0

load ../harness
load ../images
load ../variantd
load ../schema

setup_file()
{
    state_start
    require jq
    make_variants "$STATE/layout"
    export L=$STATE/layout
    export OCV_DATADIR=$OCV_TOP/plugins
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
}

names()
{
    local name
    for name in "$OCV_DATADIR"/profiles/*.json; do
        basename "$name" .json
    done | sort
}

@test "each is a valid profile with words of the vocabulary, and is what --profile NAME shows" {
    local name ns
    [ "$(names | wc -l)" -ge 16 ]
    for name in $(names); do
        run -0 "$VARIANTCTL" probe --json --profile "$name"
        diff <(jq -S . <<<"$output") <(jq -S . "$OCV_DATADIR/profiles/$name.json")
        printf '%s' "$output" >"$name.out"
        for ns in $(jq -r '.namespaces[].namespace' "$name.out"); do
            "$VARIANTCTL" vocabulary "$ns" >/dev/null || { echo "$name: $ns" && false; }
        done
        # what only one machine has stays at home
        [ "$(jq '[.. | objects | has("uuid") or has("boot_id") or has("generated")] | any' "$name.out")" = false ] || [[ $name =~ ^(h100|laptop|mi300x)$ ]]
    done
    valid profile ./*.out
}

@test "every command that takes --profile takes the name" {
    run -0 "$VPULL" --config /dev/null --dry-run --profile h100 "oci:$L:app"
    [[ $stderr$output == *"cuda12.8"* ]]
    run -0 "$VPULL" --config /dev/null --dry-run --profile mi300x "oci:$L:app"
    [[ $output == *"rocm7.1"* ]]
    run -0 "$VARIANTCTL" explain --profile laptop "oci:$L:app"
    [[ $output == *"cpu.v3"* ]]
    run -0 "$VARIANTCTL" resolve --profile h100 "oci:$L:app"
    run -0 "$VARIANTCTL" lock --profile h100 --profile amd=mi300x "oci:$L:app"
    [ "$(jq -r '.images[0].profiles | keys | join(" ")' <<<"$output")" = "amd h100" ]
    run -0 "$VARIANTCTL" coverage --profile h100 "oci:$L:app"
    [[ $output == *h100*cuda12.8* ]]
    run -0 "$VARIANTCTL" coverage --profiles laptop --profiles mi300x "oci:$L:app"
    [[ $output == *laptop*mi300x* ]]
    run -0 "$VARIANTCTL" verify --json --profile h100 --from "oci:$L"
    [ "$(jq -c '[.. | .label? // empty] | unique' <<<"$output")" = '["cuda12.8"]' ]
    run -0 --separate-stderr "$VARIANTCTL" images --json --profile mi300x --from "oci:$L"
    [ "$(jq -c '[.. | .label? // empty] | unique' <<<"$output")" = '["rocm7.1"]' ]
    # a claim is for all machines, and says so
    run -2 --separate-stderr "$VARIANTCTL" claim --profile h100 "oci:$L:app"
    [[ $stderr == *"a claim is for all machines: no --profile"* ]]
}

@test "the daemon and its check take the name, too, and say which are known" {
    local known
    known=$(names | paste -sd, | sed 's/,/, /g')
    start_variantd --profile h100
    [ "$(curl --silent --unix-socket "$VARIANTD_SOCKET" http://localhost/v1/profile | jq -r .hostname)" = "$(jq -r .hostname "$PROFILES/h100.json")" ]
    stop_daemon variantd
    run -2 --separate-stderr "$VARIANTD_BIN" --config /dev/null --check --profile h10
    [[ $stderr == *"--profile: no file 'h10'; known: $known"* ]]
}

@test "a file of the name goes first; a wrong name says which are known" {
    local known
    known=$(names | paste -sd, | sed 's/,/, /g')
    mkdir h200 # a layout, say
    run -0 "$VARIANTCTL" probe --json --profile h200
    cp "$OCV_DATADIR/profiles/mi300x.json" h100
    run -0 "$VPULL" --config /dev/null --dry-run --profile h100 "oci:$L:app"
    [[ $output == *"rocm7.1"* ]]
    for wrong in h10 h100.json ''; do
        run -2 --separate-stderr "$VPULL" --config /dev/null --dry-run --profile "$wrong" "oci:$L:app"
        [ "$stderr" = "vpull: --profile: no file '$wrong'; known: $known" ]
    done
    run -2 --separate-stderr "$VARIANTCTL" probe --profile h10
    [ "$stderr" = "variantctl: --profile: no file 'h10'; known: $known" ]
    run -2 --separate-stderr "$VARIANTCTL" coverage --profile h10 "oci:$L:app"
    [ "$stderr" = "variantctl: --profile: no file 'h10'; known: $known" ]
    run -1 --separate-stderr "$VPULL" --config /dev/null --dry-run --profile ./h10 "oci:$L:app"
    [ "$stderr" = "vpull: ./h10: No such file or directory" ]
    OCV_DATADIR=$PWD run -2 --separate-stderr "$VARIANTCTL" probe --profile h10
    [ "$stderr" = "variantctl: --profile: no file 'h10'" ]
}

@test "completion offers them beside files" {
    [ "$("$VPULL" __complete --profile h | cut -f 1 | paste -sd ' ')" = "h100 h200 :0" ]
    [ "$("$VARIANTCTL" __complete explain --profile mi3 | cut -f 1 | paste -sd ' ')" = "mi300x mi355x :0" ]
    [ "$("$VARIANTCTL" __complete lock --profile x=mi3 | cut -f 1 | paste -sd ' ')" = "x=mi300x x=mi355x :0" ]
}
