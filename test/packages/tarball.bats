#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The archive of programs without shared libraries (OCV_TARBALL), in a tree with nothing else.

load ../integration/harness
load ../integration/images

setup_file()
{
    state_start
    require docker-registry skopeo openssl jq
    export TREE=$STATE/tree UNPACKED=$STATE/unpacked
    mkdir -p "$TREE/etc/ssl/certs" "$TREE/tmp" "$TREE/dev" "$UNPACKED"
    tar -C "$UNPACKED" --strip-components 1 -xzf "$OCV_TARBALL"
    make_variants "$STATE/images"
    start_namespace
    start_registry registry tls port=443
    push_within "$STATE/images:app" demo/app:1
}

teardown_file()
{
    state_stop
}

# Run in the tree, in the registry's network. The tree has neither a shell nor libraries.
alone() # COMMAND...
{
    # shellcheck disable=SC2016 # expanded inside
    nsenter --net --mount -t "$NAMESPACE" -- unshare --mount sh -ec 'tree=$1; shift
        mkdir -p "$tree/proc" "$tree/sys"
        mount -t proc proc "$tree/proc"
        mount --rbind /sys "$tree/sys"
        exec env -i PATH=/usr/local/bin HOME=/tmp "$(command -v chroot)" "$tree" "$@"' sh "$TREE" "$@" 3>&-
}

files() # of the tree, including links' targets
{
    (cd "$TREE" && find . \( -path ./proc -o -path ./sys -o -path ./tmp \) -prune -o -printf '%p %y %l\n' | LC_ALL=C sort)
}

@test "what is said to be static is, and what is not asks for the C library alone" {
    local file
    for file in "$UNPACKED"/opt/ocivariant/bin/* "$UNPACKED"/opt/ocivariant/libexec/ocivariant/*; do
        run -0 env LC_ALL=C readelf --wide --dynamic --program-headers "$file"
        case $file in
        */nvml-query)
            [ "$(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' <<<"$output" | sort | tr '\n' ' ')" = "libc.so.6 " ]
            ;;
        *) [[ $output != *NEEDED* && $output != *INTERP* ]] ;;
        esac
        # no path of the build machine, and hardened like other builds
        run ! grep -c "$OCV_TOP" "$file"
        run -0 env LC_ALL=C readelf --wide --dynamic --program-headers "$file"
        [[ $output == *"file type is DYN"* && $output == *GNU_RELRO* ]]
    done
    [ -s "$UNPACKED/opt/ocivariant/share/doc/libcurl4-openssl-dev.copyright" ]
}

@test "install.sh into a tree, twice, and what is there and not ours stays" {
    files >"$STATE/before"
    mkdir -p "$TREE/usr/local/bin" "$TREE/etc/ocivariant"
    echo mine >"$TREE/usr/local/bin/vpull"
    echo 'tag_ttl: 5s' >"$TREE/etc/ocivariant/config.yaml"
    run -0 "$UNPACKED/install.sh" --root "$TREE"
    [[ $output == *"/usr/local/bin/vpull is there already, and stays"* ]]
    [ "$(cat "$TREE/usr/local/bin/vpull")" = mine ]
    grep -qx 'tag_ttl: 5s' "$TREE/etc/ocivariant/config.yaml"
    rm -r "$TREE/usr/local/bin/vpull" "$TREE/etc/ocivariant"
    touch "$TREE/opt/ocivariant/of-an-older-version"
    run -0 "$UNPACKED/install.sh" --root "$TREE/"
    [ ! -e "$TREE/opt/ocivariant/of-an-older-version" ]
    run -0 "$UNPACKED/install.sh" --root "$TREE"
    [ "$(sort "$TREE/opt/ocivariant/installed" | uniq -d)" = "" ]
    run -2 "$UNPACKED/install.sh" --prefix /usr
    mkdir -p "$STATE/other/opt/ocivariant"
    run -1 "$UNPACKED/install.sh" --root "$STATE/other"
    [[ $output == *"this did not make it"* ]]
}

