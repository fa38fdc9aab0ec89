#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# How the programs take odd surroundings: closed descriptors, no home, wrong options.
# bats file_tags=vpull,variantctl

load ../harness
load ../images

setup_file()
{
    state_start
    L=$STATE/images
    make_variants "$L"
    export L
    mkdir -p "$STATE/bin"
    # what stands where the standard streams of the program that runs it should be
    cat >"$STATE/bin/podman" <<'EOF'
#!/bin/sh
for fd in 0 1 2; do readlink "/proc/$PPID/fd/$fd"; done >"$STATE/fds"
exec cat >/dev/null
EOF
    chmod +x "$STATE/bin/podman"
}

vpull()
{
    "$VPULL" --profile "$PROFILES/h100.json" "$@" 3>&-
}

# Help and hint print the table of destinations; what repeats it in words must agree.
@test "completion, documentation and schema name the destinations of vpull's table" {
    forms=$("$VPULL" --help | sed -n 's/^--to: //p')
    [[ $forms == *", oci:DIR"* ]]
    run -2 vpull --dry-run --to nowhere "oci:$L:app"
    [ "${lines[0]}" = "vpull: invalid value 'nowhere' for --to: $forms" ]
    grep -qxF "# $forms" "$OCV_TOP/docs/configuration.md"
    [ "$(jq -r .properties.to.description "$OCV_TOP/schema/config.schema.json")" = "where images go: $forms" ]
    [ "$("$VPULL" __complete --to '' | sed '$d' | cut -f 1 | paste -sd ' ')" = "$(sed 's/:[^,]*/:/g; s/, / /g' <<<"$forms")" ]
}

@test "the list of destinations in documentation and schema is made from vpull's table" {
    local tree=$BATS_TEST_TMPDIR/tree file
    mkdir -p "$tree/contrib" "$tree/docs" "$tree/schema"
    cp "$OCV_TOP/contrib/destinations-docs.sh" "$tree/contrib"
    for file in docs/configuration.md schema/config.schema.json; do
        sed 's/podman, nerdctl, /podman, /' "$OCV_TOP/$file" >"$tree/$file"
        run ! cmp -s "$OCV_TOP/$file" "$tree/$file"
    done
    "$tree/contrib/destinations-docs.sh" "$VPULL"
    diff -r "$OCV_TOP/docs/configuration.md" "$tree/docs/configuration.md" | sed '/^[<>] |/d; /^---$/d; /^[0-9]/d' >"$tree/rest"
    [ ! -s "$tree/rest" ] # only the table of keys is left, which is made from the schema
    cmp "$OCV_TOP/schema/config.schema.json" "$tree/schema/config.schema.json"
}

@test "closed standard streams are not given to other files" {
    PATH=$STATE/bin:$PATH
    vpull --to podman "oci:$L:app" <&- >&- 2>&- || true # nothing can be printed
    [ "$(sort -u "$STATE/fds")" = /dev/null ]
    vpull --to "oci:$STATE/quiet" "oci:$L:app" 2>&-
    local code=0
    vpull --quiet --to "oci:$STATE/quiet" "oci:$L:app" >&- 2>"$STATE/words" || code=$?
    [ "$code" = 1 ]
    grep -q '^vpull: standard output: ' "$STATE/words"
}

