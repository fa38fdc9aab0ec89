# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# variantctl derive on an image of published wheels: `derive`, called by run.sh, whose variables and functions
# it uses. DERIVE_WHEELS is a directory of wheels: those that `test/wheels/check.py --fetch DIR NAME...` puts
# there, nvidia_cuda_cuobjdump among them, which is the peer's.
# shellcheck disable=SC2154

DERIVE_TYPE=application/vnd.oci.image

# derive_blob FILE TYPE: into the layout; its descriptor
derive_blob()
{
    local digest
    digest=$(sha256sum <"$1" | cut -d' ' -f1)
    jq -nc --arg d "sha256:$digest" --argjson n "$(stat -c %s "$1")" --arg t "$DERIVE_TYPE.$2" \
        '{mediaType: $t, digest: $d, size: $n}'
    mv "$1" "$STATE/wheels/blobs/sha256/$digest"
}

# derive_layout WHEEL...: an image with a layer for each wheel, unpacked as by pip
derive_layout()
{
    local dir=$STATE/wheels wheel layers='[]' manifest
    mkdir -p "$dir/blobs/sha256"
    printf '{"imageLayoutVersion": "1.0.0"}' >"$dir/oci-layout"
    for wheel; do
        mkdir -p "$STATE/unpacked/usr/lib/python3/dist-packages"
        python3 -m zipfile -e "$wheel" "$STATE/unpacked/usr/lib/python3/dist-packages"
        tar --sort=name --mtime=@0 --owner=0 --group=0 -C "$STATE/unpacked" -cf "$dir/part" .
        rm -r "$STATE/unpacked"
        layers=$(jq -c --argjson l "$(derive_blob "$dir/part" layer.v1.tar)" '. + [$l]' <<<"$layers")
    done
    jq -nc --argjson l "$layers" '{os: "linux", architecture: "amd64", config: {},
        rootfs: {type: "layers", diff_ids: [$l[].digest]}}' >"$dir/part"
    jq -nc --argjson c "$(derive_blob "$dir/part" config.v1+json)" --argjson l "$layers" '{schemaVersion: 2,
        mediaType: "application/vnd.oci.image.manifest.v1+json", config: $c, layers: $l}' >"$dir/manifest"
    manifest=$(derive_blob "$dir/manifest" manifest.v1+json)
    jq -nc --argjson m "$manifest" '{schemaVersion: 2, manifests: [$m]}' >"$dir/index.json"
}

# Picks images from the directory until there are enough.
derive_pick()
{
    local wheel most=5000000000 bytes=0
    [ -z "$quick" ] || most=300000000
    picked=()
    for wheel in "$DERIVE_WHEELS"/*.whl; do
        [[ $wheel != *cuobjdump* && $bytes -lt $most ]] || continue
        bytes=$((bytes + $(python3 -c 'import sys, zipfile; print(sum(i.file_size for i in zipfile.ZipFile(sys.argv[1]).infolist()))' "$wheel")))
        picked+=("$wheel")
    done
}

derive_forget()
{
    rm -rf "$STATE/derive-cache" "$STATE/copied" "$STATE/tree-of-wheels"
}

derive_peer()
{
    local tool=("$DERIVE_WHEELS"/nvidia_cuda_cuobjdump-*.whl)
    [ -e "${tool[0]}" ] || return 1
    python3 -m zipfile -e "${tool[0]}" "$STATE/cuobjdump"
    tool=("$(find "$STATE/cuobjdump" -path '*/bin/cuobjdump')")
    chmod +x "${tool[0]}"
    cat >"$STATE/derive-peer" <<PEER
set -e
$skopeo --insecure-policy copy -q --src-tls-verify=false docker://$REGISTRY/bench/wheels:1 dir:$STATE/copied
mkdir $STATE/tree-of-wheels
for layer in \$(jq -r '.layers[].digest[7:]' $STATE/copied/manifest.json); do
    tar -xzf $STATE/copied/\$layer -C $STATE/tree-of-wheels
done
find $STATE/tree-of-wheels -type f \\( -name '*.so' -o -name '*.so.*' -o -name '*.cubin' -o -name '*.fatbin' \\) |
    while read -r file; do
        ${tool[0]} -all --list-elf --list-ptx \$file >>$STATE/listed 2>&1 || true
    done
PEER
}

