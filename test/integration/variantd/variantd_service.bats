#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon as a service: profile and metrics on its socket, readiness, reload, drain, log.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    push_layout "$STATE/images:cpu" "$REGISTRY/plain:1"
    start_variantd --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    export CUDA
    CUDA=$(digest_of cuda12.8)
}

api()
{
    curl --silent --max-time 10 --unix-socket "$VARIANTD_SOCKET" "http://localhost$1"
}

@test "the socket gives the profile to everyone" {
    [ "$(stat -c %a "$VARIANTD_SOCKET")" = 666 ]
    diff <(api /v1/profile | jq -S .) <(jq -S . "$PROFILES/h100.json")
    [ "$(api /v1/healthz | jq -r .status)" = ok ]
}

@test "vpull and variantctl ask it, say so, and probe by themselves without it" {
    export OCV_SOCKET=$VARIANTD_SOCKET
    run -0 --separate-stderr "$VPULL" -v --print-ref "$REGISTRY/app:1"
    [ "$output" = "$REGISTRY/app@$CUDA" ]
    [[ $stderr == *"$REGISTRY/app:1: chosen by variantd"* ]]
    run -0 --separate-stderr "$VARIANTCTL" resolve -v "$REGISTRY/app:1"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
    [[ $stderr == *"profile from variantd at $VARIANTD_SOCKET"* ]]
    # a choice of one's own takes the profile alone
    run -0 --separate-stderr "$VPULL" -v --print-ref --label null "$REGISTRY/app:1"
    [[ $stderr == *"profile from variantd at $VARIANTD_SOCKET"* ]]
    OCV_SOCKET=$STATE/nobody.sock run -0 --separate-stderr "$VPULL" -v --print-ref "$REGISTRY/app:1"
    [[ $stderr == *"no variantd at"*"probing this machine"* ]]
    OCV_SOCKET=$STATE/nobody.sock run -0 --separate-stderr "$VARIANTCTL" resolve -v "$REGISTRY/app:1"
    [[ $stderr == *"no variantd at"*"probing this machine"* ]]
    # without --profile it is what this machine has
    start_variantd other --registry "$REGISTRY" --once
    OCV_SOCKET=$VARIANTD_SOCKET run -0 --separate-stderr "$VPULL" -v --print-ref "$REGISTRY/app:1"
    [[ $stderr == *"$REGISTRY/app:1: chosen by variantd"* ]]
    stop_daemon other
    # another program's answer is not a profile
    start_daemon stranger systemd-socket-activate --accept --inetd --listen="$STATE/stranger.sock" \
        sh -c 'read -r line; printf "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"'
    await stranger test -S "$STATE/stranger.sock"
    OCV_SOCKET=$STATE/stranger.sock run -0 --separate-stderr "$VPULL" -v --print-ref "$REGISTRY/app:1"
    [[ $stderr == *"probing this machine, since variantd cannot be asked"* ]]
    stop_daemon stranger
}

@test "metrics count requests, choices and probes, in Prometheus' form" {
    before=$(outcome variant)
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    [ "$(outcome variant)" = $((before + 1)) ]
    [ "$(metric 'variantd_chosen_total{label="cuda12.8"}')" -ge 1 ]
    [ "$(metric 'variantd_request_duration_seconds_count')" -ge 1 ]
    page=$(api /metrics)
    grep -q '^variantd_probe_age_seconds [0-9]' <<<"$page"
    # each sample's family has a type, and no line is anything else
    run ! grep -vE '^(# (HELP|TYPE) (variantd|process)_[a-z_]+ .+|(variantd|process)_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.+eInf]+)$' <<<"$page"
    while read -r name; do
        grep -q "^# TYPE $name " <<<"$page"
    done < <(sed -nE 's/^((variantd|process)_[a-z_]*).*/\1/p' <<<"$page" | sed 's/_\(bucket\|sum\|count\)$//' | sort -u)
    # the histogram's buckets grow up to the count, which is that of all requests
    awk -F'[ "]' '/^variantd_request_duration_seconds_bucket/ { if ($NF < last) exit 1; last = $NF; bound = $2 }
        /^variantd_request_duration_seconds_count/ { count = $NF }
        /^variantd_requests_total/ { all += $NF }
        END { exit !(bound == "+Inf" && last == count && count == all && count > 0) }' <<<"$page"
}

