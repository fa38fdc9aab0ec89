# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: the archive of programs without shared libraries, and releases.
# shellcheck disable=SC2154 # work, build: of packages.sh

tarball_rebuilt()
{
    source_copy "$work/c/longer/place"
    (cd "$work/c/longer/place" && umask 0077 && TZ=Asia/Tokyo LC_ALL=C OCV_BUILD=build contrib/static/tarball.sh)
}

tarball_same()
{
    local archive
    for archive in "$build"/tarball/*.tar.gz; do
        cmp "$archive" "$work/c/longer/place/build/tarball/${archive##*/}"
    done
}

tarball_used()
{
    local archive
    for archive in "$build"/tarball/*.tar.gz; do
        OCV_BUILD=$build OCV_TARBALL=$(realpath "$archive") OCV_STRICT=1 \
            bats --tap --print-output-on-failure test/packages/tarball.bats
    done
}

release_quick()
{
    OCV_BUILD=$build OCV_STRICT=1 bats --tap --print-output-on-failure test/packages/release.bats
}

# all of it, signed with a key that is deleted afterwards
release_made() # DIRECTORY
{
    [ -e "$work/release.key" ] || openssl genpkey -algorithm ed25519 -out "$work/release.key"
    source_copy "$1-source"
    (cd "$1-source" && contrib/release --key "$work/release.key" "$1")
}

release_whole()
{
    local what
    openssl pkey -in "$work/release.key" -pubout -out "$work/release.pub"
    contrib/release --check --public-key "$work/release.pub" "$work/release-1"
    for what in vpull_*.deb vpull-*.rpm ocivariant-*-linux-*.tar.gz variantd-*.oci.tar.gz variantd-*.tgz ocivariant-*.spdx.json; do
        compgen -G "$work/release-1/$what" || { echo "no $what"; return 1; }
    done
    # dependencies of the packages, and libraries linked into the static programs
    jq -e '[.relationships[] | select(.relationshipType == "DEPENDS_ON") | .spdxElementId] | unique | length > 10' "$work"/release-1/*.spdx.json
    jq -e '[.relationships[] | select(.relationshipType == "STATIC_LINK") | .relatedSpdxElement] | map(select(test("libcurl"))) | length == 1' \
        "$work"/release-1/*.spdx.json
}

# packages built here are another build in another place
release_same()
{
    local file made=0
    for file in "$build"/deb/*.deb "$build"/rpm/*.rpm "$build"/tarball/*.tar.gz; do
        cmp "$file" "$work/release-1/${file##*/}"
        made=$((made + 1))
    done
    [ "$made" -gt 15 ]
}
