# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# A Kubernetes cluster of one node in tests (`load cluster` after harness, images, cri): the real API server,
# controllers, scheduler and kubelet, in the namespace of start_namespace.
#
#   cluster_here              is there OCV_KUBEBOX: a program that is etcd, kube-apiserver,
#                             kube-controller-manager, kube-scheduler, kubelet and kubectl, by its first
#                             argument? Else it prints why not
#   start_cluster             all but the kubelet; rights by RBAC, tokens and pod security as by default;
#                             KUBE_CONTROLLERS are run beside the usual ones
#   node_tree                 /etc/containerd and /var of the namespace are in $NODE from now on
#   start_kubelet             on the containerd of start_cri2, as node-1; sets NODE_IP. KUBE_IMAGE_SERVICE: the
#                             socket that it asks for images; KUBELET_MORE: lines of its configuration
#   stop_kubelet              and what still runs in pods
#   k ARGUMENT...             kubectl, as the administrator
#   eventually COMMAND...     until it succeeds, a minute at most
#
# The API server is at the service's own address, which no proxy has to bring about: a pod reaches it.

KUBE_SERVICE=10.96.0.1
NODE_IP=10.77.0.1

cluster_here()
{
    if [ -z "${OCV_KUBEBOX:-}" ]; then
        echo "no Kubernetes: OCV_KUBEBOX names no program"
    elif [ ! -x "$OCV_KUBEBOX" ]; then
        echo "no program $OCV_KUBEBOX (OCV_KUBEBOX)"
    else
        return 0
    fi
    return 1
}

k() { within "$OCV_KUBEBOX" kubectl --kubeconfig "$STATE/admin.kubeconfig" "$@"; }

eventually()
{
    for _ in {1..300}; do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.2
    done
    "$@"
}

node_tree()
{
    mkdir -p "$NODE"/etc/containerd "$NODE"/var/{lib,log,tmp}
    ln -sfn /run "$NODE/var/run"
    within mount --bind "$NODE/etc/containerd" /etc/containerd
    within mount --bind "$NODE/var" /var
    mkdir -p "$NODE/run"
    within mount --bind "$NODE/run" /run
}

start_etcd()
{
    start_daemon etcd "$OCV_KUBEBOX" etcd --data-dir "$STATE/etcd" --unsafe-no-fsync --log-level error \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
        --initial-cluster default=http://127.0.0.1:2380
    await etcd within curl --silent --fail http://127.0.0.1:2379/health
}

start_api_server()
{
    openssl genrsa -out "$STATE/accounts.key" 2048 2>/dev/null
    echo 'administrator,admin,admin,"system:masters"' >"$STATE/tokens.csv"
    start_daemon apiserver "$OCV_KUBEBOX" kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --secure-port=443 \
        --cert-dir="$STATE/pki" --token-auth-file="$STATE/tokens.csv" --authorization-mode=Node,RBAC --advertise-address="$NODE_IP" --kubelet-preferred-address-types=InternalIP \
        --endpoint-reconciler-type=none --service-cluster-ip-range=10.96.0.0/24 --service-account-issuer=https://cluster.test \
        --service-account-key-file="$STATE/accounts.key" --service-account-signing-key-file="$STATE/accounts.key" --v=1
    cat >"$STATE/admin.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://$KUBE_SERVICE", certificate-authority: "$STATE/pki/apiserver.crt"}}]
users: [{name: admin, user: {token: administrator}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
YAML
    await apiserver k get --raw /readyz
}

start_cluster()
{
    local ip
    export HOME=$STATE/home
    for ip in $KUBE_SERVICE $NODE_IP; do within ip address add "$ip/32" dev lo; done
    start_etcd || return 1
    start_api_server || return 1
    start_daemon controllers "$OCV_KUBEBOX" kube-controller-manager --kubeconfig="$STATE/admin.kubeconfig" --leader-elect=false \
        --cert-dir="$STATE/controllers" --service-account-private-key-file="$STATE/accounts.key" --root-ca-file="$STATE/pki/apiserver.crt" \
        --controllers=${KUBE_CONTROLLERS:+$KUBE_CONTROLLERS,}daemonset-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,garbage-collector-controller
    start_daemon scheduler "$OCV_KUBEBOX" kube-scheduler --kubeconfig="$STATE/admin.kubeconfig" --leader-elect=false --cert-dir="$STATE/scheduler"
    eventually k -n default get serviceaccount default
}

# cgroups of pods would need the host's; the rest is as on any node
start_kubelet()
{
    echo 'nameserver 127.0.0.1' >"$STATE/resolv.conf"
    cat >"$STATE/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$STATE/cri.sock
${KUBE_IMAGE_SERVICE:+imageServiceEndpoint: unix://$KUBE_IMAGE_SERVICE}
cgroupDriver: cgroupfs
failCgroupV1: false
cgroupsPerQOS: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
failSwapOn: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
evictionHard: {imagefs.available: "0%", memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
resolvConf: $STATE/resolv.conf
podLogsDir: $STATE/podlogs
volumePluginDir: $STATE/kubelet-plugins
${KUBELET_MORE:-}
YAML
    start_daemon kubelet "$OCV_KUBEBOX" kubelet --config="$STATE/kubelet.yaml" --root-dir="$STATE/kubelet" --cert-dir="$STATE/kubelet/pki" \
        --hostname-override=node-1 --node-ip="$NODE_IP" --kubeconfig="$STATE/admin.kubeconfig" --v=2
    await kubelet k get node node-1
}

# kubelet first, or it would start them again
stop_kubelet()
{
    local pid task
    stop_daemon kubelet
    for task in $(ctr -a "$STATE/cri.sock" -n k8s.io task ls -q 2>/dev/null); do
        timeout 10 ctr -a "$STATE/cri.sock" -n k8s.io task rm --force "$task" >/dev/null 2>&1 || true
    done
    stop_daemon cri
    for pid in $(pgrep -f "containerd-shim.* -address $STATE/cri.sock"); do kill "$pid" || true; done
}
