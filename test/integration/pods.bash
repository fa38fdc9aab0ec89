# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# A cluster of one node whose kubelet asks containerd through the CRI image proxy, with images for pods of one tag
# (`load pods` after cluster): what kubernetes_workload.bats and kubernetes_devices.bats have in common, set-up and
# teardown included.

can_run()
{
    cluster_here && containerd2_here || return 1
    if [ ! -d /etc/containerd ]; then
        echo "no /etc/containerd, which the node's is mounted over"
        return 1
    fi
    [[ $("$OCV_KUBEBOX" 2>&1) == *dra-plugin* ]] || echo "OCV_KUBEBOX has no dra-plugin: build it with test/kube/build.sh"
    [[ $("$OCV_KUBEBOX" 2>&1) == *dra-plugin* ]]
}

# image LABEL USER
image()
{
    mkimage "$STATE/layout" "$1" --binary "say=$OCV_BUILD/test/tools/saybuild" --cmd /say --cmd stay --cmd user \
        --file "etc/build=$1" ${2:+--user "$2"} >/dev/null
}

# index NAME LABEL=IMAGE,PROPERTIES...: of images, with a default that says its name
index()
{
    local name=$1 variant arguments=()
    shift
    for variant; do arguments+=("${variant%%=*}=oci:$STATE/layout:${variant#*=}"); done
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/layout:$name" --namespaces 'nvidia, x86_64' "${arguments[@]}" >/dev/null 2>&1 3>&-
    push_within "$STATE/layout:$name" "demo/$name:1"
}

setup_file()
{
    can_run >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq nsenter curl python3 openssl htpasswd
    make_programs "$STATE/layout"
    image none 1000
    image a 1000
    image b 1000
    image h100
    image t4
    image cpu
    image asroot
    start_namespace
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 PLAIN=$REGISTRY APP=$REGISTRY/demo/app:1 MIXED=$REGISTRY/demo/mixed:1 USERS=$REGISTRY/demo/users:1
    push_within "$STATE/layout:pause" pause:1
    index app null=none "a=a,x86_64 :: level :: v2" "b=b,x86_64 :: level :: v3"
    index mixed null=cpu "h100=h100,nvidia :: sm_arch :: 90_real" "t4=t4,nvidia :: sm_arch :: 75_real"
    index users null=none "a=asroot,x86_64 :: level :: v3"
    push_within "$STATE/layout:a" demo/tool:1
    start_registry private htpasswd
    export PRIVATE=$REGISTRY
    within skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false --dest-creds user:secret \
        "oci:$STATE/layout:app" "docker://$PRIVATE/demo/app:1"
    export NODE=$STATE/nodefs
    node_tree
    KUBE_CONTROLLERS=resourceclaim-controller start_cluster
    start_cri2 /etc/containerd/certs.d
    jq '.namespaces |= map(if .namespace == "nvidia" then .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "GPU-h100", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "GPU-t4", features: [{name: "sm_arch", values: ["75_real"]}]}] else . end)' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    start_variantd --profile "$STATE/mixed.json"
    cat >"$STATE/workload.yaml" <<YAML
socket: $VARIANTD_SOCKET
registries: {"$PLAIN": {url: "http://$PLAIN"}, "$PRIVATE": {url: "http://$PRIVATE"}}
repositories:
  "$PLAIN/demo/*": {workload: annotations}
  "$PRIVATE/demo/*": {workload: annotations}
  "$PLAIN/demo/mixed": {workload: devices}
YAML
    start_proxy
    mkdir -p "$STATE/manifests"
    export KUBE_IMAGE_SERVICE=$STATE/proxy.sock KUBELET_MORE="staticPodPath: $STATE/manifests"
    start_kubelet
    start_devices
}

start_proxy()
{
    rm -f "$STATE/pids/proxy"
    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" --config "$STATE/workload.yaml" \
        --state "$STATE/proxy" --records "$STATE/records" --pod-resources "$STATE/kubelet/pod-resources/kubelet.sock" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
}

