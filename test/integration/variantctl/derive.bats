#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl derive: what an image can run on, by its bytes.

load ../harness
load ../schema

setup_file()
{
    require docker-registry
    state_start
    start_podman
    export SAMPLES=$OCV_TOP/test/data/fuzz/content L=$STATE/images XDG_CACHE_HOME=$STATE/cache
    mkimage "$L" cuda --binary usr/lib/libk.so="$SAMPLES/cuda.so" --env CUDA_VERSION=12.8.1 \
        --env NV_CUDA_CUDART_VERSION=12.8.90-1 \
        --label com.nvidia.cudnn.version=9.8.0 --label maintainer=somebody \
        --file app/torch/version.py="cuda: Optional[str] = '12.8'"
    mkimage "$L" rocm --binary opt/libh.so="$SAMPLES/hip.so" --gzip
    mkimage "$L" cpu --file etc/build=cpu
    "$VARIANTCTL" index create --quiet "oci:$L:app" --namespaces 'nvidia, amd' "null=oci:$L:cpu" \
        "cuda12.8=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.8" \
        "rocm7.1=oci:$L:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    start_registry
    export R=$REGISTRY
    push_layout "$L:app" "$R/app:1"
}

teardown_file()
{
    podman system reset --force >/dev/null 2>&1 || true
    state_stop
}

# properties FILTER: those of the result with that name
properties()
{
    jq -r --arg name "$1" '.images[] | select(.name | endswith($name)) | .properties | join(", ")' <<<"$output"
}

CUDA='nvidia :: sm_arch :: 80_real, nvidia :: sm_arch :: 90a_real, nvidia :: sm_arch :: 100f_real, nvidia :: sm_arch :: 120_virtual, nvidia :: cuda_version_lower_bound :: 12.8, x86_64 :: level :: v3'
ROCM='amd :: gfx_arch :: gfx90a, amd :: gfx_arch :: gfx942'

@test "derive: a file and a directory are read as they are" {
    run -0 "$VARIANTCTL" derive "$SAMPLES/cuda.so"
    [[ $output == *"sm_90a "*"machine"*"128 B  all"* ]]
    [[ $output == *"Proposed properties, label cu12:"*"  nvidia :: sm_arch :: 80_real"* ]]
    [[ $output == *"  CUDA: libcudart.so.12  (1 file: cuda.so)"* ]]
    [[ $output == *"PTX 8.7, written by CUDA 12.8"* ]]
    [[ $output == *"TORCH_CUDA_ARCH_LIST=9.0a CMAKE_CUDA_ARCHITECTURES=90a"* ]]
    run -0 "$VARIANTCTL" derive --json "$SAMPLES"
    [ "$(jq -r '.images[0].targets[] | select(.value == "gfx90a") | .without' <<<"$output")" = gfx942.hsaco ]
    [ "$(jq '.images[0].files' <<<"$output")" = "$(find "$SAMPLES" -type f | wc -l)" ]
    run -0 "$VARIANTCTL" derive "$SAMPLES/sycl.so"
    [[ $output == *"spir64_gen"*"named, not claimed"* ]]
    [[ $output == *"Its files need no particular machine."* ]]
}

@test "a path where an image is wanted: a layout is oci:, and no registry is asked for a file that is not there" {
    cd "$BATS_TEST_TMPDIR"
    mkdir out
    run -2 --separate-stderr "$VPULL" --config /dev/null --dry-run ./out
    [[ $stderr == *"vpull: ./out: a directory, not an image"*"hint: an OCI layout in the directory of that name is oci:./out" ]]
    run -2 --separate-stderr "$VARIANTCTL" index copy "oci:$L:app" ./lay2
    [[ $stderr == *"./lay2: a path, not an image"*"hint: an OCI layout in that directory is oci:./lay2" ]]
    for name in nofile.so nofile.whl ./nofile /nofile; do
        run -1 --separate-stderr "$VARIANTCTL" derive "$name"
        [[ $stderr == *"$name: No such file"* ]]
        run -1 --separate-stderr "$VPULL" --config /dev/null --dry-run "$name"
        [[ $stderr == *"vpull: $name: no such file" ]]
    done
}

@test "derive: a link that is named is read, those below it are not" {
    local d=$BATS_TEST_TMPDIR
    mkdir "$d/real"
    cp "$SAMPLES/cuda.so" "$d/real"
    ln -s cuda.so "$d/real/other.so"
    ln -s real "$d/directory"
    ln -s real/cuda.so "$d/file"
    local name
    for name in real directory file; do
        run -0 "$VARIANTCTL" derive --json "$d/$name"
        [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "$CUDA" ]
        [ "$(jq '.images[0].files' <<<"$output")" = 1 ]
    done
}

@test "derive: a file whose read fails is noted, and the others are read all the same" {
    if cat /sys/class/net/lo/speed 2>/dev/null; then skip "this kernel knows the speed of lo"; fi
    run -0 "$VARIANTCTL" derive --json /sys/class/net/lo/
    [ "$(jq -r '.images[0].not_looked_at[0].what' <<<"$output")" = "files that cannot be read" ]
    [ "$(jq '.images[0].files' <<<"$output")" -gt 5 ]
}