@test "a wrong option is named" {
    run -2 vpull --quiet=1 x
    [ "${lines[0]}" = "vpull: option '--quiet' takes no value" ]
    run -2 vpull --dry-run=1 x
    [ "${lines[0]}" = "vpull: option '--dry-run' takes no value" ]
    run -2 vpull -Z x
    [ "${lines[0]}" = "vpull: unknown option '-Z'" ]
    run -2 vpull --nonsense x
    [ "${lines[0]}" = "vpull: unknown option '--nonsense'" ]
    run -2 vpull --jobs
    [ "${lines[0]}" = "vpull: --jobs needs N" ]
    for form in "--format xml" --format=xml; do
        # shellcheck disable=SC2086
        run -2 "$VARIANTCTL" resolve $form x
        [ "${lines[0]}" = "variantctl: invalid value 'xml' for --format: text or json" ]
    done
    run -2 vpull --dry-run --to nowhere "oci:$L:app"
    [ "${lines[0]}" = "vpull: invalid value 'nowhere' for --to: $("$VPULL" --help | sed -n 's/^--to: //p')" ]
    local option value may
    while read -r option value may; do
        run -2 "$VPULL" --dry-run "$option" "$value" "oci:$L:app"
        [ "${lines[0]}" = "vpull: invalid value '$value' for $option: $may" ] || { echo "${lines[0]}" && false; }
    done <<'EOF'
--color blue auto, always or never
--progress yes auto, plain or json
--tag-rules maybe on or off
--jobs 99 a number from 1 to 8
--timeout soon a number of seconds from 1 to 3600
--retry-times many a number from 0 to 100
EOF
    run -2 "$OCV_BIN/variantd" --check --mode sometimes
    [ "${lines[0]}" = "variantd: invalid value 'sometimes' for --mode: auto, resolver or proxy" ]
    OCV_TAG_RULES=maybe run -2 vpull --dry-run "oci:$L:app"
    [ "${lines[0]}" = "vpull: invalid value 'maybe' for OCV_TAG_RULES: on or off" ]
    run -2 vpull --dry-run --device-policy nvidia=most "oci:$L:app"
    [ "${lines[0]}" = "vpull: --device-policy: invalid value 'most' for nvidia: all, any or first" ]
    run -2 vpull --creds-stdin --profile - --dry-run "oci:$L:app" </dev/null
    [[ ${lines[0]} == *"both read standard input" ]]
}

@test "a home that is no directory has no configuration" {
    unset XDG_CONFIG_HOME
    HOME=/dev/null run -0 vpull --dry-run "oci:$L:app"
}

@test "a file or a tag takes one image" {
    run -2 vpull --to "docker-archive:$STATE/a.tar" "oci:$L:app" "oci:$L:app"
    [[ $output == *"--to docker-archive:$STATE/a.tar takes one image" ]]
    [ ! -e "$STATE/a.tar" ]
    run -2 vpull --to "oci:$STATE/one:tag" "oci:$L:app" "oci:$L:app"
    [ ! -e "$STATE/one" ]
    run -0 vpull --to "oci:$STATE/one" "oci:$L:app" "oci:$L:v3"
}

@test "a wrong label or platform: the message names the option" {
    run -2 --separate-stderr "$VPULL" --print-ref --platform a/b/c/d example.org/a:1
    [[ ${stderr_lines[0]} == "vpull: --platform: 'a/b/c/d' is not a platform "* ]]
    run -2 --separate-stderr "$VPULL" --print-ref --label 'a b' example.org/a:1
    [[ ${stderr_lines[0]} == "vpull: --label: 'a b' is not a label "* ]]
}

@test "a label that does not fit is not called a missing default" {
    run -3 --separate-stderr "$VARIANTCTL" resolve --label rocm7.1 --profile "$PROFILES/h100.json" "oci:$L:app"
    [[ $stderr == *": variant rocm7.1 does not fit this host: needs amd :: gfx_arch :: gfx942; this host has no amd"* ]]
    [[ $stderr == *"hint: --unchecked pulls it anyway"* ]]
}

@test "a file that cannot be read is named once" {
    run -4 "$VARIANTCTL" resolve --profile /dev/zero "oci:$L:app"
    [ "${lines[0]}" = "variantctl: /dev/zero: more than 4194304 bytes" ]
}

