#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Kubernetes of tests, of modules that Go's module proxy has:
#
#   test/kube/build.sh [PROGRAM [1.36|1.37]]     $OCV_KUBEBOX, or kubebox in the build directory; 1.36
#
# Needs Go 1.26 or newer. Some 12 minutes of a processor, 3 GB of disk while it builds.
set -euo pipefail

cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
program=${1:-${OCV_KUBEBOX:-${OCV_BUILD:-$top/build}/kubebox}}
modules=go.mod
[ "${2:-1.36}" = 1.36 ] || modules=go-$2.mod
version=v$(sed -n 's/^\tk8s.io\/kubernetes v//p' "$modules")
base=k8s.io/component-base/version
export CGO_ENABLED=0 GOTOOLCHAIN=local
mkdir -p "$(dirname "$program")"
# what the components say of themselves is linked in, as a release does
go build -modfile="$modules" -tags "kube${2:-1.36}" -mod=readonly -buildvcs=false -p 2 -trimpath -o "$program" -ldflags "-s -w -X $base.gitVersion=$version
    -X $base.gitMajor=1 -X $base.gitMinor=$(cut -d. -f2 <<<"$version")
    -X k8s.io/client-go/pkg/version.gitVersion=$version" .
