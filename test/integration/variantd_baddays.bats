#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon's bad days, seen from ctr, a kubelet's CRI and podman: an index in the written layout
# gives its default entry whenever the variant cannot be told, and nothing stored is ever broken.

load harness
load images
load variantd
load cri

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

teardown_file()
{
    state_stop
}

setup()
{
    release
    hosts_toml "$STATE/certs.d" "$SERVER" "http://$SERVER" "http://127.0.0.1:$PORT"
    export CONTAINERS_REGISTRIES_CONF=$STATE/mirror.conf
    cat >"$CONTAINERS_REGISTRIES_CONF" <<TOML
unqualified-search-registries = ["docker.io"]
[[registry]]
location = "$SERVER"
insecure = true
[[registry.mirror]]
location = "127.0.0.1:$PORT/${SERVER/:/--}"
insecure = true
TOML
    empty_stores
}

teardown()
{
    release
    stop_daemon node
}

empty_stores()
{
    ctr images ls -q | xargs --no-run-if-empty ctr images rm --sync >/dev/null
    ctr -n k8s.io images ls -q | grep -v pause | xargs --no-run-if-empty ctr -n k8s.io images rm --sync >/dev/null
    podman rmi --all --force >/dev/null
}

node()
{
    start_supervised node "$PORT" --registry "$SERVER=${1:-http://$SERVER}" --profile "$PROFILES/h100.json"
}

ctr_pull()
{
    ctr images pull --hosts-dir "$STATE/certs.d" "$1"
}

ctr_stored()
{
    ctr images ls "name==$1" | awk 'NR == 2 { print $3 }'
}

podman_pull()
{
    podman pull --quiet "$1"
}

podman_says()
{
    podman run --rm --pull never --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$1"
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
    run -0 ctr_pull "$image"
    cri rmi "$image"
    run -0 cri_pull "$image"
    run -0 podman_pull "$image"
    everyone_has "$1" "$digest" "$image"
}

# everyone_has LABEL DIGEST IMAGE
everyone_has()
{
    [ "$(ctr_stored "$3")" = "$2" ]
    run -0 ctr run --rm "$3" "test-$RANDOM"
    [ "$output" = "this is $1" ]
    [ "$(cri status "$3" | jq -r '.repo_digests[0] | sub(".*@"; "")')" = "$2" ]
    run -0 cri run "$3"
    [ "$output" = "this is $1" ]
    run -0 podman_says "$3"
    [ "$output" = "this is $1" ]
    store_is_whole
    cri_store_is_whole
}

@test "the daemon runs: the variant; it is stopped: the default entry" {
    node
    everyone_gets cuda12.8
    stop_daemon node
    empty_stores
    everyone_gets null
}

@test "the daemon's upstream hangs: 504, counted, and the default entry" {
    local pulling=()
    start_registry stuck
    kill -STOP "$(<"$STATE/pids/stuck")"
    node "http://$REGISTRY"
    ask HEAD "/v2/demo/app/manifests/1?ns=$SERVER"
    [ "$code" = 504 ]
    # each waits out the three seconds, so all at once
    ctr_pull "$IMAGE" >/dev/null 3>&- &
    pulling=($!)
    cri_pull "$IMAGE" >/dev/null 3>&- &
    pulling+=($!)
    podman_pull "$IMAGE"
    wait "${pulling[0]}"
    wait "${pulling[1]}"
    [ "$(outcome timeout)" -ge 4 ] # ours, and one of each
    everyone_has null "$INDEX" "$IMAGE"
    kill -CONT "$(<"$STATE/pids/stuck")"
}

