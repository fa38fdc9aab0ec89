#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The snapshotter refuses what does not fit this node, when it is unpacked and when a container
# starts; with the CRI plugin as kubelets use it, and in front of another snapshotter.

load ../harness
load ../images
load ../variantd
load ../snapshotter
load ../cri

setup_file()
{
    require containerd ctr runc skopeo docker-registry jq sqlite3
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
    busybox_image "$layout" pause --file etc/build=pause --cmd /bin/tool --cmd sleep 3>&-
    "$VARIANTCTL" index create --quiet "oci:$layout:app" --namespaces 'nvidia, amd' \
        "null=oci:$layout:cpu" \
        "cuda12.8=oci:$layout:cuda12.8,nvidia :: cuda_version_lower_bound :: 12.8" \
        "rocm7.1=oci:$layout:rocm7.1,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$layout:app" "$REGISTRY/app:1"
    skopeo copy --quiet --dest-tls-verify=false "oci:$layout:pause" "docker://$REGISTRY/pause:1" 3>&-
    push_layout "$layout:alien" "$REGISTRY/alien:1" # byte for byte
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
        jq -n --arg c "$digest" --arg l $name --arg n "$REGISTRY/app" --arg r "$REGISTRY/app:1" --arg p \
            "$([ $name = cuda12.8 ] && echo 'nvidia :: cuda_version_lower_bound :: 12.8' || echo 'amd :: gfx_arch :: gfx942')" \
            '{repository: $n, child: $c, label: $l, properties: $p, reference: $r}' >"$STATE/node/resolved/$(record_of "$digest" "$REGISTRY/app")"
    done
}

