#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup for Docker, podman and CRI-O, and BuildKit: what it writes is read by the real engines, which
# then ask the mirror.

load ../harness
load ../setup

# ---- Docker --------------------------------------------------------------------------------------

@test "docker: daemon.json keeps unknown keys, order and formatting" {
    require git
    local tried=0 text
    for text in '{}' '' $'{ }\n' '{"a":1}' $'{\n\t"log-driver": "journald",\n\t"x": {"y": [1, 2]}\n}' \
        $'{\r\n  "registry-mirrors": [],\r\n  "b": "registry-mirrors"\r\n}\r\n' \
        $'{\n  "registry-mirrors": [\n    "http://other"\n  ]\n}\n' '{"registry-mirrors": ["http://other/"], "z": null}'; do
        printf '%s' "$text" >"$TREE/etc/docker/daemon.json"
        life docker --registry docker.io --engine-version 20.10.24
        [ "$(jq -r '."registry-mirrors"[0]' "$TREE/etc/docker/daemon.json")" = "http://$MIRROR" ]
        [ "$(jq -S 'del(."registry-mirrors")' <<<"${text:-{\}}")" = \
            "$(jq -S 'del(."registry-mirrors")' "$TREE/etc/docker/daemon.json")" ]
        in_tree docker --uninstall >/dev/null
        tried=$((tried + 1))
    done
    [ "$tried" = 8 ]
    rm "$TREE/etc/docker/daemon.json"
    life docker --registry index.docker.io --engine-version 20.10.24
}

@test "docker: refusals" {
    run -2 in_tree docker
    [[ $output == *"--registry"* ]]
    run -2 in_tree docker --registry quay.io --engine-version 20.10.24
    [[ $output == *"docker.io only"* ]]
    run -2 in_tree docker --registry docker.io --engine-version 20.10.24 --fail-closed
    mkdir -p "$TREE/etc/systemd/system/docker.service.d"
    printf '[Service]\n# --registry-mirror\nExecStart=/usr/sbin/dockerd --registry-mirror=http://x\n' \
        >"$TREE/etc/systemd/system/docker.service.d/x.conf"
    run -2 in_tree docker --registry docker.io --engine-version 20.10.24
    [[ $output == *"x.conf: dockerd gets --registry-mirror"* ]]
    rm -r "$TREE/etc/systemd"
    printf '{"registry-mirrors": "x"}' >"$TREE/etc/docker/daemon.json"
    run -4 in_tree docker --registry docker.io --engine-version 20.10.24
    printf '{"a": 1, "a": 2}' >"$TREE/etc/docker/daemon.json"
    run -4 in_tree docker --registry docker.io --engine-version 20.10.24
    rm "$TREE/etc/docker/daemon.json"
    run -2 in_tree docker --registry docker.io --engine-version 29.0.1
    [[ $output == *"--store"* ]]
    [ -z "$(find "$TREE" -type f)" ]
    printf '\xef\xbb\xbf{"a": 1}' >"$TREE/etc/docker/daemon.json"
    run -4 in_tree docker --registry docker.io --engine-version 20.10.24
    [[ $output == *"/etc/docker/daemon.json: starts with a UTF-8 byte order mark"* ]]
}

@test "docker: the containerd store of 28 and later reads hosts.toml for any registry" {
    require git
    printf '{"features": {"containerd-snapshotter": true}}\n' >"$TREE/etc/docker/daemon.json"
    mkdir -p "$TREE/etc/docker/certs.d/reg.example:5000"
    touch "$TREE/etc/docker/certs.d/reg.example:5000/ca.crt"
    life docker --registry docker.io --registry reg.example:5000 --engine-version 28.5.2
    grep -q "$MIRROR" "$TREE/etc/docker/certs.d/docker.io/hosts.toml"
    grep -qx 'ca = \["ca.crt"\]' "$TREE/etc/docker/certs.d/reg.example:5000/hosts.toml"
    in_tree docker --uninstall >/dev/null
    life docker --registry docker.io --engine-version 26.1.5
    grep -q registry-mirrors "$TREE/etc/docker/daemon.json"
}

@test "dockerd starts with the merged file and pulls from the mirror" {
    require dockerd docker
    start_dockerd
    printf '{\n  "log-level": "info"\n}\n' >"$STATE/daemon.json"
    cp "$STATE/daemon.json" "$STATE/daemon.json.orig"
    "$VARIANTCTL" setup docker --registry docker.io --engine-config "$STATE/daemon.json" \
        --store classic --listen "$MIRROR" >/dev/null
    kill -HUP "$(<"$STATE/pids/dockerd")" # what systemctl reload does
    for _ in {1..100}; do
        docker info 2>/dev/null | grep -q "http://$MIRROR/" && break
        sleep 0.1
    done
    run -0 docker pull demo:1
    run -0 docker image inspect --format '{{.Config.Labels.from}} {{.RepoDigests}}' demo:1
    [[ $output == "mirror "*"$CHOSEN"* ]]
    "$VARIANTCTL" setup docker --uninstall >/dev/null
    cmp "$STATE/daemon.json" "$STATE/daemon.json.orig"
    stop_daemon dockerd
}

