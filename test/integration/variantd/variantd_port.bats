#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The mirror's port: engines ask whoever answers there, so that nobody else may, and who does is told.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    start_registry stuck
    export STUCK=$REGISTRY
    kill -STOP "$(<"$STATE/pids/stuck")"
}

teardown_file()
{
    kill -CONT "$(<"$STATE/pids/stuck")"
    state_stop
}

teardown()
{
    stop_daemon intruder
    stop_daemon node
}

again() # LOG: it was ready a second time
{
    [ "$(grep -c '^ready' "$1")" -ge 2 ]
}

@test "another user who tries all along does not get the port at a restart" {
    local port first asking
    port=$(free_port)
    start_supervised node "$port" --registry "$STUCK" --profile "$PROFILES/h100.json"
    first=$(daemon_pid node)
    start_daemon intruder "$OCV_BUILD/test/tools/intruder" "$port"
    await intruder grep -q tries "$STATE/log/intruder"
    # a request that the drain waits for
    curl --silent --max-time 20 --output "$BATS_TEST_TMPDIR/body" --head \
        "http://127.0.0.1:$port/v2/app/manifests/1?ns=${STUCK/:/%3A}" &
    asking=$!
    await node curl --silent --fail --output "$BATS_TEST_TMPDIR/body" "http://127.0.0.1:$port/v2/"
    kill -TERM "$first"
    await node grep -q '^stored stored-mirror' "$STATE/log/node"
    await node again "$STATE/log/node"
    wait "$asking" || true
    grep -q '^removed stored-mirror' "$STATE/log/node"
    [ "$(daemon_pid node)" != "$first" ]
    [ "$(curl --silent --max-time 10 --output "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "http://127.0.0.1:$port/v2/")" = 200 ]
    run ! grep took "$STATE/log/intruder"
}

# restart_busily PORT CONFIG BROKEN: one restart, of a daemon that has ended a connection itself, and that
# has an idle one at SIGTERM; over a start that fails where BROKEN
restart_busily()
{
    local before idle
    before=$(grep -c '^ready' "$STATE/log/node")
    curl --silent --fail --max-time 10 --output "$BATS_TEST_TMPDIR/body" -H 'Connection: close' "http://127.0.0.1:$1/v2/"
    exec {idle}<>"/dev/tcp/127.0.0.1/$1"
    sleep 0.1 # it is accepted before it has asked anything
    printf 'GET /v2/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' >&"$idle"
    read -r <&"$idle"
    [ -z "${3:-}" ] || echo 'polcy: [' >"$2"
    kill -TERM "$(daemon_pid node)"
    if [ -n "${3:-}" ]; then
        for _ in {1..600}; do
            ! grep -q '^ended .* 2$' "$STATE/log/node" || break
            sleep 0.05
        done
        echo 'policy: warn' >"$2"
    fi
    for _ in {1..600}; do
        [ "$(grep -c '^ready' "$STATE/log/node")" = "$before" ] || break
        sleep 0.05
    done
    exec {idle}>&-
    [ "$(grep -c '^ready' "$STATE/log/node")" = "$((before + 1))" ]
}

@test "a restart does not fail for connections that the daemon ended, and gives the port to nobody" {
    local port rounds=10
    [ "${OCV_THOROUGH:-}" != 1 ] || rounds=50
    port=$(free_port)
    echo 'policy: warn' >"$STATE/busy.yaml"
    start_supervised node "$port" --registry "$STUCK" --profile "$PROFILES/h100.json" --config "$STATE/busy.yaml"
    start_daemon intruder "$OCV_BUILD/test/tools/intruder" "$port"
    await intruder grep -q tries "$STATE/log/intruder"
    for ((i = 0; i < rounds; i++)); do
        restart_busily "$port" "$STATE/busy.yaml"
    done
    [ "$(grep -c '^started' "$STATE/log/node")" = "$((rounds + 1))" ] # no start has failed
    [ "$(grep -c '^ended .* 0$' "$STATE/log/node")" = "$rounds" ]
    restart_busily "$port" "$STATE/busy.yaml" broken
    restart_busily "$port" "$STATE/busy.yaml"
    run ! grep took "$STATE/log/intruder"
}

