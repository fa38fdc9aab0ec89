#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl resolve, explain, index create, index show: output, exit codes, configuration.

load ../harness

setup_file()
{
    state_start
    L=$STATE/layout
    mkimage "$L" cpu --file etc/build=cpu
    mkimage "$L" v3 --file etc/build=v3
    mkimage "$L" cuda --file etc/build=cuda
    mkimage "$L" rocm --file etc/build=rocm
    mkimage "$L" arm --arch arm64 --file etc/build=arm
    "$VARIANTCTL" index create "oci:$L:app" --namespaces 'nvidia, amd, x86_64' \
        "null=oci:$L:cpu" "null=oci:$L:arm" \
        "cpu.v3=oci:$L:v3,x86_64 :: level :: v3" \
        "cuda12.8=oci:$L:cuda,nvidia::cuda_version_lower_bound::12.8, nvidia :: sm_arch :: 90_real" \
        "rocm7.1=oci:$L:rocm,amd :: gfx_arch :: gfx942" 3>&-
    CPU=$("$VARIANTCTL" index show --format json "oci:$L:app" 3>&- | jq -r '.manifests[0].digest')
    export L CPU
    PROFILES=$OCV_TOP/plugins/profiles
    export PROFILES
}

resolve()
{
    "$VARIANTCTL" resolve "$@"
}

@test "resolve chooses by profile and prints the documented JSON" {
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .schema <<<"$output")" = dev.ocivariant.decision/v1 ]
    [ "$(jq -r .source <<<"$output")" = index ]
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
    [ "$(jq -r .selected.kind <<<"$output")" = variant ]
    [ "$(jq -c .selected.matched <<<"$output")" = \
        '["nvidia :: cuda_version_lower_bound :: 12.8","nvidia :: sm_arch :: 90_real"]' ]
    [ "$(jq -c .order <<<"$output")" = "[\"cuda12.8\",\"cpu.v3\",\"$CPU\"]" ]
    [ "$(jq -r '.rejected[] | select(.label == "rocm7.1") | .code + " " + .property' <<<"$output")" = \
        "namespace-unsupported amd :: gfx_arch" ]
    run -0 --separate-stderr resolve --profile "$PROFILES/mi300x.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = rocm7.1 ]
}

