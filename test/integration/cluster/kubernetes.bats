#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The manifests of contrib/kubernetes. Their pods are run by podman with all that the manifest says of
# them, on a node that is a directory and a containerd; kubernetes_kubelet.bats has the real kubelet.

load ../harness
load ../images
load ../variantd
load ../cri
load ../kube

setup_file()
{
    state_start
    require docker-registry skopeo ctr runc jq podman nsenter curl python3
    [ -d /etc/containerd ] || skip "no /etc/containerd, which the node's is mounted over"
    image_here
    make_programs "$STATE/layout"
    start_namespace
    start_podman
    within podman pull --quiet "$IMAGE_LAYOUT" >"$STATE/image-id"
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1 CLIENT=cri NODE=$STATE/nodefs MANIFEST=$STATE/variantd.yaml
    push_within "$STATE/layout:pause" pause:1
    push_within "$STATE/layout:app" demo/app:1
    mkdir -p "$NODE/etc/containerd"
    within mount --bind "$NODE/etc/containerd" /etc/containerd
}

teardown_file()
{
    [ ! -e "$STATE/image-id" ] || podman rm --all --force --time 0 >/dev/null
    state_stop
}

teardown()
{
    within sysctl -q net.ipv4.ip_unprivileged_port_start=1024
    stop_daemon intruder
    podman rm --all --force --time 0 >/dev/null
    stop_daemon cri
}

# a pod of the DaemonSet, when its readiness probe succeeds
start_pod() # NAME
{
    within "$OCV_TOP/test/tools/pod_run.py" "$MANIFEST" variantd "$NODE" "$STATE/pod-$1" "$1" "$(<"$STATE/image-id")" \
        >"$BATS_TEST_TMPDIR/$1.log" 2>&1 || { cat "$BATS_TEST_TMPDIR/$1.log"; return 1; }
    for _ in {1..100}; do ready && return 0; sleep 0.1; done
    podman logs "$1"
    return 1
}

ready() { [ "$(within curl --silent --max-time 5 --output /dev/null -w '%{http_code}' http://127.0.0.1:340/v2/)" = 200 ]; }