# derive_memory COMMAND...: the most MiB that its processes have together, pages that they share counted in each;
# looked at every 20 ms
derive_memory()
{
    local pid most=0 now
    setsid "$@" >/dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        now=$(ps -o rss= -s "$pid" | awk '{ all += $1 } END { print all + 0 }')
        [ "$now" -le "$most" ] || most=$now
        sleep 0.02
    done
    wait "$pid" || return
    awk -v kib="$most" 'BEGIN { printf "%.1f\n", kib / 1024 }'
}

derive()
{
    local rounds=3 again readers memory
    local -a picked peers=() layers=()
    echo "## variantctl derive, an image of published wheels, $registry_name on loopback"
    echo
    if [ -z "${DERIVE_WHEELS:-}" ]; then
        echo "Not measured: DERIVE_WHEELS names no directory of wheels (\`test/wheels/check.py --fetch DIR NAME...\`)."
        echo
        return
    fi
    [ -z "$quick" ] || rounds=1
    readers=$(nproc)
    [ "$readers" -le 4 ] || readers=4
    derive_pick
    derive_layout "${picked[@]}"
    # with gzip, as layers in registries have
    skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$STATE/wheels" "docker://$REGISTRY/bench/wheels:1"
    rm -r "$STATE/wheels"
    skopeo --insecure-policy copy -q --src-tls-verify=false "docker://$REGISTRY/bench/wheels:1" "dir:$STATE/wheel-layers"
    while read -r again; do
        layers+=("$STATE/wheel-layers/$again")
    done < <(jq -r '.layers[].digest[7:]' "$STATE/wheel-layers/manifest.json")
    if derive_peer; then
        peers=(skopeo-tar-cuobjdump "sh $STATE/derive-peer")
    fi
    alternate $rounds derive_forget \
        derive "XDG_CACHE_HOME=$STATE/derive-cache $VARIANTCTL derive --json $REGISTRY/bench/wheels:1" \
        inflate-alone "$tools/bench_inflate ${layers[*]}" "${peers[@]}"
    derive_forget
    memory=$(derive_memory env XDG_CACHE_HOME="$STATE/derive-cache" "$VARIANTCTL" derive --json "$REGISTRY/bench/wheels:1")
    XDG_CACHE_HOME=$STATE/derive-cache "$VARIANTCTL" derive --json "$REGISTRY/bench/wheels:1" >"$STATE/derived.json"
    alternate "$rounds_small" nothing \
        derive-again "XDG_CACHE_HOME=$STATE/derive-cache $VARIANTCTL derive --json $REGISTRY/bench/wheels:1" \
        true-derive /bin/true
    echo "${#picked[@]} wheels, a layer each: $(jq '.images[0].files' "$STATE/derived.json") files of" \
        "$(jq '.images[0].bytes / 1e9 * 100 | round / 100' "$STATE/derived.json") GB, in gzip" \
        "$(du -cb "${layers[@]}" | awk 'END { printf "%.2f", $1 / 1e9 }') GB."
    echo "derive fetches, checks, inflates (zlib, through libarchive) and reads, $readers layers at once; inflate-alone has"
    echo "zlib inflate the same layers from files, one after the other, and nothing else. The peer copies with skopeo,"
    echo "unpacks with tar and asks cuobjdump of every library. again: what layers say is remembered; asked: under 50 ms,"
    echo "and under 64 MiB of memory in both. RSS is that of the largest process."
    [ ${#peers[@]} -gt 0 ] || echo "Not here, so not measured: cuobjdump (its wheel in DERIVE_WHEELS)."
    echo
    rows derive inflate-alone skopeo-tar-cuobjdump
    echo
    printf '%s\n' "| RSS of all processes of derive | MiB |" "|---|---|" "| together, at most | $memory |"
    echo
    rows derive-again true-derive
    echo
    derive_forget
    rm -r "$STATE/wheel-layers"
}
