#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Registries on their bad days: what a client is told, and how soon.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require curl jq
    local zeros=000000000000000000000000000000000000000000000000000000000000000
    export CHILD=sha256:${zeros}2
    jq -n --arg null "sha256:${zeros}1" --arg cuda "$CHILD" '
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        annotations: {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": "nvidia"},
        manifests: [["null", "", $null], ["cuda", "nvidia :: sm_arch :: 90_real", $cuda]] | map({
            mediaType: "application/vnd.oci.image.manifest.v1+json", digest: .[2], size: 2,
            platform: {os: "linux", architecture: "amd64"},
            annotations: {"dev.ocivariant.label": .[0], "dev.ocivariant.properties": .[1]}})}' \
        >"$STATE/index.json"
    start_daemon bad "$OCV_BUILD/test/tools/badregistry" --file "$STATE/index.json"
    await bad awk 'NR == 3 { found = 1 } END { exit !found }' "$STATE/log/bad"
    BAD=127.0.0.1:$(awk 'NR == 1 { print $1 }' "$STATE/log/bad")
    OTHER=127.0.0.1:$(awk 'NR == 1 { print $2 }' "$STATE/log/bad")
    BLOB=$(awk 'NR == 3 { print $1 }' "$STATE/log/bad")
    SIZE=$(awk 'NR == 3 { print $2 }' "$STATE/log/bad")
    INDEX=$(awk 'NR == 2 { print $1 }' "$STATE/log/bad")
    export BAD OTHER BLOB SIZE INDEX
    start_variantd --registry "$BAD=http://$BAD" --registry "$OTHER=http://$OTHER" --profile "$PROFILES/h100.json"
}

# tag VIEW MODE METHOD
tag()
{
    ask "$3" "/$1/v2/$2/x/manifests/1?ns=$BAD"
}

blob()
{
    ask GET "/proxy/v2/$1/x/blobs/$BLOB?ns=$BAD"
}

right_blob()
{
    [ "$code" = 200 ]
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$BLOB" ]
}

# one request as it is written, and all that comes back
raw()
{
    # shellcheck disable=SC2059 # the requests are formats: they hold escapes
    printf "$@" | timeout 20 "$OCV_BUILD/test/tools/crowd" raw "${VARIANTD##*:}"
}

@test "a resolver's answer is 200 or 404, whatever happens, and the engine asks the registry itself" {
    local mode
    for mode in good reset truncated shortlength wrongdigest odd203 odd206 endless gzip badgzip bigindex bigchunked \
        nodigest generic m400 m401 m403 m404 m429 m429long m500 silent loop redirect redirfar \
        redirfile expired basic public private onetime farrealm badtoken; do
        tag resolver "$mode" HEAD
        [[ $code =~ ^(200|404|502|504)$ ]] || { echo "$mode: $code"; return 1; }
        tag resolver "$mode" GET
        [[ $code =~ ^(200|404|502|504)$ ]] || { echo "$mode: $code"; return 1; }
        [ "$(jq -r '.errors | length' "$body")" = 1 ]
    done
}

@test "401 and 403 become 404 without a challenge" {
    local mode
    for mode in m401 m403 basic private; do
        tag proxy "$mode" GET
        [ "$code" = 404 ]
        [ -z "$(header www-authenticate)" ]
    done
}

