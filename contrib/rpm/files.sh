#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The lists of files of the RPM packages, from those of the Debian packages (contrib/debian/*.install):
# which package has which file is said there alone.
#
#   contrib/rpm/files.sh ROOT LIBDIR    ROOT has all files; writes PACKAGE.files here, for %files -f
set -euo pipefail
shopt -s nullglob dotglob

here=$(dirname "$(realpath "$0")")
debian=$here/../debian
root=$1 libdir=${2#/}

# expands a line of a list to paths in ROOT; directory patterns are Debian's
expand()
{
    local pattern=$1
    # shellcheck disable=SC2016 # debhelper's words
    pattern=${pattern//'${env:UNITDIR}'/usr/lib/systemd/system} pattern=${pattern//'${env:ZSHDIR}'/usr/share/zsh/site-functions}
    pattern=${pattern/#"usr/lib/*/"/"$libdir/"}
    (cd "$root" && compgen -G "$pattern") || {
        echo "${0##*/}: nothing is $1" >&2
        return 1
    }
}

# the %files entry for a path
entry()
{
    case /$1 in
    /etc/*) echo "%config(noreplace) /$1" ;;
    */man/man*/*) echo "/$1*" ;; # rpm compresses them later
    *) echo "/$1" ;;
    esac
}

# includes our own directories, but no others
list()
{
    local path
    while read -r path; do
        if [ ! -d "$root/$path" ] || [ -L "$root/$path" ]; then
            entry "$path"
        elif [[ /$path == */ocivariant* || /$path == /opt/containerd* ]]; then
            echo "%dir /$path"
        fi
    done
}

# every path, and the directories above it
above()
{
    local path
    while read -r path; do
        while [ "$path" != . ]; do
            echo "$path"
            path=$(dirname "$path")
        done
    done
}

for install in "$debian"/*.install; do
    package=$(basename "$install" .install)
    paths=()
    while read -r pattern; do
        expanded=$(expand "$pattern")
        mapfile -t -O ${#paths[@]} paths <<<"$expanded"
    done <"$install"
    for kind in sysusers tmpfiles; do
        [ ! -e "$debian/$package.$kind" ] || paths+=("usr/lib/$kind.d/$package.conf")
    done
    [ ! -e "$debian/$package.docs" ] || paths+=("usr/share/doc/$package")
    (cd "$root" && find "${paths[@]}") | above | LC_ALL=C sort -u | list >"${package/%-dev/-devel}.files"
done
