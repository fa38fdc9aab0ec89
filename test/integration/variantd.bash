# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The daemon in tests, loaded after harness and images.
#
#   start_variantd [NAME] [OPTION...]   sets VARIANTD=HOST:PORT and VARIANTD_SOCKET
#   write_config [LINE...]              $STATE/config.yaml: its socket and the registry, and these lines
#   start_supervised NAME PORT [OPTION...]   under a service manager with a watchdog, on that port;
#                                       daemon_pid NAME is the daemon's own
#   kill_supervised NAME                kill -9 to both, the manager first: nobody starts it again
#   watchdog_fires NAME PID             waits until the manager has started another than the hung one
#   start_machines [OPTION...]          a daemon for each machine of $MACHINES; machine NAME is where it
#                                       listens
#   each_machine_pulls IMAGE            every machine gets its own variant of `app`, and it runs
#   as_without_us IMAGE...              what is stored is the same with and without the mirror. For both
#                                       the file has through MACHINE|none, and the verbs of clients.bash
#   levels_are_chosen IMAGE             an engine gets the best level for its machine, of a daemon that
#                                       chooses it; start_levels OPTION... starts such daemons
#   registries_conf MIRROR HOST...      what podman reads; MIRROR is an address, or empty for none;
#                                       sets CONTAINERS_REGISTRIES_CONF. RAW=/raw comes before the names;
#                                       INSECURE=false: the registries have TLS
#   start_badregistry                   test/tools/badregistry.c; sets BAD
#   start_gate PORT [OWN-PORT]          a door before a server: sets GATE=HOST:PORT; `hold WHAT`
#                                       closes it (test/tools/gate.c), `held` waits until something
#                                       stands before it, `release` opens it
#   watch_calls OPTION...               strace, attached to the daemon: stop_daemon strace ends it
#   ask METHOD PATH [CURL OPTION...]    status in $code, head in $head (lower-case names), body in
#                                       the file $body
#   header NAME                         its value in the last answer
#   outcome NAME                        how many requests ended so (variantd_requests_total)
#   counted NAME N                      waits until so many have
#   verdict KEY=VALUE...                what the daemon says of an image, as JSON
#   reread NAME N                       waits until that daemon has read its configuration again N times

export VARIANTD_BIN=${VARIANTD_BIN:-$OCV_BIN/variantd}
export ACCEPT_ALL='Accept: application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, */*'

variantd_port()
{
    sed -n 's/.*mirror on [^ ]*:\([0-9][0-9]*\) .*/\1/p' "$STATE/log/$1" | grep .
}

start_variantd()
{
    local name=variantd
    if [ $# -gt 0 ] && [[ $1 != -* ]]; then
        name=$1
        shift
    fi
    start_daemon "$name" env STATE_DIRECTORY="$STATE/node" "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/$name.sock" "$@"
    await "$name" variantd_port "$name" || return 1
    VARIANTD=127.0.0.1:$(variantd_port "$name")
    VARIANTD_SOCKET=$STATE/$name.sock
    VARIANTD_NAME=$name
    export VARIANTD VARIANTD_SOCKET VARIANTD_NAME
}

write_config()
{
    printf '%s\n' "socket: $STATE/variantd.sock" "registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\"}}" "$@" >"$STATE/config.yaml"
}

start_supervised()
{
    local name=$1 port=$2
    shift 2
    start_daemon "$name" env STATE_DIRECTORY="$STATE/node" "$OCV_BUILD/test/tools/supervise" 3000 "$VARIANTD_BIN" \
        --listen "127.0.0.1:$port" --socket "$STATE/$name.sock" "$@"
    await "$name" grep -q '^ready' "$STATE/log/$name" || return 1
    export VARIANTD=127.0.0.1:$port VARIANTD_SOCKET=$STATE/$name.sock VARIANTD_NAME=$name
}

kill_supervised()
{
    local manager
    manager=$(<"$STATE/pids/$1")
    kill -KILL "$manager" "$(daemon_pid "$1")"
    wait "$manager" || true
    rm "$STATE/pids/$1"
}

watchdog_fires()
{
    for _ in {1..600}; do
        [ "$(grep -c '^ready' "$STATE/log/$1")" = 1 ] || break
        sleep 0.05
    done
    grep -q "^watchdog $2\$" "$STATE/log/$1"
    [ "$(daemon_pid "$1")" != "$2" ]
}

export MACHINES="h100 mi300x laptop"

start_machines()
{
    local machine
    for machine in $MACHINES; do
        start_variantd "$machine" --profile "$PROFILES/$machine.json" "$@" || return 1
        echo "$VARIANTD" >"$STATE/$machine.address"
    done
}

machine()
{
    cat "$STATE/$1.address"
}

# shellcheck disable=SC2154 # `run` sets output
each_machine_pulls()
{
    local machine
    for machine in $MACHINES; do
        through "$machine"
        run -0 pull "$1"
        run -0 --separate-stderr stored "$1"
        [ "$output" = "$(digest_of "$(wanted "$machine")")" ]
        run -0 --separate-stderr says "$1"
        echo "$CLIENT on $machine: $output, wanted $(wanted "$machine")"
        [ "$output" = "this is $(wanted "$machine")" ]
    done
}

as_without_us()
{
    local image
    for image; do
        through none
        run -0 pull "$image"
        record "$image" >"$BATS_TEST_TMPDIR/without"
        through h100
        run -0 pull "$image"
        record "$image" >"$BATS_TEST_TMPDIR/with"
        [ -s "$BATS_TEST_TMPDIR/without" ]
        diff "$BATS_TEST_TMPDIR/without" "$BATS_TEST_TMPDIR/with"
    done
}

start_levels()
{
    local level
    for level in v3 v2; do
        jq --arg level "$level" '.platform = {os: "linux", architecture: "amd64", variant: $level}' \
            "$PROFILES/laptop.json" >"$STATE/$level.json"
        start_variantd "level-$level" --profile "$STATE/$level.json" --cpu-levels on "$@" || return 1
        echo "$VARIANTD" >"$STATE/level-$level.address"
    done
}

# shellcheck disable=SC2154 # `run` sets output
levels_are_chosen()
{
    local side wanted own=null # what the engine takes by itself: newer ones know levels
    for side in none laptop level-v2 level-v3; do
        through "$side"
        run -0 pull "$1"
        run -0 --separate-stderr says "$1"
        echo "$side: $output"
        [ "$side $output" != "none this is level.v3" ] || own=level.v3
        case $side in
        none | laptop) wanted=$own ;;
        level-v2) wanted=null ;;
        *) wanted=level.v3 ;;
        esac
        [ "$output" = "this is $wanted" ]
    done
    [ "$(stored "$1")" = "$(jq -r '.manifests[0].digest' "$STATE/levels.json")" ]
    [ "$(metric 'variantd_chosen_total{label="linux/amd64/v3"}')" -ge 1 ]
}

