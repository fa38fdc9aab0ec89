#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl setup containerd: what it writes is read by the real containerd, which then asks the mirror.

load ../harness
load ../cri
load ../setup

containerd_reads() # PATTERN: in what containerd makes of the tree's configuration
{
    run -0 containerd --config "$TREE/etc/containerd/config.toml" config dump
    [[ ${output//\'/\"} == *"$1"* ]] # 2.x quotes otherwise
}

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
    [[ $output == *"takes for one directory"*"due on the machine of $TREE: systemctl restart containerd"* ]]
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

# tree of configuration files: the root file's text, a drop-in's
of_two_files()
{
    rm -rf "$TREE/etc/containerd" "$TREE/var/lib/ocivariant-setup"
    mkdir -p "$TREE/etc/containerd/conf.d"
    printf 'imports = ["%s/etc/containerd/conf.d/*.toml"]\n' "${3-}" | cat - <(printf '%b' "$1") >"$TREE/etc/containerd/config.toml"
    printf '%b' "$2" >"$TREE/etc/containerd/conf.d/99.toml"
}

@test "containerd 2: files of several versions get the key where containerd reads it" {
    local old='[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/etc/containerd/certs.d"\n'
    local oldest='[plugins.cri.registry]\nconfig_path = "/etc/containerd/certs.d"\n'
    local new='[plugins."io.containerd.cri.v1.images".registry]\nconfig_path = "/etc/containerd/certs.d"\n'
    local runtime='[plugins."io.containerd.cri.v1.runtime"]\nenable_cdi = true\n'
    local v2='[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n' root drop_in says row tried=0
    # root file, drop-in, what setup does: "new": writes the key by its new name into the root file; "none":
    # writes nothing there, as it is read
    local -a rows=(
        "version = 2\n$old|version = 3\n$runtime|new"
        "version = 2\n$v2|version = 3\n$runtime|new"
        "$oldest|version = 3\n$runtime|new"
        "$old|$runtime|new"
        "version = 2\n$old|$v2|none"
        "version = 2\n$old|version = 2\n$v2|none"
        "version = 3\n$new|version = 2\n$v2|none"
        "version = 3\n$new|$v2|none"
        "version = 2\n$v2|version = 3\n$new|none"
        "version = 2\n$old|version = 2\n$runtime|none"
    )
    for row in "${rows[@]}"; do
        IFS='|' read -r root drop_in says <<<"$row"
        of_two_files "$root" "$drop_in"
        cp "$TREE/etc/containerd/config.toml" "$STATE/root.toml"
        run -0 in_tree containerd --engine-version 2.1.9
        echo "$row"
        case $says in
        new)
            grep -qF '[plugins."io.containerd.cri.v1.images".registry]' "$TREE/etc/containerd/config.toml"
            [[ $root == "version = 2"* || $root == "$oldest" || $root == "$old" ]]
            [[ $output == *"note: containerd 2 ignores the CRI plugin's settings of version 2 in /etc/containerd/config.toml, because /etc/containerd/conf.d/99.toml is of version 3"* ||
                $output == *"note: containerd 2 takes /etc/containerd/config.toml for version 3"* ]]
            ;;
        none)
            cmp "$TREE/etc/containerd/config.toml" "$STATE/root.toml"
            ;;
        esac
        [ -e "$TREE/etc/containerd/certs.d/_default/hosts.toml" ]
        # containerd itself is the judge, where there is one
        if containerd2_here >/dev/null; then
            sed -i "s|^imports = .*|imports = [\"$TREE/etc/containerd/conf.d/*.toml\"]|" "$TREE/etc/containerd/config.toml"
            containerd2 -c "$TREE/etc/containerd/config.toml" config dump 2>/dev/null |
                grep -A 40 "cri.v1.images'.registry\]" | grep -m 1 config_path | grep -F "'/etc/containerd/certs.d'"
        fi
        tried=$((tried + 1))
    done
    [ $tried = ${#rows[@]} ]
}

@test "containerd 2: a drop-in's mirrors count only where its version is read" {
    local mirrors='[plugins."io.containerd.grpc.v1.cri".registry.mirrors."x"]\nendpoint = ["http://a"]\n'
    of_two_files 'version = 2\n' "version = 2\n$mirrors"
    run -2 in_tree containerd --engine-version 2.1.9
    [[ $output == *"uses registry.mirrors"* ]]
    of_two_files "version = 2\n$mirrors" 'version = 3\n'
    run -0 in_tree containerd --engine-version 2.1.9
    grep -qF '[plugins."io.containerd.cri.v1.images".registry]' "$TREE/etc/containerd/config.toml"
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
    [[ $output == *"bypass"* ]]
    printf 'server = \n' >"$certs/a.example_5000_/hosts.toml"
    run -4 in_tree containerd
    [[ $output == *"hosts.toml:1: "* ]]
}

@test "containerd: the authority that variantd's configuration names is written, or told" {
    local certs=$TREE/etc/containerd/certs.d
    mkdir -p "$TREE/etc/ocivariant" "$certs/known.example" "$certs/own.example"
    printf 'registries:\n  private.example:5000: {ca: /etc/ocivariant/ca.pem}\n  known.example: {ca: /etc/ocivariant/ca.pem}\n  own.example: {ca: /etc/ocivariant/ca.pem}\n' \
        >"$TREE/etc/ocivariant/config.yaml"
    printf 'server = "https://known.example"\n' >"$certs/known.example/hosts.toml"
    printf 'server = "https://own.example"\nca = "/etc/own.pem"\n' >"$certs/own.example/hosts.toml"
    run -0 in_tree containerd --registry private.example:5000 --registry known.example --registry own.example
    [ "$(sed -n 1,2p "$certs/private.example:5000/hosts.toml")" = 'server = "https://private.example:5000"
ca = "/etc/ocivariant/ca.pem"' ]
    grep -q '^\[host."http://' "$certs/private.example:5000/hosts.toml"
    [[ $output == *"note: containerd does not read variantd's configuration, which names /etc/ocivariant/ca.pem as the authority of known.example: name it in $certs"* ]] ||
        [[ $output == *"as the authority of known.example: name it in /etc/containerd/certs.d/known.example/hosts.toml, too: ca = \"/etc/ocivariant/ca.pem\" above [host]"* ]]
    [[ $output != *"authority of own.example"* ]]
    # the second time what was said is not said again, and nothing is due
    run -0 in_tree containerd --registry private.example:5000 --registry known.example --registry own.example
    [[ $output == *"nothing to change"* && $output != *"mirrored tag"* && $output != *"due now"* ]]
    in_tree containerd --uninstall >/dev/null
    [ ! -e "$certs/private.example:5000" ]
    # only hosts.toml changes, which is read at every pull
    in_tree containerd --registry private.example:5000 >/dev/null
    run -0 in_tree containerd --registry private.example:5000 --registry known.example
    [[ $output != *"due now"* ]]
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
    # undone: CRI asks the registry again
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
    containerd_toml named 'disabled_plugins = ["io.containerd.grpc.v1.cri"]' >"$STATE/named.toml"
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

@test "status: host files that others wrote later, and a configuration that reads none" {
    local certs=$TREE/etc/containerd/certs.d url="http://$MIRROR"
    mkdir -p "$certs/before.example"
    printf 'server = "https://before.example"\n' >"$certs/before.example/hosts.toml"
    run -0 in_tree containerd --engine-version 2.1.9
    run -0 in_tree containerd --status --engine-version 2.1.9
    [[ $output != *"go past it"* ]]
    # one without a host, one with another host first, one that has ours behind another
    mkdir "$certs/registry.example" "$certs/other.example_5000_" "$certs/third.example"
    printf 'server = "https://registry.example"\n' >"$certs/registry.example/hosts.toml"
    printf '[host."https://cache.example"]\n' >"$certs/other.example_5000_/hosts.toml"
    printf '[host."https://cache.example"]\n[host."%s"]\n' "$url" >"$certs/third.example/hosts.toml"
    run -5 in_tree containerd --status --engine-version 2.1.9
    for name in registry.example other.example_5000_ third.example; do
        [[ $output == *"WARNING: /etc/containerd/certs.d/$name/hosts.toml does not ask variantd first: pulls of $name go past it"* ]]
    done
    [[ $output != *before.example* || $output != *"pulls of before.example"* ]]
    [[ $output == *"to write it again: variantctl setup containerd"* ]]
    run -5 in_tree containerd --status --engine-version 2.1.9 --format json
    [ "$(jq -c '.engines[0].passedBy | map(.registry)' <<<"$output")" = '["other.example_5000_","registry.example","third.example"]' ]
    in_tree containerd --engine-version 2.1.9 >/dev/null # writes ours first, but moves none
    run -5 in_tree containerd --status --engine-version 2.1.9
    [ "$(grep -c 'go past it' <<<"$output")" = 1 ]
    [[ $output == *"pulls of third.example go past it"* ]]
    rm -r "$certs/third.example"
    in_tree containerd --engine-version 2.1.9 >/dev/null
    run -0 in_tree containerd --status --engine-version 2.1.9
    # certificates in Docker's manner: containerd then asks the registry itself
    mkdir "$certs/fourth.example"
    touch "$certs/fourth.example/ca.crt"
    run -5 in_tree containerd --status --engine-version 2.1.9
    [[ $output == *"fourth.example/hosts.toml does not ask variantd first"* ]]
    rm -r "$certs/fourth.example"
    # and a drop-in that hides the key
    in_tree containerd --uninstall >/dev/null
    mkdir "$TREE/etc/containerd/conf.d"
    printf 'version = 2\nimports = ["conf.d/*.toml"]\n[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/etc/containerd/certs.d"\n' \
        >"$TREE/etc/containerd/config.toml"
    run -0 in_tree containerd --engine-version 2.1.9
    run -0 in_tree containerd --status --engine-version 2.1.9
    printf 'version = 3\n' >"$TREE/etc/containerd/conf.d/9.toml"
    run -5 in_tree containerd --status --engine-version 2.1.9
    [[ $output == *"WARNING: /etc/containerd/config.toml: no hosts.toml is read, so variantd is not asked"* ]]
}

@test "status: registries that were named are looked up as containerd does" {
    local certs=$TREE/etc/containerd/certs.d
    run -0 in_tree containerd --registry registry.example:5000 --engine-version 2.1.9
    run -0 in_tree containerd --status --engine-version 2.1.9
    mkdir "$certs/registry.example_5000_"
    run -5 in_tree containerd --status --engine-version 2.1.9
    [[ $output == *"registry.example_5000_/hosts.toml does not ask variantd first: pulls of registry.example:5000 go past it"* ]]
}
