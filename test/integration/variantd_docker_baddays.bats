#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon's bad days, seen from dockerd (docker.io is a registry here: variantd_docker.bats).

load harness
load images
load variantd

setup_file()
{
    state_start
    require docker-registry skopeo dockerd docker runc jq openssl nsenter unshare ip
    make_programs "$STATE/layout"
    start_namespace
    start_registry tls
    push_within "$STATE/layout:app" demo/app:1
    push_within "$STATE/layout:app" demo/gone:1
    for mode in m429 m500 slow badgzip wrongdigest; do
        push_within "$STATE/layout:app" "$mode/app:1"
    done
    start_gate "${REGISTRY#*:}" 443
    PORT=$(free_port)
    CUDA=$(digest_of cuda12.8)
    export PORT CUDA
    printf 'registries:\n  docker.io: {ca: %s}\n' "$STATE/ca.pem" >"$STATE/variantd.yaml"
    # one retry, after 5 seconds (20.10 counts retries: another, after 10); by itself dockerd has five,
    # which take 75
    SSL_CERT_FILE=$STATE/ca.pem start_dockerd --max-download-attempts 2
    docker_mirrors "http://127.0.0.1:$PORT/"
}

teardown_file()
{
    state_stop
}

setup()
{
    release
    docker_forget
}

teardown()
{
    release
    stop_daemon node
}

node()
{
    start_supervised node "$PORT" --profile "$PROFILES/h100.json" --config "$STATE/variantd.yaml" "$@"
}

# has LABEL [IMAGE]: exactly that, complete, and it runs
has()
{
    local image=${2:-demo/app:1}
    [ "$(docker_digest "$image")" = "$(stored_for "$1")" ]
    docker save --output "$BATS_TEST_TMPDIR/saved" "$image"
    archive_is_whole "$BATS_TEST_TMPDIR/saved" "$(config_of "$1")"
    run -0 --separate-stderr docker run --rm --network none "$image"
    [ "$output" = "this is $1" ]
}

pull_gives()
{
    run -0 docker pull --quiet "${2:-demo/app:1}"
    has "$@"
}

@test "the daemon runs: the variant; it is stopped: the default entry" {
    node
    pull_gives cuda12.8
    stop_daemon node
    pull_gives null
}

@test "the daemon's upstream hangs: 504, counted, and the default entry" {
    start_registry stuck
    kill -STOP "$(<"$STATE/pids/stuck")"
    node --registry "docker.io=http://$REGISTRY"
    pull_gives null
    [ "$(outcome timeout)" -ge 1 ]
    kill -CONT "$(<"$STATE/pids/stuck")"
}

@test "the daemon hangs: the watchdog starts it again, and the next pull gets the variant" {
    local pid waiting
    node
    pid=$(daemon_pid node)
    kill -STOP "$pid"
    docker pull --quiet demo/app:1 >"$BATS_TEST_TMPDIR/docker" 2>&1 3>&- &
    waiting=$!
    watchdog_fires node "$pid"
    wait "$waiting"
    case $(docker_digest demo/app:1) in # whether the daemon was back before docker had gone on
    "$CUDA") has cuda12.8 ;;
    *) has null ;;
    esac
    docker_forget
    pull_gives cuda12.8
}

# in_mid_pull COMMAND...: with a layer of `docker pull` half through; the pull's output is in
# $pulled, its status in $status
in_mid_pull()
{
    local pulling
    pulled=$BATS_TEST_TMPDIR/docker
    status=0
    hold bytes 100000
    docker pull demo/app:1 >"$pulled" 2>&1 3>&- &
    pulling=$!
    held
    "$@"
    release
    wait "$pulling" || status=$?
}

@test "kill -9 in mid-pull: the service manager starts it again, and docker's own retry gets the variant" {
    node
    in_mid_pull kill -KILL "$(daemon_pid node)"
    grep -q "^ended [0-9]* 137" "$STATE/log/node"
    grep -q 'Retrying in' "$pulled"
    [ "$status" = 0 ]
    has cuda12.8
    docker_forget
    pull_gives cuda12.8
}

@test "kill -9 in mid-pull for good: dockerd says so, takes the default entry, and the next pull gets the variant" {
    node
    in_mid_pull kill_supervised node
    grep -q 'Retrying in' "$pulled"
    grep -q 'Attempting next endpoint for pull after error' "$STATE/log/dockerd"
    [ "$status" = 0 ]
    has null
    node
    pull_gives cuda12.8
}

@test "a child is gone or of another size upstream: counted, and the default entry" {
    local index
    node
    within curl -sf --cacert "$STATE/ca.pem" -X DELETE "https://registry-1.docker.io/v2/demo/gone/manifests/$CUDA"
    pull_gives null demo/gone:1
    index=$(within curl -sf --cacert "$STATE/ca.pem" -H "$ACCEPT_ALL" https://registry-1.docker.io/v2/demo/app/manifests/1 |
        jq -c --arg d "$CUDA" '(.manifests[] | select(.digest == $d) | .size) += 1')
    within curl -sf --cacert "$STATE/ca.pem" -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
        --data-binary "$index" https://registry-1.docker.io/v2/demo/app/manifests/lies
    run -0 docker pull --quiet demo/app:lies
    [ "$(docker_digest demo/app:lies)" = "sha256:$(printf %s "$index" | sha256sum | cut -d' ' -f1)" ]
    run -0 docker run --rm --network none demo/app:lies
    [ "$output" = "this is null" ]
    grep 'is not there' "$STATE/log/node"
    grep 'has another size' "$STATE/log/node"
}

@test "an upstream of 429, 500, silence or rubbish: the default entry" {
    local mode
    start_badregistry
    node --registry "docker.io=http://$BAD"
    for mode in m429 m500 slow badgzip wrongdigest; do
        docker_forget
        pull_gives null "$mode/app:1"
    done
    [ "$(outcome upstream_error)" -ge 3 ]
    [ "$(outcome timeout)" -ge 1 ]
}

# The last test: it takes the registry's door away.
@test "kill -9 in mid-pull, and docker.io is away, too: docker says that it failed, and the retry works" {
    node
    in_mid_pull both_gone
    [ "$status" -ne 0 ]
    [[ $(tail -n 1 "$pulled") == 'Get "https://registry-1.docker.io/v2/": '*'connection refused' ]]
    run ! docker image inspect demo/app:1
    start_gate "${REGISTRY#*:}" 443
    node
    pull_gives cuda12.8
}

both_gone()
{
    kill_supervised node
    stop_daemon gate
}
