#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The templates of contrib/ci: what they run is good shell, and does what it says for an index that is
# clean and for one that is not.

load ../harness
load ../images
load ../schema

setup_file()
{
    require docker-registry skopeo jq shellcheck
    require_validator
    state_start
    start_registry
    export OCV_DATADIR=$OCV_TOP/plugins CI_TEMPLATES=$OCV_TOP/contrib/ci
    make_variants "$STATE/layout"
    push_layout "$VARIANTS:app" "$REGISTRY/group/app:latest"
    push_layout "$VARIANTS:app" "$REGISTRY/group/bad:latest"
    # one that is worth a warning and an error: no schema, and a feature that does not exist
    skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/group/bad:latest" |
        jq -c 'del(.annotations["dev.ocivariant.schema"]) | (.manifests[] |
            select(.annotations["dev.ocivariant.label"] == "cpu.v3").annotations["dev.ocivariant.properties"])
            = "x86_64 :: levle :: v3"' >"$STATE/bad.json"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
        --data-binary @"$STATE/bad.json" "http://$REGISTRY/v2/group/bad/manifests/latest"
    mkdir "$STATE/bin"
    # shellcheck disable=SC2016 # expanded by the script
    printf '#!/bin/sh\ncat >"$STATE/password"; echo "$*" >"$STATE/docker-arguments"\n' >"$STATE/bin/docker"
    # shellcheck disable=SC2016 # expanded by the script
    printf '#!/bin/sh\necho "$*" >"$STATE/sudo-arguments"\n' >"$STATE/bin/sudo"
    chmod +x "$STATE/bin/docker" "$STATE/bin/sudo"
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    : >.git # settings are looked for up to here
}

# scripts EXPRESSION: shell commands of the template on standard input, a NUL after each
scripts()
{
    "$(validator)" -c 'import sys, yaml
document = yaml.safe_load(sys.stdin)
for text in eval(sys.argv[1]):
    print("#!/bin/bash -e", text, sep="\n", end="\0")' "$1"
}

# steps EXPRESSION TEMPLATE: writes step.0, step.1, ... as a runner does, with this registry in them
steps()
{
    local text n=0
    while IFS= read -r -d '' text; do
        printf '%s\n' "$text" >"step.$n"
        shellcheck -s bash "step.$n"
        sed -i "s|ghcr\.io|$REGISTRY|g" "step.$n"
        chmod +x "step.$n"
        n=$((n + 1))
    done < <(scripts "$1" <"$CI_TEMPLATES/$2")
    [ "$n" -gt 1 ]
}

# two packages as a release has them, by their names and checksums
make_assets()
{
    mkdir assets
    echo one >assets/tool.deb
    echo two >assets/data.deb
    export OCIVARIANT_PACKAGE="file://$PWD/assets/tool.deb file://$PWD/assets/data.deb" OCIVARIANT_SHA256
    OCIVARIANT_SHA256=$(cd assets && sha256sum tool.deb data.deb | cut -d' ' -f1 | paste -sd' ')
}

# of our packages each needs others of ours, which no archive has
@test "a template that installs packages names all that variantctl needs, with a checksum each" {
    local template
    for template in github-actions.yml github-publish.yml github-slim.yml gitlab-ci.yml; do
        "$(validator)" -c 'import re, sys, yaml
document = yaml.safe_load(sys.stdin)
settings = document.get("env") or document["variants"]["variables"]
packages = [url.rsplit("/", 1)[1] for url in settings["OCIVARIANT_PACKAGE"].split()]
ours = {}
for text in open(sys.argv[1]).read().split("\n\n"):
    name = re.search(r"^Package: (\S+)", text, re.M)
    if name:
        ours[name[1]] = re.search(r"^Depends:((?:.*\n )*.*)", text, re.M)[1]
needed, todo = set(), {"variantctl"}
while todo:
    name = todo.pop()
    needed.add(name)
    todo |= set(re.findall(r"[a-z][a-z0-9-]+", ours[name])) & set(ours) - needed
assert set(packages) == {name + ".deb" for name in needed}, (packages, needed)
assert len(settings["OCIVARIANT_SHA256"].split()) == len(packages)' "$OCV_TOP/contrib/debian/control" <"$CI_TEMPLATES/$template"
    done
}

