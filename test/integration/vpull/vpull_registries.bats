#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Registries that say it in their own way, and the three programs that ask them.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require python3 jq curl
    make_variants "$STATE/layout"
    CUDA=$(digest_of cuda12.8)
    export CUDA
}

# logged_in USER:PASSWORD
logged_in()
{
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$RULES" "$(printf %s "$1" | base64)" >"$DOCKER_CONFIG/config.json"
}

# everyone_gets: vpull twice (the second time it has seen the index), variantctl, and variantd with that login
everyone_gets()
{
    local times daemon
    for times in first second; do
        run -0 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$RULES/demo/app:app"
        [ "$times $output" = "$times $RULES/demo/app@$CUDA" ]
    done
    run -0 "$VARIANTCTL" index show "$RULES/demo/app:app"
    [[ $output == *cuda12.8* ]]
    chmod 600 "$DOCKER_CONFIG/config.json"
    daemon=everyone-${RULES#*:}
    start_variantd "$daemon" --registry "$RULES=http://$RULES" --profile "$PROFILES/h100.json" --credentials "$DOCKER_CONFIG/config.json"
    ask HEAD "/v2/demo/app/manifests/app?ns=$RULES"
    [ "$code $(header docker-content-digest)" = "200 $CUDA" ]
    stop_daemon "$daemon"
}

@test "nobody is answered 403, 404 or a bare 401, and only /v2/ says how to log in" {
    local refusal
    for refusal in 401 403 404; do
        start_rules "basic-$refusal" "$STATE/layout" <<<'[
            {"path": "/v2/$", "auth": "^$", "status": 401, "headers": {"WWW-Authenticate": "Basic realm=\"here\""}},
            {"path": "^/v2/demo/app/", "auth": "^Basic dXNlcjpzZWNyZXQ=$", "layout": true},
            {"path": "", "status": '"$refusal"'}]'
        logged_in user:secret
        everyone_gets
        start_rules "bearer-$refusal" "$STATE/layout" <<<'[
            {"path": "/v2/$", "auth": "^$", "status": 401, "headers":
                {"WWW-Authenticate": "Bearer realm=\"http://@HOST@/token\",service=\"s\",scope=\"registry:catalog:*\""}},
            {"path": "^/token.service=s&scope=repository%3Ademo%2Fapp%3Apull&", "auth": "^Basic dXNlcjpzZWNyZXQ=$", "body": {"token": "GOOD"}},
            {"path": "^/v2/demo/app/", "auth": "^Bearer GOOD$", "layout": true},
            {"path": "", "status": '"$refusal"'}]'
        logged_in user:secret
        everyone_gets
    done
}

@test "a registry is asked once how to log in, for all its repositories" {
    start_rules once "$STATE/layout" <<<'[
        {"path": "/v2/$", "auth": "^$", "status": 401, "headers": {"WWW-Authenticate": "Bearer realm=\"http://@HOST@/token\",service=\"s\""}},
        {"path": "^/token.service=s&scope=repository%3Ademo%2F(app|two)%3Apull&", "auth": "^Basic dXNlcjpzZWNyZXQ=$", "body": {"token": "GOOD"}},
        {"path": "^/v2/demo/(app|two)/", "auth": "^Bearer GOOD$", "layout": true},
        {"path": "", "status": 403}]'
    logged_in user:secret
    run -0 --separate-stderr "$VARIANTCTL" lock --profile "h100=$PROFILES/h100.json" "$RULES/demo/app:app" "$RULES/demo/two:app"
    [ "$(jq '.images | length' <<<"$output")" = 2 ]
    [ "$(grep -c 'GET /v2/ ' "$RULES_LOG")" = 1 ]
}

@test "where /v2/ redirects, the other host's challenge gets no password" {
    local other log
    start_rules other <<<'[
        {"path": "/v2/$", "status": 401, "headers": {"WWW-Authenticate": "Bearer realm=\"http://@HOST@/token\",service=\"s\""}},
        {"path": "^/token", "body": {"token": "BAD"}},
        {"path": "", "status": 404}]'
    other=$RULES log=$RULES_LOG
    start_rules redirecting <<<'[{"path": "/v2/$", "status": 302, "headers": {"Location": "http://'"$other"'/v2/"}}, {"path": "", "status": 404}]'
    logged_in user:secret
    run -1 "$VPULL" --print-ref --insecure "$other" "$RULES/demo/app:none"
    grep -q ' /v2/' "$log" # it was asked
    run -1 grep -E '/token|Basic' "$log"
}

