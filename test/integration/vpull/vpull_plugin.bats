#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# docker vpull: the plugin finds the engine that docker itself would use, and ends when docker does.

load ../harness
load ../images

setup_file()
{
    state_start
    require docker-registry skopeo dockerd docker
    start_registry
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    export IMAGE=$REGISTRY/demo/app:1
    start_dockerd
    export ENGINE=$DOCKER_HOST
    export OCV_STATE_DIR=$STATE/state H100=$PROFILES/h100.json
    mkdir -p "$DOCKER_CONFIG/cli-plugins"
    ln -sf "$VPULL" "$DOCKER_CONFIG/cli-plugins/docker-vpull"
}

setup()
{
    export DOCKER_HOST=$ENGINE
    docker image rm -f "$IMAGE" >/dev/null 2>&1 3>&- || true
}

# present NAME LABEL: the engine has the image of that label under the name
present()
{
    run -0 env DOCKER_HOST="$ENGINE" docker image inspect --format '{{.RepoDigests}}' "$1"
    [[ $output == *"$(digest_of "$2")"* ]]
}

@test "metadata names the schema version that every client accepts" {
    run -0 "$DOCKER_CONFIG/cli-plugins/docker-vpull" docker-cli-plugin-metadata
    [ "$(jq -r .SchemaVersion <<<"$output")" = 0.1.0 ]
    [ "$(jq -r .Version <<<"$output")" = "$("$VPULL" --version | cut -d' ' -f2)" ]
}

@test "docker help vpull and docker vpull --help" {
    run -0 docker vpull --help
    [[ $output == *"Usage: "* ]]
    run -0 docker help vpull
    [[ $output == *"Usage: "* ]]
}

@test "the plugin pulls into docker, and exit codes come through" {
    run -0 --separate-stderr docker vpull --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
    run -2 docker vpull
    run -3 docker vpull --profile "$H100" --label rocm7.1 "$IMAGE"
    run -2 docker vpull --profile "$H100" --label absent "$IMAGE"
}

@test "docker vpull means docker, whatever the configuration says of vpull" {
    OCV_TO=oci:$STATE/elsewhere run -0 --separate-stderr docker vpull --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
    [ ! -e "$STATE/elsewhere" ]
    run -0 --separate-stderr docker vpull --to "oci:$STATE/elsewhere" --profile "$H100" "$IMAGE"
    [ -e "$STATE/elsewhere/index.json" ]
}

@test "docker --host before the word vpull wins over DOCKER_HOST" {
    DOCKER_HOST=unix://$STATE/absent.sock run -0 --separate-stderr docker -H "$ENGINE" vpull \
        --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
}

@test "a context: by option, by DOCKER_CONTEXT, as the current one" {
    unset DOCKER_HOST
    docker context create there --docker "host=$ENGINE" >/dev/null
    run -0 --separate-stderr docker --context there vpull --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
    DOCKER_CONTEXT=there run -0 --separate-stderr docker vpull --profile "$PROFILES/mi300x.json" "$IMAGE"
    present "$IMAGE" rocm7.1
    docker context use there >/dev/null
    run -0 --separate-stderr "$VPULL" --to docker --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
    DOCKER_HOST=unix://$STATE/absent.sock run -1 "$VPULL" --to docker --profile "$H100" "$IMAGE"
    docker context use default >/dev/null
    docker context rm there >/dev/null
}

@test "a context that does not exist is exit 2, an ssh address is said to be out of reach" {
    unset DOCKER_HOST
    DOCKER_CONTEXT=nowhere run -2 "$VPULL" --to docker --profile "$H100" "$IMAGE"
    [[ $output == *"docker context 'nowhere': not found"* ]]
    DOCKER_HOST=ssh://somewhere run ! "$VPULL" --to docker --profile "$H100" "$IMAGE"
    [[ $output == *"ssh://somewhere"* ]]
}

@test "an image for another architecture" {
    run -0 --separate-stderr docker vpull --platform linux/arm64 "$IMAGE"
    run -0 docker image inspect --format '{{.Architecture}} {{.Config.Labels.build}}' "$IMAGE"
    [ "$output" = "arm64 arm" ]
}

