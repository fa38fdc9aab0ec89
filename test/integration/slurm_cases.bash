# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What slurm.bats tests with the Slurm of this machine, and slurm_root.bats with that of another release (`load
# slurm_cases` after slurm): set-up, teardown and a function for each test. SLURM_ROOT: the other one's tree, or empty.

# features of 1 to 60 letters, for the last node
pad()
{
    local i text=p
    for ((i = 0; i < 60; i++)); do
        printf ,%s "$text"
        text+=p
    done
}

# Two H100, an MI300X, an old laptop; and the images of an index.
setup_file()
{
    slurm_here >/dev/null || return 0
    state_start
    [ -n "${SLURM_ROOT:-}" ] || require slurmctld slurmd srun munged
    require jq docker-registry skopeo
    make_variants "$STATE/images"
    start_registry
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    mkdir "$STATE/fleet"
    cp "$PROFILES/h100.json" "$STATE/fleet/n1.json"
    cp "$PROFILES/h100.json" "$STATE/fleet/n2.json"
    cp "$PROFILES/mi300x.json" "$STATE/fleet/n3.json"
    jq '(.namespaces[] | select(.namespace == "x86_64").features[] | select(.name == "level").values) = ["v2", "v1"]
        | .platform.variant = "v2"' "$PROFILES/laptop.json" >"$STATE/fleet/n4.json"
    printf 'registries:\n  %s: {insecure: true}\n' "$REGISTRY" >"$STATE/config.yaml"
    sed -e "s|^local VARIANTCTL = .*|local VARIANTCTL = \"@VARIANTCTL@\"|" -e "s|^local FEATURES = .*|local FEATURES = \"$STATE/features\"|" \
        -e "s|^local OPTIONS = .*|local OPTIONS = \"--config $STATE/config.yaml\"|" \
        "$OCV_TOP/contrib/slurm/job_submit.lua" >"$STATE/job_submit.lua"
    LUA=$STATE/job_submit.lua start_slurm \
        "$("$VARIANTCTL" export slurm --short --profiles "$STATE/fleet" | sed 's/NodeName=\([^ ]*\) Feature=/\1 /')$(pad)"
    sinfo -ho %f >"$STATE/features"
}

setup()
{
    local reason
    reason=$(slurm_here) || skip "$reason"
}

teardown_file()
{
    [ -z "${SLURM_CONF:-}" ] || stop_slurm
    state_stop
}

claim()
{
    "$VARIANTCTL" claim --for slurm --features "$(sinfo -ho %f)" "$@" "oci:$STATE/images:app"
}

slurm_registers_features()
{
    [ "$(sinfo -ho %f -n n3)" = "$("$VARIANTCTL" export slurm --short --features --profile "$PROFILES/mi300x.json")" ]
    [ "$(sinfo -ho %f | wc -l)" = 3 ]
    run -0 "$VARIANTCTL" export slurm --profile "$PROFILES/mi300x.json"
    [[ $output == Feature=*amd::gfx_arch::gfx942,* && $output != *,v???????? ]]
}

registered() { [ "$(sinfo -ho %T -n "$1")" = idle ]; }

slurm_takes_dynamic_node()
{
    echo "127.0.77.5 n5" >>"$STATE/slurm/hosts"
    start_slurmd n5 -Z --conf "CPUs=4 RealMemory=100 $("$VARIANTCTL" export slurm --profile "$PROFILES/laptop.json")"
    await slurmd-n5 registered n5
    scontrol update NodeName=n5 NodeAddr=127.0.77.5 # it came from 127.0.0.1, where all nodes are
    [ "$(sinfo -ho %f -n n5)" = "$("$VARIANTCTL" export slurm --features --profile "$PROFILES/laptop.json")" ]
    [ "$(given -N1 -w n5 "$(claim --label cpu.v3)")" = n5 ]
    stop_daemon slurmd-n5
    scontrol delete NodeName=n5
    [ "$(sinfo -ho %N)" = "$(sinfo -ho %N -n n1,n2,n3,n4)" ]
}

slurm_gives_members()
{
    local constraint
    constraint=$(claim)
    [ "$constraint" = "--constraint=[(nvidia::cuda_version_lower_bound::12.8&nvidia::sm_arch::90_real)|(amd::gfx_arch::gfx942&amd::gfx_arch::gfx942)|(x86_64::level::v3&x86_64::level::v3)|(x86_64::level::v2&x86_64::level::v2)]" ]
    [ "$(given -N1 "$constraint")" = n1 ]
    [ "$(given -N2 "$constraint")" = "n1 n2" ]
    [ "$(given -N3 "$constraint")" = "n1 n2 n3" ]
    [ "$(given -N4 "$constraint")" = "n1 n2 n3 n4" ]
}