@test "a registry that lets anybody read and refuses writers with 403 or 404 gets the login, too" {
    local refusal
    # another index, until it is written over
    jq -c '.manifests += [.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") |
        .annotations["org.opencontainers.image.ref.name"] = "new"]' "$STATE/layout/index.json" >"$STATE/new"
    mkdir -p "$STATE/writing"
    cp -r "$STATE/layout/." "$STATE/writing"
    cp "$STATE/new" "$STATE/writing/index.json"
    for refusal in 401 403 404; do
        start_rules "write-$refusal" "$STATE/writing" <<<'[
            {"path": "/v2/$", "auth": "^$", "status": 401, "headers": {"WWW-Authenticate": "Basic realm=\"here\""}},
            {"path": "/manifests/new$", "times": 4, "body": {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []},
                "headers": {"Content-Type": "application/vnd.oci.image.index.v1+json"}},
            {"path": "", "layout": true},
            {"method": "PUT", "path": "/manifests/new$", "auth": "^Basic dXNlcjpzZWNyZXQ=$", "status": 201},
            {"method": "PUT|PATCH|POST", "path": "", "status": '"$refusal"'}]'
        logged_in user:secret
        run -0 "$VARIANTCTL" index copy "$RULES/demo/app:app" "$RULES/demo/app:new"
        grep -q "^PUT /v2/demo/app/manifests/new - $refusal" "$RULES_LOG"
        grep -q "^PUT /v2/demo/app/manifests/new Basic .* 201" "$RULES_LOG"
        start_rules "upload-$refusal" "$STATE/layout" <<<'[
            {"path": "/v2/$", "auth": "^$", "status": 401, "headers": {"WWW-Authenticate": "Basic realm=\"here\""}},
            {"path": "/demo/other/blobs/", "status": 404},
            {"path": "/demo/other/manifests/", "auth": "^$", "status": '"$refusal"'},
            {"path": "/demo/other/manifests/app$", "times": 4, "status": 404},
            {"path": "/demo/other/manifests/sha256", "status": 404},
            {"path": "", "layout": true},
            {"method": "POST", "path": "/uploads/", "auth": "^Basic dXNlcjpzZWNyZXQ=$", "status": 202,
                "headers": {"Location": "/v2/demo/other/blobs/uploads/1"}},
            {"method": "PUT|PATCH", "path": "/uploads/1|/manifests/", "auth": "^Basic dXNlcjpzZWNyZXQ=$", "status": 201},
            {"method": "PUT|PATCH|POST", "path": "", "status": '"$refusal"'}]'
        logged_in user:secret
        run -0 "$VARIANTCTL" index copy "oci:$STATE/layout:app" "$RULES/demo/other:app"
        grep -q "^POST /v2/demo/other/blobs/uploads/.* Basic .* 202" "$RULES_LOG"
        grep -q "^PUT /v2/demo/other/manifests/app Basic .* 201" "$RULES_LOG"
    done
}

@test "/v2/ is asked once, and by nobody who has no login" {
    start_rules open "$STATE/layout" <<<'[{"path": "/v2/$", "body": {}}, {"path": "/tags/list|-", "status": 404}, {"path": "", "layout": true}]'
    echo '{}' >"$DOCKER_CONFIG/config.json"
    run -1 "$VPULL" --print-ref "$RULES/demo/app:none"
    run -1 grep ' /v2/ ' "$RULES_LOG"
    logged_in user:secret
    run -1 "$VPULL" --print-ref "$RULES/demo/app:none"
    [[ $output == *"not found on"* ]]
    [ "$(grep -c ' /v2/ ' "$RULES_LOG")" = 1 ]
}

@test "the hint does not say that there is no login where there is one" {
    start_rules mute <<<'[{"path": "/v2/$", "body": {}}, {"path": "", "status": 403}]'
    logged_in user:secret
    run -1 --separate-stderr "$VPULL" --print-ref "$RULES/demo/app:app"
    [[ $stderr == *"hint: the login for $RULES in $DOCKER_CONFIG/config.json was not sent: $RULES never says that it takes one"* ]]
    # a login that is remembered from an earlier request, and then is not enough
    start_rules half "$STATE/layout" <<<'[
        {"path": "/manifests/", "auth": "^Basic", "layout": true},
        {"path": "", "auth": "^Basic", "status": 403},
        {"path": "", "status": 401, "headers": {"WWW-Authenticate": "Basic realm=\"here\""}}]'
    logged_in user:secret
    run -1 --separate-stderr "$VPULL" --to "oci:$BATS_TEST_TMPDIR/out" --profile "$PROFILES/h100.json" "$RULES/demo/app:app"
    [[ $stderr == *"the credentials are rejected or not sufficient (HTTP 403)"*"these are from $DOCKER_CONFIG/config.json"* ]]
    # one that is refused where the answer was 404
    start_rules stale "$STATE/layout" <<<'[
        {"path": "/v2/$", "status": 401, "headers": {"WWW-Authenticate": "Bearer realm=\"http://@HOST@/token\""}},
        {"path": "^/token", "status": 401}]'
    logged_in user:old
    run -1 --separate-stderr "$VPULL" --print-ref "$RULES/demo/app:app"
    [[ $stderr == *"not found on"*"(again); these are from $DOCKER_CONFIG/config.json"* ]]
}