@test "a lost terminal ends a pull like Ctrl-C" {
    mkdir -p "$STATE/slow"
    # shellcheck disable=SC2016 # expanded by the script
    printf '#!/bin/sh\n: >"$STATE/started"\nexec sleep 30\n' >"$STATE/slow/podman"
    chmod +x "$STATE/slow/podman"
    PATH=$STATE/slow:$PATH TMPDIR=$STATE env --default-signal=HUP "$VPULL" --profile "$PROFILES/h100.json" \
        --to podman "oci:$L:app" 2>"$STATE/words" 3>&- &
    local pid=$! code=0
    until [ -e "$STATE/started" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -HUP $pid
    wait $pid || code=$?
    [ "$code" = 130 ]
}

@test "Ctrl-C ends a command that still probes this machine, and the probe" {
    local code=0 pid libexec=$BATS_TEST_TMPDIR/libexec
    mkdir -p "$libexec/providers"
    chmod 755 "$libexec" "$libexec/providers"
    printf '#!/bin/sh\necho $$ >"%s/pid"\nexec sleep 60\n' "$BATS_TEST_TMPDIR" >"$libexec/providers/slow"
    chmod 755 "$libexec/providers/slow"
    OCV_LIBEXECDIR=$libexec env --default-signal=INT "$VPULL" --print-ref "oci:$L:app" >"$STATE/words" 2>&1 3>&- &
    pid=$!
    until [ -s "$BATS_TEST_TMPDIR/pid" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -INT $pid
    wait $pid || code=$?
    [ "$code" = 130 ]
    pid=$(<"$BATS_TEST_TMPDIR/pid")
    for _ in {1..200}; do
        [ -e "/proc/$pid" ] && [ "$(awk '{ print $3 }' "/proc/$pid/stat")" != Z ] || return 0
        sleep 0.05
    done
    false
}

@test "credentials from standard input go to one registry" {
    run -1 vpull --creds-stdin --print-ref 127.0.0.1:1/a 127.0.0.1:2/b <<<"user:secret"
    [[ $output == *"127.0.0.1:2/b: --creds-stdin applies to 127.0.0.1:1 only"* ]]
    [[ $output != *"connect to 127.0.0.1:2"* ]]
}

@test "every command refuses a wrong configuration" {
    echo 'colour: blue' >"$STATE/wrong.yaml"
    for verb in probe "resolve oci:$L:app" "explain oci:$L:app" "index show oci:$L:app" \
        "index coverage --profiles x oci:$L:app" "index diff oci:$L:app oci:$L:app" \
        "index create oci:$L:new null=oci:$L:app" "index add oci:$L:app null=oci:$L:app" \
        "index remove oci:$L:app null" "index annotate --relayout oci:$L:app" \
        "index copy oci:$L:app oci:$L:new" "lint oci:$L:app" "lock oci:$L:app" "verify" \
        "setup --status" "tags parse alpine:3" "tags plan --tags-file x alpine" "tags check x" \
        "match --profiles x --replicas 1 oci:$L:app" "fleet pack x" "claim --for slurm --features x oci:$L:app" "export slurm" "export backendai"; do
        # shellcheck disable=SC2086
        run -2 "$VARIANTCTL" $verb --config "$STATE/wrong.yaml"
        [ "${lines[0]}" = "variantctl: $STATE/wrong.yaml:1: unknown key 'colour'" ]
    done
}

@test "explain says for which platform it was asked" {
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/h100.json" --platform linux/arm64 "oci:$L:app"
    [ "${lines[2]}" = "Host    linux/amd64/v4" ]
    [ "${lines[3]}" = "For     linux/arm64" ]
    run -0 "$VARIANTCTL" explain --profile "$PROFILES/h100.json" "oci:$L:app"
    [[ $output != *"For  "* ]]
}

@test "JSON stays JSON with -v and with a wrong configuration" {
    run -0 --separate-stderr vpull -v --progress json --to "oci:$STATE/json" "oci:$L:app"
    jq -e . <<<"$output" >/dev/null
    echo 'colour: blue' >"$STATE/wrong.yaml"
    run -2 --separate-stderr vpull --config "$STATE/wrong.yaml" -v --progress json "oci:$L:app"
    [ "$(jq -r 'select(.event == "error").exit' <<<"$output")" = 2 ]
    [ "$(jq -r 'select(.event == "log").message' <<<"$output")" = "configuration $STATE/wrong.yaml" ]
    run -0 --separate-stderr vpull -v --quiet --dry-run --config /dev/null "oci:$L:app"
    [ "${stderr%%$'\n'*}" = "vpull: configuration /dev/null" ]
}

@test "a full disk behind standard output is a failure" {
    local option program code
    for option in --help --version; do
        for program in "$VPULL" "$VARIANTCTL" "$OCV_BIN"/{variantd,ocivariant-snapshotter,ocivariant-cri-proxy} \
            "$OCV_HELPERS"/ocivariant-{verifier,oci-hook}; do
            code=0
            "$program" $option >/dev/full 2>"$STATE/words" 3>&- || code=$?
            [ "$code" = 1 ]
            grep -q "^${program##*/}: standard output: " "$STATE/words"
        done
    done
}

@test "what docker asks of its plugin notices a full disk, too" {
    ln -s "$VPULL" "$STATE/docker-vpull"
    local code=0
    "$STATE/docker-vpull" docker-cli-plugin-metadata >/dev/full 2>"$STATE/words" 3>&- || code=$?
    [ "$code" = 1 ]
    grep -q "^vpull: standard output: " "$STATE/words"
}

@test "every program helps, and says what it does not know" {
    for program in "$VPULL" "$VARIANTCTL" "$OCV_BIN"/{variantd,ocivariant-snapshotter,ocivariant-cri-proxy} \
        "$OCV_HELPERS"/ocivariant-{verifier,oci-hook}; do
        run -0 --separate-stderr "$program" --help
        [[ $output == "Usage: ${program##*/} "* ]]
        [ -z "$stderr" ]
        run -0 --separate-stderr "$program" --version
        [[ $output == "${program##*/} "[0-9]* ]]
        run -2 --separate-stderr "$program" --no-such </dev/null
        [ -z "$output" ]
        [[ $stderr == *"hint: ${program##*/} --help" ]]
    done
}

@test "an engine's address is completed as docker does" {
    local address expected
    while read -r address expected; do
        DOCKER_HOST=$address run -1 vpull --to docker "oci:$L:app"
        [[ $output == *" does not answer: $expected: "* ]] || [[ $output == *" does not answer: $expected/_ping: "* ]]
    done <<'EOF'
tcp://127.0.0.1 http://127.0.0.1:2375
tcp://[::1] http://[::1]:2375
tcp://:1 http://localhost:1
tcp://127.0.0.1:1/path http://127.0.0.1:1/path
http://127.0.0.1:1 http://127.0.0.1:1
unix:///absent/socket /absent/socket
EOF
    # not http://localhost, where anybody may listen
    DOCKER_HOST=unix:// run vpull --to docker "oci:$L:app"
    [[ $output != *http://* ]]
    DOCKER_TLS_VERIFY=1 DOCKER_HOST=tcp://127.0.0.1 run -1 vpull --to docker "oci:$L:app"
    [[ $output == *https://127.0.0.1:2376/_ping* ]]
}

@test "each platform that an index has is named, and once" {
    jq -n '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [
        ("arm64", "arm", "ppc64le", "ppc64", "arm") | {mediaType: "application/vnd.oci.image.manifest.v1+json",
         size: 5, digest: "sha256:\("0123456789abcdef" * 4)", platform: {os: "linux", architecture: .}}]}' >"$STATE/arm.json"
    run -3 --separate-stderr "$VARIANTCTL" resolve --index "$STATE/arm.json"
    [[ ${stderr_lines[0]} == *"; it has linux/arm64, linux/arm, linux/ppc64le, linux/ppc64" ]]
}

@test "an image without an index that is for another platform is told" {
    run -0 --separate-stderr vpull --to "oci:$STATE/lone" "oci:$L:arm"
    [[ $stderr == *"warning: oci:$L:arm: the only image is for linux/arm64, not for linux/amd64/v4"* ]]
    run -3 --separate-stderr vpull --to "oci:$STATE/lone" --platform linux/arm64 "oci:$L:cpu"
    [[ $stderr == *"oci:$L:cpu: no image for linux/arm64; it has linux/amd64"* ]]
    run -0 --separate-stderr vpull --to "oci:$STATE/lone" "oci:$L:cpu"
    [[ $stderr != *"warning"* ]]
    run -0 --separate-stderr vpull --to "oci:$STATE/lone" --platform linux/arm64 "oci:$L:arm"
    [[ $stderr != *"warning"* ]]
}
