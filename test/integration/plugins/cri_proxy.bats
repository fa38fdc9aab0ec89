#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The CRI image proxy in front of containerd's CRI plugin, called like by a kubelet: images through
# the proxy, pods and containers from containerd itself.

load ../harness
load ../images
load ../variantd
load ../cri

setup_file()
{
    local profile
    state_start
    require docker-registry skopeo containerd ctr runc jq htpasswd
    make_programs "$STATE/layout"
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 PLAIN_REGISTRY=$REGISTRY
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    start_registry private htpasswd
    export PRIVATE=$REGISTRY
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false --dest-creds user:secret \
        "oci:$STATE/layout:app" "docker://$PRIVATE/demo/app:1"
    PINNED=$PLAIN_REGISTRY/demo/app@$(index_digest)
    export PINNED
    for profile in h100 mi300x; do
        start_variantd "$profile" --profile "$PROFILES/$profile.json"
    done
    start_cri
}

setup()
{
    PROXY_STATE=$BATS_TEST_TMPDIR/state
    [ ! -e "$STATE/cri-of-a-test" ] || restart_cri # it died with that test
    start_proxy h100
}

restart_containerd()
{
    : >"$STATE/cri-of-a-test"
    restart_cri
}

teardown()
{
    stop_daemon proxy
    local image
    for image in $(cri images | cut -d' ' -f1); do
        cri rmi "$image"
    done
}

# start_proxy PROFILE [OPTION...]: with that machine's daemon
start_proxy()
{
    local profile=$1
    shift
    echo "socket: $STATE/$profile.sock" >"$BATS_TEST_TMPDIR/config.yaml"
    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
        --config "$BATS_TEST_TMPDIR/config.yaml" --state "$PROXY_STATE" --records "$BATS_TEST_TMPDIR/records" "$@" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
}

restart_proxy()
{
    stop_daemon proxy
    start_proxy "$@"
}

# set_choose WORD: and tell the proxy
set_choose()
{
    printf 'socket: %s\nrepositories: {"%s/demo/*": {choose: %s}}\n' "$STATE/h100.sock" "$PLAIN_REGISTRY" "$1" \
        >"$BATS_TEST_TMPDIR/config.yaml"
    kill -HUP "$(cat "$STATE/pids/proxy")"
}

proxied()
{
    "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" "$@"
}

# repo_digest REF: what containerd has it under
repo_digest()
{
    cri status "$1" | jq -r '.repo_digests[0]'
}

# private_pull SOCKET PASSWORD
private_pull()
{
    "$OCV_BUILD/test/tools/cri" "$1" PullImage "$(jq -n --arg image "$PRIVATE/demo/app@$(index_digest)" \
        --arg password "$2" '{image: {image: $image}, auth: {username: "user", password: $password}}')"
}

@test "what the configuration requires and nothing of the index gives is refused, not left to the engine" {
    stop_daemon proxy
    start_proxy mi300x
    {
        echo "socket: $STATE/mi300x.sock"
        printf 'policy: enforce\nrepositories: {"%s/demo/app": {require: [nvidia]}}\n' "$PLAIN_REGISTRY"
    } >"$STATE/require.yaml"
    stop_daemon proxy
    start_proxy mi300x --config "$STATE/require.yaml"
    run ! proxied pull "$PINNED"
    [[ $output == *FailedPrecondition*"$PINNED: no entry that fits this node uses nvidia, which is required"* ]]
    run -0 cri images
    [ -z "$output" ]
    # under `warn` it continues
    sed -i 's/^policy: enforce/policy: warn/' "$STATE/require.yaml"
    stop_daemon proxy
    start_proxy mi300x --config "$STATE/require.yaml"
    run -0 proxied pull "$PINNED"
    stop_daemon proxy
}

