#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/backendai: decisions over the library as built, always; with OCV_BACKENDAI_PYTHON, an interpreter that has
# backend.ai-manager and backend.ai-agent 26.9.6, Backend.AI's own agent and selector check it.
bats_require_minimum_version 1.5.0

load ../harness

setup_file()
{
    local kind
    state_start
    export NODES=$STATE/said INDEX=$STATE/index.json NODE=h100 PYTHONDONTWRITEBYTECODE=1
    export PYTHONPATH=$OCV_TOP/contrib/backendai:$OCV_TOP/contrib/python:$STATE/site
    [ -n "${OCV_INSTALLED:-}" ] || export LD_LIBRARY_PATH=$OCV_BUILD
    mkdir -p "$STATE/nodes/gang" "$NODES"
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
    for kind in h100new h100 a100 v100 mi300 gaudi atom; do
        "$VARIANTCTL" export backendai --profile "$STATE/nodes/$kind.json" >"$NODES/$kind.json"
    done
    # an A100's build that an H100 runs, too
    jq '(.manifests[].annotations["dev.ocivariant.properties"]? | select(. and contains("80_real"))) += ", nvidia :: sm_arch :: 80_virtual"' \
        "$OCV_TOP/test/data/claim/app.json" >"$INDEX"
    # this machine is one of them
    printf '#!/bin/sh\nexec %s "$@" --profile %s\n' "$VARIANTCTL" "$STATE/nodes/$NODE.json" >"$STATE/variantctl"
    chmod +x "$STATE/variantctl"
    [ -z "${OCV_BACKENDAI_PYTHON:-}" ] || prepare_backendai
}

# the package as pip would have installed it, and the selector with our patch
prepare_backendai()
{
    local path=ai/backend/manager/sokovan/scheduler/provisioner/selectors/pool.py info=$STATE/site/ocivariant_backendai-0.dist-info
    mkdir -p "$info" "$STATE/patched/${path%/*}"
    printf 'Metadata-Version: 2.1\nName: ocivariant-backendai\nVersion: 0\n' >"$info/METADATA"
    "$OCV_BACKENDAI_PYTHON" - "$OCV_TOP/contrib/backendai/pyproject.toml" >"$info/entry_points.txt" <<'PYTHON'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    for group, points in tomllib.load(file)["project"]["entry-points"].items():
        print(f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), sep="\n")
PYTHON
    export POOL=$STATE/patched/$path
    cp "$("$OCV_BACKENDAI_PYTHON" -c 'import ai.backend.manager as m; print(m.__path__[0])')/${path#ai/backend/manager/}" "$POOL"
}

# decide FILE CASE: with this system's python3
decide()
{
    SCRATCH=$BATS_TEST_TMPDIR VARIANTCTL=$STATE/variantctl python3 "$OCV_TOP/test/oracles/backendai/$1.py" "$2"
}

# check FILE [ARGUMENT...]: with Backend.AI
check()
{
    [ -n "${OCV_BACKENDAI_PYTHON:-}" ] || skip "OCV_BACKENDAI_PYTHON names no interpreter with Backend.AI"
    VARIANTCTL=$STATE/variantctl "$OCV_BACKENDAI_PYTHON" "$OCV_TOP/test/oracles/backendai/$1.py" "${@:2}"
}

@test "every case of the scripts is a test here" {
    local file name
    for file in decide pure profile database place; do
        sed -n 's/^def \([a-z_]*\)():$/\1/p' "$OCV_TOP/test/oracles/backendai/$file.py" | while read -r name; do
            [ "$file/$name" = place/pool ] || [ "$file/$name" = database/calls ] ||
                grep -qh "[a-z]* $file $name\$" "${BATS_TEST_FILENAME%.bats}"*.bats || { echo "$file $name" && false; }
        done
    done
}

# ---- without Backend.AI ----

@test "ctypes: classes, orders and placements are the library's" {
    decide decide library
}

@test "ctypes: what is wrong is an error in the library's words" {
    decide decide errors
}

@test "a gang gets one build, on agents that take it by themselves" {
    decide decide gang
}

@test "with a pin, all agents that run the build" {
    decide decide pinned
}

@test "a session of one member: agents by how good their build is, or what they lack" {
    decide decide single
}

@test "the best build that has room, else the best to wait for" {
    decide decide busy
}

@test "room is counted in members, by slots and spread" {
    decide decide room
}

@test "decided once for a session, and anew in the next pass" {
    decide decide once
}

@test "images without variants and silent agents are left alone" {
    decide decide unknown
}

@test "a later heartbeat replaces the profile" {
    decide decide change
}

