#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup and its --status say whether the set-up will work: does variantd answer, and has it
# the registry?

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    require curl jq
}

setup()
{
    WORK=$(mktemp -d "$STATE/work.XXXXXX")
    CONFIG=$WORK/config.yaml
    : >"$CONFIG"
    unset VARIANTD_SOCKET
}

teardown()
{
    stop_daemon node
}

# The machine's own tree, but for what a set-up changes: nobody's files are touched.
own() # ENGINE ARGUMENT...
{
    OCV_STATE_DIR=$WORK/state OCV_SOCKET=${VARIANTD_SOCKET:-$STATE/nobody.sock} "$VARIANTCTL" setup "$@" --config "$CONFIG" \
        --config-dir "$WORK/etc"
}

daemon()
{
    start_variantd node --config "$CONFIG" --profile "$PROFILES/h100.json"
}

@test "a registry that the running daemon does not have is refused, and nothing is written" {
    echo 'registries: {docker.io: }' >"$CONFIG"
    daemon
    run -2 --separate-stderr own podman --registry docker.io --registry quay.io
    [ "${stderr_lines[0]}" = "variantctl: quay.io is not in variantd's registries" ]
    [ "${stderr_lines[1]}" = "hint: add it under \`registries\` in $CONFIG, then: systemctl reload variantd" ]
    [ ! -e "$WORK/etc" ]
    [ ! -e "$WORK/state" ]
    run -2 --separate-stderr own podman --registry quay.io --dry-run
    [ -z "$output" ]
    run -0 own podman --registry docker.io
    run -0 own podman --status
    [ "${lines[0]}" = "variantd: answers at $VARIANTD" ]
    run -0 own podman --uninstall
}

@test "status: a daemon that serves no variants says so, until it does" {
    local mode times
    for mode in shadow off; do
        times=0
        printf 'choose: %s\nregistries: {docker.io: }\n' "$mode" >"$CONFIG"
        daemon
        run -0 own podman --registry docker.io
        run -0 own podman --status
        [ "${lines[0]}" = "variantd: answers at $VARIANTD; choose is $mode: engines take the default" ]
        run -0 own podman --status --format json
        [ "$(jq -r .variantd.choose <<<"$output")" = "$mode" ]
        sed -i 's/^choose: .*/choose: on/' "$CONFIG"
        kill -HUP "$(<"$STATE/pids/node")"
        reread node "$((++times))"
        run -0 own podman --status
        [ "${lines[0]}" = "variantd: answers at $VARIANTD" ]
        run -0 own podman --uninstall
        stop_daemon node
    done
}

@test "the same by the configuration alone, where no daemon answers; that is noted" {
    echo 'registries: {docker.io: }' >"$CONFIG"
    run -2 --separate-stderr own crio --registry quay.io
    [ "${stderr_lines[0]}" = "variantctl: quay.io is not in variantd's registries" ]
    [ "${stderr_lines[1]}" = "hint: add it under \`registries\` in $CONFIG" ]
    run -0 own podman --registry index.docker.io --listen 127.0.0.1:25050
    [[ $output == *"note: variantd: not answering at 127.0.0.1:25050: engines take the default"* ]]
    run -5 own podman --status
    [ "${lines[0]}" = "variantd: not answering at 127.0.0.1:25050: engines take the default" ]
    run -0 own podman --registry docker.io --listen 127.0.0.1:25050 --fail-closed
    [[ $output == *"note: variantd: not answering at 127.0.0.1:25050: pulls fail"* ]]
    run -5 own podman --status
    [ "${lines[0]}" = "variantd: not answering at 127.0.0.1:25050: engines cannot pull (fail-closed)" ]
    run -5 own --status --format json
    [ "$(jq -c '.variantd' <<<"$output")" = '{"answers":false,"listen":"127.0.0.1:340","choose":null,"registries":null}' ]
    run -0 own podman --uninstall
}

