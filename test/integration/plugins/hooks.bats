#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Refusing what does not fit: the daemon's verdict, the image verifier and the OCI runtime hook.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:cpu" "docker://$REGISTRY/plain:1" 3>&-
    start_variantd --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    export CUDA ROCM INDEX PLAIN
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    INDEX=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/app:1" | sha256sum)
    INDEX=sha256:${INDEX%% *}
    PLAIN=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/plain:1" | sha256sum)
    PLAIN=sha256:${PLAIN%% *}
    for policy in enforce warn off; do
        printf 'policy: %s\nsocket: %s\n' "$policy" "$VARIANTD_SOCKET" >"$STATE/$policy.yaml"
    done
    printf 'policy: enforce\nfail: closed\nsocket: %s\n' "$STATE/nobody.sock" >"$STATE/closed.yaml"
    printf 'policy: enforce\nfail: open\nsocket: %s\n' "$STATE/nobody.sock" >"$STATE/open.yaml"
    printf 'policy: enforce\nsocket: %s\nallow: ["%s/app:*"]\n' "$VARIANTD_SOCKET" "$REGISTRY" >"$STATE/allow.yaml"
}

# verify POLICY REF DIGEST
verify()
{
    printf '{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"%s","size":1}\n' "$3" |
        OCIVARIANT_CONFIG=$STATE/$1.yaml "$VERIFIER" -name "$2" -digest "$3" \
            -stdin-media-type application/vnd.oci.descriptor.v1+json
}

hook()
{
    OCIVARIANT_CONFIG=$STATE/$1.yaml "$HOOK"
}

@test "the verdict on a variant that fits, one that does not, an index, and an ordinary image" {
    answer=$(verdict "ref=$REGISTRY/app:1" "digest=$CUDA")
    [ "$(jq -r .verdict <<<"$answer")" = fits ]
    [ "$(jq -r .label <<<"$answer")" = cuda12.8 ]
    answer=$(verdict "ref=$REGISTRY/app:1" "digest=$ROCM")
    [ "$(jq -r .verdict <<<"$answer")" = misfit ]
    [ "$(jq -r .label <<<"$answer")" = rocm7.1 ]
    [ "$(jq -r .fit <<<"$answer")" = cuda12.8 ]
    [[ $(jq -r .reason <<<"$answer") == *amd* ]]
    answer=$(verdict "ref=$REGISTRY/app:1" "digest=$INDEX")
    [ "$(jq -r .verdict <<<"$answer")" = index ]
    answer=$(verdict "ref=$REGISTRY/app@$INDEX" "digest=$INDEX")
    [ "$(jq -r .verdict <<<"$answer")" = index ]
    answer=$(verdict "ref=$REGISTRY/plain:1" "digest=$PLAIN")
    [ "$(jq -r .verdict <<<"$answer")" = none ]
}

@test "properties alone are checked; nonsense is unknown; too little is refused" {
    answer=$(verdict 'properties=nvidia :: cuda_version_lower_bound :: 99.0' label=x)
    [ "$(jq -r .verdict <<<"$answer")" = misfit ]
    answer=$(verdict 'properties=nonsense')
    [ "$(jq -r .verdict <<<"$answer")" = unknown ]
    answer=$(verdict "digest=sha256:$(printf '0%.0s' {1..64})")
    [ "$(jq -r .verdict <<<"$answer")" = unknown ]
    [[ $(verdict "label=x") == *missing* ]]
    [[ $(verdict "digest=sha256:x") == *"not a digest"* ]]
}

@test "what the mirror chose is recorded, and checked without the registry" {
    ask HEAD "/v2/app/manifests/1?ns=${REGISTRY/:/%3A}"
    [ "$code" = 200 ]
    kept "$CUDA" "$REGISTRY/app"
    [ "$(jq -r .label "$record")" = cuda12.8 ]
    [ "$(jq -r .index "$record")" = "$INDEX" ]
    [ "$(jq -r .reference "$record")" = "$REGISTRY/app:1" ]
    [ "$(jq -r .repository "$record")" = "$REGISTRY/app" ]
    answer=$(verdict "digest=$CUDA")
    [ "$(jq -r .verdict <<<"$answer")" = fits ]
}

@test "the verifier lets pass what fits, and what has no variants" {
    run -0 verify enforce "$REGISTRY/app:1" "$CUDA"
    [ -z "$output" ]
    run -0 verify enforce "$REGISTRY/plain:1" "$PLAIN"
}