@test "GitHub Actions: annotations, then SARIF and a failing step" {
    steps '[s["run"] for s in document["jobs"]["lint"]["steps"] if "run" in s]' github-actions.yml
    export GITHUB_ENV=$PWD/github.env GITHUB_ACTOR=me TOKEN=s3cret
    export PATH=$STATE/bin:$PATH
    # without an asset nothing is installed, and one that is not what it should be is refused
    make_assets
    export RUNNER_TEMP=$PWD
    OCIVARIANT_SHA256="${OCIVARIANT_SHA256% *} $(printf %064d 0)" run ! ./step.0
    [ ! -e "$STATE/sudo-arguments" ]
    rm -r ocivariant
    OCIVARIANT_SHA256=${OCIVARIANT_SHA256% *} run ! ./step.0 # one that has no checksum
    [ ! -e "$STATE/sudo-arguments" ]
    rm -r ocivariant
    run -0 ./step.0
    [ "$(<"$STATE/sudo-arguments")" = "apt-get install -y ./data.deb ./tool.deb" ]
    GITHUB_REPOSITORY=Group/App run -0 ./step.1
    [ "$(<"$STATE/password")" = s3cret ]
    [[ $(<"$STATE/docker-arguments") != *s3cret* ]]
    [ "$(<github.env)" = "IMAGE=$REGISTRY/group/app:latest" ]
    IMAGE=$REGISTRY/group/app:latest run -0 ./step.3
    [ "$(jq '.runs[0].results | length' variants.sarif)" = 0 ]
    # shellcheck disable=SC2030,SC2031 # each test has its own
    export IMAGE=$REGISTRY/group/bad:latest
    run -0 ./step.2
    [[ $output == *"::error title=OCV204 feature-unknown::"* ]]
    [[ $output == *"::warning title=OCV101 schema-missing::"* ]]
    run -5 ./step.3
    valid "$OCV_TOP/test/data/sarif/sarif-schema-2.1.0.json" variants.sarif
    [ "$(jq -r '[.runs[0].results[].ruleId] | join(" ")' variants.sarif)" = "OCV101 OCV204" ]
}

@test "GitHub Actions: slim variants of an image that was pushed" {
    python3 "$OCV_TOP/test/integration/slim.py" make images app zstd "$OCV_BUILD/test/tools/gpu_library"
    push_layout images:app "$REGISTRY/group/fat:latest"
    steps '[s["run"] for s in document["jobs"]["slim"]["steps"] if "run" in s]' github-slim.yml
    export GITHUB_ENV=$PWD/github.env GITHUB_ACTOR=me TOKEN=s3cret TARGETS=sm_80,sm_90
    export PATH=$STATE/bin:$PATH
    GITHUB_REPOSITORY=Group/Fat run -0 ./step.1
    [ "$(<github.env)" = "IMAGE=$REGISTRY/group/fat:latest" ]
    # shellcheck disable=SC2030,SC2031 # each test has its own
    export IMAGE=$REGISTRY/group/fat:latest
    run -0 ./step.2
    run -0 ./step.2
    [[ $output == *"(4 entries; unchanged)"* ]]
    run -0 ./step.3
}

@test "GitLab CI: the job's token, SARIF as an artifact, and the job fails on errors" {
    local step
    steps 'document["variants"]["before_script"] + document["variants"]["script"]' gitlab-ci.yml
    export HOME=$BATS_TEST_TMPDIR/home CI_REGISTRY=registry.example CI_REGISTRY_USER=job CI_REGISTRY_PASSWORD=s3cret
    unset DOCKER_CONFIG
    grep -l apt-get step.[0-9] >install-step
    rm "$(<install-step)" # of this machine nothing is installed
    make_assets
    OCIVARIANT_SHA256="${OCIVARIANT_SHA256#* } ${OCIVARIANT_SHA256% *}" run -1 ./step.0
    for step in step.[0-9]; do
        echo "$step"
        IMAGE=$REGISTRY/group/app:latest run -0 "./$step"
    done
    [ "$(jq -r '.auths["registry.example"].auth | @base64d' "$HOME/.docker/config.json")" = job:s3cret ]
    [ "$(jq '.runs[0].results | length' variants.sarif)" = 0 ]
    # shellcheck disable=SC2030,SC2031 # each test has its own
    export IMAGE=$REGISTRY/group/bad:latest
    grep -l 'sarif' step.* >sarif-step
    run -0 "./$(<sarif-step)"
    [ "$(jq '.runs[0].results | length' variants.sarif)" = 2 ]
    run -5 "./$step" # the last one
    [[ $output == *"1 error, 1 warning, 0 notes"* ]]
}

@test "pre-commit: the hooks take files of their patterns, check them and correct them" {
    local files file
    files=$("$(validator)" -c 'import sys, yaml; print(yaml.safe_load(sys.stdin)[0]["files"])' <"$CI_TEMPLATES/pre-commit-hooks.yaml")
    for file in index.json deploy/app.index.json tags.txt app.yaml deploy/gpu.variants.yml; do grep -qP "$files" <<<"$file"; done
    for file in package.json myindex.json.bak tags.txt.old myapp.yaml values.yaml; do run ! grep -P "$files" <<<"$file"; done
    jq . "$STATE/bad.json" >app.index.json
    echo 'registry.example/app:1' >tags.txt
    "$(validator)" -c 'import sys, yaml
for hook in yaml.safe_load(sys.stdin):
    print(hook["entry"])' <"$CI_TEMPLATES/pre-commit-hooks.yaml" >entries
    [ "$(wc -l <entries)" = 2 ]
    # shellcheck disable=SC2046
    run -5 $(sed -n 1p entries) app.index.json tags.txt
    # shellcheck disable=SC2046
    run -5 $(sed -n 2p entries) app.index.json
    [ "$(jq -r '.annotations["dev.ocivariant.schema"]' app.index.json)" = 1 ]
}
