#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# podman, buildah and skopeo through the mirror: what runs, what a mirror cannot see, what is none of
# its business. (variantd_clients.bats: over TLS.)

load ../harness
load ../images
load ../variantd
load ../clients

setup_file()
{
    state_start
    require docker-registry skopeo podman buildah runc jq htpasswd
    start_images
    start_podman
}

setup()
{
    export CLIENT=podman
}

# through MACHINE [PATH]: "none" is as without us; PATH: before the registry in the mirror's address
through()
{
    if [ "$1" = none ]; then
        registries_conf '' "$SERVER" "$PRIVATE"
    else
        RAW=${2:-} registries_conf "$(machine "$1")" "$SERVER" "$PRIVATE"
    fi
    export VARIANTD_SOCKET=$STATE/$1.sock
}

@test "podman: three machines pull one tag, each its own digest, and its container says so" {
    each_machine_pulls "$IMAGE"
}

@test "buildah: three machines pull one tag, each its own digest, and its container says so" {
    CLIENT=buildah
    each_machine_pulls "$IMAGE"
}

@test "skopeo: three machines copy one tag, each its own digest, and its container says so" {
    local profile
    CLIENT=skopeo
    each_machine_pulls "$IMAGE"
    for profile in $MACHINES; do # and into a directory
        through "$profile"
        run -0 skopeo_copy "docker://$IMAGE" "oci:$BATS_TEST_TMPDIR/$profile:1"
        [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/$profile/index.json")" = "$(digest_of "$(wanted "$profile")")" ]
    done
}

# bats test_tags=slow
@test "without a mirror the same tag is the default" {
    through none
    for CLIENT in podman buildah skopeo; do
        run -0 pull "$IMAGE"
        run -0 --separate-stderr says "$IMAGE"
        [ "$output" = "this is null" ]
    done
}

# bats test_tags=slow
@test "an ordinary index of levels: this machine's, where the daemon chooses among them" {
    for CLIENT in podman buildah skopeo; do
        levels_are_chosen "$SERVER/demo/levels:1"
    done
}

# bats test_tags=slow
@test "ordinary images and pulls by digest are as without us" {
    for CLIENT in podman buildah; do
        as_without_us "$SERVER/demo/plain:1" "$SERVER/demo/app@$(digest_of rocm7.1)" "$SERVER/demo/app@$(index_digest)"
    done
    CLIENT=skopeo
    as_without_us "$SERVER/demo/plain:1"
}

# bats test_tags=slow
@test "a private image needs its user's own password, as without us" {
    for CLIENT in podman buildah skopeo; do
        private_as_without_us
    done
}

# The mirror sees a tag only: it gives this machine's image, whatever the client asked for.
@test "--platform and copy --all get this machine's image, and all by digest or /raw" {
    local index arm
    index=sha256:$(curl -sf -H "$ACCEPT_ALL" "http://$SERVER/v2/demo/wide/manifests/1" | sha256sum | cut -d' ' -f1)
    arm=$(curl -sf -H "$ACCEPT_ALL" "http://$SERVER/v2/demo/wide/manifests/1" |
        jq -r '.manifests[] | select(.platform.architecture == "arm64") | .digest')
    through h100
    pull --platform linux/arm64 "$WIDE" || true
    run stored "$WIDE"
    [ "$output" != "$arm" ]
    run -0 skopeo_copy --all "docker://$WIDE" "oci:$BATS_TEST_TMPDIR/tag:1"
    [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/tag/index.json")" = "$(digest_of cuda12.8)" ]
    run -0 skopeo_copy --all "docker://${WIDE%:1}@$index" "oci:$BATS_TEST_TMPDIR/digest:1"
    [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/digest/index.json")" = "$index" ]
    run -0 --separate-stderr podman pull --quiet --platform linux/arm64 "${WIDE%:1}@$index"
    [ "$(podman image inspect --format '{{.Architecture}}' "$output")" = arm64 ]
    through h100 /raw
    podman rmi --all --force >/dev/null
    run -0 --separate-stderr podman pull --quiet --platform linux/arm64 "$WIDE"
    [ "$(podman image inspect --format '{{.Architecture}}' "$WIDE")" = arm64 ]
    run -0 --separate-stderr podman pull --quiet --platform linux/amd64/x-rocm7-1 "$IMAGE"
    [ "$(podman image inspect --format '{{index .Labels "build"}}' "$IMAGE")" = rocm7.1 ]
    run -0 skopeo_copy --all "docker://$WIDE" "oci:$BATS_TEST_TMPDIR/raw:1"
    [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/raw/index.json")" = "$index" ]
}