# a T4 of a device plug-in, the H100 of a driver's claims
start_devices()
{
    mkdir -p "$NODE/var/lib/kubelet/device-plugins"
    start_daemon deviceplugin "$OCV_BUILD/test/tools/deviceplugin" /var/lib/kubelet/device-plugins nvidia.com/gpu GPU-t4
    echo '[{"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}]' >"$STATE/devices.json"
    start_daemon dra-plugin "$OCV_KUBEBOX" dra-plugin "$STATE/admin.kubeconfig" node-1 gpu.nvidia.com "$STATE/kubelet" /var/run/cdi "$STATE/devices.json"
    k apply -f - <<YAML
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
YAML
    eventually has_gpu
    eventually has_slice
}

has_gpu() { k get node node-1 -o json | jq -e '.status.allocatable["nvidia.com/gpu"] == "1"'; }

has_slice() { k get resourceslices -o json | jq -e '[.items[].spec.devices[]?.name] == ["gpu-0"]'; }

teardown_file()
{
    [ ! -e "${STATE:-}/pids/kubelet" ] || stop_kubelet
    state_stop
}

setup()
{
    local reason
    reason=$(can_run) || skip "$reason"
    # what a test has started again died with it
    alive proxy || start_proxy
    alive kubelet || restart_kubelet
}

alive() { grep -qs "$STATE" "/proc/$(cat "$STATE/pids/$1")/cmdline"; }

teardown()
{
    [ -n "$BATS_TEST_COMPLETED" ] || {
        k get pods -A || true
        k get events --sort-by .lastTimestamp | tail -n 20 || true
        tail -n 25 "$STATE/log/proxy" || true
    }
    k delete pods --all --now --wait --timeout=30s >/dev/null || k delete pods --all --force >/dev/null || true
}

# pod NAME IMAGE POLICY [ANNOTATION=VALUE...]: one container, MORE in its container, SPEC in its specification
pod()
{
    local name=$1 image=$2 policy=$3 annotations='{}' pair
    shift 3
    for pair; do
        annotations=$(jq --arg key "dev.ocivariant/${pair%%=*}" --arg value "${pair#*=}" '. + {($key): $value}' <<<"$annotations")
    done
    jq -n --arg name "$name" --arg image "$image" --arg policy "$policy" --argjson annotations "$annotations" --argjson more "${MORE:-"{}"}" \
        --argjson spec "${SPEC:-"{}"}" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name, annotations: $annotations},
        spec: ({hostNetwork: true, terminationGracePeriodSeconds: 1, tolerations: [{operator: "Exists"}],
            containers: [{name: "c", image: $image, imagePullPolicy: $policy} + $more]} + $spec)}' | k create -f - >/dev/null
}

is_ready() { [ "$(k get pod "$1" -o jsonpath='{.status.containerStatuses[0].state.running.startedAt}')" ]; }

started() { k logs "$1" | grep -q '^this is '; }

# says NAME...: what these pods' containers print last, in one line
says()
{
    local pod all=()
    for pod; do
        eventually started "$pod" || return 1
        all+=("$(k logs "$pod" | tail -n 1)")
    done
    (IFS='|' && echo "${all[*]}")
}

restarts() { k get pod "$1" -o jsonpath='{.status.containerStatuses[0].restartCount}'; }

restarted() { [ "$(restarts "$1")" -gt "$2" ] && is_ready "$1"; }

# kills NAME...: kills their containers, and waits until kubelet has restarted them
kills()
{
    local pod id
    local -A before
    for pod; do
        before[$pod]=$(restarts "$pod")
        id=$(k get pod "$pod" -o jsonpath='{.status.containerStatuses[0].containerID}')
        within ctr -a "$STATE/cri.sock" -n k8s.io task kill -s KILL "${id#containerd://}"
    done
    for pod; do eventually restarted "$pod" "${before[$pod]}"; done
}

event_of() { k get events --field-selector "involvedObject.name=$1" -o json | jq -r '.items[].message' | grep -F "$2"; }

restart_proxy() { stop_daemon proxy && start_proxy; }

restart_kubelet()
{
    stop_daemon kubelet || true
    start_kubelet
    eventually has_gpu
    eventually has_slice
}
