# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2154 # of run.sh
# Part `before` of run.sh: our own commands beside those of another commit, in pairs. OCV_BEFORE=DIR is that commit,
# installed with `make install DESTDIR=DIR PREFIX=/usr`.

before()
{
    local name command app=$REGISTRY/bench/app:1 old=$OCV_BEFORE/usr
    local -A commands=(
        [print-ref]="vpull --print-ref $app" [print-ref-ordinary]="vpull --print-ref $REGISTRY/bench/ordinary:1"
        [probe]="variantctl probe --format json" [probe-table]="variantctl probe --format text"
        [explain]="variantctl explain $app" [lint]="variantctl lint $app" [version]="vpull --version")
    [ -e "$STATE/app" ] || publish_index
    echo "## Beside $("$old/bin/vpull" --version | head -n 1) as built before, whole process"
    echo
    echo "| command | before: wall ms | now: wall ms | now/before: wall | RSS |"
    echo "|---|---|---|---|---|"
    for name in print-ref print-ref-ordinary probe probe-table explain lint version; do
        command=${commands[$name]}
        alternate $((3 * rounds_small)) nothing \
            "now-$name" "$installed/bin/$command" \
            "before-$name" "OCV_DATADIR=$old/share/ocivariant OCV_LIBEXECDIR=$old/libexec/ocivariant $old/bin/$command"
        awk -v name="$name" -v a="$(median "before-$name" 1)" -v b="$(median "now-$name" 1)" \
            -v ra="$(median "before-$name" 3)" -v rb="$(median "now-$name" 3)" \
            'BEGIN { printf "| %s | %.2f | %.2f | %.2f | %.2f |\n", name, a, b, b / a, rb / ra }'
    done
    echo
}