@test "a recorded heartbeat has the profile, of the same class" {
    decide decide recorded
}

@test "without the C library: classes, orders, placements and reasons are the same" {
    decide pure same
}

@test "without the C library: sessions are decided alike, and without the Python package not at all" {
    local name
    for name in gang pinned single busy room once unknown change; do
        OCIVARIANT_LIBRARY=/nonexistent decide decide "$name" 2>"$STATE/pure.log"
        grep -q 'nonexistent.*the Python package ocivariant is used instead' "$STATE/pure.log"
    done
    run -1 env OCIVARIANT_LIBRARY=/nonexistent PYTHONPATH="$OCV_TOP/contrib/backendai" python3 -c \
        'from ocivariant_backendai.decide import rules; rules()'
    [[ "$output" == *"OSError: /nonexistent: cannot open shared object file"* ]] || { echo "$output" && false; }
}

@test "the plug-in says what variantctl export backendai prints" {
    decide profile same
}

@test "the plug-in keeps variantd's answer for a while" {
    decide profile rarely
}

@test "the plug-in outlives a program that fails" {
    decide profile trouble
}

@test "the database: what agents say is followed" {
    decide database agents
}

@test "the database: a session's image, and its index by variantctl" {
    decide database image
}

@test "the database: ordinary images, and registries that refuse" {
    decide database ordinary
}

@test "the database: a registry that hangs is not waited for" {
    decide database slow
}

@test "the database: without one, sessions are placed as ever" {
    decide database down
}

# ---- Backend.AI's own ----

@test "its tables in PostgreSQL, as agents' heartbeats fill them" {
    local bin user=() i
    bin=$(find /usr/lib/postgresql/*/bin -name postgres 2>/dev/null | tail -n 1)
    [ -n "${OCV_BACKENDAI_PYTHON:-}" ] || skip "OCV_BACKENDAI_PYTHON names no interpreter with Backend.AI"
    [ -n "$bin" ] || skip "no PostgreSQL"
    mkdir "$STATE/postgres"
    if [ "$(id -u)" = 0 ]; then # which it refuses
        chmod 711 "$STATE"
        chown nobody "$STATE/postgres"
        user=(setpriv --reuid nobody --clear-groups --)
    fi
    "${user[@]}" "${bin%/*}/initdb" -D "$STATE/postgres/data" -A trust -U manager --no-sync >/dev/null
    start_daemon postgres "${user[@]}" "$bin" -D "$STATE/postgres/data" -F -c listen_addresses= -k "$STATE/postgres"
    for ((i = 0; i < 300; i++)); do [ ! -S "$STATE/postgres/.s.PGSQL.5432" ] || break; sleep 0.1; done
    printf '#!/bin/sh\nexec cat %s\n' "$INDEX" >"$BATS_TEST_TMPDIR/variantctl"
    chmod +x "$BATS_TEST_TMPDIR/variantctl"
    export OCIVARIANT_VARIANTCTL=$BATS_TEST_TMPDIR/variantctl OCIVARIANT_DATABASE="postgresql://manager@/postgres?host=$STATE/postgres"
    check postgres
}

@test "its agent finds the plug-in, and the profile is in its heartbeat" {
    check heartbeat "$BATS_TEST_TMPDIR/heartbeat.json"
    # as it was recorded
    diff <(jq -S 'del(.compute_plugins.ocivariant.version)' "$BATS_TEST_TMPDIR/heartbeat.json") \
        <(jq -S 'del(.compute_plugins.ocivariant.version)' "$OCV_TOP/test/data/backendai/heartbeat.json")
}

@test "the patch applies to its selectors/pool.py, and changes two lines" {
    [ -n "${OCV_BACKENDAI_PYTHON:-}" ] || skip "OCV_BACKENDAI_PYTHON names no interpreter with Backend.AI"
    local patch=$OCV_TOP/contrib/backendai/selectors-pool-26.9.6.patch
    [ "$(grep -c '^+[^+]' "$patch")" = 2 ]
    patch -d "$STATE/patched" -p1 --fuzz=0 <"$patch"
}

@test "its selector, gangs of 2 to 7 on 9 agents: never mixed where one build has room" {
    check place gangs
}

@test "Backend.AI's own selector mixes builds in a gang" {
    check place mixed_without
}

@test "its selector, one member: the best build that has room" {
    check place singles
}

@test "its selector: busy agents are waited for, what can never be is said" {
    check place waiting
}

@test "its selector: several sessions in one pass" {
    check place passing
}

@test "Backend.AI's selector works as before without our library" {
    check place broken
}

@test "its selector on 2,000 agents (measured, not asserted)" {
    check place speed
}
