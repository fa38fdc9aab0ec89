#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Run the tests and count every single check.
#
#   test/run.sh [SECTION...]      sections: build unit asan tsan headers abi integration
#                                           packages lint clang fuzz; check and ci are sets of them
#
# Logs stay in $OCV_BUILD/log. What fails is shown; the last line is "N passed, N failed, N skipped";
# the exit status is 1 when something failed.
# OCV_STRICT=1 or CI=true: a skipped packaged daemon is a failure. FUZZ_SECONDS: time for each fuzz
# target. OCV_CONTAINERD2: a directory with a containerd 2.x (test/integration/cri.bash), OCV_DOCKER28: one
# with a Docker 28 (test/integration/docker.bash), OCV_KUBEBOX: a program that is Kubernetes
# (test/integration/cluster.bash), OCV_BACKENDAI_PYTHON: an interpreter with Backend.AI
# (test/integration/cluster/backendai.bats), OCV_SLURM_ROOT: a tree with the Slurm of another release
# (test/integration/slurm.bash), OCV_SNAPSHOTTER_SUITE: containerd's tests of snapshotters. TESTS: only unit tests
# and .bats files whose name contains it.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
top=$PWD
build=${OCV_BUILD:-build}
jobs=$(nproc)
fixtures=${OCV_FIXTURES:-../shared/fixtures}
case $fixtures in /*) ;; *) fixtures=$top/$fixtures ;; esac
export OCV_FIXTURES=$fixtures CK_DEFAULT_TIMEOUT=60 # a loaded machine is slow, not broken
# the developer's settings and make's variables must not reach the programs under test
unset MAKEFLAGS MAKELEVEL MFLAGS
for name in $(compgen -e OCV_); do
    case $name in OCV_FIXTURES | OCV_STRICT | OCV_KEEP | OCV_CONTAINERD2 | OCV_DOCKER28 | OCV_KUBEBOX | OCV_HELM | OCV_BACKENDAI_PYTHON | OCV_SLURM_ROOT | OCV_SNAPSHOTTER_SUITE) ;; *) unset "$name" ;; esac
done
logs=$build/log
mkdir -p "$logs"
passed=0
failed=0
skipped=0

# report NAME PASSED FAILED SKIPPED [LOG]: adds up, prints a line, and on failure the log
report()
{
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    printf '%-44s %4d passed' "$1" "$2"
    [ "$3" = 0 ] || printf ', %d FAILED' "$3"
    [ "$4" = 0 ] || printf ', %d skipped' "$4"
    printf '\n'
    if [ "$3" != 0 ] && [ -n "${5:-}" ]; then
        printf -- '---- %s\n' "$5"
        tail -n 200 "$5"
        printf -- '----\n'
    elif [ "$4" != 0 ] && [ -n "${5:-}" ]; then
        grep -hE '^skipped:|# skip' "$5" | sort | uniq -c | sed 's/^ */    /' | head -n 20
    fi
}

# step NAME COMMAND...: a command that counts as one check
step()
{
    local log=$logs/${1//[ \/]/-}.log name=$1
    shift
    if "$@" >"$log" 2>&1 </dev/null; then
        report "$name" 1 0 0
    else
        report "$name" 0 1 0 "$log"
        return 1
    fi
}

build_in() # DIRECTORY MAKE-ARGUMENT...
{
    local directory=$1
    shift
    make -s -j"$jobs" BUILD="$directory" "$@"
}

# slot [MORE]: wait until another job may run; MORE jobs than there are processors
slot()
{
    while [ "$(jobs -rp | wc -l)" -ge $((jobs + ${1:-0})) ]; do wait -n; done
}

# A program of check tests: "NN%: Checks: N, Failures: F, Errors: E", "skipped: ..." lines.
unit_program() # LOG COMMAND...
{
    local log=$1
    shift
    timeout 300 "$@" >"$log" 2>&1 </dev/null
    echo "exit status $?" >>"$log"
}

unit_report() # NAME LOG
{
    local name=$1 log=$2 ok bad skip checks fails
    checks=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), .*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
    fails=$(sed -n 's/^[0-9]*%: Checks: .*Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2/p' "$log" |
        awk '{ n += $1 + $2 } END { print n + 0 }')
    skip=$(grep -c '^skipped:' "$log")
    bad=$fails
    ok=$((checks - fails))
    # a program that failed without a message, or that ran nothing, counts as failed
    if [ "$bad" = 0 ] && ! grep -q '^exit status 0$' "$log"; then
        bad=1
    elif [ "$checks" = 0 ] && [ "$skip" = 0 ]; then
        echo "no check ran" >>"$log"
        bad=1
    fi
    report "$name" "$ok" "$bad" "$skip" "$log"
}

