# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154 # the variables of run.sh
# make bench: a fleet of 10,000 nodes in 400 classes, an index of 64 variants, a job of 64 members. Sourced by run.sh.

match_row() # NAME MEDIAN_US MIN_US MAX_US
{
    awk -v plain="${PLAIN:-}" '{
        if ($1 == "memory-MiB") next
        printf "| %s | %.3f |", $1, $2 / 1e3
        print plain ? "" : sprintf(" %.3f-%.3f |", $3 / 1e3, $4 / 1e3)
    }'
}

match()
{
    local profiles=$OCV_TOP/plugins/profiles nodes=10000 classes=400 rounds=7
    [ -z "$quick" ] || nodes=1000 classes=40 rounds=3
    "$VARIANTCTL" fleet generate --seed 7 --nodes $nodes --classes $classes "$profiles"/{h100,mi300x}.json >"$STATE/fleet.jsonl"
    "$VARIANTCTL" fleet pack "$STATE/fleet.jsonl" >"$STATE/fleet.packed"
    "$tools/bench_match" index >"$STATE/index-64.json"
    echo "## A fleet of $nodes nodes in $classes classes, an index of 64 variants, in one process"
    echo
    echo "Seeded. match checks all classes and places a job of 64, gang places on what was checked before, change is"
    echo "one node's new profile, from its bytes to the judgement. \"plain\" is what a node calls, without classes; names"
    echo "with 100000 are of the same fleet ten times over."
    echo
    if [ -n "${PLAIN:-}" ]; then
        printf '%s\n' "| what | median ms |" "|---|---|"
    else
        printf '%s\n' "| what | median ms | min-max |" "|---|---|---|"
    fi
    "$tools/bench_match" "$STATE/fleet.jsonl" | match_row
    echo
    alternate $rounds nothing \
        match-packed "$VARIANTCTL match --profiles $STATE/fleet.packed --replicas 64 --print-ref --index $STATE/index-64.json" \
        match-profiles "$VARIANTCTL match --profiles $STATE/fleet.jsonl --replicas 64 --print-ref --index $STATE/index-64.json" \
        true-match /bin/true
    echo "## variantctl match of that fleet and index, whole process"
    echo
    rows match-packed match-profiles true-match
    echo
}