# ---- podman and CRI-O ----------------------------------------------------------------------------

@test "podman: a drop-in that repeats what an earlier file says of the registry" {
    require git
    cat >"$TREE/etc/containers/registries.conf" <<TOML
unqualified-search-registries = ["docker.io"]
[[registry]]
location = "a.example:5000" # plain
insecure = true
  [[registry.mirror]]
  location = "cache.example/a"
[[registry]]
prefix = "docker.io/team"
location = "team.example"
TOML
    life podman --registry docker.io --registry a.example:5000
    run -0 cat "$TREE/etc/containers/registries.conf.d/50-ocivariant.conf"
    [[ $output == *"location = \"$MIRROR/a.example--5000\""*'location = "cache.example/a"'* ]]
    [[ $output == *'insecure = true'*"$MIRROR/a.example--5000"* ]]
    run -0 in_tree crio --registry docker.io
    [[ $output == *"keeps its own way for docker.io/team"*"systemctl reload crio"* ]]
    in_tree podman --uninstall >/dev/null
    [ -e "$TREE/etc/containers/registries.conf.d/50-ocivariant-crio.conf" ]
    in_tree crio --uninstall >/dev/null
    [ -z "$(ls "$TREE/etc/containers/registries.conf.d")" ]
}

@test "podman: refusals" {
    local dir=$TREE/etc/containers
    run -2 in_tree podman
    [[ $output == *"--registry"* ]]
    printf '[[registry]]\nlocation = "docker.io"\n' >"$dir/registries.conf.d/99-late.conf"
    run -2 in_tree podman --registry docker.io
    [[ $output == *"99-late.conf: "*"would replace ours"* ]]
    rm "$dir/registries.conf.d/99-late.conf"
    printf '[registries.search]\nregistries = ["docker.io"]\n' >"$dir/registries.conf"
    run -2 in_tree podman --registry docker.io
    [[ $output == *"first format"* ]]
    printf '[[registry]]\nprefix = "*.example"\n' >"$dir/registries.conf"
    run -2 in_tree podman --registry a.example
    [[ $output == *"covers a.example"* ]]
    run -2 in_tree podman --registry '[::1]:5000'
    run -2 in_tree podman --registry 'a/../b'
    [ ! -e "$dir/registries.conf.d/50-ocivariant.conf" ]
}

@test "podman, skopeo and buildah ask the mirror; fail-closed they ask nobody else" {
    require podman skopeo
    local dir=$HOME/.config/containers
    start_podman
    unset CONTAINERS_REGISTRIES_CONF
    mkdir -p "$dir"
    printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$UPSTREAM" >"$dir/registries.conf"
    cp "$dir/registries.conf" "$STATE/registries.before"
    "$VARIANTCTL" setup podman --config-dir "$dir" --registry "$UPSTREAM" --listen "$MIRROR" >/dev/null
    run -0 podman pull -q "$UPSTREAM/demo/app:1"
    run -0 --separate-stderr podman image inspect --format '{{.Labels.from}} {{.Digest}}' "$UPSTREAM/demo/app:1"
    [ "$output" = "mirror sha256:$CHOSEN" ]
    run -0 --separate-stderr skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = mirror ]
    push_layout "$STATE/layout:plain" "$UPSTREAM/demo/only:1"
    run -0 --separate-stderr skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/only:1"
    [ "$output" = upstream ]
    "$VARIANTCTL" setup podman --config-dir "$dir" --registry "$UPSTREAM" --listen "$MIRROR" --fail-closed >/dev/null
    run ! skopeo inspect "docker://$UPSTREAM/demo/only:1"
    run -0 --separate-stderr skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = mirror ]
    "$VARIANTCTL" setup podman --uninstall >/dev/null
    [ "$(ls "$dir")" = registries.conf ]
    cmp "$dir/registries.conf" "$STATE/registries.before"
    run -0 --separate-stderr skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = upstream ]
}

