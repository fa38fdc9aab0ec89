#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# One whole line: what `variantctl claim` writes, the scheduler, the kubelet with a driver's plug-in, containerd
# 2.x and variantd. The container says which build it is, and that is what its claim's subrequest names; for a
# tag, for an index that admission pinned, and for the child that `variantctl match` pins.

load ../harness
load ../images
load ../variantd
load ../cri
load ../cluster

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

DRIVERS="gpu.nvidia.com gpu.amd.com"

# devices of the kinds of nodes below, as the vendors' drivers publish them
device() # KIND
{
    case $1 in
    h100) nvidia 12.8.0 570.124.6 ;;
    h100old) nvidia 12.6.0 560.35.3 ;;
    laptop) echo null ;;
    mi300x) echo '{"type": {"string": "amdgpu"}, "productName": {"string": "AMD_Instinct_MI300X_OAM"},
        "driverVersion": {"version": "6.12.12"}}' ;;
    esac
}

nvidia() # CUDA DRIVER
{
    jq -n --arg cuda "$1" --arg driver "$2" '{type: {string: "gpu"}, productName: {string: "NVIDIA H100 80GB HBM3"},
        cudaComputeCapability: {version: "9.0.0"}, driverVersion: {version: $driver}, cudaDriverVersion: {version: $cuda}}'
}

driver_of() { [ "$1" = mi300x ] && echo gpu.amd.com || echo gpu.nvidia.com; }

pin_by_admission()
{
    local port way
    port=$(free_port)
    start_daemon webhook python3 "$OCV_TOP/test/tools/pin_webhook.py" "$port" "$STATE/server.crt" "$STATE/server.key"
    await webhook grep -q ready "$STATE/log/webhook"
    for way in digest tag-and-digest; do
        k apply -f - <<JSON
{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "pin-$way"},
 "webhooks": [{"name": "$way.pin.test", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
   "objectSelector": {"matchLabels": {"pin": "$way"}},
   "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
   "clientConfig": {"url": "https://127.0.0.1:$port/$way", "caBundle": "$(base64 -w0 "$STATE/ca.pem")"}}]}
JSON
    done
}

setup_file()
{
    local driver
    can_run >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq nsenter curl python3 openssl
    make_programs "$STATE/layout"
    make_certificates
    mkdir "$STATE/fleet"
    cp "$PROFILES"/{h100,mi300x,laptop}.json "$STATE/fleet"
    jq '(.. | objects | select(.name? == "cuda_version_lower_bound").values) |= map(select(split(".") | map(tonumber) < [12, 7]))' \
        "$PROFILES/h100.json" >"$STATE/fleet/h100old.json"
    start_namespace
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1 NODE=$STATE/nodefs
    push_within "$STATE/layout:pause" pause:1
    push_within "$STATE/layout:app" demo/app:1
    node_tree
    KUBE_CONTROLLERS=resourceclaim-controller start_cluster
    start_cri2 /etc/containerd/certs.d
    write_config "choose: on"
    mkdir -p "$STATE/records"
    for driver in $DRIVERS; do
        k create -f - <<JSON
{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "$driver"},
 "spec": {"selectors": [{"cel": {"expression": "device.driver == '$driver'"}}]}}
JSON
    done
    pin_by_admission
    within "$VARIANTCTL" claim --config "$STATE/config.yaml" "$IMAGE" 2>"$STATE/claim.warnings" | k apply --validate=strict -f -
}

teardown_file()
{
    [ ! -e "${STATE:-}/pids/kubelet" ] || stop_kubelet
    state_stop
}

setup()
{
    local reason
    reason=$(can_run) || skip "$reason"
}

teardown()
{
    [ -n "$BATS_TEST_COMPLETED" ] || {
        k get pods,resourceclaims,resourceslices -A || true
        k get events --field-selector involvedObject.kind!=Node || true
        tail -n 20 "$STATE"/log/{dra-plugin,variantd,webhook,proxy} || true
    }
}

# be KIND [proxy]: the node is of that kind, and its kubelet asks containerd for images, or the CRI proxy
be()
{
    [ ! -e "$STATE/pids/kubelet" ] || stop_daemon kubelet
    stop_daemon dra-plugin
    stop_daemon proxy
    stop_daemon variantd
    start_variantd --config "$STATE/config.yaml" --profile "$STATE/fleet/$1.json"
    within "$VARIANTCTL" setup containerd --registry "$REGISTRY" --listen "$VARIANTD" --config-dir /etc/containerd/certs.d --engine-config "$STATE/cri.toml" >"$STATE/log/setup" 2>&1
    if [ "${2:-}" = proxy ]; then
        start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
            --config "$STATE/config.yaml" --state "$STATE/proxy" --records "$STATE/records" -v
        await proxy grep -q 'image service on' "$STATE/log/proxy"
    fi
    KUBE_IMAGE_SERVICE=${2:+$STATE/proxy.sock} start_kubelet
    device "$1" | jq '[select(. != null) | {name: "device-0", attributes: .}]' >"$STATE/devices.json"
    start_daemon dra-plugin "$OCV_KUBEBOX" dra-plugin "$STATE/admin.kubeconfig" node-1 "$(driver_of "$1")" \
        "$STATE/kubelet" /var/run/cdi "$STATE/devices.json"
    eventually published "$(driver_of "$1")"
}

# the driver's devices are those of this kind of node, and the other driver's are gone
published()
{
    local driver
    for driver in $DRIVERS; do
        [ "$driver" = "$1" ] || k delete resourceslices --field-selector "spec.driver=$driver"
    done
    k get resourceslices -o json | jq -e --slurpfile devices "$STATE/devices.json" --arg driver "$1" \
        '[.items[] | select(.spec.driver == $driver) | .spec.devices[]?.attributes] == [$devices[0][].attributes]'
}