@test "the index digest is the digest of the index's bytes" {
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" "oci:$L:app"
    index=$(jq -r .index <<<"$output")
    [ "$index" = "sha256:$(sha256sum <"$L/blobs/sha256/${index#sha256:}" | cut -d' ' -f1)" ]
}

@test "resolve --index reads a file and standard input" {
    "$VARIANTCTL" index show --format json "oci:$L:app" >"$STATE/index.json"
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --index "$STATE/index.json"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --index - <"$STATE/index.json"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
}

@test "a command without network does not load libcurl" {
    "$VARIANTCTL" index show --format json "oci:$L:app" >"$STATE/index.json"
    run -0 env LD_DEBUG=files "$VARIANTCTL" resolve --profile "$PROFILES/h100.json" \
        --index "$STATE/index.json"
    [[ $output == *libjansson* ]]
    [[ $output != *libcurl* ]]
}

@test "explain shows rank, reason and hint" {
    run -0 --separate-stderr "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "oci:$L:app"
    [[ $output == *"Chosen  cuda12.8  sha256:"* ]]
    [[ $output == *"rocm7.1"*"needs amd :: gfx_arch :: gfx942; this host has no amd"* ]]
    [[ $output == *"for linux/arm64; this is linux/amd64/v4"* ]]
}

@test "a driver that is too old is named with what it takes" {
    jq '.namespaces[0].driver = "535.161" | .namespaces[0].features[0].values = ["12.2", "12.1"]' \
        "$PROFILES/h100.json" >"$STATE/old.json"
    run -0 --separate-stderr "$VARIANTCTL" explain --profile "$STATE/old.json" "oci:$L:app"
    [[ $output == *"driver 535.161 supports CUDA up to 12.2; this needs 12.8: driver 570 or newer"* ]]
    [[ $output == *"Chosen  cpu.v3"* ]]
}

@test "--platform of another architecture gives defaults only" {
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --platform linux/arm64 "oci:$L:app"
    [ "$(jq -c '.order | length' <<<"$output")" = 1 ]
    [ "$(jq -r .selected.kind <<<"$output")" = non-variant ]
    [ "$(jq -r .selected.platform.architecture <<<"$output")" = arm64 ]
}

@test "--label narrows, and does not force what does not fit" {
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --label cpu.v3 "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = cpu.v3 ]
    run -3 --separate-stderr resolve --profile "$PROFILES/h100.json" --label rocm7.1 "oci:$L:app"
    [ "$(jq -r .selected <<<"$output")" = null ]
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --label rocm7.1 --unchecked "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = rocm7.1 ]
    run -2 --separate-stderr resolve --profile "$PROFILES/h100.json" --unchecked "oci:$L:app"
}

@test "--label null is the default, annotated or not" {
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --label null "oci:$L:app"
    [ "$(jq -c '[.selected.label, .selected.kind, .order]' <<<"$output")" = "[null,\"non-variant\",[\"$CPU\"]]" ]
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/h100.json" --label null "oci:$L:app"
    [[ $output == *"Chosen  the default  $CPU"* ]]
    [[ $output == *" 1  the default "*"linux/amd64 "* ]]
    # an index of an earlier version: null is annotated, stays so, and comes first
    "$VARIANTCTL" index show --format json "oci:$L:app" |
        jq '.manifests[0].annotations = {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""}' >"$STATE/before.json"
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --label null --index "$STATE/before.json"
    [ "$(jq -c '[.selected.label, .selected.kind, .order]' <<<"$output")" = '["null","null",["null"]]' ]
    # what waits for its annotation stands after the default, wherever that is
    jq '.manifests = [(.manifests[2:][], .manifests[0]) | del(.annotations)]' "$STATE/before.json" >"$STATE/bare.json"
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" --index "$STATE/bare.json"
    [ "$(jq -r .selected.digest <<<"$output")" = "$CPU" ]
    [ "$(jq '.order | length' <<<"$output")" -gt 1 ]
}

@test "configuration: file, then environment, then flags" {
    echo 'disable: [nvidia]' >"$STATE/c.yaml"
    run -0 --separate-stderr resolve --config "$STATE/c.yaml" --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = cpu.v3 ]
    [ "$(jq -r '.rejected[] | select(.label == "cuda12.8") | .code' <<<"$output")" = disabled ]
    OCV_DISABLE=x86_64 run -0 --separate-stderr resolve --config "$STATE/c.yaml" \
        --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
    OCV_DISABLE=x86_64 run -0 --separate-stderr resolve --config "$STATE/c.yaml" --disable nvidia::sm_arch \
        --disable 'x86_64 :: level :: v3' --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = null ]
    run -0 --separate-stderr resolve --namespace-priority x86_64 --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = cpu.v3 ]
}

@test "the user's configuration directory is read" {
    mkdir -p "$XDG_CONFIG_HOME/ocivariant"
    echo 'disable: [nvidia]' >"$XDG_CONFIG_HOME/ocivariant/config.yaml"
    run -0 --separate-stderr resolve --profile "$PROFILES/h100.json" "oci:$L:app"
    rm "$XDG_CONFIG_HOME/ocivariant/config.yaml"
    [ "$(jq -r .selected.label <<<"$output")" = cpu.v3 ]
}

@test "an unknown key is exit 2 with file and line" {
    printf 'disable: []\n\nnamspace_priority: [x]\n' >"$STATE/bad.yaml"
    run -2 --separate-stderr resolve --config "$STATE/bad.yaml" --profile "$PROFILES/h100.json" "oci:$L:app"
    [[ $stderr == "variantctl: $STATE/bad.yaml:3: "*namspace_priority* ]]
    run -2 --separate-stderr resolve --device-policy nvidia=some --profile "$PROFILES/h100.json" "oci:$L:app"
    [[ $stderr == "variantctl: --device-policy: "* ]]
    run -2 --separate-stderr resolve --config "$STATE/absent.yaml" "oci:$L:app"
}

