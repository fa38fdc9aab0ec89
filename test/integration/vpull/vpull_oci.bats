#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# vpull from a registry and from layouts into OCI layouts and archives: the decision, the output in
# all its forms, exit codes, and that nothing is ever half there.

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo
    start_registry
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    push_layout "$STATE/layout:cpu" "$REGISTRY/demo/plain:1"
    mkimage "$STATE/layout" big --layer 60000000 --layer 60000001
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:bigapp" "null=oci:$STATE/layout:big" 3>&-
    push_layout "$STATE/layout:bigapp" "$REGISTRY/demo/big:1"
    export REGISTRY IMAGE=$REGISTRY/demo/app:1 OCV_STATE_DIR=$STATE/node H100=$PROFILES/h100.json
}

@test "the chosen manifest, its blobs and its name arrive; skopeo agrees" {
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/a:x" --profile "$H100" "$IMAGE"
    [[ ${lines[0]} == "Digest: $(digest_of cuda12.8)" ]]
    run -0 skopeo inspect "oci:$STATE/a:x"
    [ "$(jq -r .Digest <<<"$output")" = "$(digest_of cuda12.8)" ]
    [ "$(jq -r .Labels.build <<<"$output")" = cuda ]
    run -0 jq -r '.manifests[0].annotations["io.containerd.image.name"]' "$STATE/a/index.json"
    [ "$output" = "$IMAGE" ]
}

@test "two images share blobs in one layout, and a second pull fetches nothing" {
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/b" --profile "$H100" "$IMAGE" "$REGISTRY/demo/plain:1"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/b" --profile "$H100" "$IMAGE"
    [[ $output == *"already there"* ]]
    run -0 skopeo inspect "oci:$STATE/b:1"
}

# blobs_are_whole DIR: each is what its name says
blobs_are_whole()
{
    (cd "$1/blobs/sha256" && sha256sum -- * | awk '$1 != $2 { bad = 1 } END { exit bad }')
}

