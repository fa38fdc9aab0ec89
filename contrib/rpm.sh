#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make rpm: RPM packages of this tree, and the source package, in $OCV_BUILD/rpm.
#
# Two runs give the same bytes. On a system without an RPM database (Debian's rpm package) what is needed to
# build is not looked up in it, and the packages ask for this system's libraries: there they are a test of
# the specification. Packages for another system are built on it: rpmbuild --rebuild ocivariant-*.src.rpm
set -euo pipefail

cd "$(dirname "$0")/.."
mkdir -p "${OCV_BUILD:-build}"
out=$(realpath "${OCV_BUILD:-build}")/rpm
version=$(cat VERSION)
unset MAKEFLAGS MAKELEVEL MFLAGS
grep -qx "Version: *$version" contrib/rpm/ocivariant.spec || {
    echo "contrib/rpm/ocivariant.spec has another version than VERSION" >&2
    exit 1
}
umask 022
rm -rf "$out"
mkdir -p "$out"
contrib/source.sh "$out"
cp contrib/rpm/ocivariant.spec "$out"
SOURCE_DATE_EPOCH=$(contrib/source.sh --date)
export SOURCE_DATE_EPOCH LC_ALL=C
touch -d "@$SOURCE_DATE_EPOCH" "$out"/*
options=(--define "_rpmdir $out" --define "_srcrpmdir $out" --define "_buildhost localhost" --define "_smp_mflags -j$(nproc)"
    --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm")
[ ! -e /etc/debian_version ] || options+=(--nodeps)
# a source package quotes the paths of its build: these are the same everywhere
build()
{
    cd "$out" || return
    rpmbuild -bb "${options[@]}" --define "_topdir $out/top" --define "_sourcedir $out" ocivariant.spec &&
        rpmbuild -bs "${options[@]}" --define "_topdir /proc/self/cwd/top" --define "_sourcedir /proc/self/cwd" ocivariant.spec
}
(build) >"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; exit 1; }
rm -rf "$out/top" "$out/ocivariant.spec" "$out/ocivariant-$version.tar.gz"
ls "$out"/*.rpm