# Unit tests of a build directory, several at the same time. The launcher may wrap the program.
unit_programs() # TITLE DIRECTORY SOURCE-LIST [LAUNCHER...]
{
    local title=$1 directory=$2 sources=$3 source name
    shift 3
    mkdir -p "$logs/$title"
    for source in $sources; do
        name=$(basename "$source" .c)
        [[ $name == *${TESTS:-}* ]] || continue
        slot
        unit_program "$logs/$title/$name.log" "$@" "$directory/test/unit/$name" &
    done
    wait
    for source in $sources; do
        name=$(basename "$source" .c)
        [[ $name == *${TESTS:-}* ]] || continue
        unit_report "$title $name" "$logs/$title/$name.log"
    done
}

section_build()
{
    step "build" build_in "$build" all tests tools || return 1
}

section_unit()
{
    step "build unit tests" build_in "$build" tests || return 1
    unit_programs unit "$build" "$(echo test/unit/*/test_*.c)"
}

section_asan()
{
    step "build with ASan and UBSan" build_in "$build-asan" SAN=asan tests || return 1
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        UBSAN_OPTIONS=print_stacktrace=1 \
        unit_programs asan "$build-asan" "$(echo test/unit/*/test_*.c)"
}

# Only tests that use threads. Without address randomisation: older TSan runtimes cannot map their
# shadow memory on kernels that randomise more bits.
section_tsan()
{
    local sources=() targets=() source
    mapfile -t sources < <(grep -lE 'pthread_create|ocv_blob_writer_|ocv_registry_|server_new' test/unit/*/test_*.c)
    if [ ${#sources[@]} = 0 ]; then
        report "tsan" 0 1 0
        echo "no unit test of what uses threads"
        return 1
    fi
    for source in "${sources[@]}"; do
        targets+=("$build-tsan/test/unit/$(basename "$source" .c)")
    done
    step "build with TSan" build_in "$build-tsan" SAN=tsan tools "${targets[@]}" || return 1
    TSAN_OPTIONS=halt_on_error=1 \
        unit_programs tsan "$build-tsan" "${sources[*]}" setarch "$(uname -m)" -R
}

section_headers()
{
    step "public headers alone, C11 and C++" build_in "$build" headers
    ! command -v clang >/dev/null ||
        step "public headers alone, clang" build_in "$build-clang" headers CC=clang CXX=clang++
}

section_abi()
{
    step "build for the ABI" build_in "$build" all || return 1
    if ! command -v abidiff >/dev/null; then
        report "ABI (abigail-tools is not installed)" 0 1 0
        return 1
    fi
    step "ABI as contrib/abi describes it" env OCV_BUILD="$build" test/abi.sh
}

bats_file() # FILE LOG
{
    OCV_BUILD=$top/$build timeout 400 bats --tap --timing --print-output-on-failure "$1" \
        >"$2" 2>&1 </dev/null
    echo "exit status $?" >>"$2"
}

bats_report() # NAME LOG
{
    local ok bad skip plan
    plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$2" | head -n 1)
    ok=$(grep '^ok ' "$2" | grep -vc '# skip')
    skip=$(grep -c '^ok .*# skip' "$2")
    bad=$(grep -c '^not ok ' "$2")
    # planned tests that were never reported, or a file that bats could not read
    if [ $((ok + skip + bad)) -lt "${plan:-1}" ]; then
        bad=$((${plan:-1} - ok - skip))
    elif [ "$bad" = 0 ] && ! grep -q '^exit status 0$' "$2"; then
        bad=1
    fi
    report "$1" "$ok" "$bad" "$skip" "$2"
}

section_integration()
{
    local file name
    step "build for integration tests" build_in "$build" all tools || return 1
    if ! command -v bats >/dev/null; then
        report "integration (bats is not installed)" 0 1 0
        return 1
    fi
    # a log has the name of its file
    name=$(basename -a test/integration/*/*.bats | sort | uniq -d)
    if [ -n "$name" ]; then
        report "integration: two files named $name" 0 1 0
        return 1
    fi
    mkdir -p "$logs/integration"
    for file in test/integration/*/*.bats; do
        name=$(basename "$file" .bats)
        [[ $name == *${TESTS:-}* ]] || continue
        slot 1 # they sometimes wait for daemons
        bats_file "$file" "$logs/integration/$name.log" &
    done
    wait
    for file in test/integration/*/*.bats; do
        name=$(basename "$file" .bats)
        [[ $name == *${TESTS:-}* ]] || continue
        bats_report "integration $name" "$logs/integration/$name.log"
    done
}

