#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl derive on layers that nobody makes on purpose: an answer or an error, within bounds.

load ../harness

RSS_MAX=65536 # KiB

setup_file()
{
    state_start
    export SAMPLES=$OCV_TOP/test/data/fuzz/content SCAN=$OCV_LIBEXECDIR/content-scan XDG_CACHE_HOME=$STATE/cache
}

layers()
{
    python3 "$OCV_TOP/test/integration/layers.py" "$@"
}

# scan STATUS LAYER_ARGUMENT...: content-scan reads such a layer; sets $rss, in KiB
scan()
{
    local status=$1
    shift
    layers "$@" >"$BATS_TEST_TMPDIR/layer"
    run "-$status" --separate-stderr layers rss 9 "$SCAN" --layer 9>"$BATS_TEST_TMPDIR/rss" <"$BATS_TEST_TMPDIR/layer"
    rss=$(<"$BATS_TEST_TMPDIR/rss")
    echo "$rss KiB: ${stderr:-}"
}

# layout DIR LAYER: an image with that layer, in a new layout
layout()
{
    local dir=$1 config layer manifest
    mkdir -p "$dir/blobs/sha256"
    printf '{"imageLayoutVersion": "1.0.0"}' >"$dir/oci-layout"
    blob() # FILE: its descriptor's digest and size
    {
        local digest
        digest=$(sha256sum <"$1" | cut -d' ' -f1)
        cp "$1" "$dir/blobs/sha256/$digest"
        jq -nc --arg d "sha256:$digest" --argjson n "$(stat -c %s "$1")" --arg t "application/vnd.oci.image.$2" \
            '{mediaType: $t, digest: $d, size: $n}'
    }
    printf '{"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": []}}' >"$dir/config"
    config=$(blob "$dir/config" config.v1+json)
    layer=$(blob "$2" layer.v1.tar+zstd)
    jq -nc --argjson c "$config" --argjson l "$layer" '{schemaVersion: 2, mediaType:
        "application/vnd.oci.image.manifest.v1+json", config: $c, layers: [$l]}' >"$dir/manifest"
    manifest=$(blob "$dir/manifest" manifest.v1+json)
    jq -nc --argjson m "$manifest" '{schemaVersion: 2, manifests: [$m + {annotations:
        {"org.opencontainers.image.ref.name": "app"}}]}' >"$dir/index.json"
}

@test "derive: a million members, by both programs within 64 MiB" {
    layers members 1000000 | zstd -1 -q >"$BATS_TEST_TMPDIR/layer"
    layout "$BATS_TEST_TMPDIR/oci" "$BATS_TEST_TMPDIR/layer"
    local again
    for again in no yes; do
        run -0 --separate-stderr layers rss 9 "$VARIANTCTL" derive -v "oci:$BATS_TEST_TMPDIR/oci:app" 9>"$BATS_TEST_TMPDIR/rss"
        [[ $output == *": 1000000 files"* ]]
        [ "$again" = no ] || [[ $stderr == *"read before"* ]]
        echo "$(<"$BATS_TEST_TMPDIR/rss") KiB"
        [ "$(<"$BATS_TEST_TMPDIR/rss")" -lt "$RSS_MAX" ]
    done
    # one more is too many
    scan 4 members 1000001
    [[ $stderr == *"more than 1000000 files"* ]]
}

@test "derive: a million members that all say something, texts without end, whiteouts without end" {
    local kind
    for kind in "members 1000000 $SAMPLES/sm_86.cubin" "texts 2000" "whiteouts 200000"; do
        # shellcheck disable=SC2086 # words
        scan 4 $kind
        [[ $stderr == *"the findings in its files exceed 16 MiB"* ]]
        [ "$rss" -lt "$RSS_MAX" ]
    done
    # what images have is kept
    scan 0 members 20000 "$SAMPLES/sm_86.cubin"
    [ "$(jq '.files | length' <<<"$output")" = 20000 ]
    [ "$rss" -lt "$RSS_MAX" ]
}

