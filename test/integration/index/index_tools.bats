#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Indexes that other tools write (docs/authoring.md says how), and the YAML source of ours.

load ../harness
load ../schema

setup_file()
{
    require docker-registry skopeo
    state_start
    start_podman
    export L=$STATE/images
    mkimage "$L" cpu --file etc/build=cpu
    mkimage "$L" cuda --file etc/build=cuda --layer 300000
    mkimage "$L" rocm --file etc/build=rocm --layer 400000
    start_registry
    export R=$REGISTRY
    podman_trust "$R"
    local name
    for name in cpu cuda rocm; do
        push_layout "$L:$name" "$R/app/$name:1"
    done
}

teardown_file()
{
    podman system reset --force >/dev/null 2>&1 || true
    state_stop
}

H100=$OCV_TOP/plugins/profiles/h100.json

chosen() # IMAGE
{
    "$VARIANTCTL" resolve --profile "$H100" "$1" | jq -r .selected.label
}

@test "buildah manifest add --annotation makes an index that vpull chooses in" {
    require buildah
    local b="buildah --storage-driver overlay"
    $b manifest create app >/dev/null
    $b manifest add --tls-verify=false --annotation dev.ocivariant.label=null --annotation dev.ocivariant.properties= app "docker://$R/app/cpu:1"
    # the option is CSV: a value with commas needs quotes
    $b manifest add --tls-verify=false --variant x-cuda12-8 --annotation dev.ocivariant.label=cuda12.8 \
        --annotation '"dev.ocivariant.properties=nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real"' \
        app "docker://$R/app/cuda:1"
    $b manifest add --tls-verify=false --variant x-rocm7-1 --annotation dev.ocivariant.label=rocm7.1 \
        --annotation '"dev.ocivariant.properties=amd :: gfx_arch :: gfx942"' app "docker://$R/app/rocm:1"
    $b manifest push --all --tls-verify=false --format oci app "docker://$R/buildah:1"
    run -0 "$VARIANTCTL" index show --format json "$R/buildah:1"
    [ "$(jq -r '[.manifests[].annotations["dev.ocivariant.label"]] | sort | join(" ")' <<<"$output")" = "cuda12.8 null rocm7.1" ]
    [ "$(jq -r '.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.8").annotations["dev.ocivariant.properties"]' <<<"$output")" = "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real" ]
    [ "$(chosen "$R/buildah:1")" = cuda12.8 ]
    # what these versions cannot write on the index itself, and the order, we add
    run -0 "$VARIANTCTL" index annotate --relayout --namespaces 'amd, nvidia' "$R/buildah:1"
    run -0 "$VARIANTCTL" index show --format json "$R/buildah:1"
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "amd, nvidia" ]
    [ "$(jq -r '.manifests[0].annotations' <<<"$output")" = null ] # the default, as we write it
    [ "$(chosen "$R/buildah:1")" = cuda12.8 ]
    run -0 "$VARIANTCTL" lint "$R/buildah:1"
    [[ $output == "0 errors, 0 warnings, "* ]]
}

@test "podman manifest makes an index that vpull chooses in" {
    require podman
    # as with buildah before podman 5, and as it is from then on
    local properties='dev.ocivariant.properties=nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real'
    [ "$(podman version --format '{{.Client.Version}}' | cut -d. -f1)" -ge 5 ] || properties="\"$properties\""
    podman manifest create papp >/dev/null
    podman manifest add --annotation dev.ocivariant.label=null --annotation dev.ocivariant.properties= papp "docker://$R/app/cpu:1"
    podman manifest add --variant x-cuda12-8 --annotation dev.ocivariant.label=cuda12.8 \
        --annotation "$properties" papp "docker://$R/app/cuda:1"
    podman manifest push --all --tls-verify=false --format oci papp "docker://$R/podman:1"
    run -0 "$VARIANTCTL" index show --format json "$R/podman:1"
    [ "$(jq '.manifests | length' <<<"$output")" = 2 ]
    [ "$(jq -r '.manifests[1].annotations["dev.ocivariant.properties"]' <<<"$output")" = "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real" ]
    [ "$(chosen "$R/podman:1")" = cuda12.8 ]
}

