#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon's bad days, seen from ctr, a kubelet's CRI and podman: an index in the written layout
# gives its default whenever the variant cannot be told, and nothing stored is ever broken.

load ../harness
load ../images
load ../variantd
load ../cri
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman runc jq curl
    make_programs "$STATE/layout"
    start_registry
    start_gate "${REGISTRY#*:}"
    export SERVER=$GATE DIRECT=$REGISTRY IMAGE=$GATE/demo/app:1 PAUSE_IMAGE=$GATE/pause:1
    push_layout "$STATE/layout:pause" "$DIRECT/pause:1"
    push_layout "$STATE/layout:app" "$DIRECT/demo/app:1"
    PORT=$(free_port)
    export PORT
    start_cri "$STATE/certs.d"
    start_podman
    export CONTAINERD_ADDRESS=$STATE/cri.sock CONTAINERD_NAMESPACE=default
    CUDA=$(digest_of cuda12.8)
    INDEX=$(index_digest)
    export CUDA INDEX
}

setup()
{
    release
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$SERVER" "http://127.0.0.1:$PORT"
    registries_conf "127.0.0.1:$PORT" "$SERVER"
    empty_stores
}

teardown()
{
    release
    stop_daemon node
}

empty_stores()
{
    local CLIENT
    for CLIENT in ctr cri podman; do
        forget_images
    done
}

node()
{
    start_supervised node "$PORT" --registry "$SERVER=${1:-http://$SERVER}" --profile "$PROFILES/h100.json"
}

# everyone_gets LABEL [IMAGE]: each pulls, and what is stored runs and is whole
everyone_gets()
{
    local image=${2:-$IMAGE} name digest
    name=${image#"$SERVER/"}
    if [ "$1" = null ]; then
        digest=sha256:$(curl -sf -H "$ACCEPT_ALL" "http://$DIRECT/v2/${name%:*}/manifests/${name##*:}" |
            sha256sum | cut -d' ' -f1)
    else
        digest=$(digest_of "$1")
    fi
    for CLIENT in skopeo buildah; do # then podman: their store is one
        run -0 pull "$image"
        has "$1" "$digest" "$image"
    done
    for CLIENT in ctr cri podman; do
        run -0 pull "$image"
    done
    everyone_has "$1" "$digest" "$image"
}

# has LABEL DIGEST IMAGE: by $CLIENT; exactly that, complete, and it runs
has()
{
    case $CLIENT in
    ctr | cri) [ "$(stored "$3")" = "$2" ] ;;
    *) # of an index, podman keeps the child's configuration
        [ "$1" = null ] || [ "$(stored "$3")" = "$2" ]
        podman save --quiet --format docker-archive --output "$BATS_TEST_TMPDIR/saved" "$3"
        archive_is_whole "$BATS_TEST_TMPDIR/saved" "$(config_of "$1")"
        rm "$BATS_TEST_TMPDIR/saved"
        ;;
    esac
    run -0 --separate-stderr says "$3"
    echo "$CLIENT: $output, wanted $1"
    [ "$output" = "this is $1" ]
}

# everyone_has LABEL DIGEST IMAGE
everyone_has()
{
    for CLIENT in ctr cri podman; do
        has "$@"
    done
    store_is_whole
    cri_store_is_whole
}

# pulling CLIENT: in the background, what it says to $said; pulled waits for it
pulling()
{
    said=$BATS_TEST_TMPDIR/said.$1
    CLIENT=$1 pull "$IMAGE" >"$said" 2>&1 3>&- &
    waiting=$!
}

@test "the daemon runs: the variant; it is stopped: the default" {
    node
    everyone_gets cuda12.8
    stop_daemon node
    empty_stores
    everyone_gets null
}

@test "the daemon's upstream hangs: the engine asks the registry itself, which is counted" {
    local all=() client
    start_registry stuck
    kill -STOP "$(<"$STATE/pids/stuck")"
    node "http://$REGISTRY"
    ask HEAD "/v2/demo/app/manifests/1?ns=$SERVER"
    [ "$code" = 404 ]
    # each waits for three seconds, so all run in parallel
    for client in ctr cri podman; do
        pulling "$client"
        all+=("$waiting")
    done
    for waiting in "${all[@]}"; do wait "$waiting"; done
    [ "$(outcome timeout)" -ge 4 ] # ours, and one of each
    everyone_has null "$INDEX" "$IMAGE"
    kill -CONT "$(<"$STATE/pids/stuck")"
}

