# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# A machine of its own for the commands of the documentation (`load world` after harness).
#
#   start_world               what `make install PREFIX=/usr` gives lies over this machine's /usr; /etc, /opt,
#                             /run, /var/lib and /root are its own, as are network and processes
#   in_world COMMAND...       runs there, in /root, with a clean environment (what is built looks below /usr/local)
#   world_registry            registry.example: a registry with TLS that everything there trusts
#   page_blocks PAGE SECTION  the shell blocks (```sh) of a section of a page in docs
#   run_section PAGE SECTION  runs them there as one script that ends at the first failure
#
# systemctl and journalctl alone are stand-ins: they run a unit's ExecStart and keep its output.

world_service_manager()
{
    mkdir -p "$STATE/shims/bin"
    cat >"$STATE/shims/bin/systemctl" <<'SH'
#!/bin/bash
verb=$1 now=no units=()
for word in "${@:2}"; do
    case $word in --now) now=yes ;; *) units+=("${word%.service}") ;; esac
done
wait_for() { local i; for ((i = 0; i < 1200; i++)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; echo "$unit: not ready"; exit 1; }
ready()
{
    case $unit in
    variantd) variantctl setup --status containerd >/dev/null 2>&1 || [ $? -ne 1 ] && curl -sf --unix-socket /run/ocivariant/variantd.sock http://localhost/v1/healthz ;;
    containerd) ctr version ;;
    esac
}
stop() { [ ! -e "/run/$unit.pid" ] || { kill "$(<"/run/$unit.pid")" && wait_for gone; rm "/run/$unit.pid"; }; }
gone() { ! kill -0 "$(<"/run/$unit.pid")" || grep -q '^State:.Z' "/proc/$(<"/run/$unit.pid")/status"; }
start()
{
    command=$(sed -n 's/^ExecStart=//p' "/usr/lib/systemd/system/$unit.service" "/lib/systemd/system/$unit.service" 2>/dev/null | head -n 1)
    [ -n "$command" ] || { echo "no unit $unit"; exit 5; }
    mkdir -p /run/ocivariant
    setsid $command >>"/run/$unit.log" 2>&1 </dev/null 3>&- &
    echo $! >"/run/$unit.pid"
    wait_for ready
}
for unit in "${units[@]}"; do
    case $verb in
    enable) [ $now = no ] || start ;;
    disable) [ $now = no ] || stop ;;
    start | stop) $verb ;;
    restart) stop && start ;;
    reload)
        lines=$(wc -l <"/run/$unit.log")
        grown() { [ "$(wc -l <"/run/$unit.log")" -gt "$lines" ]; }
        kill -HUP "$(<"/run/$unit.pid")" && wait_for grown
        ;;
    *) echo "systemctl $verb?"; exit 1 ;;
    esac
done
SH
    # under shadow variantd finds out beside its answer, and people are slower than scripts
    cat >"$STATE/shims/bin/journalctl" <<'SH'
#!/bin/bash
# journalctl -u UNIT
log=/run/$2.log
for ((i = 0; i < 1200; i++)); do
    ! grep -q 'choose is shadow' "$log" || grep -q 'shadow: w' "$log" && break
    sleep 0.05
done
cat "$log"
SH
    chmod 755 "$STATE"/shims/bin/*
}

start_world()
{
    install_tree "$STATE/d" || return 1
    world_service_manager
    make_certificates
    mkdir "$STATE/own"
    cat >"$STATE/world.sh" <<SH
set -e
mount -t tmpfs tmpfs "$STATE/own"
mkdir "$STATE/own/etc" "$STATE/own/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$STATE/own/etc,workdir=$STATE/own/work" overlay /etc
mount -t overlay -o "lowerdir=$STATE/shims:$STATE/d/usr:/usr" overlay /usr
for own in /run /var/lib /root /opt; do mount -t tmpfs tmpfs \$own; done
rm -rf /etc/ocivariant /etc/containerd /etc/docker
mkdir -p /etc/ocivariant /etc/containers
printf '[storage]\ndriver = "overlay"\ngraphroot = "/var/lib/containers"\nrunroot = "/run/containers"\n' >/etc/containers/storage.conf
printf '127.0.0.1 localhost registry.example\n' >/etc/hosts
cat "$STATE/ca.pem" >>/etc/ssl/certs/ca-certificates.crt
printf '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\nnetns = "host"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\nruntime = "runc"\n' >/etc/containers/containers.conf
ip link set lo up
echo ready
exec sleep infinity
SH
    start_daemon namespace unshare --net --mount --pid --fork --kill-child --mount-proc sh "$STATE/world.sh"
    await namespace grep -qx ready "$STATE/log/namespace" || return 1
    NAMESPACE=$(pgrep -P "$(<"$STATE/pids/namespace")")
    export NAMESPACE
}

in_world()
{
    # --chdir: nsenter's own --wd is the directory of before
    nsenter --net --mount --pid -t "$NAMESPACE" -- env -i --chdir=/root HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        OCV_DATADIR=/usr/share/ocivariant OCV_LIBEXECDIR=/usr/libexec/ocivariant LC_ALL=C.UTF-8 PODMAN_IGNORE_CGROUPSV1_WARNING=1 "$@" 3>&-
}

world_registry()
{
    start_registry registry tls port=443
}

page_blocks()
{
    awk -v section="## $2" '/^## / { inside = $0 == section } inside && /^```sh$/ { block = 1; next }
        /^```$/ { block = 0 } block' "$OCV_TOP/docs/$1"
}

run_section()
{
    page_blocks "$1" "$2" >"$STATE/section.sh"
    [ -s "$STATE/section.sh" ] || return 1
    in_world bash -eux -o pipefail "$STATE/section.sh"
}
