#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl verify: containers that run are judged by their own devices where `workload: devices` holds.

load ../harness
load ../images
load ../variantd

setup_file()
{
    local label
    state_start
    require docker-registry skopeo jq runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_registry
    for label in null t4 h100; do
        mkimage "$STATE/images" "$label" --binary "pause=$OCV_BUILD/test/tools/saybuild" --cmd /pause --cmd pause --file "etc/build=$label" >/dev/null
    done
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:app" --namespaces nvidia "null=oci:$STATE/images:null" \
        "t4=oci:$STATE/images:t4,nvidia :: sm_arch :: 75_real" "h100=oci:$STATE/images:h100,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    jq '.namespaces = [.namespaces[] | select(.namespace == "nvidia") | .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "GPU-h100", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "GPU-t4", features: [{name: "sm_arch", values: ["75_real"]}]}]]' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    export OCV_STATE_DIR=$STATE/node
    write_config
    cp "$STATE/config.yaml" "$STATE/off.yaml"
    write_config "repositories: {\"$REGISTRY/app\": {workload: devices}}"
}

# chosen ENGINE [OPTION...]: the T4's build under the tag
chosen()
{
    "$VPULL" --config "$STATE/off.yaml" --quiet --profile "$STATE/mixed.json" --devices nvidia=1 --label t4 --to "$@" "$REGISTRY/app:1" 3>&-
}

# found ENGINE [FILE]: "VERDICT WHERE" of everything
found()
{
    "$VARIANTCTL" verify --config "${2:-$STATE/config.yaml}" --profile "$STATE/mixed.json" --from "$1" --all --format json |
        jq -r '.images[] | "\(.verdict) \(.where)"' | sort
}

@test "podman" {
    require podman
    start_podman
    chosen podman
    start() { podman run --detach --quiet --pull never --network none --name "$1" --env "NVIDIA_VISIBLE_DEVICES=$2" "$REGISTRY/app:1" >/dev/null 3>&-; }
    start right GPU-t4
    start wrong GPU-h100
    start inherited all
    [ "$(found podman)" = $'fits podman\nfits podman, container right\nmisfit podman, container wrong' ]
    "$VARIANTCTL" verify --config "$STATE/config.yaml" --profile "$STATE/mixed.json" --from podman >"$BATS_TEST_TMPDIR/said" && false
    grep -q "^misfit   podman, container wrong: $REGISTRY/app:1 (t4): " "$BATS_TEST_TMPDIR/said"
    # without `workload` it is the node's answer, of the image alone
    [ "$(found podman "$STATE/off.yaml")" = 'misfit podman' ]
    podman rm --force --time 0 --all >/dev/null
}

@test "containerd" {
    require containerd ctr
    start_containerd
    chosen containerd
    start() { ctr run --detach --env "NVIDIA_VISIBLE_DEVICES=$2" ${3:+--annotation "$3"} "$REGISTRY/app:1" "$1"; }
    start right 0000:af:00.0
    start wrong 0000:3b:00.0
    start cdi GPU-t4 cdi.k8s.io/x=nvidia.com/gpu=0
    [ "$(found containerd)" = $'fits containerd:default\nfits containerd:default, container right\nmisfit containerd:default, container cdi\nmisfit containerd:default, container wrong' ]
    ctr tasks kill --signal KILL wrong
    await containerd sh -c '! ctr tasks ls | grep -q "wrong .*RUNNING"'
    ctr tasks rm wrong
    [ "$(found containerd)" = $'fits containerd:default\nfits containerd:default, container right\nmisfit containerd:default, container cdi' ]
    local id
    for id in right cdi; do
        ctr tasks kill --signal KILL "$id"
        await containerd sh -c "! ctr tasks ls | grep -q '$id .*RUNNING'"
        ctr tasks rm "$id"
    done
}

@test "docker" {
    require docker dockerd
    start_dockerd
    chosen docker
    start() { docker run --detach --pull never --network none --name "$1" --env "NVIDIA_VISIBLE_DEVICES=$2" "$REGISTRY/app:1" >/dev/null 3>&-; }
    start right GPU-t4
    start wrong GPU-h100
    [ "$(found docker)" = $'fits docker\nfits docker, container right\nmisfit docker, container wrong' ]
    docker rm --force right wrong >/dev/null
    stop_daemon dockerd
}
