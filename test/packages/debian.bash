# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: the Debian packages.
# shellcheck disable=SC2154 # work, build, tree: of packages.sh

deb_rebuilt()
{
    source_copy "$work/a/longer/place"
    (cd "$work/a/longer/place" && umask 0077 && TZ=Asia/Tokyo LC_ALL=C OCV_BUILD=build contrib/deb.sh)
}

deb_same()
{
    local package status=0
    for package in "$build"/deb/*.deb; do
        cmp "$package" "$work/a/longer/place/build/deb/${package##*/}" || status=1
    done
    return $status
}

deb_lint()
{
    local found
    found=$(lintian --allow-root --fail-on error,warning "$build"/deb/*_0*.deb 2>&1) || true
    echo "$found"
    ! grep -E '^[EW]:' <<<"$found"
}

# the commands in a section of docs/quickstart.md
page_blocks()
{
    awk -v section="## $1" '/^## / { inside = $0 == section } inside && /^```sh$/ { block = 1; next }
        /^```$/ { block = 0 } block' docs/quickstart.md
}

deb_installed()
{
    cp "$build"/deb/*.deb "$tree/srv"
    rm -f "$tree"/srv/*-dbgsym_*
    in_tree apt-get update -q
    # "Install" of docs/quickstart.md, unchanged
    page_blocks "Install" >"$tree/srv/install.sh"
    grep -q apt-get "$tree/srv/install.sh"
    in_tree sh -eu -c 'cd /srv && . ./install.sh'
}

# a user's first steps, with only the packages' files
used()
{
    in_tree variantctl probe --format json | jq -e '.schema == "dev.ocivariant.profile/v1"'
    in_tree vpull --version | grep -F "$(cat VERSION)"
    in_tree variantd --check
    in_tree sh -c 'sed -n "s/^#\([a-z_]*:\)/\1/p" /etc/ocivariant/config.yaml | grep -c .' | grep -v '^0$'
    in_tree variantctl lint --help | grep Usage
    in_tree variantctl derive --format json /usr/bin/dash | jq -e . # content-scan
    in_tree /opt/containerd/image-verifier/bin/ocivariant-verifier -name x -digest sha256:0 -stdin-media-type x </dev/null || [ $? -lt 126 ]
    in_tree getent passwd ocivariant
}

# a configuration of the user's stays
# on this machine, whose libraries they were built with: nothing is asked of an archive
host_installed()
{
    cp "$build"/deb/*.deb "$tree/srv"
    rm -f "$tree"/srv/*-dbgsym_*
    in_tree sh -c 'dpkg -i /srv/*.deb'
}

host_removed()
{
    umount "$tree/var/lib/ocivariant-snapshotter"
    # shellcheck disable=SC2086 # words
    in_tree dpkg --purge $deb_names
    [ ! -e "$tree/usr/bin/variantctl" ] && [ ! -e "$tree/etc/ocivariant" ] && [ ! -e "$tree/var/lib/ocivariant" ]
}

deb_upgraded()
{
    echo 'tag_ttl: 5s' >"$tree/etc/ocivariant/config.yaml"
    in_tree sh -c 'apt-get install -y --reinstall --no-install-recommends -o Dpkg::Options::=--force-confold /srv/*.deb'
    grep -qx 'tag_ttl: 5s' "$tree/etc/ocivariant/config.yaml"
}

deb_names="variantd vpull variantctl ocivariant-containerd ocivariant-oci-hook libocivariant1 libocivariant-dev libocivariant-bin ocivariant-data"

deb_removed()
{
    # shellcheck disable=SC2086 # words
    in_tree apt-get remove -y $deb_names
    [ -e "$tree/etc/ocivariant/config.yaml" ]
}

# left: our files that still exist
left()
{
    find "$tree" -xdev \( -path "$tree/srv" -o -path "$tree/tmp" -o -path "$tree/proc" -o -path "$tree/var/lib/dpkg/info" -o -path "$tree/src" \) \
        -prune -o -iname '*ocivariant*' -print -o -name '*variantd*' -print -o -name '*vpull*' -print
}

deb_purged()
{
    # shellcheck disable=SC2086
    in_tree dpkg --purge $deb_names
    # Debian's policy keeps the user; nothing else is left
    left | tee "$work/left"
    [ ! -s "$work/left" ]
}
