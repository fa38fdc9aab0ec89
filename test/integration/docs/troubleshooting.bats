#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# docs/troubleshooting.md: each test has the name of a section, provokes its messages, which have to stand
# there word for word, and runs those commands of it that say so. The last one counts what nobody provoked.

load ../harness
load ../images
load ../variantd

PAGE=$OCV_TOP/docs/troubleshooting.md
HERE=test/integration/docs/troubleshooting.bats

setup_file()
{
    state_start
    require docker-registry skopeo jq curl openssl
    export OCV_DATADIR=$OCV_TOP/plugins L=$STATE/layout
    make_variants "$L" >/dev/null
    mkimage "$L" large --layer 3M >/dev/null
    "$VARIANTCTL" index create --quiet --no-lint "oci:$L:gpu" \
        "cuda12.8=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real" >/dev/null 2>&1 3>&-
    start_registry
    export R=$REGISTRY
    push_layout "$L:app" "$R/app:1.0"
    push_layout "$L:cpu" "$R/app:1.0-cpu"
    push_layout "$L:cuda" "$R/app:1.0-cu128"
    push_layout "$L:large" "$R/large:1.0"
    push_layout "$L:gpu" "$R/gpu:1.0"
    push_layout "$L:cpu" "$R/gpu:1.0-cpu"
    start_registry own tls
    export OWN=$REGISTRY
    push_layout "$L:app" "$OWN/app:1.0"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=self" \
        -addext "subjectAltName=IP:127.0.0.1" -keyout "$STATE/server.key" -out "$STATE/server.crt" 2>/dev/null
    start_registry self tls
    export SELF=$REGISTRY
    push_layout "$L:app" "$SELF/app:1.0"
    start_registry private htpasswd
    export PRIVATE=$REGISTRY
    push_layout "$L:app" "$PRIVATE/app:1.0" --dest-creds user:secret
    start_badregistry
    list_page
    make_shims
}

setup()
{
    REAL=() SHOWN=()
    MACHINE=$PROFILES/h100.json
    export MACHINE
    cd "$BATS_TEST_TMPDIR" || return 1
}

