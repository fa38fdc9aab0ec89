# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Our snapshotter beside containerd's own overlayfs: `snapshotter`, called by run.sh, whose variables
# shellcheck disable=SC2154,SC2119
# it uses.

# Every pull starts without content on the node.
forget_image()
{
    ctr images rm --sync "$REGISTRY/bench/layers:1" >/dev/null 2>&1 || true
}

snapshotter()
{
    local which i layers=() rounds=${quick:+5} pid
    if ! command -v containerd >/dev/null || [ "$(id -u)" != 0 ]; then
        echo "Snapshotter: not measured, needs root and containerd."
        return 0
    fi
    # shellcheck source=test/integration/snapshotter.bash
    . test/integration/snapshotter.bash
    for i in 1 2 3 4 5 6 7 8 9 10; do
        layers+=(--layer "${quick:+1}2M")
    done
    busybox_image "$STATE/layers" layers --gzip "${layers[@]}" >/dev/null
    push_layout "$STATE/layers:layers" "$REGISTRY/bench/layers:1"
    printf 'policy: off\n' >"$STATE/snapshotter.yaml"
    start_snapshotter
    start_snapshotted
    pull="ctr images pull --plain-http --snapshotter"
    alternate "${rounds:-11}" forget_image \
        snapshotter-pull "$pull ocivariant $REGISTRY/bench/layers:1" \
        overlayfs-pull "$pull overlayfs $REGISTRY/bench/layers:1"
    for which in ocivariant overlayfs; do
        $pull $which "$REGISTRY/bench/layers:1" >/dev/null
    done
    alternate "${rounds:-21}" nothing \
        snapshotter-run "ctr run --rm --snapshotter ocivariant $REGISTRY/bench/layers:1 bench-$$ /bin/tool" \
        overlayfs-run "ctr run --rm --snapshotter overlayfs $REGISTRY/bench/layers:1 bench-$$ /bin/tool"
    pid=$(<"$STATE/pids/snapshotter")
    echo "## containerd with our snapshotter, and with its own overlayfs: 11 layers"
    echo
    echo "Pull and unpack, then a container that ends at once; the client's wall time. The"
    echo "snapshotter's own peak of memory: $(awk '/VmHWM/ { printf "%.1f", $2 / 1024 }' "/proc/$pid/status") MiB."
    echo
    rows snapshotter-pull overlayfs-pull
    echo
    rows snapshotter-run overlayfs-run
    echo
    forget_image
    stop_daemon containerd
    stop_daemon snapshotter
}
