#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Several images in one call: side by side, results in order, one display, one bad image among them.

load ../harness
load ../images
load ../variantd # the gate

setup_file()
{
    local name
    state_start
    require docker-registry skopeo
    start_registry
    for name in a b c; do
        mkimage "$STATE/layout" $name --label build=$name --layer 3M --layer 2M --layer 1M
        push_layout "$STATE/layout:$name" "$REGISTRY/demo/$name:1$name"
    done
    start_gate "${REGISTRY#*:}"
    export H100=$PROFILES/h100.json TERM=xterm
    unset NO_COLOR
}

teardown()
{
    [ ! -e "$STATE/tmux" ] || tmux -S "$STATE/tmux" kill-server 2>/dev/null || true
    release
}

# digest NAME: of the image's manifest
digest()
{
    jq -r --arg name "$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $name) | .digest' \
        "$STATE/layout/index.json"
}

# images HOST: the three
images()
{
    echo "$1/demo/a:1a" "$1/demo/b:1b" "$1/demo/c:1c"
}

# whole LAYOUT TAG...: the tags are there, and all blobs are what their names say
whole()
{
    local blob tag
    for tag in "${@:2}"; do
        skopeo inspect "oci:$1:$tag" >/dev/null || return 1
    done
    for blob in "$1"/blobs/sha256/*; do
        [ "$(sha256sum <"$blob" | cut -d' ' -f1)" = "${blob##*/}" ] || return 1
    done
}

@test "three images: results in the order of the command line" {
    # shellcheck disable=SC2046 # three words
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/three" --profile "$H100" $(images "$REGISTRY")
    [ "$(grep '^Digest: ' <<<"$output")" = "$(printf 'Digest: %s\n' "$(digest a)" "$(digest b)" "$(digest c)")" ]
    whole "$STATE/three" 1a 1b 1c
    # shellcheck disable=SC2046
    run -0 --separate-stderr "$VPULL" -q --to "oci:$STATE/q" --profile "$H100" $(images "$REGISTRY")
    [ "$output" = "$(digest a)"$'\n'"$(digest b)"$'\n'"$(digest c)" ]
    [ -z "$stderr" ]
}

@test "they are on their way at the same time; with --jobs 1 they are not" {
    local i
    hold bytes 600000
    : >"$STATE/side.out"
    # shellcheck disable=SC2046
    "$VPULL" --to "oci:$STATE/side" --profile "$H100" $(images "$GATE") >"$STATE/side.out" 2>&1 &
    # all three are chosen, none is done, and three layers of nine have begun
    for ((i = 0; i < 300; i++)); do
        [ "$(grep -c 'an image without variants' "$STATE/side.out")" -lt 3 ] || break
        sleep 0.1
    done
    for name in a b c; do
        grep -q "demo/$name:1$name: an image without variants" "$STATE/side.out"
    done
    for ((i = 0; i < 300; i++)); do
        [ "$(find "$STATE/side" -name '*.partial' -size +64k | wc -l)" -lt 3 ] || break
        sleep 0.1
    done
    [ "$(find "$STATE/side" -name '*.partial' -size +0 | wc -l)" = 3 ]
    [ "$(grep -c '^Digest' "$STATE/side.out")" = 0 ]
    release
    wait $!
    whole "$STATE/side" 1a 1b 1c

    hold bytes 600000
    # shellcheck disable=SC2046
    "$VPULL" --jobs 1 --to "oci:$STATE/one" --profile "$H100" $(images "$GATE") >"$STATE/one.out" 2>&1 &
    held
    [ "$(grep -c 'an image without variants' "$STATE/one.out")" = 1 ]
    release
    wait $!
    whole "$STATE/one" 1a 1b 1c
}

@test "one is missing: the others are pulled, the exit status is its own, all is said in order" {
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/missing" --profile "$H100" \
        "$REGISTRY/demo/a:1a" "$REGISTRY/demo/none:1" "$REGISTRY/demo/c:1c"
    [ "$(grep '^Digest: ' <<<"$output")" = "Digest: $(digest a)"$'\n'"Digest: $(digest c)" ]
    [ "$(grep -c '^vpull: ' <<<"$stderr")" = 1 ]
    [[ $stderr == *"vpull: $REGISTRY/demo/none:1: not found"* ]]
    whole "$STATE/missing" 1a 1c
    run -2 --separate-stderr "$VPULL" --to "oci:$STATE/missing" --profile "$H100" \
        "$REGISTRY/demo/a:1a" "bad//name" "$REGISTRY/demo/none:1"
    [ "$(grep -c '^vpull: ' <<<"$stderr")" = 2 ]
    [[ $stderr == *"bad//name"*"demo/none:1: not found"* ]]
}

