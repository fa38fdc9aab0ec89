#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Ordinary images, checked by their own configuration (NVIDIA_REQUIRE_*) under `config_policy`: by the OCI hook for
# containers that get an NVIDIA device, and by `variantctl verify`.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    start_registry
    # two nodes: a data-centre GPU, and a GeForce, both with a driver for CUDA 12.2
    jq '(.namespaces[] | select(.namespace == "nvidia")) |= (.driver = "535.161"
        | (.features[] | select(.name == "cuda_version_lower_bound")).values |= map(select(startswith("12.") | not) // select(. == "12.2" or . == "12.1" or . == "12.0")))' \
        "$PROFILES/h100.json" >"$STATE/h100-535.json"
    jq '(.namespaces[] | select(.namespace == "nvidia")).devices[].name = "NVIDIA GeForce RTX 4090"' \
        "$STATE/h100-535.json" >"$STATE/geforce.json"
    start_variantd geforce --registry "$REGISTRY" --profile "$STATE/geforce.json"
    GEFORCE=$VARIANTD_SOCKET
    start_variantd --registry "$REGISTRY" --profile "$STATE/h100-535.json"
    local policy
    for policy in enforce warn off; do
        printf 'config_policy: %s\nsocket: %s\n' "$policy" "$VARIANTD_SOCKET" >"$STATE/$policy.yaml"
    done
    printf 'socket: %s\n' "$VARIANTD_SOCKET" >"$STATE/default.yaml"
    printf 'config_policy: enforce\nsocket: %s\n' "$GEFORCE" >"$STATE/geforce.yaml"
    printf 'config_policy: enforce\npolicy: off\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/alone.yaml"
    printf 'config_policy: enforce\nallow: ["r.example/team/*"]\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/allow.yaml"
    printf 'config_policy: enforce\nrepositories: {"r.example/**": {choose: shadow}}\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/shadow.yaml"
}

NEWER="this image is built for CUDA 13.0; driver 535.161 runs 12: driver 580 or newer"
WITHIN="this image is built for CUDA 12.8; driver 535.161 has 12.2, and runs it by CUDA minor-version compatibility, without what is newer; not code that is compressed with zstd, which drivers read from CUDA 12.4 on"

