#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Bad days in the middle of a pull: manifest and config are sound, the layer is not. Every one ends
# with the documented exit code and one clear line; what was in the layout is still there, what
# failed has no name, and skopeo agrees.

load ../harness
load ../images

setup_file()
{
    local ports
    state_start
    require skopeo
    start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    await bad grep -q ' ' "$STATE/log/bad"
    read -r ports <"$STATE/log/bad"
    export BAD=127.0.0.1:${ports%% *} H100=$PROFILES/h100.json
    make_variants "$STATE/source"
    "$VPULL" -q --to "oci:$STATE/layout:sound" --profile "$H100" "oci:$STATE/source:app" >/dev/null
}

layout_is_sound()
{
    local blob
    run -0 skopeo inspect "oci:$STATE/layout:sound"
    run ! skopeo inspect "oci:$STATE/layout:failed"
    for blob in "$STATE"/layout/blobs/sha256/*; do
        [ "$(sha256sum <"$blob" | cut -d' ' -f1)" = "${blob##*/}" ]
    done
}

# fails CODE TEXT MODE [OPTION...]
fails()
{
    local code=$1 text=$2 mode=$3
    shift 3
    run "-$code" --separate-stderr "$VPULL" --to "oci:$STATE/layout:failed" --profile "$H100" "$@" "$BAD/$mode/image/x:1"
    [ -z "$output" ]
    # shellcheck disable=SC2154 # set by run
    [ "$(grep -c '^vpull: ' <<<"$stderr")" = 1 ]
    [[ $stderr == *"vpull: $BAD/$mode/image/x@sha256:"*": "*"$text"* ]] || { echo "$stderr" >&2; return 1; }
    layout_is_sound
}

@test "truncated layer" {
    fails 1 "cut short" truncated
}

@test "layer of another length than announced" {
    fails 4 "announced as 3000000 bytes, sent as 2999995" shortlength
}

@test "layer with a wrong digest" {
    fails 4 "digest" wrongdigest
}

@test "endless layer" {
    fails 4 "exceeds the announced 3000000 bytes" endless
}

@test "slow layer: asked for again where it stopped, then given up" {
    fails 1 "too slow or silent" slow --timeout 1
    run -0 curl -sf "http://$BAD/log"
    [[ $output == *"GET /v2/slow/image/x/blobs/"*"bytes=1-"* ]]
}

@test "slow index: given up" {
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/layout:failed" --timeout 1 --profile "$H100" "$BAD/slow/x:1"
    [ "$(grep -c '^vpull: ' <<<"$stderr")" = 1 ]
    [[ $stderr == *"vpull: $BAD/slow/x:1: "*"too slow or silent: nothing more in 1 s, tried 3 times"* ]]
    layout_is_sound
}

@test "layer behind a redirect loop" {
    fails 1 "redirect" loop
}

@test "layer behind a redirect to a file" {
    fails 4 "redirect" redirfile
}

@test "layer: 401, 403, 404, 429, 500" {
    fails 1 "login" m401
    fails 1 "denied" m403
    fails 1 "not found" m404
    fails 1 "429" m429long
    fails 1 "500" m500
}

@test "a connection that breaks once, or is closed without an answer, is gone on with" {
    local mode
    for mode in reset silent; do
        run -0 --separate-stderr "$VPULL" --to "oci:$STATE/$mode:x" --profile "$H100" "$BAD/$mode/image/x:1"
        run -0 skopeo inspect --raw "oci:$STATE/$mode:x"
    done
    layout_is_sound
}

@test "--timeout takes seconds" {
    for text in 0 x 1s 3601 ''; do
        run -2 --separate-stderr "$VPULL" --print-ref --timeout "$text" "$BAD/good/x:1"
        [[ $stderr == *"invalid value '$text' for --timeout: a number of seconds from 1 to 3600"* ]]
    done
}
