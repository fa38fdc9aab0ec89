#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup: what it writes is read by the real engines, which then ask the mirror; taking it
# away leaves every file as it was. The mirror is a registry with other images under the same names.

load harness
load cri

setup_file()
{
    state_start
    require docker-registry skopeo
    mkimage "$STATE/layout" plain --label from=upstream
    mkimage "$STATE/layout" chosen --label from=mirror
    start_registry upstream
    UPSTREAM=$REGISTRY
    start_registry mirror
    MIRROR=$REGISTRY
    export UPSTREAM MIRROR
    push_layout "$STATE/layout:plain" "$UPSTREAM/demo/app:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/demo/app:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/${UPSTREAM/:/--}/demo/app:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/library/demo:1"
    CHOSEN=$(skopeo inspect --raw "oci:$STATE/layout:chosen" | sha256sum | cut -d' ' -f1)
    PLAIN=$(skopeo inspect --raw "oci:$STATE/layout:plain" | sha256sum | cut -d' ' -f1)
    export CHOSEN PLAIN
}

teardown_file()
{
    state_stop
}

setup()
{
    TREE=$(mktemp -d "$STATE/tree.XXXXXX")
    mkdir -p "$TREE"/etc/{containerd,docker,containers/registries.conf.d} "$TREE/var/lib"
}

# Every file below $TREE with all that a person would call its state.
picture()
{
    (cd "$TREE" && find . -type f -printf '%p %m %U:%G %T@ ' -exec sha256sum {} \; | sort &&
        find . -type l -printf '%p -> %l\n' | sort && find . -type d -printf '%p %m\n' | sort)
}

in_tree() # ENGINE OPTION...
{
    "$VARIANTCTL" setup "$1" --root "$TREE" --listen "$MIRROR" "${@:2}"
}

# The whole life of a set-up: the diff is what is written, a second run changes nothing, --uninstall
# leaves every file as it was.
life() # ENGINE OPTION...
{
    local before written
    before=$(picture)
    run -0 --separate-stderr in_tree "$@" --dry-run
    [ "$(picture)" = "$before" ]
    cp -a "$TREE" "$TREE.patched"
    (cd "$TREE.patched" && git apply --unsafe-paths -p1 <<<"$output")
    run -0 in_tree "$@"
    written=$(picture)
    diff -r -x ocivariant-setup "$TREE" "$TREE.patched"
    rm -rf "$TREE.patched"
    run -0 in_tree "$@"
    [[ $output == *"nothing to change"* ]]
    [ "$(picture)" = "$written" ]
    run -0 "$VARIANTCTL" setup "$1" --status --root "$TREE"
    [[ $output == *"as written"* ]]
    cp -a "$TREE" "$TREE.set"
    run -0 in_tree "$1" --uninstall
    diff <(printf '%s\n' "$before") <(picture)
    run -5 "$VARIANTCTL" setup "$1" --status --root "$TREE"
    # what the engines read below
    rm -rf "$TREE" && mv "$TREE.set" "$TREE"
}

