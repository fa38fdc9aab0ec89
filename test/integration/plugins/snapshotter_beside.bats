#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A containerd that unpacks layers side by side (2.3 and newer): the image is what it is when they are unpacked one
# after the other, also what its layers delete.

load ../harness
load ../snapshotter
load ../cri

setup_file()
{
    containerd2_here >/dev/null || return 0
    require ctr runc skopeo docker-registry jq python3
    [ "$(id -u)" = 0 ] || skip "needs root"
    state_start
    start_registry
    local layout=$STATE/images
    busybox_image "$layout" app --file etc/one=1 --file etc/two=2 --file srv/old/a=a --file etc/kind/file=x --cmd /bin/tool --cmd true 3>&-
    python3 "$OCV_TOP/test/integration/layers.py" append "$layout" app \
        etc/three=3,etc/.wh.one= srv/old/.wh..wh..opq=,srv/old/b=b etc/.wh.kind= etc/one=again etc/kind=file,etc/.wh.two=
    busybox_image "$layout" pause --cmd /bin/tool --cmd sleep 3>&-
    export PAUSE_IMAGE=$REGISTRY/pause:1
    push_layout "$layout:app" "$REGISTRY/app:1"
    push_layout "$layout:pause" "$PAUSE_IMAGE"
    echo 'policy: off' >"$STATE/snapshotter.yaml"
}

setup()
{
    local reason
    reason=$(containerd2_here) || skip "$reason"
}

# with_unpacks NUMBER: both daemons, fresh, as the shipped configuration says
with_unpacks()
{
    stop_daemon cri
    stop_daemon snapshotter
    rm -rf "$STATE/snapshotter" "$STATE/cri" "$STATE/cri-run"
    start_snapshotter
    start_cri2
    sed -e '/^version/d' -e "s|/run/ocivariant-snapshotter/snapshotter.sock|$SNAPSHOTTER_SOCKET|" \
        -e "s|/var/lib/ocivariant-snapshotter|$STATE/snapshotter|" "$OCV_TOP/contrib/containerd/ocivariant-snapshotter-v3.toml" >>"$STATE/cri.toml"
    # a view belongs to nobody, and the collector would take it
    cat >>"$STATE/cri.toml" <<TOML
[plugins."io.containerd.transfer.v1.local"]
  max_concurrent_unpacks = $1
[plugins."io.containerd.gc.v1.scheduler"]
  startup_delay = "24h"
  pause_threshold = 0.0000001
TOML
    restart_cri2
}

# what a container of the image sees, as overlayfs merges it
seen()
{
    local at=$BATS_TEST_TMPDIR/seen snapshots top
    snapshots=(ctr -a "$STATE/cri.sock" -n k8s.io snapshots --snapshotter ocivariant)
    cri pull "$REGISTRY/app:1" >/dev/null || return 1
    top=$("${snapshots[@]}" ls | awk 'NR > 1 { name[$1]; parent[$2] } END { for (n in name) if (!(n in parent)) print n }')
    mkdir -p "$at"
    "${snapshots[@]}" view look "$top" >/dev/null || return 1
    "${snapshots[@]}" mounts "$at" look | sh || return 1
    (cd "$at" && find etc srv ! -type d ! -type f && find etc srv -type f | sort | while read -r file; do echo "$file: $(<"$file")"; done)
    umount "$at"
    "${snapshots[@]}" rm look
}

@test "four layers at a time give what one after the other gives" {
    with_unpacks 1
    run -0 seen
    one=$output
    [ "$one" = "etc/kind: file
etc/one: again
etc/three: 3
srv/old/b: b" ]
    with_unpacks 4
    run -0 seen
    [ "$output" = "$one" ]
    run ! grep -q 'does not support rebase' "$STATE/log/cri"
    # what is deleted stands in the layer that deletes it
    [ "$(find "$STATE/snapshotter/snapshots" -type c | wc -l)" = 3 ]
    run -0 cri run "$REGISTRY/app:1" /bin/tool cat /etc/one
    [[ $output == *again* ]]
}
