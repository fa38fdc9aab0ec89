#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl images: what engines and layouts of this machine have that has variants, and what to do.

load ../harness
load ../images
load ../variantd

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
    write_config
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
    [ "${lines[1]}" = "1 of 2 images here have variants; of 1 no record here says whether it has" ]
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

@test "podman and containerd: the default is lesser, and names what to do" {
    require podman containerd ctr
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    start_containerd
    start_variantd --config "$STATE/config.yaml" --profile "$PROFILES/h100.json"
    podman pull --quiet --tls-verify=false "$REGISTRY/app:1" 3>&-
    podman pull --quiet --tls-verify=false "$REGISTRY/plain:1" 3>&-
    ctr -n k8s.io images pull --plain-http "$REGISTRY/app:1" >/dev/null 3>&-
    run -0 --separate-stderr env OCV_SOCKET="$VARIANTD_SOCKET" "$VARIANTCTL" images --config "$STATE/config.yaml" --from podman --from containerd
    [[ $output == *"podman "*" $REGISTRY/app:1  the default  lesser   cuda12.8 fits it better"$'\n'*"vpull --to podman $REGISTRY/app:1"* ]]
    [[ $output == *"containerd:k8s.io  $REGISTRY/app:1  the default  lesser   cuda12.8 fits it better"$'\n'*"vpull --to containerd -n k8s.io $REGISTRY/app:1"* ]]
    [[ $output != *plain:1* ]]
    stop_daemon variantd
}

@test "docker: what vpull chose fits, what a plain client pulled is lesser" {
    require docker dockerd
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_dockerd
    start_variantd --config "$STATE/config.yaml" --profile "$PROFILES/h100.json"
    docker pull --quiet "$REGISTRY/app:1" 3>&-
    docker pull --quiet "$REGISTRY/plain:1" 3>&-
    run -0 --separate-stderr env OCV_SOCKET="$VARIANTD_SOCKET" "$VARIANTCTL" images --config "$STATE/config.yaml" --from docker
    [[ $output == *"docker "*" $REGISTRY/app:1  the default  lesser   cuda12.8 fits it better"$'\n'*"vpull --to docker $REGISTRY/app:1"* ]]
    [[ $output != *plain:1* ]]
    # what is advised, and then
    pull --to docker "$REGISTRY/app:1"
    run -0 --separate-stderr images h100 --from docker --format json
    [ "$(jq -r '.images[] | "\(.label) \(.verdict)"' <<<"$output")" = "cuda12.8 fits" ]
    run -0 --separate-stderr images mi300x --from docker
    [[ $output == *"docker "*" $REGISTRY/app:1  cuda12.8  misfit "* ]]
    # a name given here is shown too; what fits comes from where the image came from
    docker tag "$REGISTRY/app:1" mine:1
    run -0 --separate-stderr images mi300x --from docker --format json
    [ "$(jq -r '.images[] | "\(.image) \(.verdict) \(.do)"' <<<"$output" | sort)" = \
        "$(printf '%s\n' "$REGISTRY/app:1 misfit vpull --to docker $REGISTRY/app:1" "mine:1 misfit vpull --to docker $REGISTRY/app:1" | sort)" ]
    stop_daemon variantd
    stop_daemon dockerd
    unset DOCKER_HOST
}

@test "engines that are not there are named once, and are no error; vpull's own layout is looked at" {
    mkdir -p "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/data"
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json" --format json
    jq -e '(.images == []) and ([.notLookedAt[].where] == ["docker", "podman", "containerd"])' <<<"$output"
    [ "${#stderr_lines[@]}" = 3 ]
    [[ ${stderr_lines[1]} == "variantctl: warning: podman is skipped: "* ]]
    pull --to "oci:$XDG_DATA_HOME/ocivariant/images" "$REGISTRY/app:1"
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json"
    [[ $output == *"oci:$XDG_DATA_HOME/ocivariant/images"*cuda12.8*fits* ]]
    # ctr would wait ten seconds for it
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" CONTAINERD_ADDRESS=/nowhere "$VARIANTCTL" images --profile "$PROFILES/h100.json"
    [ "${stderr_lines[2]}" = "variantctl: warning: containerd is skipped: /nowhere: No such file or directory" ]
    # which was asked for by name
    run -1 env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json" --from podman
}

