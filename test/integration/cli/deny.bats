#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `deny` of a repository: this build never, here. By every command that chooses, by the daemon and its hooks, and
# among tags.

load ../harness
load ../images
load ../variantd
load ../tags

setup_file()
{
    local tag
    state_start
    require docker-registry skopeo curl jq
    make_programs "$STATE/layout"
    start_named_registries
    export SERVER=$REGISTRY L=$STATE/layout
    push_layout "$L:app" "$SERVER/team/app:1"
    push_layout "$L:app" "$SERVER/team/app:1-broken"
    push_layout "$L:null" "$SERVER/team/plain:1"
    "$VARIANTCTL" index create --no-lint --quiet "oci:$L:one" --namespaces nvidia \
        "cuda12.8=oci:$L:cuda12.8,nvidia :: cuda_version_lower_bound :: 12.8" >/dev/null 3>&-
    "$VARIANTCTL" index create --no-lint --quiet "oci:$L:two" --namespaces 'nvidia, amd' \
        "cuda12.8=oci:$L:cuda12.8,nvidia :: cuda_version_lower_bound :: 12.8" \
        "rocm7.1=oci:$L:rocm7.1,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
    push_layout "$L:one" "$SERVER/team/gpu:1"
    push_layout "$L:two" "$SERVER/team/gpu:2"
    for tag in v0.14.1 v0.14.1-cu130; do
        mkimage "$STATE/tags" one --label "build=$tag"
        skopeo --insecure-policy copy --quiet --preserve-digests --dest-tls-verify=false \
            "oci:$STATE/tags:one" "docker://$REGISTRY/vllm/vllm-openai:$tag" 3>&-
    done
    profile h100 '"90a_real","90_real"' 13 0
    cp "$CONFIG" "$STATE/base.yaml"
    printf '  "%s": {url: "http://%s"}\n' "$SERVER" "$SERVER" >>"$STATE/base.yaml"
    export DATA H100=$STATE/h100.json
}

setup()
{
    export OCV_DATADIR=$DATA CONFIG=$BATS_TEST_TMPDIR/config.yaml
}

# deny REPOSITORY LIST
deny()
{
    { cat "$STATE/base.yaml" && printf 'repositories:\n  "%s":\n    deny: [%s]\n' "$1" "$2"; } >"$CONFIG"
    AT=$CONFIG:$(grep -n deny: "$CONFIG" | cut -d: -f1)
}

chooses()
{
    run -0 --separate-stderr "$VARIANTCTL" resolve --config "$CONFIG" --profile "$PROFILES/h100.json" "$1"
    [ "$(jq -r .selected.label <<<"$output")" = "$2" ]
}

@test "a denied build is passed over, by every command that chooses" {
    deny "$SERVER/team/app" 'cuda12.8, "cuda12.6*"'
    chooses "$SERVER/team/app:1" cpu.v3
    [ "$(jq -r '.rejected[] | select(.label == "cuda12.8") | "\(.code) \(.required) \(.origin)"' <<<"$output")" = "denied cuda12.8 $AT" ]
    best=$(jq -r .selected.digest <<<"$output")
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
    [ "$output" = "$SERVER/team/app@$best" ]
    run -0 "$VARIANTCTL" explain --config "$CONFIG" --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
    [[ $output == *"cuda12.6"*"never taken here: deny has 'cuda12.6*' ($AT)"* ]]
    [[ $output == *"never taken here: deny has 'cuda12.8' ($AT)"* ]]
    run -0 --separate-stderr "$VARIANTCTL" lock --config "$CONFIG" --profile "h100=$PROFILES/h100.json" "$SERVER/team/app:1"
    [ "$(jq -r '.images[0].profiles.h100.label' <<<"$output")" = cpu.v3 ]
    run -0 --separate-stderr "$VARIANTCTL" coverage --config "$CONFIG" --profiles "$PROFILES/h100.json" --format json "$SERVER/team/app:1"
    [ "$(jq -r '.hosts[0].selected.label' <<<"$output")" = cpu.v3 ]
    run -0 --separate-stderr "$VARIANTCTL" match --config "$CONFIG" --profiles "$PROFILES/h100.json" --replicas 1 --print-ref "$SERVER/team/app:1"
    [ "$output" = "$SERVER/team/app@$best" ]
    # by no other way, either
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" --label cuda12.8 --unchecked "$SERVER/team/app:1"
    [[ $stderr == *"variant cuda12.8 is denied: deny has 'cuda12.8' ($AT)"*"hint: name another label, or take it out of deny there"* ]]
    [[ $stderr != *unchecked* ]]
}

