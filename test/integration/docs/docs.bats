#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What contributors read names files that exist.

load ../harness

# Paths below these directories, alone or in a command; NAME is what the reader writes.
named_paths()
{
    grep -ohE '(^|[^A-Za-z0-9_./-])(lib|cmd|plugins|schema|test|contrib|docs)(/[A-Za-z0-9_.-]+)+' "$@" |
        sed 's/^[^a-z]//; s/[.]$//' | grep -v 'NAME' | sort -u
}

@test "every path that docs/internals and CONTRIBUTING.md name exists" {
    cd "$OCV_TOP"
    named_paths docs/internals/*.md CONTRIBUTING.md >"$BATS_TEST_TMPDIR/paths"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/paths")" -gt 60 ]
    while read -r path; do
        [ -e "$path" ] || echo "$path"
    done <"$BATS_TEST_TMPDIR/paths" >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "every function, table and test that docs/internals names is in the code" {
    cd "$OCV_TOP"
    # shellcheck disable=SC2016 # backquotes as they are
    grep -ohE '`[a-z]+(_[a-z0-9]+)+`|`[a-z_]+\[\]`|`struct [a-z_]+`' docs/internals/*.md | tr -d '`[]' | sort -u >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 15 ]
    while read -r name; do
        grep -rqw --include='*.[ch]' "$name" lib cmd plugins || echo "$name"
    done <"$BATS_TEST_TMPDIR/names" >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
    grep -ohE 'test/unit/[a-z-]+/run test_[a-z_]+' docs/internals/*.md CONTRIBUTING.md | sort -u | while read -r program; do
        [ -n "$(find test/unit -name "${program##* }.c")" ] || echo "$program"
    done >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "links between the pages lead to files" {
    cd "$OCV_TOP"
    for page in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md docs/internals/*.md plugins/*/README.md; do
        grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v :// | while read -r target; do
            [ -e "$(dirname "$page")/$target" ] || echo "$page: $target"
        done
    done >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}
