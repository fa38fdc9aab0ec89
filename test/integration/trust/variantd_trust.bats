#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantd serves, and hooks let pass, only what `trust` has: by tag, by digest, past the choice, for whatever engine.

load ../harness
load ../images
load ../variantd
load ../cri
load ../trust

setup_file()
{
    state_start
    require docker-registry skopeo jq curl openssl containerd ctr
    start_registry
    make_variants "$STATE/images"
    make_keys team other
    mkimage "$STATE/images" alone --file etc/build=alone
    push_layout "$STATE/images:alone" "$REGISTRY/alone:1"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    push_layout "$STATE/images:app" "$REGISTRY/open/app:1"
    # an index of platforms, without variants
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:wide" "null=oci:$STATE/images:cpu" "null=oci:$STATE/images:arm" \
        --annotation org.opencontainers.image.title=wide >/dev/null
    push_layout "$STATE/images:wide" "$REGISTRY/wide:1"
    export INDEX CUDA ROCM ALONE WIDE ARM
    INDEX=$(top app) ALONE=$(top alone) WIDE=$(top wide)
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    ARM=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/wide:1" | jq -r '.manifests[1].digest')
    daemon
    start_containerd
}

# top REPO: the digest of its tag 1
top()
{
    local sum
    sum=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/$1:1" | sha256sum)
    echo "sha256:${sum%% *}"
}

# config [KEY]: all but open/** has to be signed by that key
config()
{
    trust_config "socket: $STATE/variantd.sock
registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\"}}" \
        "$REGISTRY/**" "{keys: [$STATE/keys/${1:-team}.pub]}" "$REGISTRY/open/**" "{require: false}"
}

daemon()
{
    config
    start_variantd --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
}

# code PATH: what the mirror answers, as its proxy
code()
{
    curl -s -o "$BATS_TEST_TMPDIR/answer" -w '%{http_code}' -H "$ACCEPT_ALL" "http://$VARIANTD$1"
}

@test "what is not signed: 403 from a proxy, 404 from a resolver, the reason in both" {
    proxy=/proxy/v2/${REGISTRY/:/--}
    before=$(metric variantd_untrusted_total)
    [ "$(code "$proxy/app/manifests/1")" = 403 ]
    jq -e '.errors[0].code == "DENIED"' "$BATS_TEST_TMPDIR/answer"
    [[ $(jq -r '.errors[0].message' "$BATS_TEST_TMPDIR/answer") == "$REGISTRY/app@$INDEX is not signed"* ]]
    [ "$(code "$proxy/app/manifests/$INDEX")" = 403 ]
    [ "$(code "$proxy/app/manifests/$CUDA")" = 403 ]
    [ "$(code "$proxy/alone/manifests/1")" = 403 ]
    [ "$(code "/raw/v2/${REGISTRY/:/--}/app/manifests/1")" = 403 ]
    [ "$(code "/raw/v2/${REGISTRY/:/--}/app/manifests/$INDEX")" = 403 ]
    [ "$(code "/v2/app/manifests/1?ns=$REGISTRY")" = 404 ]
    [[ $(<"$BATS_TEST_TMPDIR/answer") == *"is not signed"* ]]
    [ "$(code "$proxy/open/app/manifests/1")" = 200 ]
    [ "$(metric variantd_untrusted_total)" -gt "$before" ]
    [ "$(outcome untrusted)" -ge 6 ]
    grep -q "$REGISTRY/app@$INDEX is not signed; refused: $STATE/trust.yaml:4 asks for a signature by $STATE/keys/team.pub" "$STATE/log/variantd"
    # the answer about a reference, too
    run -0 curl -s --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/resolve?ref=$REGISTRY/app:1"
    [[ $output == *"is not signed"* ]]
}

