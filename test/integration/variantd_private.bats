#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What the daemon's credentials can read stays with the daemon: SECURITY.md, "Private content".

load harness
load images
load variantd

setup_file()
{
    state_start
    start_registry registry htpasswd
    make_variants "$STATE/images"
    export CHOSEN NS PRIVATE=$REGISTRY
    auth=$(printf 'user:secret' | base64)
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$auth" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false \
        --dest-authfile "$STATE/auth.json" "oci:$STATE/images:app" "docker://$PRIVATE/app:1" 3>&-
    CHOSEN=$(digest_of cuda12.8)
    NS=${PRIVATE/:/%3A}
    cat >"$STATE/open.yaml" <<YAML
credentials: $STATE/auth.json
serve_private: true
YAML
    cat >"$STATE/closed.yaml" <<YAML
credentials: $STATE/auth.json
YAML
    profile=$PROFILES/h100.json
    start_variantd serving --registry "$PRIVATE" --profile "$profile" --config "$STATE/open.yaml"
    export SERVING=$VARIANTD
    start_variantd nobody --registry "$PRIVATE" --profile "$profile" --config /dev/null
    export NOBODY=$VARIANTD
    start_variantd --registry "$PRIVATE" --profile "$profile" --config "$STATE/closed.yaml"
}

teardown_file()
{
    state_stop
}

@test "a HEAD of a private tag tells the chosen child, and nothing else" {
    ask HEAD "/v2/app/manifests/1?ns=$NS"
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CHOSEN" ]
    [ -n "$(header content-length)" ]
    [ -z "$(header www-authenticate)" ]
}

@test "no GET gives private content, by any way of asking" {
    config=$(curl -s -u user:secret -H "$ACCEPT_ALL" "http://$PRIVATE/v2/app/manifests/$CHOSEN" | jq -r .config.digest)
    for prefix in "" /resolver /proxy /raw; do
        for path in "app/manifests/1" "app/manifests/$CHOSEN" "app/blobs/$config" "app/tags/list" \
            "app/referrers/$CHOSEN"; do
            ask HEAD "/v2/app/manifests/1?ns=$NS" # the daemon has learnt it all by now
            ask GET "$prefix/v2/$path?ns=$NS"
            echo "$prefix $path: $code $(head -c 200 "$body")"
            [ "$code" = 404 ]
            [ -z "$(header www-authenticate)" ]
            ask GET "$prefix/v2/${PRIVATE/:/--}/$path"
            [ "$code" = 404 ]
        done
    done
}

@test "a HEAD by digest, or of a blob, is no way to find out what exists" {
    ask HEAD "/v2/app/manifests/$CHOSEN?ns=$NS"
    [ "$code" = 404 ]
    ask HEAD "/proxy/v2/${PRIVATE/:/--}/app/manifests/$CHOSEN"
    [ "$code" = 404 ]
}

@test "a client's own password is not used" {
    VARIANTD=$NOBODY
    ask HEAD "/v2/app/manifests/1?ns=$NS" --user user:secret
    [ "$code" = 404 ]
    ask GET "/proxy/v2/${PRIVATE/:/--}/app/manifests/1" --user user:secret
    [ "$code" = 404 ]
    run ! grep -q '"auth.user.name":"user"\|user secret' "$STATE/log/nobody"
}

@test "serve_private serves it" {
    VARIANTD=$SERVING
    ask GET "/proxy/v2/${PRIVATE/:/--}/app/manifests/1"
    [ "$code" = 200 ]
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$CHOSEN" ]
    layer=$(jq -r '.layers[0].digest' "$body")
    ask GET "/proxy/v2/${PRIVATE/:/--}/app/blobs/$layer"
    [ "$code" = 200 ]
    [ "sha256:$(sha256sum <"$body" | cut -d' ' -f1)" = "$layer" ]
}

# resolve_as [SETPRIV OPTION...]: HTTP status of /v1/resolve of the private tag
resolve_as()
{
    setpriv "$@" -- curl --silent --max-time 10 --output /dev/null --write-out '%{http_code}' \
        --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/resolve?ref=$PRIVATE/app:1"
}

@test "resolve answers root for a private image, and a stranger as the registry would" {
    [ "$(id -u)" = 0 ] || skip "only root can be somebody else"
    chmod 711 "$STATE"
    [ "$(resolve_as --reuid 0)" = 200 ]
    [ "$(resolve_as --reuid 65534 --regid 65534 --clear-groups)" = 404 ]
}

@test "a file of credentials that others can read is refused" {
    cp "$STATE/auth.json" "$STATE/loose.json"
    chmod 644 "$STATE/loose.json"
    run -2 "$VARIANTD_BIN" --listen 127.0.0.1:0 --socket "$STATE/x.sock" --credentials "$STATE/loose.json"
    [[ $output == *"others may read"* ]]
}

@test "the log and the metrics hold no secret" {
    ask HEAD "/v2/app/manifests/1?ns=$NS" --user someone:hidden-word
    run ! grep -rq 'secret\|hidden-word\|dXNlcjpzZWNyZXQ' "$STATE"/log/variantd
    run ! grep -q 'secret' <(curl -s --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics)
}
