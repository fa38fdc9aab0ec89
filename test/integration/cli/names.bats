#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Names that select: a misspelt one is an error with the one that was meant, what is required is used
# or nothing is, and a repository may have its own. By the commands, and by a daemon.

load ../harness
load ../images
load ../variantd
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo podman runc curl jq
    make_programs "$STATE/layout"
    start_registry
    export SERVER=$REGISTRY L=$STATE/layout
    push_layout "$L:app" "$SERVER/team/app:1"
    push_layout "$L:app" "$SERVER/team/other:1"
    push_layout "$L:null" "$SERVER/team/plain:1"
    # the newest CUDA is more than the driver has
    jq '(.namespaces[] | select(.namespace == "nvidia")) |= (.driver = "535.161" |
        (.features[] | select(.name == "cuda_version_lower_bound")).values = ["12.2", "12.1", "12.0"])' \
        "$PROFILES/h100.json" >"$STATE/old.json"
    printf 'registries:\n  "%s": {url: "http://%s"}\n' "$SERVER" "$SERVER" >"$STATE/base.yaml"
}

setup()
{
    export CLIENT=podman
}

vpull()
{
    "$VPULL" --config /dev/null --dry-run --profile "$PROFILES/h100.json" "$@"
}

# config TEXT: what follows the registries, in $BATS_TEST_TMPDIR/config.yaml
config()
{
    CONFIG=$BATS_TEST_TMPDIR/config.yaml
    { cat "$STATE/base.yaml" && printf '%b' "$1"; } >"$CONFIG"
}

@test "six misspelt choices: exit 2, each with the name that was meant" {
    local options said
    while IFS='|' read -r options said; do
        # shellcheck disable=SC2086 # two words
        run -2 --separate-stderr vpull $options "oci:$L:app"
        echo "$options: $stderr"
        [ "${stderr_lines[0]}" = "vpull: ${options%% *}: $said" ]
        [ -z "$output" ]
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$VARIANTCTL" resolve --profile "$PROFILES/h100.json" $options "oci:$L:app"
        [ "${stderr_lines[0]}" = "variantctl: ${options%% *}: $said" ]
    done <<'END'
--disable nvida|no namespace 'nvida'; did you mean 'nvidia'?
--disable nvidia::sm_arc|nvidia has no feature 'sm_arc'; did you mean 'sm_arch'?
--device-policy nvida=any|no namespace 'nvida'; did you mean 'nvidia'?
--namespace-priority nvida|no namespace 'nvida'; did you mean 'nvidia'?
--override nvida::sm_arch=90_real|no namespace 'nvida'; did you mean 'nvidia'?
--devices nvida=0|no namespace 'nvida'; did you mean 'nvidia'?
--devices nvidia=99|no device '99': this host has nvidia 0
--require nvida|no namespace 'nvida'; did you mean 'nvidia'?
--disable nvidia::cuda_version_lower_bound::128|nvidia :: cuda_version_lower_bound has no value '128'; did you mean '12.8'?
END
}

@test "the same in a file: the line; a device of another node there is a warning" {
    config 'disable:\n  - amd\n  - nvida\n'
    run -2 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "${stderr_lines[0]}" = "vpull: $CONFIG:5: no namespace 'nvida'; did you mean 'nvidia'?" ]
    config 'devices: {nvidia: [99]}\n'
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run "oci:$L:app"
    [[ ${stderr_lines[0]} == "vpull: warning: $CONFIG:3: no device '99': this host has "* ]]
    # another machine has devices of its own
    run -0 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "oci:$L:app"
    [[ ${stderr_lines[0]} == "vpull: warning: \`devices\` of the configuration is about this machine"* ]]
    [ "$output" = "$(digest_of cuda12.8)" ]
    OCV_DISABLE=nvida run -2 --separate-stderr "$VPULL" --config /dev/null --dry-run --profile "$PROFILES/h100.json" "oci:$L:app"
    [ "${stderr_lines[0]}" = "vpull: OCV_DISABLE: no namespace 'nvida'; did you mean 'nvidia'?" ]
}