@test "429, 500 and rubbish are 502, and counted" {
    local mode before
    before=$(outcome upstream_error)
    for mode in m429 m429long m500 badgzip bigchunked wrongdigest; do
        tag proxy "$mode" GET
        [ "$code" = 502 ] || { echo "$mode: $code"; return 1; }
    done
    [ "$(outcome upstream_error)" = $((before + 6)) ]
    [ "$(metric "variantd_upstream_errors_total{registry=\"$BAD\",kind=\"http_429\"}")" -ge 1 ]
    [ "$(metric "variantd_upstream_errors_total{registry=\"$BAD\",kind=\"http_5xx\"}")" -ge 1 ]
}

@test "a registry that is not there is told from one that answers rubbish" {
    local path
    tag proxy badgzip GET
    [[ $(jq -r '.errors[0].message' "$body") == "registry $BAD: "*gzip* ]]
    start_variantd absent --registry "absent.example=http://127.0.0.1:1" --profile "$PROFILES/h100.json"
    for path in manifests/1 "manifests/$CHILD" "blobs/$BLOB"; do
        ask GET "/proxy/v2/x/$path?ns=absent.example"
        [ "$code" = 502 ]
        [[ $(jq -r '.errors[0].message' "$body") == "registry absent.example: "*"127.0.0.1"* ]]
    done
    stop_daemon absent
}

@test "requests for one tag that meet share one upstream" {
    local i
    curl -s "http://$BAD/log" >/dev/null # told once, then forgotten
    for ((i = 0; i < 20; i++)); do
        echo "url = http://$VARIANTD/resolver/v2/late/x/manifests/1?ns=$BAD"
        echo head
        echo "output = /dev/null"
    done >"$BATS_TEST_TMPDIR/list"
    curl --silent --parallel --parallel-immediate --config "$BATS_TEST_TMPDIR/list"
    curl -s "http://$BAD/log" >"$BATS_TEST_TMPDIR/log"
    [ "$(grep -c '^HEAD /v2/late/' "$BATS_TEST_TMPDIR/log")" = 1 ]
    [ "$(grep -c '^GET /v2/late/' "$BATS_TEST_TMPDIR/log")" -le 1 ]
}

@test "a registry is asked over connections that stay open" {
    local before i
    tag resolver good HEAD
    tag proxy good GET
    before=$(curl -s "http://$BAD/connections")
    for ((i = 0; i < 20; i++)); do
        tag resolver good HEAD
        tag proxy good GET
        blob good
        right_blob
    done
    # one for these questions, and few for 80 requests of documents and blobs
    [ $(($(curl -s "http://$BAD/connections") - before)) -le 6 ]
}

@test "a tag that is moved between HEAD and GET: the bytes that came are one chain" {
    # a daemon that does not know yet what the index of the HEAD means
    start_variantd new --registry "$BAD=http://$BAD" --profile "$PROFILES/h100.json"
    tag resolver moving HEAD
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CHILD" ]
    tag resolver moving HEAD
    [ "$(header docker-content-digest)" = "$CHILD" ]
    stop_daemon new
}

@test "a proxy hands through what was checked, whatever the tag leads to by now" {
    start_variantd new --registry "$BAD=http://$BAD" --profile "$PROFILES/h100.json"
    ask GET "/proxy/v2/moving/x/manifests/still?ns=$BAD" # what that index means is known from here on
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$INDEX" ]
    tag proxy moving GET
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$INDEX" ]
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$INDEX" ]
    # an empty body without a digest is not a manifest
    tag proxy empty GET
    [ "$code" = 502 ]
    tag raw empty GET
    [ "$code" = 502 ]
    stop_daemon new
}

@test "a HEAD by digest tells that digest and the right size, whatever upstream's head says" {
    local view manifest length
    length=$(curl -s "http://$BAD/v2/good/x/manifests/1" | wc -c)
    for view in proxy raw proxy raw; do # from the bytes, which are then known
        ask HEAD "/$view/v2/otherhead/$view/manifests/$INDEX?ns=$BAD"
        [ "$code" = 200 ]
        [ "$(header docker-content-digest)" = "$INDEX" ]
        [ "$(header content-length)" = "$length" ]
    done
    tag proxy otherhead HEAD
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$INDEX" ]
    [ "$(header content-length)" = "$length" ]
    # of a blob its manifest knows the size
    manifest=$(curl -s "http://$BAD/v2/otherhead/image/manifests/1" | jq -r '.manifests[0].digest')
    ask GET "/proxy/v2/otherhead/image/manifests/$manifest?ns=$BAD"
    ask HEAD "/proxy/v2/otherhead/image/blobs/$BLOB?ns=$BAD"
    [ "$code" = 502 ]
    ask HEAD "/proxy/v2/lengthless/image/manifests/$manifest?ns=$BAD"
    ask HEAD "/proxy/v2/lengthless/image/blobs/$BLOB?ns=$BAD"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$BLOB" ]
    [ "$(header content-length)" = "$SIZE" ]
}

@test "an upstream's 503 that passes is tried again, and the client gets 200" {
    tag proxy m503ok GET
    [ "$code" = 200 ]
}

@test "a silent registry: 504 within three seconds, and others are served meanwhile" {
    local hung=$BATS_TEST_TMPDIR/hung i
    for i in $(seq 40); do
        curl -s -o /dev/null -w '%{http_code} %{time_total}\n' -H "$ACCEPT_ALL" \
            "http://$VARIANTD/proxy/v2/slow/x$i/manifests/1?ns=$BAD" >"$hung.$i" 3>&- &
    done
    sleep 0.3
    for ((i = 0; i < 20; i++)); do
        ask GET "/proxy/v2/good/x/manifests/$i?ns=$OTHER"
        [ "$code" = 200 ]
    done
    wait
    [ "$(cat "$hung".* | awk '$1 == 504' | wc -l)" = 40 ]
    # the registry's own answer would come after ten seconds or more
    [ "$(cat "$hung".* | awk '$2 > 8' | wc -l)" = 0 ]
}

# start_third: another registry beside the two, and a daemon with empty caches; sets $THIRD
start_third()
{
    start_daemon third "$OCV_BUILD/test/tools/badregistry" --file "$STATE/index.json"
    await third awk 'NR == 3 { found = 1 } END { exit !found }' "$STATE/log/third"
    THIRD=127.0.0.1:$(awk 'NR == 1 { print $1 }' "$STATE/log/third")
    start_variantd several --registry "$BAD=http://$BAD" --registry "$OTHER=http://$OTHER" \
        --registry "$THIRD=http://$THIRD" --profile "$PROFILES/h100.json"
}

# requests_reach WHAT N: until so many have gone upstream
requests_reach()
{
    local _
    for _ in {1..300}; do
        [ "$(metric "variantd_upstream_requests_total{what=\"$1\"}")" -lt "$2" ] || return 0
        sleep 0.05
    done
    metric "variantd_upstream_requests_total{what=\"$1\"}"
    return 1
}

@test "two silent registries leave a third one all that it needs" {
    local i host pid
    start_third
    for host in "$BAD" "$OTHER"; do
        for i in $(seq 40); do
            printf 'url = http://%s/resolver/v2/slow/x%d/manifests/1?ns=%s\noutput = /dev/null\n' "$VARIANTD" "$i" "$host"
        done
    done >"$BATS_TEST_TMPDIR/list"
    curl --silent --parallel --parallel-immediate --parallel-max 100 -H "$ACCEPT_ALL" \
        --config "$BATS_TEST_TMPDIR/list" 3>&- &
    pid=$!
    requests_reach get 64 # that is as many as may wait for the two
    for i in $(seq 20); do
        ask GET "/proxy/v2/good/x/manifests/$i?ns=$THIRD"
        [ "$code" = 200 ]
    done
    wait "$pid"
    stop_daemon several
    stop_daemon third
}

@test "root's questions have places that no other user can take, and some need none" {
    local i pid other=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
    require setpriv
    start_third
    chmod o+x "$STATE"
    "${other[@]}" test -S "$VARIANTD_SOCKET" || skip "another user cannot reach $STATE"
    for i in $(seq 48); do
        printf 'url = http://localhost/v1/resolve?ref=%s/slow/x%d:1\noutput = /dev/null\n' "$BAD" "$i"
    done >"$BATS_TEST_TMPDIR/list"
    "${other[@]}" curl --silent --parallel --parallel-immediate --parallel-max 100 \
        --unix-socket "$VARIANTD_SOCKET" --config - <"$BATS_TEST_TMPDIR/list" 3>&- &
    pid=$!
    requests_reach get 32 # as many as one registry has
    curl=(curl --silent --max-time 20 --unix-socket "$VARIANTD_SOCKET" --output /dev/null --write-out '%{http_code}')
    for i in $(seq 30); do
        [ "$("${curl[@]}" "http://localhost/v1/resolve?ref=$THIRD/good/x:$i")" = 200 ]
        [ "$("${curl[@]}" "http://localhost/v1/resolve?ref=$BAD/good/x:$i")" = 200 ]
    done
    [ "$("${other[@]}" "${curl[@]}" 'http://localhost/v1/verdict?label=a&properties=nvidia::sm_arch::90_real')" = 200 ]
    [ "$("${other[@]}" "${curl[@]}" "http://localhost/v1/resolve?ref=$THIRD/good/x:1")" = 200 ]
    wait "$pid"
    stop_daemon several
    stop_daemon third
}

@test "a broken blob is fetched on where it broke" {
    blob reset
    right_blob
    blob norange
    right_blob
    blob expired
    right_blob
}

@test "a wrong blob never ends: the connection is cut before the last bytes" {
    local mode
    for mode in wrongdigest shortlength badrange odd203 wronglate; do
        blob "$mode"
        [ "$code" = 200 ]
        [ "$(stat -c %s "$body")" -lt "$(header content-length)" ]
    done
    # they are held back from the first moment, not only lost at the end
    [ "$(stat -c %s "$body")" -le $((SIZE - 1024)) ]
    [ "$(metric "variantd_upstream_errors_total{registry=\"$BAD\",kind=\"mismatch\"}")" -ge 1 ]
}

@test "a wrong blob of few bytes or none is no answer at all" {
    local mode
    for mode in empty tiny tinycut; do # "tinycut" answers the question for the rest with 416
        blob "$mode"
        [ "$code" = 502 ]
        [ "$(jq -r '.errors | length' "$body")" = 1 ]
    done
    [ "$(metric "variantd_upstream_errors_total{registry=\"$BAD\",kind=\"mismatch\"}")" -ge 2 ]
    # of one without length the end never comes: a cut, not a whole that is empty
    run -18 --separate-stderr curl --silent --max-time 20 "http://$VARIANTD/proxy/v2/emptylength/x/blobs/$BLOB?ns=$BAD"
    [ -z "$output" ]
}

@test "HTTP/1.0 takes the end of a connection for that of a blob: none without length is given to it" {
    local mode
    for mode in nolength emptylength endless; do
        ask GET "/proxy/v2/$mode/x/blobs/$BLOB?ns=$BAD" --http1.0
        [ "$code" = 502 ]
    done
    ask GET "/proxy/v2/good/x/blobs/$BLOB?ns=$BAD" --http1.0
    right_blob
    blob nolength # HTTP/1.1 knows better
    right_blob
}

@test "a HEAD is answered by a head alone, also where upstream tells no length" {
    local path
    for path in "proxy/v2/lengthless/x/manifests/1" "raw/v2/lengthless/x/manifests/1" \
        "proxy/v2/lengthless/x/blobs/$BLOB" "raw/v2/lengthless/x/blobs/$BLOB" \
        "proxy/v2/lengthless/x/tags/list" "proxy/v2/lengthless/x/manifests/$INDEX"; do
        run -0 raw "HEAD /$path?ns=$BAD HTTP/1.1\r\nHost: localhost\r\n\r\n"
        echo "$path: $output"
        [[ $output == "HTTP/1.1 200 OK"* && ${output,,} != *transfer-encoding* ]]
        [ "$(tr -d '\r' <<<"$output" | sed '1,/^$/d' | wc -c)" = 0 ]
    done
}

@test "a part of a blob that breaks is fetched on where it broke, and only its very rest" {
    local mode
    curl -s -o "$BATS_TEST_TMPDIR/whole" "http://$BAD/v2/good/x/blobs/$BLOB"
    ask GET "/proxy/v2/cut/x/blobs/$BLOB?ns=$BAD" --range 1000-2000999
    [ "$code" = 206 ]
    [ "$(header content-range)" = "bytes 1000-2000999/$SIZE" ]
    cmp "$body" <(tail -c +1001 "$BATS_TEST_TMPDIR/whole" | head -c 2000000)
    for mode in badend badtotal; do
        ask GET "/proxy/v2/$mode/x/blobs/$BLOB?ns=$BAD" --range 1000-2000999
        [ "$code" = 206 ]
        [ "$(stat -c %s "$body")" -lt 2000000 ]
    done
}

@test "a blob without length ends where its manifest says, and is whole where it is right" {
    local manifest
    manifest=$(curl -s "http://$BAD/v2/endless/image/manifests/1" | jq -r '.manifests[0].digest')
    ask GET "/proxy/v2/endless/image/manifests/$manifest?ns=$BAD"
    [ "$code" = 200 ]
    ask GET "/proxy/v2/endless/image/blobs/$BLOB?ns=$BAD"
    [ "$code" = 200 ]
    [ -z "$(header content-length)" ]
    [ "$(stat -c %s "$body")" -lt "$SIZE" ]
    grep -q "exceeds the expected $SIZE bytes" "$STATE/log/variantd"
    ask GET "/proxy/v2/nolength/image/manifests/$manifest?ns=$BAD"
    [ "$code" = 200 ]
    ask GET "/proxy/v2/nolength/image/blobs/$BLOB?ns=$BAD"
    right_blob
    blob nolength # nobody knows its length before
    right_blob
}

@test "a redirect to where it must not go is not followed, nor a token server asked there" {
    local mode
    for mode in redirfar redirfile farrealm; do
        tag proxy "$mode" GET
        [ "$code" = 502 ]
    done
    # for that reason, not since the name leads nowhere
    grep -q 'redirect to plain HTTP at cdn.invalid' "$STATE/log/variantd"
    grep -q 'file:///etc/passwd' "$STATE/log/variantd"
    grep -q 'token server to plain HTTP at auth.invalid' "$STATE/log/variantd"
}

@test "clients that go away leave nothing behind" {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        timeout 0.2 curl -s -o /dev/null --limit-rate 1K "http://$VARIANTD/proxy/v2/endless/x/blobs/$BLOB?ns=$BAD" || true
    done
    for i in $(seq 100); do
        [ "$(outcome client_gone)" -lt 8 ] || break
        sleep 0.1
    done
    [ "$(outcome client_gone)" -ge 8 ]
    blob good
    right_blob
}

# listens PORT: somebody does
listens()
{
    awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, 9) == port { found = 1 } END { exit !found }' /proc/net/tcp
}

# libcurl reads frames of HTTP/2 that bring nothing for as long as they come
@test "a registry that floods does not keep the daemon from its end" {
    local port pid dir=$BATS_TEST_TMPDIR
    require openssl
    make_certificates
    port=$(free_port)
    mkfifo "$dir/in"
    : >"$dir/out"
    for _ in {1..1000}; do printf '\0\0\0\4\0\0\0\0\0'; done >"$dir/some"
    for _ in {1..100}; do cat "$dir/some"; done >"$dir/settings"
    start_daemon flooding bash -c "exec openssl s_server -quiet -max_send_frag 512 -alpn h2 -accept 127.0.0.1:$port \
        -cert '$STATE/server.crt' -key '$STATE/server.key' <'$dir/in' >'$dir/out'"
    # settings without an end, once the request has come
    start_daemon flood bash -c "exec >'$dir/in'; head -c 9 '$dir/settings'
        until [ \"\$(stat -c %s '$dir/out')\" -gt 100 ]; do sleep 0.1; done
        : >'$dir/begun'; while cat '$dir/settings'; do :; done"
    # it takes one connection only, so none to try
    await flooding listens "$port"
    printf 'registries:\n  127.0.0.1:%s: {ca: %s}\n' "$port" "$STATE/ca.pem" >"$dir/flood.yaml"
    start_variantd ending --config "$dir/flood.yaml"
    pid=$(<"$STATE/pids/ending")
    curl -s --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=127.0.0.1:$port/app:1" >/dev/null 3>&- &
    await flood test -e "$dir/begun"
    sleep 1
    kill "$pid"
    for _ in {1..600}; do
        [ -e "/proc/$pid" ] && [ "$(awk '{ print $3 }' "/proc/$pid/stat")" != Z ] || break
        sleep 0.1
    done
    run -0 tail -n 3 "$STATE/log/ending"
    echo "$output"
    [ ! -e "/proc/$pid" ] || [ "$(awk '{ print $3 }' "/proc/$pid/stat")" = Z ]
    wait "$pid"
    rm "$STATE/pids/ending"
    stop_daemon flood
    stop_daemon flooding
}

@test "a Range is for blobs: a document is asked for, and answered, as a whole" {
    curl -s "http://$BAD/log" >/dev/null # told once, then forgotten
    ask GET "/raw/v2/good/x/manifests/$INDEX?ns=$BAD" --header 'Range: bytes=0-9'
    [ "$code" = 200 ]
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$INDEX" ]
    run -0 grep "GET /v2/good/x/manifests/$INDEX" <(curl -s "http://$BAD/log")
    [[ $output != *bytes=* ]]
}
