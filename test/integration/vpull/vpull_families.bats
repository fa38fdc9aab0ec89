#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Which image of the shipped families each machine gets: small images under real tags, in a registry of this machine.

load ../harness
load ../tags

setup_file()
{
    local image
    state_start
    require docker-registry skopeo jq
    start_named_registries
    while read -r image; do
        mkimage "$STATE/layout" one --label "build=$image"
        skopeo --insecure-policy copy --quiet --preserve-digests --dest-tls-verify=false \
            "oci:$STATE/layout:one" "docker://$REGISTRY/$image" 3>&-
    done < <(while read -r repository tags; do for image in $tags; do echo "$repository:$image"; done; done <<'TAGS'
ollama/ollama 0.32.15 0.32.15-rocm latest rocm 0.5.12 0.5.12-rocm
ggml-org/whisper.cpp main main-vulkan main-intel
open-webui/open-webui v0.6.36 v0.6.36-cuda v0.6.36-cuda126 v0.6.36-ollama
blakeblackshear/frigate 0.16.2 0.16.2-tensorrt 0.16.2-rocm 0.16.2-rk stable stable-tensorrt
yanwk/comfyui-boot cu126-slim cu128-slim cu130-slim-v2 rocm cpu
mmartial/comfyui-nvidia-docker ubuntu24_cuda12.6-20260605 ubuntu24_cuda12.8-20260605
invoke-ai/invokeai v6.8.1-cuda v6.8.1-rocm v6.8.1-cpu
xprobe/xinference v2.0.0 v2.0.0-cpu
openmmlab/lmdeploy v0.12.0-cu12.8 v0.12.0-cu11 v0.16.0-cu13.0 v0.16.0-cu12.8
nvidia/cuopt 25.12.0-cuda12.9-py3.12 25.12.0-cuda12.9-py3.13 25.12.0-cuda13.0-py3.13
koboldai/koboldcpp latest
TAGS
    )
    profile p100 '"60_real"' 13 0
    profile t4 '"75_real"' 12 2
    profile a10 '"86_real","80_real"' 12 4
    profile h100 '"90a_real","90_real"' 13 0
    profile b5090 '"120a_real","120_real"' 12 8
    echo '{"schema": "dev.ocivariant.profile/v1", "platform": {"os": "linux", "architecture": "amd64"},
        "namespaces": []}' >"$STATE/cpu.json"
    for image in mi300:gfx942:7.2 vega:gfx906:7.2 mi300old:gfx942:6.2; do
        IFS=: read -r name arch rocm <<<"$image"
        jq --arg a "$arch" --arg r "$rocm" '.namespaces = [{namespace: "amd", features: [
            {name: "gfx_arch", values: [$a]}, {name: "rocm_user_space", values: [$r]}]}]' "$STATE/cpu.json" >"$STATE/$name.json"
    done
    export REGISTRY CONFIG OCV_DATADIR=$DATA
}