@test "raw JSON in a layout, pushed by skopeo, is read as it was written" {
    local cpu cuda
    cpu=$(jq -c '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "cpu") | {mediaType, digest, size}' "$L/index.json")
    cuda=$(jq -c '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "cuda") | {mediaType, digest, size}' "$L/index.json")
    jq -n --argjson cpu "$cpu" --argjson cuda "$cuda" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [
        $cpu + {platform: {os: "linux", architecture: "amd64"}, annotations: {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""}},
        $cuda + {platform: {os: "linux", architecture: "amd64", variant: "x-cuda"}, annotations: {"dev.ocivariant.label": "cuda", "dev.ocivariant.properties": "nvidia::sm_arch::90_real"}}]}' >"$STATE/raw.json"
    local digest
    digest=$(sha256sum <"$STATE/raw.json" | cut -d' ' -f1)
    cp -r "$L" "$STATE/raw"
    cp "$STATE/raw.json" "$STATE/raw/blobs/sha256/$digest"
    jq --arg d "sha256:$digest" --argjson n "$(wc -c <"$STATE/raw.json")" '.manifests = [{mediaType: "application/vnd.oci.image.index.v1+json", digest: $d, size: $n, annotations: {"org.opencontainers.image.ref.name": "raw"}}]' "$L/index.json" >"$STATE/raw/index.json"
    push_layout "$STATE/raw:raw" "$R/raw:1"
    "$VARIANTCTL" index show --format json "$R/raw:1" | cmp - "$STATE/raw.json"
    [ "$(chosen "$R/raw:1")" = cuda ]
    # adding keeps the bytes of both entries
    run -0 "$VARIANTCTL" index add "$R/raw:1" "rocm=$R/app/rocm:1,amd :: gfx_arch :: gfx942" --namespaces 'nvidia, amd'
    "$VARIANTCTL" index show --format json "$R/raw:1" >"$STATE/more.json"
    head -c 400 "$STATE/raw.json" | cmp -n 400 - "$STATE/more.json"
    run -0 "$VARIANTCTL" index diff "$STATE/raw.json" "$STATE/more.json"
    [[ ${lines[0]} == "+ rocm  linux/amd64/x-rocm  sha256:"* ]]
    [ "${lines[-1]}" = "+ dev.ocivariant.namespaces: nvidia, amd" ]
}

source_file()
{
    cat >"$STATE/app.yaml" <<YAML
schema: dev.ocivariant.index-source/v1
target: $R/yaml:1
namespaces: [nvidia, amd]
annotations:
  org.opencontainers.image.version: "1.0"
variants:
  - label: null
    image: $R/app/cpu:1
  - label: cuda12.8
    image: $R/app/cuda:1
    properties:
      nvidia:
        cuda_version_lower_bound: 12.8
        sm_arch: [90_real, 80_real]
  - label: rocm7.1
    image: oci:$L:rocm
    properties: ["amd :: gfx_arch :: gfx942"]
YAML
}

@test "create --from a YAML file, and its target can be another" {
    source_file
    run -0 "$VARIANTCTL" index create --quiet --from "$STATE/app.yaml"
    local digest=$output
    run -0 "$VARIANTCTL" index create --quiet --from "$STATE/app.yaml" "oci:$STATE/yaml:1"
    [ "$output" = "$digest" ]
    run -0 "$VARIANTCTL" index show --format json "$R/yaml:1"
    [ "$(jq -r '.annotations["org.opencontainers.image.version"]' <<<"$output")" = 1.0 ]
    [ "$(jq -r '[.manifests[] | .annotations["dev.ocivariant.label"] // "-"] | join(" ")' <<<"$output")" = "- cuda12.8 rocm7.1" ]
    run -0 "$VARIANTCTL" index create --quiet --dry-run --from - "$R/yaml:2" <"$STATE/app.yaml"
    [ "$output" = "$digest" ]
    # builds beside those of the file
    run -0 --separate-stderr "$VARIANTCTL" index create --format json --dry-run --from "$STATE/app.yaml" "old=oci:$L:cuda,nvidia :: sm_arch :: 70_real"
    [ "$(jq -r '[.name, .tag, (.document.manifests | length | tostring)] | join(" ")' <<<"$output")" = "$R/yaml 1 4" ]
}