@test "the verdict: hooks refuse it whatever the policy, the choice and the allowed list say" {
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$CUDA" | jq -r .trust.verdict)" = bad ]
    [ "$(verdict "ref=$REGISTRY/open/app:1" "digest=$CUDA" | jq -r '.trust // "none"')" = none ]
    for more in '' 'policy: off' 'policy: warn' "allow: [\"$REGISTRY/**\"]" 'choose: off'; do
        config
        echo "$more" >>"$STATE/trust.yaml"
        OCIVARIANT_CONFIG=$STATE/trust.yaml run -1 "$VERIFIER" -name "$REGISTRY/app:1" -digest "$CUDA" </dev/null
        [[ $output == *"$REGISTRY/app:1: $REGISTRY/app@$CUDA is not signed"* ]]
        OCIVARIANT_CONFIG=$STATE/trust.yaml run -0 "$VERIFIER" -name "$REGISTRY/open/app:1" -digest "$CUDA" </dev/null
    done
    # nobody to ask, or a daemon that knows of no rule: not signed
    config
    sed -i "s|^socket: .*|socket: $STATE/nobody.sock|" "$STATE/trust.yaml"
    OCIVARIANT_CONFIG=$STATE/trust.yaml run -1 "$VERIFIER" -name "$REGISTRY/app:1" -digest "$CUDA" </dev/null
    write_config
    start_variantd older --config "$STATE/config.yaml" --profile "$PROFILES/h100.json"
    sed -i "s|^socket: .*|socket: $VARIANTD_SOCKET|" "$STATE/trust.yaml"
    OCIVARIANT_CONFIG=$STATE/trust.yaml run -1 "$VERIFIER" -name "$REGISTRY/app:1" -digest "$CUDA" </dev/null
    [[ $output == *"variantd does not check its signature"* ]]
    stop_daemon older
}

@test "containerd, fail-closed: the signed index's build, and nothing else" {
    config
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$VARIANTD/proxy" "http://$VARIANTD/proxy"
    run ! ctr images pull --hosts-dir "$STATE/certs.d" "$REGISTRY/app:1"
    [[ $output == *"403"* || $output == *"is not signed"* ]]
    run ! ctr images pull --hosts-dir "$STATE/certs.d" "$REGISTRY/app@$ROCM"
    sign_bundle team app "$INDEX"
    sign_payload team wide "$WIDE"
    sleep 10.5 # a refusal is remembered for ten seconds
    run -0 ctr images pull --hosts-dir "$STATE/certs.d" "$REGISTRY/app:1"
    [ "$(ctr images ls | awk -v i="$REGISTRY/app:1" '$1 == i { print $3 }')" = "$CUDA" ]
    # every build of it, and every platform of an ordinary one, by digest
    run -0 ctr images pull --hosts-dir "$STATE/certs.d" "$REGISTRY/app@$ROCM"
    run -0 ctr images pull --hosts-dir "$STATE/certs.d" "$REGISTRY/wide:1"
    run -0 ctr images pull --hosts-dir "$STATE/certs.d" --platform linux/arm64 "$REGISTRY/wide@$ARM"
    run ! ctr images pull --hosts-dir "$STATE/certs.d" "$REGISTRY/alone:1"
    # in that repository alone
    [ "$(code "/proxy/v2/${REGISTRY/:/--}/alone/manifests/$CUDA")" != 200 ]
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$CUDA" | jq -r .trust.verdict)" = good ]
    OCIVARIANT_CONFIG=$STATE/trust.yaml run -0 "$VERIFIER" -name "$REGISTRY/app:1" -digest "$CUDA" </dev/null
    # what was found is on record
    record=$STATE/node/resolved/trusted/$(record_of "$INDEX" "$REGISTRY/app")
    [ "$(jq -r .key "$record")" = "$(key_of team)" ]
    jq -e --arg c "$CUDA" '.members | index($c)' "$record"
}