@test "the verifier blocks what does not fit, and an index nobody chose in, with the reason" {
    run -1 verify enforce "$REGISTRY/app:1" "$ROCM"
    [[ $output == *"$REGISTRY/app:1 (rocm7.1) does not fit this node"*"what would fit: cuda12.8"* ]]
    run -1 verify enforce "$REGISTRY/app:1" "$INDEX"
    [[ $output == *"unresolved variant index"*"what would fit: cuda12.8"* ]]
}

@test "where only the default fits, the refusal names it" {
    local index rocm answer
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:two" "null=oci:$STATE/images:cpu" \
        "rocm=oci:$STATE/images:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    push_layout "$STATE/images:two" "$REGISTRY/two:1"
    index=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/two:1" | sha256sum)
    index=sha256:${index%% *}
    rocm=$("$VARIANTCTL" index show --json "oci:$STATE/images:two" | jq -r '.manifests[1].digest')
    run -1 verify enforce "$REGISTRY/two:1" "$rocm"
    [[ $output == *"$REGISTRY/two:1 (rocm) does not fit this node: "*"; what would fit: null (the default)" ]]
    run -1 hook enforce <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$rocm\",\"org.opencontainers.image.ref.name\":\"$REGISTRY/two:1\"}}"
    [[ $output == *"(rocm) does not fit this node: "*"; what would fit: null (the default)" ]]
    answer=$(verdict "ref=$REGISTRY/two:1" "digest=$rocm")
    [ "$(jq -r .fit <<<"$answer")" = null ] # a word that --label takes
    run -1 verify enforce "$REGISTRY/two@$index" "$index"
    [[ $output == *"is an unresolved variant index; what would fit: null (the default)" ]]
}

@test "warn and off let pass, warn says so" {
    run -0 --separate-stderr verify warn "$REGISTRY/app:1" "$ROCM"
    [ -z "$output" ]
    [[ $stderr == *"warning: $REGISTRY/app:1 (rocm7.1) does not fit"* ]]
    run -0 verify warn "$REGISTRY/app:1" "$INDEX"
    if [ "$(id -u)" = 0 ]; then # the log has it, too: engines show only what refuses
        grep -qF "warning: $REGISTRY/app:1 (rocm7.1) does not fit this node: " "$STATE/log/variantd"
        grep -qF "warning: $REGISTRY/app:1 is an unresolved variant index" "$STATE/log/variantd"
    fi
    run -0 --separate-stderr verify off "$REGISTRY/app:1" "$ROCM"
    [ -z "$output$stderr" ]
}

@test "a configuration that says nothing of it warns, and lets pass what cannot be checked" {
    echo "socket: $VARIANTD_SOCKET" >"$STATE/default.yaml"
    run -0 --separate-stderr verify default "$REGISTRY/app:1" "$ROCM"
    [ -z "$output" ]
    [[ $stderr == *"warning: $REGISTRY/app:1 (rocm7.1) does not fit"* ]]
    run -0 hook default <<<'{"annotations":{"dev.ocivariant.properties":"amd :: gfx_arch :: gfx942"}}'
    [[ $output == *"warning: "*"does not fit this node"* ]]
    echo "socket: $STATE/nobody.sock" >"$STATE/default.yaml"
    run -0 --separate-stderr verify default "$REGISTRY/app:1" "$ROCM"
    [ -z "$output$stderr" ]
}

