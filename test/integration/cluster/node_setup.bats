#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a DaemonSet runs on a node before variantd: containerd's hosts files where it reads such files, a
# report where it does not, and nothing else of the node's is touched.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require python3 openssl curl jq
}

setup()
{
    NODE=$BATS_TEST_TMPDIR/node
    mkdir -p "$NODE/etc/containerd"
    printf 'registries:\n  docker.io:\n  registry.example:5000:\n' >"$BATS_TEST_TMPDIR/config.yaml"
    unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT POD_NAME POD_NAMESPACE POD_UID NODE_NAME
}

teardown()
{
    stop_daemon api
}

node_setup()
{
    "$OCV_BUILD/libexec/ocivariant-node-setup" --root "$NODE" --config "$BATS_TEST_TMPDIR/config.yaml" \
        --report "$BATS_TEST_TMPDIR/report" --service-account "$BATS_TEST_TMPDIR/account" "$@"
}

with_config_path()
{
    printf 'version = 3\n[plugins."io.containerd.cri.v1.images".registry]\nconfig_path = "%s"\n' \
        "${1:-/etc/containerd/certs.d}" >"$NODE/etc/containerd/config.toml"
}

listed() { (cd "$NODE" && find . -type f | sort | tr '\n' ' '); }

@test "setup --hosts-only: no config_path is exit status 5, and nothing is written" {
    hosts_only() { "$VARIANTCTL" setup containerd --root "$NODE" --hosts-only "$@"; }
    echo 'version = 3' >"$NODE/etc/containerd/config.toml"
    run -5 --separate-stderr hosts_only --registry docker.io
    [ "${stderr_lines[0]}" = "variantctl: /etc/containerd/config.toml has no config_path" ]
    [ "$(listed)" = "./etc/containerd/config.toml " ]
    # a list of directories is none for newer ones
    with_config_path /etc/containerd/certs.d:/etc/docker/certs.d
    run -5 --separate-stderr hosts_only --registry docker.io --engine-version 2.4
    [[ ${stderr_lines[0]} == *"which containerd from 2.1 on takes for one directory" ]]
    run -0 hosts_only --registry docker.io --engine-version 1.7
    [[ $(listed) == *certs.d/docker.io/hosts.toml* ]]
    # never for all registries, never for another engine
    run -2 --separate-stderr hosts_only
    [ "$stderr" = "variantctl: --hosts-only needs --registry HOST" ]
    run -2 --separate-stderr "$VARIANTCTL" setup podman --registry docker.io --hosts-only
    [ "$stderr" = "variantctl: --hosts-only applies to containerd only" ]
    for action in --status --uninstall; do
        run -2 --separate-stderr hosts_only --registry docker.io "$action"
        [ "$stderr" = "variantctl: --hosts-only is for a set-up alone" ]
    done
}

@test "the registries of the configuration get hosts files, and containerd's own stays" {
    with_config_path
    cp "$NODE/etc/containerd/config.toml" "$BATS_TEST_TMPDIR/before"
    run -0 node_setup
    [ "$(<"$BATS_TEST_TMPDIR/report")" = configured ]
    [ "$(listed)" = "./etc/containerd/certs.d/docker.io/hosts.toml ./etc/containerd/certs.d/registry.example:5000/hosts.toml ./etc/containerd/config.toml ./var/lib/ocivariant-setup/containerd.json " ]
    cmp "$NODE/etc/containerd/config.toml" "$BATS_TEST_TMPDIR/before"
    grep -qF '[host."http://127.0.0.1:340"]' "$NODE/etc/containerd/certs.d/docker.io/hosts.toml"
    # a registry fewer, then none
    printf 'registries:\n  docker.io:\n' >"$BATS_TEST_TMPDIR/config.yaml"
    run -0 node_setup
    [[ $(listed) != *registry.example* ]]
    # removal needs no configuration
    rm "$BATS_TEST_TMPDIR/config.yaml"
    run -0 "$OCV_BUILD/libexec/ocivariant-node-setup" --root "$NODE" --remove
    [ "$(listed)" = "./etc/containerd/config.toml " ]
    cmp "$NODE/etc/containerd/config.toml" "$BATS_TEST_TMPDIR/before"
}

@test "k3s keeps its configuration elsewhere" {
    local k3s=/var/lib/rancher/k3s/agent/etc/containerd
    mkdir -p "$NODE$k3s"
    printf 'version = 3\n[plugins."io.containerd.cri.v1.images".registry]\nconfig_path = "%s"\n' "$k3s/certs.d" >"$NODE$k3s/config.toml"
    run -0 node_setup --engine-config "$k3s/config.toml"
    [ "$(<"$BATS_TEST_TMPDIR/report")" = configured ]
    [ -e "$NODE$k3s/certs.d/docker.io/hosts.toml" ]
    run -0 node_setup --remove
    [ "$(listed)" = ".$k3s/config.toml " ]
}

@test "containerd without config_path: reported, nothing changed, and the daemon may start" {
    local reason="containerd: not configured: /etc/containerd/config.toml has no config_path"
    echo 'version = 3' >"$NODE/etc/containerd/config.toml"
    run -0 --separate-stderr node_setup
    [ "$(<"$BATS_TEST_TMPDIR/report")" = "$reason" ]
    [ "${stderr_lines[0]}" = "ocivariant-node-setup: $reason" ]
    [ "$(listed)" = "./etc/containerd/config.toml " ]
    [ "$(<"$NODE/etc/containerd/config.toml")" = "version = 3" ]
    # asked to, it edits; containerd has to be restarted then
    run -0 node_setup --edit-engine-config
    [ "$(<"$BATS_TEST_TMPDIR/report")" = configured ]
    [[ $output == *"due on the machine of "*": systemctl restart containerd"* ]]
    grep -qF 'config_path = "/etc/containerd/certs.d"' "$NODE/etc/containerd/config.toml"
    run -0 node_setup --remove
    [ "$(<"$NODE/etc/containerd/config.toml")" = "version = 3" ]
}