@test "derive: a file that is a layer is read as one, however it is compressed" {
    local t=$BATS_TEST_TMPDIR/layer.tar
    tar -C "$SAMPLES" --transform 's|^|usr/lib/|' -cf "$t" hip.so
    gzip -k "$t"
    zstd -q -k "$t"
    local f
    for f in "$t" "$t.gz" "$t.zst"; do
        run -0 "$VARIANTCTL" derive --json "$f"
        [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "$ROCM" ]
        [ "$(jq -r '.images[0].needs[0].path' <<<"$output")" = usr/lib/hip.so ]
    done
    gzip -c "$SAMPLES/hip.so" >"$BATS_TEST_TMPDIR/hip.gz"
    run -4 "$VARIANTCTL" derive "$BATS_TEST_TMPDIR/hip.gz"
    [[ $output == *"not an archive that can be read"* ]]
}

@test "derive: a library whose code is in kpack archives has what the archives have" {
    local t=$BATS_TEST_TMPDIR/t
    mkdir -p "$t/opt/lib" "$t/opt/.kpack"
    cp "$SAMPLES/kpack.so" "$t/opt/lib/libx.so"
    cp "$SAMPLES/x_gfx942.kpack" "$t/opt/.kpack"
    run -0 "$VARIANTCTL" derive --json "$t"
    [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "amd :: gfx_arch :: gfx942" ]
    [ "$(jq -c '.images[0].not_looked_at' <<<"$output")" = '[]' ]
    mkimage "$L" split --binary opt/lib/libx.so="$SAMPLES/kpack.so"
    run -0 "$VARIANTCTL" derive --report "$t/page.html" "oci:$L:split"
    [[ $output == *"no GPU code in what was looked at"*"No GPU runs all of its files that have code for GPUs."* ]]
    [[ $output == *"not looked at: opt/lib/libx.so: its code for GPUs is in .kpack archives that are not here"* ]]
    grep -q "No GPU runs all of its files" "$t/page.html"
    # a promise that only the archive would keep
    "$VARIANTCTL" index create --quiet "oci:$L:promise" --namespaces amd "null=oci:$L:cpu" \
        "gfx942=oci:$L:split,amd :: gfx_arch :: gfx942" >/dev/null
    run -5 "$VARIANTCTL" lint --deep "oci:$L:promise"
    [[ $output == *"amd :: gfx_arch :: gfx942 is claimed, but its files are built for GPUs whose .kpack archives are not here (opt/lib/libx.so) [OCV701 "* ]]
}

@test "derive: a host's driver in an image is said so, and a finding" {
    mkimage "$L" driver --binary usr/lib/libcuda.so.535.104.05="$SAMPLES/driver.so" \
        --binary usr/lib/libnvidia-ml.so.1="$SAMPLES/driver.so" \
        --binary usr/local/cuda/lib64/stubs/libcuda.so.1="$SAMPLES/driver.so"
    run -0 "$VARIANTCTL" derive "oci:$L:driver"
    [[ $output == *"usr/lib/libcuda.so.535.104.05: of the driver of NVIDIA, which a host brings in the version that it needs"* ]]
    [[ $output != *"(2 files)"* ]]
    "$VARIANTCTL" index create --quiet "oci:$L:bundled" --namespaces nvidia "null=oci:$L:cpu" \
        "cu12=oci:$L:driver,nvidia :: cuda_version_lower_bound :: 12.2" >/dev/null
    run "$VARIANTCTL" lint --deep "oci:$L:bundled"
    [[ $output == *"usr/lib/libcuda.so.535.104.05 is of the driver of NVIDIA, which the host has to bring (1 file) [OCV709 driver-in-image]"* ]]
}

@test "derive: code beside the sections for it is said, and does not count where there is some in them" {
    run -0 "$VARIANTCTL" derive "$SAMPLES/beside.so"
    [[ $output != *"sm_75 "* && $output == *"sm_80 "* ]]
    [[ $output == *"beside.so: 576 B of code beside its sections for it: cuda-code 75, cuda-code 80, cuda-code 86, cuda-ptx 75"* ]]
}