@test "wrong bytes of the right size are found in a layout and replaced; --verify reads all" {
    local blob when
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/rotten" --profile "$H100" "$IMAGE"
    for blob in "$STATE"/rotten/blobs/sha256/*; do # manifest, config and layers
        printf X | dd of="$blob" bs=1 seek=3 conv=notrunc status=none
    done
    run ! blobs_are_whole "$STATE/rotten"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/rotten" --profile "$H100" "$IMAGE"
    [[ $output != *"already there"* ]]
    blobs_are_whole "$STATE/rotten"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/rotten" --profile "$H100" "$IMAGE"
    [[ $output == *"already there"* ]]
    # as a disk loses it: the file looks as it did
    for blob in "$STATE"/rotten/blobs/sha256/*; do
        when=$(stat -c %y "$blob")
        printf X | dd of="$blob" bs=1 seek=3 conv=notrunc status=none
        touch -d "$when" "$blob"
    done
    run -0 --separate-stderr "$VPULL" --verify --to "oci:$STATE/rotten" --profile "$H100" "$IMAGE"
    blobs_are_whole "$STATE/rotten"
}

@test "from one layout to another without network" {
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/c" --profile "$PROFILES/mi300x.json" "oci:$STATE/layout:app"
    run -0 skopeo inspect "oci:$STATE/c:app"
    [ "$(jq -r .Digest <<<"$output")" = "$(digest_of rocm7.1)" ]
}

@test "docker-archive: a file that other tools read, written whole" {
    run -0 --separate-stderr "$VPULL" --to "docker-archive:$STATE/image.tar" --profile "$H100" "$IMAGE"
    run -0 skopeo inspect "docker-archive:$STATE/image.tar:$IMAGE"
    [ "$(jq -r .Labels.build <<<"$output")" = cuda ]
    run -0 find "$STATE" -maxdepth 1 -name '.vpull*'
    [ -z "$output" ]
    run -1 --separate-stderr "$VPULL" --to "docker-archive:$STATE/no/such/dir/i.tar" --profile "$H100" "$IMAGE"
}

@test "docker-archive: a pipe is written through and stays, a link stays a link" {
    mkfifo "$STATE/pipe"
    tar -tf - <"$STATE/pipe" >"$STATE/listed" 3>&- &
    run -0 --separate-stderr "$VPULL" --to "docker-archive:$STATE/pipe" --profile "$H100" "$IMAGE"
    wait $!
    [ -p "$STATE/pipe" ]
    grep -qx manifest.json "$STATE/listed"
    echo old >"$STATE/real.tar"
    ln -s real.tar "$STATE/link.tar"
    run -0 --separate-stderr "$VPULL" --to "docker-archive:$STATE/link.tar" --profile "$H100" "$IMAGE"
    [ -L "$STATE/link.tar" ]
    tar -tf "$STATE/real.tar" manifest.json
    mkdir "$STATE/directory"
    run -1 --separate-stderr "$VPULL" --to "docker-archive:$STATE/directory" --profile "$H100" "$IMAGE"
    [ -z "$(ls -A "$STATE/directory")" ]
}

@test "--print-ref prints the reference and nothing else, and asks no engine" {
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$IMAGE"
    [ "$output" = "$REGISTRY/demo/app@$(digest_of cuda12.8)" ]
    [ -z "$stderr" ]
}

@test "--quiet prints the digest only" {
    run -0 --separate-stderr "$VPULL" -q --to "oci:$STATE/q" --profile "$H100" "$IMAGE"
    [ "$output" = "$(digest_of cuda12.8)" ]
    [ -z "$stderr" ]
}

@test "--dry-run shows the decision and the bytes, and pulls nothing" {
    run -0 --separate-stderr "$VPULL" --dry-run --to "oci:$STATE/dry" --profile "$H100" "$IMAGE"
    [ "$output" = "$(digest_of cuda12.8)" ]
    [ "${stderr_lines[1]}" = "cuda12.8: CUDA 12.8, sm_90" ]
    run -0 --separate-stderr "$VPULL" -v --dry-run --to "oci:$STATE/dry" --profile "$H100" "$IMAGE"
    [[ $stderr == *"cuda12.8 (matched nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real)"* ]]
    # of several images each line has the name
    run -0 --separate-stderr "$VPULL" --dry-run --to "oci:$STATE/dry" --profile "$H100" "$IMAGE" "$IMAGE"
    [ "$(grep -cxF "$IMAGE: cuda12.8: CUDA 12.8, sm_90" <<<"$stderr")" = 2 ]
    [[ $stderr == *"kB in 2 layers; the default is "* ]]
    [ ! -e "$STATE/dry" ]
}

@test "--progress json: one object a line" {
    run -0 --separate-stderr "$VPULL" --progress json --to "oci:$STATE/j" --profile "$H100" "$IMAGE"
    events=$(jq -r .event <<<"$output")
    [[ $events == resolving*decision*layer*progress*done ]]
    [ -z "$stderr" ]
    [ "$(jq -r 'select(.event == "decision") | .label' <<<"$output")" = cuda12.8 ]
    [ "$(jq -r 'select(.event == "done") | .digest' <<<"$output")" = "$(digest_of cuda12.8)" ]
}

@test "the largest layer is fetched first" {
    mkimage "$STATE/sizes" x --layer 1000 --layer 3M --layer 200000
    push_layout "$STATE/sizes:x" "$REGISTRY/demo/sizes:1"
    run -0 --separate-stderr "$VPULL" --progress plain --jobs 1 --to "oci:$STATE/j1" --profile "$H100" "$REGISTRY/demo/sizes:1"
    [[ $stderr == *"done, 3.1"*"MB"*"done, 20"*"kB"* ]]
}

@test "a terminal shows the layers" {
    require script
    run -0 script -qec "$VPULL --to oci:$STATE/tty --profile $H100 $IMAGE" /dev/null
    [[ $output == *"cuda12.8"*"Digest: "* ]]
}

@test "a pinned index chooses inside; a pinned manifest is pulled, with a warning when it does not fit" {
    index=$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") | .digest' "$STATE/layout/index.json")
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/app@$index"
    [ "$output" = "$REGISTRY/demo/app@$(digest_of cuda12.8)" ]
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/p:rocm" --profile "$PROFILES/mi300x.json" "$IMAGE"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/p:pinned" --tag "$REGISTRY/demo/app:pinned" \
        --profile "$H100" "$REGISTRY/demo/app@$(digest_of rocm7.1)"
    [[ $stderr == *"warning: "*"does not fit this host: needs amd :: gfx_arch :: gfx942"* ]]
    run -0 skopeo inspect "oci:$STATE/p:pinned"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/p:own" --profile "$PROFILES/mi300x.json" "$REGISTRY/demo/app@$(digest_of rocm7.1)"
    [[ $stderr != *warning* ]]
}

@test "what was resolved is recorded on the node" {
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/r" --profile "$H100" "$IMAGE"
    record=$OCV_STATE_DIR/resolved/$(record_of "$(digest_of cuda12.8)" "$REGISTRY/demo/app")
    [ "$(jq -r .label "$record")" = cuda12.8 ]
    [ "$(jq -r .reference "$record")" = "$IMAGE" ]
    [ "$(jq -r .properties "$record")" = "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real" ]
}

@test "--platform and --label" {
    run -0 --separate-stderr "$VPULL" --print-ref --platform linux/arm64 --profile "$H100" "$IMAGE"
    arm=$("$VARIANTCTL" index show --format json "oci:$STATE/layout:app" | jq -r '.manifests[] | select(.platform.architecture == "arm64") | .digest')
    [ "$output" = "$REGISTRY/demo/app@$arm" ]
    run -0 --separate-stderr "$VPULL" --print-ref --label cpu.v3 --profile "$H100" "$IMAGE"
    [ "$output" = "$REGISTRY/demo/app@$(digest_of cpu.v3)" ]
    run -3 --separate-stderr "$VPULL" --print-ref --label rocm7.1 --profile "$H100" "$IMAGE"
    run -0 --separate-stderr "$VPULL" --print-ref --label rocm7.1 --unchecked --profile "$H100" "$IMAGE"
    [ "$output" = "$REGISTRY/demo/app@$(digest_of rocm7.1)" ]
    [[ $stderr == *"was not checked"* ]]
    run -0 "$VPULL" --dry-run --label rocm7.1 --unchecked --profile "$H100" "$IMAGE"
    [[ $output == *"rocm7.1 (not checked)"* ]]
    run -2 "$VPULL" --print-ref --platform linux/amd64/x-cuda12-8 --profile "$H100" "$IMAGE"
    [[ $output == *"--label cuda12.8" ]]
}

@test "several images: all are tried, the first failure's code counts" {
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/s" --profile "$H100" \
        "$REGISTRY/demo/absent:1" "$IMAGE" "not a reference"
    [[ $output == *"$(digest_of cuda12.8)"* ]]
    run -0 skopeo inspect "oci:$STATE/s:1"
}

@test "exit codes: usage 2, nothing fits 3 with the reasons" {
    run -2 --separate-stderr "$VPULL"
    run -2 --separate-stderr "$VPULL" --no-such "$IMAGE"
    run -2 --separate-stderr "$VPULL" --to nowhere "$IMAGE"
    run -2 --separate-stderr "$VPULL" --jobs 0 "$IMAGE"
    run -2 --separate-stderr "$VPULL" --jobs 9 "$IMAGE"
    [[ $stderr == *"from 1 to 8"* ]]
    run -2 --separate-stderr "$VPULL" --print-ref "demo/Upper"
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/layout:gpuonly" "rocm=oci:$STATE/layout:rocm,amd :: gfx_arch :: gfx942" 2>/dev/null
    run -3 --separate-stderr "$VPULL" --to "oci:$STATE/n" --profile "$H100" "oci:$STATE/layout:gpuonly"
    [[ $stderr == *"rocm: needs amd :: gfx_arch :: gfx942; this host has no amd"* ]]
    [[ $stderr == *"hint: every build needs amd; --label rocm --unchecked pulls that build"* ]]
}

@test "an engine's client that closes its output and ignores Ctrl-C does not keep vpull" {
    local bin=$BATS_TEST_TMPDIR/bin code=0 pid i
    mkdir "$bin"
    printf '#!/bin/sh\ntrap "" INT\nexec >"%s/closed" 2>&1\nexec sleep 60\n' "$bin" >"$bin/podman"
    chmod +x "$bin/podman"
    PATH=$bin:$PATH "$VPULL" --to podman --profile "$H100" "$IMAGE" \
        >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    pid=$!
    for ((i = 0; i < 600; i++)); do
        [ ! -e "$bin/closed" ] || break
        kill -0 "$pid" # or it has failed
        sleep 0.05
    done
    kill -INT "$pid"
    wait "$pid" || code=$?
    [ "$code" = 130 ]
}

@test "Ctrl-C leaves nothing named, exits 130, and the next pull resumes" {
    "$VPULL" --to "oci:$STATE/int" --profile "$H100" --jobs 1 "$REGISTRY/demo/big:1" >/dev/null 2>"$STATE/int.err" &
    pid=$!
    until [ -n "$(find "$STATE/int" -name '*partial*' -size +64k 2>/dev/null)" ] || ! kill -0 $pid 2>/dev/null; do :; done
    kill -INT $pid 2>/dev/null || true
    code=0
    wait $pid || code=$?
    [ "$code" = 130 ] || [ "$code" = 0 ]
    if [ "$code" = 130 ]; then
        run ! skopeo inspect "oci:$STATE/int:1"
        grep -qx 'hint: run it again to resume: what has arrived is kept' "$STATE/int.err"
    fi
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/int" --profile "$H100" "$REGISTRY/demo/big:1"
    run -0 skopeo inspect "oci:$STATE/int:1"
}

@test "kill -9 in mid-layer, and again: the layout stays valid and the pull completes" {
    for _ in 1 2 3; do
        "$VPULL" --to "oci:$STATE/kill" --profile "$H100" "$REGISTRY/demo/big:1" >/dev/null 2>&1 &
        pid=$!
        until [ -n "$(find "$STATE/kill" -name '*partial*' -size +64k 2>/dev/null)" ] || ! kill -0 $pid 2>/dev/null; do :; done
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        [ ! -e "$STATE/kill/index.json" ] || jq -e .schemaVersion "$STATE/kill/index.json"
    done
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/kill" --profile "$H100" "$REGISTRY/demo/big:1"
    run -0 skopeo inspect "oci:$STATE/kill:1"
    for blob in "$STATE"/kill/blobs/sha256/*; do
        [ "$(sha256sum <"$blob" | cut -d' ' -f1)" = "${blob##*/}" ]
    done
}

