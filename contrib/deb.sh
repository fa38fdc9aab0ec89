#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make deb: Debian packages of this tree in $OCV_BUILD/deb.
#
# The source archive is unpacked, contrib/debian becomes debian/, and dpkg-buildpackage does the rest. Two runs give the same bytes: the date is that of debian/changelog.
set -euo pipefail

cd "$(dirname "$0")/.."
out=${OCV_BUILD:-build}/deb
version=$(cat VERSION)
unset MAKEFLAGS MAKELEVEL MFLAGS
rm -rf "$out"
mkdir -p "$out"
contrib/source.sh "$out"
tar -C "$out" -xzf "$out/ocivariant-$version.tar.gz"
rm "$out/ocivariant-$version.tar.gz"
cp -r contrib/debian "$out/ocivariant-$version/debian"
(cd "$out/ocivariant-$version" && dpkg-buildpackage -b -us -uc -j"$(nproc)") >"$out/log" 2>&1 ||
    { tail -n 40 "$out/log" >&2; exit 1; }
rm -r "$out/ocivariant-$version"
ls "$out"/*.deb