@test "a registry that the configuration has and the daemon has not read is a warning until the reload" {
    echo 'registries: {docker.io: }' >"$CONFIG"
    daemon
    echo 'registries: {docker.io: , quay.io: }' >"$CONFIG"
    run -0 own podman --registry quay.io
    [[ $output == *"warning: variantd has not read yet that it has quay.io: systemctl reload variantd"* ]]
    run -5 own podman --status
    [ "${lines[0]}" = "variantd: answers at $VARIANTD" ]
    [[ $output == *"WARNING: quay.io is not in variantd's registries: its images are served without a choice"* ]]
    run -5 own podman --status --format json
    [ "$(jq -c '[.variantd.registries, .engines[0].notInVariantd]' <<<"$output")" = '[["docker.io"],["quay.io"]]' ]
    kill -HUP "$(<"$STATE/pids/node")"
    reread node 1
    run -0 own podman --status
    [[ $output != *WARNING* ]]
    # taken away again: what was right is told to be wrong
    echo 'registries: {docker.io: }' >"$CONFIG"
    kill -HUP "$(<"$STATE/pids/node")"
    reread node 2
    run -5 own podman --status
    [[ $output == *"WARNING: quay.io is not in variantd's registries"* ]]
    run -0 own podman --uninstall
}

@test "a daemon without registries is warned of, also for all of them" {
    daemon
    run -0 own podman --registry docker.io
    [[ $output == *"warning: variantd has no registries: name docker.io under \`registries\` in /etc/ocivariant/config.yaml"* ]]
    run -5 own podman --status
    run -0 own podman --uninstall
    run -0 own containerd --engine-version 1.7 --engine-config "$WORK/etc/config.toml"
    [[ $output == *"warning: variantd has no registries: name those that it may ask under"* ]]
    run -0 own containerd --uninstall
}

@test "Docker's classic store: whether docker.io is among variantd's registries is said" {
    echo 'registries: {quay.io: , docker.io: }' >"$CONFIG"
    daemon
    run -0 own docker --registry docker.io --store classic
    [[ $output == *"note: Docker does not tell its mirror which registry it means: docker.io must be among variantd's registries: yes"* ]]
    run -0 own docker --status
    run -0 own docker --uninstall
    stop_daemon node
    : >"$CONFIG"
    run -0 own docker --registry docker.io --store classic
    [[ $output == *"docker.io must be among variantd's registries: not yet"* ]]
    run -0 own docker --uninstall
}

@test "another tree: its configuration counts, this machine's daemon does not" {
    echo 'registries: {docker.io: }' >"$CONFIG"
    daemon
    mkdir -p "$WORK/tree/etc/ocivariant"
    in_tree() { OCV_SOCKET=$VARIANTD_SOCKET "$VARIANTCTL" setup "$@" --root "$WORK/tree"; }
    run -0 in_tree podman --registry quay.io
    [[ $output != *warning:* ]]
    run -0 in_tree podman --status
    [[ ${lines[0]} == "podman: set up for variantd at "* ]]
    run -0 in_tree --status --format json
    [ "$(jq -c '[.variantd, .engines[2].notInVariantd]' <<<"$output")" = '[null,[]]' ]
    echo 'registries: {docker.io: }' >"$WORK/tree/etc/ocivariant/config.yaml"
    run -2 --separate-stderr in_tree podman --registry quay.io
    [ "${stderr_lines[0]}" = "variantctl: quay.io is not in variantd's registries" ]
}

