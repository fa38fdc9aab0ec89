#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A build for each pod under a real kubelet: the CRI image proxy with `workload` between it and containerd 2.x,
# pods of one tag with annotations, and everything that restarts. kubernetes_devices.bats has pods with devices.

load ../harness
load ../images
load ../variantd
load ../cri
load ../cluster
load ../pods

@test "two pods, one tag, two builds, and neither is the bare tag's; the user is the image's" {
    pod t-a "$APP" IfNotPresent label=a
    pod t-b "$APP" IfNotPresent label=b
    pod t-none "$APP" Always
    MORE='{"securityContext": {"runAsNonRoot": true}}' pod t-nonroot "$APP" IfNotPresent label=a
    run -0 says t-a t-b t-none t-nonroot
    [ "$output" = "this is a as 1000|this is b as 1000|this is b as 1000|this is a as 1000" ]
    [ "$(cri status "$APP")" = null ]
}

@test "builds of different users are refused, and kubectl says which" {
    pod u-1 "$USERS" IfNotPresent label=a
    eventually event_of u-1 "variants of $USERS run as different users (1000, root)"
    run ! is_ready u-1
}

@test "an annotation that cannot be met: kubectl shows it, its value and the labels" {
    pod bad-1 "$APP" IfNotPresent label=cuda99
    pod bad-2 "$APP" Always require=nvida
    eventually event_of bad-1 "annotation dev.ocivariant/label: \"cuda99\": there is no such variant; $APP has: null, a, b"
    eventually event_of bad-2 "annotation dev.ocivariant/require: no namespace 'nvida'; did you mean 'nvidia'?"
    run ! is_ready bad-1
    run ! is_ready bad-2
}

@test "twelve pods at once, two builds in turns" {
    local i pods=() expected=()
    for i in {1..12}; do
        if ((i % 2)); then label=a; else label=b; fi
        pod "r-$i" "$APP" IfNotPresent label=$label
        pods+=("r-$i")
        expected+=("this is $label as 1000")
    done
    run -0 says "${pods[@]}"
    [ "$output" = "$(IFS='|' && echo "${expected[*]}")" ]
}

@test "an image volume has the pod's build" {
    SPEC="{\"volumes\": [{\"name\": \"v\", \"image\": {\"reference\": \"$APP\", \"pullPolicy\": \"IfNotPresent\"}}]}" \
        MORE='{"volumeMounts": [{"name": "v", "mountPath": "/v"}], "command": ["/v/say", "stay", "user"]}' pod vol "$APP" IfNotPresent label=a
    run -0 says vol
    [ "$output" = "this is a as 1000" ]
    [ "$(grep -c "$APP -> .*pod default/vol" "$STATE/log/proxy")" -le 2 ]
}

@test "after garbage collection new pods get their own again" {
    local id
    pod g-a "$APP" IfNotPresent label=a
    pod g-b "$APP" IfNotPresent label=b
    run -0 says g-a g-b
    k delete pods --all --now --wait >/dev/null
    for id in $(cri images | awk '/demo\/app@/ { print $1 }'); do
        "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" rmi "$id" # as kubelet does, by id
    done
    pod g-a2 "$APP" IfNotPresent label=a
    pod g-b2 "$APP" IfNotPresent label=b
    run -0 says g-a2 g-b2
    [ "$output" = "this is a as 1000|this is b as 1000" ]
}

@test "a private image: with the pod's secret alone, and no other pod starts from what it left" {
    k create secret docker-registry login --docker-server="$PRIVATE" --docker-username=user --docker-password=secret >/dev/null
    pod p-anonymous "$PRIVATE/demo/app:1" Always label=a
    eventually event_of p-anonymous "access denied (HTTP 401)"
    SPEC='{"imagePullSecrets": [{"name": "login"}]}' pod p-secret "$PRIVATE/demo/app:1" IfNotPresent label=a
    run -0 says p-secret
    [ "$output" = "this is a as 1000" ]
    pod p-none "$PRIVATE/demo/app:1" IfNotPresent label=a
    eventually event_of p-none "Failed to pull image"
    run ! is_ready p-none
    run ! is_ready p-anonymous
}

@test "containers, the proxy and kubelet restart, an annotation changes: every pod keeps its build" {
    pod s-a "$APP" IfNotPresent label=a
    pod s-b "$APP" Always label=b
    run -0 says s-a s-b
    kills s-a s-b
    restart_proxy
    kills s-a s-b
    run -0 says s-a s-b
    [ "$output" = "this is a as 1000|this is b as 1000" ]
    restart_kubelet
    kills s-a s-b
    run -0 says s-a s-b
    [ "$output" = "this is a as 1000|this is b as 1000" ]
    k annotate --overwrite pod s-a dev.ocivariant/label=b >/dev/null
    kills s-a
    run -0 says s-a
    [ "$output" = "this is a as 1000" ]
}

# the last one: nobody starts it again
@test "the registry is away: containers restart with what is there" {
    pod away-a "$APP" IfNotPresent label=a
    run -0 says away-a
    stop_daemon registry
    kills away-a
    run -0 says away-a
    [ "$output" = "this is a as 1000" ]
    pod away-b "$APP" Always label=b
    eventually event_of away-b "ocivariant: $APP"
    run ! is_ready away-b
}
