#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Lint: what a machine can say about how the code reads.
#
#   test/lint.sh [NAME...]     --list names them; without a name: all
#
# Only files that git knows (or would add) are looked at. OCV_BUILD: a directory with generated headers.
# shellcheck disable=SC2317 # functions are called by their names
set -u

cd "$(dirname "$0")/.." || exit 2
build=${OCV_BUILD:-build}
jobs=$(nproc)
lines_max=600 # of a source file
files_max=25  # of a directory's sources

files() # PATTERN...
{
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
        [ ! -e "$file" ] || printf '%s\n' "$file"
    done
}

# Fails with a message if there are lines on standard input.
none()
{
    local found
    found=$(cat)
    [ -n "$found" ] || return 0
    printf '%s\n' "$1" "$found"
    return 1
}

# Source lines prefixed with their place, without comments; strings are kept or emptied.
code() # keep|empty FILE...
{
    awk -v strings="$1" '
    FNR == 1 { comment = 0 }
    {
        out = ""
        n = length($0)
        for (i = 1; i <= n; i++) {
            c = substr($0, i, 1)
            two = substr($0, i, 2)
            if (comment) {
                if (two == "*/") { comment = 0; i++ }
            } else if (two == "/*") {
                comment = 1; i++
            } else if (two == "//") {
                break
            } else if (c == "\"" || c == "\047") {
                literal = c
                for (i++; i <= n && substr($0, i, 1) != c; i++) {
                    literal = literal substr($0, i, 1)
                    if (substr($0, i, 1) == "\\") literal = literal substr($0, ++i, 1)
                }
                out = out (strings == "keep" ? literal c : c c)
            } else {
                out = out c
            }
        }
        if (out != "") print FILENAME ":" FNR ": " out
    }' "${@:2}"
}

lint_format()
{
    files '*.c' '*.h' '*.cc' | xargs clang-format --dry-run -Werror
}

lint_tidy()
{
    local flags
    flags=$(make -s BUILD="$build" print-cflags) || return 1
    # shellcheck disable=SC2016 # expanded by the inner shell
    files 'lib/*.c' 'cmd/*.c' 'plugins/*.c' | grep -v '^lib/base/error.c$' | xargs -P "$jobs" -n 4 sh -c '
        flags=$1
        shift
        eval "clang-tidy --quiet \"\$@\" -- $flags -include test/lint_model.h" 2>&1
    ' tidy "$flags" >"$build/log/tidy.out"
    local status=$?
    grep -vE '^[0-9]+ warnings? generated\.|^Suppressed |^Use -header-filter' "$build/log/tidy.out"
    return "$status"
}

lint_cppcheck()
{
    # memleak: it does not know the cleanup attribute (ASan finds leaks); uninitvar: takes the address
    # of a variable for a use (the compilers and clang-tidy look for the real ones)
    files 'lib/*.c' 'cmd/*.c' 'plugins/*.c' | cppcheck --quiet --file-list=- --std=c11 --error-exitcode=1 -j "$jobs" \
        --enable=warning,portability --inline-suppr --suppress=missingIncludeSystem \
        --suppress=memleak --suppress=uninitvar -D_GNU_SOURCE -D__GNUC__=12 -DPROTOBUF_C_VERSION_NUMBER=1004001 -DOCV_VERSION='"0"' -DOCV_ABI='"0"' \
        -DOCV_DEFAULT_DATADIR='"/"' -DOCV_DEFAULT_LIBEXECDIR='"/"' -I. -Ilib/include -I"$build"
}

lint_shellcheck()
{
    local status=0
    files '*.sh' '*.bash' .ci/run contrib/release | xargs shellcheck -x -P SCRIPTDIR || status=1
    # `run` sets variables that shellcheck cannot see set; every test is a subshell, on purpose
    files '*.bats' | xargs shellcheck -x -P SCRIPTDIR -e SC2154,SC2030,SC2031 || status=1
    return "$status"
}

