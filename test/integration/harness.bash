# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Real registries and container engines for tests, loaded by every .bats file (`load harness`).
#
#   setup_file() { state_start; start_registry; }     or setup/teardown for one test
#   teardown_file() { state_stop; }
#
# state_start makes an empty world in $STATE (home, XDG directories, container storage) and state_stop
# ends every daemon started in it. Start daemons from setup functions or tests, never from a
# subshell: they are told to end when the shell that started them does, so that nothing survives a
# killed test run.
#
#   start_registry [NAME] [OPTION...]   docker-registry, or REGISTRY_PROGRAM; sets REGISTRY=HOST:PORT (and REGISTRY_NAME)
#       tls         own CA, whose certificate is $STATE/ca.pem; client-cert also asks for one
#       htpasswd    Basic auth, user "user", password "secret"
#       port=N      a fixed port (otherwise the kernel gives one)
#       proxy=URL   a pull-through cache of another registry
#   start_namespace                     own network and mounts, where names of registries can be this
#                                       machine; daemons started afterwards live in it, "within
#                                       COMMAND..." runs there, too, and push_within DIR[:TAG] REPO:TAG
#   stop_daemon NAME                    ends it (the registry's name is "registry" unless given)
#   start_dockerd [OPTION...]           sets DOCKER_HOST; DOCKER_SETTINGS: its daemon.json, as
#                                       $CLASSIC_STORE (new installations since 29 have containerd's)
#   docker_digest IMAGE, docker_forget (all that no container has)
#   start_containerd                    sets CONTAINERD_ADDRESS and CONTAINERD_NAMESPACE
#   start_podman                        no daemon: `podman` then uses storage inside $STATE
#   start_podman_service                the libpod API; sets CONTAINER_HOST
#   mkimage LAYOUT TAG [OPTION...]      one-layer images (test/tools/mkimage.c)
#   push_layout DIR[:TAG] HOST/REPO:TAG [OPTION...]  an index with all its entries, or one image
#   start_private DIR TAG [OPTION...]   a registry "private" that wants a password, with that index as
#                                       demo/app:1; sets PRIVATE
#   start_rules NAME [LAYOUT] <<<RULES  a registry that answers as the rules say (test/tools/rules.py);
#                                       sets RULES=HOST:PORT, and RULES_LOG to its list of requests
#   install_tree DIR                    what `make install` with PREFIX=/usr gives, below DIR
#   archive_is_whole FILE DIGEST        what docker and podman save
#   record_of DIGEST HOST/REPO          the file that is kept of it, in the directory "resolved", of an
#                                       index in "resolved/indexes"
#   kept DIGEST HOST/REPO [indexes/]    sets record to the node's file of it, when it is there: a daemon
#                                       answers before its disk has it, where that takes long
#   require COMMAND...                  skips the test without it; OCV_STRICT=1 or CI=true: fails
#
# OCV_INSTALLED=PREFIX: the programs installed there are under test, and OCV_BUILD needs test/tools alone.

[ -z "${BATS_VERSION:-}" ] || bats_require_minimum_version 1.5.0

