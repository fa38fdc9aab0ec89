#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# vpull into containerd beyond the first pull: existing content is not fetched again, an interrupted
# pull is resumed, and two parallel pulls do not harm each other.

load ../harness
load ../images
load ../variantd # the gate

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr
    start_registry
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    mkimage "$STATE/layout" big --layer 200M --label build=big
    push_layout "$STATE/layout:big" "$REGISTRY/demo/big:1"
    start_gate "${REGISTRY#*:}"
    export IMAGE=$REGISTRY/demo/app:1 BIG=$GATE/demo/big:1
    export OCV_STATE_DIR=$STATE/state TMPDIR=$STATE/tmp
    mkdir "$TMPDIR"
    start_containerd
}

blob_gets()
{
    grep -c '"GET /v2/demo/app/blobs/' "$STATE/log/registry" || true
}

@test "a second pull fetches nothing, another profile moves the name" {
    local before
    run -0 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/h100.json" "$IMAGE"
    run -0 ctr images check "name==\"$IMAGE\""
    [[ $output == *"$(digest_of cuda12.8)"*"complete (3/3)"*true* ]]
    before=$(blob_gets)
    [ "$before" -gt 0 ]
    run -0 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/h100.json" "$IMAGE"
    [[ $output == *"already there"* ]]
    [ "$(blob_gets)" = "$before" ]
    run -0 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/mi300x.json" "$IMAGE"
    run -0 ctr images ls "name==\"$IMAGE\""
    [[ $output == *"$(digest_of rocm7.1)"* ]]
    [ -z "$(ls "$TMPDIR")" ]
}

@test "a digest alone becomes the name; a layout's image needs --tag" {
    local digest
    digest=$(digest_of cuda12.8)
    run -0 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/h100.json" "${IMAGE%:1}@$digest"
    run -0 ctr images ls -q
    [[ $output == *"${IMAGE%:1}@$digest"* ]]
    run -2 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/h100.json" "oci:$STATE/layout:app"
    # shellcheck disable=SC2154 # set by run
    [[ $stderr == *"--tag"* ]]
    run -0 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/h100.json" \
        --tag localhost/app:x "oci:$STATE/layout:app"
    run -0 ctr images ls -q
    [[ $output == *"localhost/app:x"* ]]
}

# bats test_tags=slow
@test "Ctrl-C exits 130 and names nothing; the next pull resumes and cleans up" {
    local pid partial i code=0
    hold bytes 20000000 # of 200 MB, which a quick machine has in a fraction of a second
    "$VPULL" --to containerd "$BIG" >/dev/null 2>&1 3>&- &
    pid=$!
    held
    for ((i = 0; i < 500; i++)); do
        partial=$(find "$TMPDIR" -path '*/.ocivariant/*' -size +1M | head -n 1)
        [ -z "$partial" ] || break
        sleep 0.01
    done
    [ -n "$partial" ]
    kill -INT "$pid"
    wait "$pid" || code=$?
    release
    [ "$code" = 130 ]
    run -0 ctr images ls -q
    [[ $output != *"$BIG"* ]]
    [ -s "$partial" ]
    run -0 --separate-stderr "$VPULL" --to containerd -v "$BIG"
    grep -Eqx '[0-9a-f]{12}: resuming at [0-9.]+ MB of 210 MB' <<<"$stderr"
    run -0 ctr images ls -q
    [[ $output == *"$BIG"* ]]
    grep -q '"GET /v2/demo/big/blobs/.* 206 ' "$STATE/log/registry"
    [ -z "$(ls "$TMPDIR")" ]
}

# bats test_tags=slow
@test "two pulls of one image into two namespaces" {
    "$VPULL" --to containerd -n one "$BIG" >/dev/null 2>&1 3>&- &
    local pid=$!
    run -0 --separate-stderr "$VPULL" --to containerd -n two "$BIG"
    wait "$pid"
    run -0 ctr -n one images ls -q
    [ "$output" = "$BIG" ]
    run -0 ctr -n two images ls -q
    [ "$output" = "$BIG" ]
    [ -z "$(ls "$TMPDIR")" ]
}

@test "a directory that somebody else prepared is not used, and does not keep anyone from pulling" {
    local digest name
    digest=$(digest_of rocm7.1)
    digest=${digest#sha256:}
    name=$TMPDIR/vpull-$(id -u)-${digest:0:32}
    mkdir "$STATE/elsewhere"
    ln -s "$STATE/elsewhere" "$name"
    run -0 --separate-stderr "$VPULL" --to containerd -n other --profile "$PROFILES/mi300x.json" "$IMAGE"
    [ -z "$(ls "$STATE/elsewhere")" ]
    rm "$name"
    mkdir -m 777 "$name" # like another user's directory, writable for everyone
    run -0 --separate-stderr "$VPULL" --to containerd -n another --profile "$PROFILES/mi300x.json" "$IMAGE"
    [ -z "$(ls "$name")" ]
    rmdir "$name"
    [ -z "$(ls "$TMPDIR")" ]
    run -0 ctr -n another images ls -q
    [ "$output" = "$IMAGE" ]
}

@test "no containerd: exit 1 with a hint, before anything is fetched" {
    CONTAINERD_ADDRESS=$STATE/absent.sock run -1 --separate-stderr "$VPULL" --to containerd "$IMAGE"
    [[ $stderr == *"containerd does not answer"*"hint: "* ]]
    [[ $stderr != *"done, "* ]]
}

@test "nerdctl, where it is there, gets the same archive" {
    # Debian has no nerdctl: a stand-in checks how it is asked and hands over to ctr
    if ! command -v nerdctl >/dev/null; then
        echo "# no nerdctl here: a stand-in takes its place" >&3
        mkdir -p "$STATE/bin"
        cat >"$STATE/bin/nerdctl" <<'SH'
#!/bin/sh
[ "$1 $3 $5" = "--address --namespace load" ] || exit 1
address=$2 namespace=$4
shift 5
[ -p /dev/stdin ] || exit 1 # nerdctl looks whether something is piped in
[ $# = 0 ] || [ "$1 $#" = "--platform 2" ] || exit 1
exec ctr --address "$address" --namespace "$namespace" images import "$@" -
SH
        chmod +x "$STATE/bin/nerdctl"
    fi
    PATH=$PATH:$STATE/bin run -0 --separate-stderr "$VPULL" --to nerdctl -n nerd \
        --profile "$PROFILES/h100.json" "$IMAGE"
    run -0 ctr -n nerd images ls
    [[ $output == *"$IMAGE "*"$(digest_of cuda12.8)"* ]]
    # an image of another platform is left out unless nerdctl is told
    PATH=$PATH:$STATE/bin run -0 --separate-stderr "$VPULL" --to nerdctl -n nerdarm --platform linux/arm64 \
        --profile "$PROFILES/h100.json" "$IMAGE"
    run -0 ctr -n nerdarm images ls
    [[ $output == *"$IMAGE "*linux/arm64* ]]
}