@test "the default is denied by either of its names" {
    local name
    for name in null default; do
        deny "$SERVER/team/app" "$name"
        run -3 --separate-stderr "$VARIANTCTL" resolve --config "$CONFIG" --profile "$PROFILES/laptop.json" --label null "$SERVER/team/app:1"
        [[ $stderr == *"deny has '$name' ($AT)"* ]]
    done
}

@test "where every build is denied, exit 3 names the line" {
    deny "$SERVER/team/app" '"*"'
    for command in "$VPULL --dry-run" "$VPULL --print-ref" "$VARIANTCTL resolve" "$VARIANTCTL explain"; do
        # shellcheck disable=SC2086
        run -3 $command --config "$CONFIG" --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
        [[ $output == *"deny has '*' ($AT)"* ]]
    done
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
    [[ $stderr == *"vpull: $SERVER/team/app:1: every build of it for this machine is denied: deny has '*' ($AT)"*"hint: name another tag of the repository, or take it out of deny there"* ]]
    # what is left does not fit
    deny "$SERVER/team/app" '"null", "c*"'
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
    [[ $stderr == *"every build of it for this machine is denied: deny has '"*"' ($AT)"* ]]
}

@test "where nothing fits anyway, deny is not the reason" {
    deny "$SERVER/team/gpu" 'cuda12.8'
    for tag in 1 2; do
        run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/laptop.json" "$SERVER/team/gpu:$tag"
        [[ $stderr == *"$SERVER/team/gpu:$tag: no variant fits and there is no default"* ]]
        [[ $stderr != *den[iy]* && $stderr != *"--label cuda12.8"* ]]
    done
    [[ $stderr == *"--label rocm7.1 --unchecked pulls that build"* ]]
    [[ $stderr != *"every build needs"* ]]
    deny "$SERVER/team/gpu" '"null"'
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/laptop.json" "$SERVER/team/gpu:1"
    [[ $stderr == *"no variant fits and there is no default"*"--label cuda12.8 --unchecked pulls that build"* ]]
    [[ $stderr != *den[iy]* ]]
    # what would not lift it is no hint
    deny "$SERVER/team/gpu" 'cuda12.8'
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/laptop.json" --label cuda12.8 "$SERVER/team/gpu:1"
    [[ $stderr == *"variant cuda12.8 does not fit this host"* && $stderr != *unchecked* ]]
}

@test "a tag that is denied is refused when it is asked for, with or without variants" {
    deny "$SERVER/team/app" '"*-broken"'
    chooses "$SERVER/team/app:1" cuda12.8
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "$SERVER/team/app:1-broken"
    [[ $stderr == *"is denied: deny has '*-broken' ($AT)"* ]]
    deny "$SERVER/team/plain" 1
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "$SERVER/team/plain:1"
    [[ $stderr == *"is denied: deny has '1' ($AT)"* ]]
}

