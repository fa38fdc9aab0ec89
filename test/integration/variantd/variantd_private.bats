#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Private content: what the daemon's credentials read leaves as the answer to a tag's HEAD only.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require docker-registry skopeo curl jq htpasswd openssl
    chmod 711 "$STATE" # others reach the daemon's socket
    start_registry tls htpasswd
    make_variants "$STATE/layout"
    for image in app cpu; do
        skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
            --dest-creds user:secret "oci:$STATE/layout:$image" "docker://$REGISTRY/private/$image:1"
    done
    cat >"$STATE/variantd.yaml" <<YAML
registries:
  "$REGISTRY": {ca: $STATE/ca.pem}
YAML
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$REGISTRY" "$(printf user:secret | base64)" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    # the same login in the home of whoever runs the daemon: it is not the daemon's
    cp "$STATE/auth.json" "$DOCKER_CONFIG/config.json"
    start_variantd without --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
    export WITHOUT=$VARIANTD
    start_variantd trusted --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json" \
        --credentials "$STATE/auth.json"
    export TRUSTED=$VARIANTD TRUSTED_SOCKET=$VARIANTD_SOCKET
    start_variantd open --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json" \
        --credentials "$STATE/auth.json" --serve-private true
    export OPEN=$VARIANTD
    export SEGMENT=${REGISTRY/:/--} NS="ns=$REGISTRY"
    CUDA=$(digest_of cuda12.8)
    BLOB=$(curl -sf --cacert "$STATE/ca.pem" -u user:secret -H "$ACCEPT_ALL" \
        "https://$REGISTRY/v2/private/app/manifests/$CUDA" | jq -r '.layers[0].digest')
    export CUDA BLOB
    mkdir "$STATE/client-certs"
    cp "$STATE/client.crt" "$STATE/client-certs/client.cert"
    cp "$STATE/client.key" "$STATE/client-certs/client.key"
}

# 404, no content, nobody is asked for a password
expect_nothing()
{
    [ "$code" = 404 ]
    [ -z "$(header www-authenticate)" ]
    ! grep -q -e sha256 -e "$SEGMENT" "$body"
}

@test "without credentials of its own the daemon says 404 to everything private" {
    VARIANTD=$WITHOUT
    ask HEAD "/v2/private/app/manifests/1?$NS"
    expect_nothing
    ask GET "/v2/$SEGMENT/private/app/manifests/1"
    expect_nothing
    ask GET "/v2/$SEGMENT/private/app/blobs/$BLOB"
    expect_nothing
    ask GET "/v2/$SEGMENT/private/app/tags/list"
    expect_nothing
}

@test "with them a tag's HEAD names the variant, and no GET gives anything" {
    VARIANTD=$TRUSTED
    ask HEAD "/v2/private/app/manifests/1?$NS"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask HEAD "/v2/$SEGMENT/private/app/manifests/1"
    [ "$code" = 200 ]
    local path
    for path in "resolver/v2/private/app/manifests/1?$NS" "proxy/v2/private/app/manifests/1?$NS" \
        "raw/v2/private/app/manifests/1?$NS" "v2/$SEGMENT/private/app/manifests/1" \
        "v2/$SEGMENT/private/app/manifests/$CUDA" "v2/$SEGMENT/private/app/blobs/$BLOB" \
        "v2/$SEGMENT/private/cpu/manifests/1" "v2/$SEGMENT/private/app/tags/list"; do
        ask GET "/$path"
        expect_nothing
    done
    # what a HEAD by digest or of a blob would tell is content, too
    ask HEAD "/v2/$SEGMENT/private/app/manifests/$CUDA"
    expect_nothing
    ask HEAD "/v2/$SEGMENT/private/app/blobs/$BLOB"
    expect_nothing
}

@test "the order of requests makes no difference: what was learnt is kept apart" {
    VARIANTD=$TRUSTED
    for _ in 1 2 3; do
        ask HEAD "/v2/private/app/manifests/1?$NS"
        [ "$code" = 200 ]
        ask GET "/proxy/v2/private/app/manifests/1?$NS"
        expect_nothing
    done
}

@test "a HEAD and a GET that meet are two look-ups: the GET learns nothing from the other" {
    start_registry met htpasswd
    start_gate "${REGISTRY#*:}"
    push_layout "$STATE/layout:app" "$REGISTRY/private/app:1" --dest-creds user:secret
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$GATE" "$(printf user:secret | base64)" >"$STATE/met.json"
    chmod 600 "$STATE/met.json"
    start_variantd meeting --registry "$GATE=http://$GATE" --profile "$PROFILES/h100.json" --credentials "$STATE/met.json"
    local first second url="http://$VARIANTD/proxy/v2/private/app/manifests/1?ns=$GATE"
    hold request HEAD /v2/private/app/manifests/1
    curl -s -I -o /dev/null -w '%{http_code}' -H "$ACCEPT_ALL" "$url" >"$BATS_TEST_TMPDIR/head" 3>&- &
    first=$!
    held
    hold request HEAD /v2/private/app/manifests/1
    curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' -H "$ACCEPT_ALL" "$url" >"$BATS_TEST_TMPDIR/get" 3>&- &
    second=$!
    held # the registry is asked a second time, by nobody
    release
    wait "$first"
    wait "$second"
    [ "$(<"$BATS_TEST_TMPDIR/head")" = 200 ]
    [ "$(<"$BATS_TEST_TMPDIR/get")" = 404 ]
    run ! grep -q sha256 "$BATS_TEST_TMPDIR/body"
    stop_daemon meeting
}

