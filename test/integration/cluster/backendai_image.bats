#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# One name for six builds, made of tags in Backend.AI's grammar with its labels: `backendai/pytorch:2.12.0`. Every kind of
# machine pulls its own; with OCV_BACKENDAI_PYTHON (backend.ai-manager and -agent 26.9.6), Backend.AI's own agent, scanner and
# selector use it, too.
bats_require_minimum_version 1.5.0

load ../harness
load ../images

# the builds, as tags behind the version, and their accelerators as Backend.AI calls them
BUILDS=(py313-ubuntu24.04= py313-ubuntu24.04-cuda12.8=cuda py313-ubuntu24.04-rocm7.1=rocm py313-ubuntu24.04-atom=atom
    py313-ubuntu24.04-atommax=atom-max py313-ubuntu24.04-renegade=rngd)
# machines, and what is behind the version in their build's tag
MACHINES=(h100=-cuda12.8 mi300x=-rocm7.1 atom=-atom atommax=-atommax renegade=-renegade laptop=)
NAME=backendai/pytorch:2.12.0

# push_build TAG ACCELERATOR REPOSITORY
push_build()
{
    local labels=(--label ai.backend.kernelspec=1 --label ai.backend.role=COMPUTE --label ai.backend.base-distro=ubuntu24.04
        --label ai.backend.runtime-type=python --label ai.backend.runtime-path=/usr/bin/python3 --label "build=$1"
        --label ai.backend.resource.min.cpu=1 --label ai.backend.resource.min.mem=1g --label "ai.backend.accelerators=$2")
    [ -z "$2" ] || labels+=(--label "ai.backend.resource.min.$2.device=1")
    [ -n "$2" ] || unset 'labels[-1]' 'labels[-1]'
    mkimage "$STATE/images" "$1" --file "etc/build=$1" "${labels[@]}" >/dev/null
    push_layout "$STATE/images:$1" "$REGISTRY/$3:2.12.0-$1"
}

setup_file()
{
    local build
    require docker-registry skopeo jq
    state_start
    start_registry
    export OCV_DATADIR=$OCV_TOP/plugins PYTHONDONTWRITEBYTECODE=1
    export PYTHONPATH=$OCV_TOP/contrib/backendai NODES=$STATE/agents INDEX=$STATE/index.json REFERENCE=docker.io/$NAME
    [ -n "${OCV_INSTALLED:-}" ] || export LD_LIBRARY_PATH=$OCV_BUILD
    mkdir -p "$STATE/machines" "$NODES" "$XDG_CONFIG_HOME/ocivariant"
    # Docker Hub is here
    printf 'registries:\n  docker.io: {url: "http://%s", insecure: true}\n' "$REGISTRY" >"$XDG_CONFIG_HOME/ocivariant/config.yaml"
    for build in "${BUILDS[@]}"; do push_build "${build%%=*}" "${build#*=}" backendai/pytorch; done
    make_machines
    "$VARIANTCTL" index create --quiet --namespaces 'nvidia, amd, rebellions, furiosa' --from-tags '2.12.0-*' "$NAME"
    "$VARIANTCTL" index show --format json "$NAME" >"$INDEX"
}

make_machines()
{
    local npu
    cp "$PROFILES"/{h100,mi300x,laptop}.json "$STATE/machines"
    for npu in atom=rebellions:atom atommax=rebellions:atom_max renegade=furiosa:renegade; do
        jq --arg ns "$(cut -d= -f2 <<<"${npu%:*}")" --arg chip "${npu#*:}" '.namespaces |= [{namespace: $ns, status: "ok",
            features: [{name: "arch", values: [$chip]}], devices: [{id: "0000:3b:00.0", features: [{name: "arch", values: [$chip]}]}]}] + .' \
            "$PROFILES/laptop.json" >"$STATE/machines/${npu%%=*}.json"
    done
}

# digest_behind SUFFIX: of the build with that tag
digest_behind()
{
    skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/backendai/pytorch:2.12.0-py313-ubuntu24.04$1"
}

check()
{
    [ -n "${OCV_BACKENDAI_PYTHON:-}" ] || skip "OCV_BACKENDAI_PYTHON names no interpreter with Backend.AI"
    "$OCV_BACKENDAI_PYTHON" "$OCV_TOP/test/oracles/backendai/$1.py" "${@:2}"
}

