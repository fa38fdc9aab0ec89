#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make check-packages: the Debian and RPM packages are without lint, two builds of one source give the same
# bytes, whatever directory, time zone, locale and umask they run under, and both kinds have the same files.
# In trees of releases they are installed, used, upgraded, removed and purged, and there the integration
# tests run with the release's own container engines against the installed files; make demo runs in fresh ones.
#
#   test/packages.sh [SECTION...]     deb rpm tarball release host demo trees rpm-trees; all of them unless named. ci: what
#                                     needs no network, and a release in place of the second builds
#
#   TREES="bookworm trixie noble": which releases; TREES= : none. MIRROR, UBUNTU_MIRROR: where debootstrap
#   gets them (network); BASES: a directory that keeps them for the next run. ENGINE_TESTS: which .bats files
#   run there. OLD_DEBS: a directory with earlier packages, to which the trees go back, and from there to these. The
#   last line: "N passed, N failed".
set -euo pipefail

cd "$(dirname "$0")/.."
build=${OCV_BUILD:-build}
MIRROR=${MIRROR:-http://deb.debian.org/debian}
UBUNTU_MIRROR=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
TREES=${TREES-bookworm trixie noble}
passed=0 failed=0
work=$(mktemp -d)
export bases=${BASES:-$work}
trap 'host_tree_away; rm -rf --one-file-system "$work"' EXIT
for part in common debian rpm engines systemd tarball demo; do
    # shellcheck source=/dev/null
    . "test/packages/$part.bash"
done

section_deb()
{
    check "lintian" deb_lint
    check "deb: built again elsewhere" deb_rebuilt
    check "deb: the same bytes" deb_same
}

section_rpm()
{
    check "make rpm" env OCV_BUILD="$build" contrib/rpm.sh
    check "rpm: the same files as the Debian packages" same_files
    check "rpm: built again elsewhere" rpm_rebuilt
    check "rpm: the same bytes" rpm_same
}

section_ci()
{
    check "lintian" deb_lint
    check "make rpm" env OCV_BUILD="$build" contrib/rpm.sh
    check "rpm: the same files as the Debian packages" same_files
    check "make tarball" env OCV_BUILD="$build" contrib/static/tarball.sh
    check "tarball: in an empty tree" tarball_used
    check "release: signatures" release_quick
    check "release: made" release_made "$work/release-1"
    check "release: whole" release_whole
    check "release: the same bytes as made here" release_same
    section_host
}

section_tarball()
{
    check "make tarball" env OCV_BUILD="$build" contrib/static/tarball.sh
    check "tarball: built again elsewhere" tarball_rebuilt
    check "tarball: the same bytes" tarball_same
    check "tarball: in an empty tree" tarball_used
}

section_release()
{
    check "release: signatures" release_quick
    check "release: made" release_made "$work/release-1"
    check "release: whole" release_whole
    check "release: made again" release_made "$work/release-2/elsewhere"
    check "release: the same bytes" diff -r "$work/release-1" "$work/release-2/elsewhere"
}

section_trees()
{
    local release step
    for release in $TREES; do
        new_tree "$release" "$work/$release" || continue
        for step in deb_installed used deb_upgraded; do
            check "$release: $step" "$step"
        done
        check "$release: engines" engines_installed
        for step in $ENGINE_TESTS; do
            check "$release: installed, $step" engine_test "$step"
        done
        for step in booted deb_removed deb_purged; do
            check "$release: $step" "$step"
        done
    done
}

# On the files of this machine, with the engines that it has: no network, and quick.
section_host()
{
    local step
    check "host: a tree" host_tree
    export tree=$work/host
    for step in host_installed used tests_installed; do
        check "host: $step" "$step"
    done
    for step in ${HOST_TESTS-vpull_engines vpull_containerd variantd_podman setup snapshotter verifier hooks}; do
        check "host: installed, $step" engine_test "$step"
    done
    BOOT_TARGET=basic.target check "host: booted" booted
    check "host: removed" host_removed
    host_tree_away
}

section_rpm-trees()
{
    local release step
    for release in $TREES; do
        new_tree "$release" "$work/$release-rpm" || continue
        for step in rpm_installed rpm_scriptlets used rpm_upgraded rpm_removed; do
            check "$release: $step" "$step"
        done
    done
}

[ $# -gt 0 ] || set -- deb rpm tarball release host demo trees rpm-trees
for section; do
    if ! declare -F "section_$section" >/dev/null; then
        echo "usage: ${0##*/} [ci|deb|rpm|tarball|release|host|demo|trees|rpm-trees]..." >&2
        exit 2
    fi
done
# both kinds are looked at beside each other; a demonstration is of the source
if [ "$*" != demo ]; then
    check "make deb" env OCV_BUILD="$build" contrib/deb.sh
    [ "$failed" = 0 ] || { echo "$passed passed, $failed failed"; exit 1; }
fi
for section; do
    "section_$section"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
