#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/ci: what publishes. One Dockerfile is built by buildah for every variant, and the index goes to
# a registry, from the script, the GitHub action and the GitLab component.

load ../harness
load ../images
load ../schema

setup_file()
{
    require docker-registry buildah jq shellcheck
    require_validator
    state_start
    start_registry
    start_podman
    export CI_FILES=$OCV_TOP/contrib/ci OCV_DATADIR=$OCV_TOP/plugins
    export BUILDAH_ISOLATION=chroot PLATFORMS=linux/amd64,linux/arm64,linux/amd64/x-cuda12-8,linux/amd64/x-rocm7-1
    # an asset of a release: the tree that `make install` writes
    mkdir -p "$STATE"/tree/usr/{bin,lib,share/ocivariant}
    cp "$OCV_BUILD/variantctl" "$STATE/tree/usr/bin"
    cp -P "$OCV_BUILD"/libocivariant*.so* "$STATE/tree/usr/lib"
    cp -r "$OCV_TOP/plugins/tags.d" "$OCV_TOP/plugins/providers" "$STATE/tree/usr/share/ocivariant"
    tar -C "$STATE/tree" -czf "$STATE/ocivariant.tar.gz" .
    export OCIVARIANT_PACKAGE=file://$STATE/ocivariant.tar.gz OCIVARIANT_SHA256
    OCIVARIANT_SHA256=$(sha256sum <"$STATE/ocivariant.tar.gz" | cut -d' ' -f1)
    # what is called with: an identity provider is not here
    mkdir "$STATE/bin"
    # shellcheck disable=SC2016 # expanded by the script
    printf '#!/bin/sh\necho "$*" >>"$STATE/cosign"\n' >"$STATE/bin/cosign"
    chmod +x "$STATE/bin/cosign"
}

setup()
{
    cp -r "$CI_FILES/example/." "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return 1
    : >.git
    rm -f "$STATE/cosign"
}

# run of a document on standard input
scripts()
{
    "$(validator)" -c 'import sys, yaml
documents = list(yaml.safe_load_all(sys.stdin))
document = documents[-1]
for text in eval(sys.argv[1]):
    print("#!/bin/bash -e", text, sep="\n", end="\0")' "$1"
}

steps() # EXPRESSION FILE
{
    local text n=0
    while IFS= read -r -d '' text; do
        printf '%s\n' "$text" >"step.$n"
        chmod +x "step.$n"
        n=$((n + 1))
    done < <(scripts "$1" <"$CI_FILES/$2")
    [ "$n" -gt 1 ]
}

is_published() # REPO:TAG
{
    run -0 "$VARIANTCTL" index show --format json "$REGISTRY/$1"
    [ "$(jq -r '[.manifests[] | (.annotations["dev.ocivariant.label"] // "-") + "=" + .platform.architecture + "/" + (.platform.variant // "")] | join(" ")' <<<"$output")" = \
        "-=amd64/ -=arm64/ cuda12.8=amd64/x-cuda12-8 rocm7.1=amd64/x-rocm7-1" ]
    [ "$(jq -r '.annotations["dev.ocivariant.namespaces"]' <<<"$output")" = "nvidia, amd" ]
}