@test "a registry's own token from the file is sent as it is" {
    start_rules token "$STATE/layout" <<<'[
        {"path": "/manifests/", "auth": "^Bearer rt$", "layout": true},
        {"path": "", "status": 401, "headers": {"WWW-Authenticate": "Bearer realm=\"http://@HOST@/token\""}}]'
    printf '{"auths":{"https://%s":{},"%s":{"registrytoken":"rt"}}}' "$RULES" "$RULES" >"$DOCKER_CONFIG/config.json"
    everyone_gets
    run -1 grep /token "$RULES_LOG"
}

@test "a registry that refuses HEAD, for whatever reason, and serves GET" {
    local refusal
    echo '{}' >"$DOCKER_CONFIG/config.json"
    for refusal in 400 401 403 404 405 429 500 503; do
        start_rules "head-$refusal" "$STATE/layout" <<<'[{"method": "HEAD", "path": "", "status": '"$refusal"'}, {"path": "", "layout": true}]'
        everyone_gets
        # containerd's own HEAD of the child
        start_variantd "refusing-$refusal" --registry "$RULES=http://$RULES" --profile "$PROFILES/h100.json"
        ask HEAD "/proxy/v2/demo/app/manifests/$CUDA?ns=$RULES"
        [ "$code $(header docker-content-digest)" = "200 $CUDA" ]
        stop_daemon "refusing-$refusal"
    done
    # the second pull: one HEAD, no pause
    : >"$RULES_LOG"
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$RULES/demo/app:app"
    [ "$(cut -d' ' -f1 "$RULES_LOG" | tr '\n' ' ')" = "HEAD GET " ]
}

@test "what HEAD says of a manifest is missing or wrong" {
    local name
    local -A wrong=([type]='"Content-Type": "text/html"' [no-type]='"Content-Type": null' [no-digest]='"Docker-Content-Digest": null'
        [digest]='"Docker-Content-Digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000"'
        [length]='"Content-Length": "7"' [no-length]='"Content-Length": null')
    for name in "${!wrong[@]}"; do
        start_rules "wrong-$name" "$STATE/layout" <<<'[{"method": "HEAD", "path": "", "layout": true, "headers": {'"${wrong[$name]}"'}}, {"path": "", "layout": true}]'
        everyone_gets
    done
}

@test "what GET says of a manifest is missing, or no type of a manifest" {
    local name
    local -A wrong=([type]='"Content-Type": "text/html; charset=utf-8"' [no-type]='"Content-Type": null' [no-digest]='"Docker-Content-Digest": null')
    for name in "${!wrong[@]}"; do
        start_rules "both-$name" "$STATE/layout" <<<'[{"path": "", "layout": true, "headers": {'"${wrong[$name]}"'}}]'
        everyone_gets
        start_rules "get-$name" "$STATE/layout" <<<'[{"method": "GET", "path": "", "layout": true, "headers": {'"${wrong[$name]}"'}}, {"path": "", "layout": true}]'
        everyone_gets
    done
}

@test "other bytes than GET itself says are refused by everybody, whatever HEAD says" {
    local method zeros='"Docker-Content-Digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000"'
    echo '{}' >"$DOCKER_CONFIG/config.json"
    for method in GET 'GET|HEAD'; do
        start_rules "other-${method%|*}-${#method}" "$STATE/layout" <<<'[{"method": "'"$method"'", "path": "/manifests/app$", "layout": true, "headers": {'"$zeros"'}}, {"path": "", "layout": true}]'
        for _ in first second; do
            run -4 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$RULES/demo/app:app"
            [[ $stderr == *"$RULES/demo/app:app: "*"sha256:0000000000000000000000000000000000000000000000000000000000000000"* ]]
        done
        run -4 "$VARIANTCTL" index show "$RULES/demo/app:app"
        start_variantd "other-${#method}" --registry "$RULES=http://$RULES" --profile "$PROFILES/h100.json"
        ask HEAD "/v2/demo/app/manifests/app?ns=$RULES"
        [ "$code" = 502 ]
        ask HEAD "/proxy/v2/demo/app/manifests/app?ns=$RULES"
        [ "$code" = 502 ]
        stop_daemon "other-${#method}"
    done
}