@test "what the configuration denies is not chosen, and where nothing else fits the engine does not get the index" {
    local id
    id=$(proxied pull "$PINNED")
    [ "$(repo_digest "$id")" = "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)" ]
    printf 'socket: %s\npolicy: enforce\nrepositories: {"%s/demo/app": {deny: ["cuda*"]}}\n' \
        "$STATE/h100.sock" "$PLAIN_REGISTRY" >"$STATE/deny.yaml"
    # a line that is new counts for what was chosen before it, too
    restart_proxy h100 --config "$STATE/deny.yaml"
    id=$(proxied pull "$PINNED")
    [ "$(repo_digest "$id")" = "$PLAIN_REGISTRY/demo/app@$(digest_of cpu.v3)" ]
    sed -i 's/"cuda\*"/"*"/' "$STATE/deny.yaml"
    restart_proxy h100 --config "$STATE/deny.yaml"
    run ! proxied pull "$PINNED"
    [[ $output == *FailedPrecondition*"$PINNED: nothing fits this node but what deny has ('*', $STATE/deny.yaml:3)"* ]]
    # what is denied uses what is required
    sed -i 's/"\*"\]/"cuda*"], require: [nvidia]/' "$STATE/deny.yaml"
    restart_proxy h100 --config "$STATE/deny.yaml"
    run ! proxied pull "$PINNED"
    [[ $output == *"nothing fits this node but what deny has ('cuda*', $STATE/deny.yaml:3)"* ]]
    # what does not fit anyway is not kept away by deny
    sed -i 's/"cuda\*"\]/"rocm*"]/; s/\[nvidia\]/[amd]/' "$STATE/deny.yaml"
    restart_proxy h100 --config "$STATE/deny.yaml"
    run ! proxied pull "$PINNED"
    [[ $output == *"no entry that fits this node uses amd, which is required"* ]]
}

@test "a pinned index becomes the image that fits: pull, status, list, run, remove" {
    local id
    run -0 proxied status "$PINNED"
    [ "$output" = null ]
    id=$(proxied pull "$PINNED")
    [ "$(repo_digest "$id")" = "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)" ]
    run -0 proxied status "$PINNED"
    [ "$(jq -r .id <<<"$output")" = "$id" ]
    run -0 proxied images
    [[ $output == "$id "*"@$(digest_of cuda12.8)" ]]
    [ "$output" = "$(cri images)" ]
    run -0 cri run "$id"
    [ "$output" = "this is cuda12.8" ]
    proxied rmi "$PINNED"
    run -0 cri images
    [[ $output != *demo/app* ]]
    run -0 proxied status "$PINNED"
    [ "$output" = null ]
}

@test "what was pulled is found after a restart of the proxy, of containerd, and of both" {
    local id
    id=$(proxied pull "$PINNED")
    restart_proxy h100
    [ "$(proxied status "$PINNED" | jq -r .id)" = "$id" ]
    restart_containerd # this also ends the proxy's connection
    [ "$(proxied status "$PINNED" | jq -r .id)" = "$id" ]
    stop_daemon proxy
    restart_containerd
    start_proxy h100
    [ "$(proxied status "$PINNED" | jq -r .id)" = "$id" ]
    # a lost map does no harm: unknown references are passed on unchanged, and pulled again
    stop_daemon proxy
    rm -r "$PROXY_STATE"
    start_proxy h100
    [ "$(proxied status "$PINNED")" = null ]
    [ "$(proxied pull "$PINNED")" = "$id" ]
    proxied rmi "$PINNED"
    [[ $(cri images) != *demo/app* ]]
}

@test "a garbage collector removes by the id that it was shown" {
    local id
    id=$(proxied pull "$PINNED")
    [[ $(proxied images) == *"$id"* ]]
    proxied rmi "$id"
    [[ $(cri images) != *demo/app* ]]
    [ "$(proxied status "$PINNED")" = null ]
}

@test "tags, ordinary images, pinned children and ids are as without the proxy" {
    local image through direct
    for image in "$PLAIN_REGISTRY/demo/plain:1" "$PLAIN_REGISTRY/demo/app:1" \
        "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)" "$PLAIN_REGISTRY/demo/plain@$(digest_of cpu.v3)"; do
        through=$(proxied pull "$image")
        [ "$(proxied status "$image")" = "$(cri status "$image")" ]
        [ "$(proxied status "$through")" = "$(cri status "$image")" ]
        proxied rmi "$image"
        direct=$(cri pull "$image")
        cri rmi "$image"
        [ "$through" = "$direct" ]
    done
    [ "$(sqlite3 "$PROXY_STATE/state.db" "SELECT count(*) FROM pinned")" = 0 ]
    # and what cannot be had says the same
    run ! proxied pull "$PLAIN_REGISTRY/demo/app@sha256:$(printf '0%.0s' {1..64})"
    through=$output
    run ! cri pull "$PLAIN_REGISTRY/demo/app@sha256:$(printf '0%.0s' {1..64})"
    [ "$output" = "$through" ]
    run ! proxied pull "no such/reference"
    through=$output
    run ! cri pull "no such/reference"
    [ "$output" = "$through" ]
}

