#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantd --announce kubernetes before a real API server: class and profile of a node on its Node, with a pod's
# token and contrib/kubernetes/announce.yaml; nothing else, and nobody else's.

load ../harness
load ../cluster

ACCOUNT=/run/secrets/kubernetes.io/serviceaccount

setup_file()
{
    local node
    cluster_here >/dev/null || return 0
    state_start
    require jq nsenter curl python3 openssl
    start_namespace
    start_cluster
    mkdir -p "$STATE/nodes"/{gang,labelled}
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
    jq '.items |= map(select(.kind == "Node"))' "$STATE/nodes/objects.json" | k create -f -
    k create namespace ocivariant
    k apply --validate=strict -f "$OCV_TOP/contrib/kubernetes/announce.yaml"
    k -n ocivariant create serviceaccount variantd
    # pods that a scheduler has bound, as a DaemonSet's are
    for node in h100 a100; do
        k -n ocivariant create -f - <<JSON
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "variantd-$node"},
 "spec": {"serviceAccountName": "variantd", "nodeName": "$node", "containers": [{"name": "variantd", "image": "x"}]}}
JSON
    done
    within sh -c 'mount -t tmpfs tmpfs /run && mkdir -p '"$ACCOUNT"
    cp "$STATE/nodes/h100.json" "$STATE/profile.json"
}

setup()
{
    local reason
    reason=$(cluster_here) || skip "$reason"
}
teardown() { [ -n "$BATS_TEST_COMPLETED" ] || cat "${STATE:-}/log/variantd" || true; }

give_token() # POD
{
    k -n ocivariant create token variantd --bound-object-kind Pod --bound-object-name "$1" >"$STATE/token"
    within cp "$STATE/token" "$ACCOUNT/token"
    within cp "$STATE/pki/apiserver.crt" "$ACCOUNT/ca.crt"
}

# variantd as in a pod of NODE
announce() # NODE
{
    KUBERNETES_SERVICE_HOST=$KUBE_SERVICE KUBERNETES_SERVICE_PORT=443 NODE_NAME=$1 \
        start_daemon variantd "$OCV_BUILD/variantd" --announce kubernetes --profile "$STATE/profile.json" \
        --listen 127.0.0.1:5050 --socket "$STATE/variantd.sock" --state-dir "$STATE/state"
    await variantd within curl --silent --fail http://127.0.0.1:5050/v2/
}

class_of() { variantctl export nfd --profile "$1" | sed -n 's#^dev.ocivariant/class=##p'; }
label_is() { [ "$(k get node "$1" -o jsonpath='{.metadata.labels.dev\.ocivariant/class}')" = "$2" ]; }

@test "a node's class and profile are on its Node, and change with it" {
    give_token variantd-h100
    announce h100
    eventually label_is h100 "$(class_of "$STATE/nodes/h100.json")"
    # what match reads
    k get nodes -o json >"$STATE/list.json"
    run --separate-stderr -0 variantctl fleet pack "$STATE/list.json"
    [ "$(jq -r 'select(.name) | "\(.name) \(.class)"' <<<"$output")" = "h100 $(class_of "$STATE/nodes/h100.json")" ]
    cp "$STATE/nodes/h100old.json" "$STATE/profile.json"
    kill -HUP "$(<"$STATE/pids/variantd")"
    eventually label_is h100 "$(class_of "$STATE/nodes/h100old.json")"
    stop_daemon variantd
}

@test "another node's token is refused; with its own it goes on" {
    give_token variantd-a100
    cp "$STATE/nodes/h100.json" "$STATE/profile.json"
    announce h100
    eventually grep -q "cannot announce this node's class: the API server answers 4" "$STATE/log/variantd"
    label_is h100 "$(class_of "$STATE/nodes/h100old.json")"
    give_token variantd-h100 # as kubelet does when a token expires
    eventually label_is h100 "$(class_of "$STATE/nodes/h100.json")"
    [ "$(grep -c 'cannot announce' "$STATE/log/variantd")" = 1 ]
    stop_daemon variantd
}

