#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What ramalama and LocalAI take for a machine, and what an index of the same images gives it (docs/compare.md).

load ../harness
load ../images

# compare_index FILE: the index of its `image` lines; the digest of each names its image
compare_index()
{
    local names n=0 rest platform label properties manifests=
    names=$(sed -n 's/^namespaces //p' "$1")
    while read -r label platform properties; do
        n=$((n + 1))
        manifests+=$(jq -nc --arg name "$label" --arg p "$platform" --arg properties "$properties" --arg n "$n" '
            ($p | split("/")) as [$os, $arch] | {mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1000,
             digest: ("sha256:" + ("0" * (64 - ($n | length))) + $n), platform: {os: $os, architecture: $arch},
             annotations: {"dev.ocivariant.label": $name, "dev.ocivariant.properties": $properties}}')
    done < <(sed -n 's/^image //p' "$1")
    jq -s --arg names "$names" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        annotations: {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": $names}, manifests: .}' <<<"$manifests"
}

# replay PROJECT: each case gives the image it says; where that is not the project's, docs/compare.md has its line
replay()
{
    local file=$OCV_TOP/test/data/compare/$1 line images machine options theirs ours cases=0 differ=0
    compare_index "$file" >"$BATS_TEST_TMPDIR/index.json"
    while IFS='|' read -r images machine options; do
        read -r theirs ours <<<"$images"
        read -r machine <<<"$machine"
        # shellcheck disable=SC2086
        run -0 --separate-stderr "$VARIANTCTL" resolve --index "$BATS_TEST_TMPDIR/index.json" $options
        line=$(jq -r '.selected.label' <<<"$output")
        [ "${line%%.*}" = "$ours" ] || { echo "$machine: $line, not $ours"; return 1; }
        cases=$((cases + 1))
        [ "$theirs" = "$ours" ] && continue
        differ=$((differ + 1))
        grep -qF "| $machine | \`$theirs\` | \`$ours\` |" "$OCV_TOP/docs/compare.md" || { echo "not listed: $machine"; return 1; }
    done < <(sed -n 's/^case //p' "$file")
    [ "$cases" -ge 14 ]
    [ "$differ" -ge 5 ]
    # and the page lists nothing else
    [ "$(sed -n "/^## $2/,/^## /p" "$OCV_TOP/docs/compare.md" | grep -c '^| [^|]* | `')" -eq "$differ" ]
}

setup() { export OCV_DATADIR=$OCV_TOP/plugins; }

@test "an index of ramalama's images gives its own choice, and where it does not the page says why" { replay ramalama ramalama; }

@test "an index of LocalAI's llama-cpp builds gives its own choice, and where it does not the page says why" { replay localai LocalAI; }
