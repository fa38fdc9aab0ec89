#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl derive reads an image's layers at the same time, and stacks them in their order.

load ../harness

LAYERS=20

setup_file()
{
    require docker-registry
    state_start
    start_registry
    export SAMPLES=$OCV_TOP/test/data/fuzz/content L=$STATE/layers R=$REGISTRY
    mkdir -p "$L/blobs/sha256" "$STATE/cache"
    printf '{"imageLayoutVersion": "1.0.0"}' >"$L/oci-layout"
}

setup()
{
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
}

# blob FILE TYPE: into the layout; its descriptor
blob()
{
    local digest
    digest=$(sha256sum <"$1" | cut -d' ' -f1)
    cp "$1" "$L/blobs/sha256/$digest"
    jq -nc --arg d "sha256:$digest" --argjson n "$(stat -c %s "$1")" --arg t "application/vnd.oci.image.$2" \
        '{mediaType: $t, digest: $d, size: $n}'
}

# image TAG DIRECTORY...: a layer for each, from the base up
image()
{
    local tag=$1 directory file=$BATS_TEST_TMPDIR/part layers='[]' manifest
    shift
    for directory; do
        tar -C "$directory" -cf "$file" .
        layers=$(jq -c --argjson l "$(blob "$file" layer.v1.tar)" '. + [$l]' <<<"$layers")
    done
    jq -nc --argjson l "$layers" '{os: "linux", architecture: "amd64", config: {},
        rootfs: {type: "layers", diff_ids: [$l[].digest]}}' >"$file"
    jq -nc --argjson c "$(blob "$file" config.v1+json)" --argjson l "$layers" '{schemaVersion: 2,
        mediaType: "application/vnd.oci.image.manifest.v1+json", config: $c, layers: $l}' >"$BATS_TEST_TMPDIR/manifest"
    manifest=$(blob "$BATS_TEST_TMPDIR/manifest" manifest.v1+json)
    jq -nc --argjson m "$manifest" --arg t "$tag" \
        '{schemaVersion: 2, manifests: [$m + {annotations: {"org.opencontainers.image.ref.name": $t}}]}' >"$L/index.json"
}

# layer_of TAG N: the digest of that layer, from 0
layer_of()
{
    local digest
    digest=$(jq -r '.manifests[0].digest[7:]' "$L/index.json")
    jq -r ".layers[$1].digest" "$L/blobs/sha256/$digest"
}

# Each layer removes the one file of the layer below and brings another one: 19 layers with code for
# CUDA and, at the top, one with code for ROCm.
stack()
{
    local i d
    directories=()
    for ((i = 0; i < LAYERS; i++)); do
        d=$BATS_TEST_TMPDIR/tree/$i
        mkdir -p "$d/opt"
        cp "$SAMPLES/cuda.so" "$d/opt/lib$i.so"
        # layers of different lengths are ready in another order
        head -c $(((LAYERS - i) * 200000)) /dev/zero >"$d/opt/zeros"
        [ $i = 0 ] || : >"$d/opt/.wh.lib$((i - 1)).so"
        directories+=("$d")
    done
    cp "$SAMPLES/hip.so" "$d/opt/lib$((LAYERS - 1)).so"
}

@test "derive: what each of many layers replaces is gone" {
    local once
    stack
    image order "${directories[@]}"
    push_layout "$L:order" "$R/order:1"
    run -0 "$VARIANTCTL" derive --json "oci:$L:order"
    once=$output
    [ "$(jq -c '[.images[0].targets[] | .fact] | unique' <<<"$once")" = '["hip-code"]' ]
    [ "$(jq -c '.images[0].machines' <<<"$once")" = '{"amd64":1}' ]
    rm -r "$XDG_CACHE_HOME"
    run -0 "$VARIANTCTL" derive --json "$R/order:1"
    [ "$(jq -S 'del(.images[].name)' <<<"$output")" = "$(jq -S 'del(.images[].name)' <<<"$once")" ]
    # from what is remembered, too
    run -0 --separate-stderr "$VARIANTCTL" derive -v --json "$R/order:1"
    # shellcheck disable=SC2154 # bats sets stderr
    [ "$(grep -c 'read before' <<<"$stderr")" = $LAYERS ]
    [ "$(jq -S 'del(.images[].name)' <<<"$output")" = "$(jq -S 'del(.images[].name)' <<<"$once")" ]
}