said() { k logs "$1" | grep -q '^this is '; }

# create_pod NAME [LABELS [TEMPLATE]]: of the claim's PodTemplate
create_pod()
{
    local labels=${2:-"{}"}
    k get podtemplate "${3:-app}" -o json | jq --arg name "$1" --argjson labels "$labels" '{apiVersion: "v1", kind: "Pod",
        metadata: {name: $name, labels: $labels}, spec: (.template.spec + {hostNetwork: true, restartPolicy: "Never",
            terminationGracePeriodSeconds: 1, tolerations: [{operator: "Exists"}]} |
            .containers[0] += {imagePullPolicy: "Always", command: ["/say", "stay"]})}' | k create -f - >/dev/null
}

# pod as create_pod: and prints what it says, what the subrequest of its claim stands for, and the digest that its
# node has
pod()
{
    local claim
    create_pod "$@"
    eventually said "$1" || return 1
    k logs "$1"
    claim=$(k get pod "$1" -o jsonpath='{.status.resourceClaimStatuses[0].resourceClaimName}')
    [ -z "$claim" ] || k get resourceclaim "$claim" -o json | jq -r '(.metadata.annotations["dev.ocivariant/subrequests"] | fromjson) as $names |
        .status.allocation.devices.results[0].request | sub("^accel/"; "") | $names[.] | join(",")'
    k get pod "$1" -o jsonpath='{.status.containerStatuses[0].imageID}' | sed 's/.*@//'
    k delete pod "$1" --now >/dev/null
    cri rmi "$(k get podtemplate app -o jsonpath='{.template.spec.containers[0].image}')" >/dev/null
}

line_of() { printf 'this is %s\n%s\n%s' "$1" "$1" "$(digest_of "$1")"; }

@test "a tag: the container is the build that its claim's subrequest names" {
    local kind
    for kind in h100=cuda12.8 h100old=cuda12.6 mi300x=rocm7.1; do
        be "${kind%=*}"
        run -0 pod "tag-${kind%=*}"
        [ "$output" = "$(line_of "${kind#*=}")" ]
    done
}

unschedulable() { k get pod "$1" -o json | jq -e 'any(.status.conditions[]?; .reason == "Unschedulable")'; }

@test "a node without devices: the claim is pending, and the pod that claims nothing gets its CPU's build" {
    be laptop
    create_pod no-device
    run -0 pod cpu "{}" app-cpu
    [ "$output" = $'this is cpu.v3\n'"$(digest_of cpu.v3)" ]
    eventually unschedulable no-device
    [ -z "$(k get pod no-device -o jsonpath='{.spec.nodeName}')" ]
    k delete pod no-device --now
}

@test "pinned by admission to the index: the CRI proxy takes the build that the subrequest names" {
    local kind way
    for kind in h100=cuda12.8 h100old=cuda12.6 mi300x=rocm7.1; do
        be "${kind%=*}" proxy
        for way in digest tag-and-digest; do
            run -0 pod "pin-${kind%=*}-$way" "{\"pin\": \"$way\"}"
            [ "$output" = "$(line_of "${kind#*=}")" ]
        done
    done
    # what the pods were admitted with
    [ "$(grep -c "^$IMAGE $REGISTRY/demo/app@$(index_digest)$" "$STATE/log/webhook")" = 3 ]
    [ "$(grep -c "^$IMAGE $IMAGE@$(index_digest)$" "$STATE/log/webhook")" = 3 ]
}

@test "every pin that match prints is a child of that index, and what its pods run, whatever the node would take" {
    local class label request children=$BATS_TEST_TMPDIR/children pins=$BATS_TEST_TMPDIR/pins
    match() { within "$VARIANTCTL" match --config "$STATE/config.yaml" --profiles "$STATE/fleet" "$@" --print-ref "$IMAGE"; }
    "$VARIANTCTL" index show --format json "oci:$STATE/layout:app" | jq -r '.manifests[].digest' | sort >"$children"
    {
        match --policy best --replicas 4 | cut -d' ' -f2
        for request in 1 2 4; do match --replicas "$request"; done
        match --role a=1 --role b=1 --role c=1 --role d=1 | cut -d' ' -f2
        for label in null cpu.v3 cuda12.6 cuda12.8 rocm7.1; do match --label "$label" --replicas 1; done
        match --policy common --nodes h100,h100old
    } >"$pins"
    [ "$(grep -c "^$REGISTRY/demo/app@" "$pins")" = 17 ]
    [ "$(wc -l <"$pins")" = 17 ]
    [ "$(sed 's/.*@//' "$pins" | sort -u)" = "$(cat "$children")" ]
    # two members, on an H100 with a newer driver and on one with an older: one build
    [ "$(tail -n 1 "$pins")" = "$REGISTRY/demo/app@$(digest_of cuda12.6)" ]
    k delete podtemplate,resourceclaimtemplate app
    within "$VARIANTCTL" claim --config "$STATE/config.yaml" --replicas 2 --profiles "$STATE/fleet" --require nvidia "$IMAGE" | k apply --validate=strict -f -
    be h100 proxy
    class=$("$VARIANTCTL" export nfd --profile "$STATE/fleet/h100.json" | sed -n 's#^dev.ocivariant/class=##p')
    k label node node-1 "dev.ocivariant/class=$class"
    run -0 pod gang '{"pin": "digest"}'
    [ "$output" = "$(line_of cuda12.6)" ]
    run ! grep demo/app@ < <(cut -d' ' -f1 "$STATE/log/webhook")
}