@test "a tag beside the digest does not matter" {
    proxied pull "$PLAIN_REGISTRY/demo/app:1@$(index_digest)"
    [ "$(repo_digest "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)")" = "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)" ]
    [ "$(proxied status "$PINNED" | jq -r .id)" = "$(proxied status "$PLAIN_REGISTRY/demo/app:other@$(index_digest)" | jq -r .id)" ]
}

@test "a pinned index of indexes: the child of this node, asked for again when the node has changed" {
    local pinned
    pinned=$PLAIN_REGISTRY/demo/app@$(push_nested "$PLAIN_REGISTRY/demo/app" "$(index_digest)")
    proxied pull "$pinned"
    [ "$(repo_digest "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)")" = "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)" ]
    [ "$(proxied status "$pinned" | jq -r .id)" = "$(proxied pull "$pinned")" ]
    restart_proxy mi300x
    proxied pull "$pinned"
    [ "$(repo_digest "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)")" = "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)" ]
}

@test "a private index is read with the credentials of its own request" {
    local ref
    ref=$PRIVATE/demo/app@$(index_digest)
    # the daemon's own credentials, which must not be used
    mkdir -p "$HOME/.docker"
    jq -n --arg host "$PRIVATE" '{auths: {($host): {auth: ("user:secret" | @base64)}}}' | tee "$HOME/.docker/config.json" >"$DOCKER_CONFIG/config.json"
    run ! proxied pull "$ref"
    run ! private_pull "$STATE/proxy.sock" wrong
    [ "$(sqlite3 "$PROXY_STATE/state.db" "SELECT count(*) FROM pinned")" = 0 ]
    run -0 private_pull "$STATE/proxy.sock" secret
    [ "$(repo_digest "$(jq -r .image_ref <<<"$output")")" = "$PRIVATE/demo/app@$(digest_of cuda12.8)" ]
    # nor those of another request, once it is known
    run ! proxied pull "$ref"
    run ! private_pull "$STATE/proxy.sock" wrong
    run -0 private_pull "$STATE/proxy.sock" secret
    # what they read is not everybody's to know, nor what is decided by it when the node changes
    hidden=("$BATS_TEST_TMPDIR/records/indexes/$(record_of "$(index_digest)" "$PRIVATE/demo/app")" "$BATS_TEST_TMPDIR/records/$(record_of "$(digest_of cuda12.8)" "$PRIVATE/demo/app")")
    [ "$(stat -c %a "${hidden[0]}")" = 640 ]
    [ "$(jq .secret "${hidden[1]}")" = true ]
    restart_proxy mi300x
    await proxy grep -q 'the node has changed' "$STATE/log/proxy"
    await proxy test -e "$BATS_TEST_TMPDIR/records/$(record_of "$(digest_of rocm7.1)" "$PRIVATE/demo/app")"
    [ "$(stat -c %a "${hidden[0]}")" = 640 ]
    [ "$(jq .secret "$BATS_TEST_TMPDIR/records/$(record_of "$(digest_of rocm7.1)" "$PRIVATE/demo/app")")" = true ]
    rm "$HOME/.docker/config.json"
    echo '{}' >"$DOCKER_CONFIG/config.json"
}

# token_pull MODE AUTH: a pinned index without variants of test/tools/badregistry.c; what the proxy
# said of it
token_pull()
{
    local index
    index=$BAD/$1/app@$(awk 'NR == 2 { print $1 }' "$STATE/log/bad")
    "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" PullImage \
        "$(jq -n --arg image "$index" --argjson auth "$2" '{image: {image: $image}, auth: $auth}')" >/dev/null 2>&1 || true
    grep -F "$index" "$STATE/log/proxy" | tail -n 1
}

