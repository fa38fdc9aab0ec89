#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Tags that leave open which CUDA or ROCm they need: the images' own configurations say it, and no more of
# them are read than need be. The registries of the real names are pointed to one on this machine.

load ../harness
load ../variantd
load ../tags

setup_file()
{
    state_start
    require docker-registry skopeo jq
    start_named_registries
    VLLM=vllm/vllm-openai SGLANG=lmsysorg/sglang LOCALAI=localai/localai ROCM=rocm/vllm
    # the default build of 0.11.0 has CUDA 12.8, as its configuration says
    put "$VLLM:v0.11.0" NVIDIA_VISIBLE_DEVICES=all CUDA_VERSION=12.8.1 NV_CUDA_CUDART_VERSION=12.8.90-1
    put "$VLLM:v0.11.0-cu130" CUDA_VERSION=13.0.1
    # one that does not say it, and one that is alone
    put "$VLLM:v0.8.5" PATH=/bin
    put "$VLLM:v0.8.5-cu121" CUDA_VERSION=12.1.0
    put "$VLLM:gemma4" CUDA_VERSION=12.9.1
    # one whose name is wrong
    put "$SGLANG:v0.5.10" NV_CUDA_CUDART_VERSION=12.9.79-1
    put "$SGLANG:v0.5.10-cu126" CUDA_VERSION=13.0.1
    put "$LOCALAI:v3.1.0-gpu-nvidia-cuda-12" CUDA_VERSION=12.8.0
    put "$LOCALAI:v3.1.0-gpu-nvidia-cuda-13" CUDA_VERSION=13.0.0
    put "$LOCALAI:v3.1.0-cpu" PATH=/bin
    put "$ROCM:vllm_0.9.2" ROCM_VERSION=6.4.1
    put "$ROCM:rocm7.0_vllm_0.9.2" ROCM_VERSION=7.0.0
    profile r580 '"90_real","90_virtual"' 13 0
    profile r570 '"90_real","90_virtual"' 12 8
    profile r535 '"90_real","90_virtual"' 12 2
    jq -n '{schema: "dev.ocivariant.profile/v1", platform: {os: "linux", architecture: "amd64"}, namespaces: []}' >"$STATE/cpu.json"
    jq '.namespaces = [{namespace: "amd", features: [{name: "rocm_user_space", values: ["6.4", "6.3", "6.2", "7.0"]}, {name: "gfx_arch", values: ["gfx942"]}]}]' \
        "$STATE/cpu.json" >"$STATE/mi300.json"
    export REGISTRY REGISTRY_NAME DATA CONFIG VLLM SGLANG LOCALAI ROCM OCV_STATE_DIR=$STATE/node
}

setup()
{
    export OCV_DATADIR=$DATA XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
}

# put REPOSITORY:TAG [NAME=VALUE...]: an image with this environment
put()
{
    local variable args=()
    for variable in "${@:2}"; do
        args+=(--env "$variable")
    done
    mkimage "$STATE/layout" one --file "etc/build=$1" "${args[@]}"
    skopeo --insecure-policy copy --quiet --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:one" "docker://$REGISTRY/$1" 3>&-
}

# blobs [PROGRAM]: how many small blobs the registry was asked for (by it; skopeo asks, too)
blobs()
{
    upstream_count "\"GET /v2/.*/blobs/.*\"${1:-}"
}

# chooses PROFILE IMAGE TAG BLOBS: that tag of the same repository, and so many configurations are read
chooses()
{
    local repository=${2%:*} wanted before
    wanted=$repository@$(digest_of "${repository#*.io/}:$3")
    before=$(blobs)
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/$1.json" "$2"
    echo "$output, wanted $wanted; $stderr; $(($(blobs) - before)) configurations"
    [ "$output" = "$wanted" ]
    [ $(($(blobs) - before)) = "$4" ]
}

