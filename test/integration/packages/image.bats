#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The container image of variantd: what is in it, that it is the same twice, and that it runs.

load ../harness
load ../images
load ../kube

setup_file()
{
    state_start
    image_here
    require podman nsenter curl docker-registry
    start_podman
    podman pull --quiet "$IMAGE_LAYOUT" >"$STATE/image-id"
    mkdir "$STATE/tree"
    tar --xattrs --xattrs-include='*' -xzf "$(image_blob "$(image_manifest | jq -r '.layers[0].digest')")" -C "$STATE/tree"
}

teardown_file()
{
    [ ! -e "$STATE/image-id" ] || podman rm --all --force --time 0 >/dev/null
    state_stop
}

# in the network of the container NAME
inside()
{
    nsenter --net="/proc/$(podman inspect --format '{{.State.Pid}}' "$1")/ns/net" "${@:2}"
}

answers() # NAME PORT
{
    [ "$(inside "$1" curl --silent --max-time 5 --output "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "http://127.0.0.1:$2/v2/")" = 200 ]
}

daemon() # NAME OPTION...
{
    podman run --detach --quiet --name "$1" --network none --read-only --security-opt no-new-privileges \
        --cap-drop all "${@:2}" "$(<"$STATE/image-id")" --registry docker.io
}

@test "the image is below 30 MB, runs as user 65532 and has no shell" {
    [ "$(image_manifest | jq '[.layers[].size] | add')" -lt 30000000 ]
    jq -e '.config | .User == "65532:65532" and .Entrypoint == ["/usr/bin/variantd"]' \
        "$(image_blob "$(image_manifest | jq -r .config.digest)")"
    run -0 find "$STATE/tree" '(' -name '*sh' -o -name 'busybox*' -o -name 'apt*' ')' -path '*bin*'
    [ -z "$output" ]
    # a node's programs alone, and what they load: content-scan's libraries would be most of it
    run -0 ls "$STATE/tree/usr/bin" "$STATE/tree/usr/libexec/ocivariant"
    [[ $output == *variantctl*variantd*nvml-query*ocivariant-node-setup* && $output != *content-scan* ]]
    run -0 find "$STATE/tree" -name 'libicu*'
    [ -z "$output" ]
    run -0 find "$STATE/tree" -perm /6000
    [ -z "$output" ]
    [ "$(getcap -r "$STATE/tree")" = "$STATE/tree/usr/bin/variantd cap_net_bind_service=p" ]
}

@test "every program finds its libraries in it, and everything in it has its licence" {
    local package file
    for file in "$STATE"/tree/usr/bin/* "$STATE"/tree/usr/libexec/ocivariant/ocivariant-node-setup; do
        run -0 chroot "$STATE/tree" "${file#"$STATE/tree"}" --version
        [[ $output == *"$(<"$OCV_TOP/VERSION")"* ]]
    done
    for package in "$STATE"/tree/var/lib/dpkg/status.d/*; do
        [ -s "$STATE/tree/usr/share/doc/${package##*/}/copyright" ]
        grep -q '^Version: [0-9]' "$package"
    done
    # what the machine that builds trusts beside Mozilla's is not in it
    [ "$(grep -c BEGIN "$STATE/tree/etc/ssl/certs/ca-certificates.crt")" = "$(find /usr/share/ca-certificates/mozilla -name '*.crt' | wc -l)" ]
}

@test "built again elsewhere it has the same digest" {
    mkdir -p "$BATS_TEST_TMPDIR/other/place/build"
    ln -s "$OCV_BUILD/deb" "$BATS_TEST_TMPDIR/other/place/build/deb"
    (umask 077 && TMPDIR=$BATS_TEST_TMPDIR/other TZ=Asia/Tokyo LC_ALL=C.UTF-8 HOME=/nonexistent \
        OCV_BUILD=$BATS_TEST_TMPDIR/other/place/build "$OCV_TOP/contrib/image.sh" >/dev/null)
    cmp "$OCV_BUILD/image/index.json" "$BATS_TEST_TMPDIR/other/place/build/image/index.json"
    run -0 diff -r "$OCV_BUILD/image/blobs" "$BATS_TEST_TMPDIR/other/place/build/image/blobs"
    # and another date gives another one
    (SOURCE_DATE_EPOCH=1000000000 OCV_BUILD=$BATS_TEST_TMPDIR/other/place/build "$OCV_TOP/contrib/image.sh" >/dev/null)
    run ! cmp "$OCV_BUILD/image/index.json" "$BATS_TEST_TMPDIR/other/place/build/image/index.json"
}