@test "publish.sh: one build becomes one index, every machine finds its build in it" {
    IMAGE=$REGISTRY/script/app:1.0 run -0 --separate-stderr "$CI_FILES/publish.sh"
    [[ $output == "$REGISTRY/script/app@sha256:"* && ${#lines[@]} = 1 ]]
    local reference=$output
    [[ $stderr == *"no cosign here: $reference is not signed"* ]]
    is_published script/app:1.0
    run -0 "$OCV_BUILD/vpull" --quiet --profile "$PROFILES/h100.json" --to oci:pulled:h100 "$REGISTRY/script/app:1.0"
    run -0 "$OCV_BUILD/vpull" --quiet --profile "$PROFILES/laptop.json" --to oci:pulled:laptop "$REGISTRY/script/app:1.0"
    [ "$(layer_of h100)" = "$(tail -n 1 cuda)" ]
    [ "$(layer_of laptop)" = "$(tail -n 1 cpu)" ]
    # the next run of the pipeline
    IMAGE=$REGISTRY/script/app:1.0 PATH=$STATE/bin:$PATH run -0 --separate-stderr "$CI_FILES/publish.sh"
    [ "$(<"$STATE/cosign")" = "sign --yes --recursive $output" ]
    is_published script/app:1.0
}

# layer_of TAG: the last line of app/build in the pulled image
layer_of()
{
    local manifest layer
    manifest=$(jq -r --arg tag "$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag).digest' pulled/index.json)
    layer=$(jq -r '.layers[-1].digest' "pulled/blobs/sha256/${manifest#sha256:}")
    tar -xOf "pulled/blobs/sha256/${layer#sha256:}" app/build | tail -n 1
}

@test "a source that lint refuses costs no build, and a platform without a variant is named" {
    sed -i 's/cuda_version_lower_bound/cuda_version/' app.yaml
    IMAGE=$REGISTRY/refused/app:1.0 run -5 "$CI_FILES/publish.sh"
    [[ $output == *"did you mean nvidia :: cuda_version_lower_bound :: 12.8?"* ]]
    [ ! -e images ]
    cp "$CI_FILES/example/app.yaml" .
    IMAGE=$REGISTRY/refused/app:1.0 PLATFORMS=linux/amd64,linux/amd64/x-cuda12-8 run -4 "$CI_FILES/publish.sh"
    [[ $output == *"rocm7.1: oci:images:app has no image for x-rocm7-1"*"hint: it has "*linux/amd64/x-cuda12-8* ]]
    sed -i '/label: rocm7.1/,$d' app.yaml
    sed -i '/namespaces/d' app.yaml
    IMAGE=$REGISTRY/less/app:1.0 run -0 "$CI_FILES/publish.sh"
    [[ $output == *"warning: oci:images:app: linux/amd64/x-rocm7-1 is left out: no variant uses it"* ]]
}

@test "a directory that is no layout of a build stays" {
    mkdir images
    echo mine >images/photo
    IMAGE=$REGISTRY/mine/app:1.0 PLATFORMS=linux/amd64 run -1 "$CI_FILES/publish.sh"
    [[ $output == *"images is not an OCI layout"* ]]
    [ "$(<images/photo)" = mine ]
}

@test "a platform may be named where it is not x-LABEL" {
    buildah build --quiet --manifest named --platform linux/amd64,linux/amd64/x-cuda12-8 . >/dev/null
    buildah manifest push --all named oci:images:app >/dev/null 2>&1
    cat >named.yaml <<'YAML'
variants:
  - {label: null, image: 'oci:images:app', platform: linux/amd64}
  - {label: hopper, image: 'oci:images:app', platform: linux/amd64/x-cuda12-8, properties: ['nvidia :: cuda_version_lower_bound :: 12.8']}
YAML
    run -0 "$VARIANTCTL" index create --quiet --from named.yaml oci:out:1
    run -0 "$VARIANTCTL" index show --format json oci:out:1
    [ "$(jq -r '[.manifests[].platform.variant] | join(" ")' <<<"$output")" = " x-hopper" ]
    sed -i 's|linux/amd64/x-cuda12-8|linux/s390x|' named.yaml
    run -4 "$VARIANTCTL" index create --from named.yaml oci:out:1
    [[ ${lines[0]} == *"named.yaml:3: hopper: oci:images:app has no image for linux/s390x" ]]
    [[ ${lines[1]} == "hint: it has "*linux/amd64/x-cuda12-8* ]] # the order is the build's
}

@test "install.sh: an asset by its checksum, for this shell or a runner's later steps" {
    OCIVARIANT_SHA256=$(printf %064d 0) run -1 "$CI_FILES/install.sh"
    [[ $output == *FAILED* ]]
    run -0 --separate-stderr env -u RUNNER_TEMP -u CI_PROJECT_DIR -u GITHUB_ENV "$CI_FILES/install.sh"
    (
        unset OCV_DATADIR
        eval "$output"
        [ "$(command -v variantctl)" = "$PWD/ocivariant/usr/bin/variantctl" ]
        variantctl tags parse docker.io/vllm/vllm-openai:v0.14.1-cu130 | jq -e '.family == "vllm"'
    )
    cp "$STATE/ocivariant.tar.gz" ocivariant.zip
    OCIVARIANT_PACKAGE=$PWD/ocivariant.zip run -2 "$CI_FILES/install.sh"
    [[ $output == *"ocivariant.zip: neither .deb, .rpm nor .tar.gz" ]]
    OCIVARIANT_PACKAGE="a.deb b.deb" run -2 "$CI_FILES/install.sh"
    [[ $output == *"2 packages, but 1 checksums"* ]]
}

@test "the GitHub action installs, publishes and tells the reference" {
    steps '[s["run"] for s in document["runs"]["steps"]]' action/action.yml
    shellcheck -s bash step.0 step.1
    export GITHUB_ACTION_PATH=$CI_FILES/action GITHUB_ENV=$PWD/github.env GITHUB_PATH=$PWD/github.path GITHUB_OUTPUT=$PWD/github.output RUNNER_TEMP=$PWD/temp
    run -0 ./step.0
    [ "$(<github.path)" = "$PWD/temp/ocivariant/usr/bin" ]
    grep -qx "OCV_DATADIR=$PWD/temp/ocivariant/usr/share/ocivariant" github.env
    IMAGE=$REGISTRY/action/app:1.0 run -0 ./step.1
    [[ $(<github.output) == "reference=$REGISTRY/action/app@sha256:"* ]]
    is_published action/app:1.0
}

@test "the GitLab component logs in, installs and publishes" {
    sed "s|\$\[\[ inputs.scripts \]\]|$CI_FILES|" "$CI_FILES/gitlab-publish.yml" >component.yml
    CI_FILES=. steps '["\n".join(document["publish-variants"]["before_script"] + document["publish-variants"]["script"]), ":"]' component.yml
    shellcheck -s bash step.0
    export HOME=$PWD/home CI_REGISTRY=registry.example CI_REGISTRY_USER=job CI_REGISTRY_PASSWORD=s3cret CI_PROJECT_DIR=$PWD
    unset DOCKER_CONFIG
    IMAGE=$REGISTRY/component/app:1.0 run -0 ./step.0
    [ "$(jq -r '.auths["registry.example"].auth | @base64d' "$HOME/.docker/config.json")" = job:s3cret ]
    [[ $(<published.txt) == "$REGISTRY/component/app@sha256:"* ]]
    is_published component/app:1.0
    # every input that the job uses is declared
    "$(validator)" -c 'import re, sys, yaml
text = sys.stdin.read()
spec, job = yaml.safe_load_all(text)
used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", text))
assert used == set(spec["spec"]["inputs"]), used ^ set(spec["spec"]["inputs"])' <"$CI_FILES/gitlab-publish.yml"
}

@test "the bake file builds what the example has" {
    local platforms platform
    platforms=$(sed -n 's/^ *default = "\(.*\)"$/\1/p' "$CI_FILES/docker-bake.hcl")
    [ "$platforms" = "$PLATFORMS" ]
    for platform in ${platforms//,/ }; do
        [[ $platform != */x-* ]] || grep -q "^FROM .* AS build-${platform##*/}$" Dockerfile
    done
}

@test "the workflows pass actionlint, with the inputs of the action" {
    command -v actionlint >/dev/null || skip "actionlint is not installed (go install github.com/rhysd/actionlint/cmd/actionlint@latest)"
    mkdir -p repository/.github/workflows repository/contrib/ci
    cp -r "$CI_FILES/action" repository/contrib/ci
    cp "$CI_FILES"/github-*.yml repository/.github/workflows
    sed -i 's|OWNER/ocivariant/contrib/ci/action@TAG|./contrib/ci/action|' repository/.github/workflows/github-publish.yml
    cd repository
    git init -q .
    run -0 actionlint -no-color
    [ -z "$output" ]
    # and it looks into the action
    sed -i '/platforms:/d' .github/workflows/github-publish.yml
    run -1 actionlint -no-color
    [[ $output == *'"platforms"'* ]]
}
