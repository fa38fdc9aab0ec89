#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The CRI proxy: a pinned index is pulled only where it is signed, whatever the pod's credentials, and what it found
# is known to the node's verifier.

load ../harness
load ../images
load ../variantd
load ../cri
load ../trust

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr jq openssl curl
    make_programs "$STATE/layout"
    start_registry
    make_keys team other
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    export INDEX CUDA PINNED
    INDEX=$(index_digest)
    CUDA=$(digest_of cuda12.8)
    PINNED=$REGISTRY/demo/app@$INDEX
    config
    start_variantd --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
    start_cri
}

config()
{
    trust_config "socket: $STATE/variantd.sock
state_dir: $STATE/node
registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\"}}" "$REGISTRY/**" "{keys: [$STATE/keys/${1:-team}.pub]}"
}

setup()
{
    config
    start_proxy
}

teardown()
{
    stop_daemon proxy
}

start_proxy()
{
    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
        --config "$STATE/trust.yaml" --state "$STATE/proxy" --records "$STATE/node/resolved" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
}

proxied()
{
    "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" "$@"
}

@test "a pin that is not signed is refused, also with choose off, and by a digest of another kind" {
    run ! proxied pull "$PINNED"
    [[ $output == *"$REGISTRY/demo/app@$INDEX is not signed"* ]]
    run ! proxied pull "${PINNED/127.0.0.1/127.0.0.1}"
    echo 'choose: off' >>"$STATE/trust.yaml"
    stop_daemon proxy
    start_proxy
    run ! proxied pull "$PINNED"
    [[ $output == *"is not signed"* ]]
    run ! proxied pull "$REGISTRY/demo/app@sha384:$(printf '0%.0s' {1..96})"
    [ "$(cri images | grep -c demo/app)" = 0 ]
}

@test "signed: the build, a record of it, and a verifier that knows the build" {
    sign_bundle team demo/app "$INDEX"
    run -0 proxied pull "$PINNED"
    cri status "$REGISTRY/demo/app@$CUDA"
    [ "$(jq -r .key "$STATE/proxy/trusted/$(record_of "$INDEX" "$REGISTRY/demo/app")")" = "$(key_of team)" ]
    jq -e --arg c "$CUDA" '.members | index($c)' "$STATE/node/resolved/trusted/$(record_of "$INDEX" "$REGISTRY/demo/app")"
    OCIVARIANT_CONFIG=$STATE/trust.yaml run -0 "$VERIFIER" -name "$REGISTRY/demo/app@$CUDA" -digest "$CUDA" </dev/null
    # the registry is gone: what was found is known, and it is the engine that cannot pull
    stop_daemon proxy
    stop_daemon registry
    start_proxy
    run ! proxied pull "$PINNED"
    [[ $output != *"ocivariant:"* && $output == *"connection refused"* ]]
    # by another key it is not
    stop_daemon proxy
    config other
    start_proxy
    run ! proxied pull "$PINNED"
    [[ $output == *"ocivariant: $PINNED: "* ]]
}