@test "what others set up for all registries is not hidden, and that is reported" {
    with_config_path
    mkdir -p "$NODE/etc/containerd/certs.d/_default"
    echo 'server = "https://cache.example"' >"$NODE/etc/containerd/certs.d/_default/hosts.toml"
    run -0 node_setup
    [[ $(<"$BATS_TEST_TMPDIR/report") == "containerd: failed: "*_default* ]]
    [[ $(listed) != *docker.io* ]]
}

@test "no registry, no configuration, wrong usage" {
    with_config_path
    echo 'choose: shadow' >"$BATS_TEST_TMPDIR/config.yaml"
    run -0 node_setup
    [ "$(<"$BATS_TEST_TMPDIR/report")" = "containerd: not configured: no registry is configured" ]
    echo 'chose: shadow' >"$BATS_TEST_TMPDIR/config.yaml"
    run -2 node_setup
    run -2 "$OCV_BUILD/libexec/ocivariant-node-setup"
    run -2 node_setup --own 65532
    run -2 node_setup --own 65532:relative
    # a link in the place of the daemon's directory is not followed
    echo 'registries: {docker.io: }' >"$BATS_TEST_TMPDIR/config.yaml"
    mkdir "$BATS_TEST_TMPDIR/target"
    ln -s target "$BATS_TEST_TMPDIR/link"
    run -0 --separate-stderr node_setup --own "65532:$BATS_TEST_TMPDIR/link"
    [[ $stderr == *"cannot make it user 65532's"* ]]
    [ "$(stat -c %u "$BATS_TEST_TMPDIR/target")" = "$(id -u)" ]
}

@test "in a pod it is an event, once, with the pod's own token over verified TLS" {
    mkdir "$BATS_TEST_TMPDIR/account"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$STATE/api.key" -out "$BATS_TEST_TMPDIR/account/ca.crt" -days 2 \
        -subj /CN=api -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    echo secret-token >"$BATS_TEST_TMPDIR/account/token"
    start_daemon api python3 "$OCV_TOP/test/tools/kube_api.py" "$BATS_TEST_TMPDIR/account/ca.crt" "$STATE/api.key" "$STATE/events"
    await api grep -q . "$STATE/log/api"
    export KUBERNETES_SERVICE_HOST=127.0.0.1 POD_NAME=variantd-x POD_NAMESPACE=ocivariant POD_UID=1234 NODE_NAME=node-1
    KUBERNETES_SERVICE_PORT=$(head -n 1 "$STATE/log/api")
    export KUBERNETES_SERVICE_PORT
    echo 'version = 3' >"$NODE/etc/containerd/config.toml"
    run -0 --separate-stderr node_setup
    [[ $stderr != *"no event"* ]]
    [[ $stderr != *secret-token* ]]
    jq -e -s 'length == 1 and .[0].path == "/api/v1/namespaces/ocivariant/events" and .[0].token == "Bearer secret-token" and
        (.[0].body | .kind == "Event" and .type == "Warning" and .reason == "ContainerdNotConfigured" and
            .involvedObject.name == "variantd-x" and .involvedObject.uid == "1234" and .metadata.namespace == "ocivariant" and
            .message == "node-1: containerd: not configured: /etc/containerd/config.toml has no config_path")' "$STATE/events"
    # where all is well there is none
    with_config_path
    run -0 node_setup
    [ "$(wc -l <"$STATE/events")" = 1 ]
    # a server that another authority vouches for gets no token
    echo 'version = 3' >"$NODE/etc/containerd/config.toml"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$STATE/other.key" -out "$BATS_TEST_TMPDIR/account/ca.crt" -days 2 \
        -subj /CN=api -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    run -0 --separate-stderr node_setup
    [[ $stderr == *"no event: "* ]]
    [ "$(wc -l <"$STATE/events")" = 1 ]
}

@test "variantd tells what was reported: log and metric, again at a reload" {
    echo "containerd: not configured: no config_path" >"$BATS_TEST_TMPDIR/report"
    start_variantd node --registry docker.io --profile "$PROFILES/h100.json" --setup-report "$BATS_TEST_TMPDIR/report"
    grep -qF "no engine of this node asks the mirror: containerd: not configured: no config_path" "$STATE/log/node"
    [ "$(metric variantd_engine_not_configured)" = 1 ]
    echo configured >"$BATS_TEST_TMPDIR/report"
    kill -HUP "$(<"$STATE/pids/node")"
    await node grep -q 'configuration read again' "$STATE/log/node"
    for _ in {1..100}; do [ "$(metric variantd_engine_not_configured)" = 1 ] || break; sleep 0.05; done
    [ "$(metric variantd_engine_not_configured)" = 0 ]
    stop_daemon node
    start_variantd node --registry docker.io --profile "$PROFILES/h100.json" --setup-report "$BATS_TEST_TMPDIR/none"
    [ "$(metric variantd_engine_not_configured)" = 1 ]
    grep -qE "no engine of this node asks the mirror: .*none: No such file" "$STATE/log/node"
    stop_daemon node
    start_variantd node --registry docker.io --profile "$PROFILES/h100.json"
    [ "$(metric variantd_engine_not_configured)" = 0 ]
    stop_daemon node
}
