#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `--devices auto` in jobs of a Slurm that gives devices out.

load ../harness
load ../images
load ../slurm

setup_file()
{
    local label
    slurm_here >/dev/null || return 0
    state_start
    require slurmctld slurmd srun sbatch munged jq
    for label in null t4 h100; do mkimage "$STATE/layout" "$label" --file "etc/build=$label" >/dev/null; done
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:mixed" --namespaces nvidia "null=oci:$STATE/layout:null" \
        "t4=oci:$STATE/layout:t4,nvidia :: sm_arch :: 75_real" "h100=oci:$STATE/layout:h100,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    jq '.namespaces = [.namespaces[] | select(.namespace == "nvidia") | .devices = [
            {id: "0000:3b:00.0", index: 0, uuid: "GPU-h100", features: [{name: "sm_arch", values: ["90_real"]}]},
            {id: "0000:af:00.0", index: 1, uuid: "GPU-t4", features: [{name: "sm_arch", values: ["75_real"]}]}]]' \
        "$PROFILES/h100.json" >"$STATE/mixed.json"
    GPUS=2 start_slurm n1
    cat >"$STATE/job" <<SH
#!/bin/sh
echo "\$SLURM_JOB_GPUS \$CUDA_VISIBLE_DEVICES" >&2
"$SLURM_VARIANTCTL" resolve --format json --profile "$STATE/mixed.json" --devices auto "oci:$STATE/layout:mixed" | jq -r '.selected.label // "null"'
SH
    chmod +x "$STATE/job"
}

setup()
{
    local reason
    reason=$(slurm_here) || skip "$reason"
}

teardown_file()
{
    [ -z "${SLURM_CONF:-}" ] || stop_slurm
    state_stop
}

# batch OPTION...: what the job prints
batch()
{
    timeout 60 sbatch --wait --quiet --output "$STATE/out" --error "$STATE/said" "$@" "$STATE/job" || { cat "$STATE/said" >&2; return 1; }
    cat "$STATE/out"
}

holds() { [ "$(squeue -h -o %T -n hold)" = RUNNING ]; }

@test "a batch job: the build for the device that it was given" {
    [ "$(batch --gres=gpu:1)" = h100 ]
    [[ $(cat "$STATE/said") == "0 "* ]]
    [ "$(batch --gres=gpu:2)" = null ]
    [ "$(batch)" = null ]
    sbatch --quiet --job-name hold --output /dev/null --gres=gpu:1 --wrap 'sleep 60'
    await slurmctld holds
    [ "$(batch --gres=gpu:1)" = t4 ]
    [[ $(cat "$STATE/said") == "1 "* ]]
    # a step of a job that srun makes by itself
    [ "$(timeout 60 srun --quiet --gres=gpu:1 "$STATE/job" 2>"$STATE/said")" = t4 ]
    scancel --name hold
}