@test "images and verify --trust show by which key; what has no record is told" {
    config
    ctr images pull --plain-http "$REGISTRY/alone:1" >/dev/null # past the mirror
    run -0 env OCV_STATE_DIR="$STATE/node" "$VARIANTCTL" images --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json" --from containerd
    [[ $output == *"$REGISTRY/app:1"*"signed by the key $(key_of team)"* ]]
    run -5 env OCV_STATE_DIR="$STATE/node" "$VARIANTCTL" verify --trust --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json" --from containerd
    [[ $output == *"unsigned  containerd:"*": $REGISTRY/alone:1: $STATE/trust.yaml:4 asks for a signature, and none is on record here"* ]]
    [[ $output != *"$REGISTRY/app:1: $STATE/trust.yaml"* && $output == *"1 lack a signature"* ]]
    run -5 env OCV_STATE_DIR="$STATE/node" "$VARIANTCTL" verify --json --trust --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json" --from containerd
    [ "$(jq -r --arg i "$REGISTRY/app:1" '.images[] | select(.image == $i).signedBy' <<<"$output")" = "$(key_of team)" ]
    config other
    run -5 env OCV_STATE_DIR="$STATE/node" "$VARIANTCTL" verify --trust --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json" --from containerd
    [[ $output == *"$REGISTRY/app:1: $STATE/trust.yaml:4 asks for a signature"* ]]
}

@test "after a restart, with the registry gone, what was signed is; what another key is for is not" {
    stop_daemon variantd
    config
    sed -i "s|http://$REGISTRY|http://127.0.0.1:1|" "$STATE/trust.yaml"
    start_variantd --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$CUDA" | jq -r .trust.verdict)" = good ]
    [ "$(verdict "ref=$REGISTRY/wide:1" "digest=$ARM" | jq -r .trust.verdict)" = good ]
    [ "$(verdict "ref=$REGISTRY/alone:1" "digest=$ALONE" | jq -r .trust.verdict)" = bad ]
    # a reload with another key
    config other
    sed -i "s|http://$REGISTRY|http://127.0.0.1:1|" "$STATE/trust.yaml"
    kill -HUP "$(<"$STATE/pids/variantd")"
    reread variantd 1
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$CUDA" | jq -r .trust.verdict)" = bad ]
    # a key that is not there: the reload fails, and the old configuration stays
    config absent
    kill -HUP "$(<"$STATE/pids/variantd")"
    await variantd grep -q 'absent.pub: No such file' "$STATE/log/variantd"
    [ "$(verdict "ref=$REGISTRY/alone:1" "digest=$ALONE" | jq -r .trust.verdict)" = bad ]
    run -2 "$VARIANTD_BIN" --check --config "$STATE/trust.yaml"
    [[ $output == *"trust.yaml:4: $REGISTRY/**: $STATE/keys/absent.pub: No such file or directory"* ]]
    stop_daemon variantd
}

@test "--check: a rule that engines can go round is no rule" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    config
    # what this machine has is out of sight
    # shellcheck disable=SC2016 # expanded inside
    check() { unshare --mount sh -c 'mkdir -p "$1/setup" "$1/opt" && mount --bind "$1/opt" /opt && mkdir -p /var/lib/ocivariant-setup &&
        mount --bind "$1/setup" /var/lib/ocivariant-setup && exec "$2" --check --config "$3"' sh "$BATS_TEST_TMPDIR" "$VARIANTD_BIN" "$STATE/trust.yaml"; }
    run -2 check
    [[ $output == *"trust.yaml:4: trust: $REGISTRY/**: engines of this node can go to the registry where this refuses"* ]]
    [[ $output == *"variantctl setup ENGINE --fail-closed"* ]]
    mkdir -p "$BATS_TEST_TMPDIR/opt/containerd/image-verifier/bin"
    cp "$VERIFIER" "$BATS_TEST_TMPDIR/opt/containerd/image-verifier/bin"
    run -0 check
    rm -r "$BATS_TEST_TMPDIR/opt/containerd"
    echo '{"fail_closed": false}' >"$BATS_TEST_TMPDIR/setup/docker.json"
    run -2 check
    echo '{"fail_closed": true}' >"$BATS_TEST_TMPDIR/setup/containerd.json"
    run -0 check
    trust_config "registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\"}}" "$REGISTRY/**" "{keys: [$STATE/keys/team.pub], require: false}"
    rm "$BATS_TEST_TMPDIR/setup/containerd.json"
    run -0 check
}

