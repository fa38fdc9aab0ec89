#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the files of a release are and need, as an SPDX 2.3 document: contrib/sbom.sh DIRECTORY prints that of the
# source archive, the packages of both kinds and the archive of static programs there. Packages name what they depend on, static
# programs what is linked in, with its version here.
set -euo pipefail

cd "$(dirname "$0")/.."
export LC_ALL=C
directory=${1:?usage: contrib/sbom.sh DIRECTORY}
version=$(cat VERSION)
created=$(date -u -d "@$(contrib/source.sh --date)" +%Y-%m-%dT%H:%M:%SZ)
distribution=$(sed -n 's/^ID=//p' /etc/os-release)

# ---- rows: FILE PURPOSE NAME SHA256 PURL, and FILE RELATION NAME VERSION ---------------------------

row() # FILE PURPOSE NAME PURL
{
    printf 'file\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(sha256sum <"$directory/$1" | cut -d' ' -f1)" "$4"
}

debian() # FILE
{
    local name arch
    name=$(dpkg-deb -f "$directory/$1" Package)
    arch=$(dpkg-deb -f "$directory/$1" Architecture)
    row "$1" INSTALL "$name" "pkg:deb/$distribution/$name@$version?arch=$arch"
    dpkg-deb -f "$directory/$1" Depends | tr ',' '\n' | sed -nE "s/^ *([^ (|:]+)(:any)?( \(([^)]*)\))?.*/need\t$1\tDEPENDS_ON\t\1\t\4/p"
}

rpms() # FILE
{
    local name arch
    name=$(rpm -qp --nosignature --qf '%{NAME}' "$directory/$1")
    arch=$(rpm -qp --nosignature --qf '%{ARCH}' "$directory/$1")
    row "$1" INSTALL "$name" "pkg:rpm/$name@$version?arch=$arch"
    rpm -qp --nosignature --qf '[%{REQUIRENAME}\t%{REQUIREFLAGS:depflags} %{REQUIREVERSION}\n]' "$directory/$1" |
        sed -E '/^(rpmlib|\/|\(|config\()/d' | sed "s/^/need\t$1\tDEPENDS_ON\t/" | sort -u
}

static() # FILE
{
    local package
    row "$1" ARCHIVE "${1%%-"$version"*}-static" "pkg:generic/ocivariant@$version"
    tar -tzf "$directory/$1" | sed -n 's|.*/share/doc/\(.*\)\.copyright$|\1|p' | sort | while read -r package; do
        printf 'need\t%s\tSTATIC_LINK\t%s\t= %s\n' "$1" "$package" "$(dpkg-query -W -f '${Version}\n' "$package" | head -n 1)"
    done
}

rows()
{
    local file
    for file in $(cd "$directory" && ls); do
        case $file in
        *.src.rpm) ;;
        *.deb) debian "$file" ;;
        *.rpm) rpms "$file" ;;
        ocivariant-*-linux-*.tar.gz) static "$file" ;;
        "ocivariant-$version.tar.gz") row "$file" SOURCE ocivariant "pkg:generic/ocivariant@$version" ;;
        esac
    done
}

rows | jq -R -s --sort-keys --arg version "$version" --arg created "$created" '
    def id: "SPDXRef-" + gsub("[^A-Za-z0-9.-]"; "-");
    [split("\n")[] | select(length > 0) | split("\t")] as $rows |
    [$rows[] | select(.[0] == "file")] as $files |
    [$rows[] | select(.[0] == "need")] as $needs |
    {spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", name: ("ocivariant-" + $version),
     documentNamespace: ("https://ocivariant.dev/spdx/release/" + $version + "/" + ($files | map(.[4]) | sort | join("") | @base64 | .[0:32])),
     creationInfo: {created: $created, creators: ["Tool: ocivariant-sbom-" + $version]},
     packages: (($files | map({SPDXID: ("file-" + .[1] | id), name: .[3], versionInfo: $version, packageFileName: .[1],
         downloadLocation: "NOASSERTION", filesAnalyzed: false, primaryPackagePurpose: .[2],
         licenseConcluded: "NOASSERTION", licenseDeclared: "GPL-3.0-or-later AND LGPL-3.0-or-later", copyrightText: "NOASSERTION",
         supplier: "Organization: ocivariant maintainers",
         checksums: [{algorithm: "SHA256", checksumValue: .[4]}],
         externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: .[5]}]})) +
       ($needs | map({name: .[3], version: (if .[2] == "STATIC_LINK" then .[4] else "" end | sub("^= "; ""))}) | unique |
        map({SPDXID: ("need-" + .name + (if .version == "" then "" else "-" + .version end) | id), name: .name,
             downloadLocation: "NOASSERTION", filesAnalyzed: false, licenseConcluded: "NOASSERTION",
             licenseDeclared: "NOASSERTION", copyrightText: "NOASSERTION"} +
            (if .version == "" then {} else {versionInfo: .version} end)))),
     relationships: (($files | map({spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES",
         relatedSpdxElement: ("file-" + .[1] | id)})) +
       ($needs | map({spdxElementId: ("file-" + .[1] | id), relationshipType: .[2],
         relatedSpdxElement: ("need-" + .[3] + (if .[2] == "STATIC_LINK" then "-" + (.[4] | sub("^= "; "")) else "" end) | id)} +
         (if .[2] == "STATIC_LINK" or (.[4] | ltrimstr(" ")) == "" then {} else {comment: (.[4] | ltrimstr(" "))} end)) | unique))}'
