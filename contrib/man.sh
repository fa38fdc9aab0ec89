#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/man.sh PROGRAMS_DIR OUT_DIR: the manual pages of all programs and verbs, from what their --help-all
# (hooks: --help) says, and those of formats and tasks, from the documentation (contrib/man-pages). The date is that of the
# last release.
set -eu

programs=$1
out=$2
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$top/VERSION")
date=$(date -u -d "$(sed -n 's/^ -- .*>  //p' "$top/contrib/debian/changelog" | head -n 1)" +%Y-%m-%d)
export LC_ALL=C

# help PROGRAM [VERB...]: what it says of itself
help()
{
    file=$programs/$1
    [ -x "$file" ] || file=$programs/libexec/$1
    shift
    case $file in
    */vpull | */variant* | */ocivariant-node-setup) set -- "$@" --help-all ;;
    *) set -- "$@" --help ;;
    esac
    LD_LIBRARY_PATH=$programs "$file" "$@"
}

# also PAGE...: lines of the section "see also", without the page itself. Each backslash is doubled:
# awk -v takes one away.
also()
{
    for other; do
        [ "$other" = "$name($section)" ] || echo "$other"
    done | sed 's/^\(.*\)(\(.\))$/.BR \1 (\2),/; $s/,$//; s/-/\\\\-/g'
}

# page NAME SECTION SUMMARY ALSO COMMAND...: one page, and those of its verbs
page()
{
    name=$1 section=$2 summary=$3 others=$4
    shift 4
    help "$@" >"$out/help"
    # "Registry options: variantctl help registry": a manual page has them itself
    for topic in registry machine; do
        help variantctl help $topic | sed -n '/^  --/,/^$/p' >"$out/topic"
        sed -i -e "/: variantctl help $topic\$/{s/:.*/:/;r $out/topic
}" "$out/help"
    done
    # shellcheck disable=SC2086 # words
    awk -v name="$name" -v section="$section" -v date="$date" -v version="$version" -v summary="$summary" \
        -v also="$(also $others)" -f "$top/contrib/man.awk" "$out/help" >"$out/$name.$section"
    sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\)  *\([^ ].*\)/\1 \2/p' "$out/help" >"$out/verbs.$name"
    while read -r verb words; do
        (page "$name-$verb" "$section" "$words" "$name($section) $others" "$@" "$verb")
    done <"$out/verbs.$name"
    rm "$out/verbs.$name"
}

# topic NAME SECTION SOURCE SUMMARY: one page of the documentation
topic()
{
    name=$1 section=$2
    awk -v name="$1" -v section="$2" -v date="$date" -v version="$version" -v summary="$4" \
        -v also="$(also 'ocivariant(7)' 'ocivariant-config(5)' 'vpull(1)' 'variantctl(1)' 'variantd(8)')" \
        -f "$top/contrib/man-page.awk" "$top/contrib/man-pages" "$top/$3" >"$out/$1.$2"
}

rm -rf "$out"
mkdir -p "$out"
page vpull 1 "pull the variant of a container image that fits this machine" \
    "variantctl(1) ocivariant-config(5) ocivariant-lock(5) ocivariant(7) ocivariant-pulling(7)" vpull
page variantctl 1 "choose, publish and check variants of container images" \
    "vpull(1) ocivariant-config(5) ocivariant-profile(5) ocivariant(7) ocivariant-authoring(7)" variantctl
for engine in $(help variantctl setup | sed -n '1s/^Usage: variantctl setup \([a-z|]*\) .*/\1/p' | tr '|' ' '); do
    page "variantctl-setup-$engine" 1 "have $engine ask variantd" \
        "variantctl-setup(1) variantd(8) ocivariant-config(5) ocivariant-rollout(7)" variantctl setup "$engine"
done
page variantd 8 "profile service and registry mirror of a node" \
    "variantctl-setup(1) ocivariant-config(5) ocivariant(7) ocivariant-metrics(7) ocivariant-rollout(7)" variantd
hooks="ocivariant-config(5) ocivariant(7) ocivariant-refusing(7) variantd(8)"
page ocivariant-snapshotter 8 "containerd snapshotter that refuses what does not fit" "$hooks" ocivariant-snapshotter
page ocivariant-cri-proxy 8 "CRI image service that chooses in pinned indexes" "$hooks" ocivariant-cri-proxy
page ocivariant-verifier 8 "image verifier of containerd that refuses what does not fit" "$hooks" ocivariant-verifier
page ocivariant-oci-hook 8 "hook of podman and CRI-O that refuses what does not fit" "$hooks" ocivariant-oci-hook
page ocivariant-node-setup 8 "have the containerd of a Kubernetes node ask variantd" \
    "variantctl-setup(1) variantd(8) ocivariant-config(5) ocivariant-rollout(7)" ocivariant-node-setup
rm -f "$out/help" "$out/topic"
while read -r name section source words; do
    case $name in
    '#'*) ;;
    *) topic "$name" "$section" "$source" "$words" ;;
    esac
done <"$top/contrib/man-pages"
