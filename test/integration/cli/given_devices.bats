#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Choosing for some of the machine's devices, as docker, CDI and Slurm name them.

load ../harness
load ../images

setup_file()
{
    local label
    state_start
    require jq
    for label in null t4 h100; do mkimage "$STATE/layout" "$label" --file "etc/build=$label" >/dev/null; done
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:mixed" --namespaces nvidia "null=oci:$STATE/layout:null" \
        "t4=oci:$STATE/layout:t4,nvidia :: sm_arch :: 75_real" "h100=oci:$STATE/layout:h100,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    jq '.namespaces = [.namespaces[] | select(.namespace == "nvidia") | .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "GPU-h100", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "GPU-t4", features: [{name: "sm_arch", values: ["75_real"]}]}]]' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    jq '.namespaces += [{namespace: "amd", status: "ok", features: [], devices: [{id: "0000:c1:00.0", index: 0, features: []}]}]' \
        "$STATE/mixed.json" >"$STATE/both.json"
}

setup()
{
    unset SLURM_JOB_ID SLURM_JOB_GPUS CUDA_VISIBLE_DEVICES
}

# chosen OPTION...: the label for these devices, "null" for the default
chosen()
{
    "$VARIANTCTL" resolve --format json --profile "${MACHINE:-$STATE/mixed.json}" "$@" "oci:$STATE/layout:mixed" | jq -r '.selected.label // "null"'
}

refused()
{
    run -2 "$VARIANTCTL" resolve --profile "${MACHINE:-$STATE/mixed.json}" "$@" "oci:$STATE/layout:mixed"
}

@test "docker's --gpus: one, some, a number of them, all" {
    [ "$(chosen)" = null ] # no build runs on both
    [ "$(chosen --gpus device=1)" = t4 ]
    [ "$(chosen --gpus device=GPU-h100)" = h100 ]
    [ "$(chosen --gpus '"device=0000:af:00.0"')" = t4 ]
    [ "$(chosen --gpus '"device=0,1"')" = null ]
    [ "$(chosen --gpus 1)" = h100 ]
    [ "$(chosen --gpus 2)" = null ]
    [ "$(chosen --gpus all)" = null ]
    refused --gpus device=7
    [[ $output == *"no such device on this machine: 7" ]]
    refused --gpus 3
    [[ $output == *"--gpus 3: this machine has 2" ]]
    refused --gpus some
    [[ $output == *"--gpus: 'some' is not all, N or device=ID,..." ]]
    MACHINE=$STATE/both.json refused --gpus 1
    [[ $output == *"--gpus: this machine has devices of nvidia and of amd: choose with --devices" ]]
}

@test "CDI's names, for vpull, too" {
    [ "$(chosen --device nvidia.com/gpu=1)" = t4 ]
    [ "$(chosen --device nvidia.com/gpu=GPU-h100)" = h100 ]
    [ "$(chosen --device nvidia.com/gpu=0 --device nvidia.com/gpu=1)" = null ]
    [ "$(MACHINE=$STATE/both.json chosen --device nvidia.com/gpu=1)" = t4 ]
    refused --device vendor.example/gpu=0
    [[ $output == *"no such device on this machine: vendor.example/gpu=0" ]]
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$STATE/mixed.json" --device nvidia.com/gpu=1 "oci:$STATE/layout:mixed"
    [[ $output == *"$("$VARIANTCTL" resolve --format json --profile "$STATE/mixed.json" --gpus device=1 "oci:$STATE/layout:mixed" | jq -r .selected.digest)"* ]]
}

@test "--devices auto: what Slurm gave to the job, CUDA_VISIBLE_DEVICES, or all" {
    [ "$(chosen --devices auto)" = null ]
    [ "$(SLURM_JOB_GPUS=1 chosen --devices auto)" = t4 ]
    [ "$(SLURM_JOB_GPUS=0-1 chosen --devices auto)" = null ]
    [ "$(CUDA_VISIBLE_DEVICES=GPU-h100 chosen --devices auto)" = h100 ]
    # in a job others count from 0 again
    [ "$(SLURM_JOB_GPUS=1 CUDA_VISIBLE_DEVICES=0 chosen --devices auto)" = t4 ]
    jq '.namespaces[0].devices |= .[:1]' "$STATE/mixed.json" >"$STATE/one.json"
    [ "$(MACHINE=$STATE/one.json chosen --devices auto)" = h100 ]
    [ "$(MACHINE=$STATE/one.json SLURM_JOB_ID=7 chosen --devices auto)" = null ]
    [ "$(MACHINE=$STATE/one.json CUDA_VISIBLE_DEVICES='' chosen --devices auto)" = null ]
    [ "$(MACHINE=$STATE/one.json CUDA_VISIBLE_DEVICES=-1 chosen --devices auto)" = null ]
    SLURM_JOB_GPUS=9 refused --devices auto
    [[ $output == *"no such device on this machine: 9" ]]
}
