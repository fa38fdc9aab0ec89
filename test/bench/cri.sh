# SPDX-License-Identifier: GPL-3.0-or-later
# Latency that the CRI proxy adds to a call and to a cancellation: `cri_proxy`, called by run.sh,
# whose variables it uses.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2119

cri_proxy()
{
    local pinned tool
    for tool in containerd ctr; do
        command -v $tool >/dev/null || { echo "(no $tool: the CRI proxy is not measured)" && return; }
    done
    # shellcheck source=test/integration/images.bash
    . test/integration/images.bash
    # shellcheck source=test/integration/cri.bash
    . test/integration/cri.bash
    make_programs "$STATE/cri-layout"
    push_layout "$STATE/cri-layout:app" "$REGISTRY/bench/cri:1"
    pinned=$REGISTRY/bench/cri@$(index_digest)
    PAUSE_IMAGE='' start_cri
    start_daemon cri-proxy "$installed/bin/ocivariant-cri-proxy" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
        --state "$STATE/cri-proxy" --records "$STATE/cri-records" --profile "$STATE/profile.json"
    await cri-proxy grep -q 'image service on' "$STATE/log/cri-proxy"
    "$OCV_BUILD/test/tools/cri" "$STATE/cri.sock" pull "$pinned" >/dev/null
    "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" pull "$pinned" >/dev/null
    echo "## Calls through the CRI image proxy, containerd behind it"
    echo
    "$tools/bench_cri" "$STATE/cri.sock" "$STATE/proxy.sock" "$pinned" ${quick:+300}
    echo
    stop_daemon cri-proxy
    stop_daemon cri
    start_daemon cri-proxy "$installed/bin/ocivariant-cri-proxy" --listen "$STATE/proxy.sock" \
        --backend "$STATE/engine.sock" --state "$STATE/cri-proxy" --profile "$STATE/profile.json"
    await cri-proxy grep -q 'image service on' "$STATE/log/cri-proxy"
    "$tools/bench_cri" cancel "$STATE/engine.sock" "$STATE/proxy.sock"
    echo
    awk '/^VmRSS/ { printf "RSS of the proxy: %.1f MiB\n\n", $2 / 1024 }' "/proc/$(cat "$STATE/pids/cri-proxy")/status"
    stop_daemon cri-proxy
    cri_pods
}

# ImageStatus of a pod's own build, without any registry request: 500 pods with devices from
# kubelet, in front of an engine that is only a table
cri_pods()
{
    local pod=0 child dir=$STATE/cri-pods pods=500
    child=$(digest_of cuda12.8)
    mkdir -p "$dir/pods" "$dir/engine"
    touch "$dir/engine/sandboxes"
    echo "$child 0" >"$dir/engine/users"
    while [ $pod -lt $pods ]; do
        : >"$dir/pods/default_pod-$pod"
        pod=$((pod + 1))
    done
    printf '%s\n' "repositories: {\"$REGISTRY/bench/*\": {workload: devices}}" >"$dir/config.yaml"
    start_daemon table "$OCV_BUILD/test/tools/criengine" "$dir/engine.sock" "$dir/engine"
    start_daemon podresources "$OCV_BUILD/test/tools/podresources" "$dir/pod-resources.sock" "$dir/pods"
    start_daemon cri-proxy "$installed/bin/ocivariant-cri-proxy" --listen "$dir/proxy.sock" --backend "$dir/engine.sock" \
        --config "$dir/config.yaml" --state "$dir/state" --records "$dir/records" --profile "$STATE/profile.json" \
        --pod-resources "$dir/pod-resources.sock"
    await cri-proxy grep -q 'image service on' "$STATE/log/cri-proxy"
    "$OCV_BUILD/test/tools/cripods" "$dir/proxy.sock" "$REGISTRY/bench/cri:1" $pods "$dir/engine.sock" \
        "$REGISTRY/bench/cri@$child" >"$dir/said"
    echo "## ImageStatus of $pods pods with builds of their own"
    echo
    awk '{ printf "| median us | added us |\n|---|---|\n| %s | %s |\n\n", $4, $6 }' "$dir/said"
    awk '/^VmHWM/ { printf "Peak of the proxy: %.1f MiB; ", $2 / 1024 }' "/proc/$(cat "$STATE/pids/cri-proxy")/status"
    echo "PodResources was asked $(grep -c '^default/pod-' "$STATE/log/podresources") times for $pods pods"
    echo
    stop_daemon cri-proxy
    stop_daemon table
    stop_daemon podresources
}
