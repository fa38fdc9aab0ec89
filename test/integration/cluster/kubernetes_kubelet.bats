#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The manifests of contrib/kubernetes in a real cluster: validated by the API server, their pods run by the
# kubelet on containerd 2.x, and a tag that pods pull before, in shadow, on, after an update and after the
# removal.

load ../harness
load ../images
load ../variantd
load ../cri
load ../kube
load ../cluster

can_run()
{
    cluster_here && containerd2_here || return 1
    [ -d /etc/containerd ] || echo "no /etc/containerd, which the node's is mounted over"
    [ -d /etc/containerd ]
}

setup_file()
{
    can_run >/dev/null || return 0
    state_start
    require docker-registry skopeo ctr runc jq nsenter curl python3 openssl
    image_here
    make_programs "$STATE/layout"
    start_namespace
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1 VARIANTD_IMAGE=$REGISTRY/ocivariant/variantd:1
    export NODE=$STATE/nodefs MANIFEST=$STATE/variantd.yaml
    push_within "$STATE/layout:pause" pause:1
    push_within "$STATE/layout:app" demo/app:1
    push_within "${IMAGE_LAYOUT#oci:}" ocivariant/variantd:1
    node_tree
    start_cluster
    start_cri2 /etc/containerd/certs.d
    cp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
    start_kubelet
    k -n default get node node-1 -o json >"$STATE/node.json"
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
        k get pods,events -A || true
        k -n ocivariant logs -l app.kubernetes.io/instance=variantd --all-containers --tail 30 || true
    }
}

apply() { k apply --validate=strict -f "$1"; }

rolled_out() { k -n ocivariant rollout status "daemonset/$1" --timeout=120s; }

# what a pod says that pulls the tag, and the digest that its node has for it
pod_says() # NAME
{
    cri rmi "$IMAGE"
    k -n default delete pod "$1" --ignore-not-found --now >/dev/null
    k -n default apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: "$1"}
spec:
  hostNetwork: true
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: app, image: "$IMAGE", imagePullPolicy: Always}]
YAML
    eventually pod_ended "$1" || return 1
    k -n default logs "$1"
    k -n default get pod "$1" -o json | jq -r '.status.containerStatuses[0].imageID | sub(".*@"; "")'
}

pod_ended() { [ "$(k -n default get pod "$1" -o json | jq -r .status.phase)" = Succeeded ]; }

told() { within curl --silent "http://$NODE_IP:9340/metrics" | awk -v name="$1" '$1 == name { print $2 }'; }

counts() { [ "$(told "$1")" -ge "$2" ]; }

@test "the API server takes every manifest, and lets the pods' account write events alone" {
    local file
    k create namespace ocivariant --dry-run=client -o yaml | k apply -f -
    k apply -f "$OCV_TOP/test/data/kubernetes" # of prometheus-operator 0.85.0 (Apache-2.0), without descriptions
    k wait --for condition=established crd/podmonitors.monitoring.coreos.com crd/prometheusrules.monitoring.coreos.com --timeout=60s
    for file in variantd remove monitoring announce; do
        k apply --dry-run=server --validate=strict -f "$OCV_TOP/contrib/kubernetes/$file.yaml" >"$BATS_TEST_TMPDIR/$file" 2>&1
        run ! grep -i warning "$BATS_TEST_TMPDIR/$file"
    done
    # it would refuse a slip
    sed 's/hostNetwork:/hostNetwork: true\n      hostNetwrok:/' "$OCV_TOP/contrib/kubernetes/remove.yaml" >"$BATS_TEST_TMPDIR/slip.yaml"
    run ! k apply --dry-run=server --validate=strict -f "$BATS_TEST_TMPDIR/slip.yaml"
    [[ $output == *'unknown field "spec.template.spec.hostNetwrok"'* ]]
}