@test "exit codes: usage 2, nothing fits 3, bad data 4, not found 1" {
    run -2 --separate-stderr "$VARIANTCTL"
    run -2 --separate-stderr "$VARIANTCTL" frobnicate
    run -2 --separate-stderr resolve
    run -2 --separate-stderr resolve --no-such-option "oci:$L:app"
    run -1 --separate-stderr resolve --profile "$PROFILES/h100.json" "oci:$L:absent"
    [ "${#stderr_lines[@]}" -ge 1 ]
    run -1 --separate-stderr resolve --profile "$STATE/absent.json" "oci:$L:app"
    echo '{"manifests": [], "manifests": []}' >"$STATE/dup.json"
    run -4 --separate-stderr resolve --profile "$PROFILES/h100.json" --index "$STATE/dup.json"
    echo '{' >"$STATE/broken.json"
    run -4 --separate-stderr resolve --profile "$STATE/broken.json" "oci:$L:app"
    [[ $stderr == "variantctl: $STATE/broken.json: "* ]]
    "$VARIANTCTL" index create --no-lint "oci:$L:gpuonly" "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx942" 2>/dev/null
    run -3 --separate-stderr resolve --profile "$PROFILES/h100.json" "oci:$L:gpuonly"
    [[ $stderr == *"no variant fits"*"hint: every build needs amd; --label rocm --unchecked pulls that build" ]]
    run -3 --separate-stderr "$VPULL" --config /dev/null --dry-run --json --profile "$PROFILES/h100.json" "oci:$L:gpuonly"
    [ "$(jq -r 'select(.event == "error") | .hint' <<<"$output")" = "every build needs amd; --label rocm --unchecked pulls that build" ]
    run -1 --separate-stderr "$VPULL" --config /dev/null --dry-run --json "oci:$L:absent"
    [ "$(jq 'select(.event == "error") | .hint == ""' <<<"$output")" = false ]
    # the question that explain answers is the same one
    run -3 --separate-stderr "$VPULL" --config /dev/null --dry-run --platform linux/riscv64 "oci:$L:gpuonly"
    [[ $stderr == *"hint: variantctl explain --platform linux/riscv64 oci:$L:gpuonly" ]]
    # how to take the second best, once
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(grep -c "^      to take the second best: vpull .*--label cpu.v3 oci:$L:app$" <<<"$output")" = 1 ]
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/laptop.json" "oci:$L:app"
    [ "$(grep -c "^      to take the second best: vpull .*--label null oci:$L:app$" <<<"$output")" = 1 ]
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/laptop.json" --label null "oci:$L:app"
    [[ $output != *"to take the second best"* ]]
}

@test "index create writes defaults first and hides the others from old clients" {
    run -0 --separate-stderr "$VARIANTCTL" index show --format json "oci:$L:app"
    [ "$(jq -r '.annotations["dev.ocivariant.schema"]' <<<"$output")" = 1 ]
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "nvidia, amd, x86_64" ]
    [ "$(jq -c '[.manifests[] | .platform.architecture + "/" + (.platform.variant // "-")]' <<<"$output")" = \
        '["amd64/-","arm64/-","amd64/x-cpu-v3","amd64/x-cuda12-8","amd64/x-rocm7-1"]' ]
    [ "$(jq -r '.manifests[3].annotations["dev.ocivariant.properties"]' <<<"$output")" = \
        "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 90_real" ]
}

@test "index create: the same input gives the same bytes, and the default rule is written out" {
    a=$("$VARIANTCTL" index create --quiet "oci:$L:a" "null=oci:$L:cpu" "g=oci:$L:cuda,nvidia :: sm_arch :: 90_real" "v3=oci:$L:v3,x86_64::level::v3")
    b=$("$VARIANTCTL" index create --quiet "oci:$L:b" "v3=oci:$L:v3, x86_64 ::level :: v3" "g=oci:$L:cuda,nvidia::sm_arch::90_real" "null=oci:$L:cpu")
    [ "$a" = "$b" ]
    run -0 --separate-stderr "$VARIANTCTL" index show --format json "oci:$L:a"
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "nvidia, x86_64" ]
}

@test "index create: null= is --default, and both for one platform are wrong usage" {
    a=$("$VARIANTCTL" index create --quiet "oci:$L:d" "null=oci:$L:cpu" "null=oci:$L:arm")
    b=$("$VARIANTCTL" index create --quiet "oci:$L:d" --default "oci:$L:cpu" --default "oci:$L:arm")
    [ "$a" = "$b" ]
    run -0 "$VARIANTCTL" index create --quiet "oci:$L:d" --default "oci:$L:cpu" "null=oci:$L:arm"
    [ "$output" = "$a" ]
    run -2 --separate-stderr "$VARIANTCTL" index create "oci:$L:e" --default "oci:$L:cuda" "null=oci:$L:cpu"
    [ "$stderr" = "variantctl: null: the second default for linux/amd64: null= and --default are the same" ]
    run ! "$VARIANTCTL" index show "oci:$L:e"
}

