#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make bench: three runs of run.sh, and BENCHMARKS.md with the range of their figures, cell by cell. A run
# is $OCV_BUILD/bench-N.md. PARTS and QUICK as there; with them BENCHMARKS.md is left alone.
set -euo pipefail

cd "$(dirname "$0")/../.."
OCV_BUILD=${OCV_BUILD:-build}
export OCV_BUILD
runs=()
for run in 1 2 3; do
    RESULT=$OCV_BUILD/bench-$run.md PLAIN=1 test/bench/run.sh
    runs+=("$OCV_BUILD/bench-$run.md")
done
out=$OCV_BUILD/bench.md
# Lines of all runs side by side: where the cells of a table differ, the smallest and the largest
# number.
paste -d $'\x1f' "${runs[@]}" | awk -F $'\x1f' '
    function merge(a, b, c,    i, n, left, right, last, low, high) {
        n = split(a, left, "|"); split(b, right, "|"); split(c, last, "|")
        for (i = 1; i <= n; i++) {
            if (left[i] == right[i] && left[i] == last[i])
                continue
            left[i] = " " range(left[i], right[i], last[i]) " "
        }
        a = left[1]
        for (i = 2; i <= n; i++)
            a = a "|" left[i]
        return a
    }
    # "12 MiB, 15 MiB" is two numbers, each with what follows it
    function range(a, b, c,    i, n, x, y, z, text, low, high, unit) {
        n = split(a, x, ","); split(b, y, ","); split(c, z, ",")
        for (i = 1; i <= n; i++) {
            low = high = x[i]
            if (y[i] + 0 < low + 0) low = y[i]
            if (z[i] + 0 < low + 0) low = z[i]
            if (y[i] + 0 > high + 0) high = y[i]
            if (z[i] + 0 > high + 0) high = z[i]
            unit = x[i]
            sub(/^ *-?[0-9.]+ */, "", unit)
            sub(/ *$/, "", unit)
            sub(/^ */, "", low); sub(/[^-0-9.].*/, "", low)
            sub(/^ */, "", high); sub(/[^-0-9.].*/, "", high)
            text = text (i > 1 ? ", " : "") (low == high ? low : low "-" high) (unit == "" ? "" : " " unit)
        }
        return text
    }
    $1 ~ /^\|/ { print merge($1, $2, $3); next }
    { print $1 }
    NR == 1 { print "\nRanges of the medians of three runs of `make bench`, one after the other on a machine that did nothing else." }
' >"$out"
[ -n "${PARTS:-}${QUICK:-}" ] || cp "$out" BENCHMARKS.md
cat "$out"
