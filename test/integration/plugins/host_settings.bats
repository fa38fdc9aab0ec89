#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a configuration says of this machine is true for every program that chooses for this machine,
# and for none that chooses for others: one file of settings, one answer.

load ../harness
load ../images
load ../variantd
load ../cri

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr runc jq
    make_programs "$STATE/layout"
    start_registry
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    export APP=$REGISTRY/demo/app:1
    PINNED=$REGISTRY/demo/app@$(index_digest)
    export PINNED
    start_cri
    # this machine as the probe sees it, as if it were another
    mkdir "$STATE/fleet"
    "$VARIANTCTL" probe --json >"$STATE/fleet/here.json"
}

# one LABEL SETTING...: every program on this machine gives LABEL with these settings; whatever it is,
# they say that it is an H100. FOR_ALL=1: some of them are about every machine
one()
{
    local label=$1 want
    shift
    want=$(digest_of "$label")
    write_config 'override: {nvidia: {cuda_version_lower_bound: ["'"${BOUND:-12.8}"'"], sm_arch: ["90_real"]}, x86_64: {level: [v1, v2, v3]}}' \
        'policy: enforce' 'fail: closed' "$@"
    echo "== $label: ${BOUND:-} $*"

    run -0 --separate-stderr "$VPULL" --config "$STATE/config.yaml" --dry-run "$APP"
    [ "$output" = "$want" ]
    run -0 --separate-stderr "$VARIANTCTL" explain --config "$STATE/config.yaml" --json "$APP"
    [ "$(jq -r '.selected.digest' <<<"$output")" = "$want" ]
    run -0 --separate-stderr "$VARIANTCTL" lock --config "$STATE/config.yaml" "$APP"
    [ "$(jq -r '[.. | objects | select(has("label")) | .digest] | unique | join(" ")' <<<"$output")" = "$want" ]

    stop_daemon variantd
    start_variantd --config "$STATE/config.yaml"
    ask HEAD "/v2/demo/app/manifests/1?ns=$REGISTRY"
    [ "$(header docker-content-digest)" = "$want" ]
    OCIVARIANT_CONFIG=$STATE/config.yaml run -0 "$VERIFIER" -name "$APP" -digest "$want" \
        -stdin-media-type application/vnd.oci.descriptor.v1+json <<<"{\"digest\":\"$want\"}"

    start_daemon proxy "$CRI_PROXY" --listen "$STATE/proxy.sock" --backend "$STATE/cri.sock" \
        --config "$STATE/config.yaml" --state "$BATS_TEST_TMPDIR/state" --records "$BATS_TEST_TMPDIR/records" -v
    await proxy grep -q 'image service on' "$STATE/log/proxy"
    run -0 "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" pull "$PINNED"
    [ "$(cri status "$output" | jq -r '.repo_digests[0]')" = "$REGISTRY/demo/app@$want" ]
    cri rmi "$output"
    stop_daemon proxy

    # another machine: the file is not about it
    run -0 --separate-stderr "$VARIANTCTL" coverage --config "$STATE/config.yaml" --profiles "$STATE/fleet" --format json "$APP"
    here=$output
    printf 'registries: {"%s": {url: "http://%s"}}\n' "$REGISTRY" "$REGISTRY" >"$STATE/plain.yaml"
    run -0 --separate-stderr "$VARIANTCTL" coverage --config "$STATE/plain.yaml" --profiles "$STATE/fleet" --format json "$APP"
    [ -n "${FOR_ALL:-}" ] || [ "$here" = "$output" ]
}

@test "override: one answer of all programs" {
    one cuda12.8
}

@test "a smaller override" {
    BOUND=12.6 one cuda12.6
}

@test "override and disable" {
    FOR_ALL=1 one cpu.v3 'disable: [nvidia]'
}

@test "override and namespace_priority" {
    FOR_ALL=1 one cpu.v3 'namespace_priority: [x86_64, nvidia]'
}

@test "override and a repository's own disable" {
    FOR_ALL=1 one cpu.v3 "repositories: {\"$REGISTRY/demo/*\": {disable: [nvidia]}}"
}

@test "override and a repository's require" {
    FOR_ALL=1 one cuda12.8 "repositories: {\"$REGISTRY/demo/*\": {require: [nvidia]}}"
}
