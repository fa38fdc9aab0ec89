#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Bad days: every one ends with the documented exit code and one clear line, and leaves a layout that
# skopeo can read. test/tools/badregistry.c does what a registry should not.

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo
    start_bad
    export H100=$PROFILES/h100.json
}

# start_bad [INDEX-FILE]: BAD=HOST:PORT
start_bad()
{
    local ports i
    stop_daemon bad
    if [ -n "${1:-}" ]; then
        start_daemon bad "$OCV_BUILD/test/tools/badregistry" --file "$1"
    else
        start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    fi
    for ((i = 0; i < 100; i++)); do
        ports=$(cat "$STATE/log/bad" 2>/dev/null) || true
        [ -z "$ports" ] || break
        sleep 0.05
    done
    ports=${ports%%$'\n'*}
    export BAD=127.0.0.1:${ports%% *} BESIDE=127.0.0.1:${ports##* } # where it redirects to
}

# fails CODE TEXT IMAGE [OPTION...]: exit code, the text in one line of stderr that names the program
fails()
{
    local code=$1 text=$2 image=$3
    shift 3
    run "-$code" --separate-stderr "$VPULL" --print-ref --profile "$H100" "$@" "$image"
    [ -z "$output" ]
    # shellcheck disable=SC2154 # set by run
    # a machine that is busy may have had the time to say that it waits
    [ "$(grep -v ': still resolving after ' <<<"$stderr" | grep -c '^vpull: ')" = 1 ]
    [[ ${stderr,,} == *"${text,,}"* ]] || { echo "$stderr" >&2; return 1; }
}

@test "unknown host" {
    fails 1 "no such host" "no-such-host.invalid/a/b:1"
}

@test "connection refused" {
    fails 1 "connect" "127.0.0.1:$(free_port)/a/b:1"
}

@test "TLS failure: a plain server where TLS is configured" {
    echo "registries: {\"$BAD\": {url: \"https://$BAD\"}}" >"$STATE/tls.yaml"
    fails 1 "" "$BAD/good/x:1" --config "$STATE/tls.yaml"
}
@test "400" {
    fails 1 "400" "$BAD/m400/x:1"
}

@test "401" {
    fails 1 "login" "$BAD/m401/x:1"
}

@test "403" {
    fails 1 "denied" "$BAD/m403/x:1"
}

@test "404" {
    fails 1 "not found" "$BAD/m404/x:1"
}

@test "429 for ever" {
    fails 1 "429" "$BAD/m429long/x:1"
}

@test "429, then well" {
    fails 3 "no variant fits" "$BAD/m429ok/x:1" # its index is empty
}

@test "503, then well" {
    fails 3 "no variant fits" "$BAD/m503ok/x:1" # its index is empty
}

@test "500 for ever" {
    fails 1 "500" "$BAD/m500/x:1"
}

@test "truncated body" {
    fails 1 "" "$BAD/truncated/x:1"
}

@test "wrong digest" {
    fails 4 "digest" "$BAD/wrongdigest/x:1"
}

@test "wrong length" {
    fails 4 "" "$BAD/shortlength/x:1"
}

@test "endless body" {
    fails 4 "4 MiB" "$BAD/endless/x:1"
}

@test "redirect loop" {
    fails 1 "redirect" "$BAD/loop/x:1"
}

@test "redirect to a file" {
    fails 4 "redirect" "$BAD/redirfile/x:1"
}

@test "gzip'd JSON is decoded" {
    fails 3 "no variant fits" "$BAD/gzip/x:1" # its index is empty
}

@test "broken gzip" {
    fails 4 "" "$BAD/badgzip/x:1"
}

@test "index of 5 MiB, announced" {
    fails 4 "4 MiB" "$BAD/bigindex/x:1"
}

@test "index of 5 MiB, unannounced" {
    fails 4 "4 MiB" "$BAD/bigchunked/x:1"
}


@test "a redirect to another host carries no Authorization" {
    curl -sf "http://$BAD/log" >/dev/null
    # another service of this machine is none of the registry's own, unless it is said so
    run -1 --separate-stderr "$VPULL" --print-ref --profile "$H100" --creds-stdin "$BAD/basicredirect/x:1" <<<"u:p"
    [[ $stderr == *"redirect to the loopback host $BESIDE refused"*"name $BESIDE under"* ]]
    curl -sf "http://$BAD/log" >/dev/null
    run --separate-stderr "$VPULL" --print-ref --profile "$H100" --creds-stdin --insecure "$BESIDE" "$BAD/basicredirect/x:1" <<<"u:p"
    run -0 curl -sf "http://$BAD/log"
    [[ $output == *"/v2/basicredirect/"*" Basic "* ]]
    [[ $output == *"/v2/good/manifests/x?signature=secret - "* ]]
}

bad_index()
{
    start_bad "$STATE/index.json"
    fails "$1" "$2" "$BAD/file/x:1"
}

entry()
{
    printf '{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%064x","size":10,"platform":{"os":"linux","architecture":"amd64"}%s}' "$1" "${2:-}"
}

@test "index with 5000 entries" {
    { printf '{"schemaVersion":2,"manifests":['; for i in {1..4999}; do entry "$i"; printf ,; done; entry 5000; printf ']}'; } >"$STATE/index.json"
    bad_index 4 "5000 entries"
}

@test "index with duplicate keys" {
    echo '{"schemaVersion":2,"manifests":[],"manifests":[]}' >"$STATE/index.json"
    bad_index 4 "duplicate"
}

@test "nesting bomb" {
    { printf '{"manifests":'; printf '[%.0s' {1..100000}; } >"$STATE/index.json"
    bad_index 4 "JSON"
}

@test "invalid UTF-8" {
    printf '{"schemaVersion":2,"manifests":[],"annotations":{"a":"\xff\xfe"}}' >"$STATE/index.json"
    bad_index 4 "decode byte 0xff"
}

@test "blob name with a path in it" {
    echo '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:../../../etc/passwd","size":3}]}' >"$STATE/index.json"
    bad_index 4 "digest"
}

@test "negative size" {
    { printf '{"schemaVersion":2,"manifests":['; entry 1 | sed 's/"size":10/"size":-1/'; printf ']}'; } >"$STATE/index.json"
    bad_index 4 "size"
}

@test "label .. is rejected, the rest stands" {
    { printf '{"schemaVersion":2,"manifests":['
        entry 1 ',"annotations":{"dev.ocivariant.label":"..","dev.ocivariant.properties":"x86_64 :: level :: v1"}'
        printf ,; entry 2; printf ']}'; } >"$STATE/index.json"
    start_bad "$STATE/index.json"
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$BAD/file/x:1"
    [ "$output" = "$BAD/file/x@sha256:$(printf %064x 2)" ]
}

@test "a blob that is damaged or cut short on the registry's disk: exit 4, and the layout stays valid" {
    start_registry damaged
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/dam:good" --profile "$PROFILES/mi300x.json" "$REGISTRY/demo/app:1"
    manifest=$(digest_of cuda12.8)
    layer=$(jq -r '.layers[-1].digest' "$STATE/layout/blobs/sha256/${manifest#sha256:}")
    file=$(find "$STATE" -path "*${layer#sha256:}/data")
    printf x | dd of="$file" bs=1 seek=1000 conv=notrunc status=none
    run -4 --separate-stderr "$VPULL" --to "oci:$STATE/dam:x" --progress plain --profile "$H100" "$REGISTRY/demo/app:1"
    [[ $stderr == *"digest"* ]]
    [ ! -e "$STATE/dam/blobs/sha256/${layer#sha256:}" ]
    run ! skopeo inspect "oci:$STATE/dam:x"
    run -0 skopeo inspect "oci:$STATE/dam:good"
    stop_daemon damaged
}

@test "a read-only layout is exit 1 and stays as it was" {
    make_variants "$STATE/layout"
    mkdir -p "$STATE/ro"
    mount -t tmpfs -o size=20m none "$STATE/ro" || skip "cannot mount a tmpfs"
    "$VPULL" -q --to "oci:$STATE/ro/l:one" --profile "$H100" "oci:$STATE/layout:app"
    mount -o remount,ro "$STATE/ro"
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/ro/l:two" --profile "$PROFILES/mi300x.json" "oci:$STATE/layout:app"
    [[ $stderr == *"Read-only file system"* ]]
    run -0 skopeo inspect "oci:$STATE/ro/l:one"
    umount "$STATE/ro"
}

@test "a tag seen before on a failing registry is asked for with one HEAD, then as if it were new" {
    start_bad
    export XDG_CACHE_HOME=$STATE/cache
    tags=$XDG_CACHE_HOME/ocivariant/tags/$("$VPULL" --version | cut -d' ' -f2)
    mkdir -p "$tags"
    name=sha256-$(printf %s "$BAD/m429long/x:1" | sha256sum | cut -d' ' -f1)
    printf 'application/vnd.oci.image.index.v1+json sha256:%s\n{}' \
        "$(printf {} | sha256sum | cut -d' ' -f1)" >"$tags/$name"
    curl -sf "http://$BAD/log" >/dev/null
    fails 1 "429" "$BAD/m429long/x:1"
    run -0 curl -sf "http://$BAD/log"
    [ "$(grep -c "HEAD /v2/m429long/" <<<"$output") $(grep -c "GET /v2/m429long/" <<<"$output")" = "1 1" ]
}

@test "a FIFO in place of docker's configuration is told, not waited for" {
    start_bad
    mkdir -p "$STATE/fifo"
    mkfifo "$STATE/fifo/config.json"
    DOCKER_CONFIG=$STATE/fifo run -1 timeout 60 "$VPULL" --print-ref --profile "$H100" "$BAD/basic/x:1"
    [[ $output == *"cannot read $STATE/fifo/config.json"* ]]
}
