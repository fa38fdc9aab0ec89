#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/man.sh PROGRAMS_DIR OUT_DIR: the manual pages of all programs and verbs, from what their --help
# says. The date is that of the last release.
set -eu

programs=$1
out=$2
here=$(dirname "$0")
version=$(cat "$here/../VERSION")
date=$(date -u -d "$(sed -n 's/^ -- .*>  //p' "$here/debian/changelog" | head -n 1)" +%Y-%m-%d)
export LC_ALL=C

# page NAME SECTION SUMMARY COMMAND...: one page, and those of its verbs
page()
{
    name=$1 section=$2 summary=$3
    shift 3
    also=$(printf '.BR %s\n' 'variantctl (1),' 'vpull (1),' 'variantd (8)')
    LD_LIBRARY_PATH=$programs "$programs/$1" ${2+"$2"} ${3+"$3"} --help >"$out/help"
    awk -v name="$name" -v section="$section" -v date="$date" -v version="$version" -v summary="$summary" \
        -v also="$also" -f "$here/man.awk" "$out/help" >"$out/$name.$section"
    sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\)  *\([^ ].*\)/\1 \2/p' "$out/help" >"$out/verbs.$name"
    while read -r verb words; do
        (page "$name-$verb" "$section" "$words" "$@" "$verb")
    done <"$out/verbs.$name"
    rm "$out/verbs.$name"
}

rm -rf "$out"
mkdir -p "$out"
page vpull 1 "pull the variant of a container image that fits this machine" vpull
page variantctl 1 "choose, publish and check variants of container images" variantctl
page variantd 8 "profile service and registry mirror of a node" variantd
page ocivariant-snapshotter 8 "containerd snapshotter that refuses what does not fit" ocivariant-snapshotter
page ocivariant-cri-proxy 8 "CRI image service that chooses in pinned indexes" ocivariant-cri-proxy
rm "$out/help"