@test "derive: of many layers one that cannot be read ends it, and is named" {
    local digest
    stack
    image damaged "${directories[@]}"
    digest=$(layer_of 11)
    printf damaged | dd of="$L/blobs/sha256/${digest#sha256:}" bs=1 seek=600 conv=notrunc status=none
    run -4 "$VARIANTCTL" derive "oci:$L:damaged"
    [[ $output == *"layer $digest: "* ]]
    run -4 "$VARIANTCTL" derive "oci:$L:damaged"
    [[ $output == *"layer $digest: "* ]]
}

# A registry that never sends one of the layers
serve_all_but() # DIGEST
{
    cat >"$BATS_TEST_TMPDIR/serve.py" <<'PYTHON'
import http.server, os, sys, time
layout, silent = sys.argv[1:]
class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self):
        self.do_GET()
    def do_GET(self):
        name = self.path.rsplit("/", 1)[1]
        if name == silent:
            time.sleep(600)
        if "/manifests/" in self.path and ":" not in name:
            import json
            name = json.load(open(layout + "/index.json"))["manifests"][0]["digest"]
        path = layout + "/blobs/" + name.replace(":", "/")
        if self.path == "/v2/" or not os.path.exists(path):
            self.send_response(200 if self.path == "/v2/" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with open(path, "rb") as file:
            body = file.read()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json" if "/manifests/" in self.path
                         else "application/octet-stream")
        self.send_header("Docker-Content-Digest", name)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
    start_daemon silent python3 "$BATS_TEST_TMPDIR/serve.py" "$L" "$1"
    await silent grep -q . "$STATE/log/silent"
    read -r port <"$STATE/log/silent"
}

@test "derive: a layer that cannot be read does not wait for one that never comes" {
    local digest port
    stack
    image silent "${directories[@]}"
    digest=$(layer_of 11)
    printf damaged | dd of="$L/blobs/sha256/${digest#sha256:}" bs=1 seek=600 conv=notrunc status=none
    serve_all_but "$(layer_of 10)"
    # scanners of its own: others' tests have theirs
    mkdir "$STATE/libexec"
    cp "$OCV_HELPERS/content-scan" "$STATE/libexec"
    OCV_LIBEXECDIR=$STATE/libexec run -4 timeout 45 "$VARIANTCTL" derive "127.0.0.1:$port/silent:1"
    [[ $output == *"layer $digest: "* ]]
    run ! pgrep -f "$STATE/libexec/content-scan --layer"
    stop_daemon silent
}

@test "derive: a library and its kpack archives in layers of their own, one of which is taken away" {
    local t=$BATS_TEST_TMPDIR/kpack
    mkdir -p "$t"/{host,gfx942,less}/opt/.kpack "$t/host/opt/lib"
    cp "$SAMPLES/kpack.so" "$t/host/opt/lib/libx.so"
    cp "$SAMPLES/x_gfx942.kpack" "$t/gfx942/opt/.kpack"
    : >"$t/less/opt/.kpack/.wh.x_gfx942.kpack"
    image split "$t/host" "$t/gfx942"
    run -0 "$VARIANTCTL" derive --json "oci:$L:split"
    [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "amd :: gfx_arch :: gfx942" ]
    image split "$t/gfx942" "$t/host"
    run -0 "$VARIANTCTL" derive --json "oci:$L:split"
    [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "amd :: gfx_arch :: gfx942" ]
    image split "$t/host" "$t/gfx942" "$t/less"
    run -0 "$VARIANTCTL" derive --json "oci:$L:split"
    [ "$(jq -r '.images[0].properties | length' <<<"$output")" = 0 ]
    [ "$(jq -r '.images[0].not_looked_at[0].path' <<<"$output")" = opt/lib/libx.so ]
}
