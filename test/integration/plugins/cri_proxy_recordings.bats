#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Recorded calls of kubelets for many pods, replayed to the CRI image proxy with `workload` in their
# order and in others, in front of an engine that is a table: test/data/cri, and recordings beside
# OCV_FIXTURES if present.

load ../harness
load ../images
load ../variantd
load ../cri
load ../workload

setup_file()
{
    local label tag
    state_start
    require docker-registry skopeo jq python3
    for label in null a b t4 h100; do
        mkimage "$STATE/layout" "$label" --file "etc/build=$label" --user 1000 >/dev/null
    done
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:app" --namespaces 'nvidia, x86_64' "null=oci:$STATE/layout:null" \
        "a=oci:$STATE/layout:a,x86_64 :: level :: v2" "b=oci:$STATE/layout:b,x86_64 :: level :: v3" \
        "t4=oci:$STATE/layout:t4,nvidia :: sm_arch :: 75_real" "h100=oci:$STATE/layout:h100,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    export VARIANTS=$STATE/layout
    start_registry
    push_layout "$STATE/layout:app" "$REGISTRY/t/app:1.0"
    for tag in app:2.0 app:3.0 app:dev app:1.0-atom app:1.0-cuda13.0 usr:1; do
        push_layout "$STATE/layout:app" "$REGISTRY/t/$tag"
    done
    jq '.namespaces |= map(if .namespace == "nvidia" then .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "FAKE-0", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "FAKE-1", features: [{name: "sm_arch", values: ["75_real"]}]}] else . end)' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    start_variantd mixed --profile "$STATE/mixed.json"
    export RECORDINGS=${OCV_FIXTURES:+$OCV_FIXTURES/../engines/cri-recordings/recorded}
}

setup()
{
    set -o pipefail
    PODS=$BATS_TEST_TMPDIR/pods ENGINE=$BATS_TEST_TMPDIR/engine
}

teardown()
{
    local pid
    pid=$(cat "$BATS_TEST_TMPDIR/proxy.pid" 2>/dev/null || true)
    [ -z "$pid" ] || kill "$pid" || true
    stop_daemon engine
    stop_daemon podresources
}

# begin MODE: an empty engine and no answers of kubelet; starts a new proxy
begin()
{
    local mode=$1 label children='{}'
    teardown
    rm -rf "$PODS" "$ENGINE" "$BATS_TEST_TMPDIR/state" "$BATS_TEST_TMPDIR/proxy.pid"
    mkdir -p "$PODS" "$ENGINE"
    touch "$ENGINE/sandboxes"
    for label in null a b t4 h100; do
        echo "$(digest_of $label) 1000"
    done >"$ENGINE/users"
    for label in null a b t4 h100; do
        children=$(jq --arg name $label --arg digest "$(digest_of $label)" '. + {($name): $digest}' <<<"$children")
    done
    start_daemon engine "$OCV_BUILD/test/tools/criengine" "$ENGINE/engine.sock" "$ENGINE"
    start_daemon podresources "$OCV_BUILD/test/tools/podresources" "$BATS_TEST_TMPDIR/pod-resources.sock" "$PODS"
    await engine grep -q listening "$STATE/log/engine"
    await podresources grep -q listening "$STATE/log/podresources"
    jq -n --arg cri "$OCV_BUILD/test/tools/cri" --arg proxy "$BATS_TEST_TMPDIR/proxy.sock" --arg registry "$REGISTRY" --arg pods "$PODS" \
        --arg sandboxes "$ENGINE/sandboxes" --argjson children "$children" --argjson devices "$([ "$mode" = devices ] && echo true || echo false)" \
        '{$cri, $proxy, $registry, $pods, $sandboxes, $children, $devices, node: "b", user: "1000",
          labels: {"FAKE-0": "h100", "FAKE-1": "t4", "gpu-0": "h100", "gpu-1": "t4"}}' >"$BATS_TEST_TMPDIR/play.json"
    printf '%s\n' "socket: $STATE/mixed.sock" "repositories: {\"$REGISTRY/t/*\": {workload: $mode}}" >"$BATS_TEST_TMPDIR/config.yaml"
    cat >"$BATS_TEST_TMPDIR/again" <<SH
