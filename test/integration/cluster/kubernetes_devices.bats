#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A build for each pod by its devices under a real kubelet, those of a plug-in and of claims: the CRI image proxy with
# `workload: devices` between it and containerd 2.x, and everything that restarts.

load ../harness
load ../images
load ../variantd
load ../cri
load ../cluster
load ../pods

@test "by device: a T4 of a plug-in, an H100 of a claim, none, a static pod; and after restarts" {
    MORE='{"resources": {"limits": {"nvidia.com/gpu": "1"}}}' pod d-t4 "$MIXED" IfNotPresent
    MORE='{"resources": {"claims": [{"name": "gpu"}]}}' SPEC='{"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}' pod d-h100 "$MIXED" IfNotPresent
    pod d-none "$MIXED" IfNotPresent
    jq -n --arg image "$MIXED" '{apiVersion: "v1", kind: "Pod", metadata: {name: "d-static", annotations: {"dev.ocivariant/devices": "nvidia=GPU-t4"}},
        spec: {hostNetwork: true, terminationGracePeriodSeconds: 1, containers: [{name: "c", $image, imagePullPolicy: "IfNotPresent"}]}}' >"$STATE/manifests/d-static.json"
    run -0 says d-t4 d-h100 d-none d-static-node-1
    [ "$output" = "this is t4 as 0|this is h100 as 0|this is cpu as 0|this is t4 as 0" ]
    restart_proxy
    kills d-t4 d-h100 d-none d-static-node-1
    run -0 says d-t4 d-h100 d-none d-static-node-1
    [ "$output" = "this is t4 as 0|this is h100 as 0|this is cpu as 0|this is t4 as 0" ]
    restart_kubelet
    kills d-t4 d-h100
    run -0 says d-t4 d-h100
    [ "$output" = "this is t4 as 0|this is h100 as 0" ]
    rm "$STATE/manifests/d-static.json"
    eventually gone d-static-node-1
}

gone() { ! k get pod "$1"; }

@test "by device: the proxy begins with nothing, and finds the pod among the engine's sandboxes" {
    MORE='{"resources": {"limits": {"nvidia.com/gpu": "1"}}}' pod e-t4 "$MIXED" IfNotPresent
    pod e-none "$MIXED" IfNotPresent
    run -0 says e-t4 e-none
    [ "$output" = "this is t4 as 0|this is cpu as 0" ]
    stop_daemon proxy
    rm -r "$STATE/proxy"
    start_proxy
    kills e-t4 e-none
    run -0 says e-t4 e-none
    [ "$output" = "this is t4 as 0|this is cpu as 0" ]
}

@test "by device: kubelet and the proxy restart; under the policy Never a container gets its own build or none" {
    MORE='{"resources": {"limits": {"nvidia.com/gpu": "1"}}}' pod n-first "$MIXED" IfNotPresent
    pod n-none "$MIXED" IfNotPresent
    run -0 says n-first n-none
    k delete pod n-first --now --wait >/dev/null
    MORE='{"resources": {"limits": {"nvidia.com/gpu": "1"}}}' pod n-never "$MIXED" Never
    run -0 says n-never
    [ "$output" = "this is t4 as 0" ]
    restart_kubelet
    restart_proxy
    kills n-none
    run -0 says n-none
    [ "$output" = "this is cpu as 0" ]
    within ctr -a "$STATE/cri.sock" -n k8s.io task kill -s KILL \
        "$(k get pod n-never -o jsonpath='{.status.containerStatuses[0].containerID}' | sed 's|containerd://||')"
    eventually stopped_or_again n-never
    [ "$(k logs n-never | grep -v '^this is t4 as 0$' || true)" = "" ]
}

# with Never it runs again, or kubelet reports that the image does not exist
stopped_or_again()
{
    restarted "$1" 0 || k get pod "$1" -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}' | grep -q ErrImageNeverPull
}
