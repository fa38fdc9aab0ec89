#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a user reads who mistypes, and what the help says: words that were meant, options that take no
# other option for their value, examples that run.
# bats file_tags=vpull,variantctl

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo jq
    L=$STATE/images
    make_variants "$L"
    export L
    start_registry
    export SERVER=$REGISTRY
    start_registry own tls
    export OWN=$REGISTRY
    push_layout "$L:app" "$SERVER/app:1.0"
}

VERBS=(probe resolve explain coverage match claim derive slim "export nfd" "export slurm" "export backendai" lint lock
    images verify setup vocabulary
    "setup containerd" "setup docker" "setup podman" "setup crio" index\ {create,add,remove,annotate,show,diff,copy}
    tags\ {parse,plan,check} fleet\ {pack,generate})

@test "each verb is in one of the files that make check runs" {
    local verb name engine files=()
    for name in $(sed -n "/^smoke='/,/'\$/p" "$OCV_TOP/test/run.sh" | tr -d "'" | sed 's/^smoke=//'); do
        files+=("$OCV_TOP"/test/integration/*/"$name.bats")
    done
    [ ${#files[@]} -gt 30 ]
    for verb in "${VERBS[@]}"; do
        engine=${verb#setup } # in_tree ENGINE is `variantctl setup ENGINE --root`
        grep -qE "(VARIANTCTL\"?|variantctl) $verb( |\$|\")|in_tree $engine( |\$)" "${files[@]}" ||
            { echo "no test of $verb in make check"; false; }
    done
}

# said WORDS COMMAND...: exit 2, and the first lines on stderr are those ("~" between two)
said()
{
    local expected=$1 got
    shift
    run -2 --separate-stderr "$@" </dev/null
    got=$(head -n "$(tr -dc '~' <<<"~$expected" | wc -c)" <<<"$stderr" | paste -sd '~')
    [ "$got" = "$expected" ] || { echo "$*: $got" && false; }
    [ -z "$output" ]
}

@test "a misspelt option: the most similar one" {
    said "vpull: unknown option '--lable'~The most similar option is: --label~hint: vpull --help" "$VPULL" --lable x y
    said "variantctl: unknown option '--profle'~The most similar option is: --profile~hint: variantctl explain --help" \
        "$VARIANTCTL" explain --profle x y
    said "variantctl: unknown option '--regsitry'~The most similar option is: --registry" "$VARIANTCTL" setup podman --regsitry x
    said "variantd: unknown option '--lisen'~The most similar option is: --listen" "$OCV_BUILD/variantd" --lisen x
    said "ocivariant-cri-proxy: unknown option '--lisen'~The most similar option is: --listen" "$OCV_BUILD/ocivariant-cri-proxy" --lisen x
    said "ocivariant-snapshotter: unknown option '--soket'~The most similar option is: --socket" "$OCV_BUILD/ocivariant-snapshotter" --soket x
    said "vpull: unknown option '--nothing-like-it'~hint: vpull --help" "$VPULL" --nothing-like-it x
}

@test "a misspelt verb, and what other programs call a verb" {
    said "variantctl: 'explian' is not a variantctl verb.~The most similar verb is: explain~hint: variantctl --help" \
        "$VARIANTCTL" explian x
    said "variantctl: 'index remvoe' is not a variantctl verb.~The most similar verb is: index remove~hint: variantctl index --help" \
        "$VARIANTCTL" index remvoe x
    said "variantctl: 'tags plna' is not a variantctl verb.~The most similar verb is: tags plan" "$VARIANTCTL" tags plna x
    said "variantctl: 'pull' is not a variantctl verb.~hint: vpull IMAGE pulls the variant that fits" "$VARIANTCTL" pull x
    said "variantctl: 'inspect' is not a variantctl verb.~hint: variantctl index show IMAGE lists what an index holds" \
        "$VARIANTCTL" inspect x
    said "variantctl: 'rm' is not a variantctl verb.~hint: variantctl index remove" "$VARIANTCTL" rm x
    said "variantctl: 'zzz' is not a variantctl verb.~hint: variantctl --help" "$VARIANTCTL" zzz
    for verb in ls inspect; do
        run -0 --separate-stderr "$VARIANTCTL" index $verb "oci:$L:app"
        [[ $output == *cuda12.8* ]]
    done
    run -0 --separate-stderr "$VARIANTCTL" index rm --dry-run --quiet "oci:$L:app" cuda12.8
}

@test "misspelt engines, destinations, values, rules and keys" {
    said "variantctl: invalid value 'dokcer' for the engine: containerd, docker, podman, crio; did you mean 'docker'?" \
        "$VARIANTCTL" setup dokcer
    said "variantctl: invalid value 'dokcer' for --from: docker, podman, containerd, cri[:/SOCKET] or oci:DIR; did you mean 'docker'?" \
        "$VARIANTCTL" verify --from dokcer
    said "variantctl: invalid value 'oci' for --from: docker, podman, containerd, cri[:/SOCKET] or oci:DIR" "$VARIANTCTL" verify --from oci
    said "vpull: invalid value 'contaienrd' for --to: docker, podman, nerdctl, containerd, oci:DIR[:TAG], docker-archive:FILE; did you mean 'containerd'?" "$VPULL" --to contaienrd x
    said "vpull: invalid value 'oic:x' for --to: docker, podman, nerdctl, containerd, oci:DIR[:TAG], docker-archive:FILE; did you mean 'oci'?" "$VPULL" --to oic:x x
    said "variantctl: invalid value 'jsno' for --format: text, json, sarif or github~The most similar value is: json" \
        "$VARIANTCTL" lint --format jsno x
    said "variantctl: no rule 'OCV10'; did you mean 'OCV101'?" "$VARIANTCTL" lint --explain OCV10
    printf 'namespace_priorty: [nvidia]\n' >"$BATS_TEST_TMPDIR/c.yaml"
    said "vpull: $BATS_TEST_TMPDIR/c.yaml:1: unknown key 'namespace_priorty'; did you mean 'namespace_priority'?" \
        "$VPULL" --config "$BATS_TEST_TMPDIR/c.yaml" x
}

@test "an option does not take the next one for its value; a lone - and what stands behind = are values" {
    said "vpull: --insecure needs HOST[:PORT], got '--to'~hint: vpull --help" "$VPULL" --insecure --to oci:vm "$SERVER/app:1.0"
    said "vpull: --insecure needs HOST[:PORT]~hint: vpull --help" "$VPULL" --insecure
    said "vpull: --to needs DESTINATION, got '-q'" "$VPULL" --to -q x
    said "variantctl: --registry needs HOST[:PORT], got '--dry-run'" "$VARIANTCTL" setup docker --registry --dry-run
    said "variantctl: -o needs FILE, got '--profile'" "$VARIANTCTL" lock -o --profile a=b x
    said "variantctl: --override needs NS::F=V,V, got '--disable'" "$VARIANTCTL" resolve --override --disable x
    said "variantd: --listen needs ADDRESS:PORT, got '--once'" "$OCV_BUILD/variantd" --listen --once
    said "ocivariant-cri-proxy: --listen needs PATH, got '--backend'" "$OCV_BUILD/ocivariant-cri-proxy" --listen --backend x
    said "ocivariant-snapshotter: --root needs DIR, got '--socket'" "$OCV_BUILD/ocivariant-snapshotter" --root --socket x
    said "ocivariant-oci-hook: needs a value: '--config'" "$OCV_HELPERS/ocivariant-oci-hook" --config --help
    "$VARIANTCTL" index show --json "oci:$L:app" >"$BATS_TEST_TMPDIR/index.json"
    run -0 --separate-stderr "$VARIANTCTL" index show --index - <"$BATS_TEST_TMPDIR/index.json"
    run -1 --separate-stderr "$VARIANTCTL" index show --index=--no-such-file
    [[ $stderr == *"--no-such-file"* ]]
}

@test "every option of every verb that has a value refuses another option" {
    local verb option n=0
    for verb in "${VERBS[@]}"; do
        # shellcheck disable=SC2086 # two words
        for option in $("$VARIANTCTL" $verb --help-all | grep -oE '^  (-[a-z], )?--[a-z-]+ [A-Z]' | grep -oE -- '--[a-z-]+'); do
            run -2 --separate-stderr "$VARIANTCTL" $verb "$option" --help
            [[ ${stderr_lines[0]} == "variantctl: $option needs "[A-Z]*", got '--help'" ]] || { echo "$verb $option: $stderr" && false; }
            n=$((n + 1))
        done
    done
    [ "$n" -gt 60 ]
}

@test "passwords are not taken from arguments; secret options are not shortened" {
    for option in --creds --username --password; do
        said "vpull: $option is not accepted: other users can read a program's arguments~hint: --creds-stdin reads USER:PASSWORD from standard input" \
            "$VPULL" "$option" user:secret "$SERVER/app:1.0"
        said "variantctl: $option is not accepted: other users can read a program's arguments~hint: --creds-stdin reads USER:PASSWORD from standard input" \
            "$VARIANTCTL" index show "$option=user:secret" "$SERVER/app:1.0"
        [[ $stderr != *secret* ]]
    done
    said "vpull: unknown option '--creds-std'~The most similar option is: --creds-stdin" "$VPULL" --creds-std "$SERVER/app:1.0"
    said "vpull: unknown option '--auth'~The most similar option is: --authfile" "$VPULL" --auth x "$SERVER/app:1.0"
    run -0 --separate-stderr "$VPULL" --dry "oci:$L:app" # others are
}

@test "--tls-verify=false: the registry of the image, and no other" {
    local named=${OWN/127.0.0.1/localhost}
    run -1 --separate-stderr "$VARIANTCTL" index copy --quiet "oci:$L:app" "$OWN/app:1.0"
    [[ $stderr == *"certificate"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index copy --quiet --tls-verify=false "oci:$L:app" "$OWN/app:1.0"
    run -1 --separate-stderr "$VPULL" --print-ref "$OWN/app:1.0"
    run -1 --separate-stderr "$VPULL" --print-ref --tls-verify "$OWN/app:1.0"
    run -1 --separate-stderr "$VPULL" --print-ref --tls-verify=true "$OWN/app:1.0"
    run -0 --separate-stderr "$VPULL" --print-ref --tls-verify=false "$OWN/app:1.0"
    [[ $output == "$OWN/app@sha256:"* ]]
    run -0 --separate-stderr "$VPULL" --print-ref --insecure "$OWN" "$OWN/app:1.0"
    run -1 --separate-stderr "$VPULL" --print-ref --insecure "$named" "$OWN/app:1.0"
    said "vpull: invalid value 'no' for --tls-verify: true or false" "$VPULL" --tls-verify=no x
    said "vpull: --tls-verify=false: no argument names an image in a registry~hint: --insecure HOST[:PORT]" \
        "$VPULL" --tls-verify=false --dry-run "oci:$L:app"
    # an image of another registry that a file names is not among the arguments
    printf 'schema: dev.ocivariant.index-source/v1\ndefaults: ["%s/app:1.0"]\n' "$OWN" >"$BATS_TEST_TMPDIR/app.yaml"
    run -1 --separate-stderr "$VARIANTCTL" index create --tls-verify=false --from "$BATS_TEST_TMPDIR/app.yaml" "$SERVER/new:1"
}

@test "vpull: arguments are looked at before a destination is, and pull is no word of its own" {
    local data=$BATS_TEST_TMPDIR/data
    mkdir "$BATS_TEST_TMPDIR/none"
    for name in team/App:1 ./nowhere registry.example/app:; do
        run --separate-stderr env PATH="$BATS_TEST_TMPDIR/none" XDG_DATA_HOME="$data" "$VPULL" "$name"
        [ "$status" != 0 ] && [[ ${stderr_lines[0]} == "vpull: "*"${name%:}"* && $stderr != *"pulling to"* ]] || { echo "$name: $stderr" && false; }
    done
    run -2 --separate-stderr env PATH="$BATS_TEST_TMPDIR/none" XDG_DATA_HOME="$data" "$VPULL" --tag team/App registry.example/app:1
    [[ ${stderr_lines[0]} == "vpull: --tag: "* && $stderr != *"pulling to"* ]]
    run -4 --separate-stderr env PATH="$BATS_TEST_TMPDIR/none" XDG_DATA_HOME="$data" "$VPULL" --locked /dev/null
    [[ $stderr == *"/dev/null"* && $stderr != *"pulling to"* ]]
    [ ! -e "$data" ]
    said "vpull: pull is no word of vpull: it takes images alone~hint: vpull registry.example/app:1" "$VPULL" pull registry.example/app:1
    said "variantctl: index remove: give REPO:TAG and the LABEL or DIGEST to remove" "$VARIANTCTL" index remove oci:x:y
}

@test "help: -h, help VERB, version; json and table are names of --format" {
    run -0 "$VARIANTCTL" help
    [ "$output" = "$("$VARIANTCTL" -h)" ]
    for verb in "${VERBS[@]}"; do
        # shellcheck disable=SC2086 # two words
        run -0 "$VARIANTCTL" $verb -h
        [[ $output == "Usage: variantctl $verb "* ]]
        # shellcheck disable=SC2086
        [ "$output" = "$("$VARIANTCTL" help $verb)" ]
    done
    run -0 "$VPULL" help
    [ "$output" = "$("$VPULL" -h)" ]
    for program in "$VPULL" "$VARIANTCTL"; do
        run -0 "$program" version
        [ "$output" = "$("$program" --version)" ]
    done
    run -2 --separate-stderr "$VARIANTCTL" help explian
    [[ $stderr == *"The most similar verb is: explain"* ]]
    run -0 --separate-stderr "$VARIANTCTL" explain --json --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
    run -0 --separate-stderr "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "oci:$L:app"
    local text=$output
    for name in text table; do
        run -0 --separate-stderr "$VARIANTCTL" explain --format $name --profile "$PROFILES/h100.json" "oci:$L:app"
        [ "$output" = "$text" ]
    done
}

@test "the help of an engine is that engine's" {
    run -0 "$VARIANTCTL" setup podman --help
    [[ $output == "Usage: variantctl setup podman "* && $output != *--store* && $output != *crio* ]]
    run -0 "$VARIANTCTL" setup docker --help
    [[ $output == *"--store classic|containerd"* && $output != *--fail-closed* ]]
    run -0 "$VARIANTCTL" setup containerd --help
    [[ $output == *"hosts.toml"*"--fail-closed"* && $output != *podman* ]]
}

# every verb that the helps name, and the programs, one a line
helps()
{
    local verb
    printf '%s\n' vpull variantd variantctl\ setup\ {containerd,docker,podman,crio}
    for verb in $("$VARIANTCTL" --help | sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
        echo "variantctl $verb"
        "$VARIANTCTL" "$verb" --help | sed -n "/^Verbs:\$/,/^\$/s/^  \([a-z][a-z-]*\) .*/variantctl $verb \1/p"
    done
}

# readable HELP: no line is wider than a terminal, and but for headings none breaks off where one reads on
readable()
{
    ! grep -E '.{81}|[;:]$|(^| )is$' "$1" | grep -vxE '[A-Z][a-z]+( options)?:'
}

@test "every help fits a screen of 24 lines, shows three examples, and names what it leaves out" {
    local program words n=0
    helps >"$BATS_TEST_TMPDIR/helps"
    while read -r program words; do
        # shellcheck disable=SC2086 # two words
        "$OCV_BIN/$program" $words --help >"$BATS_TEST_TMPDIR/help"
        # shellcheck disable=SC2086
        "$OCV_BIN/$program" $words --help-all >"$BATS_TEST_TMPDIR/all"
        [ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -le 24 ] || { echo "$program $words: $(wc -l <"$BATS_TEST_TMPDIR/help") lines" && false; }
        readable "$BATS_TEST_TMPDIR/help" && readable "$BATS_TEST_TMPDIR/all" || { echo "$program $words" && false; }
        [ "$(sed -n '/^Examples:$/,$p' "$BATS_TEST_TMPDIR/help" | grep -cE '^  ([a-z]|printf).*')" -eq 3 ] || { echo "$program $words" && false; }
        # nothing is lost: what the short one has not is in the long one, and it says so
        grep -q '^Verbs:$' "$BATS_TEST_TMPDIR/help" || [ "$(wc -l <"$BATS_TEST_TMPDIR/all")" -lt 25 ] ||
            grep -qF "More: $program${words:+ $words} --help-all" "$BATS_TEST_TMPDIR/help" || { echo "$program $words: no --help-all" && false; }
        grep -oE '^  (-[a-z], )?--[a-z-]+' "$BATS_TEST_TMPDIR/help" | sort >"$BATS_TEST_TMPDIR/short"
        [ -z "$(grep -oE '^  (-[a-z], )?--[a-z-]+' "$BATS_TEST_TMPDIR/all" | sort | comm -23 "$BATS_TEST_TMPDIR/short" -)" ]
        n=$((n + 1))
    done <"$BATS_TEST_TMPDIR/helps"
    [ "$n" -ge 35 ]
    for program in "$OCV_BIN"/ocivariant-{snapshotter,cri-proxy} "$OCV_HELPERS"/ocivariant-{node-setup,oci-hook,verifier}; do
        "$program" --help >"$BATS_TEST_TMPDIR/help"
        grep -q '^Usage: ' "$BATS_TEST_TMPDIR/help"
        readable "$BATS_TEST_TMPDIR/help" || { echo "$program" && false; }
    done
    run -0 "$VPULL" --help-all
    [[ $output == *"--lock-profile NAME"*"Machine options:"*"--override NS::F"*"Registry options:"*"--authfile FILE"* ]]
    [[ $output != *"variantctl help"* && $("$VPULL" --help) != *"variantctl help"* ]]
    run -0 "$VARIANTCTL" setup docker --help
    [[ $output == *"More: variantctl setup docker --help-all"* ]]
}

@test "vocabulary: namespaces, features, values, examples and providers, as text and JSON" {
    run -0 "$VARIANTCTL" vocabulary
    [ "${#lines[@]}" -eq "$(grep -c '^  - namespace: ' "$OCV_TOP/schema/vocabulary.yaml")" ]
    [[ $output == *"nvidia        gpu  NVIDIA GPUs"* ]]
    run -0 "$VARIANTCTL" vocabulary nvidia
    [ "${lines[0]}" = "nvidia: NVIDIA GPUs (gpu; provider: built in)" ]
    [[ $output == *"  sm_arch                    nvidia :: sm_arch :: 90_real"* ]]
    for name in nvidia::sm_arch 'nvidia :: sm_arch' nvidia::sm_arch::90_real; do
        run -0 "$VARIANTCTL" vocabulary "$name"
        [ "${lines[0]}" = "nvidia :: sm_arch" ]
        [[ $output == *"machine code"*"Example:  nvidia :: sm_arch :: 90_real"*"Provider: built in" ]]
        ! grep -E '.{81}' <<<"$output" || false
    done
    run -2 "$VARIANTCTL" vocabulary nvidia:sm_arch
    [[ $output == *"no namespace 'nvidia:sm_arch'"* ]]
    run -2 "$VARIANTCTL" vocabulary 'nvidia :: sm_arch :: 90_real :: more'
    run -0 "$VARIANTCTL" vocabulary ' nvidia ::  sm_arch '
    [[ $output == "nvidia :: sm_arch"* ]]
    run -0 "$VARIANTCTL" vocabulary aarch64 :: version
    [[ $output == *"Values:   9.7a, 9.6a, "*"Not yet:  9.7a, 9.6a, 9.5a"* ]]
    run -0 "$VARIANTCTL" vocabulary furiosa::arch
    [[ $output == *"Values:   renegade_max, "*"Provider: furiosa.yaml" ]]
    run -0 "$VARIANTCTL" vocabulary --json
    [ "$(jq -r '.namespaces[] | select(.namespace == "furiosa") | .provider' <<<"$output")" = furiosa.yaml ]
    jq -r '.namespaces[].features[] | .example' <<<"$output" >"$BATS_TEST_TMPDIR/examples"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/examples")" -eq "$(grep -c '^      - feature: ' "$OCV_TOP/schema/vocabulary.yaml")" ]
    # each example is a property that the vocabulary has
    while read -r example; do
        "$VARIANTCTL" vocabulary "$example" >/dev/null
    done <"$BATS_TEST_TMPDIR/examples"
    run -0 "$VARIANTCTL" vocabulary --json x86_64::level
    [ "$(jq -c '.namespaces[].features[] | [.feature, .values]' <<<"$output")" = '["level",["v4","v3","v2","v1"]]' ]
    run -0 "$VARIANTCTL" vocabulary --json nvidia::sm_arch
    [ "$(jq -r '.namespaces[].features[].names.h100' <<<"$output")" = 90_real ]
    run -0 "$VARIANTCTL" vocabulary nvidia::sm_arch
    [[ $output == *$'\n'"Names:   "*" h100=90_real,"* ]]
    # the name of a feature, a value or a product, as messages have it
    while read -r name expected; do
        run -0 "$VARIANTCTL" vocabulary "$name"
        [ "$output" = "$expected" ] || { echo "$name: $output" && false; }
    done <<'WORDS'
sm_arch nvidia :: sm_arch
avx512f x86_64 :: avx512f
90_real nvidia :: sm_arch :: 90_real
H100 nvidia :: sm_arch :: 90_real
WORDS
    run -0 "$VARIANTCTL" vocabulary cuda
    [ "$output" = $'nvidia :: cuda_version_lower_bound\nnvidia :: cuda_version_upper_bound' ]
    run -0 "$VARIANTCTL" vocabulary gfx942
    [[ $output == *"amd :: gfx_arch :: gfx942"* ]]
    said "variantctl: nvidia :: sm_arch has no value 'H100'; did you mean '90_real'?" "$VARIANTCTL" vocabulary nvidia::sm_arch::H100
    said "variantctl: no namespace 'nvida'; did you mean 'nvidia'?" "$VARIANTCTL" vocabulary nvida
    said "variantctl: nvidia has no feature 'sm_arc'; did you mean 'sm_arch'?" "$VARIANTCTL" vocabulary nvidia::sm_arc
    said "variantctl: nvidia :: sm_arch has no value 'sm_90'; did you mean '90_real'?" "$VARIANTCTL" vocabulary nvidia::sm_arch::sm_90
}