# what the pod's metrics say
told() { within curl --silent http://127.0.0.1:9340/metrics | awk -v name="$1" '$1 == name { print $2 }'; }

listed() { (cd "$NODE" && find . -type f | sort | tr '\n' ' '); }

# containerd with this configuration, which is the node's /etc/containerd/config.toml, too
start_engine() # COMMAND [DIR]
{
    rm -rf "${NODE:?}"/{etc/containerd/*,var,run}
    "$@"
    cp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
}

story() # COMMAND: containerd's
{
    start_engine "$1" /etc/containerd/certs.d
    run -0 pulled_digest "$IMAGE" # before
    [ "$output" = "$(index_digest)" ]

    manifest shadow
    start_pod first
    [[ $(listed) == *"./etc/containerd/certs.d/$REGISTRY/hosts.toml"* ]]
    cmp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
    [ ! -e "$NODE/etc/containerd/certs.d/_default" ]
    run -0 pulled_digest "$IMAGE" # as ever
    [ "$output" = "$(index_digest)" ]
    for _ in {1..100}; do [ -z "$(told 'variantd_shadow_total{outcome="variant",label="cpu.v3"}')" ] || break; sleep 0.05; done
    [ "$(told 'variantd_shadow_total{outcome="variant",label="cpu.v3"}')" -ge 1 ]
    [ "$(told variantd_engine_not_configured)" = 0 ]

    # an update: while no pod is there, pulls go on, and no other user gets the port
    podman stop --time 30 first >/dev/null
    run -1 within "$OCV_BUILD/test/tools/intruder" 340
    [ "$output" = "intruder: Permission denied" ]
    [[ $(listed) == *"./etc/containerd/certs.d/$REGISTRY/hosts.toml"* ]]
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(index_digest)" ]
    manifest on
    start_pod second
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of cpu.v3)" ]
    run -0 cri run "$IMAGE"
    [ "$output" = "this is cpu.v3" ]
    podman stop --time 30 second >/dev/null
    start_pod third
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of cpu.v3)" ]
    # the node's own programs find the daemon, which remembers
    [ "$(curl --silent --unix-socket "$NODE/run/ocivariant/variantd.sock" http://localhost/v1/healthz | jq -r .listen)" = 127.0.0.1:340 ]
    [ -n "$(find "$NODE/var/lib/ocivariant/resolved" -name '*.json')" ]

    podman stop --time 30 third >/dev/null
    within "$OCV_TOP/test/tools/pod_run.py" "$OCV_TOP/contrib/kubernetes/remove.yaml" variantd-remove "$NODE" "$STATE/pod-remove" \
        remove "$(<"$STATE/image-id")"
    [ "$(podman inspect --format '{{.State.Running}}' remove)" = true ]
    podman stop --time 20 remove >/dev/null
    [ "$(podman inspect --format '{{.State.ExitCode}}' remove)" = 0 ]
    [ "$(find "$NODE/etc/containerd" "$NODE/var/lib/ocivariant-setup" -type f)" = "$NODE/etc/containerd/config.toml" ]
    cmp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(index_digest)" ]
}

@test "a tag before, in shadow, through an update, on, and after the removal: containerd" {
    story start_cri
}

@test "a tag before, in shadow, through an update, on, and after the removal: containerd 2.x" {
    local reason
    reason=$(containerd2_here) || skip "$reason"
    story start_cri2
}

@test "a node without config_path: reported, nothing of containerd's is changed, and the pod is ready" {
    local reason="containerd: not configured: /etc/containerd/config.toml has no config_path"
    start_engine start_cri
    manifest on
    start_pod plain
    grep -qF "ocivariant-node-setup: $reason" "$BATS_TEST_TMPDIR/plain.log"
    [ "$(told variantd_engine_not_configured)" = 1 ]
    run -0 podman logs plain
    [[ $output == *"no engine of this node asks the mirror: $reason"* ]]
    [ "$(find "$NODE/etc/containerd" -type f)" = "$NODE/etc/containerd/config.toml" ]
    cmp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(index_digest)" ]
}

@test "editContainerdConfig: the configuration gets its line, containerd is not restarted, and the removal takes it out" {
    start_engine start_cri
    manifest on
    sed -i 's|^\( *\)- --root=/host$|&\n\1- --edit-engine-config|' "$MANIFEST"
    start_pod edited
    [ "$(diff "$STATE/cri.toml" "$NODE/etc/containerd/config.toml" | grep -c 'config_path = "/etc/containerd/certs.d"')" = 1 ]
    [ "$(told variantd_engine_not_configured)" = 0 ]
    run -0 pulled_digest "$IMAGE" # containerd runs with what it read
    [ "$output" = "$(index_digest)" ]
    cp "$NODE/etc/containerd/config.toml" "$STATE/cri.toml"
    restart_cri
    run -0 pulled_digest "$IMAGE"
    [ "$output" = "$(digest_of cpu.v3)" ]
    podman stop --time 30 edited >/dev/null
    within "$OCV_TOP/test/tools/pod_run.py" "$OCV_TOP/contrib/kubernetes/remove.yaml" variantd-remove "$NODE" "$STATE/pod-undo" \
        undo "$(<"$STATE/image-id")"
    cmp "$STATE/cri.toml.orig" "$NODE/etc/containerd/config.toml"
}

@test "the daemon's container has a right to its port and to nothing else" {
    start_engine start_cri /etc/containerd/certs.d
    manifest shadow
    start_pod confined
    # shellcheck disable=SC2016 # awk's
    run -0 awk '/^(Uid|CapBnd|CapEff|NoNewPrivs):/ { print $1, $2 }' "/proc/$(podman inspect --format '{{.State.Pid}}' confined)/status"
    [ "$output" = $'Uid: 65532\nCapEff: 0000000000000000\nCapBnd: 0000000000000400\nNoNewPrivs: 1' ]
    # nothing of the node's is there for it
    run ! podman exec confined variantctl setup containerd --root /host --registry docker.io
    [[ $output == *"/host: No such file or directory"* ]]
    [ "$(stat -c %u "$NODE/var/lib/ocivariant" "$NODE/run/ocivariant" "$NODE/var/lib/ocivariant-setup" | tr '\n' ' ')" = "65532 65532 0 " ]
}

@test "who has the port already, where any user may have it, is told, and the pod is not ready" {
    start_engine start_cri /etc/containerd/certs.d
    manifest shadow
    within sysctl -q net.ipv4.ip_unprivileged_port_start=0
    start_daemon intruder "$OCV_BUILD/test/tools/intruder" 340
    await intruder grep -q took "$STATE/log/intruder"
    run within "$OCV_TOP/test/tools/pod_run.py" "$MANIFEST" variantd "$NODE" "$STATE/pod-late" late "$(<"$STATE/image-id")"
    within sysctl -q net.ipv4.ip_unprivileged_port_start=1024
    [ "$(podman wait late)" = 1 ]
    run -0 podman logs late
    [[ $output == *"cannot listen on 127.0.0.1:340: Address already in use"* ]]
    [[ $output == *"a program of user 65534 listens there; unless it is variantd, it answers what engines ask"* ]]
    run ! ready
    stop_daemon intruder
}
