# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: the tree started as a machine, with systemd as its first process and a network of its
# own, so that the units run as they are. Controllers of cgroups are not needed: limits are not tested.
#
#   booted          starts it, has booted.sh tested in it, and ends it
#   in_machine COMMAND...
#
# shellcheck disable=SC2154 # work, build, tree: of packages.sh

boot()
{
    local groups=/sys/fs/cgroup
    [ ! -d $groups/unified ] || groups=$groups/unified
    cgroup=$groups/ocivariant-$$
    mkdir "$cgroup"
    # shellcheck disable=SC2016 # expanded inside
    sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" \
        unshare --mount --pid --ipc --uts --net --cgroup --fork --kill-child --propagation private sh -ec 'tree=$1
        mount --rbind "$tree" "$tree"
        cd "$tree"
        mount -t proc proc proc
        mount -t sysfs sysfs sys
        mount -t cgroup2 cgroup2 sys/fs/cgroup
        mount -t tmpfs -o mode=755 tmpfs dev
        mkdir dev/pts dev/shm
        for node in null zero full random urandom tty fuse; do
            touch dev/$node
            mount --bind /dev/$node dev/$node || rm dev/$node
        done
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
        ln -s pts/ptmx dev/ptmx
        ln -s /proc/self/fd dev/fd
        mount -t tmpfs -o mode=755 tmpfs run
        pivot_root . .
        umount -l .
        exec chroot . /usr/bin/env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            /lib/systemd/systemd "--unit=$2"' sh "$tree" "${BOOT_TARGET:-multi-user.target}" >"$work/init.log" 2>&1 </dev/null &
    unshared=$!
    for _ in $(seq 600); do
        machine=$(pgrep -P "$unshared") && in_machine systemctl is-system-running >"$work/state" 2>/dev/null && return
        ! grep -qxs degraded "$work/state" || return 0 # some unit of the release itself cannot run here
        kill -0 "$unshared" || break
        sleep 0.2
    done
    cat "$work/init.log" "$work/state"
    return 1
}

in_machine()
{
    nsenter --mount --pid --ipc --uts --net --cgroup -t "$machine" -- "${environment[@]}" "$@"
}

shut_down()
{
    kill -KILL "$machine"
    wait "$unshared" || true
    for _ in $(seq 100); do
        find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
        [ -e "$cgroup" ] || break
        sleep 0.1
    done
}

# the sections of the quick start, run by booted.sh
quick_start()
{
    page_blocks "You pull images: data scientists" >"$tree/srv/pull.sh"
    page_blocks "You publish images" >"$tree/srv/publish.sh"
    page_blocks "You run a node" >"$tree/srv/node.sh"
    page_blocks "You run a cluster" >"$tree/srv/cluster.sh"
    grep -q 'vpull --to podman' "$tree/srv/pull.sh"
    grep -q 'index create' "$tree/srv/publish.sh"
    grep -q systemctl "$tree/srv/node.sh"
    grep -q -- --locked "$tree/srv/cluster.sh"
}

booted()
{
    local status=0
    rm -f "$tree/usr/sbin/policy-rc.d"
    quick_start
    cp test/packages/booted.sh "$tree/srv"
    rm -rf "$tree/srv/old"
    if [ -n "${OLD_DEBS:-}" ]; then
        mkdir "$tree/srv/old"
        cp "$OLD_DEBS"/*.deb "$tree/srv/old"
        rm -f "$tree"/srv/old/*-dbgsym_*
    fi
    boot
    in_machine bash -eux -o pipefail /srv/booted.sh || status=$?
    shut_down
    rm -rf "$tree"/var/tmp/systemd-private-*
    printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
    chmod 755 "$tree/usr/sbin/policy-rc.d"
    rm -f "$tree"/srv/*.sh
    return $status
}