@test "derive: code without a function limits nothing, and what is not looked at is said" {
    mkdir "$BATS_TEST_TMPDIR/t"
    cp "$SAMPLES/cuda.so" "$SAMPLES/empty.so" "$BATS_TEST_TMPDIR/t/"
    mkdir -p "$BATS_TEST_TMPDIR/t/lib/triton/runtime" "$BATS_TEST_TMPDIR/t/opp/ai_core/tbe/kernel/soc910b" \
        "$BATS_TEST_TMPDIR/t/lib/glibc-hwcaps/x86-64-v3"
    touch "$BATS_TEST_TMPDIR/t/lib/triton/runtime/jit.py" "$BATS_TEST_TMPDIR/t/opp/ai_core/tbe/kernel/soc910b/"{a,b}.o \
        "$BATS_TEST_TMPDIR/t/lib/glibc-hwcaps/x86-64-v3/libm.so.6"
    run -0 "$VARIANTCTL" derive "$BATS_TEST_TMPDIR/t"
    [[ $output != *"all but"* && $output != *"sm_75 "* ]]
    [[ $output == *"lib/triton/runtime/jit.py: Triton: code is compiled when the program runs"* ]]
    [[ $output == *"opp/ai_core/tbe/kernel/soc910b/a.o: kernels for soc910b (2 files)"* ]]
    [[ $output == *"libm.so.6: libraries for x86-64-v3 alone"* ]]
    run -0 "$VARIANTCTL" derive --json "$BATS_TEST_TMPDIR/t"
    [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "$CUDA" ]
}

@test "derive: every variant of an index in a layout and on a registry, the same from both" {
    run -0 "$VARIANTCTL" derive --json "oci:$L:app"
    [ "$(properties "  cuda12.8")" = "$CUDA" ]
    [ "$(properties "  rocm7.1")" = "$ROCM" ]
    [ "$(jq '.images | length' <<<"$output")" = 3 ]
    local from_layout
    from_layout=$(jq 'del(.images[].name)' <<<"$output")
    printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/derive.json"
    rm -rf "$XDG_CACHE_HOME"
    run -0 "$VARIANTCTL" derive --json "$R/app:1"
    [ "$(jq 'del(.images[].name)' <<<"$output")" = "$from_layout" ]
    run -0 "$VARIANTCTL" derive --label rocm7.1 "$R/app:1"
    [[ $output == *"/app:1  rocm7.1: "* && $output != *cuda* ]]
    run -1 "$VARIANTCTL" derive --label rocm9 "$R/app:1"
    [[ $output == *"no variant 'rocm9'"* ]]
}

@test "derive: JSON is as its schema says" {
    require_validator
    "$VARIANTCTL" derive --json "oci:$L:app" >"$BATS_TEST_TMPDIR/derive.json"
    "$VARIANTCTL" derive --json "$SAMPLES" >"$BATS_TEST_TMPDIR/tree.json"
    valid derive "$BATS_TEST_TMPDIR/derive.json" "$BATS_TEST_TMPDIR/tree.json"
    "$OCV_LIBEXECDIR/content-scan" "$SAMPLES" >"$BATS_TEST_TMPDIR/content.json"
    valid content "$BATS_TEST_TMPDIR/content.json"
}

@test "derive: what an image says of itself is told, and nothing is proposed for it" {
    run -0 "$VARIANTCTL" derive --label cuda12.8 "oci:$L:app"
    [[ $output == *"Stated by the image:"*"config: CUDA_VERSION=12.8.1"* ]]
    [[ $output == *"config: NV_CUDA_CUDART_VERSION=12.8.90-1"* ]]
    [[ $output == *"app/torch/version.py"*"12.8"* ]]
    [[ $output == *"label: com.nvidia.cudnn.version=9.8.0"* && $output != *somebody* ]]
}