@test "tokens of a request are shown to its registry, and no others" {
    start_badregistry
    [[ $(token_pull oauth '{"identity_token": "another"}') == *"passes unchanged: "* ]]
    [[ $(token_pull oauth '{"identity_token": "identity+token"}') == *"has no variants" ]]
    [[ $(token_pull private '{"registry_token": "another"}') == *"passes unchanged: "* ]]
    [[ $(token_pull private '{}') == *"passes unchanged: "* ]]
    [[ $(token_pull private '{"registry_token": "u-given"}') == *"has no variants" ]]
    stop_daemon bad
}

# asked NAME: how often the proxy has asked that registry
asked()
{
    grep -c 'useragent="\?ocivariant-cri-proxy' "$STATE/log/$1" || true
}

@test "a pinned index that is known is pulled again without a request of ours" {
    local id before
    id=$(proxied pull "$PINNED")
    before=$(asked registry)
    [ "$before" -gt 0 ]
    proxied rmi "$PINNED"
    [ "$(proxied pull "$PINNED")" = "$id" ]
    [ "$(proxied pull "$PLAIN_REGISTRY/demo/app:tag@$(index_digest)")" = "$id" ]
    [ "$(asked registry)" = "$before" ]
    grep -q "$PINNED -> $(digest_of cuda12.8), as before" "$STATE/log/proxy"
    [ "$(proxied status "$PINNED" | jq -r .id)" = "$id" ]
    # nor what has no variants, of which a digest stays what it is
    proxied pull "$PLAIN_REGISTRY/demo/plain@$(digest_of cpu.v3)"
    before=$(asked registry)
    proxied pull "$PLAIN_REGISTRY/demo/plain@$(digest_of cpu.v3)"
    [ "$(asked registry)" = "$before" ]
    # another repository is another question
    push_layout "$STATE/layout:app" "$PLAIN_REGISTRY/demo/other:1"
    proxied pull "$PLAIN_REGISTRY/demo/other@$(index_digest)"
    [ "$(asked registry)" -gt "$before" ]
}

@test "a pull that failed is looked at again, and credentials are the engine's to check" {
    local before
    run -0 private_pull "$STATE/proxy.sock" secret
    before=$(asked private)
    run ! private_pull "$STATE/proxy.sock" wrong # no word of ours: containerd is refused
    [ "$(asked private)" = "$before" ]
    run -0 private_pull "$STATE/proxy.sock" secret
    [ "$(asked private)" -gt "$before" ]
    before=$(asked private)
    run -0 private_pull "$STATE/proxy.sock" secret
    [ "$(asked private)" = "$before" ]
}

@test "a node that has changed is asked at the very next pull" {
    local cuda
    cp "$PROFILES/h100.json" "$STATE/changing.json"
    start_variantd changing --profile "$STATE/changing.json"
    restart_proxy changing
    cuda=$(proxied pull "$PINNED")
    cp "$PROFILES/mi300x.json" "$STATE/changing.json"
    kill -HUP "$(cat "$STATE/pids/changing")"
    await changing grep -q 'profile changed' "$STATE/log/changing"
    [ "$(proxied pull "$PINNED")" != "$cuda" ]
    [ "$(repo_digest "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)")" = "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)" ]
    stop_daemon proxy
    stop_daemon changing
}

@test "choose: shadow pulls the pin itself and says what it would be; off does not look; a reload is enough" {
    local cuda asked
    cuda=$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.8)
    [ "$(repo_digest "$(proxied pull "$PINNED")")" = "$cuda" ]
    cri rmi "$cuda"
    set_choose shadow
    [ "$(repo_digest "$(proxied pull "$PINNED")")" = "$PINNED" ]
    grep -qF "$PINNED shadow: would be pulled as $(digest_of cuda12.8) (cuda12.8)" "$STATE/log/proxy"
    [ "$(proxied status "$PINNED" | jq -r '.repo_digests[0]')" = "$PINNED" ] # whatever it was before
    proxied rmi "$PINNED"
    [ -z "$(cri images)" ]
    set_choose off
    asked=$(grep -c 'would be pulled' "$STATE/log/proxy")
    [ "$(repo_digest "$(proxied pull "$PINNED")")" = "$PINNED" ]
    [ "$(grep -c 'would be pulled' "$STATE/log/proxy")" = "$asked" ]
    cri rmi "$PINNED"
    set_choose on
    [ "$(repo_digest "$(proxied pull "$PINNED")")" = "$cuda" ]
    # a file that cannot be read changes nothing
    echo 'choose: [' >>"$BATS_TEST_TMPDIR/config.yaml"
    kill -HUP "$(cat "$STATE/pids/proxy")"
    [ "$(proxied status "$PINNED" | jq -r '.repo_digests[0]')" = "$cuda" ]
    grep -q 'keeping the old configuration: ' "$STATE/log/proxy"
}

