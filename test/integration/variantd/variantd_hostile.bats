#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Malicious clients: the daemon keeps serving, and shows no client what is not theirs.

load ../harness
load ../images
load ../variantd

CROWD=$OCV_BUILD/test/tools/crowd

setup_file()
{
    state_start
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    echo 'host_names: [node7.example]' >"$STATE/names.yaml"
    start_variantd --config "$STATE/names.yaml" --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    export CHOSEN
    CHOSEN=$(digest_of cuda12.8)
}

setup()
{
    PORT=${VARIANTD##*:}
}

teardown()
{
    exec 9>&- 2>/dev/null || true
    stop_daemon crowd
    stop_daemon fresh
}

# crowd KIND N [URL]: leaves them connected until the test ends
start_crowd()
{
    mkfifo "$BATS_TEST_TMPDIR/in"
    "$CROWD" "$1" "$PORT" "${@:2}" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/crowd" 3>&- &
    CROWD_PID=$!
    echo "$CROWD_PID" >"$STATE/pids/crowd"
    exec 9>"$BATS_TEST_TMPDIR/in"
    await crowd grep -q . "$BATS_TEST_TMPDIR/crowd"
}

# put_big NAME FILTER: an index of nearly 4 MB, which jq's filter makes of the small one; sets $digest
put_big()
{
    local big=$BATS_TEST_TMPDIR/big
    curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/app/manifests/1" | jq -c "$2" >"$big"
    [ "$(stat -c %s "$big")" -gt 2000000 ]
    digest=sha256:$(sha256sum <"$big" | cut -d' ' -f1)
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$big" \
        "http://$REGISTRY/v2/app/manifests/$1"
}

# a daemon for this test only, whose memory no crowd has used
fresh()
{
    start_variantd fresh --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    PORT=${VARIANTD##*:}
}

# the most that it has had resident, in MiB
peak()
{
    awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$(cat "$STATE/pids/fresh")/status"
}

still_serves()
{
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CHOSEN" ]
}

# how many the daemon has open
descriptors()
{
    find "/proc/$(cat "$STATE/pids/variantd")/fd" -type l | wc -l
}

raw()
{
    # shellcheck disable=SC2059 # the requests are formats: they hold escapes
    printf "$@" | "$CROWD" raw "$PORT"
}

@test "10,000 idle connections leave it serving" {
    [ "$(ulimit -Hn)" -ge 17000 ] || skip "this shell may not open 17,000 files"
    start_crowd idle 10000
    [ "$(cat "$BATS_TEST_TMPDIR/crowd")" = "open 10000" ]
    still_serves
    daemon_alive variantd
}

# how many of its clients' connections the daemon has closed, and they have not
closed()
{
    awk -v port="$(printf ':%04X' "$PORT")" '$4 == "08" && $3 ~ port "$"' /proc/net/tcp | wc -l
}

@test "idle connections are closed when connections run out" {
    [ "$(ulimit -Hn)" -ge 19200 ] || skip "this shell may not open 19,200 files"
    start_crowd idle 11500
    [ "$(cat "$BATS_TEST_TMPDIR/crowd")" = "open 11500" ]
    for _ in {1..300}; do # until the crowd is small enough: 10,500
        [ "$(closed)" -lt 1000 ] || break
        sleep 0.1
    done
    [ "$(closed)" -ge 1000 ]
    still_serves
}

@test "clients that drip a byte at a time leave it serving" {
    start_crowd drip 500
    [ "$(cat "$BATS_TEST_TMPDIR/crowd")" = "open 500" ]
    still_serves
}

@test "400 clients that read nothing of large documents do not make it grow" {
    fresh
    put_big long '.annotations.long = ("x" * 3900000)'
    start_crowd silent 400 "/proxy/v2/${REGISTRY/:/--}/app/manifests/$digest"
    [ "$(cat "$BATS_TEST_TMPDIR/crowd")" = "open 400" ]
    for _ in {1..20}; do # docker-registry is busy with hundreds of large documents for a while
        ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
        [ "$code" != 200 ] || break
    done
    [ "$(header docker-content-digest)" = "$CHOSEN" ]
    peak
    [ "$(peak)" -lt 128 ]
    daemon_alive fresh
}

@test "documents of a million values are refused before they become a tree" {
    fresh
    put_big dense '.dense = [range(1000000) | []]'
    start_crowd silent 64 "/resolver/v2/${REGISTRY/:/--}/app/manifests/dense"
    [ "$(cat "$BATS_TEST_TMPDIR/crowd")" = "open 64" ]
    ask HEAD "/v2/app/manifests/dense?ns=${REGISTRY/:/%3A}"
    [ "$code" = 502 ]
    still_serves
    peak
    [ "$(peak)" -lt 128 ]
}

@test "headers larger than 32 KiB are refused, smaller ones are not" {
    still_serves
    big=$(head -c 40000 /dev/zero | tr '\0' x)
    ask GET /v2/ --header "X-Big: $big"
    [ "$code" = 431 ] || [ "$code" = 413 ] || [ "$code" = 000 ]
    small=$(head -c 8000 /dev/zero | tr '\0' x)
    ask GET /v2/ --header "Authorization: Bearer $small"
    [ "$code" = 200 ]
    ask GET "/v2/$big"
    [ "$code" != 200 ]
    still_serves
}

@test "a second request hidden in a body is not answered" {
    run -0 raw 'GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n' # this is how an answer looks
    [[ $output == *"200 OK"* ]]
    for head in 'Content-Length: 44\r\nTransfer-Encoding: chunked' 'Transfer-Encoding: chunked' \
        'Content-Length: 44' 'Content-Length: 0\r\nContent-Length: 44' \
        'Transfer-Encoding: identity, chunked' 'Content-Length: +44' 'Content-Length: 0x2c'; do
        run -0 raw "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n$head\r\n\r\n0\r\n\r\nGET /v2/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
        echo "$head: $output"
        [[ $output == "HTTP/1.1 400 "* && $output != *"200 OK"* && $output != *404* && $output != *hidden* ]]
    done
    still_serves
}

@test "lines that are not HTTP get no content, and the daemon serves on" {
    local tag=/v2/app/manifests/1
    run -0 raw "GET $tag HTTP/1.1\r\nHost: localhost\r\n\r\n" # this is how an answer looks
    [[ $output == *"Docker-Content-Digest: $CHOSEN"* ]]
    for text in 'GET\r\n\r\n' '\r\n\r\n\r\n' "GET $tag HTTP/9.9\r\n\r\n" '\x16\x03\x01\x02\x00\x01' \
        "GET $tag HTTP/1.1\r\nHost: localhost\r\n X: folded\r\n\r\n" 'GET /v2/\0 HTTP/1.1\r\nHost: localhost\r\n\r\n' \
        "GET $tag HTTP/1.1\r\n\r\n" "GET $tag\r\n\r\n" \
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' "GET http://evil.example$tag HTTP/1.1\r\nHost: localhost\r\n\r\n"; do
        run -0 raw "$text"
        echo "$text: $output"
        [[ $output != *"Docker-Content-Digest"* ]]
    done
    still_serves
}

@test "?ns= reaches no host that is not configured" {
    local ours=$REGISTRY other seen before n=0
    start_registry other # which has the image, too
    other=$REGISTRY
    push_layout "$STATE/images:app" "$other/app:1"
    seen=$(wc -l <"$STATE/log/other")
    before=$(outcome unknown_registry)
    for name in "$other" 169.254.169.254 localhost:1 "localhost:${other##*:}" evil.example "$ours@evil" \
        "$ours@$other" "$other@$ours" "$ours/../x" "%2e%2e" "unix:///run/docker.sock" "file:///etc" "$other%00.evil"; do
        for view in '' /proxy /raw; do
            ask HEAD "$view/v2/app/manifests/1?ns=$name"
            [ "$code" = 404 ]
            n=$((n + 1))
        done
    done
    counted unknown_registry $((before + n))
    [ "$(wc -l <"$STATE/log/other")" = "$seen" ]
    REGISTRY=$ours still_serves
}

@test "a path or argument with an escaped NUL is refused, not cut" {
    local path argument ns=${REGISTRY/:/%3A}
    for path in /v2/app%00/manifests/1?ns="$ns" /v2/app/manifests/1%00?ns="$ns" /v2/app/manifests/1%00x%20?ns="$ns" \
        "/v2/app/manifests/1?ns=$ns%00" "/v2/app/manifests/1?ns=$ns%00.evil" /v2/%00 "/v2%00?ns=$ns" \
        /v2/app/manifests/sha256:%00 "/proxy/v2/${REGISTRY/:/--}/app/manifests/$CHOSEN%00"; do
        ask HEAD "$path"
        echo "$path: $code"
        [ "$code" = 404 ]
    done
    curl=(curl --silent --max-time 10 --unix-socket "$VARIANTD_SOCKET" --output /dev/null --write-out '%{http_code}')
    [ "$("${curl[@]}" 'http://localhost/v1/healthz%00')" = 404 ]
    [ "$("${curl[@]}" 'http://localhost/v1/resolve%00x?ref=app')" = 404 ]
    for argument in "ref=$REGISTRY/app:1%00" "ref=$REGISTRY/app:1%00x" "digest=$CHOSEN%00" "digest=$CHOSEN&label=cuda12.8%00x" \
        'properties=nvidia::sm_arch::90_real%00,x' "digest=$CHOSEN&%00=x"; do
        run -0 "${curl[@]}" "http://localhost/v1/verdict?$argument"
        echo "$argument: $output"
        [ "$output" = 400 ]
    done
    still_serves
}

# a page that somebody has open has the browser ask, by a name of the page's that leads here, or with
# the mirror's own address in a picture
@test "what a page has a browser ask for is answered 404, counted, and nothing is resolved" {
    local before mirror api n=0 header path="/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    still_serves
    before=$(upstream_count "HEAD /v2/app/manifests/1")
    mirror=$(metric 'variantd_foreign_requests_total{where="mirror"}')
    api=$(metric 'variantd_foreign_requests_total{where="api"}')
    for header in 'Host: attacker.example' 'Host: localhost.attacker.example:5050' 'Origin: http://attacker.example' \
        'Origin: null' 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
        ask HEAD "$path" --header "$header"
        [ "$code" = 404 ]
        ask GET /v2/ --header "$header"
        [ "$code" = 404 ]
        run -0 curl --silent --unix-socket "$VARIANTD_SOCKET" --header "$header" http://localhost/metrics
        [ "$(jq -r '.errors[0].message' <<<"$output")" = "the Host header has to be localhost, a loopback address or one of host_names, and a web page may not ask" ]
        api=$((api + 1))
        run -0 curl --silent --unix-socket "$VARIANTD_SOCKET" --header "$header" --output /dev/null --write-out '%{http_code}' \
            "http://localhost/v1/resolve?ref=$REGISTRY/app:1"
        [ "$output" = 404 ]
        n=$((n + 1))
    done
    [ "$(upstream_count "HEAD /v2/app/manifests/1")" = "$before" ]
    [ "$(metric 'variantd_foreign_requests_total{where="mirror"}')" = $((mirror + 2 * n)) ]
    [ "$(metric 'variantd_foreign_requests_total{where="api"}')" = $((api + n)) ]
    # names of this machine, and what somebody types
    for header in 'Host: localhost' 'Host: [::1]:5050' 'Host: 172.17.0.1:5050' 'Host: node7.example:5050' 'Sec-Fetch-Site: none'; do
        ask HEAD "$path" --header "$header"
        [ "$code" = 200 ]
    done
    still_serves
}

@test "writes are refused, whatever they are" {
    for method in POST PUT PATCH DELETE; do
        ask "$method" "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
        [ "$code" = 405 ]
        [ "$(header connection)" = close ] # SECURITY.md: nothing can be smuggled in one
        ask "$method" "/v2/app/blobs/uploads/" --data x
        [ "$code" = 405 ]
    done
    still_serves
}

@test "clients that leave in the middle of a blob cost nothing that stays" {
    local before gone layer
    mkimage "$STATE/images" huge --layer 64M
    push_layout "$STATE/images:huge" "$REGISTRY/huge:1"
    layer=$(jq -r '.layers | max_by(.size) | .digest' < <(curl -s -H "$ACCEPT_ALL" "http://$REGISTRY/v2/huge/manifests/1"))
    before=$(descriptors)
    gone=$(outcome client_gone)
    for _ in $(seq 30); do
        run -28 curl -s --limit-rate 1000 --max-time 0.2 -o /dev/null \
            "http://$VARIANTD/proxy/v2/${REGISTRY/:/--}/huge/blobs/$layer"
    done
    counted client_gone $((gone + 30))
    for _ in {1..200}; do
        [ $(($(descriptors) - before)) -gt 16 ] || break
        sleep 0.05
    done
    [ $(($(descriptors) - before)) -le 16 ] # connections to the registry are kept for later
    still_serves
}

# slow_readers N: 170 of a large blob, of whom N have a place; sets $layer
slow_readers()
{
    mkimage "$STATE/images" vast --layer 64M --seed 7
    push_layout "$STATE/images:vast" "$REGISTRY/vast:1"
    layer=$(jq -r '.layers | max_by(.size) | .digest' < <(curl -s -H "$ACCEPT_ALL" "http://$REGISTRY/v2/vast/manifests/1"))
    fresh
    start_crowd slow 170 "/proxy/v2/${REGISTRY/:/--}/vast/blobs/$layer"
    [ "$(cat "$BATS_TEST_TMPDIR/crowd")" = "open 170" ]
    for _ in {1..300}; do
        [ "$(metric 'variantd_upstream_requests_total{what="blob"}')" -lt "$1" ] || break
        sleep 0.1
    done
}

@test "170 readers that take next to nothing of a blob give way to one who reads it" {
    local layer
    slow_readers 96
    ask GET "/proxy/v2/${REGISTRY/:/--}/vast/blobs/$layer" --max-time 60
    [ "$code" = 200 ]
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$layer" ]
    [ "$(metric variantd_slow_readers_total)" -ge 1 ]
    daemon_alive fresh
}

@test "readers of another user leave places of their registry to others from the start" {
    local layer other=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
    require setpriv
    "${other[@]}" test -x "$CROWD" || skip "another user cannot run $CROWD"
    printf '#!/bin/sh\nexec %s %s "$@"\n' "${other[*]}" "$CROWD" >"$BATS_TEST_TMPDIR/as_other"
    chmod +x "$BATS_TEST_TMPDIR/as_other"
    CROWD=$BATS_TEST_TMPDIR/as_other slow_readers 47
    ask GET "/proxy/v2/${REGISTRY/:/--}/vast/blobs/$layer" --max-time 60
    [ "$code" = 200 ]
    # of 96 places that user has less than half, and none of them had to go for the other
    [ "$(metric 'variantd_upstream_requests_total{what="blob"}')" = 48 ]
    [ "$(metric variantd_slow_readers_total)" = 0 ]
}

@test "the API tells nobody more than the profile, and takes nothing" {
    curl=(curl --silent --max-time 10 --unix-socket "$VARIANTD_SOCKET" --output /dev/null --write-out '%{http_code}')
    [ "$("${curl[@]}" http://localhost/v1/profile)" = 200 ]
    [ "$("${curl[@]}" --request POST --data x http://localhost/v1/profile)" != 200 ]
    [ "$("${curl[@]}" http://localhost/v1/../../etc/passwd --path-as-is)" = 404 ]
    [ "$("${curl[@]}" http://localhost/v1/resolve)" = 400 ]
    [ "$("${curl[@]}" 'http://localhost/v1/resolve?ref=app//x')" = 400 ]
    [ "$("${curl[@]}" 'http://localhost/v1/resolve?ref=evil.example/app:1')" = 404 ]
    [ "$("${curl[@]}" "http://localhost/v1/resolve?ref=$REGISTRY/app:1")" = 200 ]
    # invalid UTF-8 is not a lack of memory
    [ "$("${curl[@]}" 'http://localhost/v1/verdict?properties=nvidia::sm_arch::90_real&label=%ff')" = 200 ]
}

# fat_daemon: one that asks the bad registry, with tag rules for it; sets idle, in MiB
fat_daemon()
{
    mkdir -p "$STATE/fat/tags.d"
    printf '%s\n' 'schema: dev.ocivariant.tags/v1' 'family: fat' "repositories: [{match: '127\\.0\\.0\\.1:[0-9]+/fattags/.+', kind: repository}]" \
        'parts:' "  - {match: 'gpu', kind: device, gives: ['nvidia :: sm_arch :: 90_real']}" \
        "  - {match: '[0-9]+\\.[0-9]+', group: version}" "group_tags: ['{version}']" >"$STATE/fat/tags.d/10-fat.yaml"
    [ -n "${BAD:-}" ] || start_badregistry
    echo 'tag_rules: on' >"$STATE/fat.yaml"
    OCV_DATADIR=$STATE/fat start_variantd fresh --config "$STATE/fat.yaml" --registry "$BAD" --profile "$PROFILES/h100.json"
    idle=$(peak)
}

# fat_lookups MODE: 64 tags are asked for at once by a user without rights
fat_lookups()
{
    local i asking=() as=()
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
    for i in {1..64}; do
        "${as[@]}" curl --silent --max-time 20 --output /dev/null --head "http://$VARIANTD/v2/$1/a$i/manifests/1.$i?ns=${BAD/:/%3A}" 3>&- &
        asking+=($!)
    done
    [ -z "${2:-}" ] || return 0
    wait "${asking[@]}" || true
}

lists_asked() # N: so many lists of tags have been asked for
{
    curl --silent "http://$BAD/log" >>"$BATS_TEST_TMPDIR/asked" # tells each request once
    [ "$(grep -c 'fattags.*/tags/list' "$BATS_TEST_TMPDIR/asked")" -ge "$1" ]
}

# look_up MODE: the same for a tag of a registry that has it in every repository
look_up()
{
    local i asking=() as=() digest
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
    digest=$(jq -r --arg tag "$1" '.manifests[] | select(.annotations[] == $tag).digest' "$STATE/heavy/index.json")
    for i in {1..64}; do
        if [[ $1 = labels || $1 = stuffed ]]; then
            "${as[@]}" curl --silent --max-time 20 --output /dev/null --get --unix-socket "$VARIANTD_SOCKET" \
                --data-urlencode "ref=$HEAVY/r$i:$1" --data-urlencode "digest=$digest" http://localhost/v1/verdict 3>&- &
        else
            "${as[@]}" curl --silent --max-time 20 --output /dev/null --head \
                "http://$VARIANTD/v2/r$i/manifests/$1?ns=${HEAVY/:/%3A}" 3>&- &
        fi
        asking+=($!)
    done
    wait "${asking[@]}" || true
}

@test "configurations, nested indexes and the images of verdicts take no more than what is paid for" {
    local idle mode log=$BATS_TEST_TMPDIR/requests
    require setpriv
    chmod o+x "$STATE" # to the socket
    mkdir "$STATE/heavy"
    python3 "$OCV_TOP/test/integration/fat_layout.py" "$STATE/heavy"
    echo '[{"layout": true}]' >"$STATE/heavy.json"
    start_daemon heavy python3 "$OCV_TOP/test/tools/rules.py" "$STATE/heavy.json" "$log" "$STATE/heavy"
    await heavy grep -q . "$STATE/log/heavy"
    HEAVY=127.0.0.1:$(<"$STATE/log/heavy")
    echo 'tag_rules: on' >"$STATE/heavy.yaml"
    for mode in configs:blobs nested:manifests labels:blobs stuffed:blobs; do
        start_variantd fresh --config "$STATE/heavy.yaml" --registry "$HEAVY" --profile "$PROFILES/h100.json"
        idle=$(peak)
        : >"$log"
        look_up "${mode%:*}"
        echo "$mode: $(peak) MiB, idle $idle, $(wc -l <"$log") requests"
        [ "$(peak)" -lt $((idle + 64)) ]
        [ "$(grep -c "/${mode#*:}/sha256:" "$log")" -ge 16 ] # it has read what is heavy
        stop_daemon fresh
    done
    stop_daemon heavy
}

@test "tokens, error pages and lists of tags take no more memory than their bytes" {
    local idle mode
    require setpriv
    fat_daemon
    for mode in fattoken faterror fattags; do
        fat_lookups "$mode"
        echo "$mode: $(peak) MiB, idle $idle"
        [ "$(peak)" -lt $((idle + 64)) ]
        : >"$BATS_TEST_TMPDIR/asked"
        run lists_asked 16
        [ "$(grep -c "$mode" "$BATS_TEST_TMPDIR/asked")" -ge 64 ]
    done
    [ "$status" = 0 ]
    # and in the midst of it the daemon ends at once
    : >"$BATS_TEST_TMPDIR/asked"
    fat_lookups fattags leave
    await fresh lists_asked 8
    SECONDS=0
    stop_daemon fresh
    [ "$SECONDS" -le 5 ]
}