@test "without a daemon the fail policy decides, and the allow list stands before it" {
    run -0 verify open "$REGISTRY/app:1" "$ROCM"
    run -1 verify closed "$REGISTRY/app:1" "$ROCM"
    [[ $output == *"cannot be checked: variantd cannot be asked"* ]]
    run -0 verify closed registry.k8s.io/pause:3.9 "$ROCM"
    run -0 verify closed "registry.k8s.io/pause@$ROCM" "$ROCM"
    run -0 verify closed "registry.k8s.io/pause:3.9@$ROCM" "$ROCM"
    run -1 verify closed "registry.k8s.io/pauses@$ROCM" "$ROCM"
    run -0 verify closed docker.io/rancher/mirrored-pause:3.6 "$ROCM"
    run -0 verify closed localhost/podman-pause:4.3.1-0 "$ROCM"
    run -0 verify closed ghcr.io/ocivariant/variantd:1 "$ROCM" # this project's own
    run -1 verify closed ghcr.io/ocivariants/variantd:1 "$ROCM"
    run -0 verify closed 602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/pause:3.5 "$ROCM"
    # a name alone is anybody's
    for image in "$REGISTRY/pause:3.9" evil.example/mirrored-pause:1 evil.example/podman-pause:1 \
        evil.example/ocivariant/variantd:1 evil.example/registry.k8s.io/pause:3.9 ghcr.io/ocivariant/deeper/variantd:1 \
        602401143452.dkr.ecr.evil.example/eks/pause:3.5; do
        run -1 verify closed "$image" "$ROCM"
    done
    printf 'policy: enforce\nfail: closed\nallow: ["*/app:*", "*", "?ost/app", "%s*"]\nsocket: %s\n' "${REGISTRY%:*}" \
        "$STATE/nobody.sock" >"$STATE/loose.yaml"
    run -1 verify loose "$REGISTRY/app:1" "$ROCM"
    [[ $output == *"\`allow: */app:*\` is ignored: it does not begin with a registry"* ]]
    run -0 verify allow "$REGISTRY/app:1" "$ROCM"
    # a repository alone means all of its images, and no other's
    printf 'policy: enforce\nfail: closed\nallow: ["%s/app"]\nsocket: %s\n' "$REGISTRY" "$STATE/nobody.sock" >"$STATE/repository.yaml"
    run -0 verify repository "$REGISTRY/app:1" "$ROCM"
    run -0 verify repository "$REGISTRY/app@$ROCM" "$ROCM"
    run -0 verify repository "$REGISTRY/app:1@$ROCM" "$ROCM"
    run -1 verify repository "$REGISTRY/app/more:1" "$ROCM"
    run -1 verify repository "$REGISTRY/app2:1" "$ROCM"
}

@test "a daemon that hangs is no opinion" {
    start_variantd hung --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    printf 'policy: enforce\nfail: closed\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/hung.yaml"
    pid=$(pgrep -P "$(cat "$STATE/pids/hung")" || cat "$STATE/pids/hung")
    kill -STOP "$pid"
    # who waits longer than a hook may would get an answer
    sh -c "sleep 20; kill -CONT $pid" >/dev/null 2>&1 3>&- &
    waker=$!
    run -1 verify hung "$REGISTRY/app:1" "$CUDA"
    [[ $output == *"no answer in time"* ]]
    pkill -P "$waker" # ends its sleep: the daemon continues
    wait "$waker"
    stop_daemon hung
}

@test "the verifier's bad input: usage, another descriptor, a configuration that cannot be read" {
    run -2 "$VERIFIER" -name x </dev/null
    run -2 "$VERIFIER" </dev/null
    run -1 bash -c "echo '{\"digest\":\"sha256:other\"}' | '$VERIFIER' -name a -digest '$CUDA'"
    run -1 bash -c "echo nonsense | '$VERIFIER' -name a -digest '$CUDA'"
    echo 'policy: [' >"$STATE/broken.yaml"
    run -1 verify broken "$REGISTRY/app:1" "$CUDA"
    run -0 "$VERIFIER" -help
    # a value that looks like a flag is none
    run -1 verify broken -h "$CUDA"
    run -1 verify broken --version "$CUDA"
}

@test "the runtime hook decides by annotation, by recorded digest, and leaves the rest alone" {
    run -1 hook enforce <<<'{"ociVersion":"1.0.2","id":"c","annotations":{"dev.ocivariant.label":"x","dev.ocivariant.properties":"amd :: gfx_arch :: gfx942"}}'
    [[ $output == *"does not fit this node"* ]]
    run -0 hook enforce <<<'{"id":"c","annotations":{"dev.ocivariant.properties":"nvidia :: cuda_version_lower_bound :: 12.8"}}'
    run -1 hook enforce <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$ROCM\",\"org.opencontainers.image.ref.name\":\"$REGISTRY/app:1\"}}"
    run -0 hook enforce <<<'{"id":"c"}'
    run -0 hook warn <<<'{"annotations":{"dev.ocivariant.properties":"amd :: gfx_arch :: gfx942"}}'
    [[ $output == *warning* ]]
    run -1 hook enforce <<<'nonsense'
    run -1 hook enforce <<<''
    run -0 hook warn <<<'nonsense'
    [[ $output == *"warning: "*"not JSON"* ]]
    run -0 hook off <<<'nonsense'
    [ -z "$output" ]
    echo 'policy: [' >"$STATE/broken.yaml"
    run -1 hook broken <<<'{"id":"c"}'
}

