#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a user sees while vpull works: first which engine is asked, then what causes a wait; each
# layer's way into an engine; a terminal that changes its size. Checks words and their order, not
# times.

load ../harness
load ../images
load ../variantd # the gate

setup_file()
{
    state_start
    require docker-registry skopeo
    start_registry
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    mkimage "$STATE/layout" three --layer 40M --layer 30M --layer 1000
    push_layout "$STATE/layout:three" "$REGISTRY/demo/three:1"
    start_gate "${REGISTRY#*:}"
    start_bad
    export H100=$PROFILES/h100.json IMAGE=$REGISTRY/demo/app:1 TERM=xterm
    unset NO_COLOR
}

# BAD=HOST:PORT of test/tools/badregistry.c
start_bad()
{
    start_daemon bad "$OCV_BUILD/test/tools/badregistry"
    await bad grep -q . "$STATE/log/bad"
    BAD=127.0.0.1:$(cut -d' ' -f1 <"$STATE/log/bad" | head -n 1)
    export BAD
}

teardown()
{
    [ ! -e "$STATE/tmux" ] || tmux -S "$STATE/tmux" kill-server 2>/dev/null || true
    release
}

# layers IMAGE: their ids as they are shown
layers()
{
    skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/$1" | jq -r '.layers[].digest[7:19]'
}

