#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl images: what engines and layouts of this machine have that has variants, and what to do.

load harness
load images
load variantd

setup_file()
{
    state_start
    require docker-registry skopeo jq curl
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    mkimage "$STATE/images" plain --file etc/build=plain
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:plain" "docker://$REGISTRY/plain:1" 3>&-
    export OCV_STATE_DIR=$STATE/node CUDA
    CUDA=$(digest_of cuda12.8)
    printf 'socket: %s\nregistries:\n  "%s": {url: "http://%s"}\n' "$STATE/variantd.sock" "$REGISTRY" "$REGISTRY" >"$STATE/config.yaml"
}

teardown_file()
{
    state_stop
}

pull()
{
    "$VPULL" --config "$STATE/config.yaml" --quiet --profile "$PROFILES/h100.json" "$@" 3>&-
}

# images PROFILE [OPTION...]
images()
{
    local profile=$1
    shift
    "$VARIANTCTL" images --config "$STATE/config.yaml" --profile "$PROFILES/$profile.json" "$@"
}

@test "a layout: label, why, whether it fits now, and what to do" {
    pull --to "oci:$STATE/mine:app" "$REGISTRY/app:1"
    pull --to "oci:$STATE/mine:plain" "$REGISTRY/plain:1"
    run -0 --separate-stderr images h100 --from "oci:$STATE/mine"
    [[ ${lines[0]} =~ ^"oci:$STATE/mine  ".*"  cuda12.8  fits     nvidia :: cuda_version_lower_bound :: " ]]
    [ "${lines[1]}" = "1 of 2 images here have variants" ]
    # the same on a machine that cannot run it; it is a listing, not a check
    run -0 --separate-stderr images mi300x --from "oci:$STATE/mine"
    [[ ${lines[0]} == *"  cuda12.8  misfit   "*nvidia* ]]
    [[ ${lines[1]} == *"  vpull --to oci:$STATE/mine"*" $REGISTRY/app:1" ]]
    run -0 --separate-stderr images mi300x --from "oci:$STATE/mine" --format json
    [ "$(jq -r '.schema, (.images | length), .images[0].verdict, .images[0].label, .images[0].digest' <<<"$output" | tr '\n' ' ')" = \
        "dev.ocivariant.images/v1 1 misfit cuda12.8 $CUDA " ]
    # what it says to do does it
    remedy=$(jq -r '.images[0].do' <<<"$output")
    # shellcheck disable=SC2086 # words
    "$VPULL" --config "$STATE/config.yaml" --quiet --profile "$PROFILES/mi300x.json" ${remedy#vpull } 3>&-
    run -0 --separate-stderr images mi300x --from "oci:$STATE/mine" --format json
    [ "$(jq -r '[.images[] | select(.verdict == "fits") | .label] | join(" ")' <<<"$output")" = rocm7.1 ]
}

@test "what a shell would read differently is never part of a line to copy" {
    pull --to "oci:$STATE/odd:app" "$REGISTRY/app:1"
    jq '.manifests[].annotations |= map_values(if type == "string" and endswith("app:1") then "app;touch${IFS}owned" else . end) | .manifests[].annotations["org.opencontainers.image.ref.name"] = "app;touch${IFS}owned"' "$STATE/odd/index.json" >"$STATE/odd/new"
    mv "$STATE/odd/new" "$STATE/odd/index.json"
    run -0 --separate-stderr images mi300x --from "oci:$STATE/odd" --format json
    jq -e '.images[0] | .verdict == "misfit" and .do == null and (.image | test("owned"))' <<<"$output"
    run -0 --separate-stderr images mi300x --from "oci:$STATE/odd"
    [[ $output != *vpull* ]]
    cp -r "$STATE/mine" "$STATE/my own"
    run -0 --separate-stderr images mi300x --from "oci:$STATE/my own"
    [[ $output == *misfit* && $output != *vpull* ]]
}

@test "podman and containerd: the default entry is lesser, and names what to do" {
    require podman containerd ctr
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    start_containerd
    start_variantd --config "$STATE/config.yaml" --profile "$PROFILES/h100.json"
    podman pull --quiet --tls-verify=false "$REGISTRY/app:1" 3>&-
    podman pull --quiet --tls-verify=false "$REGISTRY/plain:1" 3>&-
    ctr -n k8s.io images pull --plain-http "$REGISTRY/app:1" >/dev/null 3>&-
    run -0 --separate-stderr env OCV_SOCKET="$VARIANTD_SOCKET" "$VARIANTCTL" images --config "$STATE/config.yaml" --from podman --from containerd
    [[ $output == *"podman "*" $REGISTRY/app:1  (default)  lesser   cuda12.8 fits it better"$'\n'*"vpull --to podman $REGISTRY/app:1"* ]]
    [[ $output == *"containerd:k8s.io  $REGISTRY/app:1  (default)  lesser   cuda12.8 fits it better"$'\n'*"vpull --to containerd -n k8s.io $REGISTRY/app:1"* ]]
    [[ $output != *plain:1* ]]
    stop_daemon variantd
}

@test "engines that are not there are named once, and are no error; vpull's own layout is looked at" {
    mkdir -p "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/data"
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json" --format json
    jq -e '(.images == []) and ([.notLookedAt[].where] == ["docker", "podman", "containerd"])' <<<"$output"
    [ "${#stderr_lines[@]}" = 3 ]
    [[ ${stderr_lines[1]} == "variantctl: warning: podman is not looked at: "* ]]
    pull --to "oci:$XDG_DATA_HOME/ocivariant/images" "$REGISTRY/app:1"
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json"
    [[ $output == *"oci:$XDG_DATA_HOME/ocivariant/images"*cuda12.8*fits* ]]
    # which was asked for by name
    run -1 env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json" --from podman
}

@test "what it takes" {
    run -2 "$VARIANTCTL" images app
    [[ $output == *"images takes no argument, not 'app'"*"variantctl index show IMAGE"* ]]
}