@test "mistakes in the YAML are told with file and line, exit 4, and nothing is pushed" {
    source_file
    sed -i 's/label: rocm7.1/label: rocm..7/' "$STATE/app.yaml"
    run -4 "$VARIANTCTL" index create --from "$STATE/app.yaml" "$R/badyaml:1"
    [[ ${lines[0]} == "variantctl: $STATE/app.yaml:15: invalid value 'rocm..7' for label: a label: "* ]]
    source_file
    sed -i "s|oci:$L:rocm|$R/app/nowhere:1|" "$STATE/app.yaml"
    run -1 "$VARIANTCTL" index create --from "$STATE/app.yaml" "$R/badyaml:1"
    [[ ${lines[0]} == "variantctl: $STATE/app.yaml:16: rocm7.1: $R/app/nowhere:1: "* ]]
    source_file
    sed -i 's/rocm7.1/cuda12.8/' "$STATE/app.yaml"
    run -4 "$VARIANTCTL" index create --from "$STATE/app.yaml" "$R/badyaml:1"
    [[ ${lines[1]} == "variantctl: error: $STATE/app.yaml:15: cuda12.8: 'cuda12.8' has other properties in line 9 [OCV116 label-sets-differ]" ]]
    source_file
    sed -i 's/namespaces: .*/namespaces: [nvidia]/' "$STATE/app.yaml"
    run -4 "$VARIANTCTL" index create --from "$STATE/app.yaml" "$R/badyaml:1"
    [[ ${lines[0]} == "variantctl: error: $STATE/app.yaml:15: rocm7.1: the namespace amd is not in 'namespaces' [OCV105 namespace-not-listed]" ]]
    [ "$(curl -s -o "$STATE/out" -w '%{http_code}' "http://$R/v2/badyaml/tags/list")" = 404 ]
}

@test "--layout same-platform, from the command line or the file" {
    source_file
    echo 'layout: same-platform' >>"$STATE/app.yaml"
    run -0 "$VARIANTCTL" index create --quiet --from "$STATE/app.yaml" "oci:$STATE/same:1"
    run -0 "$VARIANTCTL" index show --format json "oci:$STATE/same:1"
    [ "$(jq -c '[.manifests[].platform] | unique' <<<"$output")" = '[{"architecture":"amd64","os":"linux"}]' ]
    run -0 "$VARIANTCTL" index create --quiet --layout hidden --from "$STATE/app.yaml" "oci:$STATE/same:2"
    run -0 "$VARIANTCTL" index show --format json "oci:$STATE/same:2"
    [ "$(jq -r '.manifests[2].platform.variant' <<<"$output")" = x-rocm7-1 ]
    run -0 "$VARIANTCTL" index diff --format json "oci:$STATE/same:1" "oci:$STATE/same:2"
    [ "$(jq -c '[.entries[].change]' <<<"$output")" = '["changed","changed"]' ]
    run -5 "$VARIANTCTL" index diff --exit-code "oci:$STATE/same:1" "oci:$STATE/same:2"
    run -0 "$VARIANTCTL" index diff --exit-code "oci:$STATE/same:1" "oci:$STATE/same:1"
    [ -z "$output" ]
}

@test "the source file is valid by its schema, and what the command refuses is not" {
    require_validator
    source_file
    valid index-source "$STATE/app.yaml"
    valid index-source "$OCV_TOP/test/data/fuzz/index_source/full.yaml"
    sed -i 's/label: rocm7.1/label: rocm..7/' "$STATE/app.yaml"
    run ! valid index-source "$STATE/app.yaml"
    source_file
    echo 'colour: red' >>"$STATE/app.yaml"
    run ! valid index-source "$STATE/app.yaml"
}