@test "the pod's token changes only our labels of its own node" {
    give_token variantd-h100
    local change
    cat >"$STATE/user.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://$KUBE_SERVICE", certificate-authority: "$STATE/pki/apiserver.crt"}}]
users: [{name: pod, user: {token: "$(<"$STATE/token")"}}]
contexts: [{name: test, context: {cluster: test, user: pod}}]
current-context: test
YAML
    as_pod() { within "$OCV_KUBEBOX" kubectl --kubeconfig "$STATE/user.kubeconfig" "$@"; }
    api() { within curl --silent --cacert "$STATE/pki/apiserver.crt" -o /dev/null -w '%{http_code}' -X PATCH -H "Authorization: Bearer $(<"$STATE/token")" \
        -H 'Content-Type: application/merge-patch+json' "https://$KUBE_SERVICE/api/v1/nodes/$1" -d "$2"; }
    [ "$(api h100 '{"metadata": {"labels": {"dev.ocivariant/class": "000000000000"}}}')" = 200 ]
    for change in '{"metadata": {"labels": {"node-role.kubernetes.io/x": ""}}}' '{"metadata": {"labels": {"kubernetes.io/arch": "arm64"}}}' \
        '{"metadata": {"labels": {"kubernetes.io/arch": null}}}' '{"metadata": {"annotations": {"x.example/y": "1"}}}' \
        '{"spec": {"unschedulable": true}}' '{"metadata": {"finalizers": ["x.example/y"]}}'; do
        echo "$change"
        [ "$(api h100 "$change")" = 422 ] || [ "$(api h100 "$change")" = 403 ]
    done
    [ "$(api a100 '{"metadata": {"labels": {"dev.ocivariant/class": "000000000000"}}}')" != 200 ]
    run -1 as_pod get nodes
}

@test "--announce kubernetes outside of a pod names the missing variable" {
    run --separate-stderr -2 within "$OCV_BUILD/variantd" --announce kubernetes --listen 127.0.0.1:5050 --socket "$STATE/v.sock" --state-dir "$STATE/state"
    [[ $stderr == *KUBERNETES_SERVICE_HOST* ]]
    run --separate-stderr -2 within "$OCV_BUILD/variantd" --announce nomad
}

# taints NODE: as KEY:EFFECT, but for those that Kubernetes gives a node without a kubelet
taints() { k get node "$1" -o json | jq -r '[.spec.taints // [] | .[] | select(.key | startswith("node.kubernetes.io/") | not) | "\(.key):\(.effect)"] | sort | join(" ")'; }
taints_are() { [ "$(taints "$1")" = "$2" ]; }

# the chart's policies with the taint
taint_here()
{
    command -v "${OCV_HELM:-helm}" >/dev/null || skip "no helm"
    "${OCV_HELM:-helm}" template variantd "$OCV_TOP/contrib/kubernetes/chart" --namespace ocivariant --kube-version 1.36.0 \
        --set-json 'registries={"docker.io": {}}' --set startupTaint=dev.ocivariant/not-ready \
        --show-only templates/announce.yaml --show-only templates/startup-taint.yaml | k apply --validate=strict -f -
}

