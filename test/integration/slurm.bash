# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Slurm on one machine: slurmctld and a slurmd for each node, on loopback. Needs root. Load after harness:
#
#   slurm_here              is there the Slurm to test: this machine's, or where SLURM_ROOT is set that of this
#                           tree of another release? Else it prints why not
#   start_slurm NODES       NODES: lines "NAME FEATURES", of four CPUs each. LUA=FILE: with this job_submit.lua, and
#                           SLURM_VARIANTCTL, the program that jobs and slurmctld run, for @VARIANTCTL@
#                           GPUS=N: every node has N devices, which are files
#   start_slurmd NAME -Z --conf CONF   a dynamic node more
#   stop_slurm              before state_stop
#   given -N... ARGS...     the nodes that a job gets at once, sorted ("n1 n2"), or what srun says
#
# A tree (debootstrap --variant=minbase --include=slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins forky DIR
# MIRROR /usr/share/debootstrap/scripts/sid) is mounted with what is written to it in $STATE, $STATE itself, and this
# machine's files below /host, in which programs under test run; Slurm's commands are found there by PATH.

SLURM_VARIANTCTL=${SLURM_VARIANTCTL:-$VARIANTCTL}

slurm_here()
{
    if [ "$(id -u)" != 0 ]; then
        echo "needs root"
    elif [ -z "${SLURM_ROOT+is set}" ]; then
        return 0
    elif [ -z "$SLURM_ROOT" ]; then
        echo "no other Slurm: OCV_SLURM_ROOT names no tree with one"
    elif ! chroot "$SLURM_ROOT" slurmctld -V >/dev/null 2>&1; then
        echo "the Slurm in $SLURM_ROOT does not run here"
    else
        return 0
    fi
    return 1
}

