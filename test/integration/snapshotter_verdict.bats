#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The snapshotter refuses what does not fit this node, at unpack and at a container's start; with
# the CRI plugin as kubelets use it, and passing through to another snapshotter.

load harness
load images
load variantd
load snapshotter
load cri

setup_file()
{
    require containerd ctr runc skopeo docker-registry jq
    [ "$(id -u)" = 0 ] || skip "needs root"
    state_start
    start_registry
    local layout=$STATE/images name
    export VARIANTS=$layout
    busybox_image "$layout" cpu --file etc/build=cpu --cmd /bin/tool --cmd echo --cmd cpu 3>&-
    for name in cuda12.8 rocm7.1; do # the label as their author's annotation, too
        busybox_image "$layout" $name --file etc/build=$name --layer 3000 --file etc/$name=x \
            --annotate "containerd.io/snapshot/dev.ocivariant.label=$name" \
            --cmd /bin/tool --cmd echo --cmd $name 3>&-
    done
    busybox_image "$layout" alien --file etc/build=alien --annotate \
        'containerd.io/snapshot/dev.ocivariant.properties=amd :: gfx_arch :: gfx90a' 3>&-
    "$VARIANTCTL" index create --quiet "oci:$layout:app" --namespaces 'nvidia, amd' \
        "null=oci:$layout:cpu" \
        "cuda12.8=oci:$layout:cuda12.8,nvidia :: cuda_version_lower_bound :: 12.8" \
        "rocm7.1=oci:$layout:rocm7.1,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$layout:app" "$REGISTRY/app:1"
    skopeo copy --quiet --dest-tls-verify=false "oci:$layout:cpu" "docker://$REGISTRY/pause:1" 3>&-
    skopeo copy --quiet --dest-tls-verify=false "oci:$layout:alien" "docker://$REGISTRY/alien:1" 3>&-
    export CUDA ROCM
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    start_variantd --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    for policy in enforce warn off; do
        printf 'policy: %s\nsocket: %s\n' "$policy" "$VARIANTD_SOCKET" >"$STATE/$policy.yaml"
    done
    # every variant of this index was resolved here once, for one profile or another
    local digest
    mkdir -p "$STATE/node/resolved"
    for name in cuda12.8 rocm7.1; do
        digest=$(digest_of $name)
        jq -n --arg c "$digest" --arg l $name --arg r "$REGISTRY/app:1" --arg p \
            "$([ $name = cuda12.8 ] && echo 'nvidia :: cuda_version_lower_bound :: 12.8' || echo 'amd :: gfx_arch :: gfx942')" \
            '{child: $c, label: $l, properties: $p, reference: $r}' >"$STATE/node/resolved/${digest/:/-}.json"
    done
}

teardown_file()
{
    [ -n "${STATE:-}" ] || return 0
    state_stop
}

# with_policy POLICY [OPTION...]: both daemons, fresh
with_policy()
{
    cp "$STATE/$1.yaml" "$STATE/snapshotter.yaml"
    shift
    rm -rf "$STATE/snapshotter" "$STATE/containerd" "$STATE/containerd-run"
    start_snapshotter "$@"
    start_snapshotted
}

pull()
{
    timeout 120 ctr images pull --plain-http --snapshotter ocivariant "$1" 2>&1 >/dev/null 3>&-
}

counter()
{
    sed -n "s/^ocivariant_snapshotter_$1 //p" "$STATE/snapshotter.prom"
}

@test "enforce: the variant that fits is unpacked and runs, the other is refused with the reason" {
    with_policy enforce
    pull "$REGISTRY/app@$CUDA"
    run -0 ctr_run "$REGISTRY/app@$CUDA" c1 /bin/tool cat /etc/build
    [[ $output == cuda12.8* ]]
    run -1 pull "$REGISTRY/app@$ROCM"
    echo "$output"
    [[ $output == *"$REGISTRY/app:1 (rocm7.1) does not fit this node"*"what would fit: cuda12.8"* ]]
    [[ $output == *"failed precondition"* ]]
    [ "$(counter 'actions_total{action="refused"}')" -ge 1 ]
    [ "$(counter 'verdicts_total{verdict="fits"}')" -ge 1 ]
    pull "$REGISTRY/pause:1" # says nothing of itself
}

@test "enforce: properties that the author wrote on the layer need no record" {
    with_policy enforce
    run -1 pull "$REGISTRY/alien:1"
    [[ $output == *"does not fit this node"* ]]
}

@test "warn: unpacked, labelled and counted; the label outlives the commit" {
    with_policy warn
    pull "$REGISTRY/app@$ROCM"
    top=$(ctr snapshots --snapshotter ocivariant ls | awk 'NR > 1 && $3 == "Committed" { print $1 }' | tail -n 1)
    run -0 ctr snapshots --snapshotter ocivariant ls
    for name in $(awk '/sha256/ { print $1 }' <<<"$output"); do
        ctr snapshots --snapshotter ocivariant info "$name"
    done >"$STATE/infos"
    grep -q '"dev.ocivariant.verdict": "misfit"' "$STATE/infos"
    grep -q '"dev.ocivariant.reason": ".*rocm7.1.*does not fit' "$STATE/infos"
    [ "$(counter 'actions_total{action="warned"}')" -ge 1 ]
    [ "$(counter 'actions_total{action="refused"}')" = 0 ]
    grep -q 'warning: .*rocm7.1' "$STATE/log/snapshotter"
    run -0 ctr_run "$REGISTRY/app@$ROCM" c2 /bin/tool cat /etc/build # and warned of again
    [ "$(counter 'actions_total{action="warned"}')" -ge 2 ]
}