@test "credentials for another server are not sent" {
    local ref
    ref=$PRIVATE/demo/app@$(index_digest)
    run ! proxied PullImage "$(jq -n --arg image "$ref" \
        '{image: {image: $image}, auth: {username: "user", password: "secret", server_address: "https://other.example"}}')"
    [ "$(sqlite3 "$PROXY_STATE/state.db" "SELECT count(*) FROM pinned")" = 0 ]
    run -0 proxied PullImage "$(jq -n --arg image "$ref" --arg host "http://$PRIVATE" \
        '{image: {image: $image}, auth: {auth: ("user:secret" | @base64), server_address: $host}}')"
    [ "$(repo_digest "$(jq -r .image_ref <<<"$output")")" = "$PRIVATE/demo/app@$(digest_of cuda12.8)" ]
}

@test "if the resolver cannot decide, the index itself is pulled" {
    stop_daemon proxy
    echo "socket: $STATE/nobody.sock" >"$STATE/none.yaml"
    start_proxy h100 --config "$STATE/none.yaml"
    run -0 proxied pull "$PINNED"
    [ "$(repo_digest "$output")" = "$PINNED" ]
    [ "$(sqlite3 "$PROXY_STATE/state.db" "SELECT count(*) FROM pinned")" = 0 ]
    grep -q "$PINNED passes unchanged: no profile of this node" "$STATE/log/proxy"
}

@test "a pin that had an image, without a resolver: that image; refused where fail is closed" {
    local first
    first=$(proxied pull "$PINNED")
    stop_daemon proxy
    cri rmi "$first"
    echo "socket: $STATE/nobody.sock" >"$STATE/none.yaml"
    start_proxy h100 --config "$STATE/none.yaml"
    run -0 proxied pull "$PINNED"
    [ "$output" = "$first" ]
    grep -q "$PINNED -> $(digest_of cuda12.8), as before: no profile of this node" "$STATE/log/proxy"
    cri rmi "$first"
    echo 'fail: closed' >>"$STATE/none.yaml"
    kill -HUP "$(cat "$STATE/pids/proxy")"
    await proxy grep -q 'configuration read again' "$STATE/log/proxy"
    run ! proxied pull "$PINNED"
    [[ $output == *"no profile of this node"* ]]
    [ "$(cri images | grep -c demo/app)" = 0 ]
}

@test "override and disable of the configuration count, after a reload too" {
    stop_daemon proxy
    printf 'socket: %s\noverride: {nvidia: {cuda_version_lower_bound: ["12.6"]}}\n' "$STATE/h100.sock" >"$BATS_TEST_TMPDIR/config.yaml"
    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
        --config "$BATS_TEST_TMPDIR/config.yaml" --state "$PROXY_STATE" --records "$BATS_TEST_TMPDIR/records" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
    run -0 proxied pull "$PINNED"
    [ "$(repo_digest "$output")" = "$PLAIN_REGISTRY/demo/app@$(digest_of cuda12.6)" ]
    printf 'socket: %s\ndisable: [nvidia]\n' "$STATE/h100.sock" >"$BATS_TEST_TMPDIR/config.yaml"
    kill -HUP "$(cat "$STATE/pids/proxy")"
    await proxy grep -q "the node has changed: $PINNED -> $(digest_of cpu.v3)" "$STATE/log/proxy"
}