@test "a tag before, in shadow, on, after an update and after the removal" {
    local written
    run -0 pod_says before
    [ "$output" = "this is null"$'\n'"$(index_digest)" ]

    manifest shadow "$VARIANTD_IMAGE"
    apply "$MANIFEST"
    rolled_out variantd
    written=$(stat -c '%i %Y' "$NODE/etc/containerd/certs.d/$REGISTRY/hosts.toml")
    [ ! -e "$NODE/etc/containerd/certs.d/_default" ]
    cmp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
    run -0 pod_says shadow
    [ "$output" = "this is null"$'\n'"$(index_digest)" ]
    eventually counts 'variantd_shadow_total{outcome="variant",label="cpu.v3"}' 1
    [ "$(told variantd_engine_not_configured)" = 0 ]
    # it may do what it needs, and nothing else
    run -0 k auth can-i create events -n ocivariant --as=system:serviceaccount:ocivariant:variantd
    run -1 k auth can-i create events -n default --as=system:serviceaccount:ocivariant:variantd
    run -1 k auth can-i get secrets -n ocivariant --as=system:serviceaccount:ocivariant:variantd
    run -1 k auth can-i list pods -n ocivariant --as=system:serviceaccount:ocivariant:variantd

    manifest on "$VARIANTD_IMAGE"
    apply "$MANIFEST"
    rolled_out variantd
    run -0 pod_says on
    [ "$output" = "this is cpu.v3"$'\n'"$(digest_of cpu.v3)" ]

    k -n ocivariant rollout restart daemonset/variantd
    rolled_out variantd
    run -0 pod_says updated
    [ "$output" = "this is cpu.v3"$'\n'"$(digest_of cpu.v3)" ]
    # no pod that ended has undone what the next one wrote again
    [ "$(stat -c '%i %Y' "$NODE/etc/containerd/certs.d/$REGISTRY/hosts.toml")" = "$written" ]
    [ "$(curl --silent --unix-socket "$NODE/run/ocivariant/variantd.sock" http://localhost/v1/healthz | jq -r .listen)" = 127.0.0.1:340 ]

    # the pods leave, and the hosts file stays: pulls go to the registry
    k -n ocivariant delete daemonset variantd --wait
    eventually no_pod variantd
    [ "$(stat -c '%i %Y' "$NODE/etc/containerd/certs.d/$REGISTRY/hosts.toml")" = "$written" ]
    # and no user of the node can answer in their place
    run -1 within "$OCV_BUILD/test/tools/intruder" 340
    [ "$output" = "intruder: Permission denied" ]
    run -0 pod_says gone
    [ "$output" = "this is null"$'\n'"$(index_digest)" ]

    sed "s|image: .*|image: $VARIANTD_IMAGE|" "$OCV_TOP/contrib/kubernetes/remove.yaml" >"$BATS_TEST_TMPDIR/remove.yaml"
    apply "$BATS_TEST_TMPDIR/remove.yaml"
    rolled_out variantd-remove
    [ "$(find "$NODE/etc/containerd" "$NODE/var/lib/ocivariant-setup" -type f)" = "$NODE/etc/containerd/config.toml" ]
    cmp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
    run -0 pod_says removed
    [ "$output" = "this is null"$'\n'"$(index_digest)" ]
    k delete namespace ocivariant --wait --timeout=60s
}

no_pod() { [ -z "$(k -n ocivariant get pods -l "app.kubernetes.io/name=$1" -o name)" ]; }

@test "a node without config_path: an event, a metric and a line of the log, and the pod is ready" {
    local reason="containerd: not configured: /etc/containerd/config.toml has no config_path"
    grep -v config_path "$STATE/cri.toml" >"$NODE/etc/containerd/config.toml"
    cp "$NODE/etc/containerd/config.toml" "$BATS_TEST_TMPDIR/before"
    manifest shadow "$VARIANTD_IMAGE"
    apply "$MANIFEST"
    rolled_out variantd
    run -0 k -n ocivariant get events --field-selector reason=ContainerdNotConfigured -o json
    [ "$(jq -r '.items[0].message' <<<"$output")" = "node-1: $reason" ]
    [ "$(jq -r '.items[0].type' <<<"$output")" = Warning ]
    run -0 k -n ocivariant logs daemonset/variantd -c variantd
    [[ $output == *"no engine of this node asks the mirror: $reason"* ]]
    run -0 k -n ocivariant logs daemonset/variantd -c setup
    [[ $output == *"ocivariant-node-setup: $reason"* ]]
    eventually counts variantd_engine_not_configured 1
    cmp "$NODE/etc/containerd/config.toml" "$BATS_TEST_TMPDIR/before"
    [ ! -e "$NODE/etc/containerd/certs.d" ]
    k delete namespace ocivariant --wait --timeout=60s
    cp "$STATE/cri.toml" "$NODE/etc/containerd/config.toml"
}

helm_there() { chart --kubeconfig "$STATE/admin.kubeconfig" --namespace ocivariant "$@"; }

repaired() { [ "$(cri_digest "$IMAGE")" = "$(digest_of cpu.v3)" ] && [ "$(told variantd_lesser_images)" = 0 ]; }

digest_after() { pod_says "$1" | tail -n 1; }

