#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup beside others: what they have changed since stays, wherever a run was cut off.

load ../harness
load ../setup

@test "uninstall takes only what is ours out of files that were changed since" {
    cp /etc/containerd/config.toml "$TREE/etc/containerd/config.toml" 2>/dev/null ||
        printf 'version = 2\n' >"$TREE/etc/containerd/config.toml"
    printf '{\n  "a": 1\n}\n' >"$TREE/etc/docker/daemon.json"
    cp "$TREE/etc/containerd/config.toml" "$STATE/config.before"
    in_tree containerd >/dev/null
    in_tree docker --registry docker.io --store classic >/dev/null
    in_tree podman --registry docker.io >/dev/null
    # others append, reformat, add a host
    printf '\n[debug]\n  level = "debug"\n' >>"$TREE/etc/containerd/config.toml"
    jq -c '. + {"b": 2}' "$TREE/etc/docker/daemon.json" >"$STATE/daemon.new"
    cp "$STATE/daemon.new" "$TREE/etc/docker/daemon.json"
    printf '\n[host."https://late"]\n  capabilities = ["pull"]\n' >>"$TREE/etc/containerd/certs.d/_default/hosts.toml"
    printf '\n[[registry]]\nlocation = "late.example"\n' >>"$TREE/etc/containers/registries.conf.d/50-ocivariant.conf"
    # what the set-up wrote is in them all the same: it works
    run -0 "$VARIANTCTL" setup --status --root "$TREE"
    [[ $output == *"daemon.json: changed since by others, and has what the set-up wrote"* ]]
    [[ $output == *"hosts.toml: changed since by others, and has what the set-up wrote"* ]]
    cp "$TREE/etc/docker/daemon.json" "$STATE/daemon.changed"
    jq -c 'del(.["registry-mirrors"])' "$STATE/daemon.changed" >"$TREE/etc/docker/daemon.json"
    run -5 "$VARIANTCTL" setup docker --status --root "$TREE"
    [[ $output == *"daemon.json: changed since by others"$'\n'"  to write it again: variantctl setup docker, with the options of before"* ]]
    cp "$STATE/daemon.changed" "$TREE/etc/docker/daemon.json"
    run -0 in_tree containerd --uninstall
    [[ $output == *"was changed by others since"* ]]
    in_tree docker --uninstall >/dev/null
    in_tree podman --uninstall >/dev/null
    diff <(cat "$STATE/config.before" && printf '\n[debug]\n  level = "debug"\n') "$TREE/etc/containerd/config.toml"
    [ "$(cat "$TREE/etc/docker/daemon.json")" = '{"a":1,"b":2}' ]
    run -0 cat "$TREE/etc/containerd/certs.d/_default/hosts.toml"
    [ "$output" = $'[host."https://late"]\n  capabilities = ["pull"]' ]
    run -0 grep -v '^#\|^$' "$TREE/etc/containers/registries.conf.d/50-ocivariant.conf"
    [ "$output" = $'[[registry]]\nlocation = "late.example"' ]
}

@test "files as old as image builders make them get their time back, changed ones get a new one" {
    printf 'version = 2\n' >"$TREE/etc/containerd/config.toml"
    touch -d @0 "$TREE/etc/containerd/config.toml"
    life containerd --engine-version 2.1.0
    printf '\n[debug]\n  level = "debug"\n' >>"$TREE/etc/containerd/config.toml"
    in_tree containerd --engine-version 2.1.0 --fail-closed >/dev/null # takes what others wrote for what was before
    in_tree containerd --uninstall >/dev/null
    run -0 stat -c %Y "$TREE/etc/containerd/config.toml"
    [ "$output" -gt 0 ]
}