@test "a private namespace: by the index, by a provider file, by known_namespaces; else not" {
    "$VARIANTCTL" index create --quiet "oci:$L:lab" "null=oci:$L:null" "fast=oci:$L:cpu.v3,lab :: speed :: 9" >/dev/null 2>&1
    run -0 vpull --disable lab "oci:$L:lab"
    run -2 --separate-stderr vpull --disable lab::sped "oci:$L:lab"
    [ "${stderr_lines[0]}" = "vpull: --disable: lab has no feature 'sped'; did you mean 'speed'?" ]
    run -2 --separate-stderr vpull --disable lab "oci:$L:app"
    [ "${stderr_lines[0]}" = "vpull: --disable: no namespace 'lab'" ]
    [[ ${stderr_lines[1]} == "hint: known_namespaces "* ]]
    config 'known_namespaces: [lab]\n'
    run -0 "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" --disable lab "oci:$L:app"
    cp -r "$OCV_TOP/plugins" "$BATS_TEST_TMPDIR/data"
    cat >"$BATS_TEST_TMPDIR/data/providers/lab.yaml" <<'END'
schema: dev.ocivariant.provider/v1
namespace: lab
version: "1"
meaning: what a laboratory makes
drivers: [lab]
features:
  - feature: arch
    values: [one]
devices:
  - pci: {vendor: "fff1", device: "0001"}
    name: One
    set: {arch: one}
END
    OCV_DATADIR=$BATS_TEST_TMPDIR/data run -0 --separate-stderr vpull --disable lab "oci:$L:app"
    # allowed by PEP 825: nothing that it resembles is known
    run -0 --separate-stderr vpull --namespace-priority laboratory "oci:$L:app"
    [ "${stderr_lines[0]}" = "vpull: warning: --namespace-priority: no namespace 'laboratory'" ]
}

@test "labels: one that there is not, exit 2 with those that there are; one that does not fit, exit 3 and why" {
    run -2 --separate-stderr vpull --label cuda128 "oci:$L:app"
    [ "$stderr" = "vpull: --label: no variant 'cuda128' in oci:$L:app: it has null (the default), cpu.v3, cuda12.6, cuda12.8, rocm7.1; did you mean 'cuda12.8'?" ]
    run -3 --separate-stderr vpull --label rocm7.1 "oci:$L:app"
    [[ $stderr == *"vpull: oci:$L:app: variant rocm7.1 does not fit this host: needs amd :: gfx_arch :: gfx942; this host has no amd"* ]]
    [[ $stderr == *"hint: --unchecked pulls it anyway" ]]
    run -0 --separate-stderr vpull --label rocm7.1 --unchecked "oci:$L:app"
    [ "$output" = "$(digest_of rocm7.1)" ]
    run -0 --separate-stderr vpull --label null "oci:$L:app"
    [ "$output" = "$(digest_of null)" ]
}

@test "--require: used, or exit 3 with the reason, for vpull, resolve, explain and lock" {
    run -0 --separate-stderr vpull --require nvidia "oci:$L:app"
    [ "$output" = "$(digest_of cuda12.8)" ]
    run -0 --separate-stderr vpull --require nvidia::sm_arch::90_real --disable nvidia::cuda_version_lower_bound::12.8 "oci:$L:app"
    [ "$output" = "$(digest_of cuda12.6)" ]
    run -3 --separate-stderr vpull --require amd "oci:$L:app"
    [ -z "$output" ]
    [[ $stderr == *"vpull: oci:$L:app: nothing that fits uses amd, which is required (--require): rocm7.1: needs amd :: gfx_arch :: gfx942; this host has no amd"* ]]
    run -3 --separate-stderr "$VPULL" --config /dev/null --print-ref --profile "$STATE/old.json" --require nvidia "oci:$L:app"
    [ -z "$output" ]
    [[ $stderr == *"nothing that fits uses nvidia, which is required"*"12.2"* ]]
    run -3 --separate-stderr vpull --require nvidia "oci:$L:null"
    [[ $stderr == *"nothing that fits uses nvidia, which is required (--require)"* ]]
    run -3 --separate-stderr "$VARIANTCTL" resolve --profile "$PROFILES/laptop.json" --require nvidia "oci:$L:app"
    [ "$(jq -r 'first(.rejected[] | select(.code == "requirement")) | "\(.code) \(.required) \(.origin)"' <<<"$output")" = "requirement nvidia --require" ]
    run -3 "$VARIANTCTL" explain --profile "$PROFILES/laptop.json" --require nvidia "oci:$L:app"
    [[ $output == *"fits, but does not use nvidia, which is required (--require)"* ]]
    run -3 --separate-stderr "$VARIANTCTL" lock --profile "laptop=$PROFILES/laptop.json" --require nvidia "oci:$L:app"
    [[ $stderr == "variantctl: laptop: oci:$L:app: nothing that fits uses nvidia"* ]]
    config 'require: [nvidia]\n'
    run -3 --separate-stderr "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/laptop.json" "oci:$L:app"
    [[ $stderr == *"which is required ($CONFIG:3)"* ]]
}

