#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe with executable providers: what they answer, and each way to fail. Whatever one
# does, the command ends well and the rest of the profile stands.
# shellcheck disable=SC2016 # the programs' own text, expanded where they run

load ../harness

# Longer than any of this takes, shorter than the test run's own limit.
PATIENCE=60
# Programs that are not to be late have time, as the machine may be busy.
LIMIT=(--timeout 30)

setup()
{
    export OCV_LIBEXECDIR=$BATS_TEST_TMPDIR/libexec OCV_DATADIR=$OCV_TOP/plugins
    PROVIDERS=$OCV_LIBEXECDIR/providers
    mkdir -p "$PROVIDERS"
    chmod 755 "$PROVIDERS"
    provider good <<'ANSWER'
cat <<'JSON'
{"namespace": "mychip", "driver": "1.2", "provider": {"version": "3", "source": "sysfs"},
 "features": [{"name": "arch", "values": ["two", "one"]}],
 "devices": [{"id": "0000:01:00.0", "name": "My Chip", "attributes": {"memory": "8589934592"}}]}
JSON
ANSWER
}

provider() # NAME, its text on stdin
{
    { echo '#!/bin/sh' && cat; } >"$PROVIDERS/$1"
    chmod 755 "$PROVIDERS/$1"
}

probe() # OPTION...
{
    run -0 --separate-stderr timeout -k 1 $PATIENCE "$VARIANTCTL" probe --format json "${LIMIT[@]}" "$@"
    # what always stands
    [ "$(namespace mychip .status)" = ok ]
    [ "$(namespace "$(uname -m)" .status)" = ok ]
}

namespace() # NAME FILTER
{
    jq -r --arg name "$1" ".namespaces[] | select(.namespace == \$name) | $2" <<<"$output"
}

failed_with() # NAME PATTERN
{
    local want="$PROVIDERS/$1: $2"
    [ "$(namespace "$1" .status)" = failed ]
    [ "$(namespace "$1" .provider.kind)" = executable ]
    # shellcheck disable=SC2053 # a pattern
    [[ $(namespace "$1" .error) == $want ]]
}

# A process that was killed may wait for whoever adopted it to notice.
gone() # PID
{
    [ ! -e "/proc/$1" ] || [ "$(awk '{ print $3 }' "/proc/$1/stat")" = Z ]
}

@test "a program's namespace stands in the profile and decides like any other" {
    require jq
    probe
    [ "$(namespace mychip '.provider | "\(.name) \(.kind) \(.source) \(.version)"')" = "good executable sysfs 3" ]
    [ "$(namespace mychip '.devices[0].name')" = "My Chip" ]
    run -0 "$VARIANTCTL" probe --format text
    [[ $output == *mychip*"arch: two one"* ]]
    cat >"$BATS_TEST_TMPDIR/index.json" <<'INDEX'
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
 "annotations": {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": "mychip"},
 "manifests": [
  {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1000,
   "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000001",
   "annotations": {"dev.ocivariant.label": "null", "dev.ocivariant.properties": ""}},
  {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1001,
   "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000002",
   "annotations": {"dev.ocivariant.label": "chip2",
                   "dev.ocivariant.properties": "mychip :: arch :: two"}}]}
INDEX
    # without --profile the host is probed, programs included
    run -0 --separate-stderr "$VARIANTCTL" resolve --index "$BATS_TEST_TMPDIR/index.json" --format json
    [ "$(jq -r .selected.label <<<"$output")" = chip2 ]
}

@test "a crash is reported, the rest stands" {
    require jq
    provider crash <<<'echo "about to fall" >&2; kill -SEGV $$'
    probe
    failed_with crash 'killed by signal 11 (Segmentation fault): about to fall'
}

@test "a program that hangs is killed, with what it started" {
    require jq
    provider hang <<HANG
trap '' TERM INT HUP
sleep 3600 &
echo \$\$ \$! >"$BATS_TEST_TMPDIR/pids"
while :; do sleep 3600; done
HANG
    LIMIT=()
    probe
    failed_with hang 'did not answer within 2 s'
    local pid
    for pid in $(<"$BATS_TEST_TMPDIR/pids"); do
        gone "$pid"
    done
}

@test "the time limit can be another one" {
    require jq
    provider hang <<<'sleep 3600'
    run -0 --separate-stderr timeout $PATIENCE "$VARIANTCTL" probe --format json --timeout 1
    failed_with hang 'did not answer within 1 s'
    # longer than the default
    provider slow <<<'sleep 2.5; echo "{\"namespace\": \"slow\"}"'
    provider hang <<<'exit 1'
    probe --timeout 40
    [ "$(namespace slow .status)" = ok ]
    for wrong in 0 3601 -1 1.5 '' 99999999999999999999; do
        run -2 "$VARIANTCTL" probe --timeout "$wrong"
    done
}

