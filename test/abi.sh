#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The interface of the libraries, as contrib/abi describes it: public names, types and their layout.
#
#   test/abi.sh            compare what is built with the descriptions; exit 1 when they differ
#   test/abi.sh --write    make the descriptions of what is built (`make abi`)
#
# OCV_BUILD: a directory with the shared libraries, built without sanitizers.
set -u

cd "$(dirname "$0")/.." || exit 2
build=${OCV_BUILD:-build}

# What public headers do not say is left out: the insides of opaque types, libraries that are linked, the
# machine's architecture, and where sources lie.
describe() # NAME DIRECTORY
{
    abidw --headers-dir lib/include --drop-private-types --exported-interfaces-only --no-corpus-path \
        --no-comp-dir-path --no-show-locs --no-architecture --no-elf-needed --no-parameter-names \
        --type-id-style hash --out-file "$2/$1.abi" "$build/$1.so"
}

new=contrib/abi
[ "${1:-}" = --write ] || new=$(mktemp -d) || exit 2
status=0
for name in libocivariant libocivariant-registry libocivariant-probe; do
    describe "$name" "$new" || exit 2
    [ "$new" != contrib/abi ] || continue
    # compare descriptions, not the library: without locations abidiff treats a description's types
    # as private
    if ! abidiff --harmless "contrib/abi/$name.abi" "$new/$name.abi"; then
        echo "$name: not as contrib/abi describes it; see \"ABI\" in CONTRIBUTING.md"
        status=1
    fi
done
[ "$new" = contrib/abi ] || rm -rf "$new"
exit $status