@test "a pinned index with --tag, a pinned manifest without a name" {
    index=$(skopeo inspect --raw --tls-verify=false "docker://$IMAGE" | sha256sum | cut -d' ' -f1)
    run -0 --separate-stderr docker vpull --profile "$H100" --tag "pinned:x" \
        "$REGISTRY/demo/app@sha256:$index"
    present pinned:x cuda12.8
    run -0 --separate-stderr docker vpull --profile "$H100" \
        "$REGISTRY/demo/app@$(digest_of cuda12.8)"
    present "$REGISTRY/demo/app@$(digest_of cuda12.8)" cuda12.8
}

@test "an engine's failure after 200 is exit 1, and nothing gets the name" {
    local blob
    mkimage "$STATE/layout" broken --layer 50000 --seed 9
    push_layout "$STATE/layout:broken" "$REGISTRY/demo/broken:1"
    blob=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/demo/broken:1" |
        jq -r '.layers[-1].digest')
    rm -rf "$STATE/registry/docker/registry/v2/blobs/sha256/${blob:7:2}/${blob#sha256:}"
    run -1 --separate-stderr docker vpull "$REGISTRY/demo/broken:1"
    # shellcheck disable=SC2154 # set by run
    [[ $stderr == *"vpull: docker: "* ]]
    run ! docker image inspect "$REGISTRY/demo/broken:1"
}

@test "the plugin ends with docker" {
    local client plugin i
    start_registry mute
    # stopped, it accepts and never answers
    kill -STOP "$(<"$STATE/pids/mute")"
    setsid docker vpull "$REGISTRY/demo/app:1" >/dev/null 2>&1 3>&- &
    client=$!
    for ((i = 0; i < 200; i++)); do
        plugin=$(pgrep -P "$client" -f docker-vpull) && break
        sleep 0.05
    done
    [ -n "$plugin" ]
    # before 25 docker has no way to tell its plugin and waits for it: the
    # terminal tells both, as one process group
    if (($(docker version --format '{{.Client.Version}}' 2>/dev/null | cut -d. -f1) >= 25)); then
        kill -TERM "$client"
    else
        kill -TERM -- "-$client"
    fi
    for ((i = 0; i < 200; i++)); do
        kill -0 "$plugin" 2>/dev/null || break
        sleep 0.05
    done
    run ! kill -0 "$plugin"
    wait "$client" || true
    kill -CONT "$(<"$STATE/pids/mute")"
    stop_daemon mute
}

@test "an engine behind TLS: DOCKER_CERT_PATH, docker's --tls options and a context with certificates" {
    require openssl
    local port certs=$STATE/certs
    make_certificates
    mkdir -p "$certs"
    cp "$STATE/ca.pem" "$certs/ca.pem"
    cp "$STATE/client.crt" "$certs/cert.pem"
    cp "$STATE/client.key" "$certs/key.pem"
    stop_daemon dockerd
    port=$(free_port)
    start_daemon dockerd dockerd --data-root "$STATE/docker" --exec-root "$STATE/docker-run" \
        --pidfile "$STATE/dockerd.pid" --config-file "$STATE/daemon.json" --iptables=false \
        --ip6tables=false --bridge=none -H "unix://$STATE/docker.sock" -H "tcp://127.0.0.1:$port" \
        --tlsverify --tlscacert "$STATE/ca.pem" --tlscert "$STATE/server.crt" --tlskey "$STATE/server.key"
    await dockerd curl -sf --unix-socket "$STATE/docker.sock" http://localhost/_ping
    unset DOCKER_HOST
    DOCKER_HOST=tcp://127.0.0.1:$port run -1 "$VPULL" --to docker --profile "$H100" "$IMAGE"
    DOCKER_HOST=tcp://127.0.0.1:$port DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$certs run -0 \
        "$VPULL" --to docker --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
    run -0 docker -H "tcp://127.0.0.1:$port" --tlsverify --tlscacert "$certs/ca.pem" \
        --tlscert "$certs/cert.pem" --tlskey "$certs/key.pem" vpull --profile "$PROFILES/mi300x.json" "$IMAGE"
    present "$IMAGE" rocm7.1
    docker context create secure --docker \
        "host=tcp://127.0.0.1:$port,ca=$certs/ca.pem,cert=$certs/cert.pem,key=$certs/key.pem" >/dev/null
    DOCKER_CONTEXT=secure run -0 "$VPULL" --to docker --profile "$H100" "$IMAGE"
    present "$IMAGE" cuda12.8
    docker context rm secure >/dev/null
}
