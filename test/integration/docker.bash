# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# dockerd through the mirror (`load docker` after variantd). A registry here is docker.io: in the namespace
# that start_namespace makes, under that name, with TLS; there dockerd has an /etc/docker of its own,
# $STATE/etc-docker.
#
# Where images lie decides how a mirror is asked: for the classic store all comes from one endpoint, for
# containerd's (which new installations have since 29) the manifest of a tag from the mirror, and what it
# names from docker.io itself.
#
# dockerd is this machine's. OCV_DOCKER28 is a directory with that of a newer Debian in it:
#
#   for deb in docker.io containerd docker-buildx libc6 libseccomp2 libsystemd0; do dpkg -x $deb*.deb DIR; done
#
#   own_docker                          this machine's after all: for the classic store
#   docker_here STORE                   classic or containerd; fails and says why there is none that has it
#   start_docker STORE [OPTION...]      sets DOCKER_HOST; restart_docker: after a change of daemon.json
#   set_up [OPTION...]                  `variantctl setup docker` for it
#   docker_asks [HOST:PORT]             the mirror there, or none
#   docker_build ...                    with BuildKit, where that is
#
# and for variantd_docker*.bats
#
#   start_hub                           docker.io and its images, and a daemon for each machine and for
#                                       those that have its password: trusted, sharing
#   through, says, stored, record, pull the verbs of variantd.bash
#   hub_is_private                      docker.io wants a password from now on
#   log_in, log_out                     what docker's user has of it
#   private_as_without_us, verify_reads_it   tests of both stores

own_docker()
{
    unset OCV_DOCKER28
}

docker_here()
{
    local version
    if [ -n "${OCV_DOCKER28:-}" ] && ! version=$(docker_version); then
        echo "no Docker in $OCV_DOCKER28, or it does not run here"
    elif [ "$1" = containerd ] && version=$(docker_version) && [ "$version" -lt 28 ]; then
        echo "Docker $version reads no hosts.toml: 28 and later do, or that of OCV_DOCKER28"
    else
        return 0
    fi
    return 1
}

docker_version()
{
    local command
    docker_command dockerd || return 1
    "${command[@]}" --version 2>/dev/null | sed -n 's/.* version \([0-9]*\)\..*/\1/p' | grep .
}

