#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Registries whose passwords expire within seconds: kubelet's credential provider plug-ins as
# variantd's own credentials. The stand-in for a cloud is a registry that only accepts passwords
# made by the plug-in, and a daemon that invalidates them.

load ../harness
load ../images
load ../variantd

TTL=6 # seconds that a password lives

setup_file()
{
    state_start
    require docker-registry skopeo curl jq htpasswd flock
    start_registry htpasswd
    make_variants "$STATE/layout"
    local name
    for name in ecr rubbish fail missing huge hang; do
        skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
            --dest-creds user:secret "oci:$STATE/layout:app" "docker://$REGISTRY/$name/app:1"
    done
    start_registry public
    export PUBLIC=$REGISTRY
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:app" "docker://$PUBLIC/demo/app:1"
    REGISTRY=127.0.0.1:$(registry_port registry)
    export REGISTRY HUNG=localhost:${REGISTRY#*:} CUDA
    CUDA=$(digest_of cuda12.8)
    make_cloud
    make_plugins
    cat >"$STATE/variantd.yaml" <<YAML
registries: {"$REGISTRY": {}, "$HUNG": {}, "$PUBLIC": {}}
image_credential_provider_config: $STATE/plug-ins.yaml
image_credential_provider_bin_dir: $STATE/bin
YAML
    start_variantd -v --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json"
}

# Passwords are files in tokens/, made by the plug-in; the registry's file has the hashes of those that
# live. The daemon takes away what is older than $TTL.
make_cloud()
{
    mkdir -p "$STATE/cloud/tokens"
    cp "$STATE/htpasswd" "$STATE/cloud/admin"
    cat >"$STATE/cloud/update" <<EOF
#!/bin/bash
exec 9>"$STATE/cloud/lock"
flock 9
find "$STATE/cloud/tokens" -type f ! -newermt "-$TTL seconds" -delete
cat "$STATE/cloud/admin" "$STATE/cloud/tokens"/* >"$STATE/cloud/htpasswd" 2>/dev/null
cmp -s "$STATE/cloud/htpasswd" "$STATE/htpasswd" || mv "$STATE/cloud/htpasswd" "$STATE/htpasswd"
EOF
    chmod 755 "$STATE/cloud/update"
    start_daemon cloud bash -c "while sleep 0.2; do '$STATE/cloud/update'; done"
}

# bin/ecr [DURATION]: a user and a password that live for $TTL seconds, to be kept for DURATION.
make_plugins()
{
    mkdir "$STATE/bin"
    cat >"$STATE/bin/ecr" <<EOF
#!/bin/bash
set -e
cloud=$STATE/cloud
question=\$(cat)
echo "\$question" >>"\$cloud/questions"
image=\$(jq -r .image <<<"\$question")
user=u\$BASHPID-\$RANDOM
password=pw-\$(head -c 15 /dev/urandom | od -An -tx1 | tr -d ' \n')
echo "\$password" | tee -a "\$cloud/minted" >&2
htpasswd -nbB -C 4 "\$user" "\$password" | grep : >"\$cloud/new.\$user"
mv "\$cloud/new.\$user" "\$cloud/tokens/\$user"
"\$cloud/update"
cat <<JSON
{"kind": "CredentialProviderResponse", "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
 "cacheKeyType": "Registry", "cacheDuration": "\$(cat "\$cloud/duration")",
 "auth": {"\${image%%/*}": {"username": "\$user", "password": "\$password"}}}
JSON
EOF
    printf '#!/bin/sh\necho "the password is pw-rubbish"\necho pw-rubbish >&2\n' >"$STATE/bin/rubbish"
    printf '#!/bin/sh\necho >>%s/failed\necho pw-rubbish >&2\nexit 1\n' "$STATE" >"$STATE/bin/fail"
    printf '#!/bin/sh\nexec yes pw-rubbish\n' >"$STATE/bin/huge"
    printf '#!/bin/sh\necho $$ >>%s/hung\nexec sleep 1000\n' "$STATE" >"$STATE/bin/hang"
    chmod 755 "$STATE/bin"/*
    echo pw-rubbish >"$STATE/cloud/minted"
    printf 'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n' >"$STATE/plug-ins.yaml"
    local name host
    for name in ecr rubbish fail missing huge hang; do
        [ $name = hang ] && host=$HUNG || host=$REGISTRY
        printf -- '- {name: %s, matchImages: ["%s/%s"], defaultCacheDuration: 1h, apiVersion: credentialprovider.kubelet.k8s.io/v1}\n' \
            $name "$host" $name >>"$STATE/plug-ins.yaml"
    done
}

# How long the plug-in says that its passwords may be kept.
duration()
{
    echo "$1" >"$STATE/cloud/duration"
}

questions()
{
    wc -l <"$STATE/cloud/questions"
}

head_of()
{
    ask HEAD "/resolver/v2/$1/app/manifests/1?ns=${2:-$REGISTRY}"
    echo "$code"
}

# until the cloud knows no password but the administrator's
all_expired()
{
    for _ in {1..200}; do
        [ "$(wc -l <"$STATE/htpasswd")" = "$(wc -l <"$STATE/cloud/admin")" ] && return
        sleep 0.1
    done
    return 1
}

@test "a tag is answered before and after its password has expired" {
    duration 3s
    : >"$STATE/cloud/questions"
    [ "$(head_of ecr)" = 200 ]
    ask HEAD "/resolver/v2/ecr/app/manifests/1?ns=$REGISTRY"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    run -0 jq -r .image "$STATE/cloud/questions"
    [ "${lines[0]}" = "$REGISTRY/ecr/app" ]
    local before
    before=$(questions)
    all_expired
    [ "$(head_of ecr)" = 200 ]
    [ "$(questions)" -gt "$before" ]
}

@test "a password that ends before its time is asked for again" {
    duration 1h
    all_expired # nor are they kept here so long
    [ "$(head_of ecr)" = 200 ]
    local before answer
    before=$(questions)
    [ "$(head_of ecr)" = 200 ]
    [ "$(questions)" = "$before" ]
    duration 3s
    all_expired
    for _ in {1..100}; do # at first it is too fresh to be asked for again
        answer=$(head_of ecr)
        [ "$answer" != 200 ] || break
        sleep 0.2
    done
    [ "$answer" = 200 ]
    [ "$(questions)" = $((before + 1)) ]
}

@test "what the passwords read leaves as the answer to a tag's HEAD alone" {
    duration 3s
    [ "$(head_of ecr)" = 200 ]
    local path segment=${REGISTRY/:/--}
    for path in "resolver/v2/ecr/app/manifests/1?ns=$REGISTRY" "proxy/v2/ecr/app/manifests/1?ns=$REGISTRY" \
        "raw/v2/ecr/app/manifests/1?ns=$REGISTRY" "v2/$segment/ecr/app/manifests/$CUDA" "v2/$segment/ecr/app/tags/list"; do
        ask GET "/$path"
        [ "$code" = 404 ]
        run ! grep -q sha256 "$body"
    done
    if getent passwd nobody >/dev/null && [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        chmod 711 "$STATE"
        run -0 setpriv --reuid=nobody --regid=nogroup --clear-groups curl -s --unix-socket "$VARIANTD_SOCKET" \
            -o /dev/null -w '%{http_code}' "http://localhost/v1/resolve?ref=$REGISTRY/ecr/app:1"
        [ "$output" != 200 ]
    fi
}

@test "rubbish, a failure, a missing program and an endless answer leave the rest alone" {
    duration 3s
    local name
    for name in rubbish fail missing huge; do
        [ "$(head_of $name)" = 404 ]
        [ "$(head_of ecr)" = 200 ]
    done
    local log=$STATE/log/$VARIANTD_NAME
    grep -q 'credential provider rubbish: its output is not a CredentialProviderResponse in JSON' "$log"
    grep -q 'credential provider fail: exit status 1' "$log"
    grep -q 'credential provider missing: .*/bin/missing: No such file' "$log"
    grep -q 'credential provider huge: it printed more than 65536 bytes' "$log"
    run ! grep 'credential provider ecr:' "$log"
    # they are not run again and again
    for _ in {1..20}; do
        head_of fail
    done
    [ "$(wc -l <"$STATE/failed")" -le 3 ]
}

@test "a plug-in that hangs holds up its own registry alone" {
    duration 3s
    local pids=()
    for _ in {1..40}; do
        curl -s -I -o /dev/null -w '%{http_code}\n' -H "$ACCEPT_ALL" \
            "http://$VARIANTD/resolver/v2/hang/app/manifests/1?ns=$HUNG" >>"$STATE/hanging" 3>&- &
        pids+=($!)
    done
    for _ in {1..100}; do
        [ ! -s "$STATE/hung" ] || break
        sleep 0.1
    done
    [ "$(head_of ecr)" = 200 ]
    [ "$(head_of demo "$PUBLIC")" = 200 ]
    wait "${pids[@]}"
    [ "$(grep -cx 404 "$STATE/hanging")" = "${#pids[@]}" ] # engines ask the registry themselves
    [ "$(wc -l <"$STATE/hung")" = 1 ] # one program for all of them
    [ -e "/proc/$(<"$STATE/hung")" ]  # a later request may find its answer
}

@test "vpull asks the same plug-ins" {
    duration 3s
    run -0 --separate-stderr env -u OCV_STATE_DIR "$VPULL" --config "$STATE/variantd.yaml" \
        --profile "$PROFILES/h100.json" --print-ref "$REGISTRY/ecr/app:1"
    [ "$output" = "$REGISTRY/ecr/app@$CUDA" ]
    run -1 --separate-stderr "$VPULL" --config "$STATE/variantd.yaml" --profile "$PROFILES/h100.json" \
        --print-ref "$REGISTRY/fail/app:1"
    [[ $stderr == *"credential provider fail: exit status 1"* ]]
    [[ $stderr != *pw-* ]]
}

@test "no password is in logs, metrics or answers" {
    curl -s --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics >"$BATS_TEST_TMPDIR/metrics"
    grep -q 'variantd_credential_provider_runs_total{plugin="ecr",result="ok"} [1-9]' "$BATS_TEST_TMPDIR/metrics"
    grep -q 'variantd_credential_provider_runs_total{plugin="fail",result="failed"} [1-9]' "$BATS_TEST_TMPDIR/metrics"
    [ "$(wc -l <"$STATE/cloud/minted")" -gt 3 ]
    run ! grep -F -f "$STATE/cloud/minted" "$STATE/log/$VARIANTD_NAME" "$BATS_TEST_TMPDIR/metrics"
    # not as a header has it, either
    run ! grep -i 'authorization:\|Basic [A-Za-z0-9+/]\{12\}' "$STATE/log/$VARIANTD_NAME"
}

@test "the daemon's end is the hanging plug-in's, too" {
    stop_daemon variantd
    local pid
    pid=$(<"$STATE/hung")
    for _ in {1..100}; do
        [ -e "/proc/$pid" ] || break
        sleep 0.1
    done
    [ ! -e "/proc/$pid" ]
}

@test "a mistake in the configuration is told with its line" {
    local check=("$VARIANTD_BIN" --check --profile "$PROFILES/h100.json")
    sed 's/matchImages/matchimages/' "$STATE/plug-ins.yaml" >"$STATE/wrong.yaml"
    run -2 "${check[@]}" --image-credential-provider-config "$STATE/wrong.yaml" --image-credential-provider-bin-dir "$STATE/bin"
    [[ $output == *"wrong.yaml:4: unknown key 'matchimages' of a provider"* ]]
    run -2 "${check[@]}" --image-credential-provider-config "$STATE/none.yaml" --image-credential-provider-bin-dir "$STATE/bin"
    [[ $output == *"none.yaml: No such file"* ]]
    run -2 "${check[@]}" --image-credential-provider-config "$STATE/plug-ins.yaml" --image-credential-provider-bin-dir "$STATE/none"
    [[ $output == *"/none: No such file"* ]]
    run -2 "${check[@]}" --image-credential-provider-config "$STATE/plug-ins.yaml"
    [[ $output == *"image_credential_provider_bin_dir is missing"* ]]
    run -2 "${check[@]}" --image-credential-provider-config plug-ins.yaml --image-credential-provider-bin-dir "$STATE/bin"
    run -0 "${check[@]}" --image-credential-provider-config "$STATE/plug-ins.yaml" --image-credential-provider-bin-dir "$STATE/bin"
}
