#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make demo: one index over five builds. Three machines choose from it, pull, and ask their node's mirror for the
# same tag; then what goes wrong. Needs nothing but what was just built, and curl; a registry and engines that are
# installed are used at the end. Leaves nothing behind.
set -eu
exec 2>&1 # in the order in which it happens, on a terminal and in a file

build=$(cd "${BUILD:-build}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
profiles=$source/plugins/profiles
work=$(mktemp -d)
cd "$work"
daemons=

cleanup() {
    # shellcheck disable=SC2086 # a list
    [ -z "$daemons" ] || kill $daemons 2>/dev/null || :
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# what was built here, and nothing of this machine's configuration, records or daemon
export OCV_STATE_DIR="$work/state" OCV_DATADIR="$source/plugins" OCV_LIBEXECDIR="$build/libexec" \
    OCV_SOCKET="$work/none.sock" XDG_CONFIG_HOME="$work/config"
unset OCV_CONFIG OCV_PROFILE http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

title() { printf '\n== %s\n' "$*"; }
say() { printf '%s\n' "$*" | sed "s|$build/||g; s|$work/||g"; }
# the command as one would type it: words with spaces in quotes, each build on a line of its own
show() {
    line='$'
    for word; do
        case $word in
        *' '*) word="'$word'" ;;
        esac
        case $word in
        *=oci:* | --namespaces | --static) line="$line \\
    $word" ;;
        *) line="$line $word" ;;
        esac
    done
    say "$line"
}
run() {
    show "$@"
    "$@"
}
# fails CODE COMMAND...: a command that is to fail
fails() {
    code=$1 status=0
    shift
    show "$@"
    "$@" || status=$?
    say "(exit status $status)"
    [ "$status" = "$code" ]
}

title "Five builds of one application, and one index over them"
image() { # NAME ARGS...: a one-layer image tagged NAME
    name=$1
    shift
    "$build/test/tools/mkimage" app "$name" --file "etc/build=$name" "$@" >/dev/null
}
image cpu --layer 200000
image cpu-v3 --layer 220000
image cuda126 --layer 900000
image cuda128 --layer 950000
image rocm71 --layer 990000

app=oci:app
run "$build/variantctl" index create "$app:1.0" \
    --namespaces 'nvidia, amd, x86_64, priority' \
    --static 'priority=order :: 1, order :: 2' \
    "null=$app:cpu" \
    "cpu.v3=$app:cpu-v3,x86_64 :: level :: v3" \
    "cuda12.6=$app:cuda126,nvidia :: cuda_version_lower_bound :: 12.6,nvidia :: sm_arch :: 80_real,nvidia :: sm_arch :: 90_real,priority :: order :: 2" \
    "cuda12.8=$app:cuda128,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real,nvidia :: sm_arch :: 100_real,priority :: order :: 1" \
    "rocm7.1=$app:rocm71,amd :: gfx_arch :: gfx942,amd :: rocm_user_space :: 7.1"

title "This machine"
run "$build/variantctl" explain "$app:1.0"
title "A node with an NVIDIA H100, driver 570"
run "$build/variantctl" explain --profile h100 "$app:1.0"

title "Pull: the same name on three machines"
run "$build/vpull" --to "oci:here:1.0" "$app:1.0"
run "$build/vpull" --profile h100 --to "oci:h100:1.0" "$app:1.0"
run "$build/vpull" --profile mi300x --to "oci:mi300x:1.0" "$app:1.0"