# everyone IMAGE <<< "MACHINE TAG" lines; TAG - is exit 3: nothing fits
everyone()
{
    local machine tag repository=${1%:*}
    while read -r machine tag; do
        run --separate-stderr "$VPULL" --config "$CONFIG" --print-ref --profile "$STATE/$machine.json" "$1"
        echo "$1 on $machine: $status '$output', wanted $tag; $stderr"
        if [ "$tag" = - ]; then
            [ "$status" -eq 3 ]
        else
            [ "$status $output" = "0 $repository@$(digest_of "${repository#*.io/}:$tag")" ]
        fi
    done
}

@test "Ollama: ROCm where its build has the GPU and the driver, else the one for every machine" {
    everyone docker.io/ollama/ollama:0.32.15 <<'END'
cpu 0.32.15
p100 0.32.15
h100 0.32.15
mi300 0.32.15-rocm
vega 0.32.15
mi300old 0.32.15
END
    printf 'h100 latest\nmi300 rocm\n' | everyone docker.io/ollama/ollama:latest
    printf 'mi300 0.5.12\nvega 0.5.12\n' | everyone docker.io/ollama/ollama:0.5.12
}

@test "what is for one vendor and not known is left out, and the plain image stays" {
    printf '%s main\n' cpu h100 mi300 | everyone ghcr.io/ggml-org/whisper.cpp:main
    printf '%s stable\n' cpu h100 mi300 | everyone ghcr.io/blakeblackshear/frigate:stable
    printf '%s latest\n' cpu h100 mi300 | everyone docker.io/koboldai/koboldcpp:latest
}

@test "Open WebUI and Frigate: CUDA by their documents" {
    printf 'cpu v0.6.36\np100 v0.6.36-cuda126\nt4 v0.6.36-cuda126\nb5090 v0.6.36\n' |
        everyone ghcr.io/open-webui/open-webui:v0.6.36
    printf 'cpu 0.16.2\nt4 0.16.2\na10 0.16.2-tensorrt\nb5090 0.16.2\nmi300 0.16.2\n' |
        everyone ghcr.io/blakeblackshear/frigate:0.16.2
}

@test "ComfyUI and InvokeAI: PyTorch's wheels for that CUDA" {
    everyone docker.io/yanwk/comfyui-boot:slim <<'END'
p100 cu126-slim
t4 cu126-slim
h100 cu130-slim-v2
b5090 cu128-slim
cpu -
mi300 -
END
    # its driver must have the version itself
    printf 'p100 %s\nb5090 %s\nt4 -\n' ubuntu24_cuda12.6-20260605 ubuntu24_cuda12.8-20260605 |
        everyone docker.io/mmartial/comfyui-nvidia-docker:20260605
    printf 'cpu %s\np100 %s\nt4 %s\nb5090 %s\nvega %s\n' v6.8.1-cpu v6.8.1-cpu v6.8.1-cuda v6.8.1-cuda v6.8.1-cpu |
        everyone ghcr.io/invoke-ai/invokeai:v6.8.1
}

@test "Xinference, LMDeploy and cuOpt" {
    printf 'cpu v2.0.0-cpu\na10 v2.0.0-cpu\nh100 v2.0.0\n' | everyone docker.io/xprobe/xinference:v2.0.0
    printf 'b5090 v0.12.0-cu12.8\nt4 v0.12.0-cu12.8\np100 -\n' | everyone docker.io/openmmlab/lmdeploy:v0.12.0
    # from this release on the image for 12.8 has PyTorch for 12.6
    printf 'h100 v0.16.0-cu13.0\nb5090 -\na10 v0.16.0-cu12.8\n' | everyone docker.io/openmmlab/lmdeploy:v0.16.0
    printf 'h100 %s\nb5090 -\np100 -\n' 25.12.0-cuda13.0-py3.13 | everyone docker.io/nvidia/cuopt:25.12.0
}

@test "a tag of what looks like a mirror is taken as it is, with a note; said to be one, the rules apply" {
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci:$STATE/layout:one" "docker://$REGISTRY/hub/ollama/ollama:latest" 3>&-
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci:$STATE/layout:one" "docker://$REGISTRY/hub/ollama/ollama:rocm" 3>&-
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci:$STATE/layout:one" "docker://$REGISTRY/own/app:latest" 3>&-
    run -0 --separate-stderr "$VPULL" --insecure "$REGISTRY" --profile "$STATE/mi300.json" --dry-run "$REGISTRY/hub/ollama/ollama:latest"
    [[ $stderr == *"note: tag latest was taken as it is, since no tag rules are for $REGISTRY/hub; if that mirrors docker.io, say so: registries: {$REGISTRY/hub: {mirror_of: docker.io}}"* ]]
    run -0 --separate-stderr "$VPULL" --insecure "$REGISTRY" --profile "$STATE/mi300.json" --dry-run "$REGISTRY/own/app:latest"
    [[ $stderr != *"note: tag"* ]]
    printf 'registries: {"%s": {insecure: true}, "%s/hub": {mirror_of: docker.io}}\n' "$REGISTRY" "$REGISTRY" >"$BATS_TEST_TMPDIR/config.yaml"
    run -0 --separate-stderr "$VPULL" --config "$BATS_TEST_TMPDIR/config.yaml" --profile "$STATE/mi300.json" --dry-run "$REGISTRY/hub/ollama/ollama:latest"
    [[ $stderr == *"tag rocm by the tag rules of ollama"* && $stderr != *"note: tag"* ]]
}