# docker_command PROGRAM: sets `command`. With the loader and libraries of its own release; client, shim
# and runc are this machine's
docker_command()
{
    local libraries program
    command=("$1")
    [ -n "${OCV_DOCKER28:-}" ] || return 0
    libraries=$(echo "$OCV_DOCKER28"/usr/lib/*-linux-gnu)
    for program in "$OCV_DOCKER28"/usr/{sbin,bin,libexec/docker/cli-plugins}/"$1"; do
        [ ! -x "$program" ] || break
    done
    command=("$(echo "$libraries"/ld-linux*.so.[12])" --library-path "$libraries" "$program")
}

# what daemon.json says for the store: nothing where it is the default
docker_features()
{
    local version
    version=$(docker_version) || return 1
    if [ "$1" = classic ]; then
        echo "$CLASSIC_STORE"
    elif [ "$version" -ge 29 ]; then
        echo '{}'
    else
        echo '{"features": {"containerd-snapshotter": true}}'
    fi
}

start_docker()
{
    export DOCKER_STORE=$1 DOCKER_HOST=unix://$STATE/docker.sock
    mkdir -p "$STATE/etc-docker" /etc/docker # the latter as dockerd itself does
    docker_features "$1" >"$STATE/etc-docker/daemon.json"
    within mount --bind "$STATE/etc-docker" /etc/docker
    [ -z "${OCV_DOCKER28:-}" ] || start_docker_containerd || return 1
    restart_docker "${@:2}" || return 1
    [[ $(docker info --format '{{json .DriverStatus}}') == *io.containerd.snapshotter* ]] ||
        [ "$DOCKER_STORE" = classic ]
}

# dockerd starts its own where it finds one
start_docker_containerd()
{
    local command
    cat >"$STATE/docker-containerd.toml" <<TOML
version = 3
root = "$STATE/docker-containerd"
state = "$STATE/docker-containerd-run"
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]
[grpc]
  address = "$STATE/docker-containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$STATE/docker-opt"
TOML
    docker_command containerd
    start_daemon containerd "${command[@]}" --config "$STATE/docker-containerd.toml"
    await containerd ctr --address "$STATE/docker-containerd.sock" version
}

restart_docker()
{
    local command
    docker_command dockerd
    stop_daemon dockerd
    start_daemon dockerd "${command[@]}" --data-root "$STATE/docker" --exec-root "$STATE/docker-run" \
        --pidfile "$STATE/dockerd.pid" -H "$DOCKER_HOST" \
        ${OCV_DOCKER28:+--containerd "$STATE/docker-containerd.sock"} \
        --iptables=false --ip6tables=false --bridge=none "$@"
    await dockerd curl -sf --unix-socket "$STATE/docker.sock" http://localhost/_ping
}

# where containerd listens that has dockerd's images
docker_containerd()
{
    if [ -n "${OCV_DOCKER28:-}" ]; then
        echo "$STATE/docker-containerd.sock"
    else
        echo "$STATE/docker-run/containerd/containerd.sock"
    fi
}

docker_build()
{
    local command=(docker)
    [ -z "${OCV_DOCKER28:-}" ] || docker_command docker-buildx
    "${command[@]}" build "$@"
}

# by itself it finds out which Docker this is, unless that is not in PATH
set_up()
{
    within "$VARIANTCTL" setup docker ${OCV_DOCKER28:+--engine-version "$(docker_version).5.2"} "$@" >/dev/null
}

docker_asks()
{
    if [ "$DOCKER_STORE" = containerd ]; then
        set_up --uninstall
        [ -z "${1:-}" ] || set_up --registry docker.io --listen "$1"
        return
    fi
    docker_features classic | jq --arg mirror "${1:+http://$1/}" \
        '."registry-mirrors" = (if $mirror == "" then [] else [$mirror] end)' >"$STATE/etc-docker/daemon.json"
    kill -HUP "$(<"$STATE/pids/dockerd")"
    await dockerd docker_has_mirror "${1:+http://$1/}"
}

docker_has_mirror()
{
    [ "$(docker info --format '{{with .RegistryConfig.Mirrors}}{{index . 0}}{{end}}')" = "$1" ]
}

start_hub()
{
    local machine
    make_programs "$STATE/layout"
    make_wide "$STATE/layout"
    start_namespace
    start_registry tls port=443
    push_within "$STATE/layout:app" demo/app:1
    push_within "$STATE/layout:wide" demo/wide:1
    push_within "$STATE/layout:cpu.v3" demo/plain:1
    push_within "$STATE/layout:app" library/app:1
    make_levels "$STATE/layout"
    push_within "$STATE/layout:null" demo/levels:null
    push_within "$STATE/layout:level.v3" demo/levels:v3
    within curl -sf --cacert "$STATE/ca.pem" -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
        --data-binary "@$STATE/levels.json" https://registry-1.docker.io/v2/demo/levels/manifests/1
    printf 'registries:\n  docker.io: {ca: %s}\n' "$STATE/ca.pem" >"$STATE/variantd.yaml"
    start_machines --config "$STATE/variantd.yaml"
    start_levels --config "$STATE/variantd.yaml"
    printf '{"auths": {"https://index.docker.io/v1/": {"auth": "%s"}}}' "$(printf user:secret | base64)" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    for machine in trusted sharing; do
        start_variantd "$machine" --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json" \
            --credentials "$STATE/auth.json" --serve-private "$([ "$machine" = sharing ] && echo true || echo false)"
        echo "$VARIANTD" >"$STATE/$machine.address"
    done
}

# through MACHINE: "none": as without us
through()
{
    export VARIANTD_SOCKET=$STATE/$1.sock
    if [ "$1" = none ]; then docker_asks; else docker_asks "$(machine "$1")"; fi
}

# into a file: the output of a container that ends immediately can get lost
says()
{
    rm -rf "$STATE/said"
    mkdir "$STATE/said"
    docker run --rm --network none --volume "$STATE/said:/said" --env SAY_INTO=/said/it "$1" && cat "$STATE/said/it"
}

stored()
{
    docker_digest "$1"
}

record()
{
    docker image inspect "$1" | jq 'map(del(.Metadata, .GraphDriver))'
}

# a fresh pull: nothing of an earlier one helps
pull()
{
    docker_forget
    docker pull --quiet "$@"
}

wide_index()
{
    within curl -sf --cacert "$STATE/ca.pem" -H "$ACCEPT_ALL" https://registry-1.docker.io/v2/demo/wide/manifests/1 |
        sha256sum | sed 's/\([0-9a-f]*\).*/sha256:\1/'
}

hub_is_private()
{
    stop_daemon registry
    start_registry tls htpasswd port=443
}

log_in()
{
    cp "$STATE/auth.json" "$DOCKER_CONFIG/config.json"
}

log_out()
{
    echo '{}' >"$DOCKER_CONFIG/config.json"
}

# shellcheck disable=SC2154 # `run` sets output
private_as_without_us()
{
    local side
    hub_is_private
    for side in none h100; do
        through "$side"
        log_out
        run ! pull demo/app:1
        log_in
        run -0 pull demo/app:1
        [ "$(stored demo/app:1)" = "$(index_digest)" ]
    done
    [ "$(outcome denied)" -ge 1 ]
}

# what no longer fits is found, without a tag, too
# shellcheck disable=SC2154 # `run` sets output
verify_reads_it()
{
    through h100
    pull demo/app:1
    docker pull --quiet "demo/app@$(digest_of rocm7.1)"
    run -5 "$VARIANTCTL" verify --from docker --all --profile "$PROFILES/h100.json"
    [[ $output == *'fits     docker: demo/app:1 (cuda12.8)'* ]]
    [[ $output == *'misfit   docker: '*'(rocm7.1): needs amd '* ]]
    [[ $output == *'2 images: 1 fit, 1 do not fit'* ]]
    # the machine is another one now: what to do about it is said (a digest stays what it is)
    run -5 "$VARIANTCTL" verify --from docker --profile "$PROFILES/mi300x.json"
    [[ $output == *'misfit   docker: demo/app:1 (cuda12.8): needs nvidia'*'; vpull --to docker docker.io/demo/app:1'$'\n'* ]]
    run -5 "$VARIANTCTL" verify --from docker --profile "$PROFILES/h100.json" --format json
    [ "$(jq -c '[.images[] | select(.verdict == "misfit") | .remedy]' <<<"$output")" = '[null]' ]
}
