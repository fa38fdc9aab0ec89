#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup in everyday use: all engines together, unusual names, JSON output, and what stays
# when others have edited a file.

load ../harness

setup_file()
{
    state_start
}

setup()
{
    TREE=$(mktemp -d "$STATE/tree.XXXXXX")
}

in_tree() # ENGINE OPTION...
{
    "$VARIANTCTL" setup "$@" --root "$TREE"
}

DROP_IN=etc/containers/registries.conf.d/50-ocivariant.conf

@test "uninstall without an engine undoes all of them, and nothing stays" {
    run -0 in_tree --uninstall
    [ "$output" = "nothing is set up" ]
    in_tree containerd >/dev/null
    in_tree docker --registry docker.io >/dev/null
    in_tree podman --registry docker.io >/dev/null
    run -0 in_tree --status
    run -0 --separate-stderr in_tree --uninstall --dry-run
    [ "$(grep -c '^+++ /dev/null' <<<"$output")" = 4 ]
    run -0 in_tree --status
    run -0 in_tree --uninstall
    run -5 in_tree --status
    [ -z "$(find "$TREE" -mindepth 1)" ]
}

@test "one engine that cannot be undone does not keep the others" {
    in_tree docker --registry docker.io >/dev/null
    in_tree podman --registry docker.io >/dev/null
    echo '}' >>"$TREE/etc/docker/daemon.json"
    run -4 in_tree --uninstall
    [[ $output == *"daemon.json"* ]]
    [ ! -e "$TREE/$DROP_IN" ]
    [ -e "$TREE/etc/docker/daemon.json" ]
}

@test "a refusal leaves no directory behind" {
    run -2 in_tree docker --registry r.example:5000 --store classic
    run -0 in_tree docker --uninstall
    [ -z "$(find "$TREE" -mindepth 1)" ]
}

@test "what files were before is root's alone, out of reach of the daemon's user" {
    mkdir -p "$TREE/etc/docker"
    echo '{"http-proxy": "http://user:secret@proxy"}' >"$TREE/etc/docker/daemon.json"
    in_tree docker --registry docker.io >/dev/null
    [ ! -e "$TREE/var/lib/ocivariant" ] # the service's StateDirectory, which becomes its user's
    [ "$(stat -c %a "$TREE/var/lib/ocivariant-setup")" = 700 ]
    [ -z "$(find "$TREE/var/lib/ocivariant-setup" -type f -perm /077)" ]
}

@test "the package of variantd says at its removal which engines still ask it" {
    in_tree podman --registry docker.io >/dev/null
    in_tree docker --registry docker.io >/dev/null
    sed "s|/var/lib/ocivariant-setup|$TREE/var/lib/ocivariant-setup|; s|/run/systemd/system|/nowhere|" \
        "$OCV_TOP/contrib/debian/variantd.prerm" >"$STATE/prerm"
    run -0 sh "$STATE/prerm" remove
    [[ $output == "variantd: engines of this machine are set up to ask it: docker podman."*"variantctl setup --uninstall"* ]]
    run -0 sh "$STATE/prerm" upgrade
    [ -z "$output" ]
    in_tree --uninstall >/dev/null
    run -0 sh "$STATE/prerm" remove
    [ -z "$output" ]
}

# the configuration is dpkg's, which removes it at a purge, changed or not; test/packages/debian.bash
@test "the package of variantd keeps configuration and records at its removal, not at a purge" {
    grep -qx etc/ocivariant/config.yaml "$OCV_TOP/contrib/debian/variantd.install"
    mkdir -p "$TREE/var/lib/ocivariant/resolved" "$TREE/var/lib/private/ocivariant" "$TREE/var/lib/other"
    sed "s|/var/lib/|$TREE/var/lib/|g" "$OCV_TOP/contrib/debian/variantd.postrm" >"$STATE/postrm"
    run -0 sh "$STATE/postrm" remove
    [ -d "$TREE/var/lib/ocivariant/resolved" ]
    run -0 sh "$STATE/postrm" upgrade
    [ -d "$TREE/var/lib/ocivariant/resolved" ]
    run -0 sh "$STATE/postrm" purge
    [ -z "$(find "$TREE/var/lib" -name '*ocivariant*')" ] && [ -d "$TREE/var/lib/other" ]
}