@test "a client's own password is neither used nor passed on nor stored" {
    VARIANTD=$WITHOUT
    ask HEAD "/v2/private/app/manifests/1?$NS" --user user:secret
    expect_nothing
    VARIANTD=$TRUSTED
    ask GET "/v2/$SEGMENT/private/app/manifests/$CUDA" --user user:secret
    expect_nothing
    ask GET "/v2/$SEGMENT/private/app/blobs/$BLOB" --header "Authorization: Bearer abc"
    expect_nothing
}

@test "serve_private: every client gets what the daemon's login can read" {
    VARIANTD=$OPEN
    ask GET "/v2/$SEGMENT/private/app/manifests/1"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask GET "/v2/$SEGMENT/private/app/blobs/$BLOB"
    [ "$code" = 200 ]
}

@test "a client certificate is the daemon's, too" {
    start_registry mutual client-cert
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-cert-dir "$STATE/client-certs" \
        --dest-tls-verify=false "oci:$STATE/layout:app" "docker://$REGISTRY/private/app:1"
    cat >"$STATE/mutual.yaml" <<YAML
registries:
  "$REGISTRY": {ca: $STATE/ca.pem, cert: $STATE/client.crt, key: $STATE/client.key}
YAML
    start_variantd mutual --config "$STATE/mutual.yaml" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/private/app/manifests/1?ns=$REGISTRY"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask GET "/v2/${REGISTRY/:/--}/private/app/manifests/1"
    expect_nothing
    ask GET "/v2/${REGISTRY/:/--}/private/app/blobs/$BLOB"
    expect_nothing
}

@test "a registry whose certificate nobody signed is not used" {
    local port
    port=$(registry_port registry)
    start_variantd strangers --registry "127.0.0.1:$port" --profile "$PROFILES/h100.json" \
        --credentials "$STATE/auth.json"
    ask HEAD "/v2/private/app/manifests/1?ns=127.0.0.1:$port"
    [ "$code" = 502 ]
    grep -q "TLS with 127.0.0.1:$port failed" "$STATE/log/strangers"
}

# resolved USER GROUP [SUPPLEMENTARY]: what the API says to them
resolved()
{
    # shellcheck disable=SC2046 # an option each
    setpriv --reuid "$1" --regid "$2" $([ -n "${3:-}" ] && echo --groups "$3" || echo --clear-groups) \
        curl -s -o "$BATS_TEST_TMPDIR/resolved" -w '%{http_code}' --unix-socket "$VARIANTD_SOCKET" \
        "http://localhost/v1/resolve?ref=$REGISTRY/private/app:1"
}

@test "/v1/resolve with credentials is for root and the group ocivariant" {
    require setpriv unshare
    unshare -m true || skip "no mount namespaces here"
    { grep -v '^ocivariant:' /etc/group && echo 'ocivariant:x:54321:'; } >"$STATE/group"
    # shellcheck disable=SC2016 # expanded when it runs
    printf '#!/bin/sh\nexec unshare -m sh -c '\''mount --bind "$STATE/group" /etc/group && exec "$@"'\'' sh "%s" "$@"\n' \
        "$VARIANTD_BIN" >"$STATE/grouped"
    chmod 755 "$STATE/grouped"
    touch "$BATS_TEST_TMPDIR/resolved"
    chmod 666 "$BATS_TEST_TMPDIR/resolved"
    VARIANTD_BIN=$STATE/grouped start_variantd grouped --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json" \
        --credentials "$STATE/auth.json"
    [ "$(resolved 0 0)" = 200 ]
    [ "$(jq -r .selected.label "$BATS_TEST_TMPDIR/resolved")" = cuda12.8 ]
    [ "$(resolved 65534 54321)" = 200 ]
    [ "$(resolved 65534 65534 65534,54321)" = 200 ]
    [ "$(resolved 65534 65534)" = 404 ]
    [ "$(resolved 65534 65534 54320,54322)" = 404 ]
    # without the administrator's credentials there is nothing for root, either
    VARIANTD_SOCKET=$STATE/without.sock
    [ "$(resolved 0 0)" = 404 ]
    stop_daemon grouped
}

@test "an ordinary user gets 404 for what only the daemon's login can read" {
    require setpriv
    VARIANTD=$TRUSTED
    run setpriv --reuid 65534 --regid 65534 --clear-groups curl -s -o /dev/null -w '%{http_code}' \
        -H "$ACCEPT_ALL" "http://$TRUSTED/v2/$SEGMENT/private/app/manifests/$CUDA"
    [ "$output" = 404 ]
    run setpriv --reuid 65534 --regid 65534 --clear-groups curl -s -o /dev/null -w '%{http_code}' \
        --unix-socket "$TRUSTED_SOCKET" "http://localhost/v1/resolve?ref=$REGISTRY/private/app:1"
    [ "$output" = 404 ]
}