# Every file states its licence in its first lines, and it is the licence of its directory.
lint_spdx()
{
    local file want
    files | while read -r file; do
        case $file in
        COPYING* | VERSION | .gitignore | *.sum | contrib/abi/*.abi | contrib/debian/* | *.md | *.json | *.json.in | *.jsonl | test/data/*) continue ;;
        lib/probe/* | lib/include/ocivariant-probe.h | lib/include/ocivariant/probe.h) want=GPL-3.0-or-later ;;
        lib/* | schema/*) want=LGPL-3.0-or-later ;;
        *) want=GPL-3.0-or-later ;;
        esac
        # a more permissive licence than the directory's is accepted
        head -n 5 "$file" | grep -qE "SPDX-License-Identifier: ($want|LGPL-3.0-or-later)" || echo "$file: $want"
    done | none "no SPDX line, or another licence than its directory's:"
}

# Words of the vocabulary belong in providers, data and generated code, not in the logic.
lint_vocabulary()
{
    local words
    words=$(awk '/^  - namespace: / { name = $3 } /^    kind: / && $2 != "cpu" { print name }' \
        schema/vocabulary.yaml | paste -sd '|')
    [ -n "$words" ] || { echo "no namespaces in schema/vocabulary.yaml"; return 1; }
    mapfile -t sources < <(files 'lib/*.c' 'lib/*.h' 'cmd/*.c' 'cmd/*.h' | grep -v '^lib/probe/providers/')
    code keep "${sources[@]}" | grep -E "\"($words)( *::|[\"=.:])" |
        none "a namespace as a string outside lib/probe/providers:"
}

lint_banned()
{
    local sources status=0
    mapfile -t sources < <(files '*.c' '*.h' '*.cc')
    # a test may run a shell
    code empty "${sources[@]}" |
        grep -E '(^|[^A-Za-z0-9_>.])(strcpy|strcat|stpcpy|sprintf|vsprintf|strtok|atoi|atol|atoll|atof|gets|system|popen|tmpnam|tempnam|mktemp|alloca)[[:space:]]*\(' |
        grep -vE '^test/[^ ]* .*(system|popen)[[:space:]]*\(' |
        none "banned functions:" || status=1
    # A tree takes up to 75 times its text. lib/base/format/json.c counts the values first, and
    # json_plain.c reads what it has counted: whoever needs JSON asks them.
    code empty "${sources[@]}" |
        grep -E '(^|[^A-Za-z0-9_>.])json_load(s|b|f|fd|_file|_callback)[[:space:]]*\(' |
        grep -vE '^(test/|lib/base/format/json\.c[ :])' |
        none "JSON that becomes a tree before its values are counted (ocv_json_load_counted, ocv_json_load_any):" || status=1
    return "$status"
}

# lib/ never prints, ends the process or changes signals (a forked child may _exit).
lint_quiet_library()
{
    local sources
    mapfile -t sources < <(files 'lib/*.c' 'lib/*.h')
    code empty "${sources[@]}" |
        grep -E '(^|[^A-Za-z0-9_>.])((v?printf|puts|putchar|perror|abort|exit|assert|signal|sigaction)[[:space:]]*\(|std(out|err)[^A-Za-z0-9_])' |
        grep -v 'sigaction([a-z]*, NULL, ' | # only queries the handler
        none "printing, ending the process or signal handling in lib/:"
}

# Arrows point one way: cmd -> registry, store, probe -> core; registry and probe do not meet.
lint_includes()
{
    python3 test/arrows.py | none "an include against the arrows:"
}

# What takes bytes apart is fed by a fuzz target, or test/fuzz/PARSERS says why not.
lint_fuzzed()
{
    local list name target reason readers
    readers='\b(ocv_json_(load|load_counted|load_document|load_any|walk)|ocv_yaml_read|grpc_field_next|archive_read_next_header|inflate)\('
    {
        while read -r name; do
            grep -q "^$name " test/fuzz/PARSERS || echo "$name: not in test/fuzz/PARSERS"
        done < <(files 'lib/*.h' 'cmd/*.h' 'plugins/*.h' | xargs grep -hoE '\b[a-z0-9_]+_(parse|decode|read)\(' | tr -d '(' | sort -u)
        while read -r name; do
            grep -q "^$name " test/fuzz/FILES || echo "$name: not in test/fuzz/FILES"
        done < <(files 'lib/*.c' 'cmd/*.c' 'plugins/*.c' | xargs grep -lE "$readers")
        for list in test/fuzz/PARSERS test/fuzz/FILES; do
            while read -r name target reason; do
                case $name in
                '#'*) continue ;;
                */*) grep -qE "$readers" "$name" || echo "$list: $name reads nothing" ;;
                *) grep -rqE "\b$name\(" lib cmd plugins --include='*.[ch]' || echo "$list: $name is gone" ;;
                esac
                if [ "$target" != - ]; then
                    compgen -G "test/fuzz/*/fuzz_$target.c" >/dev/null || echo "$list: $name: no target $target"
                elif [ -z "$reason" ]; then
                    echo "$list: $name: no reason"
                fi
            done <"$list"
        done
    } | none "readers of outside bytes without a fuzz target:"
}

# A file that needs a table of contents is two files, and a directory that does is two directories.
# plugins/providers and plugins/tags.d are data, one file for each part, and have no sources.
lint_sizes()
{
    {
        files '*.c' '*.h' '*.cc' '*.sh' '*.bash' '*.bats' '*.py' '*.awk' '*.mk' Makefile |
            xargs wc -l | awk -v max="$lines_max" '$2 != "total" && $1 > max { print $2 ": " $1 " lines, at most " max }'
        files 'lib/*.[ch]' 'cmd/*.[ch]' 'plugins/*.[ch]' 'test/*.'{c,h,cc,sh,bash,bats,py} | grep -v '^test/data/' | sed 's,/[^/]*$,,' | sort | uniq -c |
            awk -v max="$files_max" '$1 > max { print $2 ": " $1 " files, at most " max }'
        # tests outside of an area, which would never run
        files ':(glob)test/unit/test_*' ':(glob)test/fuzz/fuzz_*' ':(glob)test/integration/*.bats' | sed 's/$/: outside an area/'
    } | none "too long, or too many in one directory:"
}

all=(format spdx vocabulary banned quiet_library includes sizes fuzzed shellcheck cppcheck tidy)
if [ "${1:-}" = --list ]; then
    printf '%s\n' "${all[@]}"
    exit 0
fi
mkdir -p "$build/log"
[ $# -gt 0 ] || set -- "${all[@]}"
status=0
for name; do
    declare -F "lint_$name" >/dev/null || { echo "no lint named $name" >&2; exit 2; }
    "lint_$name" || status=1
done
exit $status