@test "metrics count errors of an upstream, and providers that fail" {
    jq '(.namespaces[] | select(.namespace == "nvidia")) += {status: "failed", error: "no answer"}' \
        "$PROFILES/h100.json" >"$STATE/failed.json"
    start_variantd failing --registry "127.0.0.1:1=http://127.0.0.1:1" --registry "$REGISTRY" --profile "$STATE/failed.json"
    [ "$(metric 'variantd_provider_failures_total{provider="nvidia"}')" = 1 ]
    ask HEAD "/v2/app/manifests/1?ns=127.0.0.1%3A1"
    [ "$code" = 502 ]
    [ "$(outcome upstream_error)" = 1 ]
    curl --silent --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics |
        grep -E '^variantd_upstream_errors_total\{.*127\.0\.0\.1:1.*\} [1-9]'
    stop_daemon failing
}

@test "a profile that changes is seen by interval, and logged as a diff" {
    cp "$PROFILES/h100.json" "$STATE/interval.json"
    start_variantd interval --registry "$REGISTRY" --profile "$STATE/interval.json" --probe-interval 200ms
    before=$(metric variantd_profile_changes_total)
    jq '(.namespaces[] | select(.namespace == "nvidia") | .features[] |
        select(.name == "cuda_version_lower_bound") | .values) |= map(select(. != "12.8"))' \
        "$PROFILES/h100.json" >"$STATE/interval.new"
    mv "$STATE/interval.new" "$STATE/interval.json"
    await interval grep -q 'profile changed (interval): nvidia: cuda_version_lower_bound.* -12\.8' "$STATE/log/interval"
    [ "$(metric variantd_profile_changes_total)" -gt "$before" ]
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$(header docker-content-digest)" != "$CUDA" ]
    # what cannot be read changes nothing
    echo broken >"$STATE/interval.json"
    await interval grep -q 'cannot probe this node (interval), keeping the last profile' "$STATE/log/interval"
    [ "$(metric 'variantd_provider_failures_total{provider="x86_64"}')" = 0 ]
    jq '(.namespaces[] | select(.namespace == "x86_64")) += {status: "failed", error: "no answer"}' "$PROFILES/h100.json" \
        >"$STATE/interval.new"
    mv "$STATE/interval.new" "$STATE/interval.json"
    for _ in {1..200}; do # a new connection each time
        [ "$(metric 'variantd_provider_failures_total{provider="x86_64"}')" -lt 2 ] || break
        sleep 0.05
    done
    [ "$(metric 'variantd_provider_failures_total{provider="x86_64"}')" -ge 2 ]
    [ "$(api /v1/healthz | jq -r .status)" = ok ]
    stop_daemon interval
}

@test "the access log as text: one line for each request, with outcome, label and client" {
    seen=$(grep -c '"HEAD /v2/app/manifests/1"' "$STATE/log/variantd" || true)
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}" --user-agent 'reader/1 "quoted"'
    [ "$code" = 200 ]
    await variantd grep -q 'reader/1' "$STATE/log/variantd"
    [ "$(grep -c '"HEAD /v2/app/manifests/1"' "$STATE/log/variantd")" = $((seen + 1)) ]
    grep 'reader/1' "$STATE/log/variantd" |
        grep -qE '^20[0-9T:.-]+Z 127\.0\.0\.1 "HEAD /v2/app/manifests/1" 200 variant cuda12\.8 0 [0-9.]+ms "'
}

@test "access_log: off: no line for a request, and --once: one probe" {
    start_variantd quiet --registry "$REGISTRY" --profile "$PROFILES/h100.json" --access-log off --once --probe-interval 50ms
    for _ in {1..20}; do
        ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
        [ "$code" = 200 ]
    done
    counted variant 20
    run ! grep -q 'manifests' "$STATE/log/quiet"
    [ "$(metric variantd_probes_total)" = 1 ]
    stop_daemon quiet
}