@test "an answer counts even if something that was started holds the pipe" {
    require jq
    provider holder <<HOLDER
sleep 3600 &
echo \$! >"$BATS_TEST_TMPDIR/pid"
echo '{"namespace": "holder"}'
HOLDER
    probe
    [ "$(namespace holder .status)" = ok ]
    gone "$(<"$BATS_TEST_TMPDIR/pid")"
}

@test "programs run at the same time: each waits for all the others" {
    require jq
    local name
    for name in first second third; do
        provider $name <<MEET
touch "$BATS_TEST_TMPDIR/met-$name"
while [ ! -e "$BATS_TEST_TMPDIR/met-first" ] || [ ! -e "$BATS_TEST_TMPDIR/met-second" ] ||
    [ ! -e "$BATS_TEST_TMPDIR/met-third" ]; do sleep 0.01; done
echo '{"namespace": "$name"}'
MEET
    done
    probe
    for name in first second third; do
        [ "$(namespace $name .status)" = ok ]
    done
}

@test "garbage, nothing, and 100 MB of output" {
    require jq
    provider garbage <<<'head -c 1000 /dev/urandom'
    provider words <<<'echo "no such device"'
    provider silent <<<':'
    provider flood <<<'exec head -c 100000000 /dev/zero'
    provider loud <<<'head -c 100000000 /dev/zero | tr "\0" x >&2; exit 4'
    provider unknown <<<'echo "{\"namespace\": \"unknown\", \"feature\": []}"'
    provider deep <<<'head -c 100000 /dev/zero | tr "\0" "["'
    probe
    failed_with garbage 'what it printed is not valid JSON: *'
    failed_with words 'what it printed is not valid JSON: line 1: *'
    failed_with silent 'it printed nothing'
    failed_with flood 'printed more than 1048576 bytes'
    [ "$(namespace loud .status)" = failed ]
    failed_with unknown "what it printed is not a namespace of a profile: 'feature' is an unknown key"
    failed_with deep 'what it printed is not valid JSON: *'
}

@test "an exit status is reported with the first line of stderr, without its escapes" {
    require jq
    provider status <<<'printf "no \033[31mlicence\nsecond line\n" >&2; exit 3'
    probe
    failed_with status 'exit status 3: no \?\[31mlicence'
    run -0 "$VARIANTCTL" probe --format text
    [[ $output != *$'\033'* ]]
    [[ $output == *"could not be read"*"31mlicence"* ]]
}

@test "what anybody else could have written is not run, and says so" {
    require jq
    provider shared <<<"touch $BATS_TEST_TMPDIR/ran"
    chmod 775 "$PROVIDERS/shared"
    provider world <<<"touch $BATS_TEST_TMPDIR/ran"
    chmod 757 "$PROVIDERS/world"
    provider .hidden <<<"touch $BATS_TEST_TMPDIR/ran"
    ln -s /bin/true "$PROVIDERS/link"
    echo text >"$PROVIDERS/text"
    probe
    failed_with shared 'not run: its group may write to it'
    failed_with world 'not run: any user may write to it'
    failed_with link 'not run: it is a symbolic link'
    failed_with text 'not run: it is not executable'
    if [ "$(id -u)" = 0 ]; then
        provider theirs <<<"touch $BATS_TEST_TMPDIR/ran"
        chown 65534 "$PROVIDERS/theirs"
        probe
        failed_with theirs 'not run: does not belong to root'
    fi
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    chmod 777 "$PROVIDERS"
    run -0 --separate-stderr "$VARIANTCTL" probe --format json
    failed_with good "not run: its directory: $PROVIDERS: its group may write to it"
}

@test "another user runs root's programs and their own, not a third one's" {
    require jq setpriv
    [ "$(id -u)" = 0 ] || skip "only root can become somebody else"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_SUITE_TMPDIR"
    local other=(setpriv --reuid 65534 --regid 65534 --clear-groups -- env HOME=/nonexistent)
    "${other[@]}" test -x "$VARIANTCTL" || skip "another user cannot reach the build directory"
    provider own <<<'echo "{\"namespace\": \"own\", \"driver\": \"$(id -u)\"}"'
    chown 65534 "$PROVIDERS/own"
    provider third <<<'echo "{\"namespace\": \"third\"}"'
    chown 65533 "$PROVIDERS/third"
    run -0 --separate-stderr "${other[@]}" "$VARIANTCTL" probe --format json
    [ "$(namespace mychip .status)" = ok ]
    [ "$(namespace own .driver)" = 65534 ]
    failed_with third 'not run: belongs neither to root nor to this user'
}

@test "two providers for a namespace are a configuration error; one can stand in another's place" {
    require jq
    provider again <<<'echo "{\"namespace\": \"mychip\"}"'
    run -2 --separate-stderr "$VARIANTCTL" probe --format json
    [[ $stderr == *"/providers/good: namespace 'mychip' has a provider already: 'again'"* ]]
    [[ $stderr == *'prints "replaces": "again"'* ]]
    rm "$PROVIDERS/again"
    provider mine <<<'echo "{\"namespace\": \"rebellions\"}"'
    run -2 --separate-stderr "$VARIANTCTL" probe --format json
    [[ $stderr == *"/providers/mine: namespace 'rebellions' has a provider already: 'rebellions'"* ]]
    provider mine <<<'echo "{\"namespace\": \"rebellions\", \"replaces\": \"rebellions\"}"'
    probe
    [ "$(namespace rebellions .provider.name)" = mine ]
}

