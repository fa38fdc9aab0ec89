#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Rolling out (docs/rollout.md): `choose: shadow` answers as for an ordinary image and says what it would have
# served; `off` does not look; both hold for hooks, and a reload is enough.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require docker-registry skopeo curl jq
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/team/app:1"
    push_layout "$STATE/images:app" "$REGISTRY/other/app:1"
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:cpu" "docker://$REGISTRY/team/plain:1" 3>&-
    mkimage "$STATE/images" odd --file etc/build=odd
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/images:nofit" \
        "rocm=oci:$STATE/images:odd,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$STATE/images:nofit" "$REGISTRY/team/nofit:1"
    export CUDA ROCM INDEX SEGMENT=${REGISTRY/:/--} NS="ns=${REGISTRY/:/%3A}"
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    curl -sf -H "$ACCEPT_ALL" -o "$STATE/index.json" "http://$REGISTRY/v2/team/app/manifests/1"
    INDEX=sha256:$(sha256sum <"$STATE/index.json" | cut -d' ' -f1)
}

teardown()
{
    stop_daemon variantd
    rm -rf "$STATE/node"
}

configure() # LINE...
{
    write_config 'policy: enforce' "$@"
}

# daemon [OPTION...]: with that configuration
daemon()
{
    start_variantd --config "$STATE/config.yaml" --profile "$PROFILES/h100.json" "$@"
}

# reload N: the N-th time
reload()
{
    kill -HUP "$(<"$STATE/pids/variantd")"
    reread variantd "$1"
}

# verify REF DIGEST
verify()
{
    printf '{"digest":"%s"}\n' "$2" | OCIVARIANT_CONFIG=$STATE/config.yaml "$VERIFIER" -name "$1" -digest "$2"
}

# hook REF DIGEST: a container of CRI-O
hook()
{
    jq -n --arg ref "$1" --arg digest "$2" '{ociVersion: "1.0.2", id: "c", status: "creating", pid: 1, bundle: "/nowhere",
        annotations: {"io.kubernetes.cri-o.ImageName": $ref, "io.kubernetes.cri-o.ImageRef": $digest}}' |
        OCIVARIANT_CONFIG=$STATE/config.yaml "$HOOK"
}