# ask_all_along PORT: 30 requests a second until `enough` is there; a line each: code, seconds
ask_all_along()
{
    while [ ! -e "$BATS_TEST_TMPDIR/enough" ]; do
        curl --silent --max-time 10 --output /dev/null -w '%{http_code} %{time_total}\n' "http://127.0.0.1:$1/v2/" \
            >>"$BATS_TEST_TMPDIR/answers" &
        sleep 0.033
    done
    wait
}

@test "no request is refused while the daemon restarts" {
    local port rounds=10 asking n
    [ "${OCV_THOROUGH:-}" != 1 ] || rounds=50
    port=$(free_port)
    echo 'policy: warn' >"$STATE/busy.yaml"
    start_supervised node "$port" --registry "$STUCK" --profile "$PROFILES/h100.json" --config "$STATE/busy.yaml"
    ask_all_along "$port" 3>&- &
    asking=$!
    for ((i = 0; i < rounds; i++)); do
        restart_busily "$port" "$STATE/busy.yaml"
    done
    touch "$BATS_TEST_TMPDIR/enough"
    wait "$asking"
    n=$(wc -l <"$BATS_TEST_TMPDIR/answers")
    echo "# $rounds restarts, $n requests, the slowest took $(sort -k2n "$BATS_TEST_TMPDIR/answers" | tail -n 1) s" >&3
    [ "$n" -gt $((rounds * 5)) ]
    run ! grep -v '^200 ' "$BATS_TEST_TMPDIR/answers"
    [ "$(grep -c '^ended .* 0$' "$STATE/log/node")" = "$rounds" ]
}

@test "a start that fails has clients refused, not waiting" {
    local port
    port=$(free_port)
    echo 'policy: warn' >"$STATE/busy.yaml"
    start_supervised node "$port" --registry "$STUCK" --profile "$PROFILES/h100.json" --config "$STATE/busy.yaml"
    echo 'polcy: [' >"$STATE/busy.yaml"
    kill -TERM "$(daemon_pid node)"
    for _ in {1..600}; do
        ! grep -q '^ended .* 2$' "$STATE/log/node" || break
        sleep 0.05
    done
    # within a moment the engine knows, and goes to the registry
    run -7 curl --silent --max-time 3 "http://127.0.0.1:$port/v2/"
    echo 'policy: warn' >"$STATE/busy.yaml"
    await node curl --silent --fail --max-time 3 --output /dev/null "http://127.0.0.1:$port/v2/"
}

@test "a port in use: the message names the user who listens there" {
    local port
    port=$(free_port)
    start_daemon intruder "$OCV_BUILD/test/tools/intruder" "$port"
    await intruder grep -q took "$STATE/log/intruder"
    run -1 "$VARIANTD_BIN" --listen "127.0.0.1:$port" --socket "$STATE/late.sock" --registry "$STUCK" \
        --profile "$PROFILES/h100.json"
    [[ $output == *"cannot listen on 127.0.0.1:$port: Address already in use"* ]]
    [[ $output == *"a program of user "*" listens there; unless it is variantd, it answers what engines ask"* ]]
}

@test "a directory of the API's socket in which others may write is told" {
    mkdir -p "$STATE/open"
    chmod 777 "$STATE/open"
    start_daemon node env STATE_DIRECTORY="$STATE/node" "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/open/s.sock" \
        --registry "$STUCK" --profile "$PROFILES/h100.json"
    await node grep -q 'mirror on' "$STATE/log/node"
    grep -q "warning: $STATE/open/: other users may write there" "$STATE/log/node"
}