OCV_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OCV_BUILD=${OCV_BUILD:-$OCV_TOP/build}
case $OCV_BUILD in /*) ;; *) OCV_BUILD=$OCV_TOP/$OCV_BUILD ;; esac
OCV_FIXTURES=${OCV_FIXTURES:-$OCV_TOP/../shared/fixtures}
# what is under test: the programs just built, with no provider of this machine, or the installed ones
if [ -z "${OCV_INSTALLED:-}" ]; then
    OCV_BIN=$OCV_BUILD OCV_HELPERS=$OCV_BUILD/libexec
    export OCV_LIBEXECDIR=$OCV_HELPERS
else
    OCV_BIN=$OCV_INSTALLED/bin OCV_HELPERS=$OCV_INSTALLED/libexec/ocivariant
    unset OCV_LIBEXECDIR OCV_DATADIR LD_LIBRARY_PATH
fi
VPULL=$OCV_BIN/vpull
VARIANTCTL=$OCV_BIN/variantctl
VERIFIER=$OCV_HELPERS/ocivariant-verifier
HOOK=$OCV_HELPERS/ocivariant-oci-hook
CRI_PROXY=$OCV_BIN/ocivariant-cri-proxy
export OCV_TOP OCV_BUILD OCV_BIN OCV_HELPERS OCV_FIXTURES VPULL VARIANTCTL VERIFIER HOOK CRI_PROXY
PATH=$OCV_BIN:$PATH:/usr/sbin:/sbin
export CLASSIC_STORE='{"features": {"containerd-snapshotter": false}}'

record_of()
{
    echo "${1/:/-}-$(printf %s "$2" | sha256sum | cut -c 1-16).json"
}

kept()
{
    record=$STATE/node/resolved/${3:-}$(record_of "$1" "$2")
    for _ in {1..200}; do
        [ ! -e "$record" ] || return 0
        sleep 0.05
    done
    echo "$record: not recorded" >&2
    return 1
}

strict()
{
    [ "${OCV_STRICT:-}" = 1 ] || [ "${CI:-}" = true ]
}

require()
{
    local command
    for command; do
        command -v "$command" >/dev/null && continue
        if strict; then
            echo "$command is not installed, and nothing may be skipped here" >&2
            return 1
        fi
        skip "$command is not installed"
    done
}

# Not a packaged program but recorded data that may lie elsewhere: always a skip, never a failure.
require_fixtures()
{
    [ -e "$OCV_FIXTURES/${1:-}" ] || skip "no fixtures ${1:-} in OCV_FIXTURES"
}

state_start()
{
    # short: a unix socket's path has 107 characters at most
    STATE=$(mktemp -d /tmp/ocv.XXXXXX)
    mkdir -p "$STATE"/{pids,log,home,config,data,run,docker-config}
    chmod 700 "$STATE/run"
    echo '{}' >"$STATE/docker-config/config.json" # podman insists on the file
    export STATE HOME=$STATE/home XDG_CONFIG_HOME=$STATE/config XDG_DATA_HOME=$STATE/data
    export XDG_RUNTIME_DIR=$STATE/run DOCKER_CONFIG=$STATE/docker-config
    export OCV_STATE_DIR=$STATE/node # what vpull records must not reach this machine's own records
    export OCV_SOCKET=$STATE/nobody.sock # nor a daemon of this machine answer for it
    unset REGISTRY_AUTH_FILE DOCKER_HOST CONTAINER_HOST CONTAINERD_ADDRESS CONTAINERD_NAMESPACE
    unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
}

state_stop()
{
    local pidfile mount
    [ -n "${STATE:-}" ] && [ -d "$STATE" ] || return 0
    for pidfile in "$STATE"/pids/*; do
        [ -e "$pidfile" ] && stop_daemon "${pidfile##*/}"
    done
    # engines leave mounts of layers and network namespaces behind
    while read -r mount; do
        umount -l "$mount" 2>/dev/null || true
    done < <(awk -v top="$STATE/" 'index($2, top) == 1 { print $2 }' /proc/mounts | sort -r)
    if [ -n "${OCV_KEEP:-}" ]; then
        echo "kept: $STATE" >&2
    else
        rm -rf --one-file-system "$STATE"
    fi
    unset STATE NAMESPACE
}

# a file that has more to take away defines its own
teardown_file()
{
    state_stop
}

# start_daemon NAME COMMAND...: in the background, output to $STATE/log/NAME, killed with this shell
start_daemon()
{
    local name=$1
    shift
    : >"$STATE/log/$name" # an earlier one's last words must not pass for this one's first
    # descriptor 3 is bats' own: a daemon that keeps it would keep the test run waiting
    setpriv --pdeathsig TERM -- ${NAMESPACE:+nsenter --net --mount -t "$NAMESPACE" --} "$@" >"$STATE/log/$name" 2>&1 </dev/null 3>&- &
    echo $! >"$STATE/pids/$name"
}

daemon_alive()
{
    kill -0 "$(<"$STATE/pids/$1")" 2>/dev/null
}

