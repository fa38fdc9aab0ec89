#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The claims of test/data/claim before a real API server and scheduler: every one is accepted and scheduled,
# and on each kind of node the alternative that was allocated is the variant that resolution picks for that
# node's profile; where it picks none for a device, the pod stays pending.

load ../harness
load ../cluster

setup_file()
{
    cluster_here >/dev/null || return 0
    state_start
    require jq nsenter curl python3 openssl
    start_namespace
    KUBE_CONTROLLERS=resourceclaim-controller,job-controller start_cluster
    mkdir -p "$STATE/nodes"/{gang,labelled}
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
    # there is no kubelet, so nothing reports that nodes are alive
    k create -f "$STATE/nodes/objects.json"
    k taint nodes --all node.kubernetes.io/not-ready:NoSchedule-
}

setup()
{
    local reason
    reason=$(cluster_here) || skip "$reason"
}

teardown()
{
    [ -n "$BATS_TEST_COMPLETED" ] || k get pods,resourceclaims -o wide || true
}

indexes() { (cd "$OCV_TOP/test/data/claim" && printf '%s\n' *.yaml | sed 's/\.yaml$//'); }
kinds() { (cd "$STATE/nodes" && printf '%s\n' *.json | sed 's/\.json$//' | grep -vx objects); }

# pods of the claim's template, one on each kind of node and one that may go anywhere
pods() # INDEX
{
    # shellcheck disable=SC2016
    kinds | jq -R . | jq -s --slurpfile template <(k get podtemplate "$1" -o json) '{apiVersion: "v1", kind: "List", items: [
        (["any"] + .)[] as $kind | {apiVersion: "v1", kind: "Pod",
            metadata: {name: "'"$1"'-\($kind)", labels: {app: "'"$1"'"}},
            spec: ($template[0].template.spec | if $kind == "any" then . else .nodeSelector = {"kubernetes.io/hostname": $kind} end)}]}'
}

all_checked()
{
    [ "$(k get pods -l "app=$1" -o json | jq '[.items[] | select(.spec.nodeName or any(.status.conditions[]?; .reason == "Unschedulable"))] | length')" = \
        "$(($(kinds | wc -l) + 1))" ]
}

# "KIND LABELS" of the alternative that each pod got
allocated() # INDEX
{
    # shellcheck disable=SC2016
    jq -r -n --slurpfile pods <(k get pods -l "app=$1" -o json) --slurpfile claims <(k get resourceclaims -o json) '
        ($claims[0].items | map({key: .metadata.name, value: .}) | from_entries) as $by |
        $pods[0].items[] | (.metadata.name | sub("^[^-]*-"; "")) as $kind |
        $by[.status.resourceClaimStatuses[0].resourceClaimName] as $claim |
        ($claim.metadata.annotations["dev.ocivariant/subrequests"] | fromjson) as $map |
        [$kind, ($claim.status.allocation.devices.results[0].request // "accel/" | sub("^accel/"; "") |
            if . == "" then "-" else $map[.] | join(",") end)] | join(" ")'
}

# the variant that the node's resolver picks, "-" where that needs no device
resolved() # INDEX KIND
{
    variantctl resolve --index "$OCV_TOP/test/data/claim/$1.json" --profile "$STATE/nodes/$2.json" |
        jq -r 'if any(.selected.matched[]?; startswith("x86_64 ") | not) then .selected.label else "-" end'
}

@test "every claim is accepted, and its pods are scheduled" {
    local index
    for index in $(indexes); do
        k apply --validate=strict -f "$OCV_TOP/test/data/claim/$index.yaml"
        pods "$index" | k create -f -
    done
    for index in $(indexes); do
        eventually all_checked "$index"
        [ -n "$(k get pod "$index-any" -o jsonpath='{.spec.nodeName}')" ]
    done
}

@test "what is allocated is what the node's resolver picks, or the pod is pending" {
    local index kind labels wanted seen=0 pending=0
    for index in $(indexes); do
        while read -r kind labels; do
            [ "$kind" != any ] || continue
            wanted=$(resolved "$index" "$kind")
            echo "$index on $kind: allocated $labels, resolved $wanted"
            [[ ,$labels, == *",$wanted,"* ]]
            seen=$((seen + 1))
            [ "$wanted" != - ] || pending=$((pending + 1))
        done < <(allocated "$index")
    done
    [ "$seen" = $(($(kinds | wc -l) * $(indexes | wc -l))) ]
    [ "$pending" -gt 6 ] && [ "$pending" -lt "$seen" ]
}