# with_policy POLICY [ANNOTATIONS [OPTION...]]: both daemons, fresh. ANNOTATIONS: whether the CRI
# plugin says which image it unpacks; else only what its author wrote on the layer is known
with_policy()
{
    local annotated=${2:-true} shipped
    cp "$STATE/$1.yaml" "$STATE/snapshotter.yaml"
    shift $(($# > 1 ? 2 : 1))
    stop_daemon cri
    stop_daemon snapshotter
    rm -rf "$STATE/snapshotter" "$STATE/cri" "$STATE/cri-run"
    start_snapshotter "$@"
    export PAUSE_IMAGE=$REGISTRY/pause:1
    if containerd_is_2 && [ "${CONFIGURATION:-}" != 2 ]; then
        start_cri2
        shipped=ocivariant-snapshotter-v3.toml
    else
        start_cri
        shipped=ocivariant-snapshotter.toml
    fi
    stop_daemon cri
    sed -e '/^version/d' -e "s|/run/ocivariant-snapshotter/snapshotter.sock|$SNAPSHOTTER_SOCKET|" \
        -e "s|/var/lib/ocivariant-snapshotter|$STATE/snapshotter|" "$OCV_TOP/contrib/containerd/$shipped" >>"$STATE/cri.toml"
    [ "$annotated" = true ] ||
        sed -i -e 's/disable_snapshot_annotations = false/disable_snapshot_annotations = true/' \
            -e '/enable_remote_snapshot_annotations/d' "$STATE/cri.toml"
    restart_cri
}

policy()
{
    cp "$STATE/$1.yaml" "$STATE/snapshotter.yaml"
    kill -HUP "$(<"$STATE/pids/snapshotter")"
}

counter()
{
    sed -n "s/^ocivariant_snapshotter_$1 //p" "$STATE/snapshotter.prom"
}

# what the snapshots of the node say of themselves
infos()
{
    local name
    for name in $(ctr -a "$STATE/cri.sock" -n k8s.io snapshots --snapshotter ocivariant ls | awk '/sha256/ { print $1 }'); do
        ctr -a "$STATE/cri.sock" -n k8s.io snapshots --snapshotter ocivariant info "$name"
    done
}

variants()
{
    sqlite3 "$STATE/snapshotter/metadata.db" "SELECT $1 FROM variants"
}

@test "enforce: the variant that fits is unpacked and runs, the other is refused with the reason" {
    with_policy enforce
    cri pull "$REGISTRY/app@$CUDA"
    run -0 cri run "$REGISTRY/app@$CUDA" /bin/tool cat /etc/build
    [[ $output == *cuda12.8* ]]
    run -1 cri pull "$REGISTRY/app@$ROCM"
    echo "$output"
    [[ $output == *FailedPrecondition*"$REGISTRY/app@$ROCM (rocm7.1) does not fit this node: "*amd* ]]
    [ "$(counter 'actions_total{action="refused"}')" -ge 1 ]
    [ "$(counter 'verdicts_total{verdict="fits"}')" -ge 1 ]
    [ "$(variants label)" = cuda12.8 ]
    cri pull "$REGISTRY/pause:1"
}

@test "enforce: a tag that leads to what does not fit says what would" {
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:rocm7.1" "docker://$REGISTRY/app:wrong" 3>&-
    with_policy enforce
    run -1 cri pull "$REGISTRY/app:wrong"
    echo "$output"
    [[ $output == *"rocm7.1"*"does not fit this node"*"what would fit: cuda12.8"* ]]
}

@test "enforce: an author's label is enough where the node has resolved it" {
    with_policy enforce false
    cri pull "$REGISTRY/app@$CUDA"
    run -1 cri pull "$REGISTRY/app@$ROCM"
    echo "$output"
    [[ $output == *"$REGISTRY/app:1 (rocm7.1) does not fit this node"*"what would fit: cuda12.8"* ]]
    [ "$(variants label)" = cuda12.8 ]
}

# what an older writer made: nothing keeps an engine from the entry that stands first
@test "enforce: what an engine took out of an index is found in that index, without any record" {
    skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/app:1" |
        jq -c '.manifests |= (map(del(.platform.variant)) | sort_by(.annotations["dev.ocivariant.label"] != "rocm7.1"))' >"$STATE/first.json"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$STATE/first.json" \
        "http://$REGISTRY/v2/app/manifests/first"
    with_policy enforce
    mv "$STATE/node/resolved" "$STATE/aside"
    run cri pull "$REGISTRY/app:first"
    rm -rf "$STATE/node/resolved"
    mv "$STATE/aside" "$STATE/node/resolved"
    echo "$output"
    [ "$status" = 1 ]
    [[ $output == *"$REGISTRY/app:first (rocm7.1) does not fit this node: "*"what would fit: cuda12.8"* ]]
}

@test "enforce: an author's properties need no record" {
    with_policy enforce false
    run -1 cri pull "$REGISTRY/alien:1"
    [[ $output == *"does not fit this node"* ]]
}

@test "enforce with choose: shadow or off lets everything pass, and on refuses it again, by a reload" {
    with_policy enforce
    run -1 cri pull "$REGISTRY/app@$ROCM"
    { cat "$STATE/enforce.yaml" && echo 'choose: shadow'; } >"$STATE/shadow.yaml"
    { cat "$STATE/enforce.yaml" && echo 'choose: off'; } >"$STATE/brake.yaml"
    policy shadow
    cri pull "$REGISTRY/app@$ROCM"
    grep -q 'warning: .*rocm7.1.*; let pass: choose is shadow' "$STATE/log/snapshotter"
    run -0 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    [[ $output == *rocm7.1* ]]
    policy brake
    before=$(wc -l <"$STATE/log/snapshotter")
    run -0 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    [ "$(wc -l <"$STATE/log/snapshotter")" = "$before" ]
    policy enforce # what was unpacked meanwhile is known
    run -1 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    [[ $output == *FailedPrecondition*"(rocm7.1) does not fit this node: "* ]]
}

@test "warn: unpacked, labelled and counted; the label outlives the commit" {
    with_policy warn
    cri pull "$REGISTRY/app@$ROCM"
    infos >"$STATE/infos"
    grep -q '"dev.ocivariant.verdict": "misfit"' "$STATE/infos"
    grep -q '"dev.ocivariant.reason": ".*rocm7.1.*does not fit' "$STATE/infos"
    [ "$(counter 'actions_total{action="warned"}')" -ge 1 ]
    [ "$(counter 'actions_total{action="refused"}')" = 0 ]
    grep -q 'warning: .*rocm7.1' "$STATE/log/snapshotter"
    before=$(counter 'actions_total{action="warned"}')
    run -0 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build # warned of again
    [ "$(counter 'actions_total{action="warned"}')" -gt "$before" ]
}

@test "containers of unpacked images are checked by the set of their chain; off asks nothing" {
    with_policy warn
    cri pull "$REGISTRY/app@$ROCM"
    policy off
    before=$(counter 'actions_total{action="warned"}')
    run -0 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    [ "$(counter 'actions_total{action="warned"}')" = "$before" ]
    policy enforce
    run -1 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    echo "$output"
    [[ $output == *"$REGISTRY/app@$ROCM (rocm7.1) does not fit this node: "*amd*"what would fit: cuda12.8"* ]]
    stop_snapshotter KILL # what it knows is kept
    start_snapshotter
    reconnected "$STATE/cri.sock"
    run -1 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    echo "$output"
    [[ $output == *"does not fit this node"* ]]
    # images share chains: any member that fits allows it
    sqlite3 "$STATE/snapshotter/metadata.db" "INSERT INTO variants SELECT ns, chain, 'cuda12.8', '', '$CUDA', '$REGISTRY/app:1' FROM variants"
    run -0 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    [ "$(variants 'count(*)')" = 2 ]
}

@test "what was known of an image goes with its layers" {
    with_policy warn
    cri pull "$REGISTRY/app@$ROCM"
    [ "$(variants label)" = rocm7.1 ]
    cri rmi "$REGISTRY/app@$ROCM"
    for _ in {1..100}; do
        [ -n "$(variants label)" ] || break
        sleep 0.1
    done
    [ -z "$(variants label)" ]
}

@test "a daemon that cannot be asked: open lets pass, closed refuses" {
    printf 'policy: enforce\nsocket: %s\n' "$STATE/nobody.sock" >"$STATE/open.yaml"
    printf 'policy: enforce\nfail: closed\nsocket: %s\nallow: ["%s/pause:*"]\n' "$STATE/nobody.sock" "$REGISTRY" >"$STATE/closed.yaml"
    with_policy open
    cri pull "$REGISTRY/app@$ROCM"
    with_policy closed
    run -1 cri pull "$REGISTRY/app@$CUDA"
    [[ $output == *"cannot be checked: variantd cannot be asked"* ]]
    cri pull "$REGISTRY/pause:1"
}

# bats test_tags=slow
@test "passing through: the other snapshotter keeps everything, the verdict is ours" {
    local i
    rm -rf "$STATE/behind"
    echo 'policy: off' >"$STATE/behind.yaml"
    start_behind()
    {
        start_daemon behind "$SNAPSHOTTER" --root "$STATE/behind" --socket "$STATE/behind.sock" \
            --config "$STATE/behind.yaml"
        await behind listening "$STATE/behind.sock"
    }
    start_behind
    with_policy enforce true --backend "$STATE/behind.sock" --backend-name behind
    cri pull "$REGISTRY/app@$CUDA"
    run -0 cri run "$REGISTRY/app@$CUDA" /bin/tool cat /etc/build
    [[ $output == *cuda12.8* ]]
    [ "$(find "$STATE/behind/snapshots" -mindepth 1 -maxdepth 1 | wc -l)" -ge 2 ]
    [ ! -e "$STATE/snapshotter/snapshots" ]
    run -1 cri pull "$REGISTRY/app@$ROCM"
    [[ $output == *"does not fit this node"* ]]
    policy warn
    cri pull "$REGISTRY/app@$ROCM"
    infos >"$STATE/infos"
    grep -q '"dev.ocivariant.verdict": "misfit"' "$STATE/infos"
    policy enforce
    run -1 cri run "$REGISTRY/app@$ROCM" /bin/tool cat /etc/build
    [[ $output == *"does not fit this node"* ]]
    snapshots=(ctr -a "$STATE/cri.sock" -n k8s.io snapshots --snapshotter ocivariant)
    run -1 "${snapshots[@]}" info nothing
    [[ $output == *"not found"* ]]
    stop_daemon behind
    run -1 "${snapshots[@]}" ls
    [[ $output == *"/behind.sock cannot be reached: "* ]]
    start_behind
    run -0 cri run "$REGISTRY/app@$CUDA" /bin/tool cat /etc/build
    for name in $(ctr -a "$STATE/cri.sock" -n k8s.io images ls -q); do
        ctr -a "$STATE/cri.sock" -n k8s.io images rm --sync "$name" >/dev/null
    done
    for ((i = 0; i < 100; i++)); do
        [ -n "$(ls -A "$STATE/behind/snapshots")" ] || break
        sleep 0.1
    done
    [ -z "$(ls -A "$STATE/behind/snapshots")" ]
}

# Its overlayfs keeps the layers, its own collector is at work, and no namespace or lease is common.
# bats test_tags=slow
@test "passing through to another containerd: it keeps everything, and collects nothing that is in use" {
    local images behind=(ctr -a "$STATE/behind/sock" -n ours) name
    mkdir -p "$STATE/behind"
    cat >"$STATE/behind.toml" <<TOML
version = 2
root = "$STATE/behind/root"
state = "$STATE/behind/run"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "$STATE/behind/sock"
[plugins."io.containerd.internal.v1.opt"]
path = "$STATE/behind/opt"
TOML
    start_daemon behind containerd --config "$STATE/behind.toml"
    await behind "${behind[@]}" version
    with_policy enforce true --backend "$STATE/behind/sock" --backend-name overlayfs --backend-namespace ours
    cri pull "$REGISTRY/app@$CUDA"
    [ ! -e "$STATE/snapshotter/snapshots" ]
    images=$("${behind[@]}" snapshots ls | grep -c Committed)
    [ "$images" -ge 2 ]
    "${behind[@]}" snapshots prepare garbage >/dev/null
    "${behind[@]}" snapshots label garbage containerd.io/gc.root= # which ctr gives it
    "${behind[@]}" content prune references # all that nobody holds
    run -1 "${behind[@]}" snapshots info garbage
    [ "$("${behind[@]}" snapshots ls | grep -c Committed)" = "$images" ]
    run -0 cri run "$REGISTRY/app@$CUDA" /bin/tool cat /etc/build
    [[ $output == *cuda12.8* ]]
    run -1 cri pull "$REGISTRY/app@$ROCM"
    [[ $output == *"does not fit this node"* ]]
    # labels that are set on it do not make it garbage either
    name=$(ctr -a "$STATE/cri.sock" -n k8s.io snapshots --snapshotter ocivariant ls | awk '/Committed/ { print $1 }' | tail -n 1)
    ctr -a "$STATE/cri.sock" -n k8s.io snapshots --snapshotter ocivariant label "$name" containerd.io/snapshot/x=y
    "${behind[@]}" content prune references
    run -0 cri run "$REGISTRY/app@$CUDA" /bin/tool cat /etc/build
    for name in $(ctr -a "$STATE/cri.sock" -n k8s.io images ls -q); do
        ctr -a "$STATE/cri.sock" -n k8s.io images rm --sync "$name" >/dev/null
    done # collected here, removed there
    [ -z "$("${behind[@]}" snapshots ls | tail -n +2)" ]
    "${behind[@]}" content prune references
    [ -z "$(ls -A "$STATE/behind/root/io.containerd.snapshotter.v1.overlayfs/snapshots")" ]
    stop_daemon behind
}

@test "a configuration of version 2 does in every containerd" {
    CONFIGURATION=2 with_policy enforce
    cri pull "$REGISTRY/app@$CUDA"
    run -1 cri pull "$REGISTRY/app@$ROCM"
    [[ $output == *"$REGISTRY/app@$ROCM (rocm7.1) does not fit this node: "* ]]
}

@test "ctr's pulls are checked where they go through the transfer service, that is in containerd 2.x" {
    with_policy enforce
    ctr=(ctr -a "$STATE/cri.sock" images pull --plain-http --snapshotter ocivariant)
    run -0 "${ctr[@]}" "$REGISTRY/app@$CUDA"
    run "${ctr[@]}" "$REGISTRY/app@$ROCM"
    if containerd_is_2; then
        [ "$status" = 1 ]
        [[ $output == *"$REGISTRY/app@$ROCM (rocm7.1) does not fit this node: "* ]]
    else
        [ "$status" = 0 ]
    fi
}
