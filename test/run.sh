#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Run the tests and count every single check.
#
#   test/run.sh [SECTION...]
#
#   check        build unit smoke: what `make check` runs (default)
#   rest         what check leaves out: hardened clang thorough asan tsan headers abi lint integration
#                packages fuzz
#   all          check, then rest
#   SECTION      one of those, or "bats" (every integration file)
#
# smoke is one integration file for each verb, daemon and engine, the shortest that proves its main line, without its
# tests that are tagged slow; integration is those tests and all other files. Unit tests that loop over many inputs take every tenth, except in the sections of rest
# (OCV_THOROUGH=1).
#
# Logs stay in $OCV_BUILD/log. What fails is shown, then the ten files that took longest; the last line is "N
# passed, N failed, N skipped"; the exit status is 1 when something failed.
# TESTS: only unit test files and .bats files whose name contains it. OCV_STRICT=1 or CI=true: a skipped
# packaged daemon is a failure. FUZZ_SECONDS: time for each fuzz target. OCV_TOTAL=FILE: the counts are added to
# those in FILE, which an earlier run wrote.
# Engines of other releases: OCV_CONTAINERD2, a directory with a containerd 2.x (test/integration/cri.bash);
# OCV_DOCKER28, one with a Docker 28 (test/integration/docker.bash); OCV_KUBEBOX, a program that is Kubernetes
# (test/integration/cluster.bash); OCV_HELM; OCV_BACKENDAI_PYTHON, an interpreter with Backend.AI
# (test/integration/cluster/backendai.bats); OCV_SLURM_ROOT, a tree with the Slurm of another release
# (test/integration/slurm.bash); OCV_SNAPSHOTTER_SUITE, containerd's tests of snapshotters; OCV_VARIANTLIB, OCV_UV and OCV_CRANE,
# judges of indexes (test/integration/index/index_judges.bats); OCV_DISTRIBUTION3, a registry (test/integration/index/index_sparse.bats).
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
    case $name in OCV_FIXTURES | OCV_STRICT | OCV_KEEP | OCV_THOROUGH | OCV_TOTAL | OCV_CONTAINERD2 | OCV_DOCKER28 | OCV_KUBEBOX | OCV_HELM | OCV_BACKENDAI_PYTHON | OCV_SLURM_ROOT | OCV_SNAPSHOTTER_SUITE | OCV_VARIANTLIB | OCV_UV | OCV_CRANE | OCV_COSIGN | OCV_DISTRIBUTION3) ;; *) unset "$name" ;; esac
done
logs=$build/log
mkdir -p "$logs"
times=$logs/times # SECONDS NAME of each file
: >"$times"
passed=0
failed=0
skipped=0
# one for each of: vpull, its destinations, variantctl's verbs, daemons, hooks, clusters, the pages' commands; those that
# take longest come first
smoke=' slurm_devices vpull_engines variantd_podman vpull_containerd vpull_oci variantd_docker snapshotter_verdict cri_proxy
    variantd_containerd quickstart local_images setup match lock variantd_cri verify_containers index_tags hooks backendai
    choose variantd_private export_nfd export_backendai derive_attach node_setup verifier index_slips tags_config
    names variantctl variantd_layout harness coverage classes cli docs claim given_devices probe index_create index_changes
    index_coverage index_manners setup_engines slim '

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

# timed NAME LOG COMMAND...: in the background of others; its seconds are kept for the end
timed()
{
    local name=$1 log=$2 started=${EPOCHREALTIME/[.,]/}
    shift 2
    "$@" >"$log" 2>&1 </dev/null
    echo "exit status $?" >>"$log"
    echo "$(((${EPOCHREALTIME/[.,]/} - started) / 100000)) $name" >>"$times"
}

# A program of check tests: "NN%: Checks: N, Failures: F, Errors: E", "skipped: ..." lines.
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

# Files of unit tests of a build directory, several at the same time; some of them wait. The launcher may wrap
# the program.
unit_programs() # TITLE DIRECTORY SOURCE-LIST [LAUNCHER...]
{
    local title=$1 directory=$2 sources=$3 source name
    shift 3
    mkdir -p "$logs/$title"
    for source in $sources; do
        name=$(basename "$source" .c)
        [[ $name == *${TESTS:-}* ]] || continue
        slot 2
        timed "$title $name" "$logs/$title/$name.log" \
            timeout 300 "$@" "$directory/$(dirname "$source")/run" "$name" &
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
    step "build" build_in "$build" all tests tools
}

section_unit()
{
    step "build unit tests" build_in "$build" tests || return 1
    unit_programs unit "$build" "$(echo test/unit/*/test_*.c)"
}