# of the template, and without a claim: where the pod went
placed_of() # TEMPLATE
{
    k get podtemplate "$1" -o json | jq --arg name "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name}, spec: .template.spec}' | k create -f - >/dev/null
    eventually scheduled "$1"
    k get pod "$1" -o jsonpath='{.spec.nodeName}'
}
scheduled() { [ -n "$(k get pod "$1" -o jsonpath='{.spec.nodeName}')" ]; }

@test "pods without a claim go by the labels of nodes: a product's, and none but the architecture" {
    [ "$(placed_of mix-furiosa)" = rngd ]
    [ "$(variantctl resolve --index "$OCV_TOP/test/data/claim/mix.json" --profile "$STATE/nodes/labelled/rngd.json" | jq -r .selected.label)" = rngd ]
    [ -n "$(placed_of app-cpu)" ]
}

# as variantctl export nfd and variantd --announce label them
label_classes()
{
    local name class
    variantctl fleet pack "$STATE/nodes/gang/fleet.jsonl" | jq -r 'select(.name) | "\(.name) \(.class)"' |
        while read -r name class; do k label node "$name" "dev.ocivariant/class=$class" || return 1; done
}

gang_claims() { k get resourceclaims -o json | jq -r '.items[] | select(.metadata.name | startswith("gang-")) | .status.allocation.devices.results[0] | "\(.request) \(.pool)"'; }
gang_placed() { [ "$(gang_claims | grep -vc null)" = 10 ]; }

@test "the members of a job get one build, and its digest" {
    local pinned
    k create -f "$STATE/nodes/gang/objects.json"
    label_classes >/dev/null
    k taint nodes -l dev.ocivariant/class node.kubernetes.io/not-ready:NoSchedule-
    variantctl claim --index "$OCV_TOP/test/data/claim/app.json" --image registry.test/app:1.0 --name gang \
        --replicas 10 --profiles "$STATE/nodes/gang/fleet.jsonl" | k apply --validate=strict -f -
    k get podtemplate gang -o json | jq '{apiVersion: "batch/v1", kind: "Job", metadata: {name: "gang"},
        spec: {parallelism: 10, completions: 10, template: {spec: (.template.spec + {restartPolicy: "Never"})}}}' | k create -f -
    eventually gang_placed
    run -0 gang_claims
    [ "$(cut -d' ' -f1 <<<"$output" | sort -u)" = accel/cu128-sm90 ]
    [ "$(cut -d' ' -f2 <<<"$output" | grep -c '^gang-h100-')" = 10 ]
    pinned=$(variantctl match --profiles "$STATE/nodes/gang/fleet.jsonl" --replicas 10 --index "$OCV_TOP/test/data/claim/app.json" --print-ref)
    [ "$(k get pods -l job-name=gang -o json | jq -r '[.items[].spec.containers[0].image] | unique | join(" ")')" = "registry.test/app@$pinned" ]
}

@test "pods of several devices get them of one node, with one build, or wait" {
    local claim count
    for count in 2 8; do
        variantctl claim --index "$OCV_TOP/test/data/claim/app.json" --image registry.test/app:1.0 --name "app-$count" --count "$count" | k apply --validate=strict -f -
        [ -n "$(placed_of "app-$count")" ]
        claim=$(k get pod "app-$count" -o jsonpath='{.status.resourceClaimStatuses[0].resourceClaimName}')
        # none of the gang's nodes, which have one device each
        [ "$(k get resourceclaim "$claim" -o json | jq -c '[.status.allocation.devices.results | length, (map([.request, .pool]) | unique | length)]')" = "[$count,1]" ]
    done
}

@test "no device makes the scheduler stumble over an expression" {
    run -0 k get events -A -o json
    [[ $output != *"CEL runtime error"* ]]
    run -1 grep -q 'CEL runtime error' "$STATE/log/scheduler"
}
