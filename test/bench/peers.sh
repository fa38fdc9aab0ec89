#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The peers that `make bench` measures, in current versions:
#
#   test/bench/peers.sh DIR      then: OCV_PEERS=DIR make bench
#
# crane, regctl and the registry of distribution are built of modules that Go's module proxy has; skopeo and oras are
# packages of Debian's next release, unpacked with the libraries that they load, libc too. Needs Go, apt and the
# network; about three minutes on two processors, 600 MB. What lies in DIR is used from there, and nothing is installed.
set -euo pipefail

CRANE=v0.22.1 REGCTL=v0.11.7 DISTRIBUTION=v3.1.2
SUITE=${SUITE:-forky}
MIRROR=${MIRROR:-http://deb.debian.org/debian}
mkdir -p "${1:?usage: test/bench/peers.sh DIR}/bin"
dir=$(cd "$1" && pwd)

export GOBIN=$dir/bin CGO_ENABLED=0 GOTOOLCHAIN=local
go install "github.com/google/go-containerregistry/cmd/crane@$CRANE"
go install "github.com/regclient/regclient/cmd/regctl@$REGCTL"
go install "github.com/distribution/distribution/v3/cmd/registry@$DISTRIBUTION"
echo "crane ${CRANE#v}, regctl ${REGCTL#v}, distribution ${DISTRIBUTION#v}" >"$dir/versions"

# an apt of its own, for which nothing is installed yet, so that it downloads all that a package loads
apt=$dir/apt
mkdir -p "$apt"/{lists/partial,archives/partial,debs}
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $MIRROR $SUITE main" >"$apt/sources.list"
apt_get()
{
    apt-get -q -y -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt" -o Dir::Cache::archives="$apt/archives" -o Dir::Etc::sourcelist="$apt/sources.list" \
        -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root "$@"
}
apt_get update
apt_get --no-install-recommends --download-only install skopeo oras
rm -rf "$dir/debian"
mkdir "$dir/debian"
for file in "$apt"/archives/*.deb; do
    dpkg-deb -x "$file" "$dir/debian"
done
for package in skopeo oras; do
    dpkg-deb -f "$apt/archives/$package"_*.deb Package Version | paste -s -d ' '
done | sed 's/Package: \([a-z]*\) Version: \([0-9.]*\).*/\1 \2/' >>"$dir/versions"
rm -rf "$apt"
paste -s -d ' ' "$dir/versions"