@test "what was not taken is said, with the hint that explain has; not where there is no such hardware" {
    run -0 --separate-stderr "$VPULL" --config /dev/null --dry-run --profile "$STATE/old.json" --disable x86_64 "oci:$L:app"
    [ "$output" = "$(digest_of null)" ]
    [ "${stderr_lines[0]}" = "the default: needs nothing special" ]
    [ "${stderr_lines[1]}" = "note: this machine has nvidia, but cuda12.8 does not fit: driver 535.161 supports CUDA up to 12.2; this needs 12.8: driver 570 or newer" ]
    run -0 --separate-stderr vpull --override nvidia::cuda_version_lower_bound=12.7,12.6 "oci:$L:app"
    [ "$output" = "$(digest_of cuda12.6)" ]
    [[ $stderr == *"note: this machine has nvidia, but cuda12.8 does not fit: "* ]]
    # the newest version is enough, and it includes the older ones
    run -0 --separate-stderr vpull --override nvidia::cuda_version_lower_bound=12.9 "oci:$L:app"
    [ "$output" = "$(digest_of cuda12.8)" ]
    [[ $stderr != *"note:"* ]]
    run -0 --separate-stderr vpull "oci:$L:app"
    [[ $stderr != *"note:"* ]]
    run -0 --separate-stderr "$VPULL" --config /dev/null --dry-run --profile "$PROFILES/laptop.json" "oci:$L:app"
    [[ $stderr != *"note:"* ]]
    for option in --quiet --print-ref; do
        run -0 --separate-stderr "$VPULL" --config /dev/null $option --to "oci:$BATS_TEST_TMPDIR/out" --profile "$STATE/old.json" "oci:$L:app"
        [[ $stderr != *"note:"* ]]
    done
    run -0 --separate-stderr "$VPULL" --config /dev/null --dry-run --progress json --profile "$STATE/old.json" "oci:$L:app"
    [[ $(jq -r 'select(.event == "decision") | .missed' <<<"$output") == "this machine has nvidia, but cuda12.8 "* ]]
}

