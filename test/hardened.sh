#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Are the programs and libraries below DIRECTORY built as hard as they are meant to be?
#
#   test/hardened.sh DIRECTORY     an installed tree, or a build directory
#
# Prints each file that is not, and why; says how many files it looked at.
set -u

count=0
bad=0
complain() # FILE WHAT
{
    echo "$1: $2"
    bad=$((bad + 1))
}

# A program or shared library, seen by what its loader sees.
check_linked() # FILE
{
    local headers dynamic symbols
    headers=$(readelf -hlW "$1")
    dynamic=$(readelf -dW "$1")
    symbols=$(nm "$1" 2>/dev/null; nm -D "$1" 2>/dev/null)
    grep -q 'Type: *DYN' <<<"$headers" || complain "$1" "not position-independent"
    grep -q GNU_RELRO <<<"$headers" || complain "$1" "no RELRO"
    grep -qE 'FLAGS.*(BIND_NOW|NOW)' <<<"$dynamic" || complain "$1" "RELRO is partial: symbols are bound late"
    ! grep -q TEXTREL <<<"$dynamic" || complain "$1" "relocations in code"
    grep -q 'GNU_STACK.* RW ' <<<"$headers" || complain "$1" "no stack without code"
    ! grep -E 'LOAD.* (RWE|R?WE) ' <<<"$headers" || complain "$1" "memory that is written and run"
    grep -q __stack_chk_fail <<<"$symbols" || complain "$1" "no stack protector"
    grep -qE ' __[a-z]+_chk(@|$)' <<<"$symbols" || complain "$1" "no _FORTIFY_SOURCE"
}

# Objects, before they meet a C library that may be built otherwise.
check_archive() # FILE
{
    local members marked
    [ "$(uname -m)" = x86_64 ] || return 0
    members=$(ar t "$1" | wc -l)
    marked=$(readelf -nW "$1" | grep -c 'x86 feature:.*IBT, SHSTK')
    [ "$members" = "$marked" ] || complain "$1" "$marked of $members objects have control-flow protection"
}

while IFS= read -r -d '' file; do
    case $file in
    */test/*) continue ;;
    *.a) check_archive "$file" ;;
    *) readelf -h "$file" 2>/dev/null | grep -qE 'Type: *(DYN|EXEC)' || continue
        check_linked "$file" ;;
    esac
    count=$((count + 1))
done < <(find "${1:?a directory}" -type f \( -perm -100 -o -name '*.so.*' -o -name '*.a' \) -print0)
echo "$count files, $bad complaints"
[ "$count" -gt 5 ] && [ "$bad" = 0 ]