@test "healthz says where the mirror listens, and who it is" {
    start_variantd node --registry "$STUCK" --profile "$PROFILES/h100.json"
    health=$(curl --silent --max-time 10 --unix-socket "$VARIANTD_SOCKET" http://localhost/v1/healthz)
    [ "$(jq -r .listen <<<"$health")" = "$VARIANTD" ]
    [ "$(jq -r .uid <<<"$health")" = "$(id -u)" ]
    [ "$(metric variantd_foreign_listener)" = 0 ]
}

# The machine's own tree, but for what a set-up changes: nobody's files are touched.
own_tree() # ARGUMENT...
{
    OCV_STATE_DIR=$STATE/state OCV_SOCKET=$VARIANTD_SOCKET "$VARIANTCTL" setup "$@" --config-dir "$STATE/etc-docker"
}

@test "setup asks the daemon where it listens, and status tells who answers there" {
    local port mirror
    mkdir -p "$STATE/etc-docker"
    start_variantd node --registry "$STUCK" --registry docker.io --profile "$PROFILES/h100.json"
    mirror=$VARIANTD
    port=${VARIANTD##*:}
    run -0 own_tree docker --registry docker.io --store classic
    [ "$(jq -r '."registry-mirrors"[0]' "$STATE/etc-docker/daemon.json")" = "http://$mirror" ]
    run -0 own_tree docker --status --format json
    [ "$(jq -r '.engines[0].mirror.answers' <<<"$output")" = variantd ]
    run -0 own_tree docker --status
    [ "${lines[0]}" = "variantd: answers at $mirror" ]
    stop_daemon node
    run -5 own_tree docker --status
    [ "${lines[0]}" = "variantd: not answering at $mirror: engines take the default" ]
    [[ $output == *"nothing listens at $mirror"* ]]
    start_daemon intruder "$OCV_BUILD/test/tools/intruder" "$port"
    await intruder grep -q took "$STATE/log/intruder"
    run -5 own_tree docker --status
    [[ $output == *"WARNING: not variantd, but a program of user "*" listens at $mirror"* ]]
    # also where variantd runs elsewhere
    start_variantd node --registry "$STUCK" --registry docker.io --profile "$PROFILES/h100.json"
    run -5 own_tree docker --status --format json
    [ "$(jq -r '.engines[0].mirror.answers' <<<"$output")" = foreign ]
    stop_daemon intruder
    run -5 own_tree docker --status
    [[ $output == *"variantd listens at $VARIANTD, not at $mirror: run \`variantctl setup docker\` again"* ]]
    run -0 own_tree docker --uninstall
    [ ! -e "$STATE/etc-docker/daemon.json" ]
}

@test "healthz names the registries on the socket, and not on the port for metrics" {
    local port
    port=$(free_port)
    start_variantd node --registry "$STUCK" --registry index.docker.io --profile "$PROFILES/h100.json" --metrics-listen "127.0.0.1:$port"
    run -0 curl --silent --fail --unix-socket "$VARIANTD_SOCKET" http://localhost/v1/healthz
    [ "$(jq -c .registries <<<"$output")" = "[\"$STUCK\",\"docker.io\"]" ]
    [ "$(jq -r .choose <<<"$output")" = on ]
    run -0 curl --silent --fail "http://127.0.0.1:$port/v1/healthz"
    [ "$(jq -c .registries <<<"$output")" = null ]
    stop_daemon node
}

# 256 registries make an answer of some 60 KiB, which the daemon's own check reads, too
@test "a daemon with as many registries as there may be still passes its own check" {
    { echo registries: && seq -f '  %03g.a-name-as-long-as-they-come-in-clouds.eu-central-1.registry.internal.example.com:5000:' 256; } >"$STATE/many.yaml"
    start_supervised many "$(free_port)" --config "$STATE/many.yaml" --profile "$PROFILES/h100.json"
    run -0 curl --silent --fail --unix-socket "$VARIANTD_SOCKET" http://localhost/v1/healthz
    [ "$(jq '.registries | length' <<<"$output")" = 256 ]
    # several looks of the watchdog by now, which the log and the counters know nothing of
    sleep 7
    run ! grep variantd-selfcheck "$STATE/log/many"
    [ "$(outcome base)" = 0 ]
    [ "$(grep -c '^ready' "$STATE/log/many")" = 1 ]
    run ! grep '^watchdog' "$STATE/log/many"
    stop_daemon many
}
