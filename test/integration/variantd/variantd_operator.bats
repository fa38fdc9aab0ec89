#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A private registry, as the operator of a node meets it: what the log says where nothing is served, what a
# reload changed, which files the service's user cannot read.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require docker-registry skopeo curl jq htpasswd openssl
    chmod 711 "$STATE"
    make_variants "$STATE/layout"
    start_private "$STATE/layout" app tls
    export SEGMENT=${PRIVATE/:/--}
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:secret | base64)" >"$STATE/auth.json"
    chmod 600 "$STATE/auth.json"
    export CONFIG=$STATE/operator.yaml
}

# config [LINE...]: the registry with its authority, and that
config()
{
    printf 'registries:\n  "%s": {ca: %s}\n' "$PRIVATE" "$STATE/ca.pem" >"$CONFIG"
    printf '%s\n' "$@" >>"$CONFIG"
}

# said NAME PATTERN: the log has it, soon
said()
{
    for _ in {1..200}; do
        ! grep -q -- "$2" "$STATE/log/$1" || return 0
        sleep 0.05
    done
    cat "$STATE/log/$1"
    return 1
}

reload()
{
    kill -HUP "$(<"$STATE/pids/$1")"
    said "$1" "$2"
}

@test "the log says once which setting a private registry needs" {
    config
    start_variantd op --config "$CONFIG" --profile "$PROFILES/h100.json"
    for _ in 1 2; do
        ask GET "/v2/$SEGMENT/demo/app/manifests/1"
        [ "$code" = 404 ]
    done
    said op "demo/app:1: access denied (HTTP 401).*; if it is private, its variants are served where .credentials. names a login for $PRIVATE (docs/configuration.md, Private registries)"
    [ "$(grep -c 'if it is private' "$STATE/log/op")" = 1 ]
    # with a login a HEAD is answered; a GET, which podman asks with, is not
    config "credentials: $STATE/auth.json"
    reload op "configuration read again: changed: credentials (default) -> $STATE/auth.json\$"
    ask HEAD "/v2/$SEGMENT/demo/app/manifests/1"
    [ "$code" = 200 ]
    ask GET "/v2/$SEGMENT/demo/app/manifests/1"
    [ "$code" = 404 ]
    said op 'only .serve_private: true. answers with what needs a login'
    config "credentials: $STATE/auth.json" "serve_private: true"
    reload op 'configuration read again: changed: serve_private (default) -> true$'
    ask GET "/v2/$SEGMENT/demo/app/manifests/1"
    [ "$code" = 200 ]
    # a login that is refused
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:old | base64)" >"$STATE/old.json"
    chmod 600 "$STATE/old.json"
    config "credentials: $STATE/old.json" "serve_private: true"
    reload op "changed: credentials $STATE/auth.json -> $STATE/old.json\$"
    ask HEAD "/v2/$SEGMENT/demo/app/manifests/1"
    said op "its variants are not served: the login for $PRIVATE in $STATE/old.json is refused"
    stop_daemon op
}

@test "shadow: the log says refused, not missing, where a login is needed" {
    config
    start_variantd shadow --config "$CONFIG" --profile "$PROFILES/h100.json" --choose shadow
    ask GET "/v2/$SEGMENT/demo/app/manifests/1"
    said shadow 'demo/app:1: shadow: would answer 404: the registry refuses it without a login (docs/configuration.md, Private registries)'
    stop_daemon shadow
}

@test "a reload tells the keys that it changed, and that none did" {
    config 'choose: shadow' 'disable: [amd]'
    start_variantd keys --config "$CONFIG" --profile "$PROFILES/h100.json"
    reload keys 'configuration read again: nothing changed$'
    config 'choose: on' 'disable: [amd, intel]' 'repositories: {"docker.io/**": {choose: shadow}}'
    printf 'registries: {docker.io: }\n' >"$CONFIG.more"
    sed -i '1,2d' "$CONFIG"
    cat "$CONFIG.more" >>"$CONFIG"
    reload keys 'configuration read again: changed: choose shadow -> on, disable, repositories, registries$'
    stop_daemon keys
}