@test "one command makes one name of six builds, the default plain and first" {
    [ "$(jq -r '.manifests | length' "$INDEX")" = 6 ]
    [ "$(jq -c '.manifests[0] | has("annotations")' "$INDEX")" = false ]
    [ "$(jq -r '.manifests[0].digest' "$INDEX")" = "$(digest_behind "")" ]
    [ "$(jq -r '.manifests[1:][].annotations["dev.ocivariant.properties"] | split(" :: ")[0]' "$INDEX" | sort | uniq -c | awk '{ printf "%s%s ", $2, $1 }')" = "amd1 furiosa1 nvidia1 rebellions2 " ]
    run -0 "$VARIANTCTL" lint "$NAME"
}

@test "lint: what tags say and what the ai.backend labels of their images say" {
    local repo=backendai/copied
    run -0 "$VARIANTCTL" lint "$NAME"
    [[ $output == *"0 errors, 0 warnings, 0 notes"* ]]
    push_build py313-ubuntu24.04 "" $repo
    push_build py313-ubuntu24.04-atommax atom $repo # labels copied from the build for ATOM
    push_build py313-ubuntu22.04-renegade rngd $repo
    "$VARIANTCTL" index create --quiet --namespaces 'rebellions, furiosa' --from-tags '2.12.0-*' $repo:2.12.0
    run "$VARIANTCTL" lint $repo:2.12.0
    [ "$(grep -c OCV307 <<<"$output")" = 3 ]
    [[ $output == *"is for rebellions :: arch :: atom_max, its image's label says ai.backend.accelerators=atom"* ]]
    [[ $output == *"is of ubuntu22.04, its image's label says ai.backend.base-distro=ubuntu24.04"* ]]
}

@test "every kind of machine pulls its own build" {
    local machine kind want
    for machine in "${MACHINES[@]}"; do
        kind=${machine%%=*} want=$(digest_behind "${machine#*=}")
        [ "$("$VPULL" --print-ref --profile "$STATE/machines/$kind.json" "$NAME")" = "docker.io/backendai/pytorch@$want" ]
        "$VPULL" --quiet --to "oci:$STATE/pulled-$kind" --profile "$STATE/machines/$kind.json" "$NAME"
        [ "$(jq -r '.manifests[0].digest' "$STATE/pulled-$kind/index.json")" = "$want" ]
    done
}

@test "its scanner keeps the short tag by its plain default, and finds each build under its own tag" {
    check scan "$REGISTRY" backendai/pytorch >"$STATE/found"
    [ "$(jq -r .tag "$STATE/found" | sort | paste -sd ' ')" = "2.12.0 2.12.0-py313-ubuntu24.04 2.12.0-py313-ubuntu24.04-atom 2.12.0-py313-ubuntu24.04-atommax 2.12.0-py313-ubuntu24.04-cuda12.8 2.12.0-py313-ubuntu24.04-renegade 2.12.0-py313-ubuntu24.04-rocm7.1" ]
    [ "$(jq -r 'select(.tag == "2.12.0") | .labels.build' "$STATE/found")" = py313-ubuntu24.04 ]
    [ "$(jq -r 'select(.tag | endswith("atommax")) | .labels["ai.backend.accelerators"]' "$STATE/found")" = atom-max ]
    [ "$(jq -r .architecture "$STATE/found" | sort -u)" = x86_64 ]
}

@test "its scanner skips an index of annotated entries, null included; lint says so before" {
    local repo=backendai/annotated
    push_build py313-ubuntu24.04 "" $repo
    push_build py313-ubuntu24.04-atom atom $repo
    "$VARIANTCTL" index create --quiet --namespaces rebellions --from-tags '2.12.0-*' $repo:2.12.0
    "$VARIANTCTL" index show --format json $repo:2.12.0 |
        jq '.manifests[0].annotations = {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""}' >"$STATE/annotated.json"
    run "$VARIANTCTL" lint --index "$STATE/annotated.json"
    [[ $output == *"OCV521"* ]]
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$STATE/annotated.json" \
        "http://$REGISTRY/v2/$repo/manifests/2.12.0-null"
    [ "$("$VPULL" --print-ref --profile "$STATE/machines/atom.json" "$repo:2.12.0-null")" = "docker.io/$repo@$(jq -r '.manifests[1].digest' "$STATE/annotated.json")" ]
    check scan "$REGISTRY" $repo >"$STATE/found"
    [ "$(jq -r .tag "$STATE/found" | sort | paste -sd ' ')" = "2.12.0 2.12.0-py313-ubuntu24.04 2.12.0-py313-ubuntu24.04-atom" ]
}

