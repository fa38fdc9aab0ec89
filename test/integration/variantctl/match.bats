#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs on a fleet: variantctl match, variantctl fleet.
bats_require_minimum_version 1.5.0

load ../harness
load ../images
load ../schema

# Four H100, two of an older driver, a laptop, two ARM machines.
setup_file()
{
    local i fleet
    state_start
    require jq
    make_variants "$STATE/images"
    fleet=$STATE/fleet
    mkdir "$fleet"
    for i in 1 2 3 10; do cp "$PROFILES/h100.json" "$fleet/gpu$i.json"; done
    jq '(.. | objects | select(.name == "cuda_version_lower_bound").values) |= map(select(tonumber < 12.5))' \
        "$PROFILES/h100.json" >"$fleet/old1.json"
    cp "$fleet/old1.json" "$fleet/old2.json"
    cp "$PROFILES/laptop.json" "$fleet/laptop.json"
    for i in 1 2; do
        jq '.platform = {os: "linux", architecture: "arm64", variant: "v8"} | .namespaces = []' \
            "$PROFILES/laptop.json" >"$fleet/arm$i.json"
    done
    "$VARIANTCTL" fleet pack "$fleet" >"$STATE/packed"
}

match()
{
    "$VARIANTCTL" match "$@" "oci:$STATE/images:app"
}

@test "one build for all members: the best that has room, and the digest that pins it" {
    run -0 --separate-stderr match --profiles "$STATE/fleet" --replicas 4
    [ "${lines[2]}" = "Fleet   9 nodes, 4 classes" ]
    [ "${lines[4]}" = "member  4  cuda12.8" ]
    [ "${lines[5]}" = "  image  oci:$STATE/images@$(digest_of cuda12.8)" ]
    [ "${lines[6]}" = "  nodes  gpu[1-3,10]" ]
    [ "${#lines[@]}" = 7 ]
    # five: the CPU build, which the H100s would not take by themselves
    run -0 --separate-stderr match --profiles "$STATE/fleet" --replicas 5
    [ "${lines[4]}" = "member  5  cpu.v3" ]
    [ "${lines[5]}" = "  image  oci:$STATE/images@$(digest_of cpu.v3)" ]
    [ "${lines[6]}" = "  nodes  gpu[1-2],laptop,old[1-2]" ]
    [ "${lines[7]}" = "  pin    needed: left alone, 2 of them would take another entry" ]
    [ "$(match --profiles "$STATE/fleet" --replicas 5 --print-ref)" = "oci:$STATE/images@$(digest_of cpu.v3)" ]
}