# LINE<TAB>SECTION<TAB>TEXT of each line in an indented block, and LINE<TAB>SECTION<TAB>COMMAND of the blocks
# that are run here
list_page()
{
    awk -v out="$STATE" -v mark="<!-- not run: $HERE -->" '
        !fenced && /^#+ / { section = $0; sub(/^#+ /, "", section); print section >(out "/sections") }
        $0 == mark { marked = 1 }
        /^```/ { fenced = !fenced; if (fenced) start = FNR; else marked = 0; next }
        fenced && marked { print start "\t" section "\t" $0 >(out "/commands") }
        !fenced && /^    / { print FNR "\t" section "\t" substr($0, 5) }' "$PAGE" | normal >"$STATE/messages"
    : >"$STATE/seen-messages"
    : >"$STATE/seen-commands"
}

# The commands of the page have no --profile, and no engine of this machine answers them.
make_shims()
{
    mkdir "$STATE/bin"
    cat >"$STATE/bin/vpull" <<'SH'
#!/bin/sh
case " $* " in *" --profile "*) exec "$VPULL" "$@" ;; esac
exec "$VPULL" --profile "$MACHINE" "$@"
SH
    cat >"$STATE/bin/variantctl" <<'SH'
#!/bin/sh
[ "$1" = explain ] || exec "$VARIANTCTL" "$@"
shift
exec "$VARIANTCTL" explain --profile "$MACHINE" "$@"
SH
    chmod 755 "$STATE"/bin/*
    ln -s "$(command -v df)" "$(command -v sh)" "$STATE/bin"
}

# means REAL SHOWN: what is REAL here is SHOWN on the page; what is said first goes before
means()
{
    REAL+=("$1")
    SHOWN+=("$2")
}

# Digests, sizes, times and a registry's own words differ, on both sides.
normal()
{
    sed -E -e 's/sha256:([0-9a-f]{64}|\.\.\.)/sha256:.../g' -e 's/[0-9.]+ [kMG]?B\>/SIZE/g' \
        -e 's/(^|\t)[0-9-]{10}T[0-9:.]+Z /\1TIME /' -e 's/ [0-9.]+ms "containerd[^"]*"/ DURATION AGENT/' \
        -e 's/said the bad registry/.../' -e 's/program of user [0-9]+/program of user UID/' -e 's/self signed/self-signed/'
}

# on_page LINE...: each stands in this test's section
on_page()
{
    local text i found
    for text; do
        for ((i = 0; i < ${#REAL[@]}; i++)); do
            text=${text//"${REAL[i]}"/"${SHOWN[i]}"}
        done
        text=$(normal <<<"${text//"$R"/registry.example}")
        found=$(section messages | TEXT=$text awk -F '\t' '$3 == ENVIRON["TEXT"] { print $1 }')
        [ -n "$found" ] || { echo "not in this section of the page: $text" && return 1; }
        echo "$found" >>"$STATE/seen-messages"
    done
}

section() # LIST: its lines of this section
{
    awk -F '\t' -v section="$BATS_TEST_DESCRIPTION" '$2 == section' "$STATE/$1"
}

# said STATUS COMMAND...: what it says on stderr is on the page
said()
{
    run "-$1" --separate-stderr "${@:2}" </dev/null 3>&-
    echo "${stderr:-}"
    on_page "${stderr_lines[@]}"
}

# fix [N]: the section's commands, or its Nth block of them
fix()
{
    local text i start n=0
    for start in $(section commands | cut -f 1 | uniq); do
        n=$((n + 1))
        [ "${1:-$n}" = $n ] || continue
        echo "$start" >>"$STATE/seen-commands"
        text=$(section commands | awk -F '\t' -v start="$start" '$1 == start' | cut -f 3-)
        for ((i = 0; i < ${#REAL[@]}; i++)); do
            text=${text//"${SHOWN[i]}"/"${REAL[i]}"}
        done
        env PATH="$STATE/bin" DOCKER_HOST=unix:///nowhere CONTAINERD_ADDRESS="${CONTAINERD_ADDRESS:-/nowhere}" \
            "$BASH" -euo pipefail -c "${text//registry.example/"$R"}" </dev/null || return
    done
    [ "$n" -gt 0 ]
}

# not_here REASON: nothing of the section can be had on this machine
not_here()
{
    section commands | cut -f 1 >>"$STATE/seen-commands"
    section messages | cut -f 1 >>"$STATE/seen-messages"
    skip "$1"
}

# without CAPABILITY COMMAND...: as a user without it
without()
{
    if [ "$(id -u)" = 0 ]; then setpriv --bounding-set="-${1//,/,-}" -- "${@:2}"; else "${@:2}"; fi
}

# machine DRIVER VERSION: $tree is a recording of an H100 under that driver, with NVIDIA's of that version loaded;
# MACHINE is its profile
machine()
{
    local device
    tree=$BATS_TEST_TMPDIR/tree
    rm -rf "$tree"
    device=$tree/sys/bus/pci/devices/0000:3b:00.0
    mkdir -p "$device" "$tree/proc" "$tree/sys/module/nvidia"
    echo 0x10de >"$device/vendor"
    echo 0x2330 >"$device/device"
    echo 0x030200 >"$device/class"
    ln -s "../../drivers/$1" "$device/driver"
    echo "$2" >"$tree/sys/module/nvidia/version"
    printf 'processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: lm\n' >"$tree/proc/cpuinfo"
    MACHINE=$BATS_TEST_TMPDIR/machine.json
    "$VARIANTCTL" probe --sysroot "$tree" --json >"$MACHINE"
}

# noted: what a pull for $MACHINE notes is on the page
noted()
{
    run -0 --separate-stderr "$VPULL" --profile "$MACHINE" --to "oci:out" "$R/app:1.0"
    mapfile -t notes < <(grep -h '^note: ' <<<"$output"$'\n'"$stderr")
    [ ${#notes[@]} = 1 ]
    on_page "${notes[@]}"
}

# The set-up of a containerd whose files are in $STATE/etc, for a variantd on that configuration
configure() # LINE...
{
    printf '%s\n' "socket: $STATE/node.sock" "$@" >"$STATE/node.yaml"
    export OCV_SOCKET=$STATE/node.sock
}

set_up()
{
    mkdir -p "$STATE/etc/certs.d"
    printf 'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry]\n  config_path = "%s/etc/certs.d"\n' "$STATE" >"$STATE/etc/config.toml"
    start_variantd node --config "$STATE/node.yaml" --profile "$MACHINE"
    "$VARIANTCTL" setup containerd --engine-version 2.1 --config "$STATE/node.yaml" --config-dir "$STATE/etc/certs.d" \
        --engine-config "$STATE/etc/config.toml" --registry registry.example >/dev/null 2>&1
    means "$VARIANTD" 127.0.0.1:340
    means "$STATE/etc/certs.d" /etc/containerd/certs.d
}

reload()
{
    kill -HUP "$(<"$STATE/pids/node")"
    reread node "$1"
}

# status STATUS PATTERN: lines of `setup --status` that have it are on the page
status()
{
    run "-$1" "$VARIANTCTL" setup --status containerd --config "$STATE/node.yaml"
    echo "$output"
    mapfile -t found < <(grep -E "$2" <<<"$output")
    [ ${#found[@]} -gt 0 ]
    on_page "${found[@]}"
}

@test "Troubleshooting" {
    run -0 fix
    [[ $output == *"Chosen  cuda12.8"* ]]
}

@test "HTTP 429: the registry allows no more requests" {
    means "$BAD/m429long/x:1" registry.example/app:1.0
    means "$BAD" registry.example
    said 1 "$VPULL" --print-ref "$BAD/m429long/x:1"
}

@test "No space left on device" {
    mkdir disk
    mount -t tmpfs -o size=1m none disk 2>/dev/null || not_here "cannot mount a tmpfs"
    cd disk
    means "$R/large" registry.example/app
    said 1 "$VPULL" --quiet --to oci:images "$R/large:1.0"
    mount -o remount,size=20m "$PWD"
    run -0 fix
    [[ $output == *"resuming at "* ]]
    cd .. && umount disk
}

@test "Answers in plain HTTP" {
    means "$R" registry.example:5000
    printf 'registries: {"%s": {url: "https://%s"}}\n' "$R" "$BAD" >tls.yaml
    means "$BAD" registry.example:5000
    said 1 "$VPULL" --print-ref --config tls.yaml "$R/app:1.0"
    run -0 fix
}

@test "TLS failed: unknown certificate authority" {
    means "$OWN" registry.example:5000
    said 1 "$VPULL" --print-ref "$OWN/app:1.0"
    cp "$STATE/ca.pem" .
    run -0 fix
    means "$SELF" registry.example:5000
    said 1 "$VPULL" --print-ref "$SELF/app:1.0"
    run -0 "$VPULL" --print-ref --cacert "$STATE/server.crt" --profile "$MACHINE" "$SELF/app:1.0"
}

@test "HTTP 401: access denied, or credentials rejected" {
    means "$PRIVATE" registry.example
    means "$DOCKER_CONFIG" \~/.docker
    means "$XDG_RUNTIME_DIR" /run/user/1000
    means "$XDG_CONFIG_HOME" \~/.config
    said 1 "$VPULL" --print-ref "$PRIVATE/app:1.0"
    cp "$DOCKER_CONFIG/config.json" kept
    jq -n --arg host "$PRIVATE" '{auths: {($host): {auth: ("user:wrong" | @base64)}}}' >"$DOCKER_CONFIG/config.json"
    said 1 "$VPULL" --print-ref "$PRIVATE/app:1.0"
    cp kept "$DOCKER_CONFIG/config.json"
    echo user:secret >login.txt
    run -0 fix
}

@test "Cannot connect, no such host" {
    local port
    port=$(free_port)
    means "127.0.0.1:$port" registry.example
    said 1 "$VPULL" --print-ref "127.0.0.1:$port/app:1.0"
    means no-such-host.invalid registry.exmple
    said 1 "$VPULL" --print-ref no-such-host.invalid/app:1.0
}

@test "Not found: a tag or a repository" {
    said 1 "$VPULL" --print-ref "$R/app:1.1"
    said 1 "$VPULL" --print-ref "$R/ap:1.0"
    run -0 fix
}

@test "The driver is too old for every CUDA build" {
    machine nvidia 535.161.08
    noted
    run -3 "$VPULL" --print-ref --require nvidia --profile "$MACHINE" "$R/app:1.0"
}

@test "Driver/library version mismatch" {
    machine nvidia 580.95.05
    mkdir -p "$tree/usr/lib/x86_64-linux-gnu"
    : >"$tree/usr/lib/x86_64-linux-gnu/libcuda.so.590.44.01"
    ln -s libcuda.so.590.44.01 "$tree/usr/lib/x86_64-linux-gnu/libcuda.so.1"
    run -0 "$VARIANTCTL" probe --sysroot "$tree" --format text
    mapfile -t found < <(sed -n '/^nvidia /,/(driver /p' <<<"$output")
    on_page "${found[@]}"
}

@test "A GPU is bound to vfio-pci or nouveau" {
    for driver in vfio-pci nouveau; do
        machine $driver 580.95.05
        noted
    done
}

@test "No variant fits, and there is no default" {
    MACHINE=$PROFILES/laptop.json
    means "$R/gpu" registry.example/app
    run -3 --separate-stderr "$VPULL" --to oci:out --profile "$MACHINE" "$R/gpu:1.0"
    mapfile -t found < <(grep -v ': resolving$' <<<"$output"$'\n'"$stderr" | grep .)
    on_page "${found[@]}"
    run -0 fix
    run -0 "$VPULL" --print-ref --profile "$MACHINE" "$R/gpu:1.0"
}

@test "Unknown option, value, property or label" {
    said 2 "$VPULL" --devce-policy nvidia=any "$R/app:1.0"
    said 2 "$VPULL" --to dokcer "$R/app:1.0"
    said 2 "$VPULL" --print-ref --profile "$MACHINE" --require nvidia::sm_ach "$R/app:1.0"
    said 2 "$VPULL" --print-ref --profile "$MACHINE" --label cuda128 "$R/app:1.0"
    run -0 fix
}

@test "docker does not answer" {
    require python3
    means "$STATE/docker.sock" /var/run/docker.sock
    export DOCKER_HOST=unix://$STATE/docker.sock
    said 1 "$VPULL" --quiet --to docker --profile "$MACHINE" "$R/app:1.0"
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$STATE/docker.sock"
    chmod 0 "$STATE/docker.sock"
    said 1 without dac_override,dac_read_search "$VPULL" --quiet --to docker --profile "$MACHINE" "$R/app:1.0"
    run -0 fix
}

@test "variantd is not running" {
    configure "registries: {registry.example: {url: \"http://$R\"}}"
    set_up
    stop_daemon node
    status 5 .
}

@test "variantd runs, but engines get the default" {
    configure "registries: {registry.example: {url: \"http://$R\"}}"
    set_up
    configure "choose: shadow" "registries: {registry.example: {url: \"http://$R\"}}"
    reload 1
    status 0 "choose is shadow"
    configure "registries: {registry.example: {url: \"http://$PRIVATE\"}}"
    reload 2
    status 5 WARNING
    configure "registries: {other.example: {url: \"http://$R\"}}"
    reload 3
    status 5 WARNING
    rm "$STATE/etc/certs.d/registry.example/hosts.toml"
    status 5 "missing|write it again"
    stop_daemon node
}

@test "An image pinned by digest" {
    require containerd ctr
    [ "$(id -u)" = 0 ] || not_here "containerd needs root"
    INDEX=$(index_digest)
    export INDEX
    start_variantd pinned --registry "$R=http://$R" --profile "$MACHINE"
    export OCV_SOCKET=$VARIANTD_SOCKET
    mkdir -p "certs.d/$R"
    printf 'server = "http://%s"\n[host."http://%s"]\n  capabilities = ["pull", "resolve"]\n' "$R" "$VARIANTD" >"certs.d/$R/hosts.toml"
    start_containerd
    ln -s "$(command -v ctr)" "$STATE/bin"
    ctr -n k8s.io images pull --hosts-dir certs.d "$R/app@$INDEX" >/dev/null 2>&1 3>&-
    on_page "$(grep -m 1 '"HEAD /v2/app/manifests/sha256:' "$STATE/log/pinned")"
    run -5 fix 1
    on_page "${lines[0]}"
    run -0 fix 2
    [ "$output" = "$R/app@$(digest_of cuda12.8)" ]
    rm "$STATE/bin/ctr"
    stop_daemon containerd
    stop_daemon pinned
}

@test "The tag rules cannot decide" {
    local tag
    for tag in 2.12.0-cpu 2.12.0-cuda12.8 2.12.0-cuda12.8-cudnn9; do
        mkimage "$L" "$tag" --label "build=$tag" >/dev/null
        push_layout "$L:$tag" "$R/backendai/pytorch:$tag"
    done
    mkdir -p "$XDG_CONFIG_HOME/ocivariant"
    printf 'registries: {docker.io: {url: "http://%s"}}\n' "$R" >"$XDG_CONFIG_HOME/ocivariant/config.yaml"
    said 4 "$VPULL" --print-ref --profile "$MACHINE" backendai/pytorch:2.12.0
    run -4 fix 1
    [[ $output == *"2.12.0-cuda12.8 and 2.12.0-cuda12.8-cudnn9 say the same"* ]]
    run -0 fix 2
    rm "$XDG_CONFIG_HOME/ocivariant/config.yaml"
}

@test "Lint finds errors: nothing was written" {
    said 4 "$VARIANTCTL" index create "$R/new:1.0" "null=$R/app:1.0-cpu" "cuda12.8=$R/app:1.0-cu128,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: sm_90"
    run -0 fix
}

@test "Unknown key in the configuration" {
    printf 'registries:\n  registry.example:\n    insecur: true\n' >config.yaml
    means "$PWD/config.yaml" /etc/ocivariant/config.yaml
    said 2 "$VARIANTD_BIN" --check --config "$PWD/config.yaml"
}

@test "The profile is missing or malformed" {
    means "$(cd "$OCV_TOP/plugins/profiles" && printf '%s\n' *.json | sed 's/\.json$//' | paste -sd, | sed 's/,/, /g')" \
        'a10, a100, ...'
    said 2 "$VPULL" --print-ref --profile h10 "$R/app:1.0"
    : >h100.json
    said 4 "$VPULL" --print-ref --profile h100.json "$R/app:1.0"
    echo '{"schema": "dev.ocivariant.profile/v1"}' >h100.json
    said 4 "$VPULL" --print-ref --profile h100.json "$R/app:1.0"
    run -0 fix
}

@test "The bytes have another digest" {
    local blob layer
    layer=$(jq -r '.layers[-1].digest' "$L/blobs/sha256/$(digest_of cuda12.8 | cut -d: -f2)")
    blob=$STATE/registry/docker/registry/v2/blobs/sha256/${layer:7:2}/${layer#sha256:}/data
    cp "$blob" kept
    printf x | dd of="$blob" bs=1 seek=1000 conv=notrunc status=none
    said 4 "$VPULL" --quiet --to oci:images --profile "$MACHINE" "$R/app:1.0"
    cp kept "$blob"
    "$VPULL" --quiet --to oci:images --profile "$MACHINE" "$R/app:1.0"
    printf x | dd of="images/blobs/sha256/${layer#sha256:}" bs=1 seek=1000 conv=notrunc status=none
    run -0 fix
    cmp kept "images/blobs/sha256/${layer#sha256:}"
    means "$BAD/wrongdigest/x:1" registry.example/app:1.0
    said 4 "$VPULL" --print-ref "$BAD/wrongdigest/x:1"
}

@test "Cannot listen on port 340" {
    start_variantd node --registry "$R=http://$R" --profile "$MACHINE"
    means "$VARIANTD" 127.0.0.1:340
    local command=(env STATE_DIRECTORY="$STATE/node" "$VARIANTD_BIN" --config /dev/null --socket "$STATE/late.sock" --registry "$R" --profile "$MACHINE")
    said 1 "${command[@]}" --listen "$VARIANTD"
    stop_daemon node
    if [ "$(</proc/sys/net/ipv4/ip_unprivileged_port_start)" -le 340 ]; then
        on_page "variantd: cannot listen on 127.0.0.1:340: Permission denied"
    else
        said 1 without net_bind_service "${command[@]}" --listen 127.0.0.1:340
    fi
}

@test "every message was provoked, every command that says so was run, and the links lead to sections" {
    local list
    for list in messages commands; do
        [ "$(wc -l <"$STATE/$list")" -gt 20 ]
        cut -f 1 "$STATE/$list" | sort -u | comm -23 - <(sort -u "$STATE/seen-$list") >left
        [ ! -s left ] || { echo "$list of nobody, by their lines on the page:" && cat left && false; }
    done
    tr '[:upper:] ' '[:lower:]-' <"$STATE/sections" | tr -dc 'a-z0-9_\n-' | sort >sections
    grep -oE '\]\(#[^)]+' "$PAGE" | cut -c 4- | sort -u | comm -23 - sections >left
    diff /dev/null left
    # each but the introduction is linked
    [ "$(grep -oE '\]\(#[^)]+' "$PAGE" | sort -u | wc -l)" = "$(($(wc -l <sections) - 1))" ]
}
