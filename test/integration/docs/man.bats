#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Manual pages are made of what the programs say, so each verb has one, with each of its options, and of
# the documentation, so that the two cannot differ.
bats_require_minimum_version 1.5.0

load ../harness

@test "manual pages: mandoc has nothing to warn of" {
    run mandoc -T lint -W warning "$OCV_BUILD"/man/*
    echo "$output"
    [ -z "$output" ]
    [ "$(find "$OCV_BUILD/man" -name '*.[1578]' | wc -l)" -ge 40 ]
}

@test "manual pages: every verb has one" {
    local verb sub
    for verb in $("$VARIANTCTL" --help | sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
        [ -s "$OCV_BUILD/man/variantctl-$verb.1" ] || { echo "none: $verb"; false; }
        for sub in $("$VARIANTCTL" "$verb" --help | sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
            [ -s "$OCV_BUILD/man/variantctl-$verb-$sub.1" ] || { echo "none: $verb $sub"; false; }
        done
    done
    for sub in containerd docker podman crio; do
        grep -qF 'variantctl setup' "$OCV_BUILD/man/variantctl-setup-$sub.1"
    done
}

@test "manual pages: every program that is installed has one" {
    local program
    make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" install DESTDIR="$BATS_TEST_TMPDIR/d" PREFIX=/usr >/dev/null
    for program in "$BATS_TEST_TMPDIR"/d/usr/bin/* "$BATS_TEST_TMPDIR"/d/usr/libexec/ocivariant/ocivariant-*; do
        find "$BATS_TEST_TMPDIR/d/usr/share/man" -name "${program##*/}.[18]" | grep . || { echo "none: $program"; false; }
    done
    for program in ocivariant.7 ocivariant-config.5 ocivariant-lock.5 ocivariant-tags.5; do
        [ -s "$BATS_TEST_TMPDIR/d/usr/share/man/man${program##*.}/$program" ]
    done
}

@test "manual pages: every page that another one names is there" {
    local page
    cat "$OCV_BUILD"/man/* | sed -nE 's/\\-/-/g; s/\\f[BIR]//g; s/^\.BR ([a-z-]+) \(([1-8])\),?$/\1(\2)/; p' |
        grep -oE '\b(ocivariant|vpull|variant)[a-z-]*\([1-8]\)' | sort -u >"$BATS_TEST_TMPDIR/named"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -gt 15 ]
    while IFS='()' read -r page section; do
        [ -e "$OCV_BUILD/man/$page.$section" ] || echo "$page($section)"
    done <"$BATS_TEST_TMPDIR/named" >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "manual pages: ocivariant-config(5) has every key, its default and what it means" {
    local key default text
    text=$(mandoc -T ascii -O width=1000 "$OCV_BUILD/man/ocivariant-config.5" | col -bx)
    jq -e '[.properties, (.properties.registries, .properties.repositories).additionalProperties.properties |
        .[] | .description] | all(length > 5)' "$OCV_TOP/schema/config.schema.json"
    for key in $(jq -r '.properties | keys[]' "$OCV_TOP/schema/config.schema.json"); do
        default=$(jq -r ".properties.$key.default | select(type == \"string\" and . != \"\")" "$OCV_TOP/schema/config.schema.json")
        grep -A3 -E "^       $key( |\$)" <<<"$text" | grep -qF "${default:+default: }$default" || { echo "none: $key"; false; }
    done
    "$OCV_TOP/contrib/keys-docs.sh" | diff - "$OCV_TOP/docs/configuration.md"
}

@test "manual pages: no Markdown is left in those made of the documentation" {
    local page
    for page in "$OCV_BUILD"/man/*.[57]; do
        mandoc -T ascii "$page" | col -bx | grep -nE '\]\([a-z.]+|\*\*[a-z]|^ *\|' && { echo "$page"; false; }
        awk '{ t = t $0 "\n" } END { exit t ~ /\n\.SH (SEE ALSO|NAME)\n\.SH/ }' "$page"
    done
    # tables, nested lists and examples of a page, word for word
    mandoc -T ascii "$OCV_BUILD/man/ocivariant-lock.5" | col -bx | grep -F '"schema": "dev.ocivariant.lock/v1",'
    mandoc -T ascii "$OCV_BUILD/man/ocivariant.7" | col -bx | grep -E '^       130 +interrupted$'
}

@test "manual pages: every option of the help stands in it" {
    local option text
    text=$(mandoc -T ascii "$OCV_BUILD/man/vpull.1" | col -b)
    for option in $("$VPULL" --help-all | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
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