@test "derive: sizes that lie, up to 2^63 and below 0" {
    local size
    for size in 1000000 4611686018427387904 9223372036854775807 9223372036854775808 18446744073709551616; do
        scan 4 size "$size"
        [[ $stderr == *"not a layer that can be read: "* ]]
    done
    for size in -1 -9223372036854775808; do
        scan 4 size "$size"
        [[ $stderr == *"negative size"* ]]
    done
}

@test "derive: a hole in a file is read as zeros, one without end is none" {
    scan 0 hole 1048576 "$SAMPLES/cuda.so"
    [ "$(jq -r '.files[0].path' <<<"$output")" = usr/lib/libk.so ]
    [ "$(jq '.bytes' <<<"$output")" -gt 1048576 ]
    local size
    for size in 1099511627776 4611686018427387904; do
        scan 4 hole "$size" "$SAMPLES/cuda.so"
        [[ $stderr == *"inflates to more than"* ]]
        [ "$rss" -lt "$RSS_MAX" ]
    done
}

@test "derive: a bomb in gzip ends as one in zstd does" {
    scan 4 zeros 9663676416
    [[ $stderr == *"a layer of "*" MiB inflates to more than "* ]]
    [ "$rss" -lt "$RSS_MAX" ]
}

@test "derive: 4 GiB of zeros are read, and no more of them" {
    scan 0 fast-zeros 4294967296
    [ "$(jq .bytes <<<"$output")" = 4294967296 ]
    scan 4 fast-zeros 4311744512
    [[ $stderr == *"a layer of 0 MiB inflates to more than 4096 MiB"* ]]
}