@test "nothing that fits: the index itself is pulled, and the reason said" {
    local layout=$STATE/only
    mkimage "$layout" rocm --file etc/build=rocm --label build=rocm
    "$VARIANTCTL" index create --quiet --no-lint "oci:$layout:app" "rocm7.1=oci:$layout:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    push_layout "$layout:app" "$PLAIN_REGISTRY/demo/only:1"
    only=$(skopeo inspect --raw --tls-verify=false "docker://$PLAIN_REGISTRY/demo/only:1" | sha256sum)
    only=$PLAIN_REGISTRY/demo/only@sha256:${only%% *}
    run cri pull "$only"
    direct="$status $output"
    [ "$status" != 0 ] || cri rmi "$only"
    run proxied pull "$only"
    [ "$status $output" = "$direct" ]
    [ "$(sqlite3 "$PROXY_STATE/state.db" "SELECT count(*) FROM pinned")" = 0 ]
    grep -q "passes unchanged: no entry fits this node" "$STATE/log/proxy"
}

@test "when the node changes, the same reference is another image" {
    local cuda rocm
    cuda=$(proxied pull "$PINNED")
    restart_proxy mi300x
    for _ in {1..200}; do
        grep -q 'the node has changed' "$STATE/log/proxy" && break
        sleep 0.05
    done
    [ "$(proxied status "$PINNED")" = null ] # so the kubelet pulls
    rocm=$(proxied pull "$PINNED")
    [ "$rocm" != "$cuda" ]
    [ "$(repo_digest "$rocm")" = "$PLAIN_REGISTRY/demo/app@$(digest_of rocm7.1)" ]
    [ "$(proxied status "$PINNED" | jq -r .id)" = "$rocm" ]
}

@test "what was chosen is recorded for the hooks" {
    proxied pull "$PINNED"
    run -0 jq -r '"\(.label) \(.index) \(.reference)"' "$BATS_TEST_TMPDIR"/records/*.json
    [ "$output" = "cuda12.8 $(index_digest) $PINNED" ]
}

@test "and below state_dir of the configuration, where --records names no directory" {
    stop_daemon proxy
    printf 'socket: %s\nstate_dir: %s\n' "$STATE/h100.sock" "$BATS_TEST_TMPDIR/kept" >"$BATS_TEST_TMPDIR/config.yaml"
    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
        --config "$BATS_TEST_TMPDIR/config.yaml" --state "$PROXY_STATE" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
    proxied pull "$PINNED"
    run -0 jq -r '"\(.label) \(.index)"' "$BATS_TEST_TMPDIR"/kept/resolved/*.json
    [ "$output" = "cuda12.8 $(index_digest)" ]
}

@test "calls of every service go through, known or not" {
    local call
    for call in Version Status ListPodSandbox ListContainers ListImages ImageFsInfo; do
        "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" "$call" >/dev/null
    done
    curl -s --http2-prior-knowledge --unix-socket "$STATE/proxy.sock" -H 'Content-Type: application/grpc' \
        -H 'TE: trailers' --data-binary $'' -D - -o /dev/null http://localhost/no.such.Service/Method >"$BATS_TEST_TMPDIR/through"
    curl -s --http2-prior-knowledge --unix-socket "$STATE/cri.sock" -H 'Content-Type: application/grpc' \
        -H 'TE: trailers' --data-binary $'' -D - -o /dev/null http://localhost/no.such.Service/Method >"$BATS_TEST_TMPDIR/direct"
    grep -q 'grpc-status: 12' "$BATS_TEST_TMPDIR/direct"
    diff "$BATS_TEST_TMPDIR/direct" "$BATS_TEST_TMPDIR/through"
}

@test "without the engine a call says so, and works again when it is back" {
    proxied images
    stop_daemon cri
    run ! proxied images
    [[ $output == *Unavailable*"cannot be reached"* ]]
    restart_containerd
    proxied images
}

@test "the socket is root's alone, and a second proxy does not take it" {
    [ "$(stat -c %a "$STATE/proxy.sock")" = 600 ]
    run ! "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" --state "$PROXY_STATE"
    [[ $output == *"address already in use"* ]]
    proxied images
    stop_daemon proxy
    [ ! -e "$STATE/proxy.sock" ]
    start_proxy h100
}
