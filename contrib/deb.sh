#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make deb: Debian packages of this tree in $OCV_BUILD/deb.
#
# The source archive is unpacked, contrib/debian becomes debian/, and dpkg-buildpackage does the rest: its steps are
# printed, its output is in the log. Two runs give the same bytes: the date is that of debian/changelog.
set -euo pipefail

cd "$(dirname "$0")/.."
out=${OCV_BUILD:-build}/deb
version=$(cat VERSION)
unset MAKEFLAGS MAKELEVEL MFLAGS
rm -rf "$out"
mkdir -p "$out"
echo "packages of ocivariant $version; output in $out/log"
contrib/source.sh "$out"
tar -C "$out" -xzf "$out/ocivariant-$version.tar.gz"
rm "$out/ocivariant-$version.tar.gz"
cp -r contrib/debian "$out/ocivariant-$version/debian"
# a step, then how far the compiler is, then each package
steps()
{
    awk '
    /dh_auto_build$/ { print "  compiling"; fflush(); next }
    /dh_auto_install$/ { print "  installing into a tree"; fflush(); next }
    /^CC / { if (++files % 100 == 0) { print "  " files " files"; fflush() } next }
    /^dpkg-deb: building package/ { gsub(/[\047.]/, "", $4); print "  package " $4; fflush() }'
}
(cd "$out/ocivariant-$version" && dpkg-buildpackage -b -us -uc -j"$(nproc)" 2>&1) | tee "$out/log" | steps ||
    { tail -n 40 "$out/log" >&2; exit 1; }
rm -r "$out/ocivariant-$version"
ls "$out"/*.deb