@test "containerd itself says which host files it reads, and others' in them are seen" {
    require containerd
    local certs=$WORK/certs.d calls=$WORK/calls
    # own_containerd ARGUMENT...: with the containerd that PATH has
    own_containerd()
    {
        OCV_STATE_DIR=$WORK/state OCV_SOCKET=$VARIANTD_SOCKET "$VARIANTCTL" setup containerd --config "$CONFIG" \
            --engine-config "$WORK/config.toml" "$@"
    }
    echo 'registries: {docker.io: , quay.io: }' >"$CONFIG"
    daemon
    mkdir "$certs" "$WORK/bin" "$WORK/elsewhere"
    printf 'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "%s"\n' "$certs" >"$WORK/config.toml"
    # the real one, in a shell that writes down what it is asked
    printf '#!/bin/sh\necho "$@" >>%s\nexec %s "$@"\n' "$calls" "$(command -v containerd)" >"$WORK/bin/containerd"
    chmod +x "$WORK/bin/containerd"
    local PATH=$WORK/bin:$PATH
    run -0 own_containerd
    : >"$calls"
    run -0 own_containerd --status
    [[ $output != *WARNING* ]]
    grep -qx -- "--config $WORK/config.toml config dump" "$calls"
    mkdir "$certs/quay.io"
    printf 'server = "https://quay.io"\n' >"$certs/quay.io/hosts.toml"
    run -5 own_containerd --status
    [[ $output == *"WARNING: $certs/quay.io/hosts.toml does not ask variantd first: pulls of quay.io go past it"* ]]
    rm -r "$certs/quay.io"
    # one that reads other files than its configuration seems to say
    sed -i "s/^exec \(.*\)/\1 | sed s,$(basename "$certs"),elsewhere,/" "$WORK/bin/containerd"
    run -5 own_containerd --status
    [[ $output == *"WARNING: $WORK/elsewhere/_default/hosts.toml does not ask variantd first: pulls of all other registries go past it"* ]]
    # one that prints nothing, or no configuration: the files count
    printf '#!/bin/sh\nexit 1\n' >"$WORK/bin/containerd"
    run -0 own_containerd --status
    printf '#!/bin/sh\necho "no [ TOML"\n' >"$WORK/bin/containerd"
    run -0 own_containerd --status
    run -0 own_containerd --uninstall
}

@test "podman and CRI-O: a later drop-in that replaces the registry is seen" {
    local engine dir=$WORK/etc/registries.conf.d
    echo 'registries: {docker.io: , quay.io: }' >"$CONFIG"
    daemon
    for engine in podman crio; do
        run -0 own "$engine" --registry docker.io --registry quay.io
        # before ours, another registry, a namespace of its own
        printf '[[registry]]\nprefix = "quay.io"\nlocation = "early.example"\n' >"$dir/10-early.conf"
        printf '[[registry]]\nlocation = "other.example"\n[[registry]]\nprefix = "quay.io/ns"\nlocation = "other.example/ns"\n' >"$dir/90-other.conf"
        printf '[[registry]]\nlocation = "quay.io"\n' >"$dir/99-note.txt"
        run -0 own "$engine" --status
        [[ $output != *WARNING* ]]
        printf '[[registry]]\nlocation = "quay.io"\n[[registry.mirror]]\nlocation = "cache.example"\n' >"$dir/95-cache.conf"
        run -5 own "$engine" --status
        [[ $output == *"WARNING: $dir/95-cache.conf does not ask variantd first: pulls of quay.io go past it"* ]]
        [[ $output != *"pulls of docker.io"* ]]
        run -5 own "$engine" --status --format json
        [ "$(jq -c --arg name "$engine" '.engines[] | select(.engine == $name).passedBy | map(.registry)' <<<"$output")" = '["quay.io"]' ]
        rm "$dir"/*-{early,other,cache}.conf "$dir/99-note.txt"
        run -0 own "$engine" --uninstall
    done
}

@test "Docker: another mirror before ours, and host files that others wrote, are seen" {
    local file=$WORK/etc/daemon.json certs=$WORK/etc/certs.d
    echo 'registries: {docker.io: , quay.io: }' >"$CONFIG"
    daemon
    run -0 own docker --registry docker.io --store classic --engine-version 27.0
    jq '."registry-mirrors" += ["https://cache.example"]' "$file" >"$WORK/new" && cp "$WORK/new" "$file"
    run -0 own docker --status
    jq '."registry-mirrors" |= reverse' "$file" >"$WORK/new" && cp "$WORK/new" "$file"
    run -5 own docker --status
    [[ $output == *"WARNING: $file does not ask variantd first: pulls of docker.io go past it"* ]]
    run -0 own docker --uninstall
    run -0 own docker --registry quay.io --store containerd --engine-version 29.0
    run -0 own docker --status
    # it keeps ours behind another one
    sed -n '/^\[host/,$p' "$certs/quay.io/hosts.toml" >"$WORK/ours"
    printf '[host."https://cache.example"]\n%s\n' "$(<"$WORK/ours")" >"$certs/quay.io/hosts.toml"
    run -5 own docker --status
    [[ $output == *"WARNING: $certs/quay.io/hosts.toml does not ask variantd first: pulls of quay.io go past it"* ]]
    run -0 own docker --uninstall
}