@test "two vpulls on one layout: both succeed, both names are there" {
    "$VPULL" --to "oci:$STATE/two:one" --profile "$H100" "$REGISTRY/demo/big:1" >"$STATE/one.out" 2>&1 &
    one=$!
    "$VPULL" --to "oci:$STATE/two:two" --profile "$H100" "$REGISTRY/demo/big:1" >"$STATE/two.out" 2>&1 &
    two=$!
    wait $one
    wait $two
    run -0 skopeo inspect "oci:$STATE/two:one"
    run -0 skopeo inspect "oci:$STATE/two:two"
}

@test "a full disk is exit 1, one line, and a valid layout" {
    mkdir "$STATE/small"
    mount -t tmpfs -o size=10m none "$STATE/small" || skip "cannot mount a tmpfs"
    run -1 --separate-stderr "$VPULL" --to "oci:$STATE/small/l" --profile "$H100" --progress plain "$REGISTRY/demo/big:1"
    [[ $stderr == *"No space left on device"* ]]
    run ! skopeo inspect "oci:$STATE/small/l:1"
    rm -rf "$STATE/small/l"
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/small/m" --profile "$H100" "$IMAGE"
    run -0 skopeo inspect "oci:$STATE/small/m:1"
    umount "$STATE/small"
}

@test "a TLS registry: refused without its CA, accepted with it, and by certs.d" {
    require openssl
    saved=$REGISTRY
    start_registry secure tls
    skopeo copy --quiet --all --preserve-digests --dest-cert-dir "$STATE" "oci:$STATE/layout:app" "docker://$REGISTRY/demo/app:1" 2>/dev/null ||
        skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false "oci:$STATE/layout:app" "docker://$REGISTRY/demo/app:1"
    run -1 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/app:1"
    [[ $stderr == *certificate* ]]
    run -0 --separate-stderr "$VPULL" --print-ref --cacert "$STATE/ca.pem" --profile "$H100" "$REGISTRY/demo/app:1"
    echo "registries: {\"$REGISTRY\": {ca: $STATE/ca.pem}}" >"$STATE/tls.yaml"
    run -0 --separate-stderr "$VPULL" --print-ref --config "$STATE/tls.yaml" --profile "$H100" "$REGISTRY/demo/app:1"
    run -0 --separate-stderr "$VPULL" --print-ref --insecure "$REGISTRY" --profile "$H100" "$REGISTRY/demo/app:1"
    stop_daemon secure
    REGISTRY=$saved
}