# as_the_registry PATH: HEAD and GET of a proxy are the registry's own, byte for byte
as_the_registry()
{
    local method
    for method in HEAD GET; do
        ask "$method" "/v2/$SEGMENT/$1"
        [ "$code" = 200 ]
        [ -z "$(header warning)" ]
        [ "$(header docker-content-digest)" = "sha256:$(curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/$1" | sha256sum | cut -d' ' -f1)" ]
        [ "$(header content-type)" = "$(curl -sf -o /dev/null -w '%{content_type}' -H "$ACCEPT_ALL" "http://$REGISTRY/v2/$1")" ]
    done
    curl -sf -H "$ACCEPT_ALL" "http://$REGISTRY/v2/$1" | cmp - "$body"
}

shadow()
{
    metric "variantd_shadow_total{outcome=\"$1\",label=\"$2\"}"
}

# seen OUTCOME LABEL N: what is resolved beside the answer is counted after it
seen()
{
    for _ in {1..100}; do
        [ "$(shadow "$1" "$2")" != "$3" ] || return 0
        sleep 0.05
    done
    echo "$1 $2: $(shadow "$1" "$2") instead of $3"
    return 1
}

@test "shadow: the registry's own answer to proxies, 404 to resolvers, and what would have been served" {
    configure 'choose: shadow'
    daemon
    as_the_registry team/app/manifests/1
    seen variant cuda12.8 2
    as_the_registry team/nofit/manifests/1
    seen no_fit "" 2
    as_the_registry team/plain/manifests/1
    seen ordinary "" 2
    ask HEAD "/v2/team/app/manifests/1?$NS"
    [ "$code" = 404 ]
    ask GET "/v2/team/app/manifests/1?$NS"
    cp "$body" "$BATS_TEST_TMPDIR/app"
    ask GET "/v2/team/plain/manifests/1?$NS"
    [ "$code" = 404 ]
    cmp "$body" "$BATS_TEST_TMPDIR/app"
    seen variant cuda12.8 4
    counted shadow 9
    [ "$(outcome variant)" = 0 ]
    grep -qF "$REGISTRY/team/app:1: shadow: would serve cuda12.8 ($CUDA)" "$STATE/log/variantd"
    grep -qF "$REGISTRY/team/nofit:1: shadow: would answer 404: no variant of it fits this machine" "$STATE/log/variantd"
    grep -q 'choose is shadow: variants are resolved, logged and counted, and not served' "$STATE/log/variantd"
    [ -z "$(ls "$STATE/node/resolved" 2>/dev/null)" ] # nothing was chosen for this node
    # who asks on purpose gets the choice
    run -0 curl -s --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/resolve?ref=$REGISTRY/team/app:1"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
}

@test "shadow: an answer waits for nothing that the look beside it waits for" {
    start_gate "${REGISTRY#*:}"
    configure 'choose: shadow'
    sed -i "s|url: \"http://$REGISTRY\"|url: \"http://$GATE\"|" "$STATE/config.yaml"
    daemon
    hold request /team/app/manifests/
    ask GET "/v2/team/app/manifests/1?$NS"
    [ "$code" = 404 ]
    held
    [ "$(shadow variant cuda12.8)" = 0 ]
    release
    seen variant cuda12.8 1
}

@test "off: the registry's own answer, nothing is resolved, and no reason to refuse anything" {
    configure 'choose: off'
    daemon
    as_the_registry team/app/manifests/1
    ask HEAD "/v2/team/app/manifests/1?$NS"
    [ "$code" = 404 ]
    counted off 3
    run -0 curl -s --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics
    [[ $output != *"variantd_shadow_total{"* ]]
    run -0 verdict "ref=$REGISTRY/team/app:1" "digest=$ROCM"
    [ "$output" = '{"verdict":"none","label":"","fit":"","reason":"choose is off for it","choose":"off"}' ]
    run -0 verify "$REGISTRY/team/app:1" "$ROCM"
    [ -z "$output" ]
    run -0 hook "$REGISTRY/team/app:1" "$ROCM"
    [ -z "$output" ]
}

@test "shadow: hooks say what they would refuse, and let it pass" {
    configure 'choose: on'
    daemon
    run -1 verify "$REGISTRY/team/app:1" "$ROCM"
    run -1 hook "$REGISTRY/team/app:1" "$ROCM"
    configure 'choose: shadow'
    reload 1
    run -0 verdict "ref=$REGISTRY/team/app:1" "digest=$ROCM"
    [ "$(jq -r '"\(.verdict) \(.choose)"' <<<"$output")" = "misfit shadow" ]
    run -0 verify "$REGISTRY/team/app:1" "$ROCM"
    [[ $output == *"warning: $REGISTRY/team/app:1 (rocm7.1) does not fit this node: "*"; let pass: choose is shadow" ]]
    run -0 hook "$REGISTRY/team/app:1" "$ROCM"
    [[ $output == *"warning: "*"; let pass: choose is shadow" ]]
    # the daemon's word is enough for a hook that has read another file
    configure 'choose: on'
    run -0 verify "$REGISTRY/team/app:1" "$ROCM"
    # an unreadable state is not a reason either
    configure 'choose: shadow'
    run -0 env OCIVARIANT_CONFIG="$STATE/config.yaml" "$HOOK" <<<nonsense
    [[ $output == *"warning: "*"is not JSON"* ]]
    configure 'choose: on'
    run -1 env OCIVARIANT_CONFIG="$STATE/config.yaml" "$HOOK" <<<nonsense
}

@test "a digest without a name: the strictest of the repositories that have it" {
    local one
    configure
    daemon
    for one in team other; do
        ask GET "/v2/$SEGMENT/$one/app/manifests/1"
        [ "$code" = 200 ]
    done
    local reads=0 choose
    while read -r team other choose; do
        configure "repositories: {\"$REGISTRY/team/*\": {choose: $team}, \"$REGISTRY/other/*\": {choose: $other}}"
        reload $((++reads))
        run -0 verdict "digest=$CUDA"
        [ "$(jq -r '.choose // "on"' <<<"$output")" = "$choose" ]
    done <<'CASES'
shadow on on
on shadow on
off on on
on off on
off shadow shadow
shadow off shadow
off off off
CASES
}

@test "a reload to off holds for tags that are remembered and for what is recorded" {
    configure 'tag_ttl: 1h'
    daemon
    ask GET "/v2/$SEGMENT/team/app/manifests/1"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask GET "/v2/$SEGMENT/team/app/manifests/1" # by what is ready
    [ "$(header docker-content-digest)" = "$CUDA" ]
    [ -n "$(ls "$STATE/node/resolved")" ]
    [ "$(verdict "digest=$CUDA" | jq -r .verdict)" = fits ]
    configure 'tag_ttl: 1h' 'choose: off'
    reload 1
    ask GET "/v2/$SEGMENT/team/app/manifests/1"
    [ "$(header docker-content-digest)" = "$INDEX" ]
    [ "$(verdict "digest=$CUDA" | jq -r .verdict)" = none ]
    configure 'tag_ttl: 1h' 'choose: on'
    reload 2
    ask GET "/v2/$SEGMENT/team/app/manifests/1"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    [ "$(verdict "digest=$CUDA" | jq -r .verdict)" = fits ]
}

@test "by repository, and by the daemon's option over all of them" {
    configure 'choose: off' "repositories: {\"$REGISTRY/team/*\": {choose: on}}"
    daemon
    ask HEAD "/v2/$SEGMENT/team/app/manifests/1"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    ask HEAD "/v2/$SEGMENT/other/app/manifests/1"
    [ "$(header docker-content-digest)" = "$INDEX" ]
    # what a record says of a digest without a name is of its repository
    [ "$(verdict "digest=$CUDA" | jq -r .verdict)" = fits ]
    grep -q 'choose is on for some repositories' "$STATE/log/variantd"
    stop_daemon variantd
    daemon --choose off
    ask HEAD "/v2/$SEGMENT/team/app/manifests/1"
    [ "$(header docker-content-digest)" = "$INDEX" ]
}

@test "what is recorded and no longer fits is not counted where choose is off" {
    cp "$PROFILES/h100.json" "$STATE/node.json"
    configure
    start_variantd --config "$STATE/config.yaml" --profile "$STATE/node.json"
    ask HEAD "/v2/$SEGMENT/team/app/manifests/1"
    [ "$(header docker-content-digest)" = "$CUDA" ]
    cp "$PROFILES/mi300x.json" "$STATE/node.json"
    reload 1
    for _ in {1..100}; do
        [ "$(metric variantd_misfit_images)" != 1 ] || break
        sleep 0.05
    done
    [ "$(metric variantd_misfit_images)" = 1 ]
    configure "repositories: {\"$REGISTRY/team/*\": {choose: off}}"
    reload 2
    for _ in {1..100}; do
        [ "$(metric variantd_misfit_images)" != 0 ] || break
        sleep 0.05
    done
    [ "$(metric variantd_misfit_images)" = 0 ]
}

@test "a layout in place of a registry: its bare tags are localhost's" {
    printf 'repositories: {"localhost/**": {choose: off}}\n' >"$STATE/layout.yaml"
    start_variantd --config "$STATE/layout.yaml" --layout "$STATE/images" --profile "$PROFILES/h100.json"
    ask GET "/v2/x/manifests/app"
    [ "$(header docker-content-digest)" = "$INDEX" ]
    stop_daemon variantd
    start_variantd --layout "$STATE/images" --profile "$PROFILES/h100.json"
    ask GET "/v2/x/manifests/app"
    [ "$(header docker-content-digest)" = "$CUDA" ]
}

@test "a mode that is none is a mistake of the configuration" {
    configure 'choose: maybe'
    run -2 "$VARIANTD_BIN" --check --config "$STATE/config.yaml"
    [[ $output == *"config.yaml:4: invalid value 'maybe' for choose: on, shadow or off"* ]]
    run -2 "$VARIANTD_BIN" --check --choose maybe
    [[ $output == *"invalid value 'maybe' for --choose: on, shadow or off"* ]]
}