@test "a second set-up keeps what others have written meanwhile" {
    printf 'version = 2\n' >"$TREE/etc/containerd/config.toml"
    run -0 in_tree containerd
    # the backup is named and is what was there
    [ "$(cat "$(sed -n 's/^changed .*config.toml (before: \(.*\))$/\1/p' <<<"$output")")" = "version = 2" ]
    printf '[debug]\n  level = "debug"\n' >>"$TREE/etc/containerd/config.toml"
    in_tree containerd --registry docker.io >/dev/null
    grep -q 'level = "debug"' "$TREE/etc/containerd/config.toml"
    [ "$(grep -c config_path "$TREE/etc/containerd/config.toml")" = 1 ]
    run -0 in_tree containerd --registry docker.io
    [[ $output == *"nothing to change"* ]]
    in_tree containerd --uninstall >/dev/null
    [ "$(cat "$TREE/etc/containerd/config.toml")" = $'version = 2\n[debug]\n  level = "debug"' ]
    [ ! -e "$TREE/etc/containerd/certs.d" ]
}

@test "set-ups at once wait for each other, and one removal undoes all" {
    local before pids=() pid i
    before=$(picture)
    for i in 1 2 3 4; do
        in_tree containerd --registry "r$i.example" >/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    [ "$(find "$TREE/etc/containerd/certs.d" -name hosts.toml | wc -l)" = 1 ]
    in_tree containerd --uninstall >/dev/null
    diff <(printf '%s\n' "$before") <(picture)
}

@test "a file that somebody removed stays away; a link stays a link" {
    local before
    mkdir -p "$TREE/srv"
    printf '{"a": 1}\n' >"$TREE/srv/daemon.json"
    ln -s /srv/daemon.json "$TREE/etc/docker/daemon.json"
    before=$(picture)
    in_tree docker --registry docker.io --store classic >/dev/null
    [ -L "$TREE/etc/docker/daemon.json" ]
    grep -q registry-mirrors "$TREE/srv/daemon.json"
    in_tree docker --uninstall >/dev/null
    diff <(printf '%s\n' "$before") <(picture)
    in_tree containerd >/dev/null
    rm "$TREE/etc/containerd/config.toml"
    in_tree containerd --uninstall >/dev/null
    [ ! -e "$TREE/etc/containerd/config.toml" ]
}

@test "wrong usage is told" {
    run -2 "$VARIANTCTL" setup
    run -2 "$VARIANTCTL" setup rkt
    run -2 "$VARIANTCTL" setup containerd docker
    run -2 in_tree containerd --registry 'a b'
    run -2 "$VARIANTCTL" setup containerd --root "$TREE" --listen nowhere
    run -2 in_tree containerd --store other
    run -2 in_tree containerd --config-dir relative
    run -2 "$VARIANTCTL" setup containerd --root "$TREE/missing"
    run -0 "$VARIANTCTL" setup --help-all
    [[ $output == *"do not pass on"*"--platform"*"/raw/"* ]]
    [ -z "$(find "$TREE" -type f)" ]
}

@test "where variantd listens is read from the configuration of the tree" {
    mkdir -p "$TREE/etc/ocivariant"
    for listen in 0.0.0.0:6060 localhost:6060 '"[::]:6060"' 127.0.0.1:6060; do
        printf 'listen: %s\n' "$listen" >"$TREE/etc/ocivariant/config.yaml"
        run -0 "$VARIANTCTL" setup podman --root "$TREE" --registry quay.io
        grep -qx 'location = "127.0.0.1:6060/quay.io"' "$TREE/etc/containers/registries.conf.d/50-ocivariant.conf"
    done
    # the one of another user may be at ::1 with the same port
    run -2 "$VARIANTCTL" setup podman --root "$TREE" --registry quay.io --listen '[::1]:6060'
    [[ $output == *"127.0.0.1:6060"* ]]
    run ! grep -rE 'localhost|::1' "$TREE/etc/containers"
    rm "$TREE/etc/ocivariant/config.yaml"
    run -0 "$VARIANTCTL" setup podman --root "$TREE" --registry quay.io
    grep -qx 'location = "127.0.0.1:340/quay.io"' "$TREE/etc/containers/registries.conf.d/50-ocivariant.conf"
}

# ---- cut off ---------------------------------------------------------------------------------------

# put CONTENT-DIRECTORY FILE: the file as that copy of the tree has it
put()
{
    rm -f "$TREE/$2"
    [ ! -e "$1/$2" ] || {
        mkdir -p "$(dirname "$TREE/$2")"
        cp -a "$1/$2" "$TREE/$2"
    }
}