@test "a credential helper sees the environment as it was" {
    require htpasswd
    start_registry guarded htpasswd
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1" --dest-creds user:secret
    mkdir -p "$STATE/helper"
    printf '#!/bin/sh\nenv | sort >%s/seen\n' "$STATE/helper" >"$STATE/helper/docker-credential-seen"
    printf 'echo %s\n' "'{\"Username\":\"user\",\"Secret\":\"secret\"}'" >>"$STATE/helper/docker-credential-seen"
    chmod +x "$STATE/helper/docker-credential-seen"
    echo '{"credsStore": "seen"}' >"$STATE/helper/config.json"
    run -0 env -i HOME="$HOME" PATH="$STATE/helper:$PATH" DOCKER_CONFIG="$STATE/helper" \
        OCV_SOCKET="$OCV_SOCKET" "$VPULL" --print-ref "$REGISTRY/demo/app:1"
    [[ $output == *"$REGISTRY/demo/app@sha256:"* ]]
    run -0 cut -d= -f1 "$STATE/helper/seen"
    run -1 grep -vE '^(HOME|PATH|DOCKER_CONFIG|OCV_SOCKET|PWD|_)$' <<<"$output"
    stop_daemon guarded
}

@test "credentials: refused without, accepted from docker's config and from podman's" {
    require htpasswd
    start_registry private htpasswd
    skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false --dest-creds user:secret "oci:$STATE/layout:app" "docker://$REGISTRY/demo/app:1"
    run -1 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/app:1"
    [[ $stderr == *"hint: "*"login $REGISTRY"* ]]
    auth=$(printf user:secret | base64)
    echo "{\"auths\": {\"$REGISTRY\": {\"auth\": \"$auth\"}}}" >"$STATE/auth.json"
    run -0 --separate-stderr env DOCKER_CONFIG="$STATE/d" "$VPULL" --print-ref --authfile "$STATE/auth.json" --profile "$H100" "$REGISTRY/demo/app:1"
    mkdir -p "$STATE/d"
    cp "$STATE/auth.json" "$STATE/d/config.json"
    run -0 --separate-stderr env DOCKER_CONFIG="$STATE/d" "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/app:1"
    run -0 --separate-stderr env REGISTRY_AUTH_FILE="$STATE/auth.json" "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/app:1"
    stop_daemon private
}