# as_user COMMAND...: an ordinary user with a home directory; ETC is their /etc/containers
as_user()
{
    # shellcheck disable=SC2016 # expanded inside
    env -i PATH="$PATH" HOME="$USER_HOME" XDG_RUNTIME_DIR="$STATE/user-run" ETC="${ETC:-/etc/containers}" \
        unshare -m sh -c 'mount --bind "$ETC" /etc/containers && exec "$@"' sh \
        setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

@test "an ordinary user sets podman up for themselves, and is told what needs root" {
    require setpriv skopeo
    unshare -m true || skip "no mount namespaces here"
    local before engine ETC=/etc/containers
    USER_HOME=$STATE/user
    chmod 711 "$STATE"
    mkdir "$USER_HOME"
    install -d -o 65534 -g 65534 -m 700 "$STATE/user-run" # podman makes directories there to tell its version
    mkdir -p "$USER_HOME/bin" "$USER_HOME/lib" "$USER_HOME/.config/containers"
    cp "$VARIANTCTL" "$USER_HOME/bin"
    [ -n "${OCV_INSTALLED:-}" ] || cp "$OCV_BUILD"/lib/libocivariant*.so.[0-9] "$USER_HOME/lib"
    printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$UPSTREAM" >"$USER_HOME/.config/containers/registries.conf"
    chown -R 65534:65534 "$USER_HOME"
    before=$(TREE=$USER_HOME picture)
    for engine in containerd docker crio; do
        run -2 as_user "$USER_HOME/bin/variantctl" setup "$engine" --registry docker.io
        [[ $output == *"only root can change"*"rootless Docker or containerd has a network of its own"* ]]
    done
    run -0 as_user "$USER_HOME/bin/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR" --dry-run
    diff <(printf '%s\n' "$before") <(TREE=$USER_HOME picture)
    run -0 as_user "$USER_HOME/bin/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR"
    [[ $output == *"wrote $USER_HOME/.config/containers/registries.conf.d/50-ocivariant.conf"* ]]
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = mirror ]
    run -0 as_user "$USER_HOME/bin/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR"
    [[ $output == *"nothing to change"* ]]
    # the machine shows who owns the socket, and that no variantd reports it as its own
    run -5 as_user "$USER_HOME/bin/variantctl" setup podman --status
    [[ $output == *"not variantd, but a program of user 0 listens at $MIRROR"* ]]
    run -0 as_user "$USER_HOME/bin/variantctl" setup podman --uninstall
    diff <(printf '%s\n' "$before") <(TREE=$USER_HOME picture)
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = upstream ]
    # without a file of the user, the system's file says that the registry has no TLS
    ETC=$STATE/etc-containers
    mkdir -p "$ETC/registries.conf.d"
    cp /etc/containers/policy.json "$ETC"
    mv "$USER_HOME/.config/containers/registries.conf" "$ETC/registries.conf.d/99-late.conf"
    run -0 as_user "$USER_HOME/bin/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR"
    [ "$(grep -c 'insecure = true' "$USER_HOME/.config/containers/registries.conf.d/50-ocivariant.conf")" = 2 ]
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = mirror ]
    run -0 as_user "$USER_HOME/bin/variantctl" setup podman --uninstall
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = upstream ]
}

# ---- BuildKit ------------------------------------------------------------------------------------

# as version 0.1.0 left it
buildkit_was_set_up()
{
    local data=$OCV_TOP/test/data/setup/buildkit
    BEFORE=$data/before.toml
    mkdir -p "$TREE/etc/buildkit" "$TREE/var/lib/ocivariant-setup/buildkit.d"
    cp "$data/buildkitd.toml" "$TREE/etc/buildkit"
    jq ".files[0].uid = $(id -u) | .files[0].gid = $(id -g)" "$data/state.json" \
        >"$TREE/var/lib/ocivariant-setup/buildkit.json"
    cp "$BEFORE" "$TREE/var/lib/ocivariant-setup/buildkit.d/$(sha256sum "$BEFORE" | cut -d' ' -f1)"
}

@test "buildkit: no longer set up, and told what to write" {
    run -2 --separate-stderr in_tree buildkit --registry docker.io
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == *"mirrors = [\"$MIRROR\"]"*"[registry.\"$MIRROR\"]"* ]]
    [ -z "$(find "$TREE" -type f)" ]
}

@test "buildkit: what an earlier version set up is undone" {
    buildkit_was_set_up
    run -0 "$VARIANTCTL" setup buildkit --status --root "$TREE"
    [[ $output == *"as written"* ]]
    run -0 "$VARIANTCTL" setup --uninstall --root "$TREE"
    cmp "$BEFORE" "$TREE/etc/buildkit/buildkitd.toml"
    [ ! -e "$TREE/var/lib/ocivariant-setup" ]
}

@test "buildkit: a header without keys was somebody's, and stays when others have changed the file" {
    buildkit_was_set_up
    printf '[worker.oci]\n  enabled = true\n' >>"$TREE/etc/buildkit/buildkitd.toml"
    run -0 in_tree buildkit --uninstall
    [[ $output == *"was changed by others since"* ]]
    # blank lines aside, theirs is what there was
    diff <(grep . "$BEFORE" && printf '[worker.oci]\n  enabled = true\n') \
        <(grep . "$TREE/etc/buildkit/buildkitd.toml")
}