label_is() { [ "$(k get node "$1" -o jsonpath='{.metadata.labels.dev\.ocivariant/class}')" = "$2" ]; }
written_at() { k get "$1" ocivariant-variantd-announce -o jsonpath='{.metadata.resourceVersion}'; }
class_of_node()
{
    curl --silent --unix-socket "$NODE/run/ocivariant/variantd.sock" http://localhost/v1/profile >"$STATE/profile.json"
    "$VARIANTCTL" export nfd --profile "$STATE/profile.json" --override x86_64::level=v3,v2,v1 | sed -n 's#^dev.ocivariant/class=##p'
}
patch() # NODE CHANGE
{
    within curl --silent --cacert "$STATE/pki/apiserver.crt" -o /dev/null -w '%{http_code}' -X PATCH -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/merge-patch+json' "https://$KUBE_SERVICE/api/v1/nodes/$1" -d "$2"
}

@test "helm: installed, switched on, uninstalled, and undone before or after that" {
    local values token hosts=$NODE/etc/containerd/certs.d/$REGISTRY/hosts.toml
    helm_here
    # shellcheck disable=SC2031
    HELM="$(command -v nsenter) --net --mount -t $NAMESPACE -- $(command -v "$HELM")"
    values=$BATS_TEST_TMPDIR/values.yaml
    cat >"$values" <<YAML
image: {repository: "${VARIANTD_IMAGE%:*}", tag: "1"}
registries: {"$REGISTRY": {url: "http://$REGISTRY"}}
config: {override: {x86_64: {level: [v3, v2, v1]}}}
monitoring: {podMonitor: true, rules: true, dashboard: true}
YAML
    run -0 helm_there install variantd "$OCV_TOP/contrib/kubernetes/chart" --create-namespace --values "$values"
    [[ $output == *"LEAVES what was written on the nodes"* ]]
    rolled_out variantd
    [ "$(k -n ocivariant get podmonitor,prometheusrule -o name | wc -l)" = 2 ]
    [ "$(digest_after helm-shadow)" = "$(index_digest)" ]
    helm_there upgrade variantd "$OCV_TOP/contrib/kubernetes/chart" --reuse-values --set choose=on
    rolled_out variantd
    [ "$(digest_after helm-on)" = "$(digest_of cpu.v3)" ]

    # what came before: nobody tells of it, then it is counted, then it is put right
    run -0 digest_after helm-again
    cri rmi "$IMAGE"
    mv "$hosts" "$hosts.away"
    cri pull "$IMAGE"
    mv "$hosts.away" "$hosts"
    run ! grep -q '^variantd_lesser_images ' <(within curl --silent "http://$NODE_IP:9340/metrics")
    runtime=(--set engine=custom --set acceptUntested=true --set custom.config=/etc/containerd/config.toml
        --set 'custom.directories={/etc/containerd}' --set "custom.socket=$STATE/cri.sock")
    helm_there upgrade variantd "$OCV_TOP/contrib/kubernetes/chart" --reuse-values "${runtime[@]}" --set verify=report
    rolled_out variantd
    eventually counts variantd_lesser_images 1
    [ "$(cri_digest "$IMAGE")" = "$(index_digest)" ]
    helm_there upgrade variantd "$OCV_TOP/contrib/kubernetes/chart" --reuse-values --set verify=repair
    rolled_out variantd
    eventually repaired
    [ "$(told variantd_lesser_images)" = 0 ]
    # the daemon beside it has neither the socket nor root
    k -n ocivariant get daemonset variantd -o json | jq -e '.spec.template.spec.containers[0] | .securityContext.runAsUser == 65532 and
        ([.volumeMounts[].name] | index("engine-socket") == null)'
    helm_there upgrade variantd "$OCV_TOP/contrib/kubernetes/chart" --reuse-values --set engine=containerd --set verify=

    helm_there upgrade variantd "$OCV_TOP/contrib/kubernetes/chart" --reuse-values --set announce=true
    rolled_out variantd
    eventually label_is node-1 "$(class_of_node)"
    # the right to patch nodes came after what limits it
    [ "$(written_at validatingadmissionpolicybinding)" -lt "$(written_at clusterrole)" ]
    [ "$(written_at clusterrole)" -lt "$(written_at clusterrolebinding)" ]
    # its token speaks for its own node alone
    k create -f - <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-2"}}'
    token=$(k -n ocivariant create token variantd --bound-object-kind Pod --bound-object-name \
        "$(k -n ocivariant get pods -l app.kubernetes.io/name=variantd -o jsonpath='{.items[0].metadata.name}')")
    [ "$(patch node-1 '{"metadata": {"labels": {"dev.ocivariant/class": "000000000000"}}}')" = 200 ]
    [ "$(patch node-1 '{"metadata": {"labels": {"team": "x"}}}')" = 422 ]
    [ "$(patch node-2 '{"metadata": {"labels": {"dev.ocivariant/class": "000000000000"}}}')" = 422 ]
    label_is node-2 ""
    k delete node node-2

    run -0 helm_there uninstall variantd
    [[ $output == *"[ConfigMap] variantd-nodes-are-still-set-up"* ]]
    eventually no_pod variantd
    [ -e "$hosts" ]
    [ "$(digest_after helm-uninstalled)" = "$(index_digest)" ]
    k -n ocivariant get configmap variantd-nodes-are-still-set-up -o json | jq -r '.data["remove.yaml"]' >"$BATS_TEST_TMPDIR/remove.yaml"
    apply "$BATS_TEST_TMPDIR/remove.yaml"
    rolled_out variantd-remove
    [ ! -e "$hosts" ]
    k -n ocivariant delete daemonset variantd-remove --wait

    # and in the order that the page has; what was left is taken over again
    helm_there install variantd "$OCV_TOP/contrib/kubernetes/chart" --values "$values"
    rolled_out variantd
    [ -e "$hosts" ]
    helm_there upgrade variantd "$OCV_TOP/contrib/kubernetes/chart" --reuse-values --set remove=true
    rolled_out variantd-remove
    [ "$(find "$NODE/etc/containerd" "$NODE/var/lib/ocivariant-setup" -type f)" = "$NODE/etc/containerd/config.toml" ]
    run -0 helm_there uninstall variantd
    [[ $output != *variantd-nodes-are-still-set-up* ]]
    run -0 k -n ocivariant get configmap -o name
    [ "$output" = configmap/kube-root-ca.crt ]
}