@test "index create refuses what readers would reject" {
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" "Bad=oci:$L:cpu"
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" "null=oci:$L:cpu,x86_64 :: level :: v3"
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" "v3=oci:$L:v3"
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" "v3=oci:$L:v3,X86 :: level :: v3"
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" "null=oci:$L:cpu" "null=oci:$L:v3"
    [[ $stderr == *"second default for linux/amd64"* ]]
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" --namespaces amd "v3=oci:$L:v3,x86_64 :: level :: v3"
    run -4 --separate-stderr "$VARIANTCTL" index create "oci:$L:x" --static 'nvidia=sm_arch :: 90_real' "null=oci:$L:cpu"
    run -2 --separate-stderr "$VARIANTCTL" index create "$L:x" "null=oci:$L:cpu"
    run ! "$VARIANTCTL" index show "oci:$L:x"
}

@test "skopeo reads the layout, and copies every variant" {
    require skopeo
    run -0 skopeo inspect --raw "oci:$L:app"
    [ "$(jq '.manifests | length' <<<"$output")" = 5 ]
    run -0 skopeo copy --quiet --all "oci:$L:app" "oci:$STATE/copy:app"
    run -0 --separate-stderr resolve --profile "$PROFILES/mi300x.json" "oci:$STATE/copy:app"
    [ "$(jq -r .selected.label <<<"$output")" = rocm7.1 ]
}

@test "published fixtures resolve as recorded" {
    require_fixtures index/expected.jsonl
    dir=$OCV_FIXTURES/index
    jq '{platform: {os: "linux", architecture: "amd64"}, namespaces: .["h100-cuda12.8"]}' \
        "$dir/hosts.json" >"$STATE/h100-fixture.json"
    run -0 --separate-stderr resolve --profile "$STATE/h100-fixture.json" \
        --index "$dir/torch-2.10.0.bfe86e59/index.json"
    [ "$(jq -c .order <<<"$output")" = "$(jq -c \
        'select(.index == "torch-2.10.0.bfe86e59" and .host == "h100-cuda12.8") | .order' "$dir/expected.jsonl")" ]
}

@test "common options may stand before the verb" {
    echo 'disable: [nvidia]' >"$STATE/before.yaml"
    run -0 --separate-stderr "$VARIANTCTL" -v --config "$STATE/before.yaml" resolve --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = cpu.v3 ]
    [[ $stderr == *"$STATE/before.yaml"* ]]
    run -0 --separate-stderr "$VARIANTCTL" -v index --config "$STATE/before.yaml" show "oci:$L:app"
    [[ $stderr == *"$STATE/before.yaml"* ]]
    run -0 --separate-stderr "$VARIANTCTL" --config "$STATE/before.yaml" tags -v parse docker.io/library/alpine:3
    [[ $stderr == *"$STATE/before.yaml"* ]]
    run -0 "$VARIANTCTL" --version
    for verb in index tags; do
        run -0 "$VARIANTCTL" "$verb" --version
        [[ $output == "variantctl "[0-9]* ]]
        run -2 "$VARIANTCTL" -v "$verb" -v
    done
    run -2 "$VARIANTCTL" -v
}

@test "a manifest in a file, for a platform: its configuration cannot be read, and nothing breaks" {
    local digest
    digest=$(jq -r '.manifests[0].digest' "$L/index.json")
    while [ "$(jq -r '.config // empty | .digest' "$L/blobs/sha256/${digest#sha256:}")" = "" ]; do
        digest=$(jq -r '.manifests[0].digest' "$L/blobs/sha256/${digest#sha256:}")
    done
    cp "$L/blobs/sha256/${digest#sha256:}" "$BATS_TEST_TMPDIR/manifest.json"
    run -0 "$VARIANTCTL" resolve --index "$BATS_TEST_TMPDIR/manifest.json" --platform linux/amd64
    [ "$(jq -r .selected.digest <<<"$output")" = "$digest" ]
}

@test "where the PCI bus is hidden, the choice says that no device could be looked for" {
    require jq unshare
    unshare -rm true 2>/dev/null || skip "no mount namespace may be had here"
    [ "$(uname -m)" = x86_64 ] || skip "other machines may have no PCI bus"
    # shellcheck disable=SC2016
    run -0 unshare -rm sh -c 'mount -t tmpfs none /sys && "$0" explain "$1"' "$VARIANTCTL" "oci:$L:app"
    [[ $output == *"devices could not be looked for: /sys/bus/pci is not shown here"* ]]
    # shellcheck disable=SC2016
    run -0 unshare -rm sh -c 'mount -t tmpfs none /sys && "$0" probe --format json' "$VARIANTCTL"
    [ "$(jq -r .pci_error <<<"$output")" = "/sys/bus/pci is not shown here" ]
    # and nothing of it where the bus is there
    run -0 "$VARIANTCTL" explain "oci:$L:app"
    [[ $output != *"could not be looked for"* ]]
}
