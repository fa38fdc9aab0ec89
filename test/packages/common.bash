# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: checks, and trees of releases in which packages are installed.
#
#   check NAME COMMAND...   one check; its output is shown where it fails
#   new_tree RELEASE DIR    sets `tree`: a fresh minimal system; debootstrap runs once for a release
#   in_tree COMMAND...      in it, as root
#   as_machine COMMAND...   with /proc, /sys and /dev, and the tree as root of its mounts, so that engines
#                           can start containers; what it mounts goes with it
#   source_copy DIR         what git tracks, in DIR

# shellcheck disable=SC2154 # work, build, tree: of packages.sh

check()
{
    local name=$1 status
    shift
    set +e # inside a condition it would be off in the function too
    (set -e; "$@") >"$work/log" 2>&1 </dev/null
    status=$?
    set -e
    if [ $status = 0 ]; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        tail -n 60 "$work/log"
    fi
    return 0
}

# Ubuntu's archive is signed with keys that Debian lacks; they come from a package with a known
# digest
UBUNTU_KEYRING=ubuntu-keyring_2023.11.28.1_all.deb
UBUNTU_KEYRING_SHA256=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8

ubuntu_keyring()
{
    [ ! -e "$work/keyring" ] || return 0
    curl -sfS --max-time 60 -o "$work/$UBUNTU_KEYRING" \
        "$UBUNTU_MIRROR/pool/main/u/ubuntu-keyring/$UBUNTU_KEYRING"
    echo "$UBUNTU_KEYRING_SHA256  $work/$UBUNTU_KEYRING" | sha256sum --check --quiet
    dpkg-deb -x "$work/$UBUNTU_KEYRING" "$work/keyring"
}

bootstrap()
{
    local base=$bases/base-$1
    rm -rf --one-file-system "$base"
    case $1 in
    noble)
        ubuntu_keyring
        debootstrap --variant=minbase --components=main,universe \
            --keyring "$work/keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg" \
            "$1" "$base" "$UBUNTU_MIRROR" /usr/share/debootstrap/scripts/gutsy &&
            echo "deb $UBUNTU_MIRROR $1-updates main universe" >"$base/etc/apt/sources.list.d/updates.list"
        ;;
    *) debootstrap --variant=minbase "$1" "$base" "$MIRROR" ;;
    esac || return
    printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d" # starts no service
    chmod 755 "$base/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$base/etc/resolv.conf"
    touch "$base/ready"
}

new_tree()
{
    tree=$2
    [ -e "$bases/base-$1/ready" ] || check "$1: debootstrap" bootstrap "$1"
    [ -e "$bases/base-$1/ready" ] || return 1
    rm -rf --one-file-system "$tree"
    cp -a "$bases/base-$1" "$tree"
    rm "$tree/ready"
}

# This machine's own files as a tree: what is written there goes to memory, and to $work where engines keep
# layers, which they cannot do in an overlay.
host_tree()
{
    local dir
    tree=$work/host
    mkdir -p "$tree" "$work/over"
    mount -t tmpfs -o mode=755 tmpfs "$work/over"
    mkdir "$work/over/upper" "$work/over/work"
    mount -t overlay -o "lowerdir=/,upperdir=$work/over/upper,workdir=$work/over/work" overlay "$tree"
    rm -rf "$tree"/var/lib/ocivariant* "$tree"/etc/ocivariant # of this machine, if it is a node
    for dir in tmp root srv var/lib/containerd var/lib/containers var/lib/docker var/lib/ocivariant-snapshotter; do
        mkdir -p "$work/disk/$dir" "$tree/$dir"
        mount --bind "$work/disk/$dir" "$tree/$dir"
    done
    chmod 1777 "$tree/tmp"
    printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
    chmod 755 "$tree/usr/sbin/policy-rc.d"
}

host_tree_away()
{
    local mount
    while read -r mount; do
        umount -l "$mount" 2>/dev/null || true
    done < <(awk -v top="$work/" 'index($2, top) == 1 { print $2 }' /proc/mounts | sort -r)
}

environment=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=xterm
    DEBIAN_FRONTEND=noninteractive)

in_tree()
{
    chroot "$tree" "${environment[@]}" "$@"
}

as_machine()
{
    # shellcheck disable=SC2016 # expanded inside
    unshare --mount --propagation private sh -ec 'tree=$1; shift
        mount --rbind "$tree" "$tree"
        for dir in proc sys dev; do mount --rbind /$dir "$tree/$dir"; done
        mount -t tmpfs tmpfs "$tree/run"
        cd "$tree"
        pivot_root . .
        umount -l .
        exec chroot . "$@"' sh "$tree" "${environment[@]}" "$@"
}

source_copy()
{
    mkdir -p "$1"
    contrib/source.sh "$work"
    tar -C "$1" --strip-components 1 -xzf "$work/ocivariant-$(cat VERSION).tar.gz"
}