@test "an authority that did not sign: the log names the key of the configuration" {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=another CA" \
        -keyout "$STATE/other.key" -out "$STATE/other.pem" 2>/dev/null
    printf 'registries:\n  "%s": {ca: %s}\n' "$PRIVATE" "$STATE/other.pem" >"$CONFIG"
    start_variantd tls --config "$CONFIG" --profile "$PROFILES/h100.json"
    ask GET "/v2/$SEGMENT/demo/app/manifests/1"
    said tls "TLS with $PRIVATE failed: .*; trusted: the system's authorities and $STATE/other.pem, which the configuration names as .ca. of registries: $PRIVATE"
    # a certificate is not a network error: it has its own kind, on which one can alert
    [ "$(metric "variantd_upstream_errors_total{registry=\"$PRIVATE\",kind=\"tls\"}")" -ge 1 ]
    [ "$(metric "variantd_upstream_errors_total{registry=\"$PRIVATE\",kind=\"network\"}")" = 0 ]
    stop_daemon tls
}

@test "--check as root: files that the service's user cannot read" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    config "credentials: $STATE/auth.json"
    mkdir -m 711 "$STATE/service"
    printf 'registries:\n  "%s": {ca: %s}\n' "$PRIVATE" "$STATE/ca.pem" >"$STATE/service.yaml"
    start_daemon service setpriv --reuid 4242 --regid 4242 --clear-groups -- "$VARIANTD_BIN" --listen 127.0.0.1:0 \
        --socket "$STATE/service.sock" --config "$STATE/service.yaml" --profile "$PROFILES/h100.json" --state-dir "$STATE/service"
    chmod 777 "$STATE"
    await service variantd_port service
    chmod 711 "$STATE"
    check=("$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json" --socket "$STATE/service.sock")
    run -2 --separate-stderr "${check[@]}"
    [[ $stderr == *"variantd: $CONFIG:3: credentials: $STATE/auth.json: the service runs as user 4242 and cannot read it: Permission denied"* ]]
    [[ $stderr == *"hint: chown root:4242 $STATE/auth.json; chmod 0640 $STATE/auth.json"*"is not sound" ]]
    chown root:4242 "$STATE/auth.json"
    chmod 640 "$STATE/auth.json"
    run -0 --separate-stderr "${check[@]}"
    chown root:root "$STATE/auth.json"
    chmod 600 "$STATE/auth.json" "$STATE/ca.pem"
    config
    run -2 --separate-stderr "${check[@]}"
    [[ $stderr == *"variantd: $CONFIG:2: ca: $STATE/ca.pem: the service runs as user 4242"*"hint: chown root:4242 $STATE/ca.pem; chmod 0644 $STATE/ca.pem"* ]]
    chmod 644 "$STATE/ca.pem"
    # where the unit is installed, homes are hidden from the service
    mkdir -p "$STATE/run-user/4242"
    cp "$STATE/ca.pem" "$STATE/run-user/4242/"
    # shellcheck disable=SC2016 # expanded by the inner shell
    hidden=(unshare -m sh -c 'mkdir -p /run/user && mount --bind "$1" /run/user && mount -t tmpfs tmpfs /etc/systemd/system &&
        touch /etc/systemd/system/variantd.service && shift && "$@"' sh "$STATE/run-user")
    printf 'registries:\n  "%s": {ca: /run/user/4242/ca.pem}\n' "$PRIVATE" >"$CONFIG"
    run --separate-stderr "${hidden[@]}" "${check[@]}"
    [[ $stderr == *"$CONFIG:2: ca: /run/user/4242/ca.pem: the service sees no home directories (ProtectHome=)"* ]]
    printf 'registries:\n  "%s": {ca: %s}\n' "$PRIVATE" "$STATE/ca.pem" >"$CONFIG"
    run --separate-stderr "${hidden[@]}" "${check[@]}"
    [[ $stderr != *"no home directories"* ]]
    stop_daemon service
}

# status OPTION...: of podman, set up in a directory of the test's
status()
{
    OCV_STATE_DIR=$STATE/setup OCV_SOCKET=$VARIANTD_SOCKET "$VARIANTCTL" setup podman --config "$CONFIG" \
        --config-dir "$STATE/etc" "$@"
}

@test "setup, --status and --check ask the registries: no login, no serve_private, another authority, nobody" {
    check=("$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json")
    config
    start_variantd asked --config "$CONFIG" --profile "$PROFILES/h100.json"
    run -0 status --registry "$PRIVATE"
    [[ $output == *"warning: $PRIVATE requires a login (401) and variantd has none: its images are served without a choice; set \`credentials\` (docs/configuration.md, Private registries)"* ]]
    run -5 status --status
    [ "${lines[1]}" = "  WARNING: $PRIVATE requires a login (401) and variantd has none: its images are served without a choice; set \`credentials\` (docs/configuration.md, Private registries)" ]
    run -0 --separate-stderr "${check[@]}"
    [[ $stderr == *"warning: $CONFIG:2: registries: $PRIVATE requires a login, and \`credentials\` has none: its images are served without a choice"*"is sound" ]]
    # the login is there: podman needs more
    config "credentials: $STATE/auth.json"
    reload asked 'changed: credentials (default)'
    run -5 status --status
    [[ $output == *"  WARNING: $PRIVATE requires a login: podman gets its variants with \`serve_private: true\` only (docs/configuration.md, Private registries)"* ]]
    run -5 status --status --format json
    jq -e --arg name "$PRIVATE" '.registries == [{name: $name, answers: true, anybody: "no", login: "accepted", fault: null, message: null, hint: null}]' <<<"$output"
    run -0 status --registry "$PRIVATE"
    [[ $output == *"warning: $PRIVATE requires a login: podman gets its variants with \`serve_private: true\` only"* ]]
    config "credentials: $STATE/auth.json" 'serve_private: true'
    reload asked 'changed: serve_private (default) -> true'
    run -0 status --status
    run -0 --separate-stderr "${check[@]}"
    [ "$stderr" = "variantd: the configuration ($CONFIG) is sound" ]
    # a login that is refused
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:older | base64)" >"$STATE/older.json"
    chmod 600 "$STATE/older.json"
    config "credentials: $STATE/older.json" 'serve_private: true'
    reload asked "changed: credentials .*older.json"
    run -5 status --status
    [[ $output == *"  WARNING: $PRIVATE: "*"(HTTP 401)"*"; the login for $PRIVATE in $STATE/older.json is refused"* ]]
    run -0 --separate-stderr "${check[@]}"
    [[ $stderr == *"the login for $PRIVATE in $STATE/older.json is refused"*"is sound" ]]
    # another authority
    printf 'registries:\n  "%s": {ca: %s}\n' "$PRIVATE" "$STATE/another.pem" >"$CONFIG"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=another CA" \
        -keyout "$STATE/another.key" -out "$STATE/another.pem" 2>/dev/null
    reload asked 'changed: registries'
    run -5 status --status
    [[ $output == *"  WARNING: $PRIVATE: TLS with $PRIVATE failed: "*"$STATE/another.pem, which the configuration names as \`ca\` of registries: $PRIVATE"* ]]
    run -0 --separate-stderr "${check[@]}"
    [[ $stderr == *"warning: $CONFIG:2: registries: $PRIVATE: TLS with $PRIVATE failed"*"is sound" ]]
    # nobody is there: the network's fault, and none of the set-up's
    local nobody
    nobody=127.0.0.1:$(free_port)
    printf 'registries:\n  "%s":\n' "$nobody" >"$CONFIG"
    stop_daemon asked
    start_variantd asked --config "$CONFIG" --profile "$PROFILES/h100.json"
    run -0 status --registry "$nobody"
    [[ $output == *"note: $nobody does not answer variantd: cannot connect to $nobody: Connection refused"* ]]
    run -0 status --status
    [[ $output == *"  note: $nobody does not answer variantd: "* ]]
    run -0 status --uninstall
    stop_daemon asked
}

@test "--check: an address that is not loopback is told with its line" {
    config 'listen: 0.0.0.0:5050'
    run -2 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json"
    [ "${stderr_lines[0]}" = "variantd: $CONFIG:3: listen: 0.0.0.0:5050 is not a loopback address" ]
}

@test "--check warns where no registry is configured" {
    printf 'choose: on\n' >"$CONFIG"
    run -0 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json"
    [ "$stderr" = "variantd: warning: no registry is configured: nothing is served
variantd: the configuration ($CONFIG) is sound" ]
}
