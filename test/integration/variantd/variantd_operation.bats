#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantd as its operator meets it: the configuration is checked before a start, what metrics there are
# is written down, alerts and a dashboard use them, log lines have the time, the end is told.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require docker-registry skopeo curl jq openssl
    make_variants "$STATE/layout"
    start_registry
    push_layout "$STATE/layout:app" "$REGISTRY/app:1"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$STATE/node.key" -out "$STATE/node.pem" \
        -subj /CN=node -days 2 2>/dev/null
}

# config TEXT: in $CONFIG
config()
{
    CONFIG=$BATS_TEST_TMPDIR/config.yaml
    printf '%b' "$1" >"$CONFIG"
}

check()
{
    "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json" "$@"
}

page()
{
    curl --silent --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics
}

# reload NAME LINE: SIGHUP, until the log has one more of the line
reload()
{
    local before
    before=$(grep -c "$2" "$STATE/log/$1" || true)
    kill -HUP "$(<"$STATE/pids/$1")"
    for _ in {1..200}; do
        [ "$(grep -c "$2" "$STATE/log/$1" || true)" = "$before" ] || return 0
        sleep 0.05
    done
    return 1
}

# ---- the configuration -----------------------------------------------------------------------------

@test "a missing CA file is an error with its line: --check, start and reload" {
    config "registries:\n  docker.io:\n  registry.example:\n    ca: $STATE/nope.pem\n"
    run -2 --separate-stderr check
    [[ ${stderr_lines[0]} == "variantd: $CONFIG:4: registries: registry.example: ca: "*"$STATE/nope.pem: No such file or directory" ]]
    [ "${stderr_lines[-1]}" = "variantd: the configuration ($CONFIG) is not sound" ]
    run -2 --separate-stderr timeout 20 "$VARIANTD_BIN" --config "$CONFIG" --profile "$PROFILES/h100.json" --listen 127.0.0.1:0 \
        --socket "$BATS_TEST_TMPDIR/s"
    [[ $stderr == "variantd: $CONFIG:4: registries: registry.example: ca: "*"No such file"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/s" ]
    config "registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\"}}\n"
    start_variantd ca --config "$CONFIG" --profile "$PROFILES/h100.json"
    config "registries:\n  \"$REGISTRY\":\n    ca: $STATE/nope.pem\n"
    reload ca "keeping the old configuration: $CONFIG:3: registries: $REGISTRY: ca: .*No such file"
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    stop_daemon ca
}

@test "--check: certificates and keys that are none, and those that are" {
    echo 'not a certificate' >"$STATE/text.pem"
    config "registries:\n  r.example: {ca: $STATE/text.pem}\n"
    run -2 --separate-stderr check
    [ "${stderr_lines[0]}" = "variantd: $CONFIG:2: registries: r.example: ca: $STATE/text.pem has no PEM text with CERTIFICATE-----" ]
    config "registries:\n  r.example:\n    cert: $STATE/node.pem\n    key: $STATE/node.pem\n"
    run -2 --separate-stderr check
    [ "${stderr_lines[0]}" = "variantd: $CONFIG:4: registries: r.example: key: $STATE/node.pem has no PEM text with PRIVATE KEY-----" ]
    config "registries:\n  r.example:\n    ca: $STATE/node.pem\n    cert: $STATE/node.pem\n    key: $STATE/node.key\n"
    run -0 --separate-stderr check
    [ "$stderr" = "variantd: warning: $CONFIG:3: registries: r.example: no such host: r.example
variantd: the configuration ($CONFIG) is sound" ]
}

@test "--check: a profile that cannot be read, and a tag rule that is wrong" {
    config 'disable: [nvidia]\n'
    run -2 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$STATE/missing.json"
    [[ ${stderr_lines[0]} == "variantd: "*"$STATE/missing.json"*"No such file"* ]]
    [ "${stderr_lines[-1]}" = "variantd: the configuration ($CONFIG) is not sound" ]
    echo '{' >"$STATE/broken.json"
    run -2 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$STATE/broken.json"
    [[ ${stderr_lines[0]} == "variantd: "*"$STATE/broken.json"* ]]
    local data=$BATS_TEST_TMPDIR/data
    mkdir -p "$data/tags.d" "$data/providers"
    cp "$OCV_TOP"/plugins/tags.d/00-notations.yaml "$data/tags.d"
    printf 'schema: dev.ocivariant.tags/v1\nnonsense: 1\n' >"$data/tags.d/50-own.yaml"
    OCV_DATADIR=$data run -0 check
    config 'tag_rules: on\n'
    OCV_DATADIR=$data run -2 --separate-stderr check
    [[ ${stderr_lines[0]} == "variantd: $data/tags.d/50-own.yaml:2: "* ]]
    [ "${stderr_lines[-1]}" = "variantd: the configuration ($CONFIG) is not sound" ]
}

@test "--state-dir: records go there; where nothing can be written, a start says so" {
    start_variantd kept --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json" --state-dir "$BATS_TEST_TMPDIR/kept"
    ask GET "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    await kept grep -rqs "$(digest_of cuda12.8)" "$BATS_TEST_TMPDIR/kept/resolved"
    run ! grep 'is not recorded' "$STATE/log/kept"
    stop_daemon kept
    : >"$BATS_TEST_TMPDIR/file"
    start_variantd kept --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json" --state-dir "$BATS_TEST_TMPDIR/file"
    grep -qF "variantd: warning: choices are not recorded: cannot write to $BATS_TEST_TMPDIR/file/resolved: Not a directory; state_dir names" \
        "$STATE/log/kept"
    stop_daemon kept
}

# ---- metrics ---------------------------------------------------------------------------------------

@test "docs/metrics.md is made of the table, and the page of the daemon has what stands there" {
    (cd "$OCV_TOP" && "$OCV_BUILD/generate" metrics-page schema/daemon-metrics.yaml) >"$BATS_TEST_TMPDIR/metrics.md"
    diff "$BATS_TEST_TMPDIR/metrics.md" "$OCV_TOP/docs/metrics.md"
    start_variantd page --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    page >"$BATS_TEST_TMPDIR/page"
    # shellcheck disable=SC2016 # backquotes as they are
    diff <(sed -n 's/^| `\([a-z_]*\)` | \(counter\|gauge\|histogram\) .*/\1 \2/p' "$OCV_TOP/docs/metrics.md") \
        <(sed -n 's/^# TYPE //p' "$BATS_TEST_TMPDIR/page")
    # shellcheck disable=SC2016
    diff <(sed -n '/^\*\*`outcome`/,/^\*\*`label`/s/^| `\([a-z_]*\)` .*/\1/p' "$OCV_TOP/docs/metrics.md") \
        <(sed -n 's/^variantd_requests_total{outcome="\([a-z_]*\)"} .*/\1/p' "$BATS_TEST_TMPDIR/page")
    [ "$(sed -n 's/^variantd_requests_total{outcome="\([a-z_]*\)"} .*/\1/p' "$BATS_TEST_TMPDIR/page" | wc -l)" -ge 15 ]
    if command -v promtool >/dev/null; then
        promtool check metrics <"$BATS_TEST_TMPDIR/page"
    fi
    stop_daemon page
}

@test "every value of a label that the sources count under is described" {
    local word
    grep -rhoE 'metrics_(upstream|foreign)\([^"]*"[a-z_0-9]+"|return "(denied|not_found|data|mismatch|tls)"|"(http_[45]xx|http_429|timeout|network)"' \
        "$OCV_TOP/cmd/variantd/mirror" | grep -oE '"[a-z_0-9]+"$' | tr -d '"' | sort -u >"$BATS_TEST_TMPDIR/words"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/words")" -ge 10 ]
    while read -r word; do
        grep -q "^| \`$word\` | " "$OCV_TOP/docs/metrics.md" || echo "$word"
    done <"$BATS_TEST_TMPDIR/words" >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "what the kernel knows of the process, as Prometheus' clients tell it" {
    start_variantd process --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    local pid started
    pid=$(<"$STATE/pids/process")
    [ "$(metric process_max_fds)" = "$(awk '/^Max open files/ { print $4 }' "/proc/$pid/limits")" ]
    [ "$(metric process_virtual_memory_max_bytes)" = 18446744073709551615 ]
    [ "$(metric process_open_fds)" -ge 5 ]
    [ "$(metric process_resident_memory_bytes)" -gt 1000000 ]
    [ "$(metric process_virtual_memory_bytes)" -ge "$(metric process_resident_memory_bytes)" ]
    [[ $(metric process_cpu_seconds_total) =~ ^[0-9]+\.[0-9]{3}$ ]]
    started=$(metric process_start_time_seconds)
    [ "${started%.*}" -le "$(date +%s)" ]
    [ "${started%.*}" -ge $(($(stat -c %Y "$STATE/pids/process") - 2)) ] # clocks of files are coarser
    # one more file for each idle connection; one or two of those of before may end meanwhile
    local before at=/dev/tcp/${VARIANTD/:/\/}
    before=$(metric process_open_fds)
    exec 20<>"$at" 21<>"$at" 22<>"$at" 23<>"$at"
    for _ in {1..100}; do
        [ "$(metric process_open_fds)" -le "$before" ] || break
        sleep 0.05
    done
    [ "$(metric process_open_fds)" -gt "$before" ]
    exec 20>&- 21>&- 22>&- 23>&-
    stop_daemon process
}

@test "a reload that fails is a metric, and so is the time of the last one that did not" {
    config 'mode: auto\n'
    start_variantd reload --config "$CONFIG" --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    local first
    [ "$(metric variantd_config_last_reload_successful)" = 1 ]
    first=$(metric variantd_config_last_reload_success_timestamp_seconds)
    [ "${first%.*}" -le "$(date +%s)" ] && [ "${first%.*}" -gt 1700000000 ]
    config 'mode: sometimes\n'
    reload reload 'keeping the old configuration'
    [ "$(metric variantd_config_last_reload_successful)" = 0 ]
    [ "$(metric variantd_config_last_reload_success_timestamp_seconds)" = "$first" ]
    config 'mode: proxy\n'
    reload reload 'configuration read again'
    [ "$(metric variantd_config_last_reload_successful)" = 1 ]
    [ "$(metric variantd_config_last_reload_success_timestamp_seconds)" != "$first" ]
    stop_daemon reload
}

# Names of metrics in a text; a histogram's parts count as the histogram.
named()
{
    grep -ohE '\b(variantd|process)_[a-z_]+' "$@" | sed 's/_\(bucket\|sum\|count\)$//' | sort -u
}

known()
{
    sed -n 's/^  - name: //p' "$OCV_TOP/schema/daemon-metrics.yaml" | sort -u
}

@test "alert rules name only metrics that there are, with outcomes that there are; promtool takes them" {
    local rules=$OCV_TOP/contrib/kubernetes/chart/files/rules.yaml outcome
    named <(grep '^ *expr:' "$rules") >"$BATS_TEST_TMPDIR/named"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -ge 10 ]
    comm -23 "$BATS_TEST_TMPDIR/named" <(known) | diff /dev/null -
    while read -r outcome; do
        grep -q "^      $outcome: " "$OCV_TOP/schema/daemon-metrics.yaml"
    done < <(grep -oE 'outcome="[a-z_]+"' "$rules" | cut -d'"' -f2)
    if command -v promtool >/dev/null; then
        promtool check rules "$rules"
    fi
}

@test "each alert fires when its time has come, and not for a daemon that is well" {
    command -v promtool >/dev/null || skip "promtool is not installed"
    cp "$OCV_TOP/contrib/kubernetes/chart/files/rules.yaml" "$BATS_TEST_TMPDIR/variantd.yaml"
    cp "$OCV_TOP"/test/data/prometheus/variantd*_test.yaml "$BATS_TEST_TMPDIR"
    (cd "$BATS_TEST_TMPDIR" && promtool test rules variantd_test.yaml variantd_weeks_test.yaml)
    # none is left out
    diff <(sed -n 's/^ *- alert: //p' "$BATS_TEST_TMPDIR/variantd.yaml" | sort) \
        <(cat "$BATS_TEST_TMPDIR"/variantd*_test.yaml | grep -B1 -A1 'alertname:' | grep -B1 exp_alerts | sed -n 's/^ *alertname: //p' | sort -u)
}

@test "each alert has a section of the page of what to do, and each section is of an alert" {
    local rules=$OCV_TOP/contrib/kubernetes/chart/files/rules.yaml
    diff <(sed -n 's/^ *- alert: //p' "$rules") <(sed -n 's/^## \(Variantd.*\)/\1/p' "$OCV_TOP/docs/runbooks.md")
    diff <(sed -n 's/^ *- alert: //p' "$rules" | tr '[:upper:]' '[:lower:]') <(sed -n 's/^ *runbook_url: "docs\/runbooks.md#\(.*\)"/\1/p' "$rules")
    # and it speaks only of metrics that there are
    named "$OCV_TOP/docs/runbooks.md" | comm -23 - <(known) | diff /dev/null -
}

@test "the dashboard can be imported: datasource asked for, panels side by side, only metrics that there are" {
    local dashboard=$OCV_TOP/contrib/kubernetes/chart/files/dashboard.json
    jq -r '.. | .expr? // empty' "$dashboard" >"$BATS_TEST_TMPDIR/expressions"
    named "$BATS_TEST_TMPDIR/expressions" >"$BATS_TEST_TMPDIR/named"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -ge 15 ]
    comm -23 "$BATS_TEST_TMPDIR/named" <(known) | diff /dev/null -
    jq -e '.id == null and (.uid | length > 0) and (.title | length > 0) and (.schemaVersion >= 30) and
        ([.__inputs[] | select(.type == "datasource" and .pluginId == "prometheus") | .name] == ["DS_PROMETHEUS"]) and
        ([.. | .datasource? // empty | objects | .uid] | unique == ["${DS_PROMETHEUS}"]) and
        ([.panels[].id] | unique | length) == (.panels | length) and
        all(.panels[]; .gridPos.x + .gridPos.w <= 24 and (.targets | length > 0))' "$dashboard"
    # none covers another
    jq -e '[.panels[].gridPos | . as $g | range(.x; .x + .w) as $x | range(.y; .y + .h) as $y | [$x, $y]] |
        length == (unique | length)' "$dashboard"
}

# ---- the log ---------------------------------------------------------------------------------------

@test "every line of the text log begins with the time, in the journal behind the level" {
    local time='20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z'
    start_variantd text --registry "$REGISTRY" --profile "$PROFILES/h100.json" -v
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    stop_daemon text
    run ! grep -vE "^$time (variantd: .|127\.0\.0\.1 \"[A-Z]+ /)" "$STATE/log/text"
    grep -qE "^$time variantd: mirror on " "$STATE/log/text"
    : >"$STATE/log/timed"
    JOURNAL_STREAM=$(stat -c %d:%i "$STATE/log/timed") start_variantd timed --registry "$REGISTRY" --profile "$PROFILES/h100.json" \
        --access-log off
    stop_daemon timed
    run ! grep -vE "^<[0-9]>$time ." "$STATE/log/timed"
}

@test "a kubelet's probes are not logged, unless they fail" {
    start_variantd probed --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    ask GET /v2/ --user-agent kube-probe/1.36
    [ "$code" = 200 ]
    ask GET /v2/nowhere --user-agent kube-probe/1.36
    [ "$code" = 404 ]
    ask GET /v2/ --user-agent docker/29
    local answered # with the daemon's check of itself, where it came to that
    answered=$(outcome base)
    [ "$answered" -ge 2 ]
    stop_daemon probed
    grep -q '"GET /v2/nowhere" 404 ' "$STATE/log/probed"
    [ "$(grep -c '"GET /v2/" 200 ' "$STATE/log/probed")" = $((answered - 1)) ]
}

@test "the end is told: what is drained, and that it is done or cut off" {
    mkimage "$STATE/images" big --layer 30000000
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:big" "docker://$REGISTRY/big:1" 3>&-
    layer=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/big:1" | jq -r '.layers[-1].digest')
    local name pid download
    for name in whole cut; do
        start_variantd "$name" --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json"
        pid=$(<"$STATE/pids/$name")
        curl -s --limit-rate 8M -o "$STATE/blob.$name" "http://$VARIANTD/proxy/v2/${REGISTRY/:/--}/big/blobs/$layer" 3>&- &
        download=$!
        await "$name" test -s "$STATE/blob.$name"
        kill -TERM "$pid"
        await "$name" grep -qE 'variantd: SIGTERM: draining [1-9] connections? \(1 with a request\) for up to 20 s; new clients are refused$' \
            "$STATE/log/$name"
        [ "$name" = whole ] || kill -TERM "$pid"
        wait "$download" || [ "$name" = cut ]
        await "$name" grep -qE 'variantd: (draining is done: every request has ended|warning: 1 connection is cut off in a request)$' "$STATE/log/$name"
        stop_daemon "$name"
    done
    grep -q 'draining is done: every request has ended' "$STATE/log/whole"
    run ! grep 'cut off' "$STATE/log/whole"
    grep -q 'warning: 1 connection is cut off in a request' "$STATE/log/cut"
}

# ---- proxies ---------------------------------------------------------------------------------------

@test "a failure names the proxy of the environment, without its password; no_proxy excepts" {
    local proxy=http://user:secret@127.0.0.1:1
    https_proxy=$proxy run -1 --separate-stderr "$VPULL" --profile "$PROFILES/h100.json" --dry-run r.invalid/app:1
    [[ $stderr == *"r.invalid"*"(through the proxy 127.0.0.1:1 of https_proxy)"*"hint: no_proxy names hosts"* ]]
    [[ $stderr != *secret* ]]
    https_proxy=$proxy no_proxy=other.example,.invalid run -1 --separate-stderr "$VPULL" --profile "$PROFILES/h100.json" --dry-run r.invalid/app:1
    [[ $stderr != *"through the proxy"* ]]
    https_proxy=$proxy start_variantd proxied --registry r.invalid --profile "$PROFILES/h100.json"
    ask HEAD "/v2/app/manifests/1?ns=r.invalid"
    [ "$code" = 502 ] || [ "$code" = 504 ]
    await proxied grep -q 'r.invalid.*(through the proxy 127.0.0.1:1 of https_proxy)' "$STATE/log/proxied"
    run ! grep secret "$STATE/log/proxied"
    stop_daemon proxied
}