stop_daemon()
{
    local pid i
    [ -e "$STATE/pids/$1" ] || return 0
    pid=$(<"$STATE/pids/$1")
    rm -f "$STATE/pids/$1"
    kill -TERM "$pid" 2>/dev/null || return 0
    for ((i = 0; i < 150; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        # a zombie of this shell still answers signals
        [ "$(awk '{ print $3 }' "/proc/$pid/stat" 2>/dev/null)" != Z ] || break
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

# registry-1.docker.io is 127.0.0.1 in it
start_namespace()
{
    printf '127.0.0.1 localhost registry-1.docker.io\n' >"$STATE/hosts"
    # shellcheck disable=SC2016 # expanded inside
    start_daemon namespace unshare --net --mount sh -c 'mount --bind "$STATE/hosts" /etc/hosts &&
        ip link set lo up && echo ready && exec sleep infinity'
    await namespace grep -q ready "$STATE/log/namespace" || return 1
    NAMESPACE=$(<"$STATE/pids/namespace")
    export NAMESPACE
}

within()
{
    nsenter --net --mount -t "$NAMESPACE" -- "$@"
}

# push_within DIR[:TAG] REPO:TAG: to $REGISTRY there
push_within()
{
    within skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$1" "docker://$REGISTRY/$2"
}

# what dockerd's classic store has for the name: it answers for images, and for no blob
docker_digest()
{
    docker image inspect --format '{{index .RepoDigests 0}}' "$1" | sed 's/.*@//' | grep .
}

docker_forget()
{
    docker image prune --all --force >/dev/null # its client of 29 lists those without a tag no longer
}

start_rules()
{
    cat >"$STATE/$1.rules"
    export RULES_LOG=$STATE/log/$1.requests
    start_daemon "$1" python3 "$OCV_TOP/test/tools/rules.py" "$STATE/$1.rules" "$RULES_LOG" ${2:+"$2"}
    await "$1" grep -q . "$STATE/log/$1" || return 1
    RULES=127.0.0.1:$(<"$STATE/log/$1")
    export RULES
    : >"$RULES_LOG"
}

# one after the other: two would write the same files of the build
install_tree()
{
    flock "$OCV_BUILD/install.lock" make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" install DESTDIR="$1" PREFIX=/usr >/dev/null
}

# archive_is_whole FILE IMAGE-CONFIG-DIGEST: of `docker save`, `podman save`: configuration and layers
# are what their digests say
archive_is_whole()
{
    local dir=$BATS_TEST_TMPDIR/archive config layer
    rm -rf "$dir" && mkdir "$dir" && tar -C "$dir" -xf "$1" || return 1
    config=$dir/$(jq -r '.[0].Config' "$dir/manifest.json")
    [ "sha256:$(sha256sum <"$config" | cut -d' ' -f1)" = "$2" ] || return 1
    diff <(jq -r '.rootfs.diff_ids[]' "$config") <(jq -r '.[0].Layers[]' "$dir/manifest.json" |
        while read -r layer; do sha256sum <"$dir/$layer" | sed 's/^\([0-9a-f]*\).*/sha256:\1/'; done)
}

# await NAME COMMAND...: until the command succeeds; fails at once when daemon NAME has ended
await()
{
    local name=$1 i
    shift
    for ((i = 0; i < 600; i++)); do
        "$@" >/dev/null 2>&1 3>&- && return 0
        if ! daemon_alive "$name"; then
            break
        fi
        sleep 0.05
    done
    echo "$name did not start; its last words:" >&2
    tail -n 20 "$STATE/log/$name" >&2
    return 1
}

# A port nobody listens on at this moment, below the range the kernel hands out.
free_port()
{
    local port
    while :; do
        port=$((RANDOM % 12000 + 20000))
        if ! (exec 4<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return 0
        fi
    done
}

# A CA ($STATE/ca.pem), a certificate for 127.0.0.1 and localhost ($STATE/server.*), and one for a
# client ($STATE/client.*). Made once.
make_certificates()
{
    local who
    [ ! -e "$STATE/ca.pem" ] || return 0
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -subj "/CN=test CA" -keyout "$STATE/ca.key" -out "$STATE/ca.pem" 2>/dev/null
    for who in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$who" \
            -keyout "$STATE/$who.key" -out "$STATE/$who.csr" 2>/dev/null
        openssl x509 -req -in "$STATE/$who.csr" -CA "$STATE/ca.pem" -CAkey "$STATE/ca.key" \
            -CAcreateserial -days 2 -out "$STATE/$who.crt" \
            -extfile <(printf 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:registry-1.docker.io,DNS:registry.example') 2>/dev/null
    done
}

registry_port()
{
    sed -n 's/.*listening on [^ "]*:\([0-9][0-9]*\).*/\1/p' "$STATE/log/$1" | tail -n 1 | grep .
}

start_registry()
{
    local name=registry port=0 tls='' auth='' proxy='' option
    if [ $# -gt 0 ] && [[ $1 != *=* && $1 != tls && $1 != client-cert && $1 != htpasswd ]]; then
        name=$1
        shift
    fi
    for option; do
        case $option in
        tls | client-cert)
            make_certificates
            tls="  tls:
    certificate: $STATE/server.crt
    key: $STATE/server.key"
            [ "$option" = tls ] || tls+="
    clientcas: [$STATE/ca.pem]"
            ;;
        htpasswd)
            htpasswd -Bbn user secret >"$STATE/htpasswd" 2>/dev/null
            auth="auth:
  htpasswd:
    realm: test
    path: $STATE/htpasswd"
            ;;
        port=*) port=${option#port=} ;;
        proxy=*)
            proxy="proxy:
  remoteurl: ${option#proxy=}"
            ;;
        *)
            echo "start_registry: what is '$option'?" >&2
            return 1
            ;;
        esac
    done
    cat >"$STATE/$name.yml" <<YAML
version: 0.1
log: {level: info, accesslog: {disabled: false}}
storage:
  filesystem: {rootdirectory: $STATE/$name}
  delete: {enabled: true}
  maintenance: {uploadpurging: {enabled: false}}
http:
  addr: 127.0.0.1:$port
$tls
$auth
$proxy
YAML
    # REGISTRY_... variables would be read as configuration
    start_daemon "$name" env -u REGISTRY -u REGISTRY_NAME -u REGISTRY_PROGRAM OTEL_TRACES_EXPORTER=none \
        "${REGISTRY_PROGRAM:-docker-registry}" serve "$STATE/$name.yml"
    await "$name" registry_port "$name" || return 1
    export REGISTRY REGISTRY_NAME=$name
    REGISTRY=127.0.0.1:$(registry_port "$name")
}

start_dockerd()
{
    echo "${DOCKER_SETTINGS:-"{}"}" >"$STATE/daemon.json"
    start_daemon dockerd dockerd --data-root "$STATE/docker" --exec-root "$STATE/docker-run" \
        --pidfile "$STATE/dockerd.pid" -H "unix://$STATE/docker.sock" --config-file "$STATE/daemon.json" \
        --iptables=false --ip6tables=false --bridge=none "$@"
    await dockerd curl -sf --unix-socket "$STATE/docker.sock" http://localhost/_ping || return 1
    export DOCKER_HOST=unix://$STATE/docker.sock
}

# ctr of 2.2 says at every call that the host's cgroups are old
export CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1

# 2.x: the transfer service pulls for ctr, and for CRI where that can
containerd_is_2()
{
    [[ $(containerd --version) == *" 2."* ]]
}

# containerd_toml NAME [LINE...]: how the configuration of a containerd begins whose files are $STATE/NAME*;
# the lines are keys of the whole
containerd_toml()
{
    printf '%s\n' "version = ${CONTAINERD_TOML:-2}" "root = \"$STATE/$1\"" "state = \"$STATE/$1-run\"" "${@:2}"
    cat <<TOML
[grpc]
  address = "$STATE/$1.sock"
[debug]
  address = "$STATE/$1-debug.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$STATE/$1-opt"
TOML
}

start_containerd()
{
    containerd_toml containerd 'disabled_plugins = ["io.containerd.grpc.v1.cri"]' >"$STATE/containerd.toml"
    start_daemon containerd containerd --config "$STATE/containerd.toml"
    await containerd ctr --address "$STATE/containerd.sock" version || return 1
    export CONTAINERD_ADDRESS=$STATE/containerd.sock CONTAINERD_NAMESPACE=default
}

# Everything podman, skopeo and buildah keep goes into $STATE. runc: crun refuses mixed cgroups. The
# limits are for hosts that give no more: newer versions ask for a million.
start_podman()
{
    mkdir -p "$STATE/podman-tmp"
    cat >"$STATE/storage.conf" <<TOML
[storage]
driver = "overlay"
graphroot = "$STATE/podman"
runroot = "$STATE/podman-run"
TOML
    cat >"$STATE/containers.conf" <<TOML
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "runc"
static_dir = "$STATE/podman/libpod"
tmp_dir = "$STATE/podman-tmp"
volume_path = "$STATE/podman/volumes"
TOML
    cat >"$STATE/registries.conf" <<TOML
unqualified-search-registries = ["docker.io"]
[[registry]]
location = "127.0.0.1"
insecure = true
TOML
    export CONTAINERS_STORAGE_CONF=$STATE/storage.conf CONTAINERS_CONF=$STATE/containers.conf
    export CONTAINERS_REGISTRIES_CONF=$STATE/registries.conf
    export PODMAN_IGNORE_CGROUPSV1_WARNING=1 # what kind this host has is not under test
}

# podman_trust HOST:PORT: allow plain HTTP there (registries.conf has no port wildcard)
podman_trust()
{
    printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$1" >>"$STATE/registries.conf"
}

start_podman_service()
{
    start_daemon podman podman system service --time=0 "unix://$STATE/podman.sock"
    await podman curl -sf --unix-socket "$STATE/podman.sock" http://localhost/_ping || return 1
    export CONTAINER_HOST=unix://$STATE/podman.sock
}

mkimage()
{
    "$OCV_BUILD/test/tools/mkimage" "$@"
}

push_layout()
{
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false "${@:3}" "oci:$1" "docker://$2"
}

start_private()
{
    start_registry private htpasswd "${@:3}" || return 1
    export PRIVATE=$REGISTRY
    push_layout "$1:$2" "$PRIVATE/demo/app:1" --dest-creds user:secret
}