@test "events name their image" {
    # shellcheck disable=SC2046
    run -1 --separate-stderr "$VPULL" --json --to "oci:$STATE/events" --profile "$H100" $(images "$REGISTRY") "$REGISTRY/demo/none:1"
    [ -z "$stderr" ]
    [ "$(jq -r 'select(.image == null)' <<<"$output")" = "" ]
    for name in a b c; do
        [ "$(jq -r --arg i "$REGISTRY/demo/$name:1$name" 'select(.image == $i and .event == "layer") | .event' <<<"$output" | wc -l)" = 3 ]
        [ "$(jq -r --arg i "$REGISTRY/demo/$name:1$name" 'select(.image == $i and .event == "done") | .digest' <<<"$output")" = "$(digest $name)" ]
    done
    [ "$(jq -r 'select(.event == "error") | "\(.image) \(.exit)"' <<<"$output")" = "$REGISTRY/demo/none:1 1" ]
}

@test "Ctrl-C ends all with 130, says so once, and what has arrived is resumed" {
    local code=0
    hold bytes 600000
    # shellcheck disable=SC2046
    "$VPULL" --to "oci:$STATE/int" --profile "$H100" $(images "$GATE") >"$STATE/int.out" 2>"$STATE/int.err" &
    for ((i = 0; i < 300; i++)); do
        [ "$(find "$STATE/int" -name '*.partial' -size +64k 2>/dev/null | wc -l)" -lt 3 ] || break
        sleep 0.1
    done
    kill -INT $!
    wait $! || code=$?
    [ "$code" = 130 ]
    [ ! -s "$STATE/int.out" ]
    [ "$(grep -c interrupted "$STATE/int.err")" = 1 ]
    grep -qx 'hint: run it again to resume: what has arrived is kept' "$STATE/int.err"
    release
    # shellcheck disable=SC2046
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/int" --profile "$H100" $(images "$GATE")
    [ "$(grep -c 'resuming at' <<<"$stderr")" = 3 ]
    whole "$STATE/int" 1a 1b 1c
}

@test "references to one repository ask for one token" {
    start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    await bad grep -q . "$STATE/log/bad"
    BAD=127.0.0.1:$(cut -d' ' -f1 <"$STATE/log/bad" | head -n 1)
    run --separate-stderr "$VPULL" --to "oci:$STATE/token" --profile "$H100" "$BAD/public/x:1" "$BAD/public/x:2" "$BAD/public/x:3"
    echo "$stderr"
    [ "$(curl -s "http://$BAD/log" | grep -c 'GET /token')" = 1 ]
    stop_daemon bad
}

# shown: the terminal, and what has left it at the top
shown()
{
    tmux -S "$STATE/tmux" capture-pane -p -S - -t vpull
}

@test "a terminal shows a line for each image, and the total" {
    require tmux
    local i
    hold bytes 600000
    tmux -S "$STATE/tmux" -f /dev/null new-session -d -s vpull -x 100 -y 30 \
        "$VPULL --timeout 600 --to oci:$STATE/tmux-out $(images "$GATE"); echo ended; exec sleep 60"
    for ((i = 0; i < 300; i++)); do
        [[ $(shown) != *"stalled"* ]] || break
        sleep 0.1
    done
    for name in a b c; do
        [ "$(shown | grep -c "^$GATE/demo/$name:1$name: 0 of 3 layers, .* of 6")" = 1 ] || { shown >&2; return 1; }
    done
    [ "$(shown | grep -c ': downloading ')" = 3 ] || { shown >&2; return 1; }
    [ "$(shown | grep -c '^0 of 9 layers, ')" = 1 ] || { shown >&2; return 1; }
    release
    for ((i = 0; i < 300; i++)); do
        [[ $(shown) != *"ended"* ]] || break
        sleep 0.1
    done
    # each image's line stays, once, and its result comes in order
    for name in a b c; do
        [ "$(shown | grep -c "^$GATE/demo/$name:1$name: 3 of 3 layers")" = 1 ] || { shown >&2; return 1; }
    done
    [ "$(shown | grep '^Digest: ' | cut -c 9-)" = "$(digest a)"$'\n'"$(digest b)"$'\n'"$(digest c)" ]
}

@test "docker: several at once" {
    require docker dockerd
    start_dockerd
    # shellcheck disable=SC2046
    run -0 --separate-stderr "$VPULL" -q --to docker --profile "$H100" $(images "$REGISTRY")
    [ "$output" = "$REGISTRY/demo/a@$(digest a)"$'\n'"$REGISTRY/demo/b@$(digest b)"$'\n'"$REGISTRY/demo/c@$(digest c)" ]
    for name in a b c; do
        docker image inspect "$REGISTRY/demo/$name:1$name" >/dev/null
    done
}