@test "metrics on TCP only where asked for, and nothing else there" {
    start_variantd metrics --registry "$REGISTRY" --profile "$PROFILES/h100.json" --metrics-listen "127.0.0.1:$(port=$(free_port); echo "$port" >"$STATE/metrics.port"; echo "$port")"
    base=http://127.0.0.1:$(cat "$STATE/metrics.port")
    curl -sf "$base/metrics" | grep -q '^variantd_build_info'
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/v1/profile")" = 404 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/v1/resolve?ref=$REGISTRY/app:1")" = 404 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$VARIANTD/metrics")" = 404 ]
    stop_daemon metrics
}

@test "SIGHUP reads configuration and profile again; a broken one changes nothing" {
    cp "$PROFILES/h100.json" "$STATE/p.json"
    printf 'mode: auto\n' >"$STATE/c.yaml"
    start_variantd reloading --config "$STATE/c.yaml" --registry "$REGISTRY" --profile "$STATE/p.json"
    pid=$(cat "$STATE/pids/reloading")
    cp "$PROFILES/mi300x.json" "$STATE/p.json"
    kill -HUP "$pid"
    await reloading grep -q "configuration read again" "$STATE/log/reloading"
    grep -q "profile changed (SIGHUP): nvidia" "$STATE/log/reloading"
    [ "$(metric variantd_probes_total) $(metric variantd_profile_changes_total)" = "2 1" ]
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$(header docker-content-digest)" = "$(digest_of rocm7.1)" ]
    ask HEAD "/v2/plain/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 404 ]
    printf 'mode: proxy\n' >"$STATE/c.yaml"
    kill -HUP "$pid"
    for _ in {1..200}; do
        ask HEAD "/v2/plain/manifests/1?ns=${REGISTRY/:/%3A}"
        [ "$code" != 200 ] || break
        sleep 0.05
    done
    [ "$code" = 200 ]
    printf 'mode: [\n' >"$STATE/c.yaml"
    kill -HUP "$pid"
    await reloading grep -q "keeping the old configuration" "$STATE/log/reloading"
    ask HEAD "/v2/plain/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    # a key of a later version is left out, and the rest taken
    printf 'choose: "true"\nlater_key: 1\nmode: resolver\n' >"$STATE/c.yaml"
    kill -HUP "$pid"
    await reloading grep -q "c.yaml:2: unknown key 'later_key': left out" "$STATE/log/reloading"
    await reloading grep -q 'configuration read again: changed: .*mode' "$STATE/log/reloading"
    # what a reload cannot change is said
    printf 'access_log: off\n' >"$STATE/c.yaml"
    kill -HUP "$pid"
    await reloading grep -q "access_log take effect after a restart" "$STATE/log/reloading"
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    stop_daemon reloading
}

# refused: nobody listens there
refused()
{
    curl -s -o /dev/null --max-time 2 "http://$VARIANTD/v2/"
    [ $? = 7 ]
}

@test "SIGHUP and SIGTERM let a running download end; the latter takes no new client meanwhile" {
    mkimage "$STATE/images" big --layer 30000000
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:big" "docker://$REGISTRY/big:1" 3>&-
    layer=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/big:1" | jq -r '.layers[-1].digest')
    start_variantd draining --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    pid=$(cat "$STATE/pids/draining")
    curl -s --limit-rate 10M -o "$STATE/blob" "http://$VARIANTD/proxy/v2/${REGISTRY/:/--}/big/blobs/$layer" 3>&- &
    download=$!
    await draining test -s "$STATE/blob"
    kill -HUP "$pid"
    await draining grep -q "configuration read again" "$STATE/log/draining"
    kill -TERM "$pid"
    await draining refused
    kill -0 "$download" # it runs still
    daemon_alive draining
    wait "$download"
    [ "sha256:$(sha256sum <"$STATE/blob" | cut -d' ' -f1)" = "$layer" ]
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    run ! curl -s --max-time 2 "http://$VARIANTD/v2/"
    [ ! -e "$VARIANTD_SOCKET" ]
}

