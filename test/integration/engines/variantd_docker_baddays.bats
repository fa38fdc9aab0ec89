#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Failures of the daemon as seen from dockerd with its classic store: everything comes from one
# endpoint, and an interrupted pull starts over, there or at another one.

load ../harness
load ../images
load ../variantd
load ../docker
load ../docker_baddays

setup_file()
{
    own_docker
    # one retry, after 5 seconds (20.10 counts retries: another, after 10); by itself dockerd has five,
    # which take 75
    start_days classic --max-download-attempts 2
}

setup()
{
    own_docker
    release
    docker_forget
}

teardown()
{
    release
    stop_daemon node
}

@test "the daemon runs: the variant; it is stopped: the default" {
    stopped
}

@test "the daemon's upstream hangs: the engine asks the registry itself, which is counted" {
    upstream_hangs
}

@test "the daemon hangs: the watchdog starts it again, and the next pull gets the variant" {
    node_hangs
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

@test "kill -9 in mid-pull for good: dockerd says so, takes the default, and the next pull gets the variant" {
    node
    in_mid_pull kill_supervised node
    grep -q 'Retrying in' "$pulled"
    grep -q 'Attempting next endpoint for pull after error' "$STATE/log/dockerd"
    [ "$status" = 0 ]
    has null
    node
    pull_gives cuda12.8
}

@test "a child is gone or of another size upstream: counted, and the default" {
    child_is_wrong
}

@test "an upstream of 429, 500, silence or rubbish: the default" {
    upstream_is_rubbish
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