@test "podman goes without TLS to this machine only, not to names that begin like it" {
    mkdir -p "$STATE/fake"
    cat >"$STATE/fake/podman" <<'END'
#!/bin/sh
[ "$1" = pull ] && echo "$*" >>"$LOG"
[ "$1" != image ]
END
    chmod +x "$STATE/fake/podman"
    export LOG=$STATE/fake.log PATH=$STATE/fake:$PATH
    run -0 --separate-stderr "$VPULL" --to podman --profile "$H100" "$REGISTRY/demo/app:1"
    grep -F -- "--tls-verify=false $REGISTRY/demo/app@" "$LOG"
    echo "registries: {\"127.0.0.1.example:5000\": {url: \"http://$REGISTRY\"}}" >"$STATE/likeness.yaml"
    run -0 --separate-stderr "$VPULL" --to podman --config "$STATE/likeness.yaml" --profile "$H100" 127.0.0.1.example:5000/demo/app:1
    grep -x "pull 127.0.0.1.example:5000/demo/app@$(digest_of cuda12.8)" "$LOG"
}

@test "an unchanged tag costs one HEAD, a changed one is fetched" {
    export XDG_CACHE_HOME=$STATE/cache
    push_layout "$STATE/layout:app" "$REGISTRY/demo/moving:1"
    run -0 --separate-stderr "$VPULL" -v --print-ref --profile "$H100" "$REGISTRY/demo/moving:1"
    [[ $stderr == *GET*"/manifests/1"* ]]
    run -0 --separate-stderr "$VPULL" -v --print-ref --profile "$H100" "$REGISTRY/demo/moving:1"
    [ "$output" = "$REGISTRY/demo/moving@$(digest_of cuda12.8)" ]
    [[ $stderr == *HEAD*"/manifests/1"* ]]
    [[ $stderr != *GET*"/manifests/"* ]]
    push_layout "$STATE/layout:cpu" "$REGISTRY/demo/moving:1"
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/moving:1"
    [ "$output" = "$REGISTRY/demo/moving@$(digest_of null)" ]
    # a damaged cache is only a miss
    for file in "$XDG_CACHE_HOME"/ocivariant/tags/*/*; do
        echo garbage >"$file"
    done
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$REGISTRY/demo/moving:1"
    [ "$output" = "$REGISTRY/demo/moving@$(digest_of null)" ]
}

@test "the cache of tags is bounded, and loses what killed runs left" {
    local tags i
    tags=$STATE/cache2/ocivariant/tags/$("$VPULL" --version | cut -d' ' -f2)
    export XDG_CACHE_HOME=$STATE/cache2
    mkdir -p "$tags"
    for ((i = 1; i <= 1001; i++)); do
        : >"$tags/sha256-$i"
    done
    touch -d '2001-01-01' "$tags/sha256-7"
    touch -d '2001-01-02' "$tags/sha256-8"
    touch -d '2 hours ago' "$tags/.tmp-killed"
    touch "$tags/.tmp-atwork" "$tags/somebody-elses"
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$H100" "$IMAGE"
    [ "$(find "$tags" -name 'sha256-*' | wc -l)" = 1000 ]
    [ ! -e "$tags/sha256-7" ]
    [ ! -e "$tags/sha256-8" ]
    [ ! -e "$tags/.tmp-killed" ]
    [ -e "$tags/.tmp-atwork" ]
    [ -e "$tags/somebody-elses" ]
    run -0 --separate-stderr "$VPULL" -v --print-ref --profile "$H100" "$IMAGE"
    [[ $stderr == *"is unchanged"* ]]
}

@test "index create takes images from a registry, and resolve reads one there" {
    push_layout "$STATE/layout:cuda" "$REGISTRY/demo/build:cuda"
    run -0 --separate-stderr "$VARIANTCTL" index create "oci:$STATE/made:1" \
        "null=$REGISTRY/demo/plain:1" "cuda=$REGISTRY/demo/build:cuda,nvidia :: sm_arch :: 90_real"
    push_layout "$STATE/made:1" "$REGISTRY/demo/made:1"
    run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$H100" "$REGISTRY/demo/made:1"
    [ "$(jq -r .selected.label <<<"$output")" = cuda ]
    [ "$(jq -r .selected.digest <<<"$output")" = "$(digest_of cuda12.8)" ]
    run -0 --separate-stderr "$VARIANTCTL" index show "$REGISTRY/demo/made:1"
    [[ $output == *"nvidia :: sm_arch :: 90_real"* ]]
    run -1 --separate-stderr "$VARIANTCTL" resolve --profile "$H100" "$REGISTRY/demo/absent:1"
}
