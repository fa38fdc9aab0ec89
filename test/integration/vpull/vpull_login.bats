#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What `podman login`, `skopeo login` and `docker login` were told, wherever they keep it; and what a user
# is told who has not logged in.

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo jq htpasswd openssl
    make_variants "$STATE/layout"
    start_private "$STATE/layout" app
    chmod 711 "$STATE"
    ORDINARY=4242
    export ORDINARY
    mkdir -p "$STATE/ordinary/tmp"
    chown -R "$ORDINARY" "$STATE/ordinary" || true
}

# as cron, su and containers have it: no XDG_RUNTIME_DIR
bare()
{
    env -u XDG_RUNTIME_DIR -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u DOCKER_CONFIG "$@"
}

# a mount namespace with empty /run/containers and /tmp/podman-run-*
root_alone()
{
    bare unshare --mount sh -c 'mkdir -p /run/containers && mount -t tmpfs none /run/containers && exec "$@"' sh "$@"
}

ordinary()
{
    cd "$STATE/ordinary" || return
    HOME=$STATE/ordinary TMPDIR=$STATE/ordinary/tmp bare setpriv --reuid "$ORDINARY" --regid "$ORDINARY" --clear-groups "$@"
}

# shellcheck disable=SC2016 # the shell that runs it expands it
VPULL_THERE='"$VPULL" --print-ref --profile "$PROFILES/h100.json" "$PRIVATE/demo/app:1"'

@test "root: skopeo login and podman login without XDG_RUNTIME_DIR" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    local login
    for login in skopeo podman; do
        command -v "$login" >/dev/null || continue
        run -0 --separate-stderr root_alone sh -c "$login login --tls-verify=false -u user -p secret \"\$PRIVATE\" >/dev/null &&
            test -s /run/containers/0/auth.json && $VPULL_THERE"
        [ "$output" = "$PRIVATE/demo/app@$(digest_of cuda12.8)" ]
    done
}

@test "an ordinary user's podman login without XDG_RUNTIME_DIR" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    run -0 ordinary podman login --tls-verify=false -u user -p secret "$PRIVATE"
    [ -s "$STATE/ordinary/tmp/podman-run-$ORDINARY/containers/auth.json" ]
    run -0 --separate-stderr ordinary sh -c "$VPULL_THERE"
    [ "$output" = "$PRIVATE/demo/app@$(digest_of cuda12.8)" ]
    # a directory that others may write to is not looked at
    chmod 777 "$STATE/ordinary/tmp/podman-run-$ORDINARY"
    run -1 --separate-stderr ordinary sh -c "$VPULL_THERE"
    rm -r "$STATE/ordinary/tmp/podman-run-$ORDINARY"
}

@test "nobody has logged in: what to do, and where was looked" {
    run -1 --separate-stderr bare env HOME="$STATE/home" sh -c "$VPULL_THERE"
    [[ $stderr == *"access denied (HTTP 401)"* ]]
    [[ $stderr == *"hint: docker login $PRIVATE or podman login $PRIVATE, or --authfile FILE; there are none for it in $STATE/home/.docker/config.json, "*"/run/containers/$(id -u)/auth.json and $STATE/home/.config/containers/auth.json"* ]]
    # a file that has others' only gives none
    mkdir -p "$STATE/home/.docker"
    printf '{"auths":{"other.example":{"auth":"%s"}}}' "$(printf user:secret | base64)" >"$STATE/home/.docker/config.json"
    run -1 --separate-stderr bare env HOME="$STATE/home" sh -c "$VPULL_THERE -v"
    rm "$STATE/home/.docker/config.json"
    [[ $stderr == *"access denied (HTTP 401)"* && $stderr != *"credentials from"* && $stderr != *"these are from"* ]]
}

@test "a login that the registry refuses is named with its file" {
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:old | base64)" >"$DOCKER_CONFIG/config.json"
    run -1 --separate-stderr sh -c "$VPULL_THERE"
    echo '{}' >"$DOCKER_CONFIG/config.json"
    [[ $stderr == *"the credentials are rejected"*"(again); these are from $DOCKER_CONFIG/config.json"* ]]
}

@test "an authority of the configuration that cannot be read is named with its key" {
    start_registry tls
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    printf 'registries:\n  "%s": {ca: %s}\n' "$REGISTRY" "$STATE/ordinary/ca.pem" >"$STATE/ordinary/config.yaml"
    run -1 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$REGISTRY/demo/app:1"
    [[ $stderr == *"hint: give the authority with --cacert FILE"* ]]
    run -2 --separate-stderr "$VPULL" --print-ref --config "$STATE/ordinary/config.yaml" --profile "$PROFILES/h100.json" "$REGISTRY/demo/app:1"
    [[ $stderr == *"\`ca\` of registries: $REGISTRY in the configuration: $STATE/ordinary/ca.pem: "* ]]
    # where nothing is verified, nobody needs it
    run -0 "$VPULL" --print-ref --tls-verify=false --config "$STATE/ordinary/config.yaml" --profile "$PROFILES/h100.json" "$REGISTRY/demo/app:1"
    # another authority than the one that signed
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=another CA" \
        -keyout "$STATE/other.key" -out "$STATE/ordinary/ca.pem" 2>/dev/null
    run -1 --separate-stderr "$VPULL" --print-ref --config "$STATE/ordinary/config.yaml" --profile "$PROFILES/h100.json" "$REGISTRY/demo/app:1"
    [[ $stderr == *"hint: trusted: the system's authorities and $STATE/ordinary/ca.pem, which the configuration names as \`ca\` of registries: $REGISTRY"* ]]
    [ "$(id -u)" = 0 ] || return 0
    chmod 600 "$STATE/ordinary/ca.pem"
    chown 0 "$STATE/ordinary/ca.pem"
    run -2 --separate-stderr ordinary "$VPULL" --print-ref --config "$STATE/ordinary/config.yaml" --profile "$PROFILES/h100.json" "$REGISTRY/demo/app:1"
    [[ $stderr == *"Permission denied"*"hint: a CA certificate is not secret: chmod 644 $STATE/ordinary/ca.pem"* ]]
}