@test "somebody adds a build to a signed index, or moves the tag: nothing of it is served" {
    daemon
    [ "$(code "/proxy/v2/${REGISTRY/:/--}/app/manifests/1")" = 200 ]
    "$VARIANTCTL" index add --insecure "$REGISTRY" --quiet "$REGISTRY/app:1" "cuda13=oci:$STATE/images:alone,nvidia :: cuda_version_lower_bound :: 12.9" >/dev/null
    [ "$(code "/proxy/v2/${REGISTRY/:/--}/app/manifests/1")" = 403 ]
    # what the old one named is served still, by its digest
    [ "$(code "/proxy/v2/${REGISTRY/:/--}/app/manifests/$CUDA")" = 200 ]
    [ "$(code "/proxy/v2/${REGISTRY/:/--}/app/manifests/$(top app)")" = 403 ]
}

@test "an index in an index: a registry that fails for once is asked again, and nothing half known is kept" {
    local nested
    nested=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/wide:1" | wc -c)
    jq -nc --arg d "$WIDE" --argjson n "$nested" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [{mediaType: "application/vnd.oci.image.index.v1+json", digest: $d, size: $n}]}' >"$BATS_TEST_TMPDIR/outer"
    outer=sha256:$(sha256sum <"$BATS_TEST_TMPDIR/outer" | cut -d ' ' -f 1)
    make_bundle team "$outer" >"$BATS_TEST_TMPDIR/bundle"
    jq -nc --rawfile outer "$BATS_TEST_TMPDIR/outer" --rawfile bundle "$BATS_TEST_TMPDIR/bundle" --arg o "$outer" --arg w "$WIDE" --arg t "$BUNDLE_TYPE" \
        --arg inner "$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/wide:1")" \
        --arg b "sha256:$(sha256sum <"$BATS_TEST_TMPDIR/bundle" | cut -d ' ' -f 1)" --argjson bn "$(stat -c %s "$BATS_TEST_TMPDIR/bundle")" '
        {"Content-Type": "application/vnd.oci.image.index.v1+json"} as $index |
        ({schemaVersion: 2, layers: [{mediaType: $t, digest: $b, size: $bn}]} | tojson) as $signature |
        [{path: "manifests/(1|\($o))", headers: ($index + {"Docker-Content-Digest": $o}), body: $outer},
         {path: "manifests/\($w)", status: 503, times: 2}, {path: "manifests/\($w)", headers: ($index + {"Docker-Content-Digest": $w}), body: $inner},
         {path: "blobs/\($b)", body: $bundle}, {path: "manifests/sha256-[0-9a-f]*[.]sig", headers: {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, body: $signature}]' >"$BATS_TEST_TMPDIR/rules"
    start_rules failing <"$BATS_TEST_TMPDIR/rules"
    trust_config "registries: {\"$RULES\": {url: \"http://$RULES\"}}" "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
    start_variantd nested --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
    first=$(code "/raw/v2/${RULES/:/--}/app/manifests/$outer")
    [ "$first" = 502 ] || [ "$first" = 200 ] # the client of registries tries again by itself
    for _ in 1 2 3; do second=$(code "/raw/v2/${RULES/:/--}/app/manifests/$outer"); done
    [ "$second" = 200 ]
    [ "$(code "/raw/v2/${RULES/:/--}/app/manifests/$WIDE")" = 200 ]
    [ "$(verdict "ref=$RULES/app:1" "digest=$ARM" | jq -r .trust.verdict)" = good ]
    [ "$(verdict "ref=$RULES/app:1" "digest=$CUDA" | jq -r .trust.verdict)" = bad ]
    stop_daemon nested
}