# container POLICY CONDITIONS [JQ]: the hook's verdict on a container with a GPU and these conditions
container()
{
    mkdir -p "$BATS_TEST_TMPDIR/bundle"
    jq -n --arg require "NVIDIA_REQUIRE_CUDA=$2" "{annotations: {\"org.opencontainers.image.ref.name\": \"r.example/team/app:1\"},
        process: {env: [\"PATH=/bin\", \"NVIDIA_VISIBLE_DEVICES=all\", \$require]}, linux: {devices: [{path: \"/dev/nvidia0\"}]}} | ${3:-.}" \
        >"$BATS_TEST_TMPDIR/bundle/config.json"
    OCIVARIANT_CONFIG=$STATE/$1.yaml "$HOOK" <<<"{\"id\":\"c\",\"bundle\":\"$BATS_TEST_TMPDIR/bundle\"}"
}

@test "a newer CUDA major is refused under enforce, and said under warn, which is the default" {
    run -1 container enforce 'cuda>=13.0'
    [ "$output" = "ocivariant: r.example/team/app:1: $NEWER" ]
    local policy
    for policy in warn default; do
        run -0 container "$policy" 'cuda>=13.0'
        [ "$output" = "ocivariant: warning: r.example/team/app:1: $NEWER" ]
    done
    run -0 container off 'cuda>=13.0'
    [ -z "$output" ]
    # the policy of variants is another one
    run -1 container alone 'cuda>=13.0'
    # what is allowed or in shadow is not refused
    run -0 container allow 'cuda>=13.0'
    [ -z "$output" ]
    run -0 container shadow 'cuda>=13.0'
    [[ $output == *"warning: "*"$NEWER" ]]
}

@test "within the driver's major it is a warning; what is met says nothing" {
    run -0 container enforce 'cuda>=12.8'
    [ "$output" = "ocivariant: warning: r.example/team/app:1: $WITHIN" ]
    run -0 container enforce 'cuda>=12.2'
    [ -z "$output" ]
    # by the compatibility libraries in the image, for this branch of the driver
    run -0 container enforce 'cuda>=13.0 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536'
    [ -z "$output" ]
    run -1 container enforce 'cuda>=13.0 brand=nvidia,driver>=550,driver<551'
    run -1 container enforce 'arch>=10.0'
    [[ $output == *"this image is not for compute capability 9.0 "* ]]
    run -0 container enforce 'nonsense'
    [[ $output == *"warning: "*"NVIDIA_REQUIRE_CUDA cannot be read"* ]]
}

@test "a GeForce with compatibility libraries is warned of" {
    run -0 container geforce 'cuda>=12.8 brand=tesla,driver>=535,driver<536'
    [[ $output == *"warning: "*"the compatibility libraries in it are not for NVIDIA GeForce RTX 4090, and fail there (error 804)" ]]
    run -0 container geforce 'cuda>=12.8 brand=geforcertx,driver>=535,driver<536'
    [[ $output == *"warning: "*"newer than driver 535.161; the compatibility libraries"* ]]
}

@test "containers without an NVIDIA device, and with NVIDIA_DISABLE_REQUIRE, are left alone" {
    run -0 container enforce 'cuda>=13.0' '.linux.devices = []'
    [ -z "$output" ]
    run -0 container enforce 'cuda>=13.0' '.process.env += ["NVIDIA_DISABLE_REQUIRE=1"]'
    [ -z "$output" ]
    run -1 container enforce 'cuda>=13.0' '.linux.devices = [] | .annotations["cdi.k8s.io/x"] = "nvidia.com/gpu=0"'
    run -1 container enforce 'cuda>=13.0' '.linux.devices = [] | .hooks.prestart = [{path: "/usr/bin/nvidia-container-runtime-hook"}]'
    run -0 container enforce 'cuda>=13.0' '.linux.devices = [] | .hooks.prestart = [{path: "/usr/bin/nvidia-container-runtime-hook"}] | .process.env[1] = "NVIDIA_VISIBLE_DEVICES=void"'
}

@test "variantd answers what it is asked, bounded" {
    local answer
    answer=$(verdict 'config={"config":{"Env":["NVIDIA_REQUIRE_CUDA=cuda>=13.0"]}}' 'ref=r.example/team/app:1' devices=all)
    [ "$(jq -c .config <<<"$answer")" = "{\"verdict\":\"misfit\",\"reason\":\"$NEWER\"}" ]
    answer=$(verdict 'config=nonsense')
    [ "$(jq -c .config <<<"$answer")" = null ]
    answer=$(verdict 'config={"config":{"Env":["NVIDIA_REQUIRE_CUDA=cuda>=12.0"]}}')
    [ "$(jq -c .config.verdict <<<"$answer")" = '"fits"' ]
}

@test "a family whose builds do not run on older drivers is refused within the major, too" {
    OCV_DATADIR=$OCV_TOP/plugins start_variantd strict --registry "$REGISTRY" --profile "$STATE/h100-535.json" --tag-rules on
    printf 'config_policy: enforce\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/strict.yaml"
    run -1 container strict 'cuda>=12.5' '.annotations[] = "docker.io/tensorflow/tensorflow:2.18.0-gpu"'
    [[ $output == "ocivariant: docker.io/tensorflow/tensorflow:2.18.0-gpu: by its tag's family it does not run here: "*"cuda_version_lower_bound"*"12.5"* ]]
    # machine code of vLLM's runs
    run -0 container strict 'cuda>=12.9' '.annotations[] = "docker.io/vllm/vllm-openai:v0.12.0"'
    [[ $output == "ocivariant: warning: "* ]]
    # without the rules nobody knows
    run -0 container enforce 'cuda>=12.5' '.annotations[] = "docker.io/tensorflow/tensorflow:2.18.0-gpu"'
    [[ $output == "ocivariant: warning: "* ]]
    stop_daemon strict
}

@test "podman refuses a container with a GPU, and starts one without" {
    require podman runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    mkdir -p "$STATE/hooks.d" "$STATE/rootfs/bin" "$STATE/dev"
    printf '#!/bin/sh\nOCIVARIANT_CONFIG=%s exec %s\n' "$STATE/enforce.yaml" "$HOOK" >"$STATE/hook.sh"
    chmod 755 "$STATE/hook.sh"
    sed "s|@LIBEXECDIR@/ocivariant-oci-hook|$STATE/hook.sh|" "$OCV_TOP/plugins/oci-hook/50-ocivariant.json.in" >"$STATE/hooks.d/50-ocivariant.json"
    printf 'int main(void){return 0;}' | cc -static -x c -o "$STATE/rootfs/bin/true" -
    tar -C "$STATE/rootfs" -c . | podman import --change 'ENV NVIDIA_REQUIRE_CUDA="cuda>=13.0"' --change 'ENV NVIDIA_VISIBLE_DEVICES=all' - localhost/cuda:13 >/dev/null 2>&1 3>&-
    : >"$STATE/dev/nvidia0"
    start()
    {
        podman --hooks-dir "$STATE/hooks.d" --runtime "$1" run --rm --network none --ulimit nofile=1024:1024 \
            --ulimit nproc=1000:1000 "${@:2}" localhost/cuda:13 /bin/true 3>&-
    }
    local runtime
    for runtime in /usr/sbin/runc "$(command -v crun || true)"; do
        [ -n "$runtime" ] || continue
        run -0 start "$runtime"
        run ! start "$runtime" --volume "$STATE/dev/nvidia0:/dev/nvidia0"
        echo "$output"
        [[ $output == *"$NEWER"* ]]
        run -0 start "$runtime" --volume "$STATE/dev/nvidia0:/dev/nvidia0" --env NVIDIA_DISABLE_REQUIRE=1
    done
}

# verified PLACE POLICY: what verify says of the images there, for the node with driver 535
verified()
{
    printf 'config_policy: %s\nsocket: %s/nobody.sock\n' "$2" "$STATE" >"$BATS_TEST_TMPDIR/verify.yaml"
    "$VARIANTCTL" verify --config "$BATS_TEST_TMPDIR/verify.yaml" --profile "$STATE/h100-535.json" --from "$1" "${@:3}" 3>&-
}

@test "verify: layouts" {
    mkimage "$STATE/cuda" cuda13 --env 'NVIDIA_REQUIRE_CUDA=cuda>=13.0'
    mkimage "$STATE/cuda" cuda12 --env 'NVIDIA_REQUIRE_CUDA=cuda>=12.8' --file a=b
    mkimage "$STATE/cuda" off --env 'NVIDIA_REQUIRE_CUDA=cuda>=13.0' --env NVIDIA_DISABLE_REQUIRE=1 --file a=c
    mkimage "$STATE/cuda" plain --file a=d
    run -0 verified "oci:$STATE/cuda" warn
    [[ $output == *"warning  oci:$STATE/cuda: cuda13: $NEWER"$'\n'* ]]
    [[ $output == *"warning  oci:$STATE/cuda: cuda12: $WITHIN"$'\n'* ]]
    [[ $output == *"4 images: 2 do not fit by their labels or configuration, "* ]]
    run -5 verified "oci:$STATE/cuda" enforce
    [[ $output == *"misfit   oci:$STATE/cuda: cuda13: $NEWER"$'\n'* ]]
    [[ $output == *"warning  oci:$STATE/cuda: cuda12: $WITHIN"$'\n'* ]]
    run -0 verified "oci:$STATE/cuda" off
    [[ $output == "4 images: "* && $output != *"do not fit by "* ]]
    run -0 verified "oci:$STATE/cuda" warn --json
    [ "$(jq -c '[.images[] | select(.by == "config") | [.image, .verdict, .remedy]] | sort' <<<"$output")" = '[["cuda12","warning",null],["cuda13","warning",null]]' ]
    # a machine without such GPUs is asked for nothing
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/cuda"
    [[ $output != *"do not fit by "* ]]
}

@test "verify: podman" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    podman rmi --all --force >/dev/null 2>&1 3>&-
    printf 'x' >"$BATS_TEST_TMPDIR/file"
    tar -C "$BATS_TEST_TMPDIR" -c file | podman import --change 'ENV NVIDIA_REQUIRE_CUDA="cuda>=13.0"' - localhost/cuda:13 >/dev/null 2>&1 3>&-
    run -5 verified podman enforce
    [[ $output == *"misfit   podman: localhost/cuda:13: $NEWER"$'\n'* ]]
    run -0 verified podman warn
    [[ $output == *"warning  podman: localhost/cuda:13: $NEWER"$'\n'* ]]
    # with tag rules the family counts, as it does for the hook
    tar -C "$BATS_TEST_TMPDIR" -c file | podman import --change 'ENV NVIDIA_REQUIRE_CUDA="cuda>=12.5"' - docker.io/tensorflow/tensorflow:2.18.0-gpu >/dev/null 2>&1 3>&-
    run -5 verified podman enforce
    [[ $output == *"warning  podman: docker.io/tensorflow/tensorflow:2.18.0-gpu: "*"by CUDA minor-version compatibility"* ]]
    local rule
    for rule in '{"*/tensorflow/**": {tag_rules: on}}' '{"*/tensorflow/**": {tag_rules: off}}'; do
        printf 'config_policy: enforce\ntag_rules: on\nrepositories: %s\n' "$rule" >"$BATS_TEST_TMPDIR/rules.yaml"
        OCV_DATADIR=$OCV_TOP/plugins run -5 "$VARIANTCTL" verify --config "$BATS_TEST_TMPDIR/rules.yaml" --profile "$STATE/h100-535.json" --from podman
        if [[ $rule == *on* ]]; then
            [[ $output == *"misfit   podman: docker.io/tensorflow/tensorflow:2.18.0-gpu: by its tag's family it does not run here: "* ]]
        else
            [[ $output == *"warning  podman: docker.io/tensorflow/tensorflow:2.18.0-gpu: "* ]]
        fi
    done
}

@test "verify: containerd" {
    require containerd ctr skopeo
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_containerd
    mkimage "$STATE/ctd" cuda13 --env 'NVIDIA_REQUIRE_CUDA=cuda>=13.0'
    push_layout "$STATE/ctd:cuda13" "$REGISTRY/cuda:13"
    ctr images pull --plain-http "$REGISTRY/cuda:13" >/dev/null 3>&-
    run -5 verified containerd enforce
    [[ $output == *"misfit   containerd:default: $REGISTRY/cuda:13: $NEWER"$'\n'* ]]
    run -0 verified containerd warn
    [[ $output == *"warning  containerd:default: $REGISTRY/cuda:13: $NEWER"$'\n'* ]]
}