# variantctl with a podman that says what the test wants
fake_podman()
{
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/podman"
    chmod 755 "$BATS_TEST_TMPDIR/bin/podman"
}

@test "podman: a manifest list whose images are elsewhere hides nothing" {
    require podman buildah
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    podman_trust "$REGISTRY"
    env -u OCV_SOCKET "$VPULL" --config "$STATE/config.yaml" --quiet --to podman --profile "$PROFILES/h100.json" "$REGISTRY/app:1" 3>&-
    mkimage "$STATE/images" elsewhere --file etc/build=elsewhere
    push_layout "$STATE/images:elsewhere" "$REGISTRY/elsewhere:1"
    buildah manifest create listed 3>&-
    buildah manifest add --tls-verify=false listed "docker://$REGISTRY/elsewhere:1" 3>&-
    run ! podman image inspect "$(podman images -q --filter reference=listed)"
    run -5 --separate-stderr "$VARIANTCTL" verify --config "$STATE/config.yaml" --profile "$PROFILES/mi300x.json" --from podman
    [[ $output == *"misfit   podman: $REGISTRY/app:1 (cuda12.8)"* ]]
    [ -z "$stderr" ]
    run -0 --separate-stderr images mi300x --from podman
    [[ $output == *"$REGISTRY/app:1  cuda12.8  misfit"* ]]
    [ -z "$stderr" ]
    buildah manifest rm listed 3>&-
}

@test "podman: an image with two names is pulled again by that of the index; where nothing fits, no advice is given" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    podman_trust "$REGISTRY"
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci:$STATE/images:cuda" "docker://$REGISTRY/app:1-cuda12.8" 3>&-
    podman rmi --all --force >/dev/null 2>&1 3>&- || true
    pull --to podman "$REGISTRY/app:1"
    podman pull --quiet --tls-verify=false "$REGISTRY/app:1-cuda12.8" 3>&-
    podman untag "$REGISTRY/app:1" "$REGISTRY/app:1"
    run -5 "$VARIANTCTL" verify --config "$STATE/config.yaml" --profile "$PROFILES/mi300x.json" --from podman
    [[ $output == *"misfit   podman: $REGISTRY/app:1-cuda12.8 (cuda12.8)"*"; vpull --to podman $REGISTRY/app:1"$'\n'* ]]
    podman tag "$REGISTRY/app:1-cuda12.8" "$REGISTRY/app:1"
    run -0 --separate-stderr images mi300x --from podman
    # each name has its line, and is counted
    [[ $output == *"podman  $REGISTRY/app:1  "*misfit*$'\n'*"vpull --to podman $REGISTRY/app:1"$'\n'* ]]
    [[ $output == *"podman  $REGISTRY/app:1-cuda12.8  "*misfit*$'\n'*"vpull --to podman $REGISTRY/app:1"$'\n'* ]]
    [ "${lines[-1]}" = "2 of 2 images here have variants" ]
    run -5 --separate-stderr "$VARIANTCTL" verify --config "$STATE/config.yaml" --profile "$PROFILES/mi300x.json" --from podman
    [ "$(grep -c "^misfit   podman: $REGISTRY/app:1.*; vpull --to podman $REGISTRY/app:1\$" <<<"$output")" = 2 ]
    [ "${lines[-1]}" = "2 images: 2 do not fit" ]
    # what it says brings what fits
    "$VPULL" --config "$STATE/config.yaml" --quiet --profile "$PROFILES/mi300x.json" --to podman "$REGISTRY/app:1" 3>&-
    podman rmi --force "$(podman image inspect --format '{{.Id}}' "$REGISTRY/app:1-cuda12.8")" >/dev/null 3>&-
    run -0 "$VARIANTCTL" verify --config "$STATE/config.yaml" --profile "$PROFILES/mi300x.json" --from podman
    # a set without anything for that machine
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/images:only" "cuda12.8=oci:$STATE/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8" >/dev/null 3>&-
    push_layout "$STATE/images:only" "$REGISTRY/only:1"
    pull --to podman "$REGISTRY/only:1"
    run -5 "$VARIANTCTL" verify --config "$STATE/config.yaml" --profile "$PROFILES/mi300x.json" --from podman
    [[ $output == *"misfit   podman: $REGISTRY/only:1 (cuda12.8)"*"; nor does anything else of $REGISTRY/only:1: remove it"$'\n'* ]]
    [[ $output != *"vpull --to podman $REGISTRY/only:1"* ]]
}