@test "status for machines" {
    in_tree containerd --registry r.example:5000 >/dev/null
    echo '# more' >>"$TREE/etc/containerd/config.toml"
    run -0 in_tree --status --format json
    [ "$(jq -r '.schema' <<<"$output")" = dev.ocivariant.setup-status/v1 ]
    [ "$(jq -c '[.engines[] | [.engine, .setUp]]' <<<"$output")" = \
        '[["containerd",true],["docker",false],["podman",false],["crio",false],["buildkit",false]]' ]
    [ "$(jq -c '.engines[0] | [.fail, .registries[0], .files[].state]' <<<"$output")" = \
        '["open","r.example:5000","changed since by others, and has what the set-up wrote","as written"]' ]
    # who reads the text is told of buildkit only where an earlier version set it up
    run -0 in_tree --status
    [[ $output == *"docker: not set up"* && $output != *buildkit* ]]
    run -5 in_tree docker --status --format json
    [ "$(jq -c '.engines | length' <<<"$output")" = 1 ]
    run -2 in_tree --status --format yaml
    run -2 in_tree containerd --format json
    run -2 in_tree containerd --status --uninstall
}

@test "names of registries are written as the engines compare them, ports are ports" {
    run -0 in_tree podman --registry DOCKER.IO --registry Registry-1.Docker.io --registry R.Example:5000
    [ "$(sed -n 's/^prefix = //p' "$TREE/$DROP_IN")" = $'"docker.io"\n"r.example:5000"' ]
    [ "$(grep -c '"127.0.0.1:340/r.example--5000"' "$TREE/$DROP_IN")" = 1 ]
    run -2 in_tree podman --registry r.example:0
    run -2 in_tree podman --registry r.example:65536
    run -0 in_tree podman --registry r.example:65535
    run -2 in_tree podman --registry r.example --listen 127.0.0.1:0
    run -2 in_tree podman --registry r.example --listen 127.0.0.1:99999
    run -2 in_tree containerd --engine-version new
    [[ $output == *"--engine-version: 'new'"* ]]
}

@test "podman and CRI-O read each other's file: one cannot be open where the other is closed" {
    in_tree podman --registry r.example --registry s.example >/dev/null
    run -2 in_tree crio --registry r.example --fail-closed
    [[ $output == *"fail-open for podman"*"setup podman"* ]]
    run -0 in_tree crio --registry other.example --fail-closed
    run -2 in_tree podman --registry other.example
    [[ $output == *"fail-closed for crio"* ]]
    run -0 in_tree crio --registry r.example
    run -0 in_tree podman --registry s.example
    run -0 in_tree crio --registry r.example --fail-closed
}

