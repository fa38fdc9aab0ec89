# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# A newer Docker (28.x), whose images may lie in containerd's store and whose builds are BuildKit's
# (`load docker28` after harness). OCV_DOCKER28 is a folder with the packages of a newer Debian in it:
#
#   for deb in docker.io containerd docker-buildx libc6 libseccomp2 libsystemd0; do dpkg -x $deb*.deb DIR; done
#
#   docker28_here          fails and says why there is none
#   start_docker28 STORE   classic or containerd; sets DOCKER_HOST. It has an /etc/docker of its own,
#                          $STATE/etc-docker, in the namespace that start_namespace made
#   restart_docker28       after a change of daemon.json
#   docker28 PROGRAM ...   a program of that folder (usr/libexec/docker/cli-plugins/docker-buildx)

docker28_here()
{
    if [ -z "${OCV_DOCKER28:-}" ]; then
        echo "no Docker 28: OCV_DOCKER28 names no folder with one"
    elif [ ! -x "$OCV_DOCKER28/usr/sbin/dockerd" ] || [ ! -x "$OCV_DOCKER28/usr/bin/containerd" ]; then
        echo "no Docker 28 in $OCV_DOCKER28"
    elif ! docker28 usr/sbin/dockerd --version >/dev/null 2>&1; then
        echo "the Docker in $OCV_DOCKER28 does not run here"
    else
        return 0
    fi
    return 1
}

# with the loader and libraries of its own release; client, shim and runc are this machine's
docker28_command()
{
    local libraries
    libraries=$(echo "$OCV_DOCKER28"/usr/lib/*-linux-gnu)
    docker28=("$(echo "$libraries"/ld-linux*.so.[12])" --library-path "$libraries" "$OCV_DOCKER28/$1")
}

docker28()
{
    local docker28
    docker28_command "$1"
    shift
    "${docker28[@]}" "$@"
}

start_docker28()
{
    mkdir -p "$STATE/etc-docker" /etc/docker # the latter as dockerd itself does
    jq -n --argjson new "$([ "$1" = containerd ] && echo true || echo false)" \
        '{features: {"containerd-snapshotter": $new}}' >"$STATE/etc-docker/daemon.json"
    cat >"$STATE/docker28.toml" <<TOML
version = 3
root = "$STATE/docker-containerd"
state = "$STATE/docker-containerd-run"
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]
[grpc]
  address = "$STATE/docker-containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$STATE/docker-opt"
TOML
    within mount --bind "$STATE/etc-docker" /etc/docker
    local docker28
    docker28_command usr/bin/containerd
    start_daemon containerd "${docker28[@]}" --config "$STATE/docker28.toml"
    await containerd ctr --address "$STATE/docker-containerd.sock" version || return 1
    export DOCKER_HOST=unix://$STATE/docker.sock
    restart_docker28
}

restart_docker28()
{
    local docker28
    docker28_command usr/sbin/dockerd
    stop_daemon dockerd
    start_daemon dockerd "${docker28[@]}" --data-root "$STATE/docker" --exec-root "$STATE/docker-run" \
        --pidfile "$STATE/dockerd.pid" -H "$DOCKER_HOST" --containerd "$STATE/docker-containerd.sock" \
        --iptables=false --ip6tables=false --bridge=none
    await dockerd curl -sf --unix-socket "$STATE/docker.sock" http://localhost/_ping
}