# connected N: so many clients are, to the daemon's port
connected()
{
    [ "$(awk -v port="$(printf ':%04X' "$PORT")" '$4 == "01" && substr($3, 9) == port' /proc/net/tcp | wc -l)" -ge "$1" ]
}

@test "the daemon hangs: the watchdog starts it again, who waited gets the default, the next the variant" {
    local pid manager client all=()
    node
    pid=$(daemon_pid node)
    manager=$(<"$STATE/pids/node")
    kill -STOP "$manager" "$pid" # the manager sleeps until all stand before the hung daemon
    for client in ctr cri podman; do
        pulling "$client"
        all+=("$waiting")
    done
    await node connected 3
    kill -CONT "$manager"
    watchdog_fires node "$pid"
    for waiting in "${all[@]}"; do wait "$waiting"; done
    everyone_has null "$INDEX" "$IMAGE"
    everyone_gets cuda12.8
}

# the watchdog needs an answer of the daemon, not just a running process
@test "the daemon runs, and answers itself no more: the watchdog starts it again" {
    local pid
    node
    pid=$(daemon_pid node)
    rm "$VARIANTD_SOCKET"
    watchdog_fires node "$pid"
    [ -S "$VARIANTD_SOCKET" ]
    everyone_gets cuda12.8
}

# in_mid_pull CLIENT: the daemon and its manager are killed when a layer is half through; $status is the
# client's
in_mid_pull()
{
    node
    empty_stores # the content is one for all namespaces
    hold bytes 100000
    pulling "$1"
    held
    kill_supervised node
    release
    status=0
    wait "$waiting" || status=$?
}

@test "kill -9 in mid-pull: containerd finishes the chosen child" {
    for CLIENT in ctr cri; do
        in_mid_pull "$CLIENT"
        [ "$status" = 0 ]
        has cuda12.8 "$CUDA" "$IMAGE"
        if [ "$CLIENT" = ctr ]; then store_is_whole; else cri_store_is_whole; fi
        node
        run -0 pull "$IMAGE"
        has cuda12.8 "$CUDA" "$IMAGE"
        stop_daemon node
    done
}

@test "kill -9 in mid-pull: podman, buildah and skopeo say that they failed, and the retry works" {
    for CLIENT in podman buildah skopeo; do
        in_mid_pull "$CLIENT"
        cat "$said"
        if [ "$status" = 0 ]; then # a reset, not an end: it asks once more by itself, and the registry
            grep -q 'retrying in' "$said"
            has null "$INDEX" "$IMAGE"
        else
            grep -E '(Error|level=fatal|level=error).*(EOF|connection reset|refused)' "$said"
            run ! podman image exists "$IMAGE"
        fi
        node
        run -0 pull "$IMAGE"
        has cuda12.8 "$CUDA" "$IMAGE"
        stop_daemon node
    done
}

@test "a child is gone or of another size upstream: 404, counted, and the default" {
    local index
    # else ctr wants every child of an index that it pulls, with or without us
    ! containerd_is_2 || export CTR_PULL=--skip-metadata
    node
    push_layout "$STATE/layout:app" "$DIRECT/demo/gone:1"
    curl -sf -X DELETE "http://$DIRECT/v2/demo/gone/manifests/$CUDA"
    ask HEAD "/v2/demo/gone/manifests/1?ns=$SERVER"
    [ "$code" = 404 ]
    everyone_gets null "$SERVER/demo/gone:1"
    [ "$(outcome missing)" = 6 ] # curl, skopeo, buildah, ctr, CRI, podman
    index=$(curl -sf -H "$ACCEPT_ALL" "http://$DIRECT/v2/demo/app/manifests/1" |
        jq -c --arg d "$CUDA" '(.manifests[] | select(.digest == $d) | .size) += 1')
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "$index" \
        "http://$DIRECT/v2/demo/app/manifests/lies"
    ask HEAD "/v2/demo/app/manifests/lies?ns=$SERVER"
    [ "$code" = 404 ]
    everyone_gets null "$SERVER/demo/app:lies"
    [ "$(outcome missing)" = 12 ]
    [ "$(grep -c 'is not there' "$STATE/log/node")" = 6 ]
    [ "$(grep -c 'has another size' "$STATE/log/node")" = 6 ]
}
