#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# containerd's own tests of snapshotters against ours (test/oracles/snapshotter-suite).

load ../harness
load ../snapshotter

setup()
{
    [ -n "${OCV_SNAPSHOTTER_SUITE:-}" ] ||
        skip "OCV_SNAPSHOTTER_SUITE names no program built from test/oracles/snapshotter-suite"
    [ "$(id -u)" = 0 ] || skip "needs root"
    state_start
}

teardown()
{
    [ -z "${STATE:-}" ] || state_stop
}

@test "containerd's own suite of snapshotter tests passes" {
    run env TMPDIR="$STATE" OCV_SNAPSHOTTER="$SNAPSHOTTER" \
        timeout 600 "$OCV_SNAPSHOTTER_SUITE" -test.v -test.root
    echo "$output" | grep -v 'level=debug' >"$STATE/suite.log"
    grep -e '--- FAIL' -e '_test.go:' -e 'issues.go:' "$STATE/suite.log" || true
    [ "$status" = 0 ]
    grep -q -e '^    --- PASS: TestSnapshotter/Walk ' "$STATE/suite.log"
}
