#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make demo: build a small multi-variant index, then let three machines pull the same name from it:
# first from the OCI layout itself, then from a real registry.
set -eu

build=$(cd "${BUILD:-build}" && pwd)
profiles=$(cd "$(dirname "$0")/examples/profiles" && pwd)
work=$(mktemp -d)
cd "$work"
registry=

cleanup() {
    [ -z "$registry" ] || kill "$registry" 2>/dev/null || :
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Keep vpull from recording its choices on this node.
export OCV_STATE_DIR="$work/state"

title() { printf '\n== %s\n' "$*"; }
run() {
    printf '$ %s\n' "$*" | sed "s|$build/||g; s|$profiles/||g"
    "$@"
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
"$build/variantctl" index create "$app:1.0" \
    --namespaces 'nvidia, amd, x86_64, priority' \
    --static 'priority=order :: 1, order :: 2' \
    "null=$app:cpu" \
    "cpu.v3=$app:cpu-v3,x86_64 :: level :: v3" \
    "cuda12.6=$app:cuda126,nvidia :: cuda_version_lower_bound :: 12.0,nvidia :: sm_arch :: 80_real,nvidia :: sm_arch :: 90_real,priority :: order :: 2" \
    "cuda12.8=$app:cuda128,nvidia :: cuda_version_lower_bound :: 12.0,nvidia :: sm_arch :: 90_real,nvidia :: sm_arch :: 100_real,priority :: order :: 1" \
    "rocm7.1=$app:rocm71,amd :: gfx_arch :: gfx942,amd :: rocm_user_space :: 7.1"

title "This machine"
run "$build/variantctl" explain "$app:1.0"
title "A node with an NVIDIA H100, driver 570"
run "$build/variantctl" explain --profile "$profiles/h100.json" "$app:1.0"

title "Pull: the same name on three machines, from the OCI layout"
run "$build/vpull" --to "oci:here:1.0" "$app:1.0"
run "$build/vpull" --profile "$profiles/h100.json" --to "oci:h100:1.0" "$app:1.0"
run "$build/vpull" --profile "$profiles/mi300x.json" --to "oci:mi300x:1.0" "$app:1.0"

if ! command -v docker-registry >/dev/null || ! command -v skopeo >/dev/null; then
    title "docker-registry or skopeo is not installed: the second half is left out"
    exit 0
fi

title "The same from a registry"
port=5000
while curl -s -o /dev/null "http://127.0.0.1:$port/"; do port=$((port + 1)); done
cat >"$work/registry.yml" <<YAML
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "127.0.0.1:$port"}
YAML
docker-registry serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
registry=$!
tries=0
until curl -sf -o /dev/null "http://127.0.0.1:$port/v2/"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || {
        cat "$work/registry.log" >&2
        exit 1
    }
    sleep 0.1
done
run skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false "$app:1.0" "docker://127.0.0.1:$port/demo/app:1.0"
run "$build/vpull" --print-ref "127.0.0.1:$port/demo/app:1.0"
run "$build/vpull" --profile "$profiles/h100.json" --to "oci:pulled:h100" "127.0.0.1:$port/demo/app:1.0"
run "$build/vpull" --profile "$profiles/mi300x.json" --to "oci:pulled:mi300x" "127.0.0.1:$port/demo/app:1.0"
title "Each has its own build; blobs that builds share are stored once"
run skopeo inspect --format '{{.Digest}}' "oci:pulled:h100"
run skopeo inspect --format '{{.Digest}}' "oci:pulled:mi300x"
