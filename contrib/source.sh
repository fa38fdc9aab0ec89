#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The source archive of this tree: contrib/source.sh DIRECTORY writes ocivariant-VERSION.tar.gz there;
# contrib/source.sh --date prints the time of this version, seconds since 1970.
#
# It has what git tracks (without git: all but build directories). Dates, owners, modes and order are
# fixed, so that the bytes follow from the files and the version alone.
set -euo pipefail

cd "$(dirname "$0")/.."
version=$(cat VERSION)
date=$(date -u -d "$(sed -n '/^ -- /{s/^ -- .*>  *//p;q;}' contrib/debian/changelog)" +%s)

files()
{
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z
    else
        find . -path './build*' -prune -o ! -type d -printf '%P\0'
    fi | LC_ALL=C sort -z
}

case ${1:-} in
--date) echo "$date" ;;
'' | -*)
    echo "usage: ${0##*/} DIRECTORY | --date" >&2
    exit 2
    ;;
*)
    files | tar --format gnu --owner 0 --group 0 --numeric-owner --mode u+rw,go=u,go-w,a-s --mtime "@$date" \
        --transform "flags=r;s|^|ocivariant-$version/|" --no-recursion --null -T - -cf - |
        gzip -9n >"$1/ocivariant-$version.tar.gz"
    ;;
esac