# all inputs of the files that take a tenth of them in section unit
section_thorough()
{
    step "build unit tests" build_in "$build" tests || return 1
    OCV_THOROUGH=1 unit_programs thorough "$build" "$(grep -l 'tenth()' test/unit/*/test_*.c)"
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
    local sources
    sources=$(grep -lE 'pthread_create|ocv_blob_writer_|ocv_registry_|server_new' test/unit/*/test_*.c)
    step "build with TSan" build_in "$build-tsan" SAN=tsan UNIT_SRC="${sources//$'\n'/ }" tools tests || return 1
    TSAN_OPTIONS=halt_on_error=1 \
        unit_programs tsan "$build-tsan" "$sources" setarch "$(uname -m)" -R
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

# bats_files TITLE TAGS FILE...: TAGS as bats's --filter-tags, or empty
bats_files()
{
    local title=$1 tags=$2 file name chosen=()
    shift 2
    step "build for integration tests" build_in "$build" all tools || return 1
    if ! command -v bats >/dev/null; then
        report "$title (bats is not installed)" 0 1 0
        return 1
    fi
    # a log has the name of its file
    name=$(basename -a test/integration/*/*.bats | sort | uniq -d)
    if [ -n "$name" ]; then
        report "$title: two files named $name" 0 1 0
        return 1
    fi
    mkdir -p "$logs/$title"
    for file; do
        name=$(basename "$file" .bats)
        [[ $name == *${TESTS:-}* ]] || continue
        chosen+=("$name")
        slot 2 # they often wait for daemons
        OCV_BUILD=$top/$build timed "$title $name" "$logs/$title/$name.log" \
            timeout 900 bats --tap --timing --print-output-on-failure ${tags:+--filter-tags "$tags"} "$file" &
    done
    wait
    for name in "${chosen[@]}"; do
        bats_report "$title $name" "$logs/$title/$name.log"
    done
}

# A name that no file has is a fault of the list.
section_smoke()
{
    local name files=()
    for name in $smoke; do
        files+=(test/integration/*/"$name".bats)
        [ -e "${files[-1]}" ] || report "smoke: no file $name.bats" 0 1 0
    done
    bats_files smoke '!slow' "${files[@]}"
}

section_integration()
{
    local file others=() slow=()
    for file in test/integration/*/*.bats; do
        if [[ $smoke != *[[:space:]]$(basename "$file" .bats)[[:space:]]* ]]; then
            others+=("$file")
        elif grep -q '^# bats test_tags=slow$' "$file"; then
            slow+=("$file")
        fi
    done
    bats_files slow slow "${slow[@]}"
    bats_files integration '' "${others[@]}"
}

section_bats()
{
    bats_files integration '' test/integration/*/*.bats
}

section_lint()
{
    local name
    step "generate headers" build_in "$build" print-cflags
    for name in $(test/lint.sh --list); do
        OCV_BUILD=$build step "lint $name" test/lint.sh "$name"
    done
}

section_hardened()
{
    step "hardened by ${CC:-cc}" test/hardened.sh "$build"
}

section_clang()
{
    step "build with clang" build_in "$build-clang" CC=clang all tests tools &&
        step "hardened by clang" test/hardened.sh "$build-clang"
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
        clang -x c - -fsanitize=fuzzer,address,undefined -o /dev/null 2>"$logs/fuzz-probe.log"; then
        report "fuzz: clang here has no libFuzzer runtime" 0 1 0 "$logs/fuzz-probe.log"
        return 1
    fi
    step "build fuzz targets" build_in "$build-fuzz" CC=clang SAN=fuzz fuzzers || return 1
    mkdir -p "$logs/fuzz"
    for name in $(test/fuzz/run.sh --list); do
        slot
        FUZZ_BUILD=$build-fuzz timed "fuzz $name" "$logs/fuzz/$name.log" \
            test/fuzz/run.sh "$name" "${FUZZ_SECONDS:-10}" &
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
rest=(hardened clang thorough asan tsan headers abi lint integration packages fuzz)
sections=()
for word; do
    case $word in
    check) sections+=(build unit smoke) ;;
    rest) sections+=("${rest[@]}") ;;
    all) sections+=(build unit smoke "${rest[@]}") ;;
    *)
        if ! declare -F "section_$word" >/dev/null; then
            echo "usage: ${0##*/} [check|rest|all|build|unit|smoke|${rest[*]}|bats]..." >&2
            exit 2
        fi
        sections+=("$word")
        ;;
    esac
done
if [ "${sections[*]}" = "build unit smoke" ]; then
    echo "check: a build, then $(echo test/unit/*/test_*.c | wc -w) files of unit tests and $(wc -w <<<"$smoke") of" \
        "$(echo test/integration/*/*.bats | wc -w) of integration tests: 4 to 8 minutes on two processors"
fi
for word in "${sections[@]}"; do
    started=$SECONDS
    [[ " ${rest[*]} " != *" $word "* ]] || export OCV_THOROUGH=1
    "section_$word"
    printf '== %s: %d s\n' "$word" $((SECONDS - started))
done
if [ -s "$times" ]; then
    echo "the ten slowest files:"
    sort -rn "$times" | head -n 10 | awk '{ printf "%7.1f s  %s %s\n", $1 / 10, $2, $3 }'
fi
if [ -n "${OCV_TOTAL:-}" ]; then
    if [ -s "$OCV_TOTAL" ]; then
        read -r before_passed before_failed before_skipped <"$OCV_TOTAL"
        passed=$((passed + before_passed)) failed=$((failed + before_failed)) skipped=$((skipped + before_skipped))
    fi
    echo "$passed $failed $skipped" >"$OCV_TOTAL"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
