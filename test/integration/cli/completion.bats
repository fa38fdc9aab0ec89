#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Completion: what programs answer by the tables of their options, and what bash, zsh and fish make of it.
bats_require_minimum_version 1.5.0

load ../harness
load ../images

setup_file()
{
    state_start
    install_tree "$STATE/tree"
    mkdir -p "$STATE/here/more"
    make_variants "$STATE/here/images"
}

setup()
{
    PATH=$OCV_BUILD:$OCV_BUILD/libexec:$PATH
    cd "$STATE/here" || return 1
}

# offered PROGRAM WORD...: the candidates for the last word, and :N
offered()
{
    "$1" __complete "${@:2}" | cut -f 1 | paste -sd ' '
}

# verbs [VERB]: those that its help lists
verbs()
{
    variantctl "$@" --help | sed -n '/^Verbs:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
}

# commands: every program, verb and engine with options of its own, one a line
commands()
{
    local verb sub
    printf '%s\n' vpull variantd ocivariant-snapshotter ocivariant-cri-proxy ocivariant-node-setup \
        'variantctl index ls' 'variantctl index push' 'variantctl setup '{containerd,docker,podman,crio}
    for verb in $(verbs); do
        [ -n "$(verbs "$verb")" ] || echo "variantctl $verb"
        for sub in $(verbs "$verb"); do
            echo "variantctl $verb $sub"
        done
    done
}

@test "every option that is offered is taken, and its command's help or that of a topic names it" {
    local command option words n=0
    { variantctl help registry && variantctl help machine; } >"$BATS_TEST_TMPDIR/registry"
    while read -ra command; do
        words=$(offered "${command[@]}" --)
        [[ $words == *"--help "*"--version "*":4" ]] || { echo "${command[*]}: $words" && false; }
        "${command[@]}" --help-all >"$BATS_TEST_TMPDIR/help" 2>/dev/null || "${command[@]}" --help >"$BATS_TEST_TMPDIR/help"
        for option in ${words% :4}; do
            n=$((n + 1))
            run "${command[@]}" "$option=x" --no-such-option </dev/null
            [[ $output != *"unknown option '$option'"* ]] || { echo "${command[*]}: $option" && false; }
            cat "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/registry" | grep -qE -- "$option([^a-z-]|$)" || {
                echo "${command[*]}: no help has $option" && false
            }
        done
    done < <(commands)
    [ "$n" -gt 300 ]
}

@test "verbs, and the verbs of verbs" {
    [ "$(offered variantctl re)" = "resolve :4" ]
    [ "$(offered variantctl index '')" = "create add remove annotate show diff copy :4" ]
    [ "$(offered variantctl help in)" = "index :4" ]
    [ "$(offered variantctl help ma)" = "match machine :4" ]
    [ "$(offered variantctl help tags p)" = "parse plan :4" ]
    [ "$(offered variantctl -v tags p)" = "parse plan :4" ]
    [ "$(offered variantctl --)" = "--help --version :4" ]
    [ "$(offered variantctl no such '')" = :4 ]
    [[ $(variantctl __complete tags ch) == $'check\t'* ]] # what it is stands beside it
}

@test "the words that an option takes, files and directories" {
    [ "$(offered variantctl lint --format '')" = "text json sarif github :4" ]
    [ "$(offered variantctl lint --format=s)" = "sarif :4" ]
    [ "$(offered variantctl index create --layout s)" = "same-platform :4" ]
    [ "$(offered variantctl lint --explain OCV103)" = "OCV103 :4" ]
    [ "$(offered variantd --mode '')" = "auto resolver proxy :4" ]
    [ "$(offered vpull -o '')" = "auto plain json :4" ]
    [ "$(offered vpull -qo p)" = "plain :4" ]
    [ "$(offered vpull --device-policy amd=)" = "amd=all amd=any amd=first :4" ]
    [ "$(offered vpull --locked '')" = :0 ]
    [ "$(offered variantctl tags check '')" = :0 ]
    [ "$(offered variantctl lint --settings '')" = :0 ]
    [ "$(offered variantctl setup containerd --config-dir '')" = :16 ]
    [ "$(offered ocivariant-snapshotter --socket '')" = :0 ]
    [ "$(offered vpull --jobs '')" = :4 ]
    # behind "--" nothing is an option, and a value is none
    [ "$(offered vpull -- --lab)" = :4 ]
    [ "$(offered vpull --label --to --lo)" = "--locked --lock-profile :4" ]
    # an engine's own options, where it is named
    run -2 variantctl setup nothing
    [[ $output == *": $(offered variantctl setup '' | sed 's/ :4//; s/ /, /g')" ]]
    [[ $(offered variantctl setup docker --) == *--store* ]]
    [[ $(offered variantctl setup containerd --) != *--store* ]]
}

