#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# As slurm.bats, for the Slurm of another release in OCV_SLURM_ROOT; ../slurm_cases.bash has what each test does.
bats_require_minimum_version 1.5.0

load ../harness
load ../images
load ../slurm
load ../slurm_cases

export SLURM_ROOT=${OCV_SLURM_ROOT:-}

@test "the controller has every feature as it was exported, in its order" {
    slurm_registers_features
}

@test "a dynamic node brings its features" {
    slurm_takes_dynamic_node
}

@test "nodes given for one to four members: the best build that has room" {
    slurm_gives_members
}

@test "each alternative alone gives the nodes that run its entry; short features the same" {
    slurm_gives_each_alternative
}

@test "a busy first alternative gives the second" {
    slurm_gives_second_when_busy
}

@test "the job itself: the entry that all its nodes run" {
    slurm_job_finds_its_entry
}

@test "a feature that no node has is not asked for" {
    slurm_missing_feature
}

@test "the longest constraint that we write is taken by the controller" {
    slurm_longest_constraint
}

@test "what Slurm would not take is exit 4, and shorter with --short" {
    slurm_too_long_constraint
}

@test "job_submit.lua: the comment names the image" {
    slurm_lua_comment
}

@test "job_submit.lua: hostile comments never reach a shell" {
    slurm_lua_hostile
}

@test "job_submit.lua: a registry that does not answer costs two seconds, and the job" {
    slurm_lua_silent_registry
}
