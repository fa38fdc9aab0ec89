#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# NVIDIA's libraries, asked by nvml-query and variantctl probe --deep: a stand-in (test/tools/fake_nvml.c)
# replays recorded calls, and the published provider's answer is what is expected.
#
# Differences to the published provider (nvidia-variant-provider 0.0.2), all of them on purpose:
#   sm_arch        lists more: code for one chip (a) or a family (f) before the plain form, and PTX
#                  (_virtual) down to 50. The published list is an ordered part of ours.
#   Tegra          lists less: of machine code (_real) its own only. NVIDIA promises binary
#                  compatibility for desktop GPUs and not for Tegras.
#   lost GPU       one GPU without a handle takes away the whole answer there; here the others stand,
#                  and it is reported.
#   no capability  the published provider raises an IndexError (no GPU at all, no readable one); here
#                  the driver is reported, and no sm_arch.
#   bad overrides  the published provider raises an exception; here the namespace has failed, and the
#                  message names the variable.
#   warnings       stand in the namespace's "error", in other words.
# shellcheck disable=SC2154 # stderr is set by run --separate-stderr

load ../harness

setup()
{
    require jq
    # what this machine has would mix with what the stand-in says
    [ ! -e /proc/driver/nvidia ] || skip "this machine has an NVIDIA driver"
    ! grep -qs 0x10de /sys/bus/pci/devices/*/vendor || skip "this machine has an NVIDIA device"
    export OCV_LIBEXECDIR=$OCV_HELPERS
    LIBRARIES=$BATS_TEST_TMPDIR/lib
    mkdir "$LIBRARIES"
    ln -s "$OCV_BUILD/test/tools/fake_nvml" "$LIBRARIES/libnvidia-ml.so.1"
    unset NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION NV_VARIANT_PROVIDER_FORCE_SM_ARCH
}

# The namespace of a deep probe in $namespace, {} if absent
probe()
{
    run -0 --separate-stderr env LD_LIBRARY_PATH="$LIBRARIES" "$@" \
        "$VARIANTCTL" probe --deep --format json
    namespace=$(jq -c '[.namespaces[] | select(.namespace == "nvidia")][0] // {}' <<<"$output")
}

# One GPU with all that can be told; arguments change the case: a jq filter
gpu_case()
{
    jq -c "$1" >"$LIBRARIES/case.json" <<'CASE'
{"calls": [
  {"function": "nvmlInitWithFlags", "args": [0], "result": {}},
  {"function": "nvmlSystemGetDriverVersion", "args": [80], "result": {"version": "570.124.06"}},
  {"function": "nvmlSystemGetCudaDriverVersion_v2", "args": [], "result": {"version": 12080}},
  {"function": "nvmlDeviceGetCount_v2", "args": [], "result": {"count": 1}},
  {"function": "nvmlDeviceGetHandleByIndex_v2", "args": [0], "result": {"handle": 1}},
  {"function": "nvmlDeviceGetPciInfo_v3", "args": [1], "result": {"bus_id": "00000000:3B:00.0"}},
  {"function": "nvmlDeviceGetCudaComputeCapability", "args": [1], "result": {"major": 9, "minor": 0}},
  {"function": "nvmlDeviceGetName", "args": [1], "result": {"name": "NVIDIA H100 80GB HBM3"}},
  {"function": "nvmlDeviceGetUUID", "args": [1], "result": {"uuid": "GPU-5e0d"}},
  {"function": "nvmlDeviceGetMemoryInfo", "args": [1], "result": {"total": 85520809984}},
  {"function": "nvmlDeviceGetMigMode", "args": [1], "result": {"current": 0}},
  {"function": "nvmlDeviceGetVirtualizationMode", "args": [1], "result": {"mode": 0}}]}
CASE
}

# shellcheck disable=SC2016 # the variables are jq's
# true if what is expected of a case ($c) is what the namespace ($ns) says
COMPARE='
def values(f): ([.features[]? | select(.name == f)][0].values) // [];
def part($want; $have): reduce $have[] as $v (0; if . < ($want | length) and $want[.] == $v
                                              then . + 1 else . end) == ($want | length);
def running: if (.[0] // "") | test("^(53|62|72|87)_real$")
             then .[0] as $own | map(select(. == $own or endswith("_virtual"))) else . end;
def version: capture("^(?<a>[0-9]+)([.](?<b>[0-9]+))?") | .a + "." + (.b // "0");
$c.expected as $e | $ns as $n |
($c.environment | length > 0) as $forced |
if $c.id == "second_handle_lost" then
    ($n | values("sm_arch"))[0] == "90a_real" and ($n.error | test("GPU 1: .*GPU_IS_LOST"))
elif ($e.features | type) == "object" and $forced then
    $n.status == "failed" and ($n.features | length) == 0 and ($n.error | test("NV_VARIANT_PROVIDER"))
elif ($e.features | type) == "object" then
    $n.driver == "580.1" and ($n | values("sm_arch")) == [] and $n.status != "ok"
else
    ($n | [.features[]?.name] - ["forward_compatibility"]) == [$e.features[].name] and # a feature of our own
    all($e.features[]; .name as $f | if $f == "sm_arch" then part(.values | running; $n | values($f))
                                     else .values == ($n | values($f)) end) and
    (if $e.cuda_version and ($n | values("cuda_version_lower_bound")) != []
     then ($n | values("cuda_version_lower_bound"))[0] == ($e.cuda_version | version) else true end) and
    (if ($e.warnings | length) > 0
     then ($e.warnings[0] | capture("(`|: )(?<v>[0-9]+[.][0-9]+)").v) as $v | ($n.error | contains($v))
     else true end)
end'

@test "every recorded case gives the published provider's answer" {
    require_fixtures nvml/cases.jsonl
    local case variables count=0 namespace
    while IFS= read -r case; do
        echo "$case" >"$LIBRARIES/case.json"
        mapfile -t variables < <(jq -r '.environment | to_entries[] | "\(.key)=\(.value)"' <<<"$case")
        probe "${variables[@]}"
        [ "$(jq -n --argjson c "$case" --argjson ns "$namespace" "$COMPARE")" = true ] || {
            jq -r .id <<<"$case"
            jq -c 'del(.expected.features)' <<<"$case"
            jq -c '.features[]?.values |= .[:4]' <<<"$namespace"
            return 1
        }
        count=$((count + 1))
    done <"$OCV_FIXTURES/nvml/cases.jsonl"
    [ "$count" -ge 40 ]
}

@test "nvml-query prints what the library says, and names errors" {
    gpu_case '.calls[2] = {function: "nvmlSystemGetCudaDriverVersion_v2", error: 13}'
    run -0 --separate-stderr env LD_LIBRARY_PATH="$LIBRARIES" "$OCV_LIBEXECDIR/nvml-query"
    [ "$(jq -r '.devices[0].bus_id, .devices[0].memory, .driver' <<<"$output" | paste -sd ' ')" = \
        "00000000:3B:00.0 85520809984 570.124.06" ]
    [ "$(jq -r '.errors[0] | .call, .code, .name' <<<"$output" | paste -sd ' ')" = \
        "nvmlSystemGetCudaDriverVersion_v2 13 FUNCTION_NOT_FOUND" ]
    run -2 "$OCV_LIBEXECDIR/nvml-query" soon
    run -2 "$OCV_LIBEXECDIR/nvml-query" 100 100
}

@test "a GPU that only the library shows becomes a device with all that it says" {
    local namespace
    gpu_case .
    probe
    [ "$(jq -r '.status, .driver, .provider.source' <<<"$namespace" | paste -sd ' ')" = \
        "ok 570.124.06 nvml" ]
    [ "$(jq -r '.devices[0] | .id, .uuid, .attributes.memory, .name' <<<"$namespace" | paste -sd ' ')" = \
        "0000:3b:00.0 GPU-5e0d 85520809984 NVIDIA H100 80GB HBM3" ]
    [ "$(jq -r '.features[0].values[0], .features[2].values[0]' <<<"$namespace" | paste -sd ' ')" = \
        "12.8 90a_real" ]
}

@test "MIG: the mode and its instances, and a warning where there is none" {
    local namespace
    gpu_case '.calls[10].result.current = 1 | .calls += [
        {function: "nvmlDeviceGetMaxMigDeviceCount", args: [1], result: {count: 7}},
        {function: "nvmlDeviceGetMigDeviceHandleByIndex", args: [1, 0], result: {handle: 11}},
        {function: "nvmlDeviceGetMigDeviceHandleByIndex", args: [1, 3], result: {handle: 12}},
        {function: "nvmlDeviceGetUUID", args: [11], result: {uuid: "MIG-a"}},
        {function: "nvmlDeviceGetUUID", args: [12], result: {uuid: "MIG-b"}}]'
    probe
    [ "$(jq -r '.devices[0].attributes | .mig, .mig_instances, .mig_uuids' <<<"$namespace" | paste -sd ' ')" = \
        "enabled 2 MIG-a, MIG-b" ]
    gpu_case '.calls[10].result.current = 1 | .calls += [
        {function: "nvmlDeviceGetMaxMigDeviceCount", args: [1], result: {count: 7}}]'
    probe
    [[ $(jq -r .error <<<"$namespace") == *"MIG mode without an instance"* ]]
}

@test "vGPU: a guest's GPU says so" {
    local namespace
    gpu_case '.calls[11].result.mode = 2'
    probe
    [ "$(jq -r '.devices[0].attributes.virtualization, .status' <<<"$namespace" | paste -sd ' ')" = \
        "vgpu ok" ]
}

@test "an NVML call that fails leaves out its own facts alone" {
    local namespace function
    for function in nvmlSystemGetDriverVersion nvmlDeviceGetPciInfo_v3 nvmlDeviceGetName \
        nvmlDeviceGetUUID nvmlDeviceGetMemoryInfo nvmlDeviceGetMigMode nvmlDeviceGetVirtualizationMode; do
        gpu_case "(.calls[] | select(.function == \"$function\")) |= {function, args, error: 999}"
        probe
        [ "$(jq -r '.features[0].values[0], .features[2].values[0]' <<<"$namespace" | paste -sd ' ')" = \
            "12.8 90a_real" ]
    done
    gpu_case '.calls[2].error = 999'
    probe
    # the driver's branch says it
    [ "$(jq -r '.features[0].values[0]' <<<"$namespace")" = 12.8 ]
    for function in nvmlInitWithFlags nvmlDeviceGetCount_v2 nvmlDeviceGetHandleByIndex_v2; do
        gpu_case "(.calls[] | select(.function == \"$function\")) |= {function, args, error: 999}"
        probe
        [ "$(jq '.features | length' <<<"$namespace")" = 0 ]
        [[ $(jq -r .error <<<"$namespace") == *"$function failed with error 999, UNKNOWN"* ]]
    done
}

@test "errors in an operator's words: mismatch, permission, driver" {
    local namespace
    gpu_case '.calls[0] = {function: "nvmlInitWithFlags", error: 18}'
    probe
    [[ $(jq -r .error <<<"$namespace") == *"(NVML: driver/library version mismatch): reboot or reload the module" ]]
    gpu_case '.calls[0] = {function: "nvmlInitWithFlags", error: 4}'
    probe
    [[ $(jq -r .error <<<"$namespace") == "no permission to use the GPUs"* ]]
    gpu_case '.calls[0] = {function: "nvmlInitWithFlags", error: 9}'
    probe
    [[ $(jq -r .error <<<"$namespace") == *"the kernel driver is not loaded" ]]
}

@test "a call that hangs is named, and what was told before it stands" {
    local namespace function
    for function in dlopen nvmlInitWithFlags nvmlSystemGetDriverVersion \
        nvmlSystemGetCudaDriverVersion_v2 nvmlDeviceGetCount_v2 nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetPciInfo_v3 \
        nvmlDeviceGetCudaComputeCapability nvmlDeviceGetName nvmlDeviceGetUUID nvmlDeviceGetMemoryInfo \
        nvmlDeviceGetMigMode nvmlDeviceGetVirtualizationMode; do
        gpu_case ".hang = \"$function\""
        probe
        [[ $(jq -r .error <<<"$namespace") == "$function did not answer within 1.5 s"* ]]
        case $function in
        nvmlDeviceGetName | nvmlDeviceGetUUID | *Memory* | *Mig* | *Virtual*)
            [ "$(jq -r '.features[2].values[0], .status' <<<"$namespace" | paste -sd ' ')" = \
                "90a_real partial" ]
            ;;
        *) [ "$(jq -r '[.features[].name] | contains(["sm_arch"])' <<<"$namespace")" = false ] ;;
        esac
        # the rest of the profile stands
        [ "$(jq '.platform.architecture | length > 0' <<<"$output")" = true ]
    done
}

@test "a library that crashes or prints without end costs the library's words only" {
    local namespace
    gpu_case '.crash = "nvmlDeviceGetCount_v2"'
    probe
    [ "$(jq -r .status <<<"$namespace")" = failed ]
    [[ $(jq -r .error <<<"$namespace") == *"killed by signal"* ]]
    gpu_case '.noise = "nvmlDeviceGetCount_v2"'
    probe
    [ "$(jq -r .status <<<"$namespace")" = failed ]
    [[ $(jq -r .error <<<"$namespace") == *"printed more than"* ]]
}

@test "without NVML, libcuda tells" {
    local namespace
    rm "$LIBRARIES/libnvidia-ml.so.1"
    ln -s "$OCV_BUILD/test/tools/fake_nvml" "$LIBRARIES/libcuda.so.1"
    cat >"$LIBRARIES/case.json" <<'CASE'
{"calls": [
  {"function": "cuDriverGetVersion", "args": [], "result": {"version": 12060}},
  {"function": "cuInit", "args": [0], "result": {}},
  {"function": "cuDeviceGetCount", "args": [], "result": {"count": 1}},
  {"function": "cuDeviceGet", "args": [0], "result": {}},
  {"function": "cuDeviceGetAttribute", "args": [75, 0], "result": {"value": 8}},
  {"function": "cuDeviceGetAttribute", "args": [76, 0], "result": {"value": 7}},
  {"function": "cuDeviceGetAttribute", "args": [18, 0], "result": {"value": 1}},
  {"function": "cuDeviceGetName", "args": [0], "result": {"name": "Orin (nvgpu)"}},
  {"function": "cuDeviceTotalMem_v2", "args": [0], "result": {"total": 32212254720}}]}
CASE
    probe
    [ "$(jq -r '.provider.source, .features[0].values[0], .features[2].values[0]' <<<"$namespace" |
        paste -sd ' ')" = "libcuda 12.6 87_real" ]
    [ "$(jq -r '.devices[0] | .name, .attributes.integrated' <<<"$namespace" | paste -sd ' ')" = \
        "Orin (nvgpu) true" ]
}

@test "a forward compatibility package does not speak for the driver" {
    local namespace
    gpu_case '.calls[2].result.version = 13000'
    mkdir -p "$LIBRARIES/cuda-13.0/compat"
    cp "$OCV_BUILD/test/tools/fake_nvml" "$LIBRARIES/cuda-13.0/compat/libcuda.so.580.65.06"
    ln -s cuda-13.0/compat/libcuda.so.580.65.06 "$LIBRARIES/libcuda.so.1"
    probe
    [ "$(jq -r '.features[0].values[0]' <<<"$namespace")" = 12.8 ]
}

@test "the published variables win, and a recorded tree does not see them" {
    local namespace
    gpu_case .
    probe NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION=12.2 NV_VARIANT_PROVIDER_FORCE_SM_ARCH=8.6
    [ "$(jq -r '.provider.source, .features[0].values[0], .features[2].values[0]' <<<"$namespace" |
        paste -sd ' ')" = "environment 12.2 86_real" ]
    mkdir -p "$BATS_TEST_TMPDIR/empty/sys"
    run -0 --separate-stderr env NV_VARIANT_PROVIDER_FORCE_SM_ARCH=8.6 \
        "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/empty" --format json
    [[ $output != *sm_arch* ]]
}

@test "the configuration overrides what was probed, for every device" {
    cat >"$BATS_TEST_TMPDIR/config.yaml" <<'CONFIG'
override:
  nvidia:
    cuda_version_lower_bound: ["12.8", "12.0"]
    sm_arch: [90_real]
CONFIG
    cat >"$BATS_TEST_TMPDIR/index.json" <<'INDEX'
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
 "annotations": {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": "nvidia"},
 "manifests": [
  {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1001,
   "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000002",
   "annotations": {"dev.ocivariant.label": "cu128", "dev.ocivariant.properties":
       "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real"}}]}
INDEX
    run -3 "$VARIANTCTL" resolve --index "$BATS_TEST_TMPDIR/index.json" --format json
    run -0 --separate-stderr "$VARIANTCTL" --config "$BATS_TEST_TMPDIR/config.yaml" resolve \
        --index "$BATS_TEST_TMPDIR/index.json" --format json
    [ "$(jq -r .selected.label <<<"$output")" = cu128 ]
}

@test "another machine's PCI devices are not mixed with what this machine's libraries say" {
    gpu_case .
    printf '%s\n' '81:00.0 3D controller' '00: de 10 30 23 06 04 10 00 a1 00 02 03 00 00 00 00' \
        '10: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00' \
        '20: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00' \
        '30: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00' >"$BATS_TEST_TMPDIR/dump"
    run -0 --separate-stderr env LD_LIBRARY_PATH="$LIBRARIES" NV_VARIANT_PROVIDER_FORCE_SM_ARCH=8.6 \
        "$VARIANTCTL" probe --deep --pci-dump "$BATS_TEST_TMPDIR/dump" --format json
    [ "$(jq -r '.namespaces[] | select(.namespace == "nvidia") | .devices[].id' <<<"$output")" = 0000:81:00.0 ]
    [[ $output != *570.124.06* ]]
}