@test "derive: of a compressed bundle only the beginning is inflated" {
    scan 0 compressed 268435456 "$SAMPLES/plain.bundle"
    [ "$(jq -r '.files[] | .path + " " + ([.facts[].value] | join(" "))' <<<"$output")" = "2.bundle gfx90a gfx942:sramecc+:xnack-
3.bundle gfx90a gfx942:sramecc+:xnack-" ]
    [ "$rss" -lt 16384 ]
}

@test "derive: archives in a layer are files, whatever is in them" {
    scan 0 in-archive "$SAMPLES/cuda.so" "$SAMPLES/hip.so"
    [ "$(jq .members <<<"$output")" = 6 ]
    # what may hide code is said, and nothing of it is read
    [ "$(jq -c '[.files[] | [.path, .facts[].value]]' <<<"$output")" = '[["a.tar","an archive, not opened"],["a.tar.bz2","an archive, not opened"],["a.tar.gz","an archive, not opened"],["a.tar.xz","an archive, not opened"],["a.whl","a zip archive, not opened"]]' ]
    # the same files, not in archives, say something
    run -0 "$SCAN" "$SAMPLES"
    [ "$(jq '[.files[] | select(.path == "cuda.so" or .path == "hip.so")] | length' <<<"$output")" = 2 ]
}

# 3 seconds of processor time, and the kernel ends it
@test "derive: pieces of code without end, in few bytes, are too much to read" {
    local layer
    for layer in "fat 400000" "bundles 2000" "tables 64"; do
        # shellcheck disable=SC2086 # a word and a number
        layers $layer >"$BATS_TEST_TMPDIR/layer"
        [ "$(stat -c %s "$BATS_TEST_TMPDIR/layer")" -lt 4000000 ]
        # shellcheck disable=SC2016 # the inner shell's
        run -4 bash -c 'ulimit -t 3 && exec "$0" --layer <"$1"' "$SCAN" "$BATS_TEST_TMPDIR/layer"
        echo "$layer: $output"
        [[ $output == *"too much to read"* ]]
    done
}

@test "content-scan reads what it was given, and may do nothing else" {
    require strace
    layers members 10 "$SAMPLES"/* >"$BATS_TEST_TMPDIR/layer" 2>/dev/null || layers size 5 >"$BATS_TEST_TMPDIR/layer"
    strace -f -o "$BATS_TEST_TMPDIR/calls" "$SCAN" --layer <"$BATS_TEST_TMPDIR/layer" >/dev/null || true
    grep -q 'SECCOMP_SET_MODE_FILTER.* = 0' "$BATS_TEST_TMPDIR/calls" || skip "this kernel has no seccomp"
    # nothing is opened, sent or started behind it
    run ! grep -E '^[0-9]+ +(open|openat|socket|connect|execve|clone|fork)' < <(sed '1,/SECCOMP_SET_MODE_FILTER/d' "$BATS_TEST_TMPDIR/calls")
    [ "$(id -u)" != 0 ] || grep -q 'setresuid(65534, 65534, 65534) *= 0' "$BATS_TEST_TMPDIR/calls"
    # Landlock as well, where the kernel has it
    if ! grep -qE 'landlock_create_ruleset.* = -1 E(NOSYS|OPNOTSUPP)' "$BATS_TEST_TMPDIR/calls"; then
        grep -qE 'landlock_restrict_self\([0-9]+, 0\) *= 0' "$BATS_TEST_TMPDIR/calls"
    fi
}

@test "content-scan of a directory that is its owner's alone" {
    install -d -m 0700 "$BATS_TEST_TMPDIR/tree/inner"
    install -m 0600 "$SAMPLES/sm_86.cubin" "$BATS_TEST_TMPDIR/tree/inner/kernel.cubin"
    chmod 0700 "$BATS_TEST_TMPDIR/tree"
    run -0 "$VARIANTCTL" derive --format json "$BATS_TEST_TMPDIR/tree"
    [ "$(jq -c '.images[0] | [.files, .targets[].target, .not_looked_at]' <<<"$output")" = '[1,"sm_86",[]]' ]
}

@test "content-scan is started without an environment, and with limits by the layer's size" {
    local helpers=$BATS_TEST_TMPDIR/helpers mib
    mkdir "$helpers"
    # says how it was started, and is then the real one
    {
        printf '#!/bin/bash\nOUT=%q SCAN=%q\n' "$BATS_TEST_TMPDIR" "$SCAN"
        # shellcheck disable=SC2016 # the script's
        printf 'cat /proc/$$/environ >"$OUT/environ"\ncat /proc/$$/limits >"$OUT/limits"\nexec -c "$SCAN" "$@"\n'
    } >"$helpers/content-scan"
    chmod +x "$helpers/content-scan"
    limit() # NAME: soft and hard
    {
        sed -n "s/^Max $1  *\([^ ]*\)  *\([^ ]*\) .*/\1 \2/p" "$BATS_TEST_TMPDIR/limits"
    }
    derived() # CPU_SECONDS ARGUMENT
    {
        rm -f "$BATS_TEST_TMPDIR"/{environ,limits}
        OCV_LIBEXECDIR=$helpers run -0 "$VARIANTCTL" derive "$2"
        [ -e "$BATS_TEST_TMPDIR/environ" ] && [ ! -s "$BATS_TEST_TMPDIR/environ" ]
        [ "$(limit "cpu time")" = "$1 $1" ]
        [ "$(limit "core file size")" = "0 0" ]
        [ "$(limit "address space")" = "4294967296 4294967296" ]
    }
    for mib in 1 40; do
        head -c "${mib}M" /dev/zero >"$BATS_TEST_TMPDIR/$mib.bin"
        tar -C "$BATS_TEST_TMPDIR" -cf "$BATS_TEST_TMPDIR/$mib.tar" "$mib.bin"
        layout "$BATS_TEST_TMPDIR/oci$mib" "$BATS_TEST_TMPDIR/$mib.tar"
    done
    derived 60 "oci:$BATS_TEST_TMPDIR/oci1:app"
    derived 70 "oci:$BATS_TEST_TMPDIR/oci40:app" # a second more for each 4 MiB
    derived 3600 "$BATS_TEST_TMPDIR/oci1"
}
