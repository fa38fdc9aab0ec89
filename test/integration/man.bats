#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Manual pages are made of what the programs say, so each verb has one, with each of its options.
bats_require_minimum_version 1.5.0

load harness

@test "manual pages: mandoc has nothing to warn of" {
    run mandoc -T lint -W warning "$OCV_BUILD"/man/*
    echo "$output"
    [ -z "$output" ]
    [ "$(find "$OCV_BUILD/man" -name '*.[18]' | wc -l)" -ge 20 ]
}

@test "manual pages: every verb has one" {
    local verb sub
    for verb in $("$VARIANTCTL" --help | sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
        [ -s "$OCV_BUILD/man/variantctl-$verb.1" ] || { echo "none: $verb"; false; }
        for sub in $("$VARIANTCTL" "$verb" --help | sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
            [ -s "$OCV_BUILD/man/variantctl-$verb-$sub.1" ] || { echo "none: $verb $sub"; false; }
        done
    done
}

@test "manual pages: every option of the help stands in it" {
    local option text
    text=$(mandoc -T ascii "$OCV_BUILD/man/vpull.1" | col -b)
    for option in $("$VPULL" --help | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        grep -q -- "$option" <<<"$text" || { echo "none: $option"; false; }
    done
    grep -q '^NAME' <<<"$text"
    grep -q "ocivariant $(cat "$OCV_TOP/VERSION")" <<<"$text"
}

@test "packages: the changelog has the version, the configuration every key" {
    cd "$OCV_TOP"
    [ "$(sed -n '1s/^ocivariant (\(.*\)) .*/\1/p' contrib/debian/changelog)" = "$(cat VERSION)" ]
    awk -f contrib/config.awk docs/configuration.md >"$BATS_TEST_TMPDIR/config.yaml"
    run ! grep -nE '^[^#]' "$BATS_TEST_TMPDIR/config.yaml"
    "$OCV_BUILD/variantd" --config "$BATS_TEST_TMPDIR/config.yaml" --check
    local key
    for key in $(jq -r '.properties | keys[]' schema/config.schema.json); do
        grep -qE "^#$key:" "$BATS_TEST_TMPDIR/config.yaml" || { echo "none: $key"; false; }
    done
}