@test "the log has the journal's levels in the journal alone" {
    JOURNAL_STREAM=1:1 start_variantd terminal --profile "$PROFILES/h100.json" --registry "$REGISTRY"
    grep -q '^20[^ ]*Z variantd: mirror on' "$STATE/log/terminal"
    run ! grep '^<' "$STATE/log/terminal"
    stop_daemon terminal
    : >"$STATE/log/journal"
    JOURNAL_STREAM=$(stat -c %d:%i "$STATE/log/journal") start_variantd journal --profile "$PROFILES/h100.json" --registry "$REGISTRY"
    grep -q '^<6>20[^ ]*Z mirror on' "$STATE/log/journal"
    stop_daemon journal
}

@test "the log as JSON: every line an object, one for each request" {
    start_variantd json --log json --registry "$REGISTRY" --profile "$PROFILES/h100.json" || true
    await json grep -q '"message"' "$STATE/log/json"
    VARIANTD=127.0.0.1:$(sed -n 's/.*mirror on 127.0.0.1:\([0-9]*\) .*/\1/p' "$STATE/log/json" | head -n 1)
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}" --user-agent $'odd "agent"'
    [ "$code" = 200 ]
    await json grep -q '"outcome":"variant"' "$STATE/log/json"
    jq -es 'all(type == "object" and has("time") and has("level"))' "$STATE/log/json" >/dev/null
    jq -es 'map(select(.outcome == "variant")) | .[0].label == "cuda12.8" and .[0].status == 200' "$STATE/log/json" >/dev/null
    run ! grep -E '"ms":[0-9]+\.[0-9]{4}' "$STATE/log/json" # microseconds, as they are
    # invalid UTF-8 must not make a line disappear
    ask GET "/v2/app/manifests/hidden%ff" --user-agent $'agent\xc3'
    [ "$code" = 404 ]
    await json grep -q 'hidden?.*agent?' "$STATE/log/json"
    jq -es 'map(select(.status == 404)) | length == 1' "$STATE/log/json" >/dev/null
    stop_daemon json
}

@test "OCV_* variables are ignored, and so is the configuration of whoever starts it" {
    mkdir -p "$XDG_CONFIG_HOME/ocivariant"
    printf 'nonsense: [' >"$XDG_CONFIG_HOME/ocivariant/config.yaml"
    OCV_MODE=nonsense OCV_LISTEN=0.0.0.0:1 OCV_DISABLE=nvidia OCV_TAG_TTL=soon \
        OCV_CREDENTIALS=/nowhere start_variantd ignoring --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    rm "$XDG_CONFIG_HOME/ocivariant/config.yaml"
    stop_daemon ignoring
}

@test "socket activation takes the unix socket, and refuses a TCP one" {
    require systemd-socket-activate
    start_daemon activated systemd-socket-activate --listen="$STATE/a.sock" env STATE_DIRECTORY="$STATE/node" \
        "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/a.sock" --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    await activated test -S "$STATE/a.sock"
    VARIANTD_SOCKET=$STATE/a.sock
    [ "$(api /v1/healthz | jq -r .status)" = ok ]
    stop_daemon activated
    port=$(free_port)
    start_daemon refused systemd-socket-activate --listen="127.0.0.1:$port" \
        "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/b.sock"
    await refused grep -q Listening "$STATE/log/refused"
    curl -s --max-time 5 "http://127.0.0.1:$port/" || true
    await refused grep -q "cannot be socket-activated" "$STATE/log/refused" || grep -q "cannot be socket-activated" "$STATE/log/refused"
    stop_daemon refused
}