cd "$BATS_TEST_TMPDIR"
[ ! -e proxy.pid ] || kill -KILL \$(cat proxy.pid)
rm -f proxy.sock
: >proxy.log
"$CRI_PROXY" --listen "$BATS_TEST_TMPDIR/proxy.sock" --backend "$ENGINE/engine.sock" --config config.yaml --state state \
    --records records --pod-resources pod-resources.sock -v >proxy.log 2>&1 </dev/null 3>&- &
echo \$! >proxy.pid
for i in \$(seq 500); do grep -q 'image service on' proxy.log && exit 0; sleep 0.01; done
exit 1
SH
    sh "$BATS_TEST_TMPDIR/again"
}

# play MODE FILE [OPTION...]: and no name without a digest has come to the engine
play()
{
    local mode=$1 file=$2
    shift 2
    begin "$mode"
    python3 "$OCV_TOP/test/tools/cri_play.py" "$@" "$BATS_TEST_TMPDIR/play.json" "$file" || { tail -n 5 "$BATS_TEST_TMPDIR/proxy.log"; return 1; }
    ! grep -E '^(PullImage|ImageStatus) ' "$STATE/log/engine" | grep -vE ' ([^ ]*@)?sha256:[0-9a-f]{64}$'
}

@test "pods with annotations, and with devices: each its own, in many orders" {
    local seed
    run -0 play annotations "$OCV_TOP/test/data/cri/annotations.jsonl"
    [[ $output == *"absent=4 played="*" refused="* ]]
    run -0 play devices "$OCV_TOP/test/data/cri/devices.jsonl"
    for seed in 1 2 3 4 5; do
        play annotations "$OCV_TOP/test/data/cri/annotations.jsonl" --seed $seed
        play devices "$OCV_TOP/test/data/cri/devices.jsonl" --seed $seed
    done
}

@test "kill -9 of the proxy between any two calls" {
    play annotations "$OCV_TOP/test/data/cri/annotations.jsonl" --kill "sh $BATS_TEST_TMPDIR/again"
    play devices "$OCV_TOP/test/data/cri/devices.jsonl" --kill "sh $BATS_TEST_TMPDIR/again"
}

@test "500 pods by device: kubelet is asked once for each, in less than 16 MiB" {
    local pod=0 peak
    begin devices
    while [ $pod -lt 500 ]; do
        echo "plugin nvidia.com/gpu FAKE-$((pod % 2))" >"$PODS/default_pod-$pod"
        pod=$((pod + 1))
    done
    "$OCV_BUILD/test/tools/cripods" "$BATS_TEST_TMPDIR/proxy.sock" "$REGISTRY/t/app:1.0" 500
    [ "$(grep -c '^default/pod-' "$STATE/log/podresources")" = 500 ]
    [ "$(grep '^default/pod-' "$STATE/log/podresources" | sort -u | wc -l)" = 500 ]
    peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$(cat "$BATS_TEST_TMPDIR/proxy.pid")/status")
    echo "peak of the proxy: $peak KiB"
    [ "$peak" -lt 16384 ]
    # each pod its own, and none the other's
    [ "$(grep -c "devices nvidia=0000:3b:00.0$" "$BATS_TEST_TMPDIR/proxy.log")" = 250 ]
    [ "$(grep -c "devices nvidia=0000:af:00.0$" "$BATS_TEST_TMPDIR/proxy.log")" = 250 ]
}

@test "every recording of a real kubelet, in its order and in another, by annotation and by device" {
    local file
    [ -d "$RECORDINGS" ] || skip "no recordings beside OCV_FIXTURES"
    for file in "$RECORDINGS"/*.jsonl; do
        play annotations "$file"
        play devices "$file"
        play annotations "$file" --seed 7
        play devices "$file" --seed 7
    done
}

@test "every recording with kill -9 of the proxy between any two calls" {
    local file
    [ -d "$RECORDINGS" ] || skip "no recordings beside OCV_FIXTURES"
    for file in "$RECORDINGS"/*.jsonl; do
        play annotations "$file" --kill "sh $BATS_TEST_TMPDIR/again"
        play devices "$file" --kill "sh $BATS_TEST_TMPDIR/again"
    done
}
