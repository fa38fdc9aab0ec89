#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What vpull says to somebody who mistyped a name, a tag, an option or a platform.

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo jq
    start_registry
    make_variants "$STATE/layout"
    local tag
    push_layout "$STATE/layout:app" "$REGISTRY/ml/app:1.0"
    for tag in 1.0-cpu 1.0-cuda12.8 0.9 2.0 2.1 2.2 2.3; do
        push_layout "$STATE/layout:cpu" "$REGISTRY/ml/app:$tag"
    done
    push_layout "$STATE/layout:cpu" "$REGISTRY/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"
}

pull()
{
    "$VPULL" --profile "$PROFILES/h100.json" "$@" 3>&-
}

@test "a tag that there is not: those like it, and how many there are" {
    run -1 --separate-stderr pull --print-ref "$REGISTRY/ml/app:1.1"
    [[ $stderr == *"$REGISTRY/ml/app:1.1: not found on $REGISTRY: "*"hint: the repository has no tag '1.1'; it has 1.0, 1.0-cpu, 1.0-cuda12.8, 0.9, 2.0, 2.1 and 2 more"* ]]
    run -1 --separate-stderr pull --print-ref "$REGISTRY/ml/app"
    [[ $stderr == *"the repository has no tag 'latest'; it has 0.9, 1.0"* ]]
    run -1 --separate-stderr pull --print-ref "$REGISTRY/ml/app:1.0-cuda12.9"
    [[ $stderr == *"has no tag '1.0-cuda12.9'; it has 1.0-cuda12.8, 1.0-cpu"* ]]
    run -1 --separate-stderr pull --print-ref "$REGISTRY/ml/app:1.0-cpuu"
    [[ $stderr == *"; did you mean '1.0-cpu'?"* ]]
    run -1 --separate-stderr "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "$REGISTRY/ml/app:1.1"
    [[ $stderr == *"the repository has no tag '1.1'; it has 1.0"* ]]
}

@test "a reader of events that has seen enough" {
    local code=0
    "$VPULL" --profile "$PROFILES/h100.json" --json --to "oci:$BATS_TEST_TMPDIR/out" "$REGISTRY/ml/app:1.0" 2>"$BATS_TEST_TMPDIR/err" 3>&- |
        head -n 1 >/dev/null || code=${PIPESTATUS[0]}
    [ ! -s "$BATS_TEST_TMPDIR/err" ] || { cat "$BATS_TEST_TMPDIR/err" && false; }
    [ "$code" = 0 ] || [ "$code" = 141 ]
}

@test "DOCKER_HOST without docker: said, before it is pulled elsewhere" {
    export DOCKER_HOST=unix:///nope.sock XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
    mkdir "$BATS_TEST_TMPDIR/bin"
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$VPULL" --profile "$PROFILES/h100.json" "$REGISTRY/ml/app:1.0"
    [[ $stderr == *"docker does not answer (DOCKER_HOST=unix:///nope.sock)"*"pulling to oci:$BATS_TEST_TMPDIR/data/"* ]]
}

@test "a repository that does not exist: the hint says so" {
    run -1 --separate-stderr pull --print-ref "$REGISTRY/ml/ap:1.0"
    [[ $stderr == *"hint: there is no repository ml/ap on $REGISTRY"* ]]
}

@test "a mirror of a family that tag rules know: the key that lets them hold there" {
    OCV_DATADIR=$OCV_TOP/plugins run -1 --separate-stderr pull --print-ref "$REGISTRY/pytorch/pytorch:2.8.0"
    [[ $stderr == *"it has 2.8.0-cuda12.8-cudnn9-runtime; "*"if $REGISTRY mirrors docker.io, configure it: registries: {$REGISTRY: {mirror_of: docker.io}}"* ]]
}

@test "--quiet with an engine prints a name that the engine runs" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    podman_trust "$REGISTRY"
    run -0 --separate-stderr pull -q --to podman "$REGISTRY/ml/app:1.0"
    [ "$output" = "$REGISTRY/ml/app@$(digest_of cuda12.8)" ]
    run -0 podman image exists "$output"
    run -0 --separate-stderr pull -q --to "oci:$STATE/quiet" "$REGISTRY/ml/app:1.0"
    [ "$output" = "$(digest_of cuda12.8)" ]
}

@test "--tls-verify false: the value stands behind =" {
    run -2 --separate-stderr pull --print-ref --tls-verify false "$REGISTRY/ml/app:1.0"
    [ "$stderr" = "vpull: --tls-verify false: write --tls-verify=false" ]
}

@test "a platform that the index does not have" {
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:amd" "null=oci:$STATE/layout:cpu" \
        "cuda12.8=oci:$STATE/layout:cuda,nvidia :: cuda_version_lower_bound :: 12.8" >/dev/null 3>&-
    run -3 --separate-stderr pull --print-ref --platform linux/arm64 "oci:$STATE/layout:amd"
    [[ $stderr == "vpull: oci:$STATE/layout:amd: no image for linux/arm64; it has linux/amd64"* ]]
}

@test "registries as a list: how they are written" {
    printf 'registries:\n  - registry.example:5000\n' >"$STATE/list.yaml"
    run -2 --separate-stderr pull --config "$STATE/list.yaml" --print-ref "$REGISTRY/ml/app:1.0"
    [[ $stderr == "vpull: $STATE/list.yaml:1: 'registries' must be a mapping"*"hint: one key for each registry, \`registry.example:5000:\`"* ]]
}

