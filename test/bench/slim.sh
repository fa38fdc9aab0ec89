# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# variantctl slim on an image of published wheels, beside a copy that compresses the same layers again: `slim`, called
# by run.sh, whose variables and functions it uses, and those of derive.sh. DERIVE_WHEELS as there.
# shellcheck disable=SC2154

slim_forget()
{
    rm -rf "$STATE/derive-cache" "$STATE/target"
    sync
}

slim()
{
    local rounds=3 memory copy from=docker://$REGISTRY/bench/wheels-of-slim:1
    local -a picked=() command=()
    echo "## variantctl slim, an image of published wheels, $registry_name on loopback"
    echo
    if [ -z "${DERIVE_WHEELS:-}" ]; then
        echo "Not measured: DERIVE_WHEELS names no directory of wheels (\`test/wheels/check.py --fetch DIR NAME...\`)."
        echo
        return
    fi
    [ -z "$quick" ] || rounds=1
    derive_pick
    derive_layout "${picked[@]}"
    skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$STATE/wheels" "$from"
    rm -r "$STATE/wheels"
    copy="--insecure-policy copy -q --src-tls-verify=false --dest-compress-format zstd --dest-compress-level 3"
    command=(env XDG_CACHE_HOME="$STATE/derive-cache" TMPDIR="$STATE" "$VARIANTCTL" slim --quiet --no-lint --compression zstd
        --for sm_80 --to "oci:$STATE/target:1" "${from#docker://}")
    # both read each layer, and write it in zstd; slim also reads the libraries, cuts them, and writes the original
    alternate $rounds slim_forget slim "${command[*]}" \
        skopeo-zstd "$skopeo $copy --dest-force-compress-format $from oci:$STATE/target:1"
    slim_forget
    memory=$(derive_memory "${command[@]}")
    echo "${#picked[@]} wheels, a layer each, $(skopeo inspect --raw --tls-verify=false "$from" |
        jq '[.layers[].size] | add / 1e9 * 100 | round / 100') GB in gzip. slim reads what derive does, cuts libraries for"
    echo "sm_80, compresses their layers with zstd, and writes an index of the original and of these; skopeo compresses all"
    echo "layers with zstd. Asked: no more than 1.2 times the wall time, and under 200 MiB of memory in all processes."
    echo
    rows slim skopeo-zstd
    echo
    printf '%s\n' "| RSS of all processes of slim | MiB |" "|---|---|" "| together, at most | $memory |"
    echo
    slim_forget
}