slurm_gives_each_alternative()
{
    local option
    for option in "" --short; do
        # shellcheck disable=SC2086 # none or one word
        {
            [ "$(given -N2 "$(claim $option --label cuda12.8)")" = "n1 n2" ]
            [ "$(given -N1 "$(claim $option --label rocm7.1)")" = n3 ]
            [ "$(given -N3 "$(claim $option --label cpu.v3)")" = "n1 n2 n3" ]
            [ "$(given -N4 "$(claim $option --label null)")" = "n1 n2 n3 n4" ]
            [ "$(given -N2 "$(claim $option)")" = "n1 n2" ]
            [ "$(given -N3 "$(claim $option)")" = "n1 n2 n3" ]
            [[ "$(given -N3 "$(claim $option --label cuda12.8)")" == *"error"* ]]
        }
    done
}

slurm_gives_second_when_busy()
{
    local job
    job=$(sbatch --parsable -N2 --exclusive -w n1,n2 --output /dev/null --wrap 'sleep 600')
    until [ "$(squeue -h -j "$job" -o %T)" = RUNNING ]; do sleep 0.1; done
    run given -N1 "$(claim)"
    scancel "$job"
    [ "$output" = n3 ]
    until slurm_idle; do sleep 0.1; done
    [ "$(given -N1 "$(claim)")" = n1 ]
}