registries_conf()
{
    local mirror=$1 host insecure=${INSECURE:-true}
    shift
    export CONTAINERS_REGISTRIES_CONF=$STATE/through.conf
    echo 'unqualified-search-registries = ["docker.io"]' >"$CONTAINERS_REGISTRIES_CONF"
    for host; do
        printf '[[registry]]\nlocation = "%s"\ninsecure = %s\n' "$host" "$insecure"
        [ -z "$mirror" ] || printf '[[registry.mirror]]\nlocation = "%s"\ninsecure = true\n' \
            "$mirror${RAW:-}/${host/:/--}"
    done >>"$CONTAINERS_REGISTRIES_CONF"
}

start_badregistry()
{
    start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    await bad awk 'NR == 3 { found = 1 } END { exit !found }' "$STATE/log/bad" || return 1
    BAD=127.0.0.1:$(awk 'NR == 1 { print $1 }' "$STATE/log/bad")
    export BAD
}

daemon_pid()
{
    sed -n 's/^started //p' "$STATE/log/$1" | tail -n 1
}

start_gate()
{
    start_daemon gate "$OCV_BUILD/test/tools/gate" "$1" "$STATE/hold" ${2:+"$2"}
    await gate grep -q . "$STATE/log/gate" || return 1
    GATE=127.0.0.1:$(head -n 1 "$STATE/log/gate")
    export GATE
}

hold()
{
    HELD=$(grep -c held "$STATE/log/gate" || true)
    echo "$*" >"$STATE/hold.new"
    mv "$STATE/hold.new" "$STATE/hold"
}

held()
{
    for _ in {1..600}; do
        [ "$(grep -c held "$STATE/log/gate" || true)" = "$HELD" ] || return 0
        sleep 0.05
    done
    return 1
}

release()
{
    rm -f "$STATE/hold"
}

watch_calls()
{
    require strace
    start_daemon strace strace -f "$@" -p "$(<"$STATE/pids/$VARIANTD_NAME")"
    until grep -Eq 'attached|not permitted' "$STATE/log/strace"; do daemon_alive strace && sleep 0.05; done
    ! grep 'not permitted' "$STATE/log/strace" || skip "strace may not attach to a process here"
}

ask()
{
    local method=$1 path=$2
    shift 2
    body=$BATS_TEST_TMPDIR/body
    local request=(--request "$method")
    [ "$method" != HEAD ] || request=(--head)
    : >"$body"
    # shellcheck disable=SC2034 # for the test
    code=$(curl --silent --show-error --max-time 20 "${request[@]}" --dump-header "$body.head" \
        --output "$body" --write-out '%{http_code}' --header "${ACCEPT:-$ACCEPT_ALL}" "$@" \
        "http://$VARIANTD$path") || true
    head=$(tr -d '\r' <"$body.head" | sed 's/^\([^:]*\):/\L\1:/')
}

header()
{
    sed -n "s/^$1: //p" <<<"$head"
}

metric()
{
    curl --silent --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics |
        awk -v name="$1" '$1 == name { print $2; found = 1 } END { if (!found) print 0 }'
}

outcome()
{
    metric "variantd_requests_total{outcome=\"$1\"}"
}

# counted NAME N: so many have ended so; a request is counted after its client has the answer
counted()
{
    for _ in {1..100}; do
        [ "$(outcome "$1")" != "$2" ] || return 0
        sleep 0.05
    done
    echo "$1: $(outcome "$1") instead of $2"
    return 1
}

# upstream_gets PATTERN: requests in docker-registry's log
upstream_count()
{
    grep -c -- "$1" "$STATE/log/$REGISTRY_NAME" || true
}

verdict()
{
    local args=() pair
    for pair; do
        args+=(--data-urlencode "$pair")
    done
    curl --silent --max-time 10 --get --unix-socket "$VARIANTD_SOCKET" "${args[@]}" http://localhost/v1/verdict
}

reread()
{
    for _ in {1..200}; do
        [ "$(grep -c 'configuration read again' "$STATE/log/$1")" -lt "$2" ] || return 0
        sleep 0.05
    done
    return 1
}
