#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# vpull into real engines: Docker, podman, containerd. Each stores exactly the chosen digest under
# the name asked for.

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo dockerd containerd podman
    start_registry
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    export IMAGE=$REGISTRY/demo/app:1 PLAIN=$REGISTRY
    start_registry private htpasswd
    skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false --dest-creds user:secret \
        "oci:$STATE/layout:app" "docker://$REGISTRY/demo/app:1"
    export PRIVATE=$REGISTRY
    DOCKER_TCP=$(free_port)
    export DOCKER_TCP
    start_dockerd -H "tcp://127.0.0.1:$DOCKER_TCP"
    start_containerd
    start_podman
}

@test "docker: pulled by digest, tagged with the name asked for" {
    require docker
    run -0 --separate-stderr "$VPULL" --to docker --profile "$PROFILES/h100.json" "$IMAGE"
    digest=$(digest_of cuda12.8)
    [[ $output == *"Digest: $digest"* ]]
    [[ $stderr == *"cuda12.8: CUDA 12.8, sm_90"* ]]
    run -0 docker image inspect --format '{{index .RepoDigests 0}}' "$IMAGE"
    [ "$output" = "$PLAIN/demo/app@$digest" ]
    run -0 --separate-stderr "$VPULL" --to docker --profile "$PROFILES/mi300x.json" "$IMAGE"
    run -0 docker image inspect --format '{{index .RepoDigests 0}}' "$IMAGE"
    [ "$output" = "$PLAIN/demo/app@$(digest_of rocm7.1)" ]
}

@test "docker: credentials of a private registry are passed on" {
    require docker
    run -1 --separate-stderr "$VPULL" --to docker --profile "$PROFILES/h100.json" "$PRIVATE/demo/app:1"
    run -0 --separate-stderr "$VPULL" --to docker --profile "$PROFILES/h100.json" --creds-stdin \
        "$PRIVATE/demo/app:1" <<<"user:secret"
    run -0 docker image inspect --format '{{.RepoDigests}}' "$PRIVATE/demo/app:1"
    [[ $output == *"$PRIVATE/demo/app@$(digest_of cuda12.8)"* ]]
}

@test "docker: an image from an OCI layout is loaded" {
    require docker
    run -0 --separate-stderr "$VPULL" --to docker --profile "$PROFILES/h100.json" --tag local/app:x \
        "oci:$STATE/layout:app"
    run -0 docker image inspect --format '{{index .Config.Labels "build"}}' local/app:x
    [ "$output" = cuda ]
}

@test "docker: the default when it answers, and vpull says so" {
    require docker
    run -0 --separate-stderr "$VPULL" --profile "$PROFILES/h100.json" "$IMAGE"
    [[ $stderr == *"pulling to docker"* ]]
}

@test "docker vpull: the CLI plugin, with docker's own options before it" {
    require docker
    mkdir -p "$DOCKER_CONFIG/cli-plugins"
    ln -sf "$VPULL" "$DOCKER_CONFIG/cli-plugins/docker-vpull"
    run -0 docker vpull --version
    [[ $output == "vpull "* ]]
    host=$DOCKER_HOST
    run -0 --separate-stderr env -u DOCKER_HOST docker --host "$host" --log-level error vpull \
        --profile "$PROFILES/mi300x.json" "$IMAGE"
    [[ $output == *"$(digest_of rocm7.1)"* ]]
    run -0 docker --help
    [[ $output == *vpull* ]]
}

@test "docker: a stopped engine is exit 1 with a hint" {
    DOCKER_HOST=unix://$STATE/absent.sock run -1 --separate-stderr "$VPULL" --to docker \
        --profile "$PROFILES/h100.json" "$IMAGE"
    [[ $stderr == *"docker does not answer"*"hint:"* ]]
}

# an address that is not this machine's loopback by its text
@test "docker: an engine on another machine is a warning, a profile for it is none" {
    require docker
    local far="tcp://[::ffff:127.0.0.1]:$DOCKER_TCP"
    DOCKER_HOST=$far run -0 --separate-stderr "$VPULL" --to docker --label null "$IMAGE"
    [[ $stderr == *"vpull: warning: docker runs on [::ffff:127.0.0.1]:$DOCKER_TCP, and this build was chosen for the machine of vpull: run vpull there, or give that machine's profile (--profile FILE)"* ]]
    DOCKER_HOST=$far run -0 --separate-stderr "$VPULL" --to docker --profile "$PROFILES/h100.json" "$IMAGE"
    [[ $stderr != *"docker runs on"* ]]
    DOCKER_HOST=tcp://127.0.0.1:$DOCKER_TCP run -0 --separate-stderr "$VPULL" --to docker --label null "$IMAGE"
    [[ $stderr != *"docker runs on"* ]]
}

@test "docker build: on the digest that --print-ref says" {
    require docker
    local base
    mkdir "$STATE/build"
    # shellcheck disable=SC2016 # expanded by the builder
    printf 'ARG BASE\nFROM ${BASE}\nLABEL mine=1\n' >"$STATE/build/Dockerfile"
    base=$("$VPULL" --print-ref --label cuda12.8 --unchecked "$IMAGE")
    run -0 docker build --tag mine --build-arg BASE="$base" "$STATE/build"
    run -0 docker image inspect --format '{{index .Config.Labels "build"}} {{index .Config.Labels "mine"}}' mine
    [ "$output" = "cuda 1" ]
}