containerd_reads() # PATTERN: in what containerd makes of the tree's configuration
{
    run -0 containerd --config "$TREE/etc/containerd/config.toml" config dump
    [[ ${output//\'/\"} == *"$1"* ]] # 2.x quotes otherwise
}

# ---- containerd ----------------------------------------------------------------------------------

@test "containerd: config_path is set in every notation, all else stays" {
    require containerd git
    local tried=0 text version
    version=$(containerd --version | grep -oE -m 1 ' v?[0-9]+\.[0-9]+\.[0-9]+' | head -n 1 | tr -d ' v')
    for text in \
        "$(containerd config default)" \
        $'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry.configs."x".auth]\n  username = "u"' \
        $'version = 2\nplugins."io.containerd.grpc.v1.cri".registry.headers = { a = ["b"] }\n' \
        $'version = 2\n[plugins]\n"io.containerd.grpc.v1.cri" = { sandbox_image = "x" }\n' \
        $'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nregistry = {}' \
        $'# nothing\n' \
        $'root = "/x"\r\n[plugins.cri.registry]\r\n' \
        $'# first\r\nversion = 2 # two\r\n\r\n[plugins]\r\n\t# a comment\r\n\t[plugins."io.containerd.grpc.v1.cri"]\r\n\t\tsandbox_image\t=\t"x" # y' \
        $'root = "/x"\n[plugins]\n\t[plugins.cri]\n\t\tsandbox_image = "a"\n\t[plugins.linux]\n' \
        $'\xef\xbb\xbfversion = 2\r\n[plugins."io.containerd.grpc.v1.cri".registry] # c\r\n   config_path = "" # d\r\n'; do
        printf '%s' "$text" >"$TREE/etc/containerd/config.toml"
        chmod 600 "$TREE/etc/containerd/config.toml"
        life containerd --engine-version "$version"
        # 2.x itself takes no byte order mark
        [[ $version == 2.* && $text == $'\xef'* ]] || containerd_reads 'config_path = "/etc/containerd/certs.d"'
        in_tree containerd --uninstall >/dev/null
        tried=$((tried + 1))
    done
    [ "$tried" = 10 ]
}

@test "containerd: no configuration at all is one with our key alone" {
    require containerd git
    life containerd --engine-version 1.6.20
    containerd_reads 'config_path = "/etc/containerd/certs.d"'
    [ "$(head -n 1 "$TREE/etc/containerd/config.toml")" = "version = 2" ]
    # the directory that nerdctl reads without being told
    [ -e "$TREE/etc/containerd/certs.d/_default/hosts.toml" ]
    run -0 in_tree containerd
    [[ $output == *"read at every pull, by nerdctl, too"* ]]
    in_tree containerd --uninstall >/dev/null
    life containerd --engine-version 2.1.9
    grep -q "io.containerd.cri.v1.images" "$TREE/etc/containerd/config.toml"
    grep -q dial_timeout "$TREE/etc/containerd/certs.d/_default/hosts.toml"
}

@test "without --engine-version it is what the program itself says" {
    local version table
    mkdir "$TREE/bin"
    for version in '1.6.20~ds1 1.6.20~ds1-1+b1 [plugins.cri.registry]' 'v2.2.1 dea7da5 [plugins."io.containerd.cri.v1.images".registry]'; do
        table=${version##* }
        printf '#!/bin/sh\necho containerd github.com/containerd/containerd %s\n' "${version% *}" >"$TREE/bin/containerd"
        chmod 755 "$TREE/bin/containerd"
        printf 'disabled_plugins = []\n' >"$TREE/config.toml"
        cp "$TREE/config.toml" "$TREE/before.toml"
        PATH=$TREE/bin:$PATH run -0 "$VARIANTCTL" setup containerd --config-dir "$TREE/certs.d" \
            --engine-config "$TREE/config.toml" --listen "$MIRROR"
        grep -qxF "$table" "$TREE/config.toml"
        "$VARIANTCTL" setup containerd --uninstall >/dev/null
        cmp "$TREE/config.toml" "$TREE/before.toml"
    done
}

# what a mirror cannot see, and what to use instead, of every engine
@test "a set-up says that a mirrored tag means this machine's platform" {
    local engine
    for engine in containerd docker podman crio; do
        run -0 in_tree "$engine" --registry docker.io --engine-version 26.1.5
        [[ $output == *"always means this machine's platform"*"do not pass on"*"--platform"*"skopeo copy --all"* ]]
        [[ $output == *"a digest, vpull --platform or --label, variantd's /raw/"* ]]
        [[ $output == *"this engine builds starts from images for this machine"*"cpu_levels: on"* ]]
        run -0 in_tree "$engine" --uninstall
        [[ $output != *"machine's platform"* ]]
    done
}

@test "containerd 2.x: a file without a version has the new name of the key, the only one that is read there" {
    require git
    printf 'disabled_plugins = []\n' >"$TREE/etc/containerd/config.toml"
    life containerd --engine-version 2.2.1
    grep -q 'io.containerd.cri.v1.images' "$TREE/etc/containerd/config.toml"
    run ! grep version "$TREE/etc/containerd/config.toml"
}

@test "containerd: a list of directories becomes one from 2.1 on, and stays before" {
    local config=$TREE/etc/containerd/config.toml
    printf 'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/a:/b"\n' >"$config"
    cp "$config" "$STATE/list.toml"
    run -0 in_tree containerd --engine-version 1.6.20
    cmp "$config" "$STATE/list.toml"
    [[ $output != *"systemctl restart"* ]]
    [[ $output == *"nerdctl and \`ctr images pull\` need \`--hosts-dir /a\`"* ]]
    [ -e "$TREE/a/_default/hosts.toml" ]
    in_tree containerd --uninstall >/dev/null
    [ ! -e "$TREE/a" ]
    life containerd --engine-version 2.2.0
    grep -qx 'config_path = "/a"' "$config"
    in_tree containerd --uninstall >/dev/null
    run -0 in_tree containerd
    [[ $output == *"takes for one directory"*"systemctl restart containerd"* ]]
}

@test "containerd 2: the plugin's new name, drop-ins imported by default, later versions" {
    local config=$TREE/etc/containerd/config.toml
    printf "version = 2\n[plugins.'io.containerd.cri.v1.images']\n  snapshotter = 'overlayfs'\n" >"$config"
    life containerd --engine-version 2.0.5
    grep -qF '[plugins."io.containerd.cri.v1.images".registry]' "$config"
    in_tree containerd --uninstall >/dev/null
    printf 'version = 4\n' >"$config"
    mkdir "$TREE/etc/containerd/conf.d"
    printf "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\n  config_path = ''\n" \
        >"$TREE/etc/containerd/conf.d/k.toml"
    life containerd --engine-version 2.2.0
    grep -qx 'version = 4' "$config"
    grep -qx '  config_path = "/etc/containerd/certs.d"' "$TREE/etc/containerd/conf.d/k.toml"
    in_tree containerd --uninstall >/dev/null
    life containerd --engine-version 2.1.9 # does not read conf.d by itself
    grep -q config_path "$config"
    in_tree containerd --uninstall >/dev/null
    printf 'version = 9\n' >"$config"
    run -1 in_tree containerd
    [[ $output == *"version 9 is not known here"* ]]
}

@test "containerd: refused beside registry.mirrors and TLS in registry.configs, wherever they stand" {
    local before
    printf 'version = 2\nimports = ["conf.d/*.toml"]\n' >"$TREE/etc/containerd/config.toml"
    mkdir "$TREE/etc/containerd/conf.d"
    printf '[plugins."io.containerd.grpc.v1.cri".registry.mirrors."x"]\nendpoint = ["http://a"]\n' \
        >"$TREE/etc/containerd/conf.d/a.toml"
    before=$(picture)
    run -2 in_tree containerd --engine-version 1.6.20
    [[ $output == *"conf.d/a.toml: uses registry.mirrors"* ]]
    diff <(printf '%s\n' "$before") <(picture)
    printf '[plugins."io.containerd.grpc.v1.cri".registry.configs."x".tls]\nca_file = "a"\n' \
        >"$TREE/etc/containerd/conf.d/a.toml"
    run -2 in_tree containerd --engine-version 1.6.20
    [[ $output == *"registry.configs with tls"* ]]
    [ -z "$(find "$TREE" -name hosts.toml)" ]
    printf '[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "x"\n' \
        >"$TREE/etc/containerd/conf.d/a.toml"
    life containerd --engine-version 1.6.20
    grep -q config_path "$TREE/etc/containerd/conf.d/a.toml"
}

@test "containerd: hosts files of others keep their say, certificates beside them are named" {
    require git
    local certs=$TREE/etc/containerd/certs.d
    mkdir -p "$certs/a.example_5000_" "$certs/b.example" "$certs/_backup"
    printf '# mine\nserver = "https://a.example:5000"\n\n# first\n[host."https://cache"]\n  capabilities = ["pull"]\n' \
        >"$certs/a.example_5000_/hosts.toml"
    touch "$certs/b.example"/{ca.crt,client.cert,client.key}
    life containerd --engine-version 1.6.20
    [ "$(grep -m 1 '^\[host' "$certs/a.example_5000_/hosts.toml")" = "[host.\"http://$MIRROR\"]" ]
    grep -qx 'ca = \["ca.crt"\]' "$certs/b.example/hosts.toml"
    grep -qx 'client = \[\["client.cert", "client.key"\]\]' "$certs/b.example/hosts.toml"
    [ -e "$certs/_default/hosts.toml" ]
    [ ! -e "$certs/_backup/hosts.toml" ]
    in_tree containerd --uninstall >/dev/null
    life containerd --engine-version 1.6.20 --registry a.example:5000 --registry c.example
    [ ! -e "$certs/_default" ]
    [ -e "$certs/c.example/hosts.toml" ]
    in_tree containerd --uninstall >/dev/null
    run -2 in_tree containerd --fail-closed --registry a.example:5000
    [[ $output == *"way round"* ]]
    printf 'server = \n' >"$certs/a.example_5000_/hosts.toml"
    run -4 in_tree containerd
    [[ $output == *"hosts.toml:1: "* ]]
}

@test "another set of registries replaces the first; what is not wanted any more goes" {
    local before certs=$TREE/etc/containerd/certs.d
    before=$(picture)
    in_tree containerd --registry a.example --registry b.example >/dev/null
    run -0 in_tree containerd --registry b.example --registry c.example:5000
    [ ! -e "$certs/a.example" ]
    [ -e "$certs/b.example/hosts.toml" ]
    [ -e "$certs/c.example:5000/hosts.toml" ]
    in_tree containerd >/dev/null
    [ "$(ls "$certs")" = _default ]
    in_tree containerd --uninstall >/dev/null
    diff <(printf '%s\n' "$before") <(picture)
}

@test "ctr and CRI get the mirror's image by tag, upstream's without the mirror" {
    require containerd ctr curl git
    start_cri
    "$VARIANTCTL" setup containerd --config-dir "$STATE/certs.d" --engine-config "$STATE/cri.toml" \
        --listen "$MIRROR" >/dev/null
    restart_cri
    run -0 ctr -a "$STATE/cri.sock" plugins ls
    [[ $output =~ "io.containerd.grpc.v1 "+cri.*" ok" ]]
    run -0 cri_pull "$UPSTREAM/demo/app:1"
    run -0 ctr -a "$STATE/cri.sock" -n k8s.io images ls -q "name==$UPSTREAM/demo/app@sha256:$CHOSEN"
    [ -n "$output" ]
    run -0 ctr -a "$STATE/cri.sock" images pull --hosts-dir "$STATE/certs.d" --plain-http "$UPSTREAM/demo/app:1"
    run -0 ctr -a "$STATE/cri.sock" images ls "name==$UPSTREAM/demo/app:1"
    [[ $output == *"$CHOSEN"* ]]
    # the registry that has no such tag falls back
    push_layout "$STATE/layout:plain" "$UPSTREAM/demo/other:1"
    run -0 cri_pull "$UPSTREAM/demo/other:1"
    # taken away: CRI goes to the registry again
    "$VARIANTCTL" setup containerd --uninstall >/dev/null
    cmp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    restart_cri
    push_layout "$STATE/layout:plain" "$UPSTREAM/demo/again:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/demo/again:1"
    run -0 cri_pull "$UPSTREAM/demo/again:1"
    run -0 ctr -a "$STATE/cri.sock" -n k8s.io images ls "name==$UPSTREAM/demo/again:1"
    [[ $output == *"$PLAIN"* ]]
    stop_daemon cri
}

@test "fail-closed containerd never goes past the mirror" {
    require containerd ctr
    start_cri
    # the set-up writes /proxy, which a plain registry does not have: everything fails, nothing passes
    "$VARIANTCTL" setup containerd --config-dir "$STATE/certs.d" --engine-config "$STATE/cri.toml" \
        --listen "$MIRROR" --fail-closed >/dev/null
    restart_cri
    before=$(grep -c '"GET\|"HEAD' "$STATE/log/upstream")
    run ! cri_pull "$UPSTREAM/demo/app:1"
    run ! ctr -a "$STATE/cri.sock" images pull --hosts-dir "$STATE/certs.d" "$UPSTREAM/demo/app:1"
    [ "$(grep -c '"GET\|"HEAD' "$STATE/log/upstream")" = "$before" ]
    grep -q '/proxy/v2/demo/app/manifests/1?ns=' "$STATE/log/mirror"
    "$VARIANTCTL" setup containerd --uninstall >/dev/null
    stop_daemon cri
}

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
    [[ $output == *"docker.io alone"* ]]
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

# as_user COMMAND...: an ordinary user in a home of their own; ETC is /etc/containers for them
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
    cp "$VARIANTCTL" "$OCV_BUILD"/libocivariant*.so.[0-9] "$USER_HOME"
    mkdir -p "$USER_HOME/.config/containers"
    printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$UPSTREAM" >"$USER_HOME/.config/containers/registries.conf"
    chown -R 65534:65534 "$USER_HOME"
    before=$(TREE=$USER_HOME picture)
    for engine in containerd docker crio; do
        run -2 as_user "$USER_HOME/variantctl" setup "$engine" --registry docker.io
        [[ $output == *"only root can change"*"rootless Docker or containerd has a network of its own"* ]]
    done
    run -0 as_user "$USER_HOME/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR" --dry-run
    diff <(printf '%s\n' "$before") <(TREE=$USER_HOME picture)
    run -0 as_user "$USER_HOME/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR"
    [[ $output == *"wrote $USER_HOME/.config/containers/registries.conf.d/50-ocivariant.conf"* ]]
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = mirror ]
    run -0 as_user "$USER_HOME/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR"
    [[ $output == *"nothing to change"* ]]
    # whose socket it is, and that no variantd says that it is its own, the machine tells
    run -5 as_user "$USER_HOME/variantctl" setup podman --status
    [[ $output == *"not variantd, but a program of user 0 listens at $MIRROR"* ]]
    run -0 as_user "$USER_HOME/variantctl" setup podman --uninstall
    diff <(printf '%s\n' "$before") <(TREE=$USER_HOME picture)
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = upstream ]
    # without a file of their own it is the system's that says that the registry has no TLS
    ETC=$STATE/etc-containers
    mkdir -p "$ETC/registries.conf.d"
    cp /etc/containers/policy.json "$ETC"
    mv "$USER_HOME/.config/containers/registries.conf" "$ETC/registries.conf.d/99-late.conf"
    run -0 as_user "$USER_HOME/variantctl" setup podman --registry "$UPSTREAM" --listen "$MIRROR"
    [ "$(grep -c 'insecure = true' "$USER_HOME/.config/containers/registries.conf.d/50-ocivariant.conf")" = 2 ]
    run -0 as_user skopeo inspect --format '{{.Labels.from}}' "docker://$UPSTREAM/demo/app:1"
    [ "$output" = mirror ]
    run -0 as_user "$USER_HOME/variantctl" setup podman --uninstall
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

# ---- undoing what others have changed -------------------------------------------------------------

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
    run -5 "$VARIANTCTL" setup --status --root "$TREE"
    [[ $output == *"daemon.json: changed since by others"* ]]
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

@test "two at once: the second finds what the first did" {
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
    run -0 "$VARIANTCTL" setup --help
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

# ---- certificates ----------------------------------------------------------------------------------

# Run with: sh -c "$NAMED" sh COMMAND..., where the name reg.test is this machine.
# shellcheck disable=SC2016 # expanded by that shell
NAMED='mount --bind "$STATE/hosts" /etc/hosts && exec "$@"'

pull_by_name()
{
    unshare -m sh -c "$NAMED" sh ctr -a "$STATE/named.sock" images pull --hosts-dir "$STATE/named.d" "$1"
}

@test "certificates beside a new hosts.toml still count for containerd" {
    require containerd ctr openssl unshare
    unshare -m true || skip "no mount namespaces here"
    local named
    printf '127.0.0.1 localhost reg.test\n' >"$STATE/hosts"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=reg.test -keyout "$STATE/server.key" \
        -addext subjectAltName=DNS:reg.test -out "$STATE/server.crt" 2>/dev/null
    cp "$STATE/server.crt" "$STATE/ca.pem" # the harness takes these for its own
    start_registry named tls
    named=reg.test:${REGISTRY##*:}
    push_layout "$STATE/layout:plain" "$REGISTRY/demo/app:1"
    mkdir -p "$STATE/named.d/$named"
    cp "$STATE/server.crt" "$STATE/named.d/$named/ca.crt"
    cat >"$STATE/named.toml" <<TOML
version = 2
root = "$STATE/named-root"
state = "$STATE/named-run"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$STATE/named.sock"
TOML
    start_daemon named-containerd unshare -m sh -c "$NAMED" sh containerd --config "$STATE/named.toml"
    await named-containerd ctr --address "$STATE/named.sock" version
    run -0 pull_by_name "$named/demo/app:1"
    "$VARIANTCTL" setup containerd --config-dir "$STATE/named.d" --engine-config "$STATE/named.toml" \
        --listen 127.0.0.1:1 >/dev/null
    ctr -a "$STATE/named.sock" images rm "$named/demo/app:1"
    run -0 pull_by_name "$named/demo/app:1"
    ctr -a "$STATE/named.sock" images rm "$named/demo/app:1"
    sed -i '/^ca = /d' "$STATE/named.d/$named/hosts.toml" # it was that line
    run ! pull_by_name "$named/demo/app:1"
    "$VARIANTCTL" setup containerd --uninstall >/dev/null
    stop_daemon named-containerd
}