@test "a repository's own: vpull, explain with the line, lock; a flag counts more" {
    config "disable: [amd]\nrepositories:\n  \"$SERVER/**\":\n    disable: [x86_64]\n  \"$SERVER/team/app\":\n    disable:\n      - nvidia\n"
    pull() { "$VPULL" --config "$CONFIG" --dry-run --profile "$PROFILES/h100.json" "$@"; }
    run -0 --separate-stderr pull "$SERVER/team/app:1"
    [ "$output" = "$(digest_of cpu.v3)" ]
    run -0 --separate-stderr pull "$SERVER/team/other:1"
    [ "$output" = "$(digest_of cuda12.8)" ]
    run -0 --separate-stderr pull --disable amd "$SERVER/team/app:1"
    [ "$output" = "$(digest_of cuda12.8)" ]
    run -0 "$VARIANTCTL" explain --config "$CONFIG" --profile "$PROFILES/h100.json" "$SERVER/team/app:1"
    [[ $output == *"Config  repositories: $SERVER/team/app ($CONFIG:7)"* ]]
    [[ $output == *"switched off by configuration ($CONFIG:9)"* ]]
    run -0 --separate-stderr "$VARIANTCTL" lock --config "$CONFIG" --profile "h100=$PROFILES/h100.json" "$SERVER/team/app:1"
    [ "$(jq -r '.images[0].profiles.h100.label' <<<"$output")" = cpu.v3 ]
    config "repositories:\n  \"$SERVER/team/app\": {label: cuda12.7}\n"
    run -3 --separate-stderr pull "$SERVER/team/app:1"
    [[ $stderr == *"vpull: $CONFIG:4: no variant 'cuda12.7' in $SERVER/team/app:1: it has null (the default), "* ]]
    run -0 --separate-stderr pull --label cuda12.6 "$SERVER/team/app:1"
    [ "$output" = "$(digest_of cuda12.6)" ]
}

