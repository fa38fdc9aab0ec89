# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The CRI proxy where each pod gets its own build, asked as a kubelet asks it (`load workload` after cri).
#
#   start_proxy REPOSITORY [LINE]   REPOSITORY: what the configuration says of demo/*; with the daemon of
#                                   $MACHINE, its state in $PROXY_STATE
#   proxied ARGUMENT...             test/tools/cri.c at the proxy
#   pull POD IMAGE [KEY=VALUE...]   kubelet's PullImage for a pod with these annotations: the image's id
#   status POD IMAGE [KEY=VALUE...] kubelet's ImageStatus for it: the id, or "absent"
#   user_of IMAGE                   the ImageStatus without annotations, by which kubelet finds a user
#   says ID                         what the image prints
# A pod "NAME" has the uid uid-NAME; SOURCE and HASH are further annotations of kubelet's.

start_proxy()
{
    printf '%s\n' "socket: $STATE/$MACHINE.sock" "repositories: {\"$REGISTRY/demo/*\": {$1}}" "${2:-}" >"$BATS_TEST_TMPDIR/config.yaml"
    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" --config "$BATS_TEST_TMPDIR/config.yaml" \
        --state "$PROXY_STATE" --records "$BATS_TEST_TMPDIR/records" --pod-resources "$BATS_TEST_TMPDIR/pod-resources.sock" \
        --metrics "$BATS_TEST_TMPDIR/metrics" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
}

proxied()
{
    "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" "$@"
}

annotations()
{
    local pod=$1 pair
    shift
    {
        jq -n --arg seen "${SEEN:-seen-$pod}" --arg source "${SOURCE:-api}" \
            '{"kubernetes.io/config.seen": $seen, "kubernetes.io/config.source": $source}'
        [ -z "${HASH:-}" ] || jq -n --arg hash "$HASH" '{"kubernetes.io/config.hash": $hash}'
        for pair in "$@"; do
            jq -n --arg key "dev.ocivariant/${pair%%=*}" --arg value "${pair#*=}" '{($key): $value}'
        done
    } | jq -s add
}

pull()
{
    local pod=$1 image=$2
    shift 2
    annotations "$pod" "$@" | jq --arg image "$image" --arg pod "$pod" \
        '{image: {$image, annotations: .}, sandbox_config: {annotations: ., metadata: {name: $pod, uid: "uid-\($pod)", namespace: "default"}}}' |
        proxied PullImage - | jq -r .image_ref
}

status()
{
    local pod=$1 image=$2
    shift 2
    annotations "$pod" "$@" | jq --arg image "$image" '{image: {$image, annotations: .}}' | proxied ImageStatus - | jq -r '.image.id // "absent"'
}

user_of()
{
    jq -n --arg image "$1" '{image: {$image}}' | proxied ImageStatus - | jq -r '
        if .image then .image | [.uid.value // empty, .username // empty, "root"] | map(tostring | select(. != "")) | first else "absent" end'
}

says()
{
    cri run "$1"
}

