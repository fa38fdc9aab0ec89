#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon's bad days, seen from dockerd with containerd's store: once it has named the variant, a pull
# does without it.

load ../harness
load ../images
load ../variantd
load ../docker
load ../docker_baddays

setup_file()
{
    docker_here containerd >/dev/null || return 0
    start_days containerd
}

setup()
{
    local reason
    reason=$(docker_here containerd) || skip "$reason"
    release
    docker_forget
}

teardown()
{
    docker_here containerd >/dev/null || return 0
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

@test "kill -9 in mid-pull, for good: the variant, whose layers come from docker.io" {
    node
    in_mid_pull kill_supervised node
    [ "$status" = 0 ]
    has cuda12.8
    docker_forget
    pull_gives null
}

@test "a child is gone or of another size upstream: counted, and the default" {
    child_is_wrong
}

@test "an upstream of 429, 500, silence or rubbish: the default" {
    upstream_is_rubbish
}

# The last test: it takes the registry's door away.
@test "docker.io is away in mid-pull, too: docker says that it failed, and the retry works" {
    node
    in_mid_pull both_gone
    [ "$status" -ne 0 ]
    [[ $(tail -n 1 "$pulled") =~ ^(failed to copy|short read): ]]
    run ! docker image inspect demo/app:1
    start_gate "${REGISTRY#*:}" 443
    node
    pull_gives cuda12.8
}
