#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Run one fuzz target: first its seeds and every input kept from earlier finds, then new ones.
#
#   test/fuzz/run.sh --list           the targets' names
#   test/fuzz/run.sh NAME [SECONDS]   FUZZ_BUILD: where they were built (build-fuzz)
#
# FUZZ_SEED=N makes every run try the same inputs in the same order, so that a change is checked by
# what it does and not by the day's luck (.ci/run); without it the search goes where it never was.
# Seeds: test/data/fuzz/NAME. What is learnt goes to FUZZ_BUILD/corpus/NAME, a find to FUZZ_BUILD/finds.
set -euo pipefail

cd "$(dirname "$0")/../.."
build=${FUZZ_BUILD:-build-fuzz}

if [ "${1:-}" = --list ]; then
    for file in test/fuzz/*/fuzz_*.c; do
        name=$(basename "$file" .c)
        echo "${name#fuzz_}"
    done
    exit 0
fi
name=${1:?usage: run.sh NAME [SECONDS]}
seconds=${2:-10}
corpus=$build/corpus/$name
mkdir -p "$corpus" "$build/finds"
seeds=()
[ ! -d "test/data/fuzz/$name" ] || seeds=("test/data/fuzz/$name")
# 1 MiB of input reaches all limits except those on whole documents, which have unit tests
seed=()
[ -z "${FUZZ_SEED:-}" ] || seed=(-seed="$FUZZ_SEED")
exec "$build/test/fuzz/fuzz_$name" -max_total_time="$seconds" "${seed[@]}" -max_len=1048576 -timeout=10 \
    -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 -artifact_prefix="$build/finds/$name-" \
    "$corpus" "${seeds[@]}"
