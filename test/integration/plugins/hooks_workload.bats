#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# With `workload`: the runtime hook, the verifier and the daemon check a container against the
# devices that it was given.

load ../harness
load ../images
load ../variantd

setup_file()
{
    local label
    state_start
    start_registry
    mkimage "$STATE/images" null --file etc/build=null >/dev/null
    for label in t4 h100 b200; do
        mkimage "$STATE/images" "$label" --file "etc/build=$label" >/dev/null
    done
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:app" --namespaces nvidia "null=oci:$STATE/images:null" \
        "t4=oci:$STATE/images:t4,nvidia :: sm_arch :: 75_real" "h100=oci:$STATE/images:h100,nvidia :: sm_arch :: 90_real" \
        "b200=oci:$STATE/images:b200,nvidia :: sm_arch :: 100_real" >/dev/null 3>&-
    for label in by/device by/word plain; do
        push_layout "$STATE/images:app" "$REGISTRY/$label:1"
    done
    jq '.namespaces = [.namespaces[] | select(.namespace == "nvidia") | .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "GPU-h100", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "GPU-t4", features: [{name: "sm_arch", values: ["75_real"]}]}]]' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    write_config 'policy: enforce' "repositories: {\"$REGISTRY/by/device\": {workload: devices}, \"$REGISTRY/by/word\": {workload: annotations}}"
    start_variantd --config "$STATE/config.yaml" --profile "$STATE/mixed.json"
    export VARIANTS=$STATE/images T4 H100 B200 NULL
    T4=$(digest_of t4) H100=$(digest_of h100) B200=$(digest_of b200) NULL=$(digest_of null)
}

# judged REPOSITORY DIGEST [GIVEN]
judged() { verdict "ref=$REGISTRY/$1:1" "digest=$2" ${3:+"given=$3"} | jq -r .verdict; }

# started REPOSITORY DIGEST [SPEC]: the hook at a container with that specification
started()
{
    local bundle=$BATS_TEST_TMPDIR/bundle
    mkdir -p "$bundle"
    jq --arg digest "$2" --arg name "$REGISTRY/$1:1" '.annotations += {"dev.ocivariant.digest": $digest,
        "org.opencontainers.image.ref.name": $name}' <<<"${3:-{\}}" >"$bundle/config.json"
    OCIVARIANT_CONFIG=$STATE/config.yaml "$HOOK" <<<"{\"id\":\"c\",\"bundle\":\"$bundle\"}"
}

@test "the daemon: what fits the devices that a container has, and no others" {
    local has
    for has in nvidia.com/gpu=0 0000:3b:00.0 nvidia/visible=GPU-h100 nvidia.com/gpu=GPU-h100; do
        [ "$(judged by/device "$H100" "$has")" = fits ]
        [ "$(judged by/device "$T4" "$has")" = misfit ]
    done
    [ "$(judged by/device "$T4" nvidia.com/gpu=1)" = fits ]
    [ "$(judged by/device "$H100" nvidia.com/gpu=1)" = misfit ]
    [ "$(judged by/device "$H100" nvidia.com/gpu=all)" = misfit ] # both cards, and it runs on one
    [ "$(judged by/device "$NULL" nvidia.com/gpu=1)" = fits ]
    run verdict "ref=$REGISTRY/by/device:1" "digest=$H100" given=nvidia.com/gpu=1
    [[ $(jq -r .reason <<<"$output") == *"; the container has nvidia=0000:af:00.0" ]]
    [ "$(jq -r .fit <<<"$output")" = "" ] # of the node, not of the container
}

@test "the daemon: devices that are not known, or not said: what some pod of the node could get" {
    local has
    for has in '' nvidia.com/gpu=7 MIG-1 nonsense example.com/nic=0; do
        [ "$(judged by/device "$H100" "$has")" = fits ]
        [ "$(judged by/device "$T4" "$has")" = fits ]
        [ "$(judged by/device "$NULL" "$has")" = fits ]
        [ "$(judged by/device "$B200" "$has")" = misfit ]
    done
    # by annotations: the pod may have said which
    [ "$(judged by/word "$T4" nvidia.com/gpu=0)" = fits ]
    [ "$(judged by/word "$B200")" = misfit ]
    # without `workload`: the node's answer
    [ "$(judged plain "$T4" nvidia.com/gpu=1)" = misfit ]
    [ "$(judged plain "$T4")" = misfit ]
    [ "$(judged plain "$NULL" nvidia.com/gpu=1)" = fits ]
}

@test "the runtime hook reads CDI's annotations, and variables that name devices" {
    run -0 started by/device "$T4" '{"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=1"}}'
    run -1 started by/device "$H100" '{"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=1"}}'
    [[ $output == *"$REGISTRY/by/device:1 (h100) does not fit this node: "*"the container has nvidia=0000:af:00.0" ]]
    run -0 started by/device "$H100" '{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=GPU-h100"]}}'
    run -1 started by/device "$T4" '{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=GPU-h100"]}}'
    # inherited from the image, and nothing acts on it
    run -0 started by/device "$T4" '{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=all"]}}'
    run -1 started by/device "$T4" '{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=all"]}, "hooks": {"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook"}]}}'
    run -0 started by/device "$T4"
    run -1 started by/device "$B200"
    run -1 started plain "$T4" '{"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=1"}}'
}

@test "what the verifier and the snapshotter ask, who see no container, does not refuse a pod's build" {
    verify()
    {
        printf '{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"%s","size":1}\n' "$2" |
            OCIVARIANT_CONFIG=$STATE/config.yaml "$VERIFIER" -name "$REGISTRY/$1:1" -digest "$2" \
                -stdin-media-type application/vnd.oci.descriptor.v1+json
    }
    run -0 verify by/device "$T4"
    run -0 verify by/device "$H100"
    run -0 verify by/word "$T4"
    run -1 verify by/device "$B200"
    run -1 verify plain "$T4"
}
