# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Our snapshotter beside containerd's own overlayfs, also with layers side by side (OCV_CONTAINERD2, see
# test/integration/cri.bash): `snapshotter`, called by run.sh, whose variables it uses.
# shellcheck disable=SC2154,SC2119

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
    unpacks
}

# The engine of the command that comes (`name` of alternate: SNAPSHOTTER-NUMBER), as our configuration of it says and
# without content.
unpacks_engine()
{
    stop_daemon cri
    stop_daemon snapshotter
    rm -rf "$STATE/snapshotter" "$STATE/cri" "$STATE/cri-run"
    start_snapshotter
    CONTAINERD_TOML=3 containerd_toml cri >"$STATE/cri.toml"
    sed -e '/^version/d' -e "s|/run/ocivariant-snapshotter/snapshotter.sock|$SNAPSHOTTER_SOCKET|" \
        -e "s|/var/lib/ocivariant-snapshotter|$STATE/snapshotter|" \
        -e "/cri.v1.images/,\$ s|\"ocivariant\"|\"${name%-*}\"|" \
        contrib/containerd/ocivariant-snapshotter-v3.toml >>"$STATE/cri.toml"
    printf '[plugins."io.containerd.transfer.v1.local"]\n  max_concurrent_unpacks = %d\n' "${name##*-}" >>"$STATE/cri.toml"
    restart_cri2
    sync
}

unpacks()
{
    local reason number i layers=() commands=() rounds=${quick:+1}
    # shellcheck source=test/integration/cri.bash
    . test/integration/cri.bash
    echo "## Layers side by side: max_concurrent_unpacks"
    echo
    if ! reason=$(containerd2_here); then
        printf 'Not measured: %s.\n\n' "$reason"
        return
    fi
    for i in 1 2 3 4 5 6 7 8; do
        layers+=(--layer "$(command -v containerd)")
    done
    busybox_image "$STATE/unpacks" unpacks --gzip "${layers[@]}" >/dev/null
    push_layout "$STATE/unpacks:unpacks" "$REGISTRY/bench/unpacks:1"
    rm -r "$STATE/unpacks"
    for number in 1 4 8; do
        for i in ocivariant overlayfs; do
            commands+=("$i-$number" "$OCV_BUILD/test/tools/cri $STATE/cri.sock pull $REGISTRY/bench/unpacks:1")
        done
    done
    alternate "${rounds:-5}" unpacks_engine "${commands[@]}"
    echo "PullImage of 8 layers, the program containerd in each, by $(containerd2 --version | cut -d' ' -f 3); the number is how"
    echo "many layers it unpacks at a time. CPU and RSS are the client's."
    echo
    for number in 1 4 8; do
        rows "ocivariant-$number" "overlayfs-$number"
        echo
    done
    stop_daemon cri
    stop_daemon snapshotter
}