@test "null members, as Go writes them, and a malformed entry that loses itself" {
    local index name
    index=$STATE/layout/blobs/sha256/$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") | .digest[7:]' "$STATE/layout/index.json")
    echo '{}' >"$DOCKER_CONFIG/config.json"
    local -A edits=([null]='.subject = null | .artifactType = null | .manifests[] |= (.urls = null | .data = null | .platform["os.version"] = null | .platform["os.features"] = null)'
        [entry]='.manifests = [{size: 7}, {mediaType: 7}, null, (.manifests[0] | .size = 1.5)] + .manifests')
    for name in "${!edits[@]}"; do
        start_rules "json-$name" "$STATE/layout" <<<"[{\"path\": \"/manifests/app$\", \"body\": $(jq -c "${edits[$name]}" "$index"),
            \"headers\": {\"Content-Type\": \"application/vnd.oci.image.index.v1+json\"}}, {\"path\": \"\", \"layout\": true}]"
        everyone_gets
    done
    # the lint rule for it
    jq -c "${edits[entry]}" "$index" >"$BATS_TEST_TMPDIR/index.json"
    run -5 "$VARIANTCTL" lint --index "$BATS_TEST_TMPDIR/index.json"
    [[ $output == *"manifests[0]: entry has no mediaType [OCV516"* ]]
}

@test "what no_proxy excepts does not go through the proxy, and no error says that it did" {
    local list
    start_rules proxy <<<'[{"path": "", "status": 404}]'
    echo 'registries: {"r.corp:5000": {url: "http://r.corp:5000", insecure: true}}' >"$STATE/proxy.yaml"
    for list in '*.corp' .corp corp r.corp:5000 '*'; do
        : >"$RULES_LOG"
        run -1 --separate-stderr env http_proxy="http://$RULES" https_proxy="http://$RULES" NO_PROXY="x, $list" \
            "$VPULL" --print-ref --config "$STATE/proxy.yaml" r.corp:5000/demo/app:1
        [[ $stderr == *"no such host: r.corp:5000"* && $stderr != *"through the proxy"* ]]
        [ ! -s "$RULES_LOG" ]
    done
    for list in r.corp:443 '*corp' .r.corp; do
        : >"$RULES_LOG"
        run -1 env http_proxy="http://$RULES" NO_PROXY="$list" "$VPULL" --print-ref --config "$STATE/proxy.yaml" r.corp:5000/demo/app:1
        grep -q 'GET http://r.corp:5000/v2/demo/app/manifests/1 ' "$RULES_LOG"
    done
    stop_daemon proxy
    run -1 --separate-stderr env http_proxy="http://$RULES" https_proxy="http://$RULES" "$VPULL" --print-ref --config "$STATE/proxy.yaml" r.corp:5000/demo/app:1
    [[ $stderr == *"(through the proxy $RULES of http"* ]]
}

# part RANGE CONTENT-RANGE BYTES: what variantd answers to RANGE where the registry answers 206 with CONTENT-RANGE
part()
{
    start_rules part "$STATE/layout" <<<"[{\"path\": \"/blobs/\", \"status\": 206, \"body\": \"$3\", \"headers\": {\"Content-Range\": $2}}, {\"path\": \"\", \"layout\": true}]"
    start_variantd parts --registry "$RULES=http://$RULES" --profile "$PROFILES/h100.json"
    ask GET "/proxy/v2/demo/app/blobs/sha256:$(printf abcdefgh | sha256sum | cut -d' ' -f1)?ns=$RULES" --header "Range: bytes=$1"
    stop_daemon parts
    stop_daemon part
}

