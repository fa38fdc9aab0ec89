#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make tarball: programs without shared libraries, install.sh and uninstall.sh, as
# $OCV_BUILD/tarball/ocivariant-VERSION-linux-ARCH.tar.gz. Two runs give the same bytes.
set -euo pipefail

cd "$(dirname "$0")/../.."
build=${OCV_BUILD:-build}
out=$build/tarball
version=$(cat VERSION)
name=ocivariant-$version-linux-$(uname -m)
date=$(contrib/source.sh --date)
unset MAKEFLAGS MAKELEVEL MFLAGS
umask 022
export LC_ALL=C
prefix=/opt/ocivariant
rm -rf "$out"
mkdir -p "$out/$name"
to=$(realpath "$out/$name")

# ---- programs -------------------------------------------------------------------------------------
# the paths of the build are in what is told of errors and in the names of builds
settings=(BUILD="$build/without" PREFIX="$prefix" CFLAGS="-ffile-prefix-map=$PWD=. -ffile-prefix-map=$build/without=build")
make -s -j"$(nproc)" "${settings[@]}" static all
made=$build/without
install -d "$to$prefix/bin" "$to$prefix/libexec/ocivariant"
install -m 755 "$made"/static/{vpull,variantctl} "$to$prefix/bin"
install -m 755 "$made"/static/{ocivariant-oci-hook,nvml-query} "$made/libexec/ocivariant-verifier" "$to$prefix/libexec/ocivariant"
strip "$to$prefix"/{bin,libexec/ocivariant}/*

# ---- what they read -------------------------------------------------------------------------------
share=$to$prefix/share
install -d "$out/all"
make -s "${settings[@]}" install DESTDIR="$(realpath "$out/all")"
install -d "$share/man/man1"
cp -r "$out/all$prefix/share/ocivariant" "$share"
cp "$out/all$prefix/share/man/man1"/{vpull,variantctl}*.1 "$share/man/man1"
for file in "$out/all$prefix"/share/{bash-completion,fish,zsh}/*/{vpull,variantctl,_vpull,_variantctl,vpull.fish,variantctl.fish}; do
    [ ! -e "$file" ] || install -D -m 644 "$file" "$share/${file#"$out/all$prefix/share/"}"
done
awk -f contrib/config.awk docs/configuration.md >"$share/ocivariant/config.yaml"
rm -r "$out/all"

# ---- licences: ours, and those of the archives that are linked in -----------------------------------
install -d "$share/doc"
install -m 644 COPYING COPYING.LESSER "$share/doc"
for library in curl nghttp2 ssl zstd z jansson yaml c; do
    package=$(dpkg -S "$(realpath "$(cc -print-file-name=lib$library.a)")" 2>/dev/null | sed 's/:.*//' | head -n 1)
    [ -n "$package" ] || { echo "tarball.sh: lib$library.a belongs to no package" >&2; exit 1; }
    install -m 644 "$(realpath "/usr/share/doc/$package/copyright")" "$share/doc/$package.copyright"
done

install -m 755 contrib/static/install.sh contrib/static/uninstall.sh "$to"
install -m 644 contrib/static/README.md "$to"
tar --format gnu --sort name --owner 0 --group 0 --numeric-owner --mtime "@$date" -C "$out" -cf - "$name" |
    gzip -9n >"$out/$name.tar.gz"
rm -r "${out:?}/$name"
ls "$out"/*.tar.gz