start_tree()
{
    local dir=$STATE/slurm name
    mkdir -p "$dir"/{root,upper,work,bin}
    start_daemon slurm-tree unshare --mount --propagation private sh -ec "
        mount -t overlay -o lowerdir=$SLURM_ROOT,upperdir=$dir/upper,workdir=$dir/work overlay $dir/root
        mkdir -p $dir/root/host $dir/root$STATE
        touch $dir/root/etc/hosts
        mount --rbind / $dir/root/host
        for name in proc dev sys; do mount --rbind /\$name $dir/root/\$name; done
        mount --bind $STATE $dir/root$STATE
        echo ready
        exec sleep infinity"
    await slurm-tree grep -q ready "$STATE/log/slurm-tree" || return 1
    SLURM_TREE=$(<"$STATE/pids/slurm-tree")
    for name in sinfo scontrol srun sbatch squeue scancel; do
        printf '#!/bin/sh\nexec nsenter --mount -t %s -- chroot %s/root /usr/bin/%s "$@"\n' "$SLURM_TREE" "$dir" "$name" >"$dir/bin/$name"
    done
    SLURM_VARIANTCTL=$dir/bin/variantctl
    printf '#!/bin/sh\nexec chroot /host %s "$@"\n' "$VARIANTCTL" >"$SLURM_VARIANTCTL"
    chmod +x "$dir"/bin/*
    PATH=$dir/bin:$PATH
    export SLURM_TREE SLURM_VARIANTCTL
}

# NAME OPTION...: a slurmd is told apart by its own host name, hosts file and address, where it is not built for
# several on a machine
start_slurmd()
{
    local name=$1
    shift
    # shellcheck disable=SC2016 # expanded inside
    start_daemon "slurmd-$name" ${SLURM_TREE:+nsenter --mount -t "$SLURM_TREE" -- chroot "$STATE/slurm/root"} \
        unshare --uts --mount --propagation private sh -c \
        'hostname "$1" && mount --bind "$0" /etc/hosts && shift && exec slurmd -D "$@"' "$STATE/slurm/hosts" "$name" -f "$SLURM_CONF" -N "$name" "$@"
}

slurm_idle()
{
    [ "$(timeout 5 sinfo -h -o %T 2>/dev/null | sort -u)" = idle ]
}

# newer versions need other keys
slurm_auth()
{
    [ -n "${SLURM_TREE:-}" ] && printf 'AuthType=auth/slurm\nCredType=cred/slurm\n' ||
        printf 'AuthType=auth/munge\nAuthInfo=socket=%s/munge.sock\nCryptoType=crypto/munge\n' "$STATE/slurm"
}

start_auth()
{
    local dir=$STATE/slurm/munge
    mkdir -m 700 "$dir"
    head -c 1024 /dev/urandom >"$dir/key"
    chmod 600 "$dir/key"
    if [ -n "${SLURM_TREE:-}" ]; then
        cp -p "$dir/key" "$STATE/slurm/slurm.key"
        echo 'CgroupPlugin=disabled' >"$STATE/slurm/cgroup.conf"
    else
        start_daemon munged munged --foreground --force --key-file="$dir/key" --socket="$dir.sock" \
            --pid-file="$dir/pid" --log-file="$dir/log" --seed-file="$dir/seed"
        await munged test -S "$dir.sock"
    fi
}

make_gpus()
{
    local i
    for ((i = 0; i < $1; i++)); do mknod "$STATE/slurm/gpu$i" c 1 3; done
    echo "Name=gpu File=$STATE/slurm/gpu[0-$(($1 - 1))]" >"$STATE/slurm/gres.conf"
}

start_slurm()
{
    local dir=$STATE/slurm name features i=0 controller node
    controller=$(free_port)
    node=$(free_port)
    until [ "$node" != "$controller" ]; do node=$(free_port); done
    [ -z "${SLURM_ROOT:-}" ] || start_tree || return 1
    mkdir -p "$dir"/{state,spool,log}
    export SLURM_CONF=$dir/slurm.conf
    cp /etc/hosts "$dir/hosts"
    cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
SlurmdUser=root
$(slurm_auth)
SlurmctldPort=$controller
SlurmdPort=$node
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/slurmd.%n
ProctrackType=proctrack/linuxproc
JobacctGatherType=jobacct_gather/none
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
CommunicationParameters=NoInAddrAny
MaxNodeCount=32
TreeWidth=65533
${LUA:+JobSubmitPlugins=lua}
${GPUS:+GresTypes=gpu}
CONF
    [ -z "${GPUS:-}" ] || make_gpus "$GPUS"
    while read -r name features; do
        i=$((i + 1))
        echo "NodeName=$name NodeAddr=127.0.77.$i CPUs=4 RealMemory=100${GPUS:+ Gres=gpu:$GPUS}${features:+ Feature=$features}" >>"$SLURM_CONF"
        echo "127.0.77.$i $name" >>"$dir/hosts"
        mkdir -p "$dir/spool/$name"
    done <<<"$1"
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$SLURM_CONF"
    [ -z "${LUA:-}" ] || sed "s|@VARIANTCTL@|$SLURM_VARIANTCTL|" "$LUA" >"$dir/job_submit.lua"
    [ -z "${SLURM_TREE:-}" ] || (echo "127.0.0.1 $(hostname)" && cat "$dir/hosts") |
        nsenter --mount -t "$SLURM_TREE" -- tee "$dir/root/etc/hosts" >/dev/null
    start_auth || return 1
    start_daemon slurmctld ${SLURM_TREE:+nsenter --mount -t "$SLURM_TREE" -- chroot "$dir/root"} slurmctld -f "$SLURM_CONF" -D
    while read -r name features; do start_slurmd "$name"; done <<<"$1"
    await slurmctld slurm_idle || { timeout 5 sinfo -N -l; cat "$dir/log/slurmctld"; return 1; }
}

slurm_rest()
{
    local i
    for ((i = 0; i < 100; i++)); do
        slurm_idle && break
        sleep 0.1
    done
}

# processes of a job's step outlive slurmd unless they are ended first
stop_slurm()
{
    timeout 10 scancel --user root 2>/dev/null || true
    slurm_rest
}

given()
{
    slurm_rest
    timeout 20 srun --immediate=6 "$@" hostname 2>&1 | sort | paste -sd ' '
}
