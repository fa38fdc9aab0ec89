#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/release, with those parts that take seconds; test/packages.sh makes all of them.

load ../integration/harness

setup_file()
{
    state_start
    require git jq openssl minisign
    # a clean checkout of this tree
    mkdir "$STATE/source"
    "$OCV_TOP/contrib/source.sh" "$STATE"
    tar -C "$STATE/source" --strip-components 1 -xzf "$STATE/ocivariant-$(cat "$OCV_TOP/VERSION").tar.gz"
    git -C "$STATE/source" init -q
    git -C "$STATE/source" add -A
    git -C "$STATE/source" -c user.name=test -c user.email=test@test.example commit -qm all
    openssl genpkey -algorithm ed25519 -out "$STATE/openssl.key"
    openssl pkey -in "$STATE/openssl.key" -pubout -out "$STATE/openssl.pub"
    minisign -G -W -s "$STATE/minisign.key" -p "$STATE/minisign.pub" >/dev/null
}

teardown_file()
{
    state_stop
}

release() { "$STATE/source/contrib/release" "$@"; }

@test "twice the same, signature and all, with either kind of key" {
    local kind
    for kind in openssl minisign; do
        release --parts source,chart --key "$STATE/$kind.key" "$STATE/$kind-1"
        (umask 077 && TZ=Asia/Tokyo release --parts source,chart --key "$STATE/$kind.key" "$STATE/$kind-2")
        diff -r "$STATE/$kind-1" "$STATE/$kind-2"
        run -0 release --check --public-key "$STATE/$kind.pub" "$STATE/$kind-1"
    done
    run -0 ls "$STATE/openssl-1"
    [[ $output == *"SHA256SUMS"*"SHA256SUMS.sig"*"ocivariant-"*".spdx.json"*"ocivariant-"*".tar.gz"* ]]
}

@test "what was changed, added or signed by another is told" {
    cp -r "$STATE/openssl-1" "$STATE/changed"
    echo >>"$STATE/changed/ocivariant-$(cat "$OCV_TOP/VERSION").tar.gz"
    run -1 release --check --public-key "$STATE/openssl.pub" "$STATE/changed"
    [[ $output == *"not as it was released"* ]]
    local name
    for name in more ocivariant SHA256SUMS.sh; do
        cp -r "$STATE/openssl-1" "$STATE/added-$name"
        touch "$STATE/added-$name/$name"
        run -1 release --check --public-key "$STATE/openssl.pub" "$STATE/added-$name"
        [[ $output == *"$name is not part of the release"* ]]
    done
    openssl genpkey -algorithm ed25519 | openssl pkey -pubout -out "$STATE/other.pub"
    run -1 release --check --public-key "$STATE/other.pub" "$STATE/openssl-1"
    [[ $output == *"not signed by"* ]]
    run -1 release --check --public-key "$STATE/minisign.pub" "$STATE/openssl-1"
}

@test "a checkout with changes, or a directory with files, is refused" {
    echo >>"$STATE/source/README.md"
    run -1 release --parts source "$STATE/dirty"
    [[ $output == *"not committed"* ]]
    git -C "$STATE/source" checkout -q README.md
    run -1 release --parts source "$STATE/openssl-1"
    [[ $output == *"not empty"* ]]
    run -2 release
}

@test "the SPDX document names every file by its digest" {
    local document
    document=$(echo "$STATE"/openssl-1/*.spdx.json)
    jq -e '.spdxVersion == "SPDX-2.3" and (.packages | length) == 1 and ([.packages[].SPDXID] | unique | length) == 1' "$document"
    [ "$(jq -r '.packages[0].checksums[0].checksumValue' "$document")" = \
        "$(sha256sum "$STATE/openssl-1/ocivariant-$(cat "$OCV_TOP/VERSION").tar.gz" | cut -d' ' -f1)" ]
}
