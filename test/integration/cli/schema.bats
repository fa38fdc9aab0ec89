#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What the commands write is valid by schema/*.schema.json, as an independent validator sees it.

load ../harness
load ../schema

setup_file()
{
    require_validator
}

@test "profiles of this machine, of other processors and of an empty tree" {
    local file=$BATS_TEST_TMPDIR/profile.json dump
    "$VARIANTCTL" probe --format json >"$file"
    valid profile "$file"
    for dump in "$OCV_TOP"/test/data/cpuid/*.cpuid; do
        "$VARIANTCTL" probe --format json --cpuid "$dump" >"$file"
        valid profile "$file"
    done
    mkdir -p "$BATS_TEST_TMPDIR/tree/sys"
    "$VARIANTCTL" probe --format json --sysroot "$BATS_TEST_TMPDIR/tree" >"$file"
    valid profile "$file"
}

@test "a profile with a capital in a namespace is not valid" {
    echo '{"schema": "dev.ocivariant.profile/v1", "namespaces": [{"namespace": "NVIDIA"}]}' \
        >"$BATS_TEST_TMPDIR/profile.json"
    run ! valid profile "$BATS_TEST_TMPDIR/profile.json"
}

@test "the schema accepts decisions with a choice and without" {
    local index=$BATS_TEST_TMPDIR/index.json data=$OCV_TOP/test/data/cpuid
    awk '/^[^ ]+json$/ { inside = 1; next } /^[^ ][^ ][^ ]$/ { exit } inside' \
        "$OCV_TOP/schema/annotations.md" >"$index"
    "$VARIANTCTL" probe --format json --cpuid "$data/full.v4.cpuid" >"$BATS_TEST_TMPDIR/host.json"
    "$VARIANTCTL" resolve --index "$index" --profile "$BATS_TEST_TMPDIR/host.json" \
        >"$BATS_TEST_TMPDIR/decision.json"
    valid decision "$BATS_TEST_TMPDIR/decision.json"
    run -3 --separate-stderr "$VARIANTCTL" resolve --index "$index" --label cu128 \
        --profile "$BATS_TEST_TMPDIR/host.json"
    echo "$output" >"$BATS_TEST_TMPDIR/decision.json"
    valid decision "$BATS_TEST_TMPDIR/decision.json"
}

@test "the schema accepts a lock, and no lock with an unknown digest" {
    local dir=$BATS_TEST_TMPDIR
    mkdir "$dir/images"
    "$OCV_BUILD/test/tools/mkimage" "$dir/images" cpu --file etc/x=y >/dev/null
    "$VARIANTCTL" lock -o "$dir/variants.lock" "oci:$dir/images:cpu"
    valid lock "$dir/variants.lock"
    sed 's/"digest": "sha256/"digest": "md5/' "$dir/variants.lock" >"$dir/wrong.lock"
    run ! valid lock "$dir/wrong.lock"
}

@test "the configuration of docs/configuration.md has every key, is valid, and is read" {
    local example=$BATS_TEST_TMPDIR/config.yaml key
    awk '/^```yaml$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$OCV_TOP/docs/configuration.md" >"$example"
    valid config "$example"
    for key in $(jq -r '.properties | keys[], ((.registries, .repositories).additionalProperties.properties | keys[])' \
        "$OCV_TOP/schema/config.schema.json"); do
        grep -Eq "^ *$key:" "$example" || {
            echo "no $key"
            return 1
        }
    done
    echo '{"schema": "dev.ocivariant.profile/v1", "namespaces": []}' >"$BATS_TEST_TMPDIR/host.json"
    run -1 "$VARIANTCTL" resolve --config "$example" --profile "$BATS_TEST_TMPDIR/host.json" \
        "oci:$BATS_TEST_TMPDIR/none"
    sed -i 's/^to:/too:/' "$example"
    run -2 "$VARIANTCTL" resolve --config "$example" --profile "$BATS_TEST_TMPDIR/host.json" \
        "oci:$BATS_TEST_TMPDIR/none"
    # the variables and flags that it shows
    run -1 env OCV_DEVICE_POLICY='nvidia=any;amd=first' "$VPULL" --profile "$BATS_TEST_TMPDIR/host.json" "oci:$BATS_TEST_TMPDIR/none"
    run -1 "$VPULL" --devices nvidia=0,2 --override nvidia::cuda_version_lower_bound=12.4,12.3 \
        --profile "$BATS_TEST_TMPDIR/host.json" "oci:$BATS_TEST_TMPDIR/none"
}

# events FILE: each line is valid
events()
{
    local code=0
    split -l 1 --additional-suffix=.json "$1" "$1."
    valid progress-event "$1".*.json || code=1
    rm "$1".*.json
    return $code
}

@test "events of vpull: a pull, nothing that fits, a registry that is not there" {
    local dir=$BATS_TEST_TMPDIR label name profiles=$OCV_TOP/plugins/profiles
    export OCV_STATE_DIR=$dir/state OCV_SOCKET=$dir/nobody
    mkdir "$dir/images"
    for label in null cuda; do
        "$OCV_BUILD/test/tools/mkimage" "$dir/images" "$label" --layer 100000 --file "etc/build=$label" >/dev/null
    done
    "$VARIANTCTL" index create --quiet "oci:$dir/images:app" "null=oci:$dir/images:null" \
        "cuda=oci:$dir/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8"
    "$VPULL" -v --json --profile "$profiles/h100.json" --to "oci:$dir/mine:1" "oci:$dir/images:app" >"$dir/out"
    events "$dir/out"
    [[ $(jq -r .event "$dir/out" | uniq | paste -sd' ') == *"decision layer progress done" ]]
    # a pull that ended early left the beginning of a layer
    name=$(jq -r 'select(.event == "layer").id' "$dir/out" | head -n 1)
    mkdir -p "$dir/later/.ocivariant"
    head -c 1000 "$dir/images/blobs/sha256/${name#*:}" >"$dir/later/.ocivariant/${name/:/-}.partial"
    "$VPULL" --json --profile "$profiles/h100.json" --to "oci:$dir/later:1" "oci:$dir/images:app" >"$dir/out"
    events "$dir/out"
    [[ $(jq -r .event "$dir/out" | uniq | paste -sd' ') == *"decision layer resumed progress done" ]]
    [ "$(jq -r 'select(.event == "resumed") | .id, .done' "$dir/out" | paste -sd' ')" = "$name 1000" ]
    run -0 "$VPULL" --json --profile "$profiles/h100.json" --to "docker-archive:$dir/mine.tar" "oci:$dir/images:app"
    echo "$output" >"$dir/out"
    events "$dir/out"
    grep -q '"event":"writing"' "$dir/out"
    run -3 "$VPULL" --json --require amd --profile "$profiles/h100.json" --to "oci:$dir/mine:1" "oci:$dir/images:app"
    echo "$output" >"$dir/out"
    events "$dir/out"
    [[ $(jq -r .event "$dir/out" | uniq | paste -sd' ') == *"rejected error" ]]
    run -1 "$VPULL" --json --profile "$profiles/h100.json" --to "oci:$dir/mine:1" 127.0.0.1:1/app:1
    echo "$output" >"$dir/out"
    events "$dir/out"
    [ "$(jq -r .event "$dir/out" | paste -sd' ')" = "resolving error" ]
    echo '{"event": "progress", "id": "x", "status": "sleeping", "done": 0}' >"$dir/out"
    run ! events "$dir/out"
}

@test "what verify, coverage, setup --status and tags plan print" {
    local dir=$BATS_TEST_TMPDIR label tool=$OCV_BUILD/test/tools/mkimage profiles=$OCV_TOP/plugins/profiles
    mkdir "$dir/images" "$dir/tree"
    for label in null cuda; do "$tool" "$dir/images" "$label" --file "etc/build=$label" >/dev/null; done
    "$VARIANTCTL" index create --quiet "oci:$dir/images:app" "null=oci:$dir/images:null" \
        "cuda=oci:$dir/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8"
    OCV_STATE_DIR=$dir/state "$VPULL" --quiet --profile "$profiles/h100.json" --to "oci:$dir/mine:1" "oci:$dir/images:app"
    OCV_STATE_DIR=$dir/state run -5 "$VARIANTCTL" verify --format json --profile "$profiles/laptop.json" \
        --from "oci:$dir/mine" --from "oci:$dir/images"
    echo "$output" | tee "$dir/out.json"
    valid verify "$dir/out.json"
    [ "$(jq -r '[.images[].verdict] | unique | join(" ")' "$dir/out.json")" = "fits misfit" ]
    OCV_STATE_DIR=$dir/state "$VARIANTCTL" images --format json --profile "$profiles/laptop.json" --from "oci:$dir/mine" >"$dir/out.json"
    valid images "$dir/out.json"
    [ "$(jq -r '.images[0].verdict' "$dir/out.json")" = misfit ]
    "$VARIANTCTL" index coverage --format json --profiles "$profiles" "oci:$dir/images:app" >"$dir/out.json"
    valid coverage "$dir/out.json"
    jq -e '.variants | length == 2' "$dir/out.json"
    mkdir -p "$dir/bare/tags.d" "$dir/bare/providers"
    "$VARIANTCTL" coverage --format json --before "$dir/bare" --after "$dir/bare" --profiles "$profiles" "oci:$dir/images:app" >"$dir/out.json"
    valid coverage-changes "$dir/out.json"
    jq '.changes = [{image: "a", host: "b", profile: "c", before: null, after: {problem: "d"}}]' "$dir/out.json" >"$dir/more.json"
    valid coverage-changes "$dir/more.json"
    "$VARIANTCTL" setup podman --registry docker.io --root "$dir/tree" >/dev/null
    run "$VARIANTCTL" setup --status --format json --root "$dir/tree"
    echo "$output" >"$dir/out.json"
    valid setup-status "$dir/out.json"
    jq -e '[.engines[] | select(.setUp)] | length == 1' "$dir/out.json"
    printf '%s\n' 1.9 86-1.9 cpu-1.9 1.9-grpc weird sha-1 >"$dir/tags"
    mkdir "$dir/data"
    ln -s "$OCV_TOP/plugins/tags.d" "$dir/data/tags.d"
    OCV_DATADIR=$dir/data "$VARIANTCTL" tags plan --format json --tags-file "$dir/tags" \
        ghcr.io/huggingface/text-embeddings-inference >"$dir/out.json"
    valid tag-plan "$dir/out.json"
    jq -e '(.sets | length > 0) and (.left_out | length > 0)' "$dir/out.json"
    jq '.sets[0].members[0].label = "A"' "$dir/out.json" >"$dir/wrong.json"
    run ! valid tag-plan "$dir/wrong.json"
}

@test "the generator of tables says what is wrong with a file, and where" {
    local generate=$OCV_BUILD/generate here=$BATS_TEST_TMPDIR
    cd "$OCV_TOP"
    sed 's/kind: npu/kind: nup/' schema/vocabulary.yaml >"$here/kind.yaml"
    run -1 --separate-stderr "$generate" vocabulary "$here/kind.yaml"
    [[ $stderr == "$here/kind.yaml:"[1-9]*": unknown kind: nup" ]]
    grep -v '^    needs: "amdgpu.noretry=1"' schema/hints.yaml >"$here/needs.yaml"
    run -1 --separate-stderr "$generate" hints "$here/needs.yaml"
    [[ $stderr == *"$here/needs.yaml:"*": needs is missing" ]]
    sed 's/^    check: layout/    check: users/' schema/lint-rules.yaml >"$here/check.yaml"
    run -1 --separate-stderr "$generate" lint-rules "$here/check.yaml"
    [[ $stderr == *"lib/internal/lint/checks/users.c does not name OCV_LINT_"* ]]
    printf 'a: b\n  c: d\n' >"$here/bad.yaml"
    run -1 --separate-stderr "$generate" toolkits "$here/bad.yaml"
    [[ $stderr == *"bad.yaml:2: "* ]]
    run -2 "$generate" nothing schema/hints.yaml
    run -1 --separate-stderr "$generate" hints "$here/none.yaml"
}