@test "unpinned: only nodes that take the build by themselves" {
    [ "$(match --profiles "$STATE/fleet" --policy unpinned --replicas 4 --print-ref)" = "oci:$STATE/images@$(digest_of cuda12.8)" ]
    run -0 --separate-stderr match --profiles "$STATE/fleet" --policy unpinned --replicas 3 --exclude gpu1
    [ "${lines[6]}" = "  nodes  gpu[2-3,10]" ]
    run -0 --separate-stderr match --profiles "$STATE/fleet" --policy unpinned --replicas 3 --exclude 'gpu[1-2]'
    [[ ${lines[4]} == "member  3  cpu.v3" && ${lines[6]} == "  nodes  laptop,old[1-2]" && ${#lines[@]} = 7 ]]
    run -3 --separate-stderr match --profiles "$STATE/fleet" --policy unpinned --replicas 5
    [ "$(match --profiles "$STATE/fleet" --policy unpinned --pin "$(digest_of cpu.v3)" --format json | jq -c '[.roles[0].members[].node] | sort')" = '["laptop","old1","old2"]' ]
}

@test "every node's own choice is what resolve says of its profile" {
    local node digest n=0
    match --profiles "$STATE/fleet" --policy best --replicas 9 --print-ref >"$BATS_TEST_TMPDIR/refs"
    while read -r node digest; do
        [ "${digest#*@}" = "$("$VARIANTCTL" resolve --profile "$STATE/fleet/$node.json" "oci:$STATE/images:app" | jq -r .selected.digest)" ]
        n=$((n + 1))
    done <"$BATS_TEST_TMPDIR/refs"
    [ "$n" = 9 ]
    # the same of seven nodes of a generated fleet, each checked by its class
    "$VARIANTCTL" fleet generate --seed 5 --nodes 60 --classes 7 "$FLEET_DIR"/*.json >"$BATS_TEST_TMPDIR/lines"
    match --profiles "$BATS_TEST_TMPDIR/lines" --policy best --replicas 60 --print-ref >"$BATS_TEST_TMPDIR/refs"
    [ "$(sort -u "$BATS_TEST_TMPDIR/refs" | wc -l)" = 60 ]
    for n in 1 2 3 4 5 6 7; do
        sed -n "${n}p" "$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/one.json"
        digest=$("$VARIANTCTL" resolve --profile "$BATS_TEST_TMPDIR/one.json" "oci:$STATE/images:app" | jq -r .selected.digest)
        grep -qx "$(jq -r .hostname "$BATS_TEST_TMPDIR/one.json") oci:$STATE/images@$digest" "$BATS_TEST_TMPDIR/refs"
    done
}

@test "an allocation that exists: the best entry that all its nodes run" {
    run -0 match --profiles "$STATE/packed" --policy common --nodes 'gpu[1-2,10]' --print-ref
    [ "$output" = "oci:$STATE/images@$(digest_of cuda12.8)" ]
    run -0 match --profiles "$STATE/packed" --policy common --nodes 'gpu1,old1' --print-ref
    [ "$output" = "oci:$STATE/images@$(digest_of cpu.v3)" ]
    run -3 --separate-stderr match --profiles "$STATE/packed" --policy common --nodes 'gpu1,arm1' --print-ref
    [ -z "$output" ]
    [[ $stderr == *"no placement for member"* ]]
    # named twice, it is one
    run -0 match --profiles "$STATE/packed" --policy common --nodes 'gpu[1-2],gpu1' --format json
    [ "$(jq -c '.roles[0] | [.count, (.members | length)]' <<<"$output")" = '[2,2]' ]
    run -2 --separate-stderr match --profiles "$STATE/packed" --policy common --nodes 'gpu1,odl1' --print-ref
    [ "${stderr_lines[0]}" = "variantctl: --nodes: the fleet has no node 'odl1'; did you mean 'old1'?" ]
    run -2 --separate-stderr match --profiles "$STATE/packed" --policy common --nodes 'gpu[1-' --print-ref
    [[ ${stderr_lines[0]} == "variantctl: --nodes: "* ]]
}

@test "roles share the fleet, each with a build of its own" {
    run -0 --separate-stderr match --profiles "$STATE/fleet" --role worker=4 --role head=1:arm64 --role data=2 --format json
    echo "$output" >"$BATS_TEST_TMPDIR/out.json"
    [ "$(jq -c '[.roles[] | [.name, .architecture, .count, (.members | length)]]' <<<"$output")" = \
        '[["worker",null,4,4],["head","arm64",1,1],["data",null,2,2]]' ]
    [ "$(jq -c '[.roles[].entry.label]' <<<"$output")" = '["cuda12.8",null,"cpu.v3"]' ]
    [ "$(jq -c '[.roles[].members[].node] | length == (unique | length)' <<<"$output")" = true ]
    run -0 match --profiles "$STATE/fleet" --role worker=4 --role head=1:aarch64 --print-ref
    [ "${lines[0]}" = "worker oci:$STATE/images@$(digest_of cuda12.8)" ]
    [[ ${lines[1]} == "head oci:"* ]]
    run -3 --separate-stderr match --profiles "$STATE/fleet" --role worker=4 --role head=1:riscv64
    [ "${stderr_lines[0]}" = "variantctl: oci:$STATE/images:app: no placement for head: no node is riscv64" ]
}

@test "a job that lost a node: which nodes run this very child" {
    local digest
    digest=$(digest_of cuda12.8)
    run -0 match --profiles "$STATE/fleet" --pin "$digest"
    [ "${lines[6]}" = "  nodes  gpu[1-3,10]" ]
    run -0 match --profiles "$STATE/fleet" --pin "x/app@$digest" --exclude 'gpu[1-2]' --replicas 1
    [ "${lines[6]}" = "  nodes  gpu3" ]
    run -3 match --profiles "$STATE/fleet" --pin "$digest" --replicas 5
    run -2 --separate-stderr match --profiles "$STATE/fleet" --pin "sha256:$(printf '0%.0s' {1..64})"
    [[ ${stderr_lines[0]} == "variantctl: the index has no entry sha256:000"* ]]
    # slots are what a file says
    jq -c --arg name gpu1 '{name: $name, slots: 4000000000, profile: .}' "$PROFILES/h100.json" >"$BATS_TEST_TMPDIR/huge.jsonl"
    run -4 --separate-stderr match --profiles "$BATS_TEST_TMPDIR/huge.jsonl" --pin "$digest"
    [[ ${stderr_lines[0]} == "variantctl: --pin: the nodes that run it have slots for 4000000000 members, more than 1000000"* ]]
}

@test "no placement: how many members too few, and the property that costs most of them" {
    run -3 --separate-stderr match --profiles "$STATE/fleet" --replicas 6 --label cuda12.8 --format json
    echo "$output" >"$BATS_TEST_TMPDIR/out.json"
    [ "$(jq -c '.nearest[0] | [.entry.label, .room, .missing, .cost, .property]' <<<"$output")" = \
        '["cuda12.8",4,2,3,"nvidia :: cuda_version_lower_bound :: 12.8"]' ]
    [ "${stderr_lines[0]}" = "variantctl: oci:$STATE/images:app: no placement for member: the nearest entry, cuda12.8, has room for 4, 2 too few" ]
    [ "${stderr_lines[1]}" = "hint: nvidia :: cuda_version_lower_bound :: 12.8, which 3 nodes lack, costs most" ]
    require_validator
    valid match "$BATS_TEST_TMPDIR/out.json"
}

@test "what programs read is as its schema says" {
    local dir=$BATS_TEST_TMPDIR n=0
    require_validator
    match --profiles "$STATE/fleet" --role a=2 --role b=1:arm64 --format json >"$dir/roles.json"
    match --profiles "$STATE/fleet" --policy best --replicas 9 --format json >"$dir/best.json"
    match --profiles "$STATE/fleet" --policy common --nodes gpu1,arm1 --format json >"$dir/common.json" || [ $? = 3 ]
    match --profiles "$STATE/fleet" --role a=4 --role b=4 --label cuda12.8 --format json >"$dir/shared.json" || [ $? = 3 ]
    [ "$(jq -c .nearest "$dir/shared.json")" = '[{"role":null,"entry":null}]' ]
    valid match "$dir"/{roles,best,common,shared}.json
    "$VARIANTCTL" fleet pack "$STATE/fleet" | while read -r line; do
        n=$((n + 1))
        echo "$line" >"$dir/$n.line.json"
    done
    [ "$(find "$dir" -name '*.line.json' | wc -l)" = 14 ]
    valid fleet "$dir"/*.line.json
    jq -c .profile "$dir/2.line.json" >"$dir/class.json"
    valid profile "$dir/class.json"
}

@test "a fleet is a directory, lines, a packed file, or what kubectl prints: the answer is the same" {
    local dir=$BATS_TEST_TMPDIR name
    match --profiles "$STATE/fleet" --replicas 5 --format json >"$dir/wanted"
    for name in "$STATE"/fleet/*.json; do
        jq -c --arg name "$(basename "$name" .json)" '{name: $name, profile: .}' "$name"
    done >"$dir/lines"
    jq -s '{kind: "NodeList", items: (map({metadata: {name, annotations: {"dev.ocivariant/profile": (.profile | tostring)}}})
        + [{metadata: {name: "bare"}}])}' "$dir/lines" >"$dir/kubectl"
    diff "$dir/wanted" <(match --profiles "$dir/lines" --replicas 5 --format json)
    diff "$dir/wanted" <(match --profiles "$STATE/packed" --replicas 5 --format json)
    diff "$dir/wanted" <(match --profiles - --replicas 5 --format json <"$dir/lines")
    diff "$dir/wanted" <(match --profiles "$dir/kubectl" --replicas 5 --format json 2>"$dir/warned")
    [ "$(cat "$dir/warned")" = "variantctl: warning: $dir/kubectl: 1 node without the annotation dev.ocivariant/profile left out" ]
    cmp <("$VARIANTCTL" fleet pack - <"$dir/lines") "$STATE/packed"
    cmp <("$VARIANTCTL" fleet pack "$STATE/packed") "$STATE/packed"
}

@test "cordoned and full nodes are not taken, those of a lower weight first" {
    local file=$BATS_TEST_TMPDIR/nodes
    jq -c '{name: "a", weight: 5, profile: .}, {name: "b", excluded: true, profile: .}, {name: "c", slots: 0, profile: .},
        {name: "d", slots: 2, profile: .}' "$PROFILES/h100.json" >"$file"
    run -0 match --profiles "$file" --replicas 3 --format json
    [ "$(jq -c '[.roles[0].members[].node]' <<<"$output")" = '["d","d","a"]' ]
    run -3 match --profiles "$file" --replicas 4
    # packed, they are still so
    "$VARIANTCTL" fleet pack "$file" >"$file.packed"
    run -0 match --profiles "$file.packed" --replicas 3 --format json
    [ "$(jq -c '[.roles[0].members[].node]' <<<"$output")" = '["d","d","a"]' ]
}

@test "bad nodes are named, left out and counted; --strict: exit 4" {
    local dir=$BATS_TEST_TMPDIR
    jq -c '{name: "a", profile: .}' "$PROFILES/h100.json" >"$dir/lines"
    echo '{"name": "b", "profile": {"schema": "x"}}' >>"$dir/lines"
    jq -c '{name: "c", profile: .}' "$PROFILES/h100.json" >>"$dir/lines"
    run -4 --separate-stderr match --profiles "$dir/lines" --replicas 1 --strict
    [[ ${stderr_lines[0]} == "variantctl: $dir/lines: line 2: "* ]]
    run -4 --separate-stderr "$VARIANTCTL" fleet pack --strict "$dir/lines"
    [ -z "$output" ]
    run -0 --separate-stderr match --profiles "$dir/lines" --replicas 2
    [ "${lines[2]}" = "Fleet   2 nodes, 1 classes, 1 bad ones left out" ]
    [[ ${stderr_lines[0]} == "variantctl: warning: 1 bad node left out, the first: $dir/lines: line 2: "* ]]
    jq -c '{name: "a", profile: .}' "$PROFILES/h100.json" >>"$dir/lines"
    for option in --strict ""; do
        # shellcheck disable=SC2086 # none or one word
        run -4 --separate-stderr match --profiles "$dir/lines" --replicas 1 $option
        [[ $option == --strict || ${stderr_lines[0]} == "variantctl: $dir/lines: line 4: "*"'a'"* ]] || { echo "$stderr" && false; }
    done
    # what a node announces of itself
    jq -c '{items: [{metadata: {name: "evil", annotations: {"dev.ocivariant/profile": "{"}}},
        {metadata: {name: "good", annotations: {"dev.ocivariant/profile": tojson}}}]}' "$PROFILES/h100.json" >"$dir/nodes"
    run -0 --separate-stderr match --profiles "$dir/nodes" --replicas 1
    [[ ${stderr_lines[0]} == "variantctl: warning: 1 bad node left out, the first: $dir/nodes: "*"node evil"* ]]
    run -4 match --profiles "$dir/nodes" --replicas 1 --strict
    # of several, ten are named; the others are counted
    bad() # N
    {
        jq -c --argjson n "$1" '{items: ([range($n) | {metadata: {name: "evil-\(. + 1)", annotations: {"dev.ocivariant/profile": "{"}}}] +
            [{metadata: {name: "good", annotations: {"dev.ocivariant/profile": tojson}}}])}' "$PROFILES/h100.json" >"$dir/nodes"
    }
    bad 3
    run -0 --separate-stderr match --profiles "$dir/nodes" --replicas 1
    [[ ${stderr_lines[0]} == "variantctl: warning: 3 bad nodes left out, the first: $dir/nodes: items[0]: node evil-1: "*"; then node evil-2, node evil-3" ]]
    bad 12
    run -0 --separate-stderr match --profiles "$dir/nodes" --replicas 1
    [[ ${stderr_lines[0]} == *" 12 bad nodes left out, "*"; then node evil-2, node evil-3, "*", node evil-10, ..." ]]
    mkdir "$dir/some"
    cp "$PROFILES/h100.json" "$dir/some/good.json"
    for name in a b c; do
        echo '{' >"$dir/some/$name.json"
    done
    run -0 --separate-stderr match --profiles "$dir/some" --replicas 1
    [[ ${stderr_lines[0]} == *" 3 bad nodes left out, the first: $dir/some/a.json: "*"; then $dir/some/b.json, $dir/some/c.json" ]]
    # a packed file that was cut, a directory without profiles, nothing at all
    head -n 8 "$STATE/packed" >"$dir/cut"
    run -4 --separate-stderr match --profiles "$dir/cut" --replicas 1
    [[ ${stderr_lines[0]} == "variantctl: $dir/cut: not complete: "* ]]
    mkdir "$dir/empty"
    run -4 match --profiles "$dir/empty" --replicas 1
    run -4 match --profiles /dev/null --replicas 1
    run -1 match --profiles "$dir/none" --replicas 1
}

@test "wrong requests are said in a sentence, exit 2" {
    local fleet="--profiles $STATE/packed"
    wrong()
    {
        local words=$1
        shift
        run -2 --separate-stderr match "$@"
        [ "${stderr_lines[0]}" = "variantctl: $words" ] || { echo "$stderr" && false; }
    }
    # shellcheck disable=SC2086
    {
        wrong "match: give --profiles and one IMAGE, oci:DIR[:TAG] or --index" --replicas 1
        wrong "match: give --replicas or --role" $fleet
        wrong "invalid value '0' for --replicas: a number from 1 to 1000000" $fleet --replicas 0
        wrong "invalid value '1x' for --replicas: a number from 1 to 1000000" $fleet --replicas 1x
        wrong "--replicas is given once, and not with --role" $fleet --replicas 1 --role a=1
        wrong "--replicas is given once, and not with --role" $fleet --role a=1 --replicas 1
        wrong "--role: 'a' is given twice" $fleet --role a=1 --role a=2
        wrong "--role: 'a=' is not NAME=N[:ARCH], N from 1 to 1000000" $fleet --role a=
        wrong "--role: 'a=1:' is not NAME=N[:ARCH], N from 1 to 1000000" $fleet --role a=1:
        wrong "invalid value 'bets' for --policy: homogeneous, best, common or unpinned" $fleet --replicas 1 --policy bets
        wrong "match: --policy common places nothing: give the job's --nodes, and neither --replicas nor --role" $fleet --policy common
        wrong "match: --pin requires one role with one build" $fleet --pin sha256:0 --policy best --replicas 1
    }
}

@test "what a user asks of resolve can be asked of a fleet" {
    run -0 match --profiles "$STATE/packed" --replicas 4 --disable nvidia --print-ref
    [ "$output" = "oci:$STATE/images@$(digest_of cpu.v3)" ]
    run -0 match --profiles "$STATE/packed" --replicas 6 --override nvidia::cuda_version_lower_bound=12.8 --print-ref
    [ "$output" = "oci:$STATE/images@$(digest_of cuda12.8)" ]
    run -3 match --profiles "$STATE/packed" --replicas 5 --require nvidia --print-ref
    run -2 --separate-stderr match --profiles "$STATE/packed" --replicas 5 --require nvidai
    [[ $stderr == *"nvidia"* ]]
    run -2 --separate-stderr match --profiles "$STATE/packed" --replicas 1 --label cuda12.7
    [ -z "$output" ] && [[ $stderr == *"--label: no variant 'cuda12.7' in oci:$STATE/images:app: it has "* ]]
}

@test "a generated fleet is the same for the same seed, and has the classes asked for" {
    local dir=$BATS_TEST_TMPDIR
    "$VARIANTCTL" fleet generate --seed 7 --nodes 200 --classes 12 "$FLEET_DIR"/*.json >"$dir/a"
    "$VARIANTCTL" fleet generate --seed 7 --nodes 200 --classes 12 "$FLEET_DIR"/*.json >"$dir/b"
    "$VARIANTCTL" fleet generate --seed 8 --nodes 200 --classes 12 "$FLEET_DIR"/*.json >"$dir/c"
    cmp "$dir/a" "$dir/b"
    run ! cmp -s "$dir/a" "$dir/c"
    [ "$("$VARIANTCTL" fleet pack "$dir/a" | head -n 1)" = '{"schema":"dev.ocivariant.fleet/v1","classes":12,"nodes":200}' ]
    head -n 1 "$dir/a" >"$dir/one.json"
    require_validator
    valid profile "$dir/one.json"
    run -2 "$VARIANTCTL" fleet generate --nodes 5 "$PROFILES/h100.json"
    run -2 --separate-stderr "$VARIANTCTL" fleet generate --seed 1 --nodes 0 "$PROFILES/h100.json"
    [ "${stderr_lines[0]}" = "variantctl: invalid value '0' for --nodes: a number from 1 to 1000000" ]
}
