#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Install what lies beside this file: ./install.sh [--root DIR]
#
# Everything goes to /opt/ocivariant; beside it: links in /opt/bin or /usr/local/bin, the image verifier's link for
# containerd, and /etc/ocivariant/config.yaml where there is none. What is there and not ours stays, and is told.
# A newer version may be installed over an older one. /opt/ocivariant/uninstall.sh removes all of it.
# --root: into a tree, such as that of an image; nothing is started.
set -eu
umask 022 # files are for all users

root=
case ${1:-} in
--root)
    root=${2:?"--root: which directory?"}
    root=${root%/}
    ;;
'') ;;
*)
    echo "usage: $0 [--root DIR]" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
to=$root/opt/ocivariant

if [ -e "$to" ] && [ ! -e "$to/installed" ]; then
    echo "install.sh: $to is there, and this did not make it" >&2
    exit 1
fi
mkdir -p "$root/opt"
new=$root/opt/.ocivariant.new
rm -rf "$new"
cp -R "$here/opt/ocivariant" "$new"
cp "$here/uninstall.sh" "$new"
# files of earlier versions are still ours
if [ -e "$to/installed" ]; then cat "$to/installed"; fi >"$new/installed"
[ ! -e "$to" ] || mv "$to" "$to.old"
mv "$new" "$to"
rm -rf "$to.old"

wrote()
{
    grep -qxF "$1" "$to/installed" || echo "$1" >>"$to/installed"
}

link() # TARGET PATH
{
    if [ -L "$root$2" ] && [ "$(readlink "$root$2")" = "$1" ]; then
        wrote "$2"
    elif [ -e "$root$2" ] || [ -L "$root$2" ]; then
        echo "$2 is there already, and stays"
    elif mkdir -p "$root${2%/*}" 2>/dev/null && ln -s "$1" "$root$2" 2>/dev/null; then
        wrote "$2"
    else
        echo "cannot write $2; $1 may be called by its own name"
    fi
}

bin=/usr/local/bin
[ ! -d "$root/opt/bin" ] || bin=/opt/bin
for program in "$to"/bin/*; do
    link "/opt/ocivariant/bin/${program##*/}" "$bin/${program##*/}"
done
link /opt/ocivariant/libexec/ocivariant/ocivariant-verifier /opt/containerd/image-verifier/bin/ocivariant-verifier
if [ ! -e "$root/etc/ocivariant/config.yaml" ]; then
    mkdir -p "$root/etc/ocivariant"
    cp "$to/share/ocivariant/config.yaml" "$root/etc/ocivariant/config.yaml"
    wrote /etc/ocivariant/config.yaml
fi
echo "installed in $to"