@test "a tag that moves between the check and the answer: what was checked is sent" {
    local bundle=$BATS_TEST_TMPDIR/bundle good
    good=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/open/app:1" | tee "$BATS_TEST_TMPDIR/good" | sha256sum)
    good=sha256:${good%% *}
    make_bundle team "$good" >"$bundle"
    jq -nc --rawfile good "$BATS_TEST_TMPDIR/good" --rawfile bundle "$bundle" --arg g "$good" --arg t "$BUNDLE_TYPE" \
        --arg b "sha256:$(sha256sum <"$bundle" | cut -d ' ' -f 1)" --argjson bn "$(stat -c %s "$bundle")" '
        {"Content-Type": "application/vnd.oci.image.index.v1+json"} as $index |
        ({schemaVersion: 2, layers: [{mediaType: $t, digest: $b, size: $bn}]} | tojson) as $signature |
        [{method: "HEAD", path: "manifests/1$", headers: ($index + {"Docker-Content-Digest": $g}), body: $good},
         {path: "manifests/1$", headers: $index, body: ($good + " ")}, {path: "manifests/\($g)", headers: ($index + {"Docker-Content-Digest": $g}), body: $good},
         {path: "blobs/\($b)", body: $bundle}, {path: "manifests/sha256-[0-9a-f]*[.]sig", headers: {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, body: $signature}]' >"$BATS_TEST_TMPDIR/rules"
    start_rules moving <"$BATS_TEST_TMPDIR/rules"
    trust_config "registries: {\"$RULES\": {url: \"http://$RULES\"}}
choose: off" "$RULES/**" "{keys: [$STATE/keys/team.pub]}"
    start_variantd moving --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
    [ "$(code "/proxy/v2/${RULES/:/--}/app/manifests/1")" = 200 ]
    cmp "$BATS_TEST_TMPDIR/answer" "$BATS_TEST_TMPDIR/good"
    stop_daemon moving
}

@test "the rules of a mirror's own name and of what it mirrors hold, both" {
    local index
    push_layout "$STATE/images:app" "$REGISTRY/mirrored/app:1"
    index=$(top mirrored/app)
    sign_payload team mirrored/app "$index"
    both() # RULES: the code of the tag, by a daemon with these
    {
        trust_config "registries: {\"$REGISTRY\": {url: \"http://$REGISTRY\", mirror_of: docker.io}}" "$@"
        start_variantd both --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
        code "/proxy/v2/${REGISTRY/:/--}/mirrored/app/manifests/1"
        stop_daemon both
    }
    run -0 both "docker.io/mirrored/**" "{keys: [$STATE/keys/team.pub]}" "$REGISTRY/**" "{keys: [$STATE/keys/other.pub]}"
    [ "$output" = 403 ]
    run -0 both "docker.io/mirrored/**" "{keys: [$STATE/keys/other.pub]}" "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    [ "$output" = 403 ]
    run -0 both "docker.io/mirrored/**" "{keys: [$STATE/keys/team.pub]}" "$REGISTRY/**" "{keys: [$STATE/keys/team.pub]}"
    [ "$output" = 200 ]
}

@test "a layout in place of a registry has no signatures" {
    trust_config "layout: [\"registry.example=$STATE/images\"]" "registry.example/**" "{keys: [$STATE/keys/team.pub]}"
    start_variantd layout --config "$STATE/trust.yaml" --profile "$PROFILES/h100.json"
    [ "$(code "/proxy/v2/registry.example/any/manifests/app")" = 403 ]
    [[ $(<"$BATS_TEST_TMPDIR/answer") == *"is served from a layout, in which no signature is looked for"* ]]
    [ "$(code "/raw/v2/registry.example/any/manifests/app")" = 403 ]
    stop_daemon layout
}
