#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What packages have beside what `make install PREFIX=/usr` writes: contrib/stage.sh DESTDIR adds it there.
# Debian's rules and the RPM specification both run it, so that they have the same files.
set -euo pipefail

cd "$(dirname "$0")/.."
to=$1
install -d "$to/etc/ocivariant" "$to/opt/containerd/image-verifier/bin"
awk -f contrib/config.awk docs/configuration.md >"$to/etc/ocivariant/config.yaml"
chmod 644 "$to/etc/ocivariant/config.yaml"
ln -sfn /usr/libexec/ocivariant/ocivariant-verifier "$to/opt/containerd/image-verifier/bin/ocivariant-verifier"
install -D -m 644 -t "$to/usr/share/doc/ocivariant-containerd/examples" contrib/containerd/*.toml