@test "a node's startup taint goes when its variantd serves, and nothing else of its spec can be changed" {
    taint_here
    for node in h100 a100; do
        k taint node "$node" --overwrite x.example/other=1:NoSchedule dev.ocivariant/not-ready:NoSchedule dev.ocivariant/not-ready:NoExecute
    done
    give_token variantd-h100
    api() { within curl --silent --cacert "$STATE/pki/apiserver.crt" -o "$BATS_TEST_TMPDIR/answer" -w '%{http_code}' -X PATCH -H "Authorization: Bearer $(<"$STATE/token")" \
        -H "Content-Type: application/$3" "https://$KUBE_SERVICE/api/v1/nodes/$1" -d "$2"; }
    # the policy is in force
    for change in '{"spec": {"taints": []}}' '{"spec": {"taints": [{"key": "x.example/other", "value": "2", "effect": "NoSchedule"}]}}' \
        '{"spec": {"taints": [{"key": "x.example/other", "value": "1", "effect": "NoSchedule"}, {"key": "x.example/new", "effect": "NoSchedule"}]}}' \
        '{"spec": {"unschedulable": true}}' '{"spec": {"podCIDR": "10.9.0.0/24"}}' '{"spec": {"providerID": "x://y"}}' '{"metadata": {"labels": {"x.example/y": "1"}}}' \
        '{"metadata": {"annotations": {"x.example/y": "1"}}}' '{"metadata": {"finalizers": ["x.example/y"]}}'; do
        echo "$change"
        refused() { [ "$(api h100 "$change" merge-patch+json)" != 200 ]; }
        eventually refused
        [[ $(<"$BATS_TEST_TMPDIR/answer") == *"denied request"* ]]
    done
    [ "$(api a100 '[{"op": "remove", "path": "/spec/taints/1"}]' json-patch+json)" != 200 ]
    KUBERNETES_SERVICE_HOST=$KUBE_SERVICE KUBERNETES_SERVICE_PORT=443 NODE_NAME=h100 \
        start_daemon variantd "$OCV_BUILD/variantd" --startup-taint dev.ocivariant/not-ready --profile "$STATE/profile.json" \
        --listen 127.0.0.1:5050 --socket "$STATE/variantd.sock" --state-dir "$STATE/state"
    eventually taints_are h100 x.example/other:NoSchedule
    grep -q 'node h100 serves: its taint dev.ocivariant/not-ready is removed' "$STATE/log/variantd"
    stop_daemon variantd
    [ "$(taints a100)" = "dev.ocivariant/not-ready:NoExecute dev.ocivariant/not-ready:NoSchedule x.example/other:NoSchedule" ]
}

@test "a node whose variantd does not come loses the taint after a while, and is counted" {
    taint_here
    k taint node a100 dev.ocivariant/not-ready- || true
    k taint node a100 --overwrite x.example/other=1:NoSchedule dev.ocivariant/not-ready:NoSchedule
    k -n ocivariant create token variantd-startup-taint >"$STATE/token"
    within cp "$STATE/token" "$ACCOUNT/token"
    api() { within curl --silent --cacert "$STATE/pki/apiserver.crt" -o /dev/null -w '%{http_code}' -X PATCH -H "Authorization: Bearer $(<"$STATE/token")" \
        -H "Content-Type: application/merge-patch+json" "https://$KUBE_SERVICE/api/v1/nodes/a100" -d "$1"; }
    for change in '{"spec": {"taints": []}}' '{"spec": {"unschedulable": true}}' '{"metadata": {"labels": {"x.example/y": "1"}}}' \
        '{"metadata": {"annotations": {"dev.ocivariant/x": "1"}}}'; do
        echo "$change"
        refused() { [ "$(api "$change")" != 200 ]; }
        eventually refused
    done
    KUBERNETES_SERVICE_HOST=$KUBE_SERVICE KUBERNETES_SERVICE_PORT=443 \
        start_daemon variantd "$OCV_BUILD/variantd" --startup-taint dev.ocivariant/not-ready --startup-taint-after 3s \
        --listen 127.0.0.1:5050 --socket "$STATE/variantd.sock" --state-dir "$STATE/state" --once
    await variantd within curl --silent --fail http://127.0.0.1:5050/v2/
    taints_are a100 "dev.ocivariant/not-ready:NoSchedule x.example/other:NoSchedule"
    eventually taints_are a100 x.example/other:NoSchedule
    eventually grep -q 'node a100 has had the taint dev.ocivariant/not-ready for [3-9] s, and its variantd does not serve' "$STATE/log/variantd"
    curl --silent --unix-socket "$STATE/variantd.sock" http://localhost/metrics >"$BATS_TEST_TMPDIR/metrics"
    grep -x 'variantd_startup_taints_expired_total 1' "$BATS_TEST_TMPDIR/metrics"
    # one that comes later has its time, too
    k taint node h100 dev.ocivariant/not-ready:NoSchedule
    sleep 1
    [[ $(taints h100) == *dev.ocivariant/not-ready* ]]
    eventually taints_are h100 ""
    stop_daemon variantd
}