@test "set-up's removal keeps lines that others put into its files" {
    in_tree podman --registry docker.io >/dev/null
    echo '# a remark' >>"$TREE/$DROP_IN"
    run -0 in_tree podman --uninstall
    [[ $output == *"removed the set-up's part of"* ]]
    [ "$(cat "$TREE/$DROP_IN")" = '# a remark' ]
    rm "$TREE/$DROP_IN"
    in_tree podman --registry docker.io >/dev/null
    printf '\n[[registry.mirror]]\nlocation = "near.example"\n' >>"$TREE/$DROP_IN"
    run -0 in_tree podman --uninstall
    [ "$(tr -s '\n' <"$TREE/$DROP_IN")" = "$(printf '[[registry]]\nprefix = "docker.io"\nlocation = "docker.io"
[[registry.mirror]]\nlocation = "near.example"')" ]
    # mirrors that the set-up took over from another file go with it
    printf '[[registry]]\nlocation = "docker.io"\n[[registry.mirror]]\nlocation = "cache.example"\n' \
        >"$TREE/etc/containers/registries.conf"
    rm "$TREE/$DROP_IN"
    in_tree podman --registry docker.io >/dev/null
    grep -q cache.example "$TREE/$DROP_IN"
    sed -i 's/^insecure = true$/insecure = false/' "$TREE/$DROP_IN"
    run -0 in_tree podman --uninstall
    [ ! -e "$TREE/$DROP_IN" ]
}

@test "a file that others have emptied has nothing of ours any more" {
    mkdir -p "$TREE/etc/docker"
    echo '{"debug": true}' >"$TREE/etc/docker/daemon.json"
    in_tree docker --registry docker.io >/dev/null
    : >"$TREE/etc/docker/daemon.json"
    run -0 in_tree docker --uninstall
    [ -e "$TREE/etc/docker/daemon.json" ]
    [ ! -s "$TREE/etc/docker/daemon.json" ]
}

@test "files that say already what the set-up writes stay their owner's" {
    mkdir -p "$TREE/etc/docker"
    echo '{"registry-mirrors": ["http://127.0.0.1:340"]}' >"$TREE/etc/docker/daemon.json"
    run -0 in_tree docker --registry docker.io
    [[ $output == *"nothing to change: the files have these settings already"* ]]
    run -5 in_tree docker --status
    run -0 in_tree docker --uninstall
    [ "$output" = "docker is not set up" ]
    [ "$(cat "$TREE/etc/docker/daemon.json")" = '{"registry-mirrors": ["http://127.0.0.1:340"]}' ]
    in_tree podman --registry docker.io >/dev/null
    rm "$TREE/$DROP_IN"
    run -0 in_tree podman --uninstall
    [ "$output" = "podman: nothing is left of the set-up" ]
}

@test "nothing is written outside the root, wherever links in it point to" {
    mkdir -p "$STATE/outside" "$TREE/etc" "$TREE/var"
    ln -s "$STATE/outside" "$TREE/etc/docker" # there is such a directory, but not in the tree
    run -4 in_tree docker --registry docker.io --store classic
    [[ $output == *"/etc/docker: a dangling link"* ]]
    ln -s "$STATE/outside" "$TREE/var/lib"
    run -4 in_tree podman --registry docker.io
    mkdir -p "$TREE$STATE/outside"
    run -0 in_tree podman --registry docker.io
    [ -e "$TREE$STATE/outside/ocivariant-setup/podman.json" ]
    run -0 in_tree podman --uninstall
    [ -z "$(find "$TREE" -type f)" ]
    [ -z "$(find "$STATE/outside" -mindepth 1)" ]
}

@test "many at once: whoever removes the empty state directory stops nobody" {
    local pids pid
    for _ in {1..150}; do
        pids=()
        for _ in {1..6}; do
            in_tree docker --uninstall >/dev/null &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid"; done
    done
}

@test "containerd: a directory that it would take for two is refused" {
    run -2 in_tree containerd --config-dir /etc/a:b
    [[ $output == *"'/etc/a:b' for several directories"* ]]
    [ -z "$(find "$TREE" -type f)" ]
}

# the state is JSON: what it cannot hold would be forgotten, with the backup
@test "a set-up that could not be recorded, and so not be undone, is refused before it writes" {
    local directory=$'/etc/caf\xe9'
    mkdir -p "$TREE$directory"
    echo '{"a": 1}' >"$TREE$directory/daemon.json"
    run -1 in_tree docker --registry docker.io --store classic --config-dir "$directory"
    [[ $output == *"cannot be recorded, and so not be undone"* ]]
    [ "$(cat "$TREE$directory/daemon.json")" = '{"a": 1}' ]
    [ ! -e "$TREE/var" ]
}

@test "where nothing has a name, without /proc, a set-up below a root is refused, and ends" {
    require unshare
    unshare -rm true 2>/dev/null || skip "no user namespaces here"
    mkdir "$TREE/etc"
    # shellcheck disable=SC2016 # the inner shell expands it
    LD_LIBRARY_PATH=$OCV_BUILD run -1 timeout 60 unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
        "$VARIANTCTL" setup podman --registry docker.io --root "$TREE"
    [[ $output == *"cannot find"* ]]
    [ -z "$(find "$TREE" -type f)" ]
}