@test "off: nothing is asked; SIGHUP turns it on, and containers of unpacked images are judged" {
    with_policy warn
    pull "$REGISTRY/app@$ROCM"
    cp "$STATE/off.yaml" "$STATE/snapshotter.yaml"
    kill -HUP "$(<"$STATE/pids/snapshotter")"
    before=$(counter 'actions_total{action="warned"}')
    run -0 ctr_run "$REGISTRY/app@$ROCM" c3 /bin/tool cat /etc/build
    [ "$(counter 'actions_total{action="warned"}')" = "$before" ]
    cp "$STATE/enforce.yaml" "$STATE/snapshotter.yaml"
    kill -HUP "$(<"$STATE/pids/snapshotter")"
    run -1 ctr_run "$REGISTRY/app@$ROCM" c4 /bin/tool cat /etc/build
    echo "$output"
    [[ $output == *"does not fit this node"* ]]
    # restarted, it still knows
    stop_snapshotter KILL
    start_snapshotter
    run -1 ctr_run "$REGISTRY/app@$ROCM" c5 /bin/tool cat /etc/build
    [[ $output == *"does not fit this node"* ]]
    # any member of the set that fits allows the chain
    sqlite3 "$STATE/snapshotter/metadata.db" "INSERT INTO variants SELECT ns, chain, 'cuda12.8', '', '$CUDA', '$REGISTRY/app:1' FROM variants"
    run -0 ctr_run "$REGISTRY/app@$ROCM" c6 /bin/tool cat /etc/build
    ctr images rm --sync "$REGISTRY/app@$ROCM"
    for _ in {1..100}; do
        [ "$(sqlite3 "$STATE/snapshotter/metadata.db" 'SELECT count(*) FROM variants')" != 0 ] || break
        sleep 0.1
    done
    [ "$(sqlite3 "$STATE/snapshotter/metadata.db" 'SELECT count(*) FROM variants')" = 0 ]
}

@test "passing through: the other snapshotter keeps everything, the verdict is ours" {
    cp "$STATE/enforce.yaml" "$STATE/snapshotter.yaml"
    rm -rf "$STATE/snapshotter" "$STATE/containerd" "$STATE/containerd-run"
    echo 'policy: off' >"$STATE/behind.yaml"
    start_daemon behind "$SNAPSHOTTER" --root "$STATE/behind" --socket "$STATE/behind.sock" \
        --config "$STATE/behind.yaml"
    await behind test -S "$STATE/behind.sock"
    start_snapshotter --backend "$STATE/behind.sock" --backend-name behind
    start_snapshotted
    pull "$REGISTRY/app@$CUDA"
    run -0 ctr_run "$REGISTRY/app@$CUDA" p1 /bin/tool cat /etc/build
    [[ $output == cuda12.8* ]]
    [ "$(find "$STATE/behind/snapshots" -mindepth 1 -maxdepth 1 | wc -l)" -ge 2 ]
    [ ! -e "$STATE/snapshotter/snapshots" ]
    run -1 pull "$REGISTRY/app@$ROCM"
    [[ $output == *"does not fit this node"* ]]
    cp "$STATE/warn.yaml" "$STATE/snapshotter.yaml"
    kill -HUP "$(<"$STATE/pids/snapshotter")"
    pull "$REGISTRY/app@$ROCM"
    for name in $(ctr snapshots --snapshotter ocivariant ls | awk '/sha256/ { print $1 }'); do
        ctr snapshots --snapshotter ocivariant info "$name"
    done >"$STATE/infos"
    grep -q '"dev.ocivariant.verdict": "misfit"' "$STATE/infos"
    run -1 ctr snapshots --snapshotter ocivariant info nothing
    [[ $output == *"not found"* ]]
    stop_daemon behind
    run -1 ctr snapshots --snapshotter ocivariant info nothing
    [[ $output == *unavailable* ]]
    start_daemon behind "$SNAPSHOTTER" --root "$STATE/behind" --socket "$STATE/behind.sock" \
        --config "$STATE/behind.yaml"
    await behind test -S "$STATE/behind.sock"
    run -0 ctr_run "$REGISTRY/app@$CUDA" p2 /bin/tool cat /etc/build
    for name in $(ctr images ls -q); do
        ctr images rm --sync "$name" >/dev/null
    done
    for _ in {1..100}; do
        [ -n "$(ls -A "$STATE/behind/snapshots")" ] || break
        sleep 0.1
    done
    [ -z "$(ls -A "$STATE/behind/snapshots")" ]
}

@test "CRI: the pod's image is refused by its digest, without any annotation of its author's" {
    [ -x "$OCV_BUILD/test/tools/cri" ] || skip "no CRI client was built"
    printf 'policy: enforce\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/snapshotter.yaml"
    rm -rf "$STATE/snapshotter"
    start_snapshotter
    PAUSE_IMAGE=$REGISTRY/pause:1
    start_cri
    stop_daemon cri
    cat >>"$STATE/cri.toml" <<TOML
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "ocivariant"
  disable_snapshot_annotations = false
[proxy_plugins.ocivariant]
  type = "snapshot"
  address = "$SNAPSHOTTER_SOCKET"
TOML
    restart_cri
    cri pull "$REGISTRY/app@$CUDA"
    run cri pull "$REGISTRY/app@$ROCM"
    echo "$output"
    [ "$status" = 1 ]
    [[ $output == *"does not fit this node"*"what would fit: cuda12.8"* ]]
    run sqlite3 "$STATE/snapshotter/metadata.db" 'SELECT label FROM variants'
    [ "$output" = cuda12.8 ]
    run cri run "$REGISTRY/app@$CUDA" /bin/tool echo in-the-pod
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *in-the-pod* ]]
}
