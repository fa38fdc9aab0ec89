#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make check-packages: the Debian packages are without lint, and two builds of one source give the same
# bytes, whatever directory, time zone, locale and umask they run under. In trees of Debian releases they
# are installed, used, upgraded, removed and purged.
#
#   TREES="bookworm trixie": which releases; MIRROR: where debootstrap gets them (network). TREES= : none.
set -euo pipefail

cd "$(dirname "$0")/.."
top=$PWD
build=${OCV_BUILD:-build}
MIRROR=${MIRROR:-http://deb.debian.org/debian}
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...
check()
{
    local name=$1 status
    shift
    set +e # a condition would switch it off in the function, too
    (set -e; "$@") >"$work/log" 2>&1
    status=$?
    set -e
    if [ $status = 0 ]; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        tail -n 40 "$work/log"
    fi
}

rebuilt()
{
    mkdir -p "$work/a/longer/place"
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z | tar --null -T - -cf -
    else
        tar --exclude='./build*' -cf - .
    fi | tar -xf - -C "$work/a/longer/place"
    (cd "$work/a/longer/place" && umask 0077 && TZ=Asia/Tokyo LC_ALL=C OCV_BUILD=build contrib/deb.sh)
}

same()
{
    local package status=0
    for package in "$build"/deb/*.deb; do
        cmp "$package" "$work/a/longer/place/build/deb/${package##*/}" || status=1
    done
    return $status
}

lint()
{
    local found
    found=$(lintian --allow-root --fail-on error,warning "$build"/deb/*_0*.deb 2>&1) || true
    echo "$found"
    ! grep -E '^[EW]:' <<<"$found"
}

in_tree() { chroot "$tree" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

installed()
{
    cp "$build"/deb/*.deb "$tree/tmp"
    rm -f "$tree"/tmp/*-dbgsym_*
    in_tree sh -c 'apt-get install -y --no-install-recommends /tmp/*.deb'
}

# what users do first, with the files of the packages alone
used()
{
    in_tree variantctl probe --format json | jq -e '.schema == "dev.ocivariant.profile/v1"'
    in_tree vpull --version | grep -F "$(cat VERSION)"
    in_tree variantd --check
    in_tree sh -c 'sed -n "s/^#\([a-z_]*:\)/\1/p" /etc/ocivariant/config.yaml | grep -c .' | grep -v '^0$'
    in_tree variantctl lint --help | grep Usage
    in_tree /opt/containerd/image-verifier/bin/ocivariant-verifier -name x -digest sha256:0 -stdin-media-type x </dev/null || [ $? -lt 126 ]
    in_tree getent passwd ocivariant
}

# a configuration of the user's stays
upgraded()
{
    echo 'tag_ttl: 5s' >"$tree/etc/ocivariant/config.yaml"
    in_tree sh -c 'apt-get install -y --reinstall --no-install-recommends -o Dpkg::Options::=--force-confold /tmp/*.deb'
    grep -qx 'tag_ttl: 5s' "$tree/etc/ocivariant/config.yaml"
}

names="variantd vpull variantctl ocivariant-containerd ocivariant-oci-hook libocivariant1 libocivariant-dev libocivariant-bin ocivariant-data"

removed()
{
    # shellcheck disable=SC2086 # words
    in_tree apt-get remove -y $names
    [ -e "$tree/etc/ocivariant/config.yaml" ]
}

purged()
{
    # shellcheck disable=SC2086
    in_tree dpkg --purge $names
    # the user stays, as Debian has it; nothing else does
    find "$tree" -xdev \( -path "$tree/tmp" -o -path "$tree/proc" -o -path "$tree/var/lib/dpkg/info" \) -prune -o \
        -iname '*ocivariant*' -print -o -name '*variantd*' -print | tee "$work/left"
    [ ! -s "$work/left" ]
}

check "make deb" env OCV_BUILD="$build" contrib/deb.sh
[ "$failed" = 0 ] || { echo "$passed passed, $failed failed"; exit 1; }
check "lintian" lint
check "built again elsewhere" rebuilt
check "the same bytes" same
for release in ${TREES-bookworm trixie}; do
    tree=$work/$release
    check "$release: debootstrap" debootstrap --variant=minbase "$release" "$tree" "$MIRROR"
    [ -e "$tree/usr/bin/apt-get" ] || continue
    printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
    chmod 755 "$tree/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$tree/etc/resolv.conf"
    for step in installed used upgraded removed purged; do
        check "$release: $step" "$step"
    done
done
cd "$top"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