@test "among the tags of a rule, by their names" {
    run -0 --separate-stderr "$VPULL" --config "$STATE/base.yaml" --print-ref --profile "$H100" docker.io/vllm/vllm-openai:v0.14.1
    [ "$output" = "docker.io/vllm/vllm-openai@$(digest_of vllm/vllm-openai:v0.14.1-cu130)" ]
    deny docker.io/vllm/vllm-openai '"*-cu130"'
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$H100" docker.io/vllm/vllm-openai:v0.14.1
    [ "$output" = "docker.io/vllm/vllm-openai@$(digest_of vllm/vllm-openai:v0.14.1)" ]
    run -0 "$VARIANTCTL" explain --config "$CONFIG" --profile "$H100" docker.io/vllm/vllm-openai:v0.14.1
    [[ $output == *"never taken here: deny has '*-cu130' ($AT)"* ]]
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$H100" docker.io/vllm/vllm-openai:v0.14.1-cu130
    [[ $stderr == *"deny has '*-cu130' ($AT)"* ]]
    deny docker.io/vllm/vllm-openai '"v0.14.1*"'
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$H100" docker.io/vllm/vllm-openai:v0.14.1
    [[ $stderr == *"is denied: deny has 'v0.14.1*' ($AT)"* ]]
}

@test "what a tag rule made is the same build to verify and to hooks" {
    local image=docker.io/vllm/vllm-openai:v0.14.1 here=oci:$BATS_TEST_TMPDIR/here said best label
    export OCV_STATE_DIR=$STATE/ruled
    run -0 "$VPULL" --config "$STATE/base.yaml" --profile "$H100" --quiet --to "$here:1" "$image"
    best=$(digest_of vllm/vllm-openai:v0.14.1-cu130)
    run -0 "$VARIANTCTL" verify --config "$STATE/base.yaml" --profile "$H100" --from "$here"
    said=$(cat "$OCV_STATE_DIR"/resolved/*.json)
    [ "$(jq -r '"\(.child) \(.tag)"' <<<"$said")" = "$best v0.14.1-cu130" ]
    label=$(jq -r .label <<<"$said")
    deny docker.io/vllm/vllm-openai '"*-cu130"'
    run -5 "$VARIANTCTL" verify --config "$CONFIG" --profile "$H100" --from "$here"
    [[ $output == *misfit*"never taken here: deny has '*-cu130' ($AT)"* ]]
    start_variantd ruled --config "$CONFIG" --profile "$H100" --tag-rules on
    # the properties that a hook knows; a label with them, as it is in a record
    run -0 curl -sfG --unix-socket "$VARIANTD_SOCKET" http://localhost/v1/verdict --data-urlencode "ref=$image" \
        --data-urlencode "label=$label" --data-urlencode "properties=$(jq -r .properties <<<"$said")"
    [ "$(jq -r '"\(.verdict) \(.reason)"' <<<"$output")" = "misfit never taken here: deny has '*-cu130' ($AT)" ]
    # from the registry
    run -0 curl -sfG --unix-socket "$VARIANTD_SOCKET" http://localhost/v1/verdict --data-urlencode "ref=$image" --data-urlencode "digest=$best"
    [ "$(jq -r '"\(.verdict) \(.reason)"' <<<"$output")" = "misfit never taken here: deny has '*-cu130' ($AT)" ]
    stop_daemon ruled
    # of a pin nothing but its record is known
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$H100" "docker.io/vllm/vllm-openai@$best"
    [[ $stderr == *"does not fit this host: never taken here: deny has '*-cu130' ($AT)"* ]]
}

@test "the daemon does not serve it, counts it, and says so to hooks" {
    deny "$SERVER/team/app" 'cuda12.8, "*-broken"'
    start_variantd deny --config "$CONFIG" --profile "$PROFILES/h100.json" --tag-rules on
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/healthz"
    [ "$(jq .denied <<<"$output")" = 0 ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/resolve?ref=$SERVER/team/app:1"
    best=$(jq -r .selected.digest <<<"$output") bad=$(jq -r '.rejected[] | select(.label == "cuda12.8") | .digest' <<<"$output")
    [ "$(jq -r '.rejected[] | select(.label == "cuda12.8") | .code' <<<"$output")" = denied ]
    ask HEAD "/v2/team/app/manifests/1?ns=$SERVER"
    [ "$code $(header docker-content-digest)" = "200 $best" ]
    [ "$best" != "$bad" ]
    for _ in 1 2 3; do # a choice is counted and logged once
        ask HEAD "/v2/team/app/manifests/1?ns=$SERVER"
        [ "$code" = 200 ]
        ask HEAD "/v2/team/app/manifests/1-broken?ns=$SERVER"
        [ "$code" = 404 ]
    done
    [ "$(grep -c 'never taken here' "$STATE/log/deny")" = 2 ]
    grep -q "$SERVER/team/app:1: cuda12.8 is never taken here: deny has 'cuda12.8' ($AT)" "$STATE/log/deny"
    grep -q "$SERVER/team/app:1-broken: the tag is never taken here: deny has '\*-broken' ($AT)" "$STATE/log/deny"
    # the same digest under a name that is not denied is another choice
    ask HEAD "/v2/team/app/manifests/1?ns=$SERVER"
    [ "$code $(header docker-content-digest)" = "200 $best" ]
    # a proxy does not pass it through
    for name in HEAD GET; do
        ask "$name" "/proxy/v2/${SERVER/:/--}/team/app/manifests/1-broken"
        [ "$code" = 404 ]
    done
    [ "$(jq -r '.errors[0] | "\(.code): \(.message)"' "$body")" = "MANIFEST_UNKNOWN: the tag is never taken here: deny has '*-broken' ($AT)" ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/healthz"
    [ "$(jq .denied <<<"$output")" = 2 ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/metrics"
    [[ $output == *$'\nvariantd_deny_total 2\n'* ]]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app:1&digest=$bad"
    [ "$(jq -r '"\(.verdict) \(.reason)"' <<<"$output")" = "misfit never taken here: deny has 'cuda12.8' ($AT)" ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app:1-broken&digest=$best"
    [ "$(jq -r .verdict <<<"$output")" = misfit ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app:1&digest=$best"
    [ "$(jq -r .verdict <<<"$output")" = fits ]
    # of a record, which has no tag
    OCV_STATE_DIR=$STATE/node run -0 "$VPULL" --config "$STATE/base.yaml" --profile "$PROFILES/h100.json" --quiet \
        --to "oci:$BATS_TEST_TMPDIR/here:1" "$SERVER/team/app:1"
    OCV_STATE_DIR=$STATE/node run -5 "$VARIANTCTL" verify --config "$CONFIG" --profile "$PROFILES/h100.json" --from "oci:$BATS_TEST_TMPDIR/here"
    [[ $output == *misfit*"never taken here: deny has 'cuda12.8' ($AT)"* ]]
    stop_daemon deny
    deny "$SERVER/team/app" '"null", "c*"' # of what is left nothing fits
    start_variantd deny --config "$CONFIG" --profile "$PROFILES/h100.json"
    ask GET "/proxy/v2/${SERVER/:/--}/team/app/manifests/1"
    [ "$code" = 404 ]
    [[ $(<"$body") == *"never taken here: deny has"* ]]
    stop_daemon deny
    deny "$SERVER/team/app" latest
    OCV_STATE_DIR=$STATE/node start_variantd deny --config "$CONFIG" --profile "$PROFILES/h100.json"
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app@$best"
    [ "$(jq -r '"\(.verdict) \(.fit)"' <<<"$output")" = "lesser cuda12.8" ]
    OCV_STATE_DIR=$STATE/node run -0 "$VARIANTCTL" verify --config "$CONFIG" --profile "$PROFILES/h100.json" --from "oci:$BATS_TEST_TMPDIR/here"
    stop_daemon deny
}

@test "a mistake in deny names its line" {
    deny "$SERVER/team/app" '"team/app:1"'
    run -2 "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
    [[ $output == *"$AT: 'team/app:1' is not a label or tag"* ]]
}