@test "a part is passed on only if it is the one that was asked for" {
    local good=('2-4|"bytes 2-4/8"|cde' '2-|"bytes 2-7/8"|cdefgh' '-2|"bytes 6-7/8"|gh' '-20|"bytes 0-7/8"|abcdefgh' '6-99|"bytes 6-7/8"|gh' '2-4|"bytes 2-4/*"|cde')
    local bad=('2-4|null|cde' '2-4|"bytes 3-5/8"|def' '2-4|"bytes 2-5/8"|cdef' '2-4|"bytes 2-3/8"|cd' '2-|"bytes 2-4/8"|cde' '-2|"bytes 0-1/8"|ab' '2-4|"bytes x-4/8"|cde'
        '2-4|"cows 2-4/8"|cde')
    local range said bytes case
    for case in "${good[@]}"; do
        IFS='|' read -r range said bytes <<<"$case"
        part "$range" "$said" "$bytes"
        [ "$case $code $(<"$body")" = "$case 206 $bytes" ]
    done
    for case in "${bad[@]}"; do
        IFS='|' read -r range said bytes <<<"$case"
        part "$range" "$said" "$bytes"
        [ "$case $code" = "$case 502" ]
    done
    # a manifest in parts is none
    start_rules document "$STATE/layout" <<<'[{"path": "/manifests/", "status": 206, "body": {"manifests": []}, "headers": {"Content-Range": "bytes 0-16/99"}}]'
    run -1 "$VPULL" --print-ref "$RULES/demo/app:app"
    [[ $output == *"a part was sent though the whole was requested"* ]]
}

@test "indexes in the index, and platforms that stand in the configurations alone" {
    local app size arm cpu form
    echo '{}' >"$DOCKER_CONFIG/config.json"
    app=$(jq -r '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") | .digest' "$STATE/layout/index.json")
    size=$(stat -c %s "$STATE/layout/blobs/sha256/${app#*:}")
    arm=$(jq -c '.manifests[1] | del(.platform)' "$STATE/layout/blobs/sha256/${app#*:}")
    cpu=$(jq -c '.manifests[0] | del(.platform)' "$STATE/layout/blobs/sha256/${app#*:}")
    local index='"mediaType": "application/vnd.oci.image.index.v1+json"'
    local nested="{$index, \"digest\": \"$app\", \"size\": $size}"
    local -A forms=([plain]="$nested" [twice]="$nested, $nested" [platform]="{$index, \"digest\": \"$app\", \"size\": $size, \"platform\": {\"os\": \"linux\", \"architecture\": \"amd64\"}}"
        [sparse]="{$index, \"digest\": \"sha256:$(printf gone | sha256sum | cut -d' ' -f1)\", \"size\": 9}, $nested")
    for form in "${!forms[@]}"; do
        start_rules "nested-$form" "$STATE/layout" <<<"[{\"path\": \"/manifests/top$\", \"body\": {\"schemaVersion\": 2, $index, \"manifests\": [${forms[$form]}]},
            \"headers\": {\"Content-Type\": \"application/vnd.oci.image.index.v1+json\"}}, {\"path\": \"\", \"layout\": true}]"
        run -0 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$RULES/demo/app:top"
        [ "$form $output" = "$form $RULES/demo/app@$CUDA" ]
        run -0 "$VARIANTCTL" resolve --format json --profile "$PROFILES/h100.json" "$RULES/demo/app:top"
        [ "$(jq '[.rejected[] | select(.label == "rocm7.1")] | length' <<<"$output")" = 1 ]
        start_variantd "nested-$form-daemon" --registry "$RULES=http://$RULES" --profile "$PROFILES/h100.json"
        ask HEAD "/v2/demo/app/manifests/top?ns=$RULES"
        [ "$form $code $(header docker-content-digest)" = "$form 200 $CUDA" ]
        stop_daemon "nested-$form-daemon"
    done
    start_rules bare "$STATE/layout" <<<"[{\"path\": \"/manifests/top$\", \"body\": {\"schemaVersion\": 2, $index, \"manifests\": [$arm, $cpu]},
        \"headers\": {\"Content-Type\": \"application/vnd.oci.image.index.v1+json\"}}, {\"path\": \"\", \"layout\": true}]"
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" "$RULES/demo/app:top"
    [ "$output" = "$RULES/demo/app@$(jq -r .digest <<<"$cpu")" ]
    # one image for another architecture: a warning, and an error for who named the platform
    run -0 --separate-stderr "$VPULL" --to "oci:$BATS_TEST_TMPDIR/arm" --profile "$PROFILES/h100.json" "$RULES/demo/app:arm"
    [[ $stderr == *"is for linux/arm64, not for linux/amd64"*"only under emulation; add --platform linux/arm64"* ]]
    run -3 --separate-stderr "$VPULL" --print-ref --platform linux/amd64 --profile "$PROFILES/h100.json" "$RULES/demo/app:arm"
    [[ $stderr == *"no image for linux/amd64; it has linux/arm64"* ]]
    run -0 "$VPULL" --print-ref --platform linux/arm64 --profile "$PROFILES/h100.json" "$RULES/demo/app:arm"
}