# the shell blocks of a section of the page, in a tree where registry.example is this registry
run_page() # SECTION
{
    awk -v section="## $1" '/^## / { inside = $0 == section } inside && /^```sh$/ { block = 1; next }
        /^```$/ { block = 0 } block' "$OCV_TOP/docs/kubernetes.md" | sed "s|registry\.example|$REGISTRY|g" >"$STATE/section.sh"
    [ -s "$STATE/section.sh" ] || return 1
    # shellcheck disable=SC2016 # expanded inside
    PATH=$STATE/shims:$PATH within bash -c 'cd "$STATE/page" && exec bash -eux -o pipefail "$STATE/section.sh"'
}

page_tree()
{
    mkdir -p "$STATE/page/contrib" "$STATE/shims"
    cp -r "$OCV_TOP/contrib/kubernetes" "$STATE/page/contrib"
    sed -i "s|registry\.example|$REGISTRY|g" "$STATE"/page/contrib/kubernetes/*.yaml
    printf '#!/bin/sh\nexec "%s" kubectl --kubeconfig "%s/admin.kubeconfig" "$@"\n' "$OCV_KUBEBOX" "$STATE" >"$STATE/shims/kubectl"
    printf '#!/bin/sh\nexec "%s" --kubeconfig "%s/admin.kubeconfig" "$@"\n' "$(command -v "${HELM:-false}")" "$STATE" >"$STATE/shims/helm"
    chmod +x "$STATE"/shims/*
    push_within "${IMAGE_LAYOUT#oci:}" "ocivariant/variantd:$(<"$OCV_TOP/VERSION")"
}

@test "the commands of the page, with Helm" {
    local mine
    helm_here
    page_tree
    mine=$("$VARIANTCTL" resolve --format json "oci:$VARIANTS:app" | jq -r 'if .selected.label then .selected.digest else .index end')
    k delete namespace ocivariant --ignore-not-found --wait --timeout=60s
    run_page "Install with Helm"
    [ "$(digest_after page-shadow)" = "$(index_digest)" ]
    run_page "From shadow to on"
    [ "$(digest_after page-on)" = "$mine" ]
    k -n ocivariant get configmap variantd -o json | jq -r '.data["config.yaml"]' | grep -A2 "$REGISTRY/team"
    run_page "Removal with Helm"
    [ "$(find "$NODE/etc/containerd" -type f)" = "$NODE/etc/containerd/config.toml" ]
    k delete namespace ocivariant --wait --timeout=60s
}

@test "the commands of the page, without Helm" {
    page_tree
    k delete namespace ocivariant --ignore-not-found --wait --timeout=60s
    run_page "Install without Helm"
    [ -e "$NODE/etc/containerd/certs.d/docker.io/hosts.toml" ]
    run_page "Removal without Helm"
    [ "$(find "$NODE/etc/containerd" -type f)" = "$NODE/etc/containerd/config.toml" ]
}