@test "what the tag leaves open its configuration says, once" {
    chooses r580 "docker.io/$VLLM:v0.11.0" v0.11.0-cu130 2
    # the default build was asked because it was named; now both are known
    chooses r580 "docker.io/$VLLM:v0.11.0" v0.11.0-cu130 0
    chooses r570 "docker.io/$VLLM:v0.11.0" v0.11.0 0
    chooses r535 "docker.io/$VLLM:v0.11.0" v0.11.0 0
    # a damaged file is one that is not there
    local file
    for file in "$XDG_CACHE_HOME"/ocivariant/configs/*/*; do
        printf 'x' >"$file"
    done
    chooses r570 "docker.io/$VLLM:v0.11.0" v0.11.0 1
}

@test "a major version alone is made precise, and only where that could win" {
    chooses cpu "docker.io/$LOCALAI:v3.1.0" v3.1.0-cpu 1
    # CUDA 12.8 is the best that this driver runs, whatever the other one is
    chooses r570 "docker.io/$LOCALAI:v3.1.0" v3.1.0-gpu-nvidia-cuda-12 1
    chooses r580 "docker.io/$LOCALAI:v3.1.0" v3.1.0-gpu-nvidia-cuda-13 1
}

@test "ROCm: what follows of a version follows of the configuration's, too" {
    chooses mi300 "docker.io/$ROCM:vllm_0.9.2" vllm_0.9.2 1
    run -0 --separate-stderr "$VARIANTCTL" resolve --config "$CONFIG" --profile "$STATE/mi300.json" "docker.io/$ROCM:vllm_0.9.2"
    [ "$(jq -c '.selected.matched' <<<"$output")" = '["amd :: gfx_arch :: gfx942","amd :: rocm_user_space :: 6.4"]' ]
}

@test "a tag whose configuration is silent, too, is what was asked for" {
    chooses r580 "docker.io/$VLLM:v0.8.5" v0.8.5 1
    chooses r580 "docker.io/$VLLM:v0.8.5" v0.8.5 0
    # and one without others of its set is not asked at all
    chooses r535 "docker.io/$VLLM:gemma4" gemma4 0
}

@test "the configuration wins over the tag, and the contradiction is reported" {
    local wrong="the tag says nvidia :: cuda_version_lower_bound :: 12.6, its configuration CUDA_VERSION=13.0.1"
    chooses r570 "docker.io/$SGLANG:v0.5.10" v0.5.10 2
    [[ $stderr == *"warning: $SGLANG:v0.5.10-cu126: $wrong"* ]]
    run -0 --separate-stderr "$VARIANTCTL" explain --config "$CONFIG" --profile "$STATE/r570.json" "docker.io/$SGLANG:v0.5.10"
    [[ $output == *"Read of their configurations"*"v0.5.10  NV_CUDA_CUDART_VERSION=12.9.79-1"*"v0.5.10-cu126  $wrong; the configuration counts"* ]]
    [[ $stderr == *"$wrong"* ]]
}

@test "tags parse and tags plan say what is left to the configuration" {
    run -0 "$VARIANTCTL" tags parse "docker.io/$VLLM:v0.11.0"
    [ "$(jq -c '[.asks, .refused]' <<<"$output")" = '[["cuda"],"which CUDA version it needs is not stated"]' ]
    run -0 "$VARIANTCTL" tags parse "docker.io/$VLLM:v0.11.0-cu130"
    [ "$(jq -c '.asks' <<<"$output")" = null ]
    run -0 "$VARIANTCTL" tags parse --format text "docker.io/$VLLM:v0.11.0"
    [[ $output == *"asks its configuration: cuda"*"no variant else: which CUDA version it needs is not stated"* ]]
    printf 'v0.11.0\nv0.11.0-cu130\n' >"$BATS_TEST_TMPDIR/tags"
    run -0 "$VARIANTCTL" tags plan --format text --tags-file "$BATS_TEST_TMPDIR/tags" "docker.io/$VLLM"
    [[ $output == *"v0.11.0 "*"(its configuration says: cuda)"*"v0.11.0-cu130"* ]]
}

@test "variantd asks them, too, each once, and logs a contradiction" {
    OCV_DATADIR=$DATA start_variantd configs --registry "docker.io=http://$REGISTRY" \
        --profile "$STATE/r570.json" --tag-rules on
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.11.0?ns=docker.io"
    [ "$(header docker-content-digest)" = "$(digest_of "$VLLM:v0.11.0")" ]
    [ "$(blobs variantd)" = 1 ]
    ask HEAD "/resolver/v2/$SGLANG/manifests/v0.5.10?ns=docker.io"
    [ "$(header docker-content-digest)" = "$(digest_of "$SGLANG:v0.5.10")" ]
    [ "$(grep -c "docker.io/$SGLANG:v0.5.10-cu126: the tag says nvidia :: cuda_version_lower_bound :: 12.6, its configuration CUDA_VERSION=13.0.1" "$STATE/log/configs")" = 1 ]
    # what was read is kept, by its digest
    for _ in 1 2; do
        ask HEAD "/resolver/v2/$VLLM/manifests/v0.11.0?ns=docker.io"
        [ "$(header docker-content-digest)" = "$(digest_of "$VLLM:v0.11.0")" ]
        ask HEAD "/resolver/v2/$SGLANG/manifests/v0.5.10?ns=docker.io"
    done
    [ "$(blobs variantd)" = 3 ]
    [ "$(metric 'variantd_upstream_requests_total{what="config"}')" = 3 ]
    [ "$(grep -c "the configuration counts" "$STATE/log/configs")" = 1 ]
    # a tag of which not even the configuration tells is left to the client, as is one that is alone
    ask HEAD "/resolver/v2/$VLLM/manifests/v0.8.5?ns=docker.io"
    [ "$code" = 404 ]
    ask HEAD "/resolver/v2/$VLLM/manifests/gemma4?ns=docker.io"
    [ "$code" = 404 ]
}