@test "the daemon hangs: the watchdog starts it again, who waited gets the default, the next the variant" {
    local pid waiting
    node
    pid=$(daemon_pid node)
    kill -STOP "$pid"
    ctr_pull "$IMAGE" >"$BATS_TEST_TMPDIR/ctr" 2>&1 3>&- &
    waiting=$!
    for _ in {1..600}; do
        [ "$(grep -c '^ready' "$STATE/log/node")" = 1 ] || break
        sleep 0.05
    done
    grep -q "^watchdog $pid\$" "$STATE/log/node"
    [ "$(daemon_pid node)" != "$pid" ]
    wait "$waiting"
    [ "$(ctr_stored "$IMAGE")" = "$INDEX" ]
    empty_stores
    everyone_gets cuda12.8
}

@test "kill -9 in mid-pull: containerd finishes the chosen child" {
    local pulling
    node
    hold bytes 100000
    ctr_pull "$IMAGE" >"$BATS_TEST_TMPDIR/ctr" 2>&1 3>&- &
    pulling=$!
    held
    stop_now
    release
    wait "$pulling"
    [ "$(ctr_stored "$IMAGE")" = "$CUDA" ]
    run -0 ctr run --rm "$IMAGE" "test-$RANDOM"
    [ "$output" = "this is cuda12.8" ]
    store_is_whole

    node
    empty_stores # the content is one for all namespaces
    hold bytes 100000
    cri_pull "$IMAGE" >"$BATS_TEST_TMPDIR/cri" 2>&1 3>&- &
    pulling=$!
    held
    stop_now
    release
    wait "$pulling"
    [ "$(cri status "$IMAGE" | jq -r '.repo_digests[0] | sub(".*@"; "")')" = "$CUDA" ]
    run -0 cri run "$IMAGE"
    [ "$output" = "this is cuda12.8" ]
    cri_store_is_whole
}

# The service manager goes first: nobody starts it again.
stop_now()
{
    local pid
    pid=$(daemon_pid node)
    kill -KILL "$(<"$STATE/pids/node")" "$pid"
    wait "$(<"$STATE/pids/node")" || true
    rm "$STATE/pids/node"
}

@test "kill -9 in mid-pull: podman says that it failed, and the retry works" {
    local pulling status=0
    node
    hold bytes 100000
    podman_pull "$IMAGE" >"$BATS_TEST_TMPDIR/podman" 2>&1 3>&- &
    pulling=$!
    held
    stop_now
    release
    wait "$pulling" || status=$?
    [ "$status" -ne 0 ]
    grep -E 'Error: .*(unexpected EOF|connection reset|refused)' "$BATS_TEST_TMPDIR/podman"
    run ! podman image exists "$IMAGE"
    node
    run -0 podman_pull "$IMAGE"
    run -0 podman_says "$IMAGE"
    [ "$output" = "this is cuda12.8" ]
}

@test "a child is gone or of another size upstream: 404, counted, and the default entry" {
    local index
    node
    push_layout "$STATE/layout:app" "$DIRECT/demo/gone:1"
    curl -sf -X DELETE "http://$DIRECT/v2/demo/gone/manifests/$CUDA"
    ask HEAD "/v2/demo/gone/manifests/1?ns=$SERVER"
    [ "$code" = 404 ]
    everyone_gets null "$SERVER/demo/gone:1"
    [ "$(outcome missing)" = 3 ] # curl, ctr, CRI; podman got the index itself, which is "passed"
    index=$(curl -sf -H "$ACCEPT_ALL" "http://$DIRECT/v2/demo/app/manifests/1" |
        jq -c --arg d "$CUDA" '(.manifests[] | select(.digest == $d) | .size) += 1')
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "$index" \
        "http://$DIRECT/v2/demo/app/manifests/lies"
    ask HEAD "/v2/demo/app/manifests/lies?ns=$SERVER"
    [ "$code" = 404 ]
    everyone_gets null "$SERVER/demo/app:lies"
    [ "$(outcome missing)" = 6 ]
    [ "$(grep -c 'is not there' "$STATE/log/node")" = 4 ]
    [ "$(grep -c 'has another size' "$STATE/log/node")" = 4 ]
}