@test "a run cut off between any two files can be repeated and undone" {
    local files=(etc/containerd/config.toml etc/containerd/certs.d/_default/hosts.toml
        etc/containerd/certs.d/a.example/hosts.toml) old new mask bit before
    printf 'version = 2 # mine\n' >"$TREE/etc/containerd/config.toml"
    mkdir -p "$TREE/etc/containerd/certs.d/a.example"
    printf 'server = "https://a.example"\n' >"$TREE/etc/containerd/certs.d/a.example/hosts.toml"
    before=$(picture)
    cp -a "$TREE" "$STATE/cut0"
    in_tree containerd >/dev/null
    cp -a "$TREE" "$STATE/cut1"
    in_tree containerd --listen 127.0.0.1:7070 >/dev/null
    cp -a "$TREE" "$STATE/cut2"
    # OLD to NEW was cut: the state is NEW's, some files are OLD's still
    for old in 0 1; do
        for new in 1 2; do
            for mask in 0 1 2 3 4 5 6 7; do
                for again in yes no; do
                    rm -rf "$TREE" && cp -a "$STATE/cut$new" "$TREE"
                    for bit in 0 1 2; do
                        [ $((mask >> bit & 1)) = 1 ] || put "$STATE/cut$old" "${files[bit]}"
                    done
                    echo left >"$TREE/etc/containerd/.config.toml.ocivariant"
                    if [ "$again" = yes ]; then
                        in_tree containerd --listen 127.0.0.1:7070 >/dev/null
                        diff -r "$TREE" "$STATE/cut2" -x ocivariant-setup
                    fi
                    in_tree containerd --uninstall >/dev/null
                    diff <(printf '%s\n' "$before") <(picture)
                done
            done
        done
    done
}

@test "killed at any moment, a set-up can be undone, and nothing of it stays" {
    local before round delay
    printf 'version = 2 # mine\n' >"$TREE/etc/containerd/config.toml"
    mkdir -p "$TREE/etc/containerd/certs.d/a.example"
    printf 'server = "https://a.example"\n' >"$TREE/etc/containerd/certs.d/a.example/hosts.toml"
    before=$(picture)
    for round in {1..12}; do
        for delay in 0.00$((RANDOM % 9 + 1)) 0.01$((RANDOM % 10)); do
            timeout -s KILL "$delay" "$VARIANTCTL" setup containerd --root "$TREE" >/dev/null 2>&1 || true
            timeout -s KILL "$delay" "$VARIANTCTL" setup containerd --root "$TREE" --registry "r$round.example" \
                >/dev/null 2>&1 || true
            timeout -s KILL "$delay" "$VARIANTCTL" setup containerd --root "$TREE" --uninstall >/dev/null 2>&1 || true
        done
        in_tree containerd --uninstall >/dev/null
        diff <(printf '%s\n' "$before") <(picture)
    done
}

@test "a read-only file system is told, and nothing stays of the attempt" {
    require mount umount
    local before
    mount -t tmpfs none "$TREE/etc/docker" 2>/dev/null || skip "no mounts here"
    echo '{}' >"$TREE/etc/docker/daemon.json"
    mount -o remount,ro "$TREE/etc/docker"
    before=$(picture)
    run -1 in_tree docker --registry docker.io --store classic
    [[ $output == *"daemon.json: cannot write: Read-only file system"* ]]
    run -0 in_tree docker --uninstall
    diff <(printf '%s\n' "$before") <(picture)
    umount "$TREE/etc/docker"
}

@test "what cannot be written is told, and the first files can be undone" {
    local before
    mkdir -p "$TREE/etc/containerd/certs.d"
    printf 'version = 2\n' >"$TREE/etc/containerd/config.toml"
    before=$(picture)
    # a directory where the temporary file belongs: the last write fails
    mkdir -p "$TREE/etc/containerd/certs.d/z.example/.hosts.toml.ocivariant/x"
    run -1 in_tree containerd --registry a.example --registry z.example
    [[ $output == *"z.example/hosts.toml: cannot write"* ]]
    rm -r "$TREE/etc/containerd/certs.d/z.example"
    in_tree containerd --uninstall >/dev/null
    diff <(printf '%s\n' "$before") <(picture)
}