@test "an SPDX document refers to it, and lists every package" {
    local artifact sbom digest package
    digest=$(jq -r '.manifests[0].digest' "$OCV_BUILD/image/index.json")
    artifact=$(image_blob "$(jq -r '.manifests[1].digest' "$OCV_BUILD/image/index.json")")
    [ "$(jq -r '[.artifactType, .subject.digest] | join(" ")' "$artifact")" = "application/spdx+json $digest" ]
    sbom=$(image_blob "$(jq -r '.layers[0].digest' "$artifact")")
    jq -e '.spdxVersion == "SPDX-2.3" and .SPDXID == "SPDXRef-DOCUMENT" and (.documentNamespace | length > 0) and
        ([.packages[].SPDXID] | length == (unique | length)) and
        ([.relationships[] | select(.relationshipType == "CONTAINS")] | length) == (.packages | length) - 1' "$sbom"
    for package in "$STATE"/tree/var/lib/dpkg/status.d/*; do
        jq -e --arg name "${package##*/}" --arg version "$(sed -n 's/^Version: //p' "$package")" \
            'any(.packages[]; .name == $name and .versionInfo == $version)' "$sbom" >/dev/null
    done
}

@test "index copy --referrers copies the SPDX document with the image" {
    local digest list
    digest=$(jq -r '.manifests[0].digest' "$OCV_BUILD/image/index.json")
    start_registry
    run -0 "$VARIANTCTL" index copy --quiet --referrers "$IMAGE_LAYOUT" "$REGISTRY/variantd:1"
    [ "$output" = "$digest" ]
    list=$(curl --silent --fail -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/variantd/manifests/${digest/:/-}")
    [ "$(jq -r '.manifests[0].artifactType' <<<"$list")" = application/spdx+json ]
    curl --silent --fail --output "$BATS_TEST_TMPDIR/artifact" -H 'Accept: application/vnd.oci.image.manifest.v1+json' \
        "http://$REGISTRY/v2/variantd/manifests/$(jq -r '.manifests[0].digest' <<<"$list")"
    [ "$(jq -r .subject.digest "$BATS_TEST_TMPDIR/artifact")" = "$digest" ]
    curl --silent --fail --location "http://$REGISTRY/v2/variantd/blobs/$(jq -r '.layers[0].digest' "$BATS_TEST_TMPDIR/artifact")" |
        jq -e '.spdxVersion == "SPDX-2.3"'
    stop_daemon registry
}

@test "images of two architectures become one name, with the documents of both" {
    local other=$BATS_TEST_TMPDIR/arm64 tag digest
    tag=${IMAGE_LAYOUT##*:}
    mkimage "$other" "$tag" --arch arm64 --file etc/build=arm64
    start_registry
    run -0 "$VARIANTCTL" index create --quiet --referrers "$REGISTRY/variantd:both" "null=$IMAGE_LAYOUT" "null=oci:$other:$tag"
    run -0 curl --silent --fail -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/variantd/manifests/both"
    [ "$(jq -r '.manifests | map(.platform.architecture) | join(" ")' <<<"$output")" = "amd64 arm64" ]
    digest=$(jq -r '.manifests[0].digest' "$OCV_BUILD/image/index.json")
    [ "$(jq -r '.manifests[0].digest' <<<"$output")" = "$digest" ]
    curl --silent --fail -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/variantd/manifests/${digest/:/-}" |
        jq -e '.manifests[0].artifactType == "application/spdx+json"'
    stop_daemon registry
}

@test "the daemon listens below 1024 without being root, with no right left" {
    local pid
    daemon low --cap-add NET_BIND_SERVICE
    for _ in {1..100}; do answers low 340 && break; sleep 0.1; done
    answers low 340
    pid=$(podman inspect --format '{{.State.Pid}}' low)
    # shellcheck disable=SC2016 # awk's
    run -0 awk '/^(Uid|CapPrm|CapEff|NoNewPrivs):/ { print $1, $2 }' "/proc/$pid/status"
    [ "$output" = $'Uid: 65532\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nNoNewPrivs: 1' ]
    run -0 podman exec low variantctl probe --format json
    [ "$(jq -r .schema <<<"$output")" = dev.ocivariant.profile/v1 ]
    podman stop --time 30 low >/dev/null
    run -0 podman logs low
    [[ $output == *"SIGTERM: draining"* ]]
    [ "$(podman inspect --format '{{.State.ExitCode}}' low)" = 0 ]
}

@test "without CAP_NET_BIND_SERVICE it listens on port 5050, and says so" {
    daemon plain
    for _ in {1..100}; do answers plain 5050 && break; sleep 0.1; done
    answers plain 5050
    run -0 podman logs plain
    [[ $output == *"needs CAP_NET_BIND_SERVICE: 127.0.0.1:5050 instead"* ]]
}