@test "as many properties as a variant may have are checked" {
    long=$(printf 'amd :: gfx_arch :: gfx%d, ' {1000..1139})
    [ ${#long} -ge 3900 ]
    run -1 hook enforce <<<"{\"annotations\":{\"dev.ocivariant.properties\":\"${long%, }\"}}"
    [[ $output == *"does not fit this node"* ]]
}

@test "the runtime hook: what the engine's storage cannot tell is unknown, not allowed" {
    storage=$BATS_TEST_TMPDIR/storage
    mkdir -p "$storage/overlay-containers" "$storage/overlay-images"
    printf 'policy: enforce\nfail: closed\nsocket: %s\n' "$VARIANTD_SOCKET" >"$STATE/lost.yaml"
    echo '[{"id":"c1","image":"i1"},{"id":"c2"}]' >"$storage/overlay-containers/containers.json"
    echo '[{"id":"i1",' >"$storage/overlay-images/images.json"
    run -1 hook lost <<<"{\"bundle\":\"$storage/overlay-containers/c1/userdata\"}"
    [[ $output == *"cannot be checked"* ]]
    run -0 hook enforce <<<"{\"bundle\":\"$storage/overlay-containers/c1/userdata\"}"
    run -0 hook lost <<<"{\"bundle\":\"$storage/overlay-containers/c2/userdata\"}" # made of no image
}

@test "the runtime hook: an annotation goes before the record, and without a daemon the fail policy decides" {
    # recorded as one that does not fit: the annotation of this very container is nearer
    mkdir -p "$STATE/node/resolved"
    record=$STATE/node/resolved/$(record_of "$ROCM" r.example/app)
    printf '{"repository":"r.example/app","child":"%s","label":"rocm7.1","properties":"amd :: gfx_arch :: gfx942"}' "$ROCM" >"$record"
    run -1 hook enforce <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$ROCM\"}}"
    [[ $output == *"(rocm7.1) does not fit this node"* ]]
    run -0 hook enforce <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$ROCM\",\"dev.ocivariant.properties\":\"nvidia :: cuda_version_lower_bound :: 12.8\"}}"
    run -1 hook enforce <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$CUDA\",\"dev.ocivariant.properties\":\"amd :: gfx_arch :: gfx942\"}}"
    rm "$record"
    # what an image says of its base is another image
    run -0 hook enforce <<<"{\"annotations\":{\"org.opencontainers.image.base.digest\":\"$ROCM\"}}"
    run -0 hook open <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$ROCM\"}}"
    run -1 hook closed <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$ROCM\"}}"
    [[ $output == *"cannot be checked: variantd cannot be asked"* ]]
    run -0 hook closed <<<"{\"annotations\":{\"dev.ocivariant.digest\":\"$ROCM\",\"io.kubernetes.cri-o.ImageName\":\"registry.k8s.io/pause:3.9\"}}"
    run -0 hook closed <<<'{"id":"c"}' # no image is named: not ours
}

@test "podman refuses to start a container that the hook refuses" {
    require podman runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    mkdir -p "$STATE/hooks.d"
    cat >"$STATE/hook.sh" <<SH
#!/bin/sh
OCIVARIANT_CONFIG=$STATE/enforce.yaml exec $HOOK
SH
    chmod 755 "$STATE/hook.sh"
    sed "s|@LIBEXECDIR@/ocivariant-oci-hook|$STATE/hook.sh|" "$OCV_TOP/plugins/oci-hook/50-ocivariant.json.in" >"$STATE/hooks.d/50-ocivariant.json"
    mkdir -p "$STATE/rootfs/bin"
    printf 'int main(void){return 0;}' | cc -static -x c -o "$STATE/rootfs/bin/true" -
    tar -C "$STATE/rootfs" -c . | podman import - localhost/tiny:1 >/dev/null 2>&1 3>&-
    options=(--hooks-dir "$STATE/hooks.d" --runtime /usr/sbin/runc)
    run_args=(--rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
    run -0 podman "${options[@]}" run "${run_args[@]}" localhost/tiny:1 /bin/true 3>&-
    run -0 podman "${options[@]}" run "${run_args[@]}" --annotation 'dev.ocivariant.properties=nvidia :: cuda_version_lower_bound :: 12.8' localhost/tiny:1 /bin/true 3>&-
    run podman "${options[@]}" run "${run_args[@]}" --annotation 'dev.ocivariant.properties=amd :: gfx_arch :: gfx942' --annotation dev.ocivariant.label=rocm7.1 localhost/tiny:1 /bin/true 3>&-
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *"does not fit this node"* ]]
}

@test "podman reads the hook from where the documentation puts it, without being told" {
    require podman runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    place=$(sed -n 's|^ *ln -s /usr/share/ocivariant/hooks.d/50-ocivariant.json \(/[^ ]*\)/$|\1|p' "$OCV_TOP/docs/refusing.md")
    cp -a /usr/share/containers "$BATS_TEST_TMPDIR/containers" # in place of it, for this podman alone
    mkdir -p "$BATS_TEST_TMPDIR/containers/${place#/usr/share/containers/}"
    cp "$STATE/hooks.d/50-ocivariant.json" "$BATS_TEST_TMPDIR/containers/${place#/usr/share/containers/}/"
    # shellcheck disable=SC2016 # expanded inside
    run ! unshare --mount sh -c 'mount --bind "$0" /usr/share/containers && exec "$@"' "$BATS_TEST_TMPDIR/containers" \
        podman --runtime /usr/sbin/runc run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
        --annotation 'dev.ocivariant.properties=amd :: gfx_arch :: gfx942' localhost/tiny:1 /bin/true 3>&-
    echo "$output"
    [[ $output == *"does not fit this node"* ]]
}

@test "podman without a daemon: open starts the container, closed refuses it" {
    require podman runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    for policy in open closed; do
        mkdir -p "$STATE/$policy.d"
        printf '#!/bin/sh\nOCIVARIANT_CONFIG=%s exec %s\n' "$STATE/$policy.yaml" "$HOOK" >"$STATE/$policy.sh"
        chmod 755 "$STATE/$policy.sh"
        sed "s|@LIBEXECDIR@/ocivariant-oci-hook|$STATE/$policy.sh|" "$OCV_TOP/plugins/oci-hook/50-ocivariant.json.in" >"$STATE/$policy.d/50-ocivariant.json"
    done
    # with a digest in the engine's storage, by which it is checked
    podman pull --quiet --tls-verify=false "$REGISTRY/plain:1" >/dev/null 3>&-
    run_plain()
    {
        podman --hooks-dir "$STATE/$1.d" --runtime /usr/sbin/runc run --rm --network none --ulimit nofile=1024:1024 \
            --ulimit nproc=1000:1000 --volume "$STATE/rootfs/bin:/bin:ro" "$REGISTRY/plain:1" /bin/true 3>&-
    }
    run -0 run_plain open
    run ! run_plain closed
    echo "$output"
    [[ $output == *"cannot be checked: variantd cannot be asked"* ]]
}

@test "podman refuses by the digest of an image that was pulled past the mirror" {
    require podman runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    podman pull --quiet --tls-verify=false "$REGISTRY/app@$ROCM" >/dev/null 3>&-
    podman tag "$REGISTRY/app@$ROCM" "$REGISTRY/app:1" 3>&-
    run podman --hooks-dir "$STATE/hooks.d" --runtime /usr/sbin/runc run --rm --network none \
        --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --volume "$STATE/rootfs/bin:/bin:ro" \
        "$REGISTRY/app:1" /bin/true 3>&-
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *"(rocm7.1) does not fit this node"* ]]
}

@test "podman starts the default of an index that was pulled past the mirror" {
    require podman runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    podman rmi --all --force >/dev/null 3>&-
    podman pull --quiet --tls-verify=false "$REGISTRY/app@$INDEX" >/dev/null 3>&-
    [ "$(podman image inspect --format '{{.Digest}}' "$REGISTRY/app@$INDEX" 3>&-)" = "$INDEX" ]
    run -0 podman --hooks-dir "$STATE/hooks.d" --runtime /usr/sbin/runc run --rm --network none \
        --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --volume "$STATE/rootfs/bin:/bin:ro" \
        "$REGISTRY/app@$INDEX" /bin/true 3>&-
}