@test "podman: pulled by digest, tagged with the name asked for" {
    run -0 --separate-stderr "$VPULL" --to podman --profile "$PROFILES/h100.json" "$IMAGE"
    run -0 --separate-stderr podman image inspect --format '{{.Digest}}' "$IMAGE"
    [ "$output" = "$(digest_of cuda12.8)" ]
    run -0 --separate-stderr "$VPULL" --to podman --profile "$PROFILES/h100.json" "$IMAGE"
    [[ $output == *"already there"* ]]
}

# podman shows bars to a terminal only, so it gets one; ours shows its numbers in our own lines
# bats test_tags=slow
@test "podman: a terminal shows each layer with progress, rate and time left" {
    local digest id
    require script
    mkimage "$STATE/layout" big --layer 500M --layer 1000 --label build=big
    skopeo copy --quiet --preserve-digests --dest-tls-verify=false --dest-creds user:secret \
        "oci:$STATE/layout:big" "docker://$PRIVATE/demo/big:1"
    printf '{"auths":{"%s":{"auth":"%s"}}}' "$PRIVATE" "$(printf user:secret | base64)" >"$STATE/auth.json"
    run -0 script -qec "stty rows 40 cols 120; TERM=xterm exec $VPULL --authfile $STATE/auth.json --to podman $PRIVATE/demo/big:1" /dev/null
    digest=$(skopeo inspect --tls-verify=false --creds user:secret --format '{{.Digest}}' "docker://$PRIVATE/demo/big:1")
    id=$(jq -r '.layers[0].digest' "$STATE/layout/blobs/sha256/${digest#sha256:}")
    # rate and time left come after a second, when a fast machine is done
    [[ $output =~ ${id:7:12}": downloading  ["[=\>\ ]*"] "[\ 0-9]*"% "[^$'\n']*" MB/524 MB"(" "[\ 0-9.]+" MB/s "[\ 0-9m]+"s left")? ]]
    [[ $output == *"${id:7:12}: done"*"Digest: $digest"*"Status: pulled into podman"* ]]
    [[ $output != *Copying* ]] # podman's own bars stay out of ours
    run -0 --separate-stderr podman image inspect --format '{{.Digest}}' "$PRIVATE/demo/big:1"
    [ "$output" = "$digest" ]
    podman rmi --force "$(podman image inspect --format '{{.Id}}' "$PRIVATE/demo/big:1")"
    # without a terminal: a line as each layer is done; a failure is podman's own last line
    run -0 --separate-stderr "$VPULL" --authfile "$STATE/auth.json" --to podman "$PRIVATE/demo/big:1"
    [[ $stderr == *"${id:7:12}: done, 524 MB"* ]]
    podman rmi --force "$(podman image inspect --format '{{.Id}}' "$PRIVATE/demo/big:1")"
    rm "$STATE/private/docker/registry/v2/blobs/sha256/${id:7:2}/${id:7}/data"
    run -1 --separate-stderr "$VPULL" --authfile "$STATE/auth.json" --to podman "$PRIVATE/demo/big:1"
    [[ $stderr == *"vpull: podman: Error: "*"blob"* ]]
    [[ $stderr != *$'\e'* ]]
}

@test "podman: a private registry, and an OCI layout" {
    run -0 --separate-stderr "$VPULL" --to podman --profile "$PROFILES/mi300x.json" --creds-stdin \
        "$PRIVATE/demo/app:1" <<<"user:secret"
    run -0 --separate-stderr podman image inspect --format '{{.Digest}}' "$PRIVATE/demo/app:1"
    [ "$output" = "$(digest_of rocm7.1)" ]
    run -0 --separate-stderr "$VPULL" --to podman --profile "$PROFILES/h100.json" --tag localhost/app:x \
        "oci:$STATE/layout:app"
    run -0 --separate-stderr podman image inspect --format '{{index .Labels "build"}}' localhost/app:x
    [ "$output" = cuda ]
}

@test "containerd: imported with the digest kept, private registry included" {
    run -0 --separate-stderr "$VPULL" --to containerd --profile "$PROFILES/h100.json" "$IMAGE"
    run -0 ctr images ls
    [[ $output == *"$IMAGE "*"$(digest_of cuda12.8)"* ]]
    [[ $output == *"io.cri-containerd.image=managed"* ]]
    run -0 --separate-stderr "$VPULL" --to containerd -n k8s.io --profile "$PROFILES/mi300x.json" --creds-stdin \
        "$PRIVATE/demo/app:1" <<<"user:secret"
    run -0 ctr -n k8s.io images ls
    [[ $output == *"$PRIVATE/demo/app:1 "*"$(digest_of rocm7.1)"* ]]
}

@test "no secret stands in any argument of a client" {
    require strace
    run -0 --separate-stderr strace -f -e trace=execve -s 4096 -o "$STATE/trace" \
        "$VPULL" --to podman --profile "$PROFILES/h100.json" --creds-stdin "$PRIVATE/demo/app:1" <<<"user:secret"
    grep -q execve "$STATE/trace"
    run ! grep -E 'execve.*(secret|dXNlcjpzZWNyZXQ)' "$STATE/trace"
}