# What the examples of the help name, in the directory where they run: a registry registry.example with
# app:1.0, app:1.1 and builds, the layout images, profiles, and files.
prepare()
{
    local tag
    WORK=$BATS_TEST_TMPDIR/work
    rm -rf "$WORK"
    mkdir -p "$WORK/fleet" "$WORK/tree/etc/docker" "$WORK/config/ocivariant"
    cd "$WORK" || return
    cp -r "$L" images
    mkimage images gpu --binary usr/lib/libgpu.so="$OCV_BUILD/test/tools/gpu_library"
    ln -s "$OCV_TOP/plugins" new # the data directory of a release
    printf 'registries:\n  registry.example: {url: "http://%s", insecure: true}\n' "$SERVER" >config/ocivariant/config.yaml
    cp "$FLEET_DIR"/*.json fleet
    cp "$PROFILES/h100.json" .
    "$VARIANTCTL" index show --json oci:images:app >index.json
    printf 'target: registry.example/app:3.0\ndefaults: [registry.example/app:1.0-cpu]\n' >app.yaml
    cp "$OCV_TOP/plugins/tags.d/pytorch.yaml" rules.yaml
    cp "$OCV_TOP/plugins/tags.d/pytorch.yaml" more.yaml
    printf '2.8.0-cuda12.6-cudnn9-runtime\n2.8.0-cuda12.8-cudnn9-runtime\n' >tags.txt
    mkdir -p site-packages etc/node-feature-discovery/features.d bin
    printf '#!/bin/sh\nexec /bin/cat >/dev/null\n' >bin/kubectl
    ln -s "$(command -v diff)" bin/diff
    chmod 755 bin/kubectl
    "$VARIANTCTL" fleet pack fleet >fleet.packed
    for tag in 1.0=app 1.1=app 1.0-cpu=cpu 1.0-cuda=cuda 1.0-cu128=cuda 1.0-arm64=arm; do
        "$VARIANTCTL" index copy --quiet "oci:images:${tag#*=}" "$SERVER/app:${tag%%=*}" >/dev/null
    done
    "$VARIANTCTL" index copy --quiet oci:images:gpu "$SERVER/gpu:1" >/dev/null
}

# example COMMAND: runs it there, without this machine's engines; setup in a separate tree
example()
{
    local command=${1//sudo variantctl setup/variantctl setup --root tree}
    command=${command//setup --root tree containerd/setup --root tree containerd --engine-version 2.1}
    command=${command//setup --root tree docker/setup --root tree docker --engine-version 28.0}
    command=${command//\/etc\/kubernetes/etc}
    env PATH="$OCV_BIN:$WORK/bin" XDG_CONFIG_HOME="$WORK/config" OCV_STATE_DIR="$WORK/state" \
        XDG_DATA_HOME="$WORK/data" OCV_DATADIR="$OCV_TOP/plugins" DOCKER_HOST=unix:///nowhere CONTAINERD_ADDRESS=/nowhere \
        "$BASH" -c "$command" </dev/null
}

@test "the examples of every help run" {
    local verb command n=0
    for verb in "" index tags fleet export "${VERBS[@]}" registry machine vpull; do
        prepare
        # shellcheck disable=SC2086
        if [ "$verb" = vpull ]; then "$VPULL" --help; else "$VARIANTCTL" help $verb; fi |
            sed -e '1,/^Examples:$/d' | sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join}' >examples
        while read -r command; do
            code=0
            example "$command" >out 2>&1 || code=$?
            # exit statuses for "not set up" and "does not fit" are not failures of the command
            [[ $command != *setup*--status* && $command != *" verify "* ]] || [ $code != 5 ] || code=0
            [ $code = 0 ] || { echo "$command: $code" && cat out; } >>"$BATS_TEST_TMPDIR/failed"
            n=$((n + 1))
        done <examples
        [ "$(wc -l <examples)" = 3 ] || { echo "$verb" && false; }
    done
    [ ! -e "$BATS_TEST_TMPDIR/failed" ] || { cat "$BATS_TEST_TMPDIR/failed" && false; }
    [ "$n" -ge 75 ]
}

@test "variantd's help ends with three examples, which are sound" {
    local command
    "$OCV_BUILD/variantd" --help | sed '1,/^Examples:$/d' >"$BATS_TEST_TMPDIR/examples"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/examples")" = 3 ]
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\nexec "%s" --config /dev/null --check "$@"\n' "$OCV_BUILD/variantd" >"$BATS_TEST_TMPDIR/bin/variantd"
    chmod 755 "$BATS_TEST_TMPDIR/bin/variantd"
    while read -r command; do
        PATH=$BATS_TEST_TMPDIR/bin:$PATH run -0 "$BASH" -c "${command//\/srv\/images/$L}"
        [[ $output == *"is sound"* ]]
    done <"$BATS_TEST_TMPDIR/examples"
}

@test "labels: the one that was meant, the default by its names; and of a lock's machines" {
    local images="it has null (the default), cpu.v3, cuda12.8, rocm7.1"
    said "vpull: --label: no variant 'cuda128' in oci:$L:app: $images; did you mean 'cuda12.8'?" \
        "$VPULL" --dry-run --profile "$PROFILES/h100.json" --label cuda128 "oci:$L:app"
    said "vpull: --label: no variant 'nothing' in oci:$L:app: $images~hint: --label null is the build that needs nothing" \
        "$VPULL" --dry-run --profile "$PROFILES/h100.json" --label nothing "oci:$L:app"
    for label in null default; do
        run -0 --separate-stderr "$VPULL" --dry-run --profile "$PROFILES/h100.json" --label $label "oci:$L:app"
        [ "$output" = "$(digest_of null)" ]
    done
    run -0 --separate-stderr "$VPULL" --dry-run --profile "$PROFILES/h100.json" --cpu "oci:$L:app"
    [ "$output" = "$(digest_of null)" ]
    # an entry of that name is meant by it
    "$VARIANTCTL" index create --quiet --no-lint "oci:$L:named" "null=oci:$L:cpu" "default=oci:$L:v3,x86_64 :: level :: v3" >/dev/null
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" --label default "oci:$L:named"
    local named=$output
    run -0 --separate-stderr "$VPULL" --print-ref --profile "$PROFILES/h100.json" --label null "oci:$L:named"
    [ "$named" != "$output" ]
    "$VARIANTCTL" lock --profile "h100=$PROFILES/h100.json" "$SERVER/app:1.0" >"$BATS_TEST_TMPDIR/lock"
    run -1 --separate-stderr "$VPULL" --dry-run --locked "$BATS_TEST_TMPDIR/lock" --lock-profile h10
    [[ $stderr == "vpull: $SERVER/app:1.0: nothing is locked for 'h10'; did you mean 'h100'?"* ]]
}

@test "ROCm is not advised to a machine without an AMD GPU" {
    "$VARIANTCTL" index create --quiet --no-lint "oci:$L:rocm-only" "null=oci:$L:cpu" \
        "rocm=oci:$L:rocm,amd :: rocm_version_lower_bound :: 6.4" >/dev/null
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "oci:$L:rocm-only"
    [[ $output == *"this host has no amd"* ]]
    [[ $output != *"hint: "*ROCm* ]]
    jq 'del(.namespaces[] | select(.namespace == "amd") | .features[] | select(.name | startswith("rocm")))' \
        "$PROFILES/mi300x.json" >"$BATS_TEST_TMPDIR/no-rocm.json"
    run -0 "$VARIANTCTL" explain --profile "$BATS_TEST_TMPDIR/no-rocm.json" "oci:$L:rocm-only"
    [[ $output == *"hint: this needs ROCm at least 6.4: install it in /opt/rocm, or set ROCM_PATH"* ]]
}