@test "vpull from a registry with TLS, by a name from /etc/hosts; and its rest" {
    printf '127.0.0.1 localhost registry.example\n' >"$TREE/etc/hosts"
    echo 'hosts: resolve [!UNAVAIL=return] nothing-of-this' >"$TREE/etc/nsswitch.conf"
    cp "$STATE/ca.pem" "$TREE/etc/ssl/certs/ca-certificates.crt"
    mkdir -p "$TREE/tmp/profiles"
    cp "$FLEET_DIR"/*.json "$TREE/tmp/profiles"
    run -0 alone vpull --profile /tmp/profiles/h100.json --to oci:/tmp/layout:app registry.example/demo/app:1
    echo "$output"
    [ "$(jq -r '.manifests[0].digest' "$TREE/tmp/layout/index.json")" = "$(digest_of cuda12.8)" ]
    run -0 alone vpull --print-ref registry.example/demo/app:1
    [[ $output == *@sha256:* ]]
    rm "$TREE/etc/ssl/certs/ca-certificates.crt"
    run -1 alone vpull --print-ref registry.example/demo/app:1
    [[ $output == *certificate* ]]
    run -0 alone /usr/local/bin/vpull --version
    [[ $output == "vpull $(cat "$OCV_TOP/VERSION")"* ]]
}

@test "variantctl: the machine, the reasons, and an engine set up and put back" {
    cp "$STATE/ca.pem" "$TREE/etc/ssl/certs/ca-certificates.crt"
    run -0 alone variantctl probe --format json
    jq -e '.schema == "dev.ocivariant.profile/v1"' <<<"$output"
    [ "$(jq -r '.platform.architecture' <<<"$output")" = amd64 ]
    run -0 alone variantctl explain --profile /tmp/profiles/mi300x.json registry.example/demo/app:1
    [[ $output == *rocm7.1* ]]
    mkdir -p "$TREE/etc/containerd"
    run -0 alone variantctl setup containerd --engine-version 2.1.0
    [ -n "$(find "$TREE/etc/containerd" -name hosts.toml)" ]
    run -0 alone variantctl setup --uninstall
    [ -z "$(find "$TREE/etc/containerd" -type f)" ]
    rmdir "$TREE/etc/containerd"
}

@test "the verifier answers where containerd looks for it" {
    local digest
    digest=$(digest_of cpu.v3)
    cp "$STATE/images/blobs/sha256/${digest#sha256:}" "$STATE/manifest"
    echo "hook_policy: {unknown: closed}" >"$STATE/strict.yaml"
    run -0 alone /opt/containerd/image-verifier/bin/ocivariant-verifier --version
    run alone /opt/containerd/image-verifier/bin/ocivariant-verifier -name registry.example/demo/app:1 -digest "$digest" \
        -stdin-media-type application/vnd.oci.image.manifest.v1+json <"$STATE/manifest"
    [ "$status" -le 1 ]
    [ -n "$output" ]
}

@test "uninstall.sh leaves a changed configuration, and nothing else" {
    echo 'tag_ttl: 5s' >>"$TREE/etc/ocivariant/config.yaml"
    rm -rf "$TREE/etc/hosts" "$TREE/etc/nsswitch.conf" "$TREE/etc/ssl/certs/ca-certificates.crt" "${TREE:?}/var"
    run -0 "$TREE/opt/ocivariant/uninstall.sh" --root "$TREE"
    [[ $output == *"/etc/ocivariant/config.yaml was changed, and stays"* ]]
    grep -qx 'tag_ttl: 5s' "$TREE/etc/ocivariant/config.yaml"
    rm -r "$TREE/etc/ocivariant"
    rmdir "$TREE/usr/local/bin" "$TREE/usr/local" "$TREE/usr" "$TREE/opt"
    files >"$STATE/after"
    diff "$STATE/before" "$STATE/after"
    run -1 "$UNPACKED/uninstall.sh" --root "$TREE"
    [[ $output == *"nothing is installed"* ]]
}