@test "its ImageRef, as recorded, and our rules agree on the corpus's 78 Backend.AI tags" {
    local recorded=$OCV_TOP/test/data/backendai/imageref.jsonl
    jq -r .reference "$recorded" | xargs "$VARIANTCTL" tags parse --format json >"$STATE/parsed"
    [ "$(python3 "$OCV_TOP/test/oracles/backendai/agree.py" "$recorded" <"$STATE/parsed")" = "78 48" ]
}

@test "its ImageRef says what is recorded, of every Backend.AI tag of the corpus" {
    local recorded=$OCV_TOP/test/data/backendai/imageref.jsonl
    require_fixtures tags/real_tags.txt
    diff <(grep -E '^(docker.io/)?(lablup|cr.backend.ai|backendai)/' "$OCV_FIXTURES/tags/real_tags.txt" | sed 's,^lablup,docker.io/lablup,' | sort) \
        <(jq -r .reference "$recorded" | sort)
    jq -r .reference "$recorded" >"$STATE/references"
    check imageref <"$STATE/references" >"$STATE/said"
    diff "$STATE/said" "$recorded"
}

@test "ATOM-Max: atommax and atom_max are one key of its grammar, atom-max is two" {
    local tag
    for tag in atommax atom_max atom-max; do
        run -0 "$VARIANTCTL" tags parse --format json "backendai/pytorch:2.12.0-$tag"
        [ "$(jq -r '.properties[0]' <<<"$output")" = "rebellions :: arch :: atom_max" ]
    done
    [ -z "${OCV_BACKENDAI_PYTHON:-}" ] || [ "$("$OCV_BACKENDAI_PYTHON" -c 'from ai.backend.common.docker import ImageRef
for tag in ("atommax", "atom_max", "atom-max"):
    print(*ImageRef.from_image_str(f"x/y/pytorch:2.12.0-{tag}", None, "x").tag_set[1])')" = "atommax
atom_max
atom max" ]
}

@test "the whole line: heartbeats, scanner, selector and vpull for every kind of machine" {
    local machine kind path=ai/backend/manager/sokovan/scheduler/provisioner/selectors/pool.py
    # what an agent on each kind of machine says, by Backend.AI's own agent
    mkdir -p "$STATE/site/ocivariant_backendai-0.dist-info" "$STATE/patched/${path%/*}"
    printf 'Metadata-Version: 2.1\nName: ocivariant-backendai\nVersion: 0\n' >"$STATE/site/ocivariant_backendai-0.dist-info/METADATA"
    printf '[backendai_accelerator_v21]\nocivariant = ocivariant_backendai.plugin:VariantPlugin\n' \
        >"$STATE/site/ocivariant_backendai-0.dist-info/entry_points.txt"
    export PYTHONPATH=$PYTHONPATH:$STATE/site
    for machine in "${MACHINES[@]}"; do
        kind=${machine%%=*}
        printf '#!/bin/sh\nexec %s "$@" --profile %s\n' "$VARIANTCTL" "$STATE/machines/$kind.json" >"$STATE/variantctl"
        chmod +x "$STATE/variantctl"
        "$STATE/variantctl" export backendai >"$NODES/$kind.json"
        NODE=$kind VARIANTCTL=$STATE/variantctl check heartbeat "$STATE/heartbeat.json" >/dev/null
        jq '{ocivariant: .compute_plugins.ocivariant}' "$STATE/heartbeat.json" >"$NODES/$kind.json"
    done
    # the image that the manager knows of its scanner has the short tag
    check scan "$REGISTRY" backendai/pytorch >"$STATE/found"
    [ "$(jq -r 'select(.tag == "2.12.0") | .labels["ai.backend.kernelspec"]' "$STATE/found")" = 1 ]
    # each kind's agents get the build that vpull gets there
    for machine in "${MACHINES[@]}"; do
        kind=${machine%%=*}
        jq -n --arg kind "$kind" --arg digest "$("$VPULL" --print-ref --profile "$STATE/machines/$kind.json" "$NAME" | sed 's/.*@//')" '{($kind): $digest}'
    done | jq -s add >"$STATE/expect.json"
    [ "$(jq -r '[.[]] | unique | length' "$STATE/expect.json")" = 6 ]
    cp "$("$OCV_BACKENDAI_PYTHON" -c 'import ai.backend.manager as m; print(m.__path__[0])')/${path#ai/backend/manager/}" "$STATE/patched/$path"
    patch -s -d "$STATE/patched" -p1 <"$OCV_TOP/contrib/backendai/selectors-pool-26.9.6.patch"
    EXPECT=$STATE/expect.json POOL=$STATE/patched/$path check place kinds
}