@test "what other programs take for a destination or a format" {
    for to in ./images dir:./images images/app; do
        run -2 --separate-stderr pull --to $to "$REGISTRY/ml/app:1.0"
        [ "${stderr_lines[1]}" = "hint: a directory is an OCI layout: --to oci:${to#dir:}" ]
    done
    run -0 --separate-stderr pull --dry-run --format json "$REGISTRY/ml/app:1.0"
    [ "$(jq -r 'select(.event == "decision").label' <<<"$output")" = cuda12.8 ]
}

@test "credentials without a user or a password are not sent" {
    local words
    for words in bad 'bad\n' 'bad:\n' ':secret\n' '\n' 'user\n\n'; do
        # shellcheck disable=SC2059 # a format
        run -2 --separate-stderr pull --creds-stdin --print-ref "$REGISTRY/ml/app:1.0" < <(printf "$words")
        [ "$stderr" = "vpull: --creds-stdin: expected USER:PASSWORD" ]
    done
}

@test "an image that is there already: the status says where" {
    run -0 --separate-stderr pull --to "oci:$STATE/place:foo" "$REGISTRY/ml/app:1.0"
    [[ $output == *$'\n'"Status: pulled into oci:$STATE/place:foo"* ]]
    run -0 --separate-stderr pull --to "oci:$STATE/place:foo" "$REGISTRY/ml/app:1.0"
    [[ $output == *$'\n'"Status: already there, in oci:$STATE/place:foo"* ]]
}

@test "an image that gets no name in the engine: what gives it one" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    run -0 --separate-stderr pull --to podman "oci:$STATE/layout:app"
    [[ $stderr == *"note: it has no name there: --tag NAME gives it one"* ]]
    run -0 --separate-stderr pull --to podman --tag localhost/named:1 "oci:$STATE/layout:app"
    [[ $stderr != *"no name"* && $output == *$'\n'"localhost/named:1"* ]]
}

@test "a damaged blob: whose copy it is" {
    local blob layer
    layer=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/ml/app@$(digest_of cuda12.8)" | jq -r '.layers[0].digest')
    layer=${layer#sha256:}
    blob=$(find "$STATE" -path "*/blobs/sha256/${layer:0:2}/$layer/data" | head -n 1)
    cp "$blob" "$STATE/kept"
    printf 'X' | dd of="$blob" bs=1 seek=20 conv=notrunc 2>/dev/null
    run -4 --separate-stderr pull --to "oci:$STATE/damaged" "$REGISTRY/ml/app:1.0"
    cp "$STATE/kept" "$blob"
    [[ $stderr == *"the bytes have digest sha256:"*"hint: the content on $REGISTRY/ml/app is damaged: its publisher can push it again"* ]]
}

@test "a full disk: how much the image takes" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    mkdir -p "$STATE/small"
    unshare -m true 2>/dev/null || skip "mount namespaces are not allowed"
    mkimage "$STATE/layout" large --layer 3M
    push_layout "$STATE/layout:large" "$REGISTRY/ml/large:1.0"
    run -1 --separate-stderr unshare -m sh -c "mount -t tmpfs -o size=1m tmpfs '$STATE/small' && exec '$VPULL' \
        --profile '$PROFILES/h100.json' --to 'oci:$STATE/small/x' '$REGISTRY/ml/large:1.0'"
    [[ $stderr == *"No space left on device"*"hint: the image has "*"B to store"* ]]
}

@test "Docker on another machine by ssh: where vpull belongs" {
    DOCKER_HOST=ssh://me@gpu run -1 --separate-stderr pull --to docker "$REGISTRY/ml/app:1.0"
    [[ $stderr == *"engine address 'ssh://me@gpu': only unix:// and tcp://"*"hint: run vpull on that machine, whose devices count: ssh me@gpu vpull ..."* ]]
}

@test "an engine that does not answer: who is waited for; and a long wait of a script" {
    python3 - "$STATE/mute.sock" "$STATE/mute.port" >/dev/null 2>&1 3>&- <<'PYTHON' &
import socket, sys, time
engine = socket.socket(socket.AF_UNIX)
engine.bind(sys.argv[1])
engine.listen(8)
registry = socket.socket()
registry.bind(("127.0.0.1", 0))
registry.listen(8)
with open(sys.argv[2] + ".new", "w") as out:
    print(registry.getsockname()[1], file=out)
import os
os.rename(sys.argv[2] + ".new", sys.argv[2])
time.sleep(60)
PYTHON
    local mute=$!
    for _ in {1..100}; do
        [ ! -e "$STATE/mute.port" ] || break
        sleep 0.1
    done
    run -1 --separate-stderr env DOCKER_HOST="unix://$STATE/mute.sock" XDG_DATA_HOME="$STATE/data" PATH="$OCV_BIN" \
        "$VPULL" --profile "$PROFILES/h100.json" "$REGISTRY/ml/none:1.0"
    [ "${stderr_lines[0]}" = "waiting for docker to answer" ]
    # nothing else is said first, and nothing at all with --quiet
    run -1 --separate-stderr env DOCKER_HOST="unix://$STATE/mute.sock" XDG_DATA_HOME="$STATE/data" PATH="$OCV_BIN" \
        "$VPULL" --quiet --profile "$PROFILES/h100.json" "$REGISTRY/ml/none:1.0"
    [[ $stderr != *waiting* ]]
    run -1 --separate-stderr pull --print-ref --timeout 6 --retry-times 0 "127.0.0.1:$(<"$STATE/mute.port")/x:1"
    [ "${stderr_lines[0]}" = "vpull: 127.0.0.1:$(<"$STATE/mute.port")/x:1: still resolving after 5 s" ]
    kill "$mute"
}
