#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl claim: what it writes for the indexes of test/data/claim, byte for byte. claim_cluster.bats has a
# cluster check the same texts.

load ../harness
load ../images

setup_file() { state_start; }
claim() { variantctl claim --index "$OCV_TOP/test/data/claim/$1.json" --image "registry.test/$1:1.0" "${@:2}"; }
claim_slurm() { variantctl claim --index "$OCV_TOP/test/data/claim/$1.json" --for slurm "${@:2}"; }

@test "claims are written as recorded" {
    local index name
    for index in "$OCV_TOP"/test/data/claim/*.yaml; do
        name=$(basename "$index" .yaml)
        claim "$name" 2>/dev/null >"$BATS_TEST_TMPDIR/$name.yaml"
        diff -u "$index" "$BATS_TEST_TMPDIR/$name.yaml"
    done
}

@test "JSON has the same objects" {
    local name
    for name in app mix; do
        diff <(claim "$name" --format json 2>/dev/null | jq -S '.items') \
            <(python3 -c 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)' \
                <"$OCV_TOP/test/data/claim/$name.yaml" | jq -S .)
    done
}

@test "one architecture, one label, an order of its own" {
    run --separate-stderr -0 claim mix --platform linux/arm64 --format json
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].name]' <<<"$output")" = '["cu128"]' ]
    [ -z "$stderr" ]
    [ "$(jq -c '[.items[] | select(.metadata.name == "mix") | .. | .matchExpressions? // empty | .[].values]' <<<"$output")" = '[["arm64"]]' ]
    run --separate-stderr -0 claim app --label cu126.sm80 --format json
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].name]' <<<"$output")" = '["cu126-sm80"]' ]
    run --separate-stderr -0 claim app --namespace-priority habana --disable nvidia --format json
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].name]' <<<"$output")" = '["gaudi3","rocm6-gfx942","atom--max"]' ]
}

@test "from an image: its name, its digest, what a layout is called" {
    local digest
    make_variants "$STATE/layout"
    digest=$(variantctl index show --format json "oci:$STATE/layout:app" | sha256sum)
    run --separate-stderr -2 variantctl claim "oci:$STATE/layout:app"
    run --separate-stderr -0 variantctl claim "oci:$STATE/layout:app" --image registry.test/team/my_app.x:1 --format json
    [ "$(jq -r '.items[0].metadata.name' <<<"$output")" = my-app-x ]
    [ "$(jq -r '.items[0].metadata.annotations["dev.ocivariant/index"]' <<<"$output")" = "registry.test/team/my_app.x@sha256:${digest%% *}" ]
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].name]' <<<"$output")" = '["cuda12-8","rocm7-1"]' ]
    [ "$(jq -c '[.items[].metadata.name]' <<<"$output")" = '["my-app-x","my-app-x","my-app-x-cpu"]' ]
}

@test "for a job: the build that all members get, by its digest" {
    local label
    mkdir -p "$BATS_TEST_TMPDIR/nodes"/{gang,labelled}
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$BATS_TEST_TMPDIR/nodes"
    local fleet=$BATS_TEST_TMPDIR/nodes/gang/fleet.jsonl
    for label in 16:cu128.sm90:1 17:null:2; do
        run --separate-stderr -0 claim app --replicas "${label%%:*}" --profiles "$fleet" --format json
        [ "$(jq '[.. | .matchExpressions? // empty | .[] | select(.key == "dev.ocivariant/class") | .values[]] | length' <<<"$output")" = "${label##*:}" ]
        digest=$(jq -r --arg name "$(cut -d: -f2 <<<"$label")" 'first(.manifests[] | select((.annotations["dev.ocivariant.label"] // "null") == $name)) | .digest' \
            "$OCV_TOP/test/data/claim/app.json")
        [ "$(jq -r '[.items[] | .template.spec.containers[]?.image] | join(" ")' <<<"$output")" = "registry.test/app@$digest" ]
    done
    # the last one: nothing is claimed, and that is said
    [ "$(jq -c '[.items[].kind]' <<<"$output")" = '["PodTemplate"]' ]
    [[ $stderr == *"they get the default"* ]]
    # a node that announces nonsense is left out, and named; --strict refuses
    { echo '{"name": "evil", "profile": {}}' && cat "$fleet"; } >"$BATS_TEST_TMPDIR/with-evil.jsonl"
    run --separate-stderr -0 claim app --replicas 16 --profiles "$BATS_TEST_TMPDIR/with-evil.jsonl" --format json
    diff <(echo "$output") <(claim app --replicas 16 --profiles "$fleet" --format json 2>/dev/null)
    [[ $stderr == *"1 bad node left out, the first: "*"line 1: "* ]]
    run --separate-stderr -4 claim app --replicas 16 --profiles "$BATS_TEST_TMPDIR/with-evil.jsonl" --strict
    run --separate-stderr -3 claim app --replicas 33 --profiles "$fleet"
    run --separate-stderr -2 claim app --replicas 3
    run --separate-stderr -2 claim app --replicas 0 --profiles "$fleet"
    run --separate-stderr -4 claim app --replicas 1 --profiles "$OCV_TOP/test/data/claim/app.json"
}

@test "only DeviceClasses that the cluster has" {
    run --separate-stderr -0 claim app --format json
    [[ $stderr == *"the claim names several DeviceClasses (gpu.nvidia.com, "*"--classes FILE names those that are there"* ]]
    printf 'deviceclass.resource.k8s.io/gpu.amd.com\ndeviceclass.resource.k8s.io/mig.nvidia.com\n' >"$BATS_TEST_TMPDIR/classes"
    run --separate-stderr -0 claim app --classes "$BATS_TEST_TMPDIR/classes" --format json
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].deviceClassName] | unique' <<<"$output")" = '["gpu.amd.com"]' ]
    [[ $stderr == *"the cluster has no DeviceClass gpu.nvidia.com: builds for it are left out"* ]]
    [[ $stderr != *"several DeviceClasses"* ]]
    run --separate-stderr -0 claim app --classes - --format json <<<"gpu.nvidia.com"
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].deviceClassName] | unique' <<<"$output")" = '["gpu.nvidia.com"]' ]
    run -3 claim app --classes /dev/null
    [[ $output == *"/dev/null has none of the DeviceClasses that the builds need"* ]]
    run -2 claim_slurm app --classes "$BATS_TEST_TMPDIR/classes" --features x
}

@test "so many devices of each pod" {
    run --separate-stderr -0 claim app --count 8 --format json
    [ "$(jq -c '[.items[0].spec.spec.devices.requests[0].firstAvailable[].count] | unique' <<<"$output")" = '[8]' ]
    diff <(claim app) <(claim app --count 1)
    diff <(claim app) <(claim app --count 8 | grep -v '^ *count: 8$')
    run --separate-stderr -2 claim app --count 33
    [[ $stderr == *"invalid value '33' for --count: a number from 1 to 32"* ]]
    run --separate-stderr -2 claim app --count 0
    run --separate-stderr -2 claim app --count 2 --for slurm --features x
}

@test "for slurm: what no features tell apart is left out, with a warning" {
    run --separate-stderr -0 claim_slurm app --features \
        $'nvidia::sm_arch::90_real,nvidia::cuda_version_lower_bound::12.8\nnvidia::sm_arch::90_real,nvidia::cuda_version_lower_bound::12.8,aarch64::version::8a\nx86_64::level::v1'
    [ "$output" = --constraint=x86_64::level::v1 ]
    [ "$stderr" = "variantctl: warning: 2 alternatives left out: no features tell the nodes from others" ]
}

@test "an option of the other engine is refused" {
    local more
    for more in "--replicas 1 --profiles $PROFILES/h100.json" "--name x" "--format json"; do
        # shellcheck disable=SC2086
        run --separate-stderr -2 claim_slurm app --features x86_64::level::v1 $more
        [[ $stderr == *"claim: ${more%% [0-9/x]*} is for Kubernetes"* ]]
    done
    for more in "--features x" "--features-file x" --short; do
        # shellcheck disable=SC2086
        run --separate-stderr -2 claim app $more
        [[ $stderr == *"claim: ${more%% *} requires --for slurm"* ]]
    done
}

@test "a misspelt name is told, and the one that was meant" {
    local command
    for command in "claim app" "claim_slurm app --features x86_64::level::v1"; do
        # shellcheck disable=SC2086
        {
            run --separate-stderr -2 $command --disable nvidai
            [ -z "$output" ] && [[ $stderr == *"no namespace 'nvidai'; did you mean 'nvidia'?"* ]]
            run --separate-stderr -2 $command --label cu128.sm9
            [ -z "$output" ] && [[ $stderr == *"no variant 'cu128.sm9' in "*"did you mean 'cu128.sm90'?"* ]]
        }
    done
}

@test "what cannot be a claim is refused" {
    run --separate-stderr -3 claim app --label default
    run --separate-stderr -2 claim app --name 'Not a name'
    [[ $stderr == *"--name"* ]]
    run --separate-stderr -2 variantctl claim --index "$OCV_TOP/test/data/claim/app.json"
    [[ $stderr == *"--image"* ]]
    run --separate-stderr -2 claim app --profile x.json
    run --separate-stderr -2 claim app --for nomad
    run --separate-stderr -4 variantctl claim --index /dev/null --image a/b
    [ -z "$output" ]
}