slurm_job_finds_its_entry()
{
    local packed=$STATE/packed
    "$VARIANTCTL" fleet pack "$STATE/fleet" >"$packed"
    cat >"$STATE/job" <<JOB
#!/bin/sh
$SLURM_VARIANTCTL match --policy common --profiles $packed --nodes "\$SLURM_JOB_NODELIST" --print-ref oci:$STATE/images:app
JOB
    for n in 2=cuda12.8 3=cpu.v3 4=null; do
        rm -f "$STATE/job.out"
        sbatch --wait --quiet -N"${n%=*}" "$(claim)" --output "$STATE/job.out" "$STATE/job"
        [ "$(cat "$STATE/job.out")" = "oci:$STATE/images@$(digest_of "${n#*=}")" ]
    done
}

slurm_missing_feature()
{
    # without AMD nodes Slurm would refuse the alternative's feature, and with it everything
    run given -N1 '--constraint=[(nvidia::sm_arch::90_real&nvidia::sm_arch::90_real)|(amd::gfx_arch::gfx90a&amd::gfx_arch::gfx90a)]'
    [[ $output == *"Invalid feature specification"* ]]
    scontrol update NodeName=n3 AvailableFeatures=x86_64::level::v3,x86_64::level::v2 ActiveFeatures=x86_64::level::v3,x86_64::level::v2
    run claim
    eval "$("$VARIANTCTL" export slurm --short --scontrol --node n3 --profile "$PROFILES/mi300x.json")"
    [ "$output" = "--constraint=[(nvidia::cuda_version_lower_bound::12.8&nvidia::sm_arch::90_real)|(x86_64::level::v3&x86_64::level::v3)|(x86_64::level::v2&x86_64::level::v2)]" ]
    [ "$(sinfo -ho %f -n n3)" = "$("$VARIANTCTL" export slurm --short --features --profile "$PROFILES/mi300x.json")" ]
    # nothing that any node has: no constraint at all
    run -3 --separate-stderr "$VARIANTCTL" claim --for slurm --features "$(printf '(null)\nib,gpu')" --label cuda12.8 "oci:$STATE/images:app"
    [ -z "$output" ]
}

slurm_longest_constraint()
{
    local max constraint alternative='(x86_64::level::v1&x86_64::level::v1)' n
    max=$(sed -n 's/^#define OCV_SLURM_CONSTRAINT_MAX \([0-9]*\)u$/\1/p' "$OCV_TOP/lib/internal/slurm/slurm.h")
    for n in "$max" 1025; do
        constraint="[$alternative"
        while [ $((${#constraint} + ${#alternative} + 34)) -le "$n" ]; do constraint+="|$alternative"; done
        constraint+="|(x86_64::level::v1&$(printf 'p%.0s' $(seq $((n - ${#constraint} - 22)))))]"
        [ "${#constraint}" = "$n" ]
        run given -N1 -w n4 "--constraint=$constraint"
        [[ $n = 1025 && $output == *error* || $n != 1025 && $output == n4 ]]
    done
    # as many alternatives: 22.05 dies of 66
    n=$(sed -n 's/^#define OCV_SLURM_ALTERNATIVES_MAX \([0-9]*\)u$/\1/p' "$OCV_TOP/lib/internal/slurm/slurm.h")
    constraint="[$(printf '(p&pp)|%.0s' $(seq $((n - 1))))(p&ppp)]"
    [ "$(given -N1 "--constraint=$constraint")" = n4 ]
}

slurm_too_long_constraint()
{
    local n dir=$BATS_TEST_TMPDIR
    # as many kinds of nodes, each with its own variant
    for n in 30 70; do
        jq -n --argjson n $n '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
            annotations: {"dev.ocivariant.schema": "1", "dev.ocivariant.namespaces": "nvidia"},
            manifests: [range($n) | {mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1,
                digest: ("sha256:" + (("0" * 64 + tostring)[-64:])), platform: {os: "linux", architecture: "amd64", variant: "x-v\(.)"},
                annotations: {"dev.ocivariant.label": "v\(.)", "dev.ocivariant.properties": "nvidia :: sm_arch :: \(.)_real"}}]}' >"$dir/index.json"
        jq -n --argjson n $n '{schema: "dev.ocivariant.profile/v1", platform: {os: "linux", architecture: "amd64"}} as $p | range($n) |
            {name: "n\(.)", profile: ($p + {namespaces: [{namespace: "x86_64", features: [{name: "level", values: ["v1"]}]},
                {namespace: "nvidia", features: [{name: "sm_arch", values: ["\(.)_real"]}]}]})}' -c >"$dir/nodes"
        "$VARIANTCTL" export slurm --profiles "$dir/nodes" --features --short >"$dir/features"
        run -4 --separate-stderr "$VARIANTCTL" claim --for slurm --features-file "$dir/features" --index "$dir/index.json"
        [ -z "$output" ]
        if [ $n = 30 ]; then
            # shellcheck disable=SC2154 # set by run
            [[ ${stderr_lines[0]} == *"the constraint has "*" bytes, Slurm takes 1020" && ${stderr_lines[1]} == "hint: --short, "* ]]
            run -0 "$VARIANTCTL" claim --for slurm --short --features-file "$dir/features" --index "$dir/index.json"
            [ "$(grep -o '|' <<<"$output" | wc -l)" = 29 ]
        else
            # shellcheck disable=SC2154 # set by run
            [[ ${stderr_lines[0]} == *"70 alternatives, Slurm takes 64" ]]
        fi
    done
}

slurm_lua_comment()
{
    run given -N2 --comment="image=$REGISTRY/app:1"
    [[ $output == *"--constraint=[(nvidia::"* ]]
    [[ $output == *"n1 n2 "* ]]
    # the user's own constraint, no image, nothing that fits
    [ "$(given -N1 -w n4 --comment="image=$REGISTRY/app:1" --constraint=x86_64::level::v1)" = n4 ]
    [ "$(given -N1 -w n4 --comment="nightly run")" = n4 ]
    run given -N1 --comment="image=$REGISTRY/none:1"
    [[ $output == *"$REGISTRY/none:1: not found on"* && $output == *"$REGISTRY/none:1: no constraint"* && $output == *"Unspecified error"* ]]
}

slurm_lua_hostile()
{
    local comment
    rm -f "$STATE/owned"
    for comment in "image=a;touch $STATE/owned" "image=\$(touch $STATE/owned)" "image=\`touch $STATE/owned\`" \
        "image=a|touch $STATE/owned" "image=a&touch $STATE/owned" "image=a
touch $STATE/owned" "image=--config=/etc/passwd" "image=" "image= a" "image=a b" "image='" 'image="'  "image=a\\" "image=~root" \
        "image=a>$STATE/owned" "image=a<b" 'image=a*' 'image=a?' 'image=a{b,c}' 'image=a#b' 'image=a!b' "image=é" \
        "image=$(printf 'a%.0s' {1..600})"; do
        run given -N1 -w n4 --comment="$comment"
        [[ $output == *"not the name of an image"* && $output != *n4* ]] || { echo "$comment: $output" && false; }
    done
    [ ! -e "$STATE/owned" ]
}

slurm_lua_silent_registry()
{
    local port
    port=$(free_port)
    printf '  127.0.0.1:%s: {insecure: true}\n' "$port" >>"$STATE/config.yaml"
    start_daemon silent python3 -c 'import socket, sys
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(8); print("listens", flush=True)
taken = [s.accept()]; print("asked", flush=True); taken += [s.accept() for _ in range(8)]' "$port"
    await silent grep -q listens "$STATE/log/silent"
    run given -N1 -w n4 --comment="image=127.0.0.1:$port/app:1"
    [[ $output == *"no constraint"* ]]
    grep -q asked "$STATE/log/silent"
    stop_daemon silent
    [ "$(given -N1 -w n4)" = n4 ]
}
