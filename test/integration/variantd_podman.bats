#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# podman, buildah and skopeo through the mirror: what runs, what a mirror cannot see, what is none of
# its business. (variantd_clients.bats: over TLS.)

load harness
load images
load variantd

setup_file()
{
    local profile
    state_start
    require docker-registry skopeo podman buildah runc jq htpasswd
    make_programs "$STATE/layout"
    mkimage "$STATE/layout" arm --arch arm64 --file etc/build=arm >/dev/null
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:wide" \
        "null=oci:$STATE/layout:null" "null=oci:$STATE/layout:arm" \
        "cuda12.8=oci:$STATE/layout:cuda12.8,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
    start_registry
    export SERVER=$REGISTRY IMAGE=$REGISTRY/demo/app:1 WIDE=$REGISTRY/demo/wide:1
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:wide" "$WIDE"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    start_registry private htpasswd
    export PRIVATE=$REGISTRY
    skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false --dest-creds user:secret \
        "oci:$STATE/layout:app" "docker://$PRIVATE/demo/app:1"
    for profile in h100 mi300x laptop; do
        start_variantd "$profile" --registry "$SERVER=http://$SERVER" \
            --registry "$PRIVATE=http://$PRIVATE" --profile "$PROFILES/$profile.json"
        echo "$VARIANTD" >"$STATE/$profile.address"
    done
    start_podman
    echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$STATE/policy.json"
}

teardown_file()
{
    state_stop
}

# through PROFILE [PATH]: "none" is as without us; PATH: before the registry in the mirror's address
through()
{
    local host
    export CONTAINERS_REGISTRIES_CONF=$STATE/through.conf
    echo 'unqualified-search-registries = ["docker.io"]' >"$CONTAINERS_REGISTRIES_CONF"
    for host in "$SERVER" "$PRIVATE"; do
        printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$host"
        [ "$1" = none ] ||
            printf '[[registry.mirror]]\nlocation = "%s"\ninsecure = true\n' "$(<"$STATE/$1.address")${2:-}/${host/:/--}"
    done >>"$CONTAINERS_REGISTRIES_CONF"
    export VARIANTD_SOCKET=$STATE/$1.sock
}

# says IMAGE: what its container prints (the options are for hosts with little)
says()
{
    podman run --rm --pull never --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$1"
}

digest_stored()
{
    podman image inspect --format '{{.Digest}}' "$1"
}

skopeo_copy()
{
    skopeo --insecure-policy --registries-conf "$CONTAINERS_REGISTRIES_CONF" copy --quiet --preserve-digests "$@"
}

@test "podman: three machines pull one tag, each its own digest, and its container says so" {
    local profile
    for profile in h100 mi300x laptop; do
        through "$profile"
        run -0 podman pull --quiet "$IMAGE"
        [ "$(digest_stored "$IMAGE")" = "$(digest_of "$(wanted "$profile")")" ]
        run -0 says "$IMAGE"
        [ "$output" = "this is $(wanted "$profile")" ]
    done
    through none
    run -0 podman pull --quiet "$IMAGE"
    run -0 says "$IMAGE"
    [ "$output" = "this is null" ]
}

@test "buildah: three machines pull one tag, each its own digest" {
    local profile
    for profile in h100 mi300x laptop; do
        through "$profile"
        run -0 buildah pull --quiet --policy always --signature-policy "$STATE/policy.json" "$IMAGE"
        run -0 buildah images --format '{{.Digest}}' "$IMAGE"
        [ "$output" = "$(digest_of "$(wanted "$profile")")" ]
    done
    run -0 buildah from --quiet --pull=false "$IMAGE"
    [ "$(buildah inspect --format '{{index .OCIv1.Config.Labels "build"}}' "$output")" = cpu.v3 ]
    buildah rm "$output" >/dev/null
}

@test "skopeo: three machines copy one tag, each its own digest" {
    local profile
    for profile in h100 mi300x laptop; do
        through "$profile"
        run -0 skopeo_copy "docker://$IMAGE" "oci:$BATS_TEST_TMPDIR/$profile:1"
        [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/$profile/index.json")" = "$(digest_of "$(wanted "$profile")")" ]
    done
}

@test "ordinary images and pulls by digest are as without us" {
    local image without
    podman rmi --all --force >/dev/null # names that an image had stay with it
    for image in "$SERVER/demo/plain:1" "$SERVER/demo/app@$(digest_of rocm7.1)" \
        "$SERVER/demo/app@$(index_digest)"; do
        through none
        podman pull --quiet "$image" >/dev/null
        without=$(podman image inspect "$image")
        podman rmi --force "$image" >/dev/null
        through h100
        podman pull --quiet "$image" >/dev/null
        diff <(echo "$without") <(podman image inspect "$image")
        podman rmi --force "$image" >/dev/null
    done
}

@test "a private image needs its user's own password, as without us" {
    local side
    for side in none h100; do
        through "$side"
        run ! podman pull --quiet "$PRIVATE/demo/app:1"
        run ! podman pull --quiet --creds user:wrong "$PRIVATE/demo/app:1"
        run -0 podman pull --quiet --creds user:secret "$PRIVATE/demo/app:1"
        run -0 says "$PRIVATE/demo/app:1"
        [ "$output" = "this is null" ]
        podman rmi --force "$PRIVATE/demo/app:1" >/dev/null
    done
    [ "$(outcome denied)" -ge 1 ]
}

# The mirror sees a tag only: it gives this machine's image, whatever the client asked for.
@test "--platform and copy --all get this machine's image, and all by digest or /raw" {
    local index arm
    index=sha256:$(curl -sf -H "$ACCEPT_ALL" "http://$SERVER/v2/demo/wide/manifests/1" | sha256sum | cut -d' ' -f1)
    arm=$(curl -sf -H "$ACCEPT_ALL" "http://$SERVER/v2/demo/wide/manifests/1" |
        jq -r '.manifests[] | select(.platform.architecture == "arm64") | .digest')
    through h100
    podman pull --quiet --platform linux/arm64 "$WIDE" || true
    run digest_stored "$WIDE"
    [ "$output" != "$arm" ]
    run -0 skopeo_copy --all "docker://$WIDE" "oci:$BATS_TEST_TMPDIR/tag:1"
    [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/tag/index.json")" = "$(digest_of cuda12.8)" ]
    run -0 skopeo_copy --all "docker://${WIDE%:1}@$index" "oci:$BATS_TEST_TMPDIR/digest:1"
    [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/digest/index.json")" = "$index" ]
    run -0 podman pull --quiet --platform linux/arm64 "${WIDE%:1}@$index"
    [ "$(podman image inspect --format '{{.Architecture}}' "$output")" = arm64 ]
    through h100 /raw
    podman rmi --all --force >/dev/null
    run -0 podman pull --quiet --platform linux/arm64 "$WIDE"
    [ "$(podman image inspect --format '{{.Architecture}}' "$WIDE")" = arm64 ]
    run -0 podman pull --quiet --platform linux/amd64/x-rocm7-1 "$IMAGE"
    [ "$(podman image inspect --format '{{index .Labels "build"}}' "$IMAGE")" = rocm7.1 ]
    run -0 skopeo_copy --all "docker://$WIDE" "oci:$BATS_TEST_TMPDIR/raw:1"
    [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/raw/index.json")" = "$index" ]
}
