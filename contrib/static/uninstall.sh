#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Remove what install.sh wrote: ./uninstall.sh [--root DIR]. A link that points elsewhere by now and a configuration
# that was changed stay, as does what the programs have recorded (/var/lib/ocivariant). Engines that were set up
# are put back before: variantctl setup --uninstall.
set -eu

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
to=$root/opt/ocivariant
[ -e "$to/installed" ] || { echo "uninstall.sh: nothing is installed in $to" >&2; exit 1; }

while read -r path; do
    case $path in
    /etc/*)
        if cmp -s "$root$path" "$to/share/ocivariant/config.yaml"; then
            rm "$root$path"
        elif [ -e "$root$path" ]; then
            echo "$path was changed, and stays"
        fi
        ;;
    *)
        case $(readlink "$root$path" || true) in
        /opt/ocivariant/*) rm "$root$path" ;;
        '') ;;
        *) echo "$path points elsewhere, and stays" ;;
        esac
        ;;
    esac
    # remove the directories that were created for it; others are not empty
    case $path in
    /opt/containerd/*) rmdir -p "$root${path%/*}" 2>/dev/null || true ;;
    /etc/ocivariant/*) rmdir "$root/etc/ocivariant" 2>/dev/null || true ;;
    esac
done <"$to/installed"
rm -rf "$to"
echo "removed $to"
