# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# containerd with our proxy snapshotter (`load snapshotter` after harness).
#
#   start_snapshotter [OPTION...]   on $SNAPSHOTTER_SOCKET, with $STATE/snapshotter as its root
#   listening SOCKET                somebody accepts connections there
#   stop_snapshotter [SIGNAL]       and wait
#   reconnected [CONTAINERD-SOCKET] wait until containerd has noticed a new one
#   start_snapshotted [NAME=SOCK]…  containerd with it as snapshotter "ocivariant", and with others; with
#                                   COLLECTOR=told its garbage collector works only when it is told to
#   collect                         tell it to, and wait until it is done: one collection
#   busybox_image LAYOUT TAG [OPTION...]   an image whose /bin/tool is a static program: true, echo,
#                                   cat FILE, is FILE TEXT (by exit status: output of short containers
#                                   may get lost), write FILE TEXT, sleep
#   ctr_run [OPTION...] IMAGE ID COMMAND...

SNAPSHOTTER=${SNAPSHOTTER:-$OCV_BIN/ocivariant-snapshotter}
export SNAPSHOTTER

start_snapshotter()
{
    export SNAPSHOTTER_SOCKET=$STATE/snapshotter.sock
    start_daemon snapshotter "$SNAPSHOTTER" --root "$STATE/snapshotter" \
        --socket "$SNAPSHOTTER_SOCKET" --config "${SNAPSHOTTER_CONFIG:-$STATE/snapshotter.yaml}" \
        --records "$STATE/node/resolved" --metrics "$STATE/snapshotter.prom" "$@"
    await snapshotter listening "$SNAPSHOTTER_SOCKET"
}

# A socket's file alone may be that of one that was killed.
listening()
{
    curl -s -o "$STATE/curl.out" --max-time 5 --http2-prior-knowledge --unix-socket "$1" http://localhost/ ||
        [ $? != 7 ] # could not connect
}

stop_snapshotter()
{
    local pid
    pid=$(<"$STATE/pids/snapshotter")
    rm -f "$STATE/pids/snapshotter"
    kill "-${1:-TERM}" "$pid"
    while [ -e "/proc/$pid" ] && [ "$(awk '{ print $3 }' "/proc/$pid/stat" 2>/dev/null)" != Z ]; do
        sleep 0.02
    done
    wait "$pid" 2>/dev/null || true
}

# containerd dials a snapshotter that was gone again after up to three seconds
reconnected()
{
    local ctr=(ctr -a "${1:-$STATE/containerd.sock}" -n probe snapshots --snapshotter ocivariant) i
    for ((i = 0; i < 100; i++)); do
        if "${ctr[@]}" prepare "probe-$i" >/dev/null 2>&1; then
            "${ctr[@]}" rm "probe-$i"
            return 0
        fi
        sleep 0.1
    done
    return 1
}

start_snapshotted()
{
    local pair
    containerd_toml containerd 'disabled_plugins = ["io.containerd.grpc.v1.cri"]' >"$STATE/snapshotted.toml"
    ! containerd_is_2 || unpacks_into ocivariant overlayfs "${@%%=*}" >>"$STATE/snapshotted.toml"
    set -- "ocivariant=$STATE/snapshotter.sock" "$@"
    for pair; do
        printf '[proxy_plugins.%s]\ntype = "snapshot"\naddress = "%s"\n' "${pair%%=*}" "${pair#*=}" \
            >>"$STATE/snapshotted.toml"
    done
    # never by itself: by default 100 ms after the start, and some 20 ms after anything was removed
    [ "${COLLECTOR:-}" != told ] || cat >>"$STATE/snapshotted.toml" <<'TOML'
[plugins."io.containerd.gc.v1.scheduler"]
startup_delay = "24h"
pause_threshold = 0.0000001
TOML
    restart_snapshotted
}

# unpacks_into SNAPSHOTTER...: the transfer service knows of none but overlayfs by itself
unpacks_into()
{
    printf '[[plugins."io.containerd.transfer.v1.local".unpack_config]]\nplatform = "linux"\nsnapshotter = "%s"\n' "$@"
}

# What is collected: a snapshotter from which something was removed; hence the first two lines.
collect()
{
    ctr snapshots --snapshotter ocivariant prepare to-be-collected >/dev/null
    ctr snapshots --snapshotter ocivariant rm to-be-collected
    ctr content prune references >/dev/null
}

restart_snapshotted()
{
    start_daemon containerd containerd --config "$STATE/snapshotted.toml"
    await containerd ctr --address "$STATE/containerd.sock" version || return 1
    export CONTAINERD_ADDRESS=$STATE/containerd.sock CONTAINERD_NAMESPACE=default
}

busybox_image()
{
    local layout=$1 tag=$2
    shift 2
    if [ ! -e "$STATE/tool" ]; then
        cc -O2 -static -o "$STATE/tool" -x c - <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char bytes[4096];
    ssize_t n = 0;
    if (argc > 1 && !strcmp(argv[1], "sleep"))
        pause();
    if (argc > 2 && !strcmp(argv[1], "echo"))
        puts(argv[2]);
    if (argc > 3 && !strcmp(argv[1], "write")) {
        int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
        n = fd < 0 ? -1 : write(fd, argv[3], strlen(argv[3]));
        return n < 0;
    }
    if (argc > 3 && !strcmp(argv[1], "is")) {
        int fd = open(argv[2], O_RDONLY);
        n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
        return n != (ssize_t)strlen(argv[3]) || memcmp(bytes, argv[3], (size_t)n) != 0;
    }
    if (argc > 2 && !strcmp(argv[1], "cat")) {
        int fd = open(argv[2], O_RDONLY);
        while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
            n = write(1, bytes, (size_t)n);
        return fd < 0 || n < 0;
    }
    return 0;
}
C
    fi
    mkimage "$layout" "$tag" --binary "bin/tool=$STATE/tool" "$@"
}

ctr_run()
{
    timeout 60 ctr run --rm --snapshotter ocivariant "$@" 3>&-
}
