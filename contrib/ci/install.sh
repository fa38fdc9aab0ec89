#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Install a release for a job of a pipeline.
#
#   OCIVARIANT_PACKAGE   URL or path of a release's asset for this system: .deb, .rpm, or a .tar.gz of
#                        the tree that `make install DESTDIR=... PREFIX=/usr` writes; several packages,
#                        which need each other, separated by blanks
#   OCIVARIANT_SHA256    its SHA-256, or one of each: what a job runs is not taken on trust
#   OCIVARIANT_ROOT      where a .tar.gz goes (ocivariant in RUNNER_TEMP, CI_PROJECT_DIR or here)
#
# On GitHub what later steps need is written to GITHUB_PATH and GITHUB_ENV; elsewhere the last line of
# the output, export ..., is for eval.
set -euo pipefail

: "${OCIVARIANT_PACKAGE:?names the asset of a release}" "${OCIVARIANT_SHA256:?is its checksum}"
root=${OCIVARIANT_ROOT:-${RUNNER_TEMP:-${CI_PROJECT_DIR:-$PWD}}/ocivariant}
mkdir -p "$root"
read -ra packages <<<"$OCIVARIANT_PACKAGE"
read -ra sums <<<"$OCIVARIANT_SHA256"
[ ${#packages[@]} = ${#sums[@]} ] || { echo "${#packages[@]} packages, but ${#sums[@]} checksums" >&2; exit 2; }
files=()
for i in "${!packages[@]}"; do
    file=$root/${packages[i]##*/}
    if [[ ${packages[i]} == *://* ]]; then
        curl -fsSL --retry 3 -o "$file" "${packages[i]}"
    else
        cp "${packages[i]}" "$file"
    fi
    echo "${sums[i]}  $file" | sha256sum --check --quiet - >&2
    files+=("$file")
done

sudo=''
[ "$(id -u)" = 0 ] || sudo=sudo
case $file in
*.deb) $sudo apt-get install -y "${files[@]}" >&2 ;;
*.rpm) $sudo dnf install -y "${files[@]}" >&2 ;;
*.tar.gz)
    tar -C "$root" -xzf "$file"
    if [ -n "${GITHUB_ENV:-}" ]; then
        echo "$root/usr/bin" >>"$GITHUB_PATH"
        printf 'LD_LIBRARY_PATH=%s\nOCV_DATADIR=%s\n' "$root/usr/lib" "$root/usr/share/ocivariant" >>"$GITHUB_ENV"
    else
        echo "export PATH='$root/usr/bin':\"\$PATH\" LD_LIBRARY_PATH='$root/usr/lib' OCV_DATADIR='$root/usr/share/ocivariant'"
    fi
    ;;
*)
    echo "${file##*/}: neither .deb, .rpm nor .tar.gz" >&2
    exit 2
    ;;
esac