section_lint()
{
    local name
    step "generate headers" build_in "$build" print-cflags
    for name in $(test/lint.sh --list); do
        OCV_BUILD=$build step "lint $name" test/lint.sh "$name"
    done
}

# The directory that tests run from, if gcc is the compiler anyway.
section_gcc()
{
    step "build with gcc" build_in "$build" CC=gcc all tests tools &&
        step "hardened by gcc" test/hardened.sh "$build"
}

section_clang()
{
    step "build with clang" build_in "$build-clang" CC=clang all tests tools &&
        step "hardened by clang" test/hardened.sh "$build-clang"
}

fuzz_target() # NAME LOG
{
    FUZZ_BUILD=$build-fuzz test/fuzz/run.sh "$1" "${FUZZ_SECONDS:-10}" >"$2" 2>&1 </dev/null
    echo "exit status $?" >>"$2"
}

fuzz_verdict() # LOG
{
    cat "$1"
    grep -q '^exit status 0$' "$1"
}

section_fuzz()
{
    local name
    if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n); int LLVMFuzzerTestOneInput(const char *d, long n) { return n < 0 && d; }' |
        clang -x c - -fsanitize=fuzzer,address,undefined -o "$logs/fuzz-probe" 2>"$logs/fuzz-probe.log"; then
        report "fuzz: clang here has no libFuzzer runtime" 0 1 0 "$logs/fuzz-probe.log"
        return 1
    fi
    step "build fuzz targets" build_in "$build-fuzz" CC=clang SAN=fuzz fuzzers || return 1
    mkdir -p "$logs/fuzz"
    for name in $(test/fuzz/run.sh --list); do
        slot
        fuzz_target "$name" "$logs/fuzz/$name.log" &
    done
    wait
    for name in $(test/fuzz/run.sh --list); do
        step "fuzz $name" fuzz_verdict "$logs/fuzz/$name.log"
    done
}

# Debian and RPM packages and the static archive, and the installed files on this machine.
section_packages()
{
    local log=$logs/packages.log
    OCV_BUILD=$build test/packages.sh ci >"$log" 2>&1 </dev/null
    tail -n 1 "$log" | grep -q '^[0-9]* passed, [0-9]* failed$' || echo "FAIL: it ended early" >>"$log"
    report "packages" "$(grep -c '^ok  ' "$log")" "$(grep -c '^FAIL' "$log")" 0 "$log"
}

[ $# -gt 0 ] || set -- check
sections=()
for word; do
    case $word in
    check) sections+=(build unit asan tsan headers abi integration) ;;
    ci) sections+=(gcc clang build unit asan tsan headers abi lint integration packages fuzz) ;;
    *)
        if ! declare -F "section_$word" >/dev/null; then
            echo "usage: ${0##*/} [build|unit|asan|tsan|headers|abi|integration|packages|lint|gcc|clang|fuzz|check|ci]..." >&2
            exit 2
        fi
        sections+=("$word")
        ;;
    esac
done
for word in "${sections[@]}"; do
    started=$SECONDS
    "section_$word"
    printf '== %s: %d s\n' "$word" $((SECONDS - started))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