@test "a repository's own through the daemon: podman, /v1/resolve, verdict, verify" {
    config "repositories:\n  \"$SERVER/team/app\": {disable: [nvidia]}\n  \"$SERVER/team/plain\": {require: [nvidia]}\n"
    start_variantd own --config "$CONFIG" --profile "$PROFILES/h100.json"
    start_podman
    registries_conf "$VARIANTD" "$SERVER"
    run -0 pull "$SERVER/team/app:1"
    run -0 --separate-stderr says "$SERVER/team/app:1"
    [ "$output" = "this is cpu.v3" ]
    # the same index, elsewhere
    run -0 pull "$SERVER/team/other:1"
    run -0 --separate-stderr says "$SERVER/team/other:1"
    [ "$output" = "this is cuda12.8" ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/resolve?ref=$SERVER/team/app:1"
    [ "$(jq -r .selected.label <<<"$output")" = cpu.v3 ]
    [ "$(jq -r '.rejected[] | select(.label == "cuda12.8") | .origin' <<<"$output")" = "$CONFIG:4" ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app:1&digest=$(digest_of cuda12.8)"
    [ "$(jq -r '"\(.verdict) \(.fit)"' <<<"$output")" = "misfit cpu.v3" ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/other:1&digest=$(digest_of cuda12.8)"
    [ "$(jq -r .verdict <<<"$output")" = fits ]
    # a digest that the name itself pins
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app@$(digest_of cuda12.8)"
    [ "$(jq -r '"\(.verdict) \(.fit)"' <<<"$output")" = "misfit cpu.v3" ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/other:1@$(digest_of cuda12.8)"
    [ "$(jq -r .verdict <<<"$output")" = fits ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app@$(index_digest)"
    [ "$(jq -r .verdict <<<"$output")" = index ]
    run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" \
        "http://localhost/v1/verdict?ref=$SERVER/team/app@$(index_digest)&digest=$(digest_of cpu.v3)"
    [ "$(jq -r .verdict <<<"$output")" = fits ]
    stop_daemon own
}

@test "require in the daemon: as where nothing fits, and what is here all the same is refused and found" {
    local digest
    config "repositories:\n  \"$SERVER/team/app\":\n    require: [amd]\n"
    start_variantd required --config "$CONFIG" --profile "$PROFILES/h100.json"
    ask HEAD "/v2/team/app/manifests/1?ns=$SERVER"
    [ "$code" = 404 ]
    [ "$(outcome no_fit)" = 1 ]
    ask HEAD "/v2/team/other/manifests/1?ns=$SERVER"
    [ "$code" = 200 ]
    for digest in "$(digest_of cuda12.8)" "$(digest_of null)"; do
        run -0 curl -sf --unix-socket "$VARIANTD_SOCKET" "http://localhost/v1/verdict?ref=$SERVER/team/app:1&digest=$digest"
        [ "$(jq -r '"\(.verdict) \(.required)"' <<<"$output")" = "misfit amd" ]
    done
    stop_daemon required
    OCV_STATE_DIR=$BATS_TEST_TMPDIR/state run -0 "$VPULL" --config "$STATE/base.yaml" --profile "$PROFILES/h100.json" --quiet \
        --to "oci:$BATS_TEST_TMPDIR/here:1" "$SERVER/team/app:1"
    OCV_STATE_DIR=$BATS_TEST_TMPDIR/state run -5 "$VARIANTCTL" verify --config "$CONFIG" --profile "$PROFILES/h100.json" \
        --from "oci:$BATS_TEST_TMPDIR/here"
    [[ $output == *"misfit"*"does not use amd, which is required ($CONFIG:5)"* ]]
}

@test "the daemon starts with names that it does not know: warned of, counted; --check exits 2" {
    config 'disable: [nvida]\ndevices: {nvidia: [0, 7]}\nknown_namespaces: [lab]\nnamespace_priority: [lab, laboratory9]\n'
    start_variantd unknown --config "$CONFIG" --profile "$PROFILES/h100.json"
    grep -q "$CONFIG:3: no namespace 'nvida'; did you mean 'nvidia'?" "$STATE/log/unknown"
    grep -q "$CONFIG:4: no device '7': this host has nvidia 0" "$STATE/log/unknown"
    [ "$(metric variantd_config_unknown_names)" = 2 ]
    stop_daemon unknown
    run -2 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json"
    [[ $stderr == *"$CONFIG:3: no namespace 'nvida'; did you mean 'nvidia'?"* ]]
    [ "${stderr_lines[-1]}" = "variantd: the configuration ($CONFIG) is not sound" ]
}

@test "--check: 0 when sound, 2 for syntax, key and type; no socket is made" {
    config 'disable: [nvidia]\n'
    run -0 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json" --socket "$BATS_TEST_TMPDIR/s"
    [ "${stderr_lines[-1]}" = "variantd: the configuration ($CONFIG) is sound" ]
    [ ! -e "$BATS_TEST_TMPDIR/s" ]
    local text
    for text in 'disabled: [nvidia]\n' 'disable: nvidia\n' 'tag_ttl: soon\n' 'disable: [\n' 'repositories: {team/a: {}}\n'; do
        config "$text"
        run -2 --separate-stderr "$VARIANTD_BIN" --check --config "$CONFIG" --profile "$PROFILES/h100.json"
        [[ ${stderr_lines[0]} == "variantd: $CONFIG:"* ]]
        [ "${stderr_lines[-1]}" = "variantd: the configuration ($CONFIG) is not sound" ]
    done
}

@test "a flag of the daemon's own with a name that nothing knows is an error" {
    run -2 --separate-stderr timeout 20 "$VARIANTD_BIN" --config /dev/null --profile "$PROFILES/h100.json" --listen 127.0.0.1:0 \
        --socket "$BATS_TEST_TMPDIR/s" --disable nvida
    [[ $stderr == *"variantd: --disable: no namespace 'nvida'; did you mean 'nvidia'?"* ]]
}

@test "state_dir: where the daemon and vpull keep what was resolved" {
    config "state_dir: $BATS_TEST_TMPDIR/kept\n"
    start_variantd kept --config "$CONFIG" --profile "$PROFILES/h100.json"
    ask GET "/v2/team/app/manifests/1?ns=$SERVER"
    [ "$code" = 200 ]
    for _ in {1..100}; do
        ! grep -rqs "$(digest_of cuda12.8)" "$BATS_TEST_TMPDIR/kept/resolved" || break
        sleep 0.05
    done
    grep -rq "$(digest_of cuda12.8)" "$BATS_TEST_TMPDIR/kept/resolved"
    stop_daemon kept
    rm -r "$BATS_TEST_TMPDIR/kept"
    run -0 env -u OCV_STATE_DIR "$VPULL" --config "$CONFIG" --profile "$PROFILES/h100.json" --quiet \
        --to "oci:$BATS_TEST_TMPDIR/here:1" "$SERVER/team/app:1"
    grep -rq "$(digest_of cuda12.8)" "$BATS_TEST_TMPDIR/kept/resolved"
}
