#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A build for the devices that each pod was given: the CRI image proxy with `workload: devices` between
# containerd's CRI plugin and what says which devices they are, well-behaved and not.

load ../harness
load ../images
load ../variantd
load ../cri
load ../workload

setup_file()
{
    local label
    state_start
    require docker-registry skopeo containerd ctr runc jq
    make_programs "$STATE/layout"
    for label in t4 h100; do
        mkimage "$STATE/layout" "$label" --binary "say=$OCV_BUILD/test/tools/saybuild" --cmd /say --file "etc/build=$label" >/dev/null
    done
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:mixed" --namespaces nvidia "null=oci:$STATE/layout:null" \
        "t4=oci:$STATE/layout:t4,nvidia :: sm_arch :: 75_real" "h100=oci:$STATE/layout:h100,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/mixed:1
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:mixed" "$IMAGE"
    jq '.namespaces = [.namespaces[] | select(.namespace == "nvidia") | .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "GPU-h100", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "GPU-t4", features: [{name: "sm_arch", values: ["75_real"]}]}]]' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    start_variantd mixed --profile "$STATE/mixed.json"
    start_cri
}

setup()
{
    set -o pipefail
    export PROXY_STATE=$BATS_TEST_TMPDIR/state MACHINE=mixed PODS=$BATS_TEST_TMPDIR/pods
    mkdir "$PODS"
    start_kubelets_answers
    start_proxy 'workload: devices'
}

teardown()
{
    local image
    stop_daemon proxy
    stop_daemon podresources
    for image in $(cri images | cut -d' ' -f1); do
        cri rmi "$image"
    done
}

start_kubelets_answers()
{
    start_daemon podresources "$OCV_BUILD/test/tools/podresources" "$BATS_TEST_TMPDIR/pod-resources.sock" "$PODS"
    await podresources grep -q listening "$STATE/log/podresources"
}

# has POD [LINE...]: test/tools/podresources.c
has()
{
    local pod=$1
    shift
    printf '%s\n' "$@" >"$PODS/default_$pod"
}

# the proxy's metrics
counted()
{
    grep -qx '# TYPE ocivariant_cri_proxy_pods_total counter' "$BATS_TEST_TMPDIR/metrics"
    sed -n 's/^ocivariant_cri_proxy_pods_total{build="\(.*\)"} \(.*\)/\1 \2/p' "$BATS_TEST_TMPDIR/metrics" | paste -sd '|'
}

asked() { grep -c "^default/$1$" "$STATE/log/podresources" || true; }

said() { grep -o "pod default/$1 gets the node's build.*" "$STATE/log/proxy" | tail -n 1; }

# a sandbox as kubelet makes it, with the time at which it first saw the pod
sandbox() # POD
{
    mkdir -p "$BATS_TEST_TMPDIR/logs"
    annotations "$1" | jq --arg pod "$1" --arg logs "$BATS_TEST_TMPDIR/logs" '{config: {annotations: ., metadata: {name: $pod, uid: "uid-\($pod)", namespace: "default"},
        log_directory: $logs, linux: {security_context: {namespace_options: {network: "NODE"}}}}}' | cri RunPodSandbox - | jq -r .pod_sandbox_id
}

no_sandbox() # ID
{
    jq -n --arg id "$1" '{pod_sandbox_id: $id}' | tee >(cri StopPodSandbox - >/dev/null) | { sleep 0.2; cri RemovePodSandbox - >/dev/null; }
}

@test "one tag: a T4, an H100 by a claim, both, none and no_device: cpu" {
    has one 'plugin nvidia.com/gpu GPU-t4'
    has two 'claim gpu.nvidia.com gpu-0 k8s.gpu.nvidia.com/claim=39efb201-82c2-4cf5-ad11-5001884f2f51-gpu-0'
    has both 'plugin nvidia.com/gpu 0' 'plugin nvidia.com/gpu 1'
    has none
    [ "$(says "$(pull one "$IMAGE")")" = "this is t4" ]
    [ "$(says "$(pull two "$IMAGE")")" = "this is h100" ]
    [ "$(says "$(pull both "$IMAGE")")" = "this is null" ]
    [ "$(says "$(pull none "$IMAGE")")" = "this is null" ]
    [ "$(asked one) $(asked two)" = "1 1" ]
    [ "$(status one "$IMAGE")" = "$(pull one "$IMAGE")" ]
    [ "$(asked one)" = 1 ]
    # an annotation says otherwise, and nobody needs to be asked
    [ "$(says "$(pull three "$IMAGE" devices=nvidia=GPU-h100)")" = "this is h100" ]
    [ "$(says "$(pull four "$IMAGE" devices=cpu)")" = "this is null" ]
    [ "$(asked three)$(asked four)" = 00 ]
    run ! pull five "$IMAGE" label=h100 devices=nvidia=1
    [[ $output == *'annotation dev.ocivariant/label: "h100": '* ]]
    # what a pod has narrows what it may name
    has six 'plugin nvidia.com/gpu GPU-t4'
    run ! pull six "$IMAGE" label=h100
    [[ $output == *'annotation dev.ocivariant/label: "h100": '*"$IMAGE has: null, h100, t4" ]]
}