@test "where images go, and where they are" {
    [ "$(offered vpull --to ner)" = "nerdctl :4" ]
    [ "$(offered vpull --to oci)" = "oci: :6" ]
    run -0 vpull --help
    for to in $(offered vpull --to '' | sed 's/ :.*//'); do
        grep -qE -- "^--to:.* $to" <<<"$output"
    done
    [ "$(offered variantctl images --from '')" = "docker podman containerd cri :4" ]
    [ "$(offered variantctl verify --from oci:im)" = "oci:images :6" ]
}

@test "properties" {
    [ "$(offered vpull --require nvi)" = "nvidia :6" ]
    [ "$(offered vpull --require nvidia)" = "nvidia:: :6" ]
    [ "$(offered vpull --require nvidia::sm)" = "nvidia::sm_arch :6" ]
    [ "$(offered variantctl explain --disable x86_64::level::v)" = "x86_64::level::v4 x86_64::level::v3 x86_64::level::v2 x86_64::level::v1 :4" ]
    [ "$(offered variantctl explain --namespace-priority amd,nvi)" = "amd,nvidia :6" ]
    [ "$(offered vpull --devices tens)" = "tenstorrent= :6" ]
    [ "$(offered variantctl vocabulary amd::gfx)" = "amd::gfx_arch :6" ]
    [ "$(offered variantctl index create oci:x:y cuda=oci:images:cuda,nvidia::sm)" = "cuda=oci:images:cuda,nvidia::sm_arch:: :6" ]
    [ "$(offered variantctl vocabulary amd::)" = "$(variantctl vocabulary amd | sed -n 's/^  \([^ ]*\) .*/amd::\1/p' | paste -sd ' ') :6" ]
    [ "$(offered vpull --require nosuch::)" = :4 ]
}

@test "layouts, their tags, and the labels of the one that is named" {
    [ "$(offered vpull o)" = "oci: :6" ]
    [ "$(offered vpull '')" = :4 ] # most images are in registries
    [ "$(offered vpull oci:im)" = "oci:images :6" ]
    [ "$(offered vpull oci:m)" = "oci:more/ :6" ]
    [ "$(offered vpull oci:images:a)" = "oci:images:arm oci:images:app :4" ]
    [ "$(offered vpull oci:images:app --label '')" = "null cpu.v3 cuda12.8 rocm7.1 :4" ]
    [ "$(offered variantctl index remove oci:images:app cu)" = "cuda12.8 :4" ]
    [ "$(offered variantctl index annotate oci:images:app cu)" = "cuda12.8= :6" ]
    [ "$(offered variantctl index create oci:images:new null=oci:images:cp)" = "null=oci:images:cpu :4" ]
    [ "$(offered variantctl lint oci:images:ap)" = "oci:images:app :0" ]
    [ "$(offered vpull oci:images:none --label '')" = "null :4" ]
}

