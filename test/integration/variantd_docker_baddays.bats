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
    push app demo/app:1
    push app demo/gone:1
    start_gate "${REGISTRY#*:}" 443
    PORT=$(free_port)
    CUDA=$(digest_of cuda12.8)
    INDEX=$(index_digest)
    export PORT CUDA INDEX
    printf 'registries:\n  docker.io: {ca: %s}\n' "$STATE/ca.pem" >"$STATE/variantd.yaml"
    # one retry, after 5 seconds; by itself dockerd has five, which take 75
    SSL_CERT_FILE=$STATE/ca.pem start_dockerd --max-download-attempts 1
    echo "{\"registry-mirrors\": [\"http://127.0.0.1:$PORT/\"]}" >"$STATE/daemon.json"
    kill -HUP "$(<"$STATE/pids/dockerd")"
    await dockerd mirror_is_set
}

mirror_is_set()
{
    docker info | grep -q "http://127.0.0.1:$PORT/"
}

teardown_file()
{
    state_stop
}

push()
{
    within skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify=false \
        "oci:$STATE/layout:$1" "docker://$REGISTRY/$2"
}

setup()
{
    release
    docker images --quiet | sort -u | xargs --no-run-if-empty docker rmi --force >/dev/null
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

digest_stored()
{
    docker image inspect --format '{{index .RepoDigests 0}}' "$1" | sed 's/.*@//'
}

# pull_gives LABEL [IMAGE]
pull_gives()
{
    local image=${2:-demo/app:1}
    run -0 docker pull --quiet "$image"
    run -0 docker run --rm --network none "$image"
    [ "$output" = "this is $1" ]
    [ "$1" = null ] || [ "$(digest_stored "$image")" = "$(digest_of "$1")" ]
    [ "$1" != null ] || [ "$(digest_stored "$image")" = "$INDEX" ]
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
    for _ in {1..600}; do
        [ "$(grep -c '^ready' "$STATE/log/node")" = 1 ] || break
        sleep 0.05
    done
    grep -q "^watchdog $pid\$" "$STATE/log/node"
    wait "$waiting"
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

kill_for_good()
{
    kill -KILL "$(<"$STATE/pids/node")" "$(daemon_pid node)"
    wait "$(<"$STATE/pids/node")" || true
    rm "$STATE/pids/node"
}

@test "kill -9 in mid-pull: the service manager starts it again, and docker's own retry gets the variant" {
    node
    in_mid_pull kill -KILL "$(daemon_pid node)"
    grep -q "^ended [0-9]* 137" "$STATE/log/node"
    grep -q 'Retrying in' "$pulled"
    [ "$status" = 0 ]
    [ "$(digest_stored demo/app:1)" = "$CUDA" ]
    run -0 docker run --rm --network none demo/app:1
    [ "$output" = "this is cuda12.8" ]
}

@test "kill -9 in mid-pull for good: dockerd says so, takes the default entry, and the next pull gets the variant" {
    node
    in_mid_pull kill_for_good
    grep -q 'Attempting next endpoint for pull after error' "$STATE/log/dockerd"
    [ "$status" = 0 ]
    [ "$(digest_stored demo/app:1)" = "$INDEX" ]
    run -0 docker run --rm --network none demo/app:1
    [ "$output" = "this is null" ]
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
    INDEX=sha256:$(printf %s "$index" | sha256sum | cut -d' ' -f1) pull_gives null demo/app:lies
    grep 'is not there' "$STATE/log/node"
    grep 'has another size' "$STATE/log/node"
}
