# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The daemon's bad days, seen from dockerd (`load docker_baddays` after docker): what is the same for both
# image stores.
#
#   start_days STORE [OPTION...]        docker.io behind a gate, and a dockerd that asks the mirror at $PORT
#   node [OPTION...]                    the mirror, under a service manager
#   has LABEL [IMAGE]                   exactly that variant, complete, and it runs
#   pull_gives LABEL [IMAGE]
#   in_mid_pull COMMAND...              with a layer of `docker pull` half through; the pull's output is in
#                                       $pulled, its status in $status

start_days()
{
    local mode
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
    SSL_CERT_FILE=$STATE/ca.pem start_docker "$@"
    docker_asks "127.0.0.1:$PORT"
}

node()
{
    start_supervised node "$PORT" --profile "$PROFILES/h100.json" --config "$STATE/variantd.yaml" "$@"
}

# shellcheck disable=SC2154 # `run` sets output
has()
{
    local image=${2:-demo/app:1}
    [ "$(docker_digest "$image")" = "$(stored_for "$1")" ]
    docker save --output "$BATS_TEST_TMPDIR/saved" "$image"
    archive_is_whole "$BATS_TEST_TMPDIR/saved" "$(config_of "$1")"
    run -0 --separate-stderr says "$image"
    [ "$output" = "this is $1" ]
}

pull_gives()
{
    run -0 docker pull --quiet "${2:-demo/app:1}"
    has "$@"
}

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
    # shellcheck disable=SC2034 # for the test
    wait "$pulling" || status=$?
}

both_gone()
{
    kill_supervised node
    stop_daemon gate
}

# ---- the days -----------------------------------------------------------------------------------

stopped()
{
    node
    pull_gives cuda12.8
    stop_daemon node
    pull_gives null
}

upstream_hangs()
{
    start_registry stuck
    kill -STOP "$(<"$STATE/pids/stuck")"
    node --registry "docker.io=http://$REGISTRY"
    pull_gives null
    [ "$(outcome timeout)" -ge 1 ]
    kill -CONT "$(<"$STATE/pids/stuck")"
}

node_hangs()
{
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

child_is_wrong()
{
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
    run -0 says demo/app:lies
    [ "$output" = "this is null" ]
    grep 'is not there' "$STATE/log/node"
    grep 'has another size' "$STATE/log/node"
}

upstream_is_rubbish()
{
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
