#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index coverage: which builds of an index a fleet gets.

load ../harness
load ../images

setup_file()
{
    require docker-registry skopeo jq
    state_start
    start_registry
    export OCV_DATADIR=$OCV_TOP/plugins
    make_variants "$STATE/layout"
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "coverage: who gets what, who only the default, and what nobody gets" {
    run -1 "$VARIANTCTL" index coverage --profiles "$PROFILES/none.json" "oci:$VARIANTS:app"
    mkdir hosts
    cp "$FLEET_DIR"/*.json hosts
    echo '{"schema": "dev.ocivariant.profile/v1", "platform": {"os": "linux", "architecture": "arm64"}, "namespaces": []}' >hosts/arm.json
    echo '{"schema": "dev.ocivariant.profile/v1", "platform": {"os": "linux", "architecture": "s390x"}, "namespaces": []}' >hosts/z.json
    run -0 "$VARIANTCTL" index coverage --profiles hosts "oci:$VARIANTS:app"
    [[ $output == *"Only the default   arm"* ]]
    [[ $output == *"Nothing at all     z"* ]]
    [[ $output != *"(fits no host)"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index coverage --profiles hosts --format json "oci:$VARIANTS:app"
    [ "$(jq -r '.hosts[] | select(.host == "h100").selected.label' <<<"$output")" = cuda12.8 ]
    [ "$(jq -c '.onlyDefault' <<<"$output")" = '["arm"]' ]
    [ "$(jq -c '.nothing' <<<"$output")" = '["z"]' ]
    [ "$(jq -c '.variants[] | select(.label == "rocm7.1").chosenBy' <<<"$output")" = '["mi300x"]' ]
    rm hosts/mi300x.json
    run -0 --separate-stderr "$VARIANTCTL" index coverage --profiles hosts --format json "oci:$VARIANTS:app"
    [[ $(jq -c '[.nobodyGets[].label]' <<<"$output") == *'"rocm7.1"'* ]]
    report=$("$VARIANTCTL" index coverage --profiles hosts "oci:$VARIANTS:app")
    [[ $report == *"Nobody gets        "*"rocm7.1 (fits no host)"* ]]
    # each cell is what resolve says
    for host in h100 arm laptop; do
        chosen=$("$VARIANTCTL" resolve --profile "hosts/$host.json" "oci:$VARIANTS:app" | jq -r .selected.digest)
        [ "$(jq -r --arg h "$host" '.hosts[] | select(.host == $h).selected.digest' <<<"$output")" = "$chosen" ]
    done
    echo '{' >hosts/broken.json
    run -0 --separate-stderr "$VARIANTCTL" index coverage --profiles hosts "oci:$VARIANTS:app"
    [[ $stderr == *"1 bad node left out, the first: hosts/broken.json"* && $output == *"h100"* ]]
    run -4 "$VARIANTCTL" index coverage --strict --profiles hosts "oci:$VARIANTS:app"
    [[ $output == *"hosts/broken.json"* ]]
    run -2 "$VARIANTCTL" index coverage "oci:$VARIANTS:app"
}

@test "coverage of a large fleet: hosts that are alike share a column, and each has its own name" {
    local i
    mkdir -p a b
    for i in $(seq 10 69); do cp "$PROFILES/h100.json" "a/node$i.json"; done
    cp "$PROFILES/laptop.json" a/desk.json
    run -0 "$VARIANTCTL" index coverage --profiles a "oci:$VARIANTS:app"
    [[ ${lines[1]} == "Hosts   61" ]]
    [[ ${lines[2]} =~ ^\ +desk\ \ node10\+59$ ]]
    [[ $output == *"node10+59 "*" node10, node11, "*", node69" ]]
    [[ $output =~ cuda12\.8\ [^.*+]*\ \.\ +\* ]]
    # three hosts are shown one by one
    run -0 "$VARIANTCTL" index coverage --profiles a/node10.json --profiles a/node11.json --profiles a/desk.json "oci:$VARIANTS:app"
    [[ ${lines[2]} =~ ^\ +node10\ \ node11\ \ desk$ ]]
    cp "$PROFILES/h100.json" "$PROFILES/mi300x.json" b
    cp "$PROFILES/mi300x.json" b/node10.json
    run -0 "$VARIANTCTL" index coverage --format json --profiles a/node10.json --profiles b "oci:$VARIANTS:app"
    [ "$(jq -c '[.hosts[].host]' <<<"$output")" = '["a/node10","h100","mi300x","b/node10"]' ]
}

@test "coverage by tag rules says what resolve says" {
    local chosen host
    mkimage layout cpu >/dev/null
    mkimage layout hopper --seed 2 --layer 1000 >/dev/null
    skopeo --insecure-policy copy -q --dest-tls-verify=false oci:layout:cpu "docker://$REGISTRY/huggingface/text-embeddings-inference:cpu-1.9"
    skopeo --insecure-policy copy -q --dest-tls-verify=false oci:layout:hopper "docker://$REGISTRY/huggingface/text-embeddings-inference:hopper-1.9"
    printf 'registries:\n  ghcr.io: {url: "http://%s", insecure: true}\n' "$REGISTRY" >config.yaml
    run -0 --separate-stderr "$VARIANTCTL" index coverage --config config.yaml --format json \
        --profiles "$FLEET_DIR" ghcr.io/huggingface/text-embeddings-inference:1.9
    [ "$(jq -c '[.variants[].label]' <<<"$output")" = '["null","hopper_1.9"]' ]
    for host in h100 laptop; do
        chosen=$("$VARIANTCTL" resolve --config config.yaml --profile "$PROFILES/$host.json" \
            ghcr.io/huggingface/text-embeddings-inference:1.9 | jq -r .selected.digest)
        [ "$(jq -r --arg h "$host" '.hosts[] | select(.host == $h).selected.digest' <<<"$output")" = "$chosen" ]
    done
    run -1 "$VARIANTCTL" index coverage --config config.yaml --tag-rules off \
        --profiles "$FLEET_DIR" ghcr.io/huggingface/text-embeddings-inference:1.9
}

# Rules in ./data for ghcr.io/demo/app: 1.0, and 1.0-big and 1.0-large, which nothing tells apart.
ambiguous_tags() {
    local tag
    mkdir -p data/tags.d
    cat >data/tags.d/demo.yaml <<YAML
schema: dev.ocivariant.tags/v1
family: demo
repositories: [ghcr.io/demo/app]
parts:
  - {match: '(big|large)', kind: device, gives: ['nvidia :: cuda_version_lower_bound :: 12.8']}
  - {match: 'one', kind: device, gives: ['amd :: gfx_arch :: gfx942']}
  - {match: '[0-9.]+', group: version}
group_tags: ['{version}']
YAML
    for tag in 1.0-big 1.0-large 1.0-one 1.0; do
        mkimage layout "$tag" --seed "$((${#tag} + 10))" >/dev/null
        skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:layout:$tag" "docker://$REGISTRY/demo/app:$tag"
    done
    printf 'registries:\n  ghcr.io: {url: "http://%s", insecure: true}\n' "$REGISTRY" >config.yaml
}

@test "a host for which tag rules do not decide is said, and the others get theirs: coverage and match" {
    local why="1.0-big and 1.0-large say the same"
    ambiguous_tags
    export OCV_DATADIR=$PWD/data
    mkdir some
    cp "$PROFILES/h100.json" "$PROFILES/laptop.json" "$PROFILES/mi300x.json" some
    run -0 --separate-stderr "$VARIANTCTL" coverage --config config.yaml --profiles some ghcr.io/demo/app:1.0
    [[ $output == *"? not decided"*"Nothing at all     h100"*"Not decided        h100: "*"$why"* ]]
    run -0 --separate-stderr "$VARIANTCTL" coverage --config config.yaml --format json --profiles some ghcr.io/demo/app:1.0
    [ "$(jq -c '[.nothing, .onlyDefault, [.hosts[] | select(.undecided) | .host]]' <<<"$output")" = '[["h100"],["laptop"],["h100"]]' ]
    [ "$(jq -r '.hosts[] | select(.host == "mi300x").selected.label' <<<"$output")" = 1.0_one ]
    run -5 --separate-stderr "$VARIANTCTL" coverage --config config.yaml --fail-on nothing-fits --profiles some ghcr.io/demo/app:1.0
    # a job finds room on the others alone
    run -0 --separate-stderr "$VARIANTCTL" match --config config.yaml --profiles some --replicas 2 --policy best --format json ghcr.io/demo/app:1.0
    [ "$(jq -c '[.roles[].members[].node] | sort' <<<"$output")" = '["laptop","mi300x"]' ]
    [[ $stderr == "variantctl: warning: 1 undecided node left out, the first: h100: "*"$why"* ]]
    run -3 --separate-stderr "$VARIANTCTL" match --config config.yaml --profiles some --exclude laptop,mi300x --replicas 1 --policy best ghcr.io/demo/app:1.0
    run -4 --separate-stderr "$VARIANTCTL" match --config config.yaml --profiles some --strict --replicas 1 --policy best ghcr.io/demo/app:1.0
    [[ $stderr == *"h100: "*"$why"* ]]
}