# in_order TEXT PART...: the parts stand in the text one after another
in_order()
{
    local text=$1 part
    shift
    for part; do
        [[ $text == *"$part"* ]] || { printf 'no "%s" in (or behind what stands before it):\n%s\n' "$part" "$1" >&2; return 1; }
        text=${text#*"$part"}
    done
}

@test "a registry that never answers: who, how long, which try, and an end" {
    run -1 --separate-stderr "$VPULL" --timeout 1 --to "oci:$STATE/l" --profile "$H100" "$BAD/mute/x:1"
    [ -z "$output" ]
    # shellcheck disable=SC2154 # set by run
    [ "${stderr_lines[0]}" = "$BAD/mute/x:1: resolving" ]
    [[ ${stderr_lines[1]} =~ ^"$BAD is silent for "[0-9]+" s, trying again (2 of 3)"$ ]]
    in_order "$stderr" "trying again (2 of 3)" "trying again (3 of 3)" \
        "vpull: $BAD/mute/x:1: $BAD is too slow or silent: no answer in 1 s, tried 3 times"
}

@test "a token server that never answers is told like a registry" {
    run -1 --separate-stderr "$VPULL" --timeout 1 --to "oci:$STATE/l" --profile "$H100" "$BAD/mutetoken/x:1"
    in_order "$stderr" "mutetoken/x:1: resolving" "$BAD is silent for" "trying again (2 of 3)" \
        "trying again (3 of 3)" "token server $BAD"
}

@test "--retry-times N, and none" {
    run -1 --separate-stderr "$VPULL" --timeout 1 --retry-times 1 --to "oci:$STATE/l" --profile "$H100" "$BAD/mute/x:1"
    in_order "$stderr" "trying again (2 of 2)" "tried 2 times"
    run -1 --separate-stderr "$VPULL" --timeout 1 --retry-times 0 --to "oci:$STATE/l" --profile "$H100" "$BAD/mute/x:1"
    [[ $stderr != *"again"* && $stderr == *"no answer in 1 s"* && $stderr != *"tried"* ]]
    run -2 --separate-stderr "$VPULL" --retry-times many --print-ref "$BAD/mute/x:1"
    [ "${stderr_lines[0]}" = "vpull: invalid value 'many' for --retry-times: a number from 0 to 100" ]
}

@test "an answer that is worth another try is named" {
    run -3 --separate-stderr "$VPULL" --to "oci:$STATE/l" --profile "$H100" "$BAD/m503ok/x:1"
    in_order "$stderr" "m503ok/x:1: resolving" "$BAD answers HTTP 503, trying again (2 of 6)" "no variant fits"
}

@test "a registry that asks to wait: how long, and for how long at most; who may ask more" {
    run -3 --separate-stderr "$VPULL" --to "oci:$STATE/l" --profile "$H100" "$BAD/m429wait/x:1"
    [[ $stderr =~ "$BAD answers HTTP 429 and asks to wait (at most "[0-9]+" s more in all), trying again in 2 s" ]]
    [[ $stderr != *" of 6)"* ]]
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/l" --profile "$H100" "$BAD/m429long/x:1"
    [[ $stderr == *"hint: try again in 3600 seconds; docker login $BAD raises the limit, where it is one of anonymous pulls" ]]
    run -1 --separate-stderr "$VPULL" --retry-times 2 --to "oci:$STATE/l" --profile "$H100" "$BAD/m500/x:1"
    [[ $stderr == *"$BAD answers HTTP 500 after 3 tries: "* ]]
    run -1 --separate-stderr "$VPULL" --retry-times 0 --to "oci:$STATE/l" --profile "$H100" "$BAD/m500/x:1"
    [[ $stderr == *"$BAD answers HTTP 500: "* ]]
}

@test "--quiet and --print-ref print one line on failure, and no retries" {
    local option
    for option in --quiet --print-ref; do
        run -1 --separate-stderr "$VPULL" $option --timeout 1 --retry-times 1 --to "oci:$STATE/l" --profile "$H100" "$BAD/mute/x:1"
        [[ $stderr != *resolving* && $stderr != *again* ]]
        [ "$(grep -c . <<<"$stderr")" = 1 ]
    done
}

@test "explain says that it tries again" {
    run -1 --separate-stderr "$VARIANTCTL" explain --timeout 1 --retry-times 1 --profile "$H100" "$BAD/mute/x:1"
    [[ ${stderr_lines[0]} =~ ^"variantctl: $BAD is silent for "[0-9]+" s, trying again (2 of 2)"$ ]]
}

@test "a registry that speaks plain HTTP is recognised" {
    echo "registries: {\"$BAD\": {url: \"https://$BAD\"}}" >"$STATE/tls.yaml"
    run -1 --separate-stderr "$VPULL" --config "$STATE/tls.yaml" --print-ref --profile "$H100" "$BAD/good/x:1"
    [ "${stderr_lines[0]}" = "vpull: $BAD/good/x:1: $BAD answers in plain HTTP" ]
    [ "${stderr_lines[1]}" = "hint: --insecure $BAD" ]
}

@test "a layer that stalls: so it says, then asks again, then gives up" {
    run -1 --separate-stderr "$VPULL" --timeout 6 --retry-times 1 --to "oci:$STATE/l" --profile "$H100" "$BAD/slow/image/x:1"
    in_order "$stderr" "slow/image/x:1: resolving" "3.00 MB in 1 layer" "1 B of 3.00 MB, stalled " \
        "$BAD has sent nothing more for 6 s, trying again (2 of 2)" "stalled " "nothing more in 6 s, tried 2 times"
}

@test "events on standard output, nothing beside them: --json, -o json, --progress json" {
    local option
    for option in --json "-o json" "--output json" "--progress json"; do
        # shellcheck disable=SC2086 # two words
        run -0 --separate-stderr "$VPULL" $option --to "oci:$STATE/j" --profile "$H100" "$IMAGE"
        [ -z "$stderr" ]
        [[ $(jq -r .event <<<"$output") == resolving$'\n'decision$'\n'layer$'\n'*progress*$'\n'done ]]
    done
    run -1 --separate-stderr "$VPULL" --json --timeout 1 --retry-times 1 --to "oci:$STATE/j" --profile "$H100" "$BAD/mute/x:1"
    [ -z "$stderr" ]
    [ "$(jq -r .event <<<"$output" | paste -sd' ')" = "resolving retry error" ]
    [[ $(jq -r 'select(.event == "retry") | "\(.host) \(.reason) \(.attempt) of \(.attempts)"' <<<"$output") == \
        "$BAD is silent for "*" s 2 of 2" ]]
    run -0 --separate-stderr "$VPULL" --progress text --to "oci:$STATE/j" --profile "$H100" "$IMAGE"
    [[ $output == *"Status: already there,"* ]]
    run -2 --separate-stderr "$VPULL" -o yaml "$IMAGE"
    [ "${stderr_lines[0]}" = "vpull: invalid value 'yaml' for -o: auto, plain or json" ]
}

@test "colours: on a terminal, unless NO_COLOR or TERM says no; --color decides" {
    require script
    local red=$'\e[31m'
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/l" "$BAD/m404/x:1"
    [[ $stderr != *$'\e'* ]]
    run -1 --separate-stderr "$VPULL" --color always --to "oci:$STATE/l" "$BAD/m404/x:1"
    [[ $stderr == *"${red}vpull:"$'\e[0m'" $BAD/m404/x:1: not found"* ]]
    run -1 script -qec "$VPULL --to oci:$STATE/l $BAD/m404/x:1" /dev/null
    [[ $output == *"${red}vpull:"* ]]
    NO_COLOR=1 run -1 script -qec "$VPULL --to oci:$STATE/l $BAD/m404/x:1" /dev/null
    [[ $output != *"$red"* ]]
    NO_COLOR=1 run -1 script -qec "$VPULL --color always --to oci:$STATE/l $BAD/m404/x:1" /dev/null
    [[ $output == *"$red"* ]]
    run -1 script -qec "$VPULL --color never --to oci:$STATE/l $BAD/m404/x:1" /dev/null
    [[ $output != *"$red"* ]]
    TERM=dumb run -1 script -qec "$VPULL --to oci:$STATE/l $BAD/m404/x:1" /dev/null
    [[ $output != *$'\e'* ]]
    run -2 --separate-stderr "$VPULL" --color blue "$IMAGE"
    [ "${stderr_lines[0]}" = "vpull: invalid value 'blue' for --color: auto, always or never" ]
}

@test "containerd: loading and extracting are shown, a layer is not done before" {
    require containerd ctr
    start_containerd
    run -0 --separate-stderr "$VPULL" --to containerd "$REGISTRY/demo/three:1"
    local id
    for id in $(layers demo/three:1); do
        in_order "$stderr" "three:1: resolving" "$id: downloaded, " "loading into containerd" "extracting in containerd"
        [[ $stderr != *"$id: done"* ]]
    done
    ctr images rm "$REGISTRY/demo/three:1"
    run -0 --separate-stderr "$VPULL" --json --to containerd "$REGISTRY/demo/three:1"
    [[ $(jq -r .event <<<"$output" | uniq | paste -sd' ') == *" loading extracting progress done" ]]
    for id in $(layers demo/three:1); do
        [[ $(jq -r --arg id "$id" 'select(.event == "progress" and (.id | contains($id))) | .status' <<<"$output" |
            uniq | paste -sd' ') == *"downloaded done" ]]
    done
}

@test "docker: a layer is downloaded, waits, is extracted, is done" {
    require docker dockerd
    start_dockerd
    run -0 --separate-stderr "$VPULL" --json --to docker "$REGISTRY/demo/three:1"
    local id said
    for id in $(layers demo/three:1); do
        said=$(jq -r --arg id "$id" 'select(.event == "progress" and (.id | contains($id))) | .status' <<<"$output" |
            uniq | paste -sd' ')
        in_order "$said" downloaded extracting "done"
    done
    docker_forget
    run -0 --separate-stderr "$VPULL" --to docker "$REGISTRY/demo/three:1"
    for id in $(layers demo/three:1); do
        in_order "$stderr" "three:1: resolving" "$id: downloaded, " "$id: done, "
    done
}

# shown: the terminal, and what has left it at the top
shown()
{
    tmux -S "$STATE/tmux" capture-pane -p -S - -t vpull
}

# until_shown TEXT
until_shown()
{
    for _ in {1..300}; do
        [[ $(shown) != *"$1"* ]] || return 0
        sleep 0.1
    done
    shown >&2
    return 1
}

@test "a terminal that becomes narrower and wider shows each line once" {
    require tmux
    local size id ids n
    hold bytes 3000000
    ids=$(layers demo/three:1)
    tmux -S "$STATE/tmux" -f /dev/null new-session -d -s vpull -x 100 -y 30 \
        "seq 101 140; exec $VPULL --timeout 600 --to oci:$STATE/tmux-out $GATE/demo/three:1"
    until_shown "stalled"
    for size in 60x20 30x12 120x30 45x10 100x30; do
        tmux -S "$STATE/tmux" resize-window -t vpull -x "${size%x*}" -y "${size#*x}"
        sleep 1 # some redraws
        until_shown "downloading"
        for id in $ids; do
            [ "$(shown | grep -c "^$id: ")" = 1 ] || { shown >&2; return 1; }
        done
        [ "$(shown | grep -c "resolving")" = 0 ]
    done
    n=$(shown | grep -c .)
    [ "$n" = 46 ] || { shown >&2; return 1; } # what stood there, the choice, its size, three layers, their sum
}
