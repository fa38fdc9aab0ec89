#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make image: the container image of variantd, of the Debian packages in $OCV_BUILD/deb (make deb), as an
# OCI layout in $OCV_BUILD/image. An SPDX document that lists what is in it refers to it there.
#
# The image has the programs of a node (variantd, variantctl, ocivariant-node-setup), the shared
# libraries that they load, the authorities that Mozilla trusts and the licences of all of it: no shell and
# no package manager. The libraries are those of the machine that builds, whose packages are named in
# /var/lib/dpkg/status.d, where scanners look. variantd runs as user 65532; CAP_NET_BIND_SERVICE is permitted
# to its file and not in force, so that it starts without, too.
#
# Two runs give the same digest: the date is that of debian/changelog, or SOURCE_DATE_EPOCH. Root, as file
# capabilities are (not in a user namespace, which would write its own number into them).
set -euo pipefail

cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
umask 022
build=${OCV_BUILD:-build}
out=$build/image
version=$(cat VERSION)
tag=$version
user=65532
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(dpkg-parsechangelog -l contrib/debian/changelog -S Timestamp)}
export SOURCE_DATE_EPOCH
packages="variantd variantctl libocivariant1 libocivariant-bin ocivariant-data"
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

fail() { echo "image.sh: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "root alone can give files capabilities"

# ---- our own packages ------------------------------------------------------------------------------

unpack()
{
    local package file
    for package in $packages; do
        file=$(echo "$build/deb/${package}_$version"_*.deb)
        [ -e "$file" ] || fail "no $package in $build/deb: make deb"
        dpkg-deb -x "$file" "$root"
        dpkg-deb -f "$file" >"$root/var/lib/dpkg/status.d/$package"
    done
    # not needed on a node; content-scan would add libarchive's libraries, which are larger than the
    # rest
    rm "$root/usr/libexec/ocivariant/content-scan"
    rm -rf "$root"/usr/share/{man,bash-completion,lintian} "$root"/{usr/,}lib/{systemd,sysusers.d,tmpfiles.d}
    find "$root/usr/share/doc" -type f ! -name copyright -delete
    find "$root" -mindepth 1 -type d -empty -delete
}

# ---- libraries --------------------------------------------------------------------------------

# the path that dpkg knows for a library found as /lib/..., where /lib is a link
owner_of()
{
    local file
    for file in "$1" "/usr$1" "${1#/usr}"; do
        dpkg-query -S "$file" 2>/dev/null && return 0
    done | sed -n '1s/:.*//p' | grep .
}

take_package() # NAME
{
    # shellcheck disable=SC2016 # dpkg-query expands it
    local record='Package: ${Package}\nStatus: install ok installed\nArchitecture: ${Architecture}\nVersion: ${Version}\n'
    # shellcheck disable=SC2016
    record+='Source: ${source:Package} (${source:Version})\nMaintainer: ${Maintainer}\nDescription: ${binary:Summary}\n'
    [ ! -e "$root/var/lib/dpkg/status.d/$1" ] || return 0
    dpkg-query -W -f "$record" "$1:$architecture" >"$root/var/lib/dpkg/status.d/$1" 2>/dev/null ||
        dpkg-query -W -f "$record" "$1" >"$root/var/lib/dpkg/status.d/$1"
    install -D -m 644 "/usr/share/doc/$1/copyright" "$root/usr/share/doc/$1/copyright"
}

# every library that the loader finds for our programs and libraries, and libpci, which is opened by
# name
libraries()
{
    local own
    own=$(echo "$root"/usr/lib/*-linux-gnu*)
    {
        find "$root/usr/bin" "$root/usr/libexec" "$own" -type f -exec env LD_LIBRARY_PATH="$own" ldd {} \; 2>/dev/null
        cc -shared -o "$work/pci.so" -x c /dev/null -Wl,--no-as-needed -lpci && ldd "$work/pci.so"
    } | sed -nE 's|^\t(.* => )?(/[^ ]*).*|\2|p' | grep -v "^$root" | sort -u
}

take_libraries()
{
    local file real package target
    target=$(basename "$(echo "$root"/usr/lib/*-linux-gnu*)")
    libraries >"$work/libraries"
    grep -q libpci "$work/libraries" || fail "no libpci"
    while read -r file; do
        real=$(readlink -f "$file")
        package=$(owner_of "$file" || owner_of "$real") || fail "$file belongs to no package"
        take_package "${package%%:*}"
        case $file in
        */ld-linux* | */ld64*) install -D -m 755 "$real" "$root/usr$(dirname "${file#/usr}")/$(basename "$file")" ;;
        *) install -D -m 644 "$real" "$root/usr/lib/$target/$(basename "$file")" ;;
        esac
    done <"$work/libraries"
    ln -s usr/lib "$root/lib"
    [ ! -d "$root/usr/lib64" ] || ln -s usr/lib64 "$root/lib64"
}

# only the package's own files, not those that this machine trusts in addition
take_authorities()
{
    take_package ca-certificates
    install -d "$root/etc/ssl/certs"
    find /usr/share/ca-certificates/mozilla -name '*.crt' | sort | while read -r file; do
        awk 1 "$file" # ensures a final newline
    done >"$root/etc/ssl/certs/ca-certificates.crt"
    [ -s "$root/etc/ssl/certs/ca-certificates.crt" ] || fail "ca-certificates is not installed"
}

# ---- other files ----------------------------------------------------------------------------

furnish()
{
    install -d -m 1777 "$root/tmp"
    install -d "$root"/{proc,sys,dev,run,etc/ocivariant,usr/libexec/ocivariant/providers}
    ln -s ../run "$root/var/run"
    install -d -m 755 -o $user -g $user "$root/var/lib/ocivariant" "$root/run/ocivariant"
    printf 'root:x:0:0:root:/:/nonexistent\nocivariant:x:%s:%s:variants of container images:/var/lib/ocivariant:/nonexistent\n' \
        $user $user >"$root/etc/passwd"
    printf 'root:x:0:\nocivariant:x:%s:\n' $user >"$root/etc/group"
    echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
    cp "$(readlink -f /etc/os-release)" "$root/etc/os-release"
    setcap cap_net_bind_service=p "$root/usr/bin/variantd"
    find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# ---- the image -------------------------------------------------------------------------------------

# With a store of its own, so that the machine's is not touched.
make_image()
{
    local container mounted
    cat >"$work/storage.conf" <<TOML
[storage]
driver = "vfs"
graphroot = "$work/storage"
runroot = "$work/run"
TOML
    export CONTAINERS_STORAGE_CONF=$work/storage.conf BUILDAH_ISOLATION=chroot
    echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$work/policy.json"
    container=$(buildah from --signature-policy "$work/policy.json" scratch)
    mounted=$(buildah mount "$container") # buildah copy would make root the owner of everything
    cp -a "$root/." "$mounted/"
    buildah umount "$container" >/dev/null
    buildah config --user $user:$user --entrypoint '["/usr/bin/variantd"]' --cmd '' \
        --env PATH=/usr/bin:/usr/libexec/ocivariant --env STATE_DIRECTORY=/var/lib/ocivariant --workingdir / \
        --label "org.opencontainers.image.title=variantd" \
        --label "org.opencontainers.image.description=Container engines get the image variants that fit this node" \
        --label "org.opencontainers.image.version=$version" \
        --label "org.opencontainers.image.licenses=GPL-3.0-or-later" \
        "$container"
    rm -rf "$out"
    buildah commit --quiet --signature-policy "$work/policy.json" --format oci --timestamp "$SOURCE_DATE_EPOCH" \
        --identity-label=false --disable-compression=false "$container" "oci:$out:$tag" >/dev/null
    buildah rm "$container" >/dev/null
}

# ---- SPDX document ---------------------------------------------------------------------------------

put_blob() # FILE: its digest and size
{
    local digest
    digest=$(sha256sum <"$1" | cut -d' ' -f1)
    install -m 644 "$1" "$out/blobs/sha256/$digest"
    echo "sha256:$digest $(stat -c %s "$1")"
}

spdx()
{
    local digest=$1 file
    for file in "$root"/var/lib/dpkg/status.d/*; do
        awk -F ': ' '/^(Package|Version|Architecture|Maintainer): / { v[$1] = substr($0, length($1) + 3) }
            END { printf "%s\t%s\t%s\t%s\n", v["Package"], v["Version"], v["Architecture"], v["Maintainer"] }' "$file"
    done | sort | jq -R -s --sort-keys --arg version "$version" --arg digest "$digest" --arg architecture "$architecture" \
        --arg ours " $packages " --arg distribution "$(sed -n 's/^ID=//p' /etc/os-release)" --arg created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" '
        def id: "SPDXRef-" + gsub("[^A-Za-z0-9.-]"; "-");
        [split("\n")[] | select(length > 0) | split("\t")] as $rows |
        {spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT",
         name: ("variantd-" + $version), documentNamespace: ("https://ocivariant.dev/spdx/image/" + $digest),
         creationInfo: {created: $created, creators: ["Tool: ocivariant-image-" + $version]},
         packages: ([{SPDXID: "SPDXRef-image", name: "variantd", versionInfo: $version, downloadLocation: "NOASSERTION",
             filesAnalyzed: false, primaryPackagePurpose: "CONTAINER", licenseConcluded: "NOASSERTION",
             licenseDeclared: "GPL-3.0-or-later", copyrightText: "NOASSERTION",
             checksums: [{algorithm: "SHA256", checksumValue: ($digest | sub("sha256:"; ""))}],
             externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
                 referenceLocator: ("pkg:oci/variantd@" + ($digest | sub(":"; "%3A")) + "?arch=" + $architecture)}]}] +
           ($rows | map(. as [$name, $v, $arch, $who] |
            {SPDXID: ("package-" + $name | id), name: $name, versionInfo: $v, downloadLocation: "NOASSERTION",
             filesAnalyzed: false, licenseConcluded: "NOASSERTION",
             licenseDeclared: (if ($ours | contains(" " + $name + " ")) then "GPL-3.0-or-later" else "NOASSERTION" end),
             licenseComments: ("/usr/share/doc/" + $name + "/copyright in the image"), copyrightText: "NOASSERTION",
             supplier: ("Organization: " + $who),
             externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
                 referenceLocator: ("pkg:deb/" + $distribution + "/" + ($name | @uri) + "@" + ($v | @uri) + "?arch=" + $arch)}]}))),
         relationships: ([{spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-image"}] +
           ($rows | map({spdxElementId: "SPDXRef-image", relationshipType: "CONTAINS",
               relatedSpdxElement: ("package-" + .[0] | id)})))}'
}

# An artifact whose `subject` is the image: registries list it at /referrers/ of the image's digest. In the
# layout, which has no such address, the list is the tag that clients keep for registries of before.
refer()
{
    local manifest document empty list
    manifest=$(jq -c '.manifests[0] | {mediaType, digest, size}' "$out/index.json")
    spdx "$(jq -r .digest <<<"$manifest")" >"$work/sbom.spdx.json"
    document=$(put_blob "$work/sbom.spdx.json")
    printf '{}' >"$work/empty"
    empty=$(put_blob "$work/empty")
    jq -c -n --argjson subject "$manifest" --arg document "$document" --arg empty "$empty" \
        --arg created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" '
        def blob($type; $text): ($text | split(" ")) as [$digest, $size] |
            {mediaType: $type, digest: $digest, size: ($size | tonumber)};
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: "application/spdx+json",
         config: blob("application/vnd.oci.empty.v1+json"; $empty),
         layers: [blob("application/spdx+json"; $document) + {annotations: {"org.opencontainers.image.title": "sbom.spdx.json"}}],
         subject: $subject, annotations: {"org.opencontainers.image.created": $created}}' >"$work/artifact.json"
    document=$(put_blob "$work/artifact.json")
    jq -c --arg document "$document" 'def blob($type; $text): ($text | split(" ")) as [$digest, $size] |
            {mediaType: $type, digest: $digest, size: ($size | tonumber)};
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [
            blob("application/vnd.oci.image.manifest.v1+json"; $document) + {artifactType: "application/spdx+json"}]}' \
        "$out/index.json" >"$work/list.json"
    list=$(put_blob "$work/list.json")
    jq -c --arg list "$list" --slurpfile referrers "$work/list.json" '($list | split(" ")) as [$digest, $size] |
        .manifests += $referrers[0].manifests + [{mediaType: "application/vnd.oci.image.index.v1+json", digest: $digest,
            size: ($size | tonumber), annotations: {"org.opencontainers.image.ref.name": (.manifests[0].digest | sub(":"; "-"))}}]' \
        "$out/index.json" >"$work/index.json"
    install -m 644 "$work/index.json" "$out/index.json"
}

install -d "$root/var/lib/dpkg/status.d"
unpack
take_libraries
take_authorities
furnish
make_image
refer
digest=$(jq -r '.manifests[0].digest' "$out/index.json")
size=$(jq '[.layers[].size] | add' "$out/blobs/sha256/${digest#sha256:}")
echo "oci:$out:$tag $digest $((size / 1000000)).$((size / 100000 % 10)) MB"