@test "no_device: cpu gives a pod without one a build that needs none" {
    jq '.namespaces[0].devices |= .[:1]' "$STATE/mixed.json" >"$STATE/one.json"
    start_variantd one --profile "$STATE/one.json"
    stop_daemon proxy
    MACHINE=one start_proxy 'workload: devices'
    has none
    has fuse 'plugin example.com/fuse 7'
    [ "$(says "$(pull none "$IMAGE")")" = "this is h100" ]
    stop_daemon proxy
    rm -r "$PROXY_STATE"
    MACHINE=one start_proxy 'workload: devices, no_device: cpu'
    [ "$(says "$(pull none "$IMAGE")")" = "this is null" ]
    [ "$(says "$(pull other "$IMAGE" devices=node)")" = "this is h100" ]
    # of what it has nothing is known: that is not none
    [ "$(says "$(pull fuse "$IMAGE")")" = "this is h100" ]
    [[ $(said fuse) == *"the profile has no device 7 of example.com/fuse"* ]]
    stop_daemon one
}

@test "the pod of an ImageStatus: by its sandbox, its file, after a restart of the proxy, and not after one of kubelet" {
    local one two sandbox
    has one 'plugin nvidia.com/gpu GPU-t4'
    has two 'plugin nvidia.com/gpu GPU-h100'
    one=$(pull one "$IMAGE")
    two=$(pull two "$IMAGE")
    has three 'plugin nvidia.com/gpu GPU-t4'
    [ "$(status three "$IMAGE")" = absent ] # who is it?
    sandbox=$(sandbox three)
    [ "$(status three "$IMAGE")" = "$one" ]
    stop_daemon proxy
    start_proxy 'workload: devices'
    [ "$(status three "$IMAGE")" = "$one" ]
    [ "$(status two "$IMAGE")" = "$two" ]
    [ "$(asked three)" = 1 ]
    # another config.seen: kubelet has restarted, and sends a pull, which has the uid
    [ "$(SEEN=later status three "$IMAGE")" = absent ]
    [ "$(SEEN=later pull three "$IMAGE")" = "$one" ]
    [ "$(SEEN=later status three "$IMAGE")" = "$one" ]
    # a static pod's uid is its hash; a pod of the API cannot say so
    [ "$(SEEN=later2 SOURCE=file HASH=uid-two status x "$IMAGE")" = "$two" ]
    [ "$(SEEN=later3 SOURCE=api HASH=uid-two status x "$IMAGE")" = absent ]
    no_sandbox "$sandbox"
}

@test "not known, and all that was chosen is one build: that one" {
    local one
    has one 'plugin nvidia.com/gpu GPU-t4'
    has two 'plugin nvidia.com/gpu GPU-h100'
    one=$(pull one "$IMAGE")
    [ "$(SEEN=later status one "$IMAGE")" = "$one" ]
    [ "$(SEEN=later status one "$IMAGE" disable=amd)" = absent ]
    pull two "$IMAGE"
    [ "$(SEEN=later status one "$IMAGE")" = absent ]
}

@test "kubelet is late, away, wrong or lies: the node's build, or none; never another pod's" {
    local pod
    has late 'wait 4000' 'plugin nvidia.com/gpu GPU-t4'
    has liar 'plugin nvidia.com/gpu GPU-t4' 'named victim'
    has garbage 'bytes not-a-message'
    has stranger 'plugin nvidia.com/gpu GPU-of-another-node'
    has mig 'plugin nvidia.com/gpu MIG-1234'
    for pod in late liar garbage stranger mig unheard; do
        [ "$(says "$(pull $pod "$IMAGE")")" = "this is null" ]
        [ -n "$(said $pod)" ]
    done
    [[ $(said late) == *"no answer in time"* || $(said late) == *"deadline exceeded"* ]]
    [[ $(said liar) == *"is about default/victim"* ]]
    [[ $(said unheard) == *"pod not found"*"(6 times so far)" ]]
    [ "$(counted)" = "chosen 6|kept 0|node 6|refused 0" ]
    stop_daemon podresources
    [ "$(says "$(pull away "$IMAGE")")" = "this is null" ]
    rm "$BATS_TEST_TMPDIR/pod-resources.sock"
    [ "$(says "$(pull missing "$IMAGE")")" = "this is null" ]
}

@test "fail: closed refuses a pod whose devices are not known" {
    stop_daemon proxy
    start_proxy 'workload: devices' 'fail: closed'
    has one 'plugin nvidia.com/gpu GPU-t4'
    has liar 'plugin nvidia.com/gpu GPU-t4' 'named victim'
    [ "$(says "$(pull one "$IMAGE")")" = "this is t4" ]
    run ! pull liar "$IMAGE"
    [[ $output == *"the devices of pod default/liar are not known: kubelet's answer is about default/victim"* ]]
    stop_daemon podresources
    run ! pull two "$IMAGE"
    [[ $output == *"the devices of pod default/two are not known: "* ]]
    [ "$(pull one "$IMAGE")" = "$(status one "$IMAGE")" ]
    [ "$(counted)" = "chosen 1|kept 1|node 0|refused 2" ]
}