@test "podman: an image that it cannot tell of is said, with its own reason" {
    fake_podman <<'SH'
#!/bin/sh
case "$*" in
images*dangling*) ;;
images*) printf 'sha256:%064d\nsha256:%064d\n' 1 2 ;;
*)
    [ "$4$5" = "" ] || [ "$#" -gt 3 ] && printf '[{"Id": "%064d", "RepoTags": ["localhost/a:1"]}]' 1
    echo "Error: layers of sha256:2 are damaged" >&2
    exit 125
    ;;
esac
SH
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$VARIANTCTL" images --profile "$PROFILES/h100.json" --from podman
    [ "$stderr" = "variantctl: warning: podman: 1 of its images cannot be read: Error: layers of sha256:2 are damaged" ]
    run -1 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from podman
    [[ $output == "1 image: "* ]]
    [[ $stderr == *"podman: 1 of its images cannot be read: Error: layers of sha256:2 are damaged"* ]]
    # nobody answers: the client's last words
    fake_podman <<'SH'
#!/bin/sh
printf 'WARN[0000] old cgroups\nError: cannot open storage: it is locked\n' >&2
exit 125
SH
    run -0 --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$VARIANTCTL" images --profile "$PROFILES/h100.json"
    [[ $stderr == *"podman is skipped: Error: cannot open storage: it is locked"* ]]
    [[ $stderr == *"docker is skipped: docker is not installed"* ]]
}

@test "images takes no argument, and the hint names index show" {
    run -2 "$VARIANTCTL" images app
    [[ $output == *"images takes no argument, not 'app'"*"variantctl index show IMAGE"* ]]
}

@test "verify of an index without variants judges the image for this platform, also below another index" {
    local old='NVIDIA_REQUIRE_CUDA=cuda>=99.0' L=$STATE/judged top digest
    mkimage "$L" new --env "$old"
    mkimage "$L" arm --arch arm64
    "$VARIANTCTL" index create --quiet "oci:$L:app" "null=oci:$L:new" "null=oci:$L:arm" >/dev/null 3>&-
    top=$(jq -c '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == "app") | del(.annotations)' "$L/index.json")
    jq -c '.manifests |= map(select(.annotations["org.opencontainers.image.ref.name"] == "app"))' "$L/index.json" >"$STATE/new"
    cp "$STATE/new" "$L/index.json"
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$top" >"$STATE/above"
    # platforms that stand in the configurations alone, the other one's first
    jq -c '.manifests |= (reverse | map(del(.platform)))' "$L/blobs/sha256/$(jq -r '.digest[7:]' <<<"$top")" >"$STATE/bare"
    for top in above bare; do
        digest=$(sha256sum <"$STATE/$top" | cut -d' ' -f1)
        cp "$STATE/$top" "$L/blobs/sha256/$digest"
        jq -c --arg d "sha256:$digest" --argjson n "$(stat -c %s "$STATE/$top")" --arg name "$top" \
            '.manifests += [{mediaType: .manifests[0].mediaType, digest: $d, size: $n, annotations: {"org.opencontainers.image.ref.name": $name}}]' \
            "$L/index.json" >"$STATE/new" && cp "$STATE/new" "$L/index.json"
    done
    run -0 --separate-stderr "$VARIANTCTL" verify --all --profile "$PROFILES/h100.json" --from "oci:$L"
    [ "$(grep -c '^warning .*built for CUDA 99.0' <<<"$output")" = 3 ]
    jq '.platform = {os: "linux", architecture: "arm64"}' "$PROFILES/laptop.json" >"$STATE/arm.json"
    run -0 --separate-stderr "$VARIANTCTL" verify --all --profile "$STATE/arm.json" --from "oci:$L"
    [[ $output != *'CUDA 99.0'* ]]
}