# what systemd makes of the units, and what they promise
@test "the units: readiness, watchdog, hardening, and no socket but the API's" {
    require systemd-analyze
    local units=$STATE/units name
    mkdir -p "$units" "$STATE/bin"
    cp "$OCV_TOP/contrib/systemd/variantd.socket" "$units"
    ln -sf "$VARIANTD_BIN" "$STATE/bin/variantd"
    sed "s,@PREFIX@,$STATE," "$OCV_TOP/contrib/systemd/variantd.service.in" >"$units/variantd.service"
    run -0 systemd-analyze verify --man=no "$units/variantd.service" "$units/variantd.socket"
    [[ $output != *variantd.s* ]] # a warning would name it
    [ "$(grep -h '^Listen' "$units"/*)" = ListenStream=/run/ocivariant/variantd.sock ]
    for name in Type=notify 'WatchdogSec=[1-9]' Restart=always DynamicUser=yes ProtectSystem=strict \
        'CapabilityBoundingSet=' NoNewPrivileges=yes ExecReload=; do
        grep -q "^$name" "$units/variantd.service"
    done
    grep -qx 'CapabilityBoundingSet=CAP_NET_BIND_SERVICE' "$units/variantd.service"
    grep -qx 'AmbientCapabilities=CAP_NET_BIND_SERVICE' "$units/variantd.service" # for the port below 1024
    grep -qx FileDescriptorStoreMax=1 "$units/variantd.service"
    # a dynamic user's RuntimeDirectory that outlives the service lies in /run/private, where only
    # root comes, and one that does not takes the socket with it: the socket's unit makes the directory
    run ! grep '^RuntimeDirectory' "$units/variantd.service"
    grep -qx Requires=variantd.socket "$units/variantd.service"
    grep -qx DirectoryMode=0755 "$units/variantd.socket"
    # 0 is best, 100 worst; a service without hardening has 96
    run -0 systemd-analyze security --offline=true --no-pager --threshold=25 "$units/variantd.service"
}

@test "two daemons on one socket or port: the second says so and leaves the first alone" {
    run -1 "$VARIANTD_BIN" --listen "$VARIANTD" --socket "$STATE/second.sock" --profile "$PROFILES/h100.json"
    [[ $output == *"cannot listen on $VARIANTD"* ]]
    run -1 "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$VARIANTD_SOCKET" --profile "$PROFILES/h100.json"
    [[ $output == *"cannot listen on $VARIANTD_SOCKET"* ]]
    [ "$(api /v1/healthz | jq -r .status)" = ok ]
}

@test "a directory of the socket that cannot be made is told as what it is" {
    run -1 "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket /sys/no-such/variantd.sock --profile "$PROFILES/h100.json"
    [[ $output == *"cannot listen on /sys/no-such/variantd.sock: "*"hint: --socket PATH names another place" ]]
    [[ $output != *"No such file"* ]]
}

@test "what cannot be served is said at once, with its exit code" {
    run -2 "$VARIANTD_BIN" --listen 0.0.0.0:5050
    [[ $output == *"not a loopback address"* ]]
    run -2 "$VARIANTD_BIN" --mode sometimes
    run -2 "$VARIANTD_BIN" --registry 'no registry'
    run -2 "$VARIANTD_BIN" extra
    run -1 "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/x.sock" --profile "$STATE/missing.json"
    printf '{}' >"$STATE/no-profile.json"
    run -4 "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/x.sock" --profile "$STATE/no-profile.json"
    run -0 "$VARIANTD_BIN" --help
    run -0 "$VARIANTD_BIN" --version
}

# kernel_event FILE: causes one; succeeds where this container is told of it
kernel_event()
{
    python3 - "$1" <<'PYTHON'
import socket, sys
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)  # NETLINK_KOBJECT_UEVENT
kernel.bind((0, 1))
kernel.settimeout(5)
with open(sys.argv[1], "w") as event:
    event.write("change")
while True:
    message, (sender, _) = kernel.recvfrom(8192)
    if sender == 0 and message.startswith(b"change@"):
        break
PYTHON
}

@test "a kernel event makes it probe again" {
    require python3
    event=$(find /sys/bus/pci/devices/*/ -maxdepth 1 -name uevent 2>/dev/null | head -n 1)
    [ -n "$event" ] && [ -w "$event" ] || skip "no device whose uevent may be written"
    kernel_event "$event" 2>/dev/null || skip "kernel events do not reach this container"
    start_variantd probing --registry "$REGISTRY" -v
    before=$(metric variantd_probes_total)
    kernel_event "$event"
    for _ in $(seq 50); do
        [ "$(metric variantd_probes_total)" -le "$before" ] || break
        sleep 0.1
    done
    [ "$(metric variantd_probes_total)" -gt "$before" ]
    stop_daemon probing
}
