#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Backend.AI: what an agent's heartbeat says of its node.
bats_require_minimum_version 1.5.0

load ../harness
load ../images
load ../schema

setup_file() { state_start; }

@test "export backendai: a profile of the same class, which matches and resolves as the whole one" {
    local kind class
    make_variants "$STATE/images"
    for kind in h100 mi300x laptop; do
        run -0 "$VARIANTCTL" export backendai --profile "$PROFILES/$kind.json"
        jq -e 'keys == ["ocivariant"]' <<<"$output"
        jq -e '.ocivariant | keys == ["class", "profile", "schema", "version"]' <<<"$output"
        [ "$(jq -r .ocivariant.version <<<"$output")" = "$(cat "$OCV_TOP/VERSION")" ]
        [ "$(jq -r .ocivariant.schema <<<"$output")" = "$(jq -r .schema "$PROFILES/$kind.json")" ]
        jq .ocivariant.profile <<<"$output" >"$STATE/$kind.json"
        class=$("$VARIANTCTL" fleet pack "$PROFILES/$kind.json" | jq -r 'select(.name) | .class')
        [ "$(jq -r .ocivariant.class <<<"$output")" = "$class" ]
        [ "$("$VARIANTCTL" resolve --profile "$STATE/$kind.json" "oci:$STATE/images:app" | jq -r .selected.label)" = "$(wanted "$kind")" ]
    done
}

@test "export backendai: nothing that changes by itself, or names a device" {
    jq '.hostname = "other" | .generated = "2020-01-01T00:00:00Z" | .boot_id = "b"
        | (.namespaces[] | select(.namespace == "nvidia").devices[0].uuid) = "GPU-1"' "$PROFILES/h100.json" >"$STATE/other.json"
    diff <("$VARIANTCTL" export backendai --profile "$STATE/other.json") <("$VARIANTCTL" export backendai --profile "$PROFILES/h100.json")
    run ! grep -E 'other|GPU-1|H100' <("$VARIANTCTL" export backendai --profile "$STATE/other.json")
}

@test "export backendai: valid by the schema of profiles" {
    require_validator
    "$VARIANTCTL" export backendai --profile "$PROFILES/h100.json" | jq .ocivariant.profile >"$STATE/profile.json"
    valid profile "$STATE/profile.json"
}

@test "export backendai: wrong arguments and profiles" {
    run -2 --separate-stderr "$VARIANTCTL" export backendai here
    [ "${stderr_lines[0]}" = "variantctl: export backendai takes no argument, not 'here'" ]
    echo '{"schema": "dev.ocivariant.profile/v1", "namespaces": 1}' >"$STATE/bad.json"
    run -4 --separate-stderr "$VARIANTCTL" export backendai --profile "$STATE/bad.json"
    [[ $stderr == *"$STATE/bad.json"* && -z $output ]]
}