@test "derive: what other makers' images and frameworks say of themselves is told, too" {
    local d=$BATS_TEST_TMPDIR/tree
    mkimage "$L" others --env ROCM_VERSION=6.4.1 --env HABANA_LOGS=/var/log --env 'NVIDIA_REQUIRE_CUDA=cuda>=12.8' \
        --file app/torch/version.py="hip: Optional[str] = '7.0.2'"
    run -0 "$VARIANTCTL" derive --json "oci:$L:others"
    [ "$(jq -r '.images[0].says[] | .source + ": " + .words' <<<"$output")" = "config: ROCM_VERSION=6.4.1
config: HABANA_LOGS=/var/log
config: NVIDIA_REQUIRE_CUDA=cuda>=12.8
app/torch/version.py: hip 7.0.2" ]
    [ "$(jq -c '.images[0] | [.properties, .targets]' <<<"$output")" = '[[],[]]' ]
}

@test "derive: bytes for each target, and what a build for it alone saves" {
    run -0 "$VARIANTCTL" derive --json "$SAMPLES/cuda.so"
    # 256 of sm_80, 128, 192 and PTX of 128 bytes of a file of 5,048
    [ "$(jq -r '.images[0].targets[] | "\(.target) \(.bytes) \(.saving)"' <<<"$output")" = "sm_80 256 8
sm_90a 128 11
sm_100f 192 10
sm_120 128 11" ]
    [ "$(jq -r '.images[0].targets[0].settings | join(" ")' <<<"$output")" = "TORCH_CUDA_ARCH_LIST=8.0 CMAKE_CUDA_ARCHITECTURES=80" ]
    run -0 "$VARIANTCTL" derive "$SAMPLES/cuda.so"
    [[ $output == *"A build for one target alone saves:"*"sm_80 "*"   8 %  TORCH_CUDA_ARCH_LIST=8.0"* ]]
}

@test "derive: nothing is unpacked to disk" {
    local home=$BATS_TEST_TMPDIR/home
    mkdir "$home"
    cp "$SAMPLES/cuda.so" "$BATS_TEST_TMPDIR/long.so"
    truncate -s 8M "$BATS_TEST_TMPDIR/long.so"
    mkimage "$L" long --binary usr/lib/libk.so="$BATS_TEST_TMPDIR/long.so" --gzip
    push_layout "$L:long" "$R/long:1"
    # neither program may write a file of 64 KiB, not in memory either
    run -0 env HOME="$home" TMPDIR="$home" XDG_CACHE_HOME="$home/cache" bash -c 'ulimit -f 64; exec "$@"' bash \
        "$VARIANTCTL" derive --json "$R/long:1"
    [ "$(jq -r '.images[0].bytes' <<<"$output")" = 8388608 ]
    [ "$(jq -r '.images[0].properties | length' <<<"$output")" = 6 ]
    [ -z "$(find "$home" -type f -not -path "$home/cache/ocivariant/*")" ]
}

@test "derive: the toolkit that wrote a cubin is told" {
    run -0 "$VARIANTCTL" derive "$OCV_TOP/test/data/fuzz/content/sm_103a.cubin"
    [[ $output == *"CUDA toolkit 13.0  (sm_103a.cubin)"* ]]
    run -0 "$VARIANTCTL" derive --json "$OCV_TOP/test/data/fuzz/content/sm_103a.cubin"
    [ "$(jq -r '.images[0].toolkit' <<<"$output")" = 13.0 ]
}

@test "derive: a layer is fetched once and remembered by its digest" {
    rm -rf "$XDG_CACHE_HOME"
    run -0 "$VARIANTCTL" derive -v --json "$R/app:1"
    [[ $output != *"read before"* ]]
    run -0 --separate-stderr "$VARIANTCTL" derive -v --json "$R/app:1"
    # shellcheck disable=SC2154 # bats sets stderr
    [ "$(grep -c "read before" <<<"$stderr")" = 3 ]
    [ "$(properties "  rocm7.1")" = "$ROCM" ]
    # of an index that was read before the registry is asked for the tag alone, not for its content
    local asked
    asked=$(grep -c 'ocivariant/' "$STATE/log/registry")
    run -0 "$VARIANTCTL" derive --json "$R/app:1"
    sleep 0.2
    [ "$(grep 'ocivariant/' "$STATE/log/registry" | tail -n +$((asked + 1)) | grep -o '"[A-Z]* /v2/[^ ]*')" = '"HEAD /v2/app/manifests/1' ]
    # what is damaged there is read again
    find "$XDG_CACHE_HOME" -type f -name '*.json*' -exec sh -c 'echo "{" >"$1"' sh {} \;
    find "$XDG_CACHE_HOME" -type f -exec truncate -s 3 {} +
    run -0 --separate-stderr "$VARIANTCTL" derive -v --json "$R/app:1"
    [[ $stderr != *"read before"* ]]
    [ "$(properties "  rocm7.1")" = "$ROCM" ]
}

@test "derive: what a later layer removes is not counted" {
    require buildah
    local b="buildah --storage-driver overlay" c m
    mkdir -p "$BATS_TEST_TMPDIR/c/keep" "$BATS_TEST_TMPDIR/c/gone"
    cp "$SAMPLES/hip.so" "$BATS_TEST_TMPDIR/c/keep/"
    cp "$SAMPLES/cuda.so" "$SAMPLES/sm_86.cubin" "$BATS_TEST_TMPDIR/c/gone/"
    c=$($b from scratch)
    $b add "$c" "$BATS_TEST_TMPDIR/c" / >/dev/null
    $b commit -q "$c" first >/dev/null
    $b rm "$c" >/dev/null
    c=$($b from --pull-never first)
    m=$($b mount "$c")
    rm -r "$m/gone"
    $b umount "$c" >/dev/null
    $b commit -q "$c" "oci:$L:thinner" >/dev/null
    $b rm "$c" >/dev/null
    run -0 "$VARIANTCTL" derive --json "oci:$L:thinner"
    [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "$ROCM" ]
    [ "$(jq '[.images[0].targets[] | select(.fact | startswith("cuda"))] | length' <<<"$output")" = 0 ]
}

@test "derive: a layer in zstd is read as one in gzip" {
    require skopeo
    skopeo --insecure-policy copy -q --dest-compress-format zstd "oci:$L:rocm" "oci:$L:zstd"
    run -0 "$VARIANTCTL" derive --json "oci:$L:zstd"
    [ "$(jq -r '.images[0].properties | join(", ")' <<<"$output")" = "$ROCM" ]
}

@test "derive: another user's directory is no cache, as where sudo keeps HOME" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    local theirs=$BATS_TEST_TMPDIR/theirs
    mkdir "$theirs"
    XDG_CACHE_HOME=$theirs run -0 "$VARIANTCTL" derive --json "$R/app:1"
    find "$theirs" -name '*.json*' -o -name 'sha256-*' | grep -q .
    find "$theirs" -type f -delete
    chown -R nobody "$theirs"
    XDG_CACHE_HOME=$theirs run -0 "$VARIANTCTL" derive --json "$R/app:1"
    [ -z "$(find "$theirs" -type f)" ]
}

@test "derive: a malformed layer is an error that names it, and is not remembered" {
    local bad=$BATS_TEST_TMPDIR/bad digest
    mkimage "$bad" app --file etc/build=bad --gzip
    digest=$(jq -r '.manifests[0].digest' "$bad/index.json")
    digest=$(jq -r '.layers[0].digest' "$bad/blobs/sha256/${digest#sha256:}")
    printf 'no layer' | dd of="$bad/blobs/sha256/${digest#sha256:}" conv=notrunc status=none
    run -4 "$VARIANTCTL" derive "oci:$bad:app"
    [[ $output == *"layer $digest: "* ]]
    run -4 "$VARIANTCTL" derive "oci:$bad:app"
}

@test "derive: a bomb of zeros ends with an error, within bounds" {
    local c=$BATS_TEST_TMPDIR/bomb.tar.gz
    mkdir "$BATS_TEST_TMPDIR/t"
    truncate -s 9G "$BATS_TEST_TMPDIR/t/zeros"
    # the header of a file of 9 GB, and zeros; gzip takes a while, so zstd makes it
    tar --format=posix -C "$BATS_TEST_TMPDIR/t" -c zeros | zstd -1 -q >"$c"
    run -4 "$OCV_LIBEXECDIR/content-scan" --layer <"$c"
    [[ $output == *"inflates to more than"* ]]
}

@test "derive: a program that is not installed finds what was built with it" {
    run -0 env -u OCV_LIBEXECDIR "$VARIANTCTL" derive "$SAMPLES/cuda.so"
    [[ $output == *"sm_90a"* ]]
}

@test "derive: wrong arguments are told apart" {
    run -1 "$VARIANTCTL" derive ./no-such-file
    [[ $output == *"./no-such-file: No such file or directory"* ]]
    run -2 "$VARIANTCTL" derive
    [[ $output == *"give one image, directory or file"* ]]
    run -0 "$VARIANTCTL" derive --help
    [[ $output == *"--report FILE"* ]]
}

@test "derive --report: one page, readable without script, with a picture of bytes" {
    local page=$BATS_TEST_TMPDIR/app.html
    run -0 "$VARIANTCTL" derive --report "$page" "oci:$L:app"
    run ! grep -qiE '<script|src=|href=|@import|url\(' "$page"
    grep -q '<svg' "$page"
    [[ $(command -v chromium) ]] || skip "chromium is not installed"
    # as a browser reads it: text of the tables, and bars that have a width
    run -0 --separate-stderr timeout 60 chromium --headless --no-sandbox --disable-gpu \
        --user-data-dir="$BATS_TEST_TMPDIR/chromium" --dump-dom "file://$page"
    [[ $output == *"cuda12.8"* && $output == *"sm_90a"* && $output == *"nvidia :: sm_arch :: 80_real"* ]]
    [ "$(grep -o '<rect' <<<"$output" | wc -l)" -ge 6 ]
}

@test "derive --report: names in an image are text, whatever they are" {
    local d=$BATS_TEST_TMPDIR/tree name='<script>document.title="no"</script><img src=x onerror=y>&lt;"'\''.so'
    mkdir -p "$d/a"
    cp "$SAMPLES/hip.so" "$d/a/$(tr / '|' <<<"$name")"
    cp "$SAMPLES/gfx942.hsaco" "$d/b.hsaco"
    run -0 "$VARIANTCTL" derive --report "$BATS_TEST_TMPDIR/page.html" "$d"
    run ! grep -qi '<script\|<img' "$BATS_TEST_TMPDIR/page.html"
    grep -q '&lt;script&gt;' "$BATS_TEST_TMPDIR/page.html"
    [[ $(command -v chromium) ]] || skip "chromium is not installed"
    run -0 --separate-stderr timeout 60 chromium --headless --no-sandbox --disable-gpu \
        --user-data-dir="$BATS_TEST_TMPDIR/chromium" --dump-dom "file://$BATS_TEST_TMPDIR/page.html"
    [[ $output == *'&lt;script&gt;document.title='* && $output != *'<title>no'* && $output != *'<img'* ]]
}

@test "index create --derive: properties from the bytes; what is written by hand is compared with them" {
    # nothing by hand
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, amd, x86_64' "oci:$L:derived" "null=oci:$L:cpu" \
        "cu12=oci:$L:cuda" "rocm7=oci:$L:rocm"
    run -0 "$VARIANTCTL" index show --json "oci:$L:derived"
    of() { jq -r --arg l "$1" '.manifests[].annotations | select(.["dev.ocivariant.label"] == $l) | .["dev.ocivariant.properties"]' <<<"$output"; }
    [ "$(of rocm7)" = "$ROCM" ]
    [ "$(of cu12 | tr ',' '\n' | sed 's/^ //' | sort)" = "$(tr ',' '\n' <<<"$CUDA" | sed 's/^ //' | sort)" ]
    # what is written of a feature stays, and others are added
    run -0 "$VARIANTCTL" index create --derive "oci:$L:derived" "null=oci:$L:cpu" \
        "rocm7=oci:$L:rocm,amd :: gfx_arch :: gfx942"
    [[ $output == *"note: "*"its files run on amd :: gfx_arch :: gfx90a, too [OCV703 "* ]]
    run -0 "$VARIANTCTL" index show --json "oci:$L:derived"
    [ "$(of rocm7)" = "amd :: gfx_arch :: gfx942" ]
    # all that nothing claims is one note, with the feature's name once
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:more" "null=oci:$L:cpu" \
        "cu12=oci:$L:cuda,nvidia :: sm_arch :: 80_real"
    [ "$(grep -c "OCV703" <<<"$output")" = 1 ]
    [[ $output == *"its files run on nvidia :: sm_arch :: 90a_real, 100f_real, 120_virtual, too [OCV703 "* ]]
    # a promise that no file keeps is not published
    run -4 "$VARIANTCTL" index create --derive "oci:$L:wrong" "null=oci:$L:cpu" \
        "rocm7=oci:$L:rocm,amd :: gfx_arch :: gfx1100"
    [[ $output == *"error: "*"amd :: gfx_arch :: gfx1100 is claimed, but its files are built for gfx90a, gfx942:sramecc+:xnack-"*"[OCV701 "* ]]
    [[ $output == *"nothing was written"* ]]
    run ! "$VARIANTCTL" index show "oci:$L:wrong"
    # an image without code has nothing to derive from
    run -4 "$VARIANTCTL" index create --derive "oci:$L:wrong" "null=oci:$L:cpu" "fast=oci:$L:cpu"
    [[ $output == *"fast: the files of oci:$L:cpu need no particular machine"* ]]
    # the same from a file
    printf 'derive: true\ntarget: oci:%s:file\ndefaults: [oci:%s:cpu]\nvariants:\n- {label: rocm7, image: "oci:%s:rocm"}\n' "$L" "$L" "$L" >"$BATS_TEST_TMPDIR/app.yaml"
    run -0 "$VARIANTCTL" index create --from "$BATS_TEST_TMPDIR/app.yaml"
    run -0 "$VARIANTCTL" index show --json "oci:$L:file"
    [ "$(of rocm7)" = "$ROCM" ]
}

# profiles of an H100 with a CUDA 12.8 driver (h100.json) and a 12.2 one (h100old.json), and of an
# A100 with 12.8
nodes()
{
    [ -d "$STATE/nodes" ] && return
    mkdir -p "$STATE/nodes/gang"
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
}

# chosen INDEX NODE: the label that such a node gets
chosen()
{
    "$VARIANTCTL" resolve --profile "$STATE/nodes/$2.json" "oci:$L:$1" | jq -r .selected.label
}

REQUIRE='NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=535,driver<536'

@test "index create --derive: an image with code for two makers' GPUs is two entries" {
    mkimage "$L" both --binary usr/lib/libk.so="$SAMPLES/cuda.so" --binary usr/lib/libh.so="$SAMPLES/hip.so"
    run -0 "$VARIANTCTL" derive "oci:$L:both"
    [[ $output == *"No machine has all of these: make an entry for each maker's devices."* ]]
    run -4 "$VARIANTCTL" index create --derive --namespaces 'nvidia, amd, x86_64' "oci:$L:twice" "null=oci:$L:cpu" "gpu=oci:$L:both"
    [[ $output == *"gpu: the files of oci:"*" have code for amd and for nvidia: a build that asks for both fits no machine with one of them"$'\n'"hint: make two entries of it, each with a property of one by hand; "* ]]
    # what the hint says
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, amd, x86_64' "oci:$L:twice" "null=oci:$L:cpu" \
        "cuda=oci:$L:both,nvidia :: cuda_version_lower_bound :: 12.8" "rocm=oci:$L:both,amd :: gfx_arch :: gfx942"
    for chosen in h100=cuda mi300x=rocm; do
        run -0 --separate-stderr "$VARIANTCTL" resolve --profile "$OCV_TOP/plugins/profiles/${chosen%=*}.json" "oci:$L:twice"
        [ "$(jq -r .selected.label <<<"$output")" = "${chosen#*=}" ]
    done
}

@test "index create --derive: machine code is for older drivers of its CUDA major version, too" {
    nodes
    python3 "$OCV_TOP/test/data/content_wheels.py" "$BATS_TEST_TMPDIR"
    python3 -m zipfile -e "$BATS_TEST_TMPDIR"/torch-2.9+cu12-*.whl "$BATS_TEST_TMPDIR"
    mkimage "$L" machine --binary usr/lib/libt.so="$BATS_TEST_TMPDIR/torch/lib/libtorch_0.so" \
        --env CUDA_VERSION=12.8.1 --env "$REQUIRE"
    run -0 "$VARIANTCTL" index create --derive --namespaces nvidia "oci:$L:pair" "null=oci:$L:cpu" "cu12=oci:$L:machine"
    run -0 "$VARIANTCTL" index show --json "oci:$L:pair"
    [ "$(jq -r '.manifests[] | .annotations["dev.ocivariant.label"] // "null"' <<<"$output" | tr '\n' ' ')" = "null cu12 " ]
    [[ $output == *'"nvidia :: cuda_version_lower_bound :: 12.0, nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: 80_real, nvidia :: sm_arch :: 90_real"'* ]]
    run -0 "$VARIANTCTL" lint --deep "oci:$L:pair"
    [[ $output == *"0 errors, 0 warnings"* ]]
    local node
    for node in h100 h100old a100; do
        [ "$(chosen pair $node)" = cu12 ]
    done
    [ "$(chosen pair v100)" = null ]
}

@test "index create --derive: PTX of a newer toolkit is not for older drivers, the machine code beside it is" {
    nodes
    mkimage "$L" both --binary usr/lib/libk.so="$SAMPLES/cuda.so" --env CUDA_VERSION=12.8.1 --env "$REQUIRE"
    run -0 "$VARIANTCTL" index create --derive --dry-run --namespaces 'nvidia, x86_64' "oci:$BATS_TEST_TMPDIR/to:split" \
        "null=oci:$L:cpu" "cu12=oci:$L:both"
    [[ $output == *"  cu12  "*"  cu12_minor  "*"to copy: 2 manifests with "* ]]
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:split" "null=oci:$L:cpu" "cu12=oci:$L:both"
    run -0 "$VARIANTCTL" index show --json "oci:$L:split"
    of() { jq -r --arg l "$1" '.manifests[].annotations | select(.["dev.ocivariant.label"] == $l) | .["dev.ocivariant.properties"]' <<<"$output"; }
    [[ $(of cu12) == *":: 12.8, "*"120_virtual"* && $(of cu12) != *12.0* ]]
    [[ $(of cu12_minor) == *":: 12.0, "*"90a_real"* && $(of cu12_minor) != *virtual* && $(of cu12_minor) != *12.8* ]]
    [ "$(jq -r '[.manifests[] | select(.annotations["dev.ocivariant.label"]).digest] | unique | length' <<<"$output")" -le 2 ]
    run -0 "$VARIANTCTL" lint --deep "oci:$L:split"
    [[ $output == *"0 errors, 0 warnings, 0 notes"* ]]
    [ "$(chosen split h100)" = cu12 ]
    [ "$(chosen split h100old)" = cu12_minor ]
    # both are told, and the page has both
    run -0 "$VARIANTCTL" derive --report "$BATS_TEST_TMPDIR/page.html" "oci:$L:both"
    [[ $output == *"Proposed properties, label cu12:"*":: 12.8"*"For older drivers, which compile none of its PTX, a second entry, label cu12_minor:"*":: 12.0"* ]]
    grep -q 'A second entry, for older drivers.*' "$BATS_TEST_TMPDIR/page.html"
    run -0 "$VARIANTCTL" derive --json "oci:$L:both"
    [ "$(jq -r '.images[0].properties_minor | join(", ")' <<<"$output")" = \
        "${CUDA/nvidia :: sm_arch :: 120_virtual, nvidia :: cuda_version_lower_bound :: 12.8/nvidia :: cuda_version_lower_bound :: 12.0}" ]
    # another image cannot be that of two entries, and a label that is taken is not used
    run -0 "$VARIANTCTL" index create --derive --relabel --namespaces 'nvidia, x86_64' "oci:$L:own" "null=oci:$L:cpu" "cu12=oci:$L:both"
    [[ $output == *"cu12 is left without its entry cu12_minor for older drivers: with --relabel it would be another image"* ]]
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:own" "null=oci:$L:cpu" "cu12=oci:$L:both" \
        "cu12_minor=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.0"
    [[ $output == *"another build has that label"* ]]
}

@test "index create --derive: builds that only their labels would rank are ranked by toolkit, as --from-tags does" {
    nodes
    mkimage "$L" both --binary usr/lib/libk.so="$SAMPLES/cuda.so" --env CUDA_VERSION=12.8.1
    mkimage "$L" older --binary usr/lib/libk.so="$SAMPLES/cuda.so" --env CUDA_VERSION=12.6.3
    run -0 --separate-stderr "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:two" "null=oci:$L:cpu" \
        "cu126=oci:$L:older" "cu128=oci:$L:both"
    [[ $stderr != *OCV120* ]]
    run -0 "$VARIANTCTL" lint "oci:$L:two"
    [[ $output == *"0 errors, 0 warnings"* ]]
    run -0 "$VARIANTCTL" index show --json "oci:$L:two"
    [ "$(jq -r '.annotations | .["dev.ocivariant.namespaces"], .["dev.ocivariant.static.priority"]' <<<"$output")" = \
        $'nvidia, x86_64, priority\norder :: 12.6, order :: 12.8' ]
    [ "$(jq -r '.manifests[].annotations | select(.) | .["dev.ocivariant.label"] + " " + (.["dev.ocivariant.properties"] | capture("(?<p>priority :: order :: [0-9.]+)").p)' <<<"$output")" = \
        "$(printf '%s\n' 'cu126 priority :: order :: 12.6' 'cu126_minor priority :: order :: 12.6' 'cu128 priority :: order :: 12.8' 'cu128_minor priority :: order :: 12.8')" ]
    [ "$(chosen two h100)" = cu128 ]
    [ "$(chosen two h100old)" = cu126_minor ]
    # what somebody ranked stays as it is
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64, mine' --static 'mine=order :: 1, order :: 2' "oci:$L:two" "null=oci:$L:cpu" \
        "cu126=oci:$L:older,mine :: order :: 2" "cu128=oci:$L:both,mine :: order :: 1"
    run -0 "$VARIANTCTL" index show --json "oci:$L:two"
    [[ $output != *priority* ]]
}

@test "index create --derive: a CUDA version and devices that are written by hand stay, and are checked" {
    nodes
    mkimage "$L" both --binary usr/lib/libk.so="$SAMPLES/cuda.so" --env CUDA_VERSION=12.8.1 --env "$REQUIRE"
    local bound="nvidia :: cuda_version_lower_bound"
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:hand" "null=oci:$L:cpu" "cu12=oci:$L:both,$bound :: 12.8"
    run -0 "$VARIANTCTL" index show --json "oci:$L:hand"
    [[ $output == *"$bound :: 12.8, "* && $output != *"12.0"* && $output != *minor* ]]
    [ "$(chosen hand h100)" = cu12 ]
    [ "$(chosen hand h100old)" = null ]
    # of devices with machine code alone older drivers need no entry of their own
    run -0 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:hand" "null=oci:$L:cpu" \
        "cu12=oci:$L:both,nvidia :: sm_arch :: 90a_real"
    run -0 "$VARIANTCTL" index show --json "oci:$L:hand"
    [[ $output == *"$bound :: 12.0, $bound :: 12.8, nvidia :: sm_arch :: 90a_real, x86_64"* && $output != *minor* ]]
    [ "$(chosen hand h100old)" = cu12 ]
    # below what the image asks for, above what it was built with, below what its files need
    run -4 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:no" "null=oci:$L:cpu" "cu12=oci:$L:both,$bound :: 12.0"
    [[ $output == *"NVIDIA_REQUIRE_CUDA refuses hosts below cuda 12.8"*OCV402* ]]
    run -4 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:no" "null=oci:$L:cpu" "cu12=oci:$L:both,$bound :: 12.9"
    [[ $output == *"is above it"*OCV404* ]]
    run -4 "$VARIANTCTL" index create --derive --namespaces 'nvidia, x86_64' "oci:$L:no" "null=oci:$L:cpu" "cu12=oci:$L:both,$bound :: 11.8"
    [[ $output == *"$bound :: 11.8 is claimed"*"libcudart.so.12"*OCV701* ]]
}

@test "lint --deep: promises against the bytes, on a registry" {
    "$VARIANTCTL" index create --quiet "$R/app:wrong" "null=oci:$L:cpu" \
        "cuda=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 75_real" >/dev/null
    run -0 "$VARIANTCTL" lint "$R/app:wrong"
    [[ $output != *OCV701* ]]
    run -5 "$VARIANTCTL" lint --deep "$R/app:wrong"
    [[ $output == *"nvidia :: sm_arch :: 75_real is claimed, but its files are built for sm_80, sm_90a, sm_100f, sm_120 (usr/lib/libk.so)"* ]]
    # an image whose code is made when it runs passes with a note
    mkimage "$L" jit --file usr/lib/python3/dist-packages/triton/runtime/jit.py=code
    "$VARIANTCTL" index create --quiet "$R/app:jit" "null=oci:$L:cpu" \
        "cuda=oci:$L:jit,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real" >/dev/null
    run -0 "$VARIANTCTL" lint --deep "$R/app:jit"
    [[ $output == *"note: "*"no file has code for nvidia :: sm_arch; it is compiled when a program runs, or not in this image [OCV708 "* ]]
    # kept, and more than that is a note
    run -0 "$VARIANTCTL" lint --deep --json "$R/app:1"
    [ "$(jq -r '[.findings[] | select(.rule == "OCV701")] | length' <<<"$output")" = 0 ]
    [ "$(jq -r '[.findings[] | select(.rule == "OCV703") | .where] | unique | join(" ")' <<<"$output")" = "manifests[2] (rocm7.1)" ]
}
