#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Link a program without any shared library: contrib/static/link.sh OUT LINKER-COMMAND...
#
# Distributions build libcurl.a with protocols whose libraries are not to be had as archives (Kerberos and what
# loads plug-ins). vpull speaks HTTP and HTTPS alone, with names in ASCII: what is never called becomes a function that returns 0.
# A function of anything else that is missing is an error.
set -euo pipefail

out=$1
shift
never='(gss|ldap|ber|idn2|libssh2|psl)_[a-z0-9_]*|GSS_C_[A-Z_]*|(RTMP_|Brotli)[A-Za-z0-9]*'
if ! LC_ALL=C "$@" -o "$out" -Wl,--no-demangle >"$out.log" 2>&1; then
    sed -n "s/.*undefined reference to \`\\([^']*\\)'.*/\\1/p" "$out.log" | LC_ALL=C sort -u >"$out.missing"
    if [ ! -s "$out.missing" ]; then
        cat "$out.log" >&2
        exit 1
    elif grep -vxE "$never" "$out.missing" >&2; then
        echo "${0##*/}: $out needs these, and has them not; $out.log says where" >&2
        exit 1
    fi
    sed 's/.*/long &(void); long &(void) { return 0; }/' "$out.missing" >"$out.never.c"
    "${1}" -O2 -fPIC -fno-builtin -c -o "$out.never.o" "$out.never.c"
    LC_ALL=C "$@" -o "$out" "$out.never.o" 2>"$out.log" || { cat "$out.log" >&2; exit 1; }
fi
# the warnings are about functions that a constructor replaces (absent.c)
if grep -v "statically linked applications\|in function" "$out.log"; then exit 1; fi
rm -f "$out".{log,missing,never.c,never.o}