@test "programs are told where to look, and get nothing else of the caller's" {
    require jq
    mkdir -p "$BATS_TEST_TMPDIR/root/sys"
    provider args <<<'echo "{\"namespace\": \"args\", \"driver\": \"$1 ${2##*/} $3\"}"'
    provider surroundings <<AROUND
env >"$BATS_TEST_TMPDIR/environment"
grep -E '^NoNewPrivs:' /proc/self/status >"$BATS_TEST_TMPDIR/privileges"
readlink /proc/\$\$/fd/0 >"$BATS_TEST_TMPDIR/stdin"
echo '{"namespace": "surroundings"}'
AROUND
    SECRET_TOKEN=x OCV_TO=docker LANG=de_DE.UTF-8 probe
    [ "$(namespace args .driver)" = "--sysroot  " ]
    run ! grep -E '^(SECRET|OCV_|HOME|USER)' "$BATS_TEST_TMPDIR/environment"
    grep -qx LANG=C "$BATS_TEST_TMPDIR/environment"
    grep -q '1$' "$BATS_TEST_TMPDIR/privileges"
    [ "$(<"$BATS_TEST_TMPDIR/stdin")" = /dev/null ]
    probe --deep
    [ "$(namespace args .driver)" = "--sysroot  --deep" ]
    run -0 --separate-stderr "$VARIANTCTL" probe --format json --sysroot "$BATS_TEST_TMPDIR/root"
    [ "$(namespace args .driver)" = "--sysroot root " ]
}

@test "the program that the documentation shows works" {
    require jq
    rm "$PROVIDERS/good"
    awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$OCV_TOP/plugins/providers/README.md" \
        >"$PROVIDERS/mychip"
    chmod 755 "$PROVIDERS/mychip"
    mkdir -p "$BATS_TEST_TMPDIR/root/dev"
    run -0 --separate-stderr "$VARIANTCTL" probe --format json --sysroot "$BATS_TEST_TMPDIR/root"
    [ "$(namespace mychip .status)" = absent ]
    touch "$BATS_TEST_TMPDIR/root/dev/mychip0"
    run -0 --separate-stderr "$VARIANTCTL" probe --format json --sysroot "$BATS_TEST_TMPDIR/root"
    [ "$(namespace mychip '"\(.status) \(.devices[0].features[0].values[0])"')" = "ok two" ]
}

@test "a vendor's library path reaches the programs" {
    require jq
    provider path <<<'echo "{\"namespace\": \"path\", \"driver\": \"${LD_LIBRARY_PATH-none}\"}"'
    LD_LIBRARY_PATH=/opt/vendor/lib probe
    [ "$(namespace path .driver)" = /opt/vendor/lib ]
}

@test "without provider programs the probe starts no process" {
    require strace
    OCV_LIBEXECDIR=$BATS_TEST_TMPDIR/none run -0 strace -f -o "$BATS_TEST_TMPDIR/trace" \
        -e trace=process "$VARIANTCTL" probe --format json
    [ "$(grep -c execve "$BATS_TEST_TMPDIR/trace")" = 1 ]
    run ! grep -E 'clone|fork' "$BATS_TEST_TMPDIR/trace"
}

@test "a tree that was moved finds its own programs" {
    require jq
    mkdir -p "$BATS_TEST_TMPDIR/usr/share/ocivariant" "$BATS_TEST_TMPDIR/usr/libexec"
    mv "$OCV_LIBEXECDIR" "$BATS_TEST_TMPDIR/usr/libexec/ocivariant"
    unset OCV_LIBEXECDIR
    OCV_DATADIR=$BATS_TEST_TMPDIR/usr/share/ocivariant probe
    [ "$(namespace mychip .status)" = ok ]
}

@test "programs of a probe that runs beside another task may use every processor" {
    local allowed turn
    provider good <<ANSWER
grep Cpus_allowed_list /proc/self/status >$BATS_TEST_TMPDIR/allowed
echo '{"namespace": "mychip", "features": [{"name": "arch", "values": ["two"]}]}'
ANSWER
    mkimage "$BATS_TEST_TMPDIR/images" app --file etc/build=app
    allowed=$(grep Cpus_allowed_list /proc/self/status)
    for ((turn = 0; turn < 50; turn++)); do
        rm -f "$BATS_TEST_TMPDIR/allowed"
        run -0 "$VARIANTCTL" resolve "oci:$BATS_TEST_TMPDIR/images:app"
        [ "$(<"$BATS_TEST_TMPDIR/allowed")" = "$allowed" ]
    done
}