@test "what a shell would read is not offered" {
    mkdir -p "$BATS_TEST_TMPDIR/t"
    cp -r images "$BATS_TEST_TMPDIR/t/bad"
    cd "$BATS_TEST_TMPDIR/t"
    # shellcheck disable=SC2016 # as it is
    jq -c '.manifests[0].annotations["org.opencontainers.image.ref.name"] = "$(touch x)" |
        .manifests[1].annotations["org.opencontainers.image.ref.name"] = "a\nb" |
        .manifests[2].annotations["org.opencontainers.image.ref.name"] = "\u001b[31mred"' bad/index.json >index
    mv index bad/index.json
    # shellcheck disable=SC2016
    mkdir 'a b' '$(x)' ';x'
    run -0 vpull __complete oci:bad:
    [ "$output" = $'oci:bad:cuda\noci:bad:rocm\noci:bad:app\n:4' ]
    run -0 vpull __complete oci:
    [ "$output" = $'oci:bad\n:6' ]
    echo '{' >bad/index.json
    [ "$(offered vpull oci:bad:)" = :4 ]
    [ "$(offered vpull oci:bad:app --label x)" = :4 ]
}

# typed SHELL: one text a line from standard input, the shell's line for each
typed()
{
    local -a texts
    mapfile -t texts
    mkdir -p "$BATS_TEST_TMPDIR/home"
    env -i HOME="$BATS_TEST_TMPDIR/home" TMPDIR="$BATS_TEST_TMPDIR" LC_ALL=C.UTF-8 PATH="$PATH" \
        LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" OCV_DATADIR="${OCV_DATADIR-}" \
        python3 "$OCV_TOP/test/tools/type_tab.py" "$1" "$STATE/tree/usr" "${texts[@]//TAB/$'\t'}"
}

# what is typed, and the line after it, with _ for a blank at its end
typed_lines="variantctl indTAB|variantctl index_
variantctl index crTAB|variantctl index create_
variantctl lint --fail-on neTAB|variantctl lint --fail-on never_
variantctl lint --fail-on=neTAB|variantctl lint --fail-on=never_
variantctl probe --sysTAB|variantctl probe --sysroot_
variantctl setup podTAB|variantctl setup podman_
vpull --require tensTAB|vpull --require tenstorrent
vpull --require nvidia::sm_TAB|vpull --require nvidia::sm_arch
vpull --require=nvidia::sm_TAB|vpull --require=nvidia::sm_arch
vpull --to nerTAB|vpull --to nerdctl_
vpull oci:images:cuTAB|vpull oci:images:cuda_
vpull oci:images:app --label cuTAB|vpull oci:images:app --label cuda12.8_
vpull --locked imTAB|vpull --locked images/
vpull --require amd=xTAB|vpull --require amd=x
variantctl index remove oci:images:app roTAB|variantctl index remove oci:images:app rocm7.1_
variantctl index create oci:images:new cuda=oci:images:cuTAB|variantctl index create oci:images:new cuda=oci:images:cuda_
variantd --mode pTAB|variantd --mode proxy_
variantd --layout moTAB|variantd --layout more/
ocivariant-cri-proxy --lisTAB|ocivariant-cri-proxy --listen_
ocivariant-snapshotter --sockTAB|ocivariant-snapshotter --socket_
variantctl explain --namespace-priority amd,nviTAB|variantctl explain --namespace-priority amd,nvidia
vpull oci:imTAB|vpull oci:images"

for_shell()
{
    require "$1" python3
    cut -d '|' -f 1 <<<"$typed_lines" | typed "$1" >"$BATS_TEST_TMPDIR/lines"
    cut -d '|' -f 2 <<<"$typed_lines" >"$BATS_TEST_TMPDIR/expected"
    sed 's/ $/_/' "$BATS_TEST_TMPDIR/lines" | diff "$BATS_TEST_TMPDIR/expected" -
}

@test "bash" {
    for_shell bash
}

@test "zsh" {
    for_shell zsh
}

@test "fish" {
    for_shell fish
}

@test "docker vpull" {
    require docker
    export DOCKER_CONFIG=$BATS_TEST_TMPDIR/docker
    mkdir -p "$DOCKER_CONFIG/cli-plugins"
    ln -s "$OCV_BUILD/vpull" "$DOCKER_CONFIG/cli-plugins/docker-vpull"
    run -0 --separate-stderr docker __complete vpull --lab
    [[ ${lines[0]} == "--label"* ]]
    run -0 --separate-stderr docker __complete vpull oci:images:cu
    [ "${lines[0]}" = oci:images:cuda ]
}
