#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What contributors read names files that exist.

load harness

# Paths in backquotes below these directories; NAME is what the reader writes.
named_paths()
{
    # shellcheck disable=SC2016 # backquotes as they are
    grep -ohE '`(lib|cmd|plugins|schema|test|contrib|docs)(/[A-Za-z0-9_.-]+)*`' "$@" | tr -d '`' | grep -v 'NAME' | sort -u
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

@test "links between the pages lead to files" {
    cd "$OCV_TOP"
    for page in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md docs/internals/*.md plugins/*/README.md; do
        grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v :// | while read -r target; do
            [ -e "$(dirname "$page")/$target" ] || echo "$page: $target"
        done
    done >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}