title "Three nodes, each with its mirror: an unmodified client asks for one tag and gets three digests"
echo "state_dir: $work/node" >config.yaml
# serve NODE: sets `mirror` to HOST:PORT
serve() {
    "$build/variantd" --config config.yaml --layout app --listen 127.0.0.1:0 --socket "$work/$1.sock" \
        --profile "$1" >"$1.log" 2>&1 &
    daemons="$daemons $!"
    tries=0
    until mirror=$(sed -n 's/.* mirror on \([0-9.:]*\) .*/\1/p' "$1.log") && [ -n "$mirror" ]; do
        tries=$((tries + 1))
        if [ "$tries" -ge 100 ]; then
            cat "$1.log" >&2
            exit 1
        fi
        sleep 0.1
    done
}
for node in laptop h100 mi300x; do
    say "$ variantd --profile $node --layout app --listen 127.0.0.1:0 &"
    serve "$node"
    eval "mirror_$node=\$mirror"
    say "$ curl -sI http://$mirror/v2/app/manifests/1.0"
    curl -sfI "http://$mirror/v2/app/manifests/1.0" | tr -d '\r' | grep -iE '^(HTTP|Docker-Content-Digest|Warning)'
    tries=0 # the answer comes before its line
    until grep -q '"HEAD' "$node.log" || [ "$tries" -ge 50 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    say "variantd's log: $(grep '"HEAD' "$node.log" | sed 's/^[^"]*//')"
done

title "What does not fit is said, with what would help: an H100 whose driver is too old"
sed 's/"driver": "[^"]*"/"driver": "535.161.08"/; s/"values": \["12\.[89]".*\]/"values": ["12.2", "12.1", "12.0"]/' \
    "$profiles/h100.json" >h100-535.json
run "$build/variantctl" explain --profile h100-535.json "$app:1.0"
title "A laptop, where only a GPU will do"
fails 3 "$build/vpull" --profile laptop --require nvidia --to oci:laptop:1.0 "$app:1.0"

# The rest needs programs that may not be here.
missing=
present() {
    command -v "$1" >/dev/null && return 0
    missing="$missing $1"
    return 1
}
# shellcheck disable=SC2154 # set in the loop above
{
    if present podman; then
        title "Unmodified podman, on the H100 node"
        show podman pull --tls-verify=false "$mirror_h100/app:1.0"
        podman --root "$work/podman" --runroot "$work/podman-run" --storage-driver vfs \
            pull --tls-verify=false "$mirror_h100/app:1.0" || say "(podman could not pull here)"
    fi
    if ! present docker; then
        :
    elif ! docker info >/dev/null 2>&1; then
        missing="$missing docker(does not answer)"
    else
        title "Unmodified Docker, on the MI300X node"
        run docker pull "$mirror_mi300x/app:1.0" || say "(docker could not pull here)"
        docker image rm "$mirror_mi300x/app:1.0" >/dev/null 2>&1 || :
    fi
}
if present docker-registry && present skopeo; then
    title "The same from a registry"
    port=5000
    while curl -s -o /dev/null "http://127.0.0.1:$port/"; do port=$((port + 1)); done
    cat >registry.yml <<YAML
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "127.0.0.1:$port"}
YAML
    docker-registry serve registry.yml >registry.log 2>&1 &
    daemons="$daemons $!"
    tries=0
    until curl -sf -o /dev/null "http://127.0.0.1:$port/v2/"; do
        tries=$((tries + 1))
        if [ "$tries" -ge 100 ]; then
            cat registry.log >&2
            exit 1
        fi
        sleep 0.1
    done
    run skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false "$app:1.0" "docker://127.0.0.1:$port/demo/app:1.0"
    run "$build/vpull" --print-ref "127.0.0.1:$port/demo/app:1.0"
    run "$build/vpull" --profile mi300x --to "oci:pulled:mi300x" "127.0.0.1:$port/demo/app:1.0"
fi
[ -z "$missing" ] || printf '\nNot installed, and left out here:%s\n' "$missing"

title "Next, with an image of your own"
cat <<'TEXT'
make install                                    # as root; or PREFIX=$HOME/.local
variantctl derive registry.example/app:1.0      # which machines its code runs on
variantctl explain registry.example/app:1.0     # what this machine would get, and why
vpull registry.example/app:1.0                  # pull it: docs/quickstart.md goes on from here
TEXT
