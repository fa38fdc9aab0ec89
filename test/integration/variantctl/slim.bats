#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl slim: variants of an image that nobody has built. test/tools/library/gpu_library.c is what a linker makes of
# device code for sm_52 to sm_120; slim.py reads what became of it.

load ../harness
load ../schema

SITE=usr/lib/python3/site-packages
LIBRARY=$SITE/gpu/lib/libgpu.so

setup_file()
{
    require docker-registry skopeo zstd
    state_start
    start_registry
    export R=$REGISTRY PROFILES=$OCV_TOP/plugins/profiles
}

setup()
{
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache L=$BATS_TEST_TMPDIR/images OCV_DATADIR=$OCV_TOP/plugins
    mkdir -p "$XDG_CACHE_HOME" "$L"
}

slim_py()
{
    python3 "$OCV_TOP/test/integration/slim.py" "$@"
}

# make TAG [COMPRESSION [LIBRARY]]: an image; its digest
make()
{
    slim_py make "$L" "$1" "${2:-gzip}" "$OCV_BUILD/test/tools/${3:-gpu_library}"
}

# chosen IMAGE PROFILE: the label that such a machine gets, or "default"
chosen()
{
    "$VARIANTCTL" resolve --profile "$PROFILES/$2.json" "$1" | jq -r '.selected.label // "default"'
}

# entry IMAGE LABEL: the digest of that variant
entry()
{
    "$VARIANTCTL" index show --format json "$1" | jq -er --arg l "$2" \
        '.manifests[] | select(.annotations["dev.ocivariant.label"] == $l).digest'
}

# labels IMAGE: its labels
labels()
{
    run -0 --separate-stderr "$VARIANTCTL" index show --format json "$1"
    run -0 jq -r '[.manifests[].annotations["dev.ocivariant.label"] // empty] | unique | join(" ")' <<<"$output"
}

# code FILE: architectures of the machine code in it
code()
{
    "$VARIANTCTL" derive --json "$1" | jq -r '[.images[0].targets[] | select(.fact == "cuda-code").target] | join(" ")'
}

@test "slim: each GPU gets the code of its own number, and all others the image as it was" {
    original=$(make app)
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [[ $output == *"sm80: pull "*" instead of "*"$LIBRARY"* ]]
    [[ $output == *"$LIBRARY  (1 of its 5 fat binaries not for this GPU, and the smallest entry of each stays; "*"; its sum in var/lib/dpkg/info/gpu.md5sums is wrong now)"* ]]
    [ "$(entry "oci:$L:slim" fat)" = "$original" ]
    [ "$("$VARIANTCTL" index show --format json "oci:$L:slim" | jq -r '.manifests[0].digest')" = "$original" ]
    while read -r profile label; do
        [ "$(chosen "oci:$L:slim" "$profile")" = "$label" ] || {
            echo "$profile gets $(chosen "oci:$L:slim" "$profile") and not $label"
            return 1
        }
    done <<'TABLE'
a100 sm80
a10 fat
rtx4090 fat
h100 fat
laptop default
mi300x default
TABLE
}

@test "slim: what is not cut is as it was, byte for byte, whatever the layers are compressed with" {
    for how in gzip zstd none; do
        original=$(make "$how" "$how")
        run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:$how" --for sm_80,sm_90+sm_120 --to "oci:$L:slim-$how"
        for label in sm80 sm90_sm120; do
            run -0 slim_py compare "$L" "$original" "$(entry "oci:$L:slim-$how" "$label")" "$LIBRARY"
        done
    done
    slim_py cat "$L" "$(entry "oci:$L:slim-gzip" sm80)" "$LIBRARY" >"$BATS_TEST_TMPDIR/lib.so"
    [ "$(code "$BATS_TEST_TMPDIR/lib.so")" = "sm_80 sm_90a" ] # of a part without code for 8.0 the smallest stays
    # a program that uses it
    run -0 python3 -c "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).gpu_answer(41))" "$BATS_TEST_TMPDIR/lib.so"
    [ "$output" = 42 ]
}

@test "slim: a layer in zstd whose window needs more memory than a layer may have" {
    for how in 'zstd --long=25' 'zstd --long=27'; do
        original=$(make "${how##*=}" "$how")
        run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:${how##*=}" --for sm_80 --to "oci:$L:slim"
        run -0 slim_py compare "$L" "$original" "$(entry "oci:$L:slim" sm80)" "$LIBRARY"
    done
}

@test "slim: the same input gives the same digests, and a second run says that nothing changed" {
    make app
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80,sm_90 --to "oci:$L:one"
    first=$(entry "oci:$L:one" sm80)
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80,sm_90 --to "oci:$L:one"
    [[ $output == *"(4 entries; unchanged)"* ]]
    XDG_CACHE_HOME=$BATS_TEST_TMPDIR/other run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80,sm_90 --to "oci:$BATS_TEST_TMPDIR/other-images:one"
    [ "$(entry "oci:$BATS_TEST_TMPDIR/other-images:one" sm80)" = "$first" ]
    # of what it made itself there is nothing to do
    run -0 "$VARIANTCTL" slim "oci:$L:one" --for sm_80 --to "oci:$L:two"
    [ "$output" = "oci:$L:one has these variants already: there is nothing to do, and oci:$L:two is not written" ]
    run -1 "$VARIANTCTL" index show "oci:$L:two"
    # another target joins those that are there
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:one" --for sm_80,sm_86 --to "oci:$L:two"
    labels "oci:$L:two"
    [ "$output" = "fat sm80 sm86 sm90" ]
    [ "$(entry "oci:$L:two" sm80)" = "$first" ]
    [ "$(chosen "oci:$L:two" a10)" = sm86 ]
    [ "$(chosen "oci:$L:two" h100)" = sm90 ]
    run -4 "$VARIANTCTL" slim "oci:$L:one" --for sm_80,sm_35 --to "oci:$L:three"
    [[ $output == *"was slimmed, and none of its originals is for sm_35"* ]]
    # and no layer is left behind
    [ -z "$(find "$XDG_CACHE_HOME" -name 'stage-*')" ]
}

@test "slim: from one repository to another, where layers that stay are mounted" {
    make app
    push_layout "$L:app" "$R/fat/app:1.0"
    run -0 --separate-stderr "$VARIANTCTL" slim --insecure "$R" "$R/fat/app:1.0" --for sm_80 --to "$R/slim/app:1.0"
    [[ $output == *" mounted, "* ]]
    [[ $output == *"sign it with everything in it: cosign sign --recursive $R/slim/app@sha256:"* ]]
    mkdir "$BATS_TEST_TMPDIR/pulled"
    run -0 --separate-stderr "$VPULL" --insecure "$R" --profile "$PROFILES/a100.json" --to "oci:$BATS_TEST_TMPDIR/pulled" "$R/slim/app:1.0"
    slim_py cat "$BATS_TEST_TMPDIR/pulled" "$(jq -r '.manifests[0].digest' "$BATS_TEST_TMPDIR/pulled/index.json")" "$LIBRARY" >"$BATS_TEST_TMPDIR/lib.so"
    [ "$(code "$BATS_TEST_TMPDIR/lib.so")" = "sm_80 sm_90a" ]
    # known by its own labels alone it fits, too: how the index ranks it is not among them
    OCV_STATE_DIR=$BATS_TEST_TMPDIR/none run -0 "$VARIANTCTL" verify --profile "$PROFILES/a100.json" --from "oci:$BATS_TEST_TMPDIR/pulled" --all
    [[ $output == *fits* && $output != *priority* ]]
    OCV_STATE_DIR=$BATS_TEST_TMPDIR/none run "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$BATS_TEST_TMPDIR/pulled" --all
    [[ $output == *sm_arch* ]]
    # copying tools carry one digest that stands twice
    run -0 skopeo copy --quiet --all --preserve-digests --insecure-policy --src-tls-verify=false --dest-tls-verify=false \
        "docker://$R/slim/app:1.0" "docker://$R/copied/app:1.0"
    # engines that know nothing of variants get the image as it was
    run -0 skopeo copy --quiet --src-tls-verify=false --insecure-policy --override-arch amd64 --override-os linux \
        "docker://$R/slim/app:1.0" "oci:$BATS_TEST_TMPDIR/plain:x"
    [ "$(jq -r '.manifests[0].digest' "$BATS_TEST_TMPDIR/plain/index.json")" = "$(jq -r '.manifests[0].digest' "$L/index.json")" ]
}

@test "slim: an image of several platforms, of which one has GPU code" {
    amd64=$(make app)
    arm64=$(slim_py make "$L" arm none /dev/null arm64)
    slim_py index "$L" multi "$amd64" "$arm64"
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:multi" --for sm_80 --to "oci:$L:slim"
    [ "$("$VARIANTCTL" index show --format json "oci:$L:slim" | jq -r '[.manifests[].digest] | index("'"$arm64"'")')" = 1 ]
    [ "$(entry "oci:$L:slim" fat)" = "$amd64" ]
    run -0 slim_py compare "$L" "$amd64" "$(entry "oci:$L:slim" sm80)" "$LIBRARY"
    [ "$(chosen "oci:$L:slim" a100)" = sm80 ]
    [ "$("$VARIANTCTL" resolve --platform linux/arm64 --profile "$PROFILES/laptop.json" "oci:$L:slim" | jq -r .selected.digest)" = "$arm64" ]
}

@test "slim: the same labels of two platforms, with other architectures in them" {
    amd64=$(make app)
    arm64=$(slim_py make "$L" arm gzip "$OCV_BUILD/test/tools/gpu_library" arm64)
    slim_py index "$L" multi "$amd64" "$arm64"
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:multi" --for sm_80,sm_90 --to "oci:$L:slim"
    run -0 "$VARIANTCTL" index show --format json "oci:$L:slim"
    [ "$(jq -r '[.manifests[] | .platform.architecture + " " + (.annotations["dev.ocivariant.label"] // "-")] | sort | join(", ")' <<<"$output")" = \
        "amd64 -, amd64 fat, amd64 sm80, amd64 sm90, arm64 -, arm64 fat, arm64 sm80, arm64 sm90" ]
}

@test "slim --dry-run: what would be saved, from what was read before, and nothing is written" {
    make app
    run -0 --separate-stderr "$VARIANTCTL" slim --dry-run "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [[ $output == "sm80: pull about "*" instead of "*"before"*"after"*"$LIBRARY"* ]]
    run -0 --separate-stderr "$VARIANTCTL" slim --dry-run --format json "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    estimate=$(jq '.[0].files[0].after' <<<"$output")
    run -1 "$VARIANTCTL" index show "oci:$L:slim"
    [ -z "$(find "$XDG_CACHE_HOME" -name 'stage-*')" ]
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    after=$(slim_py cat "$L" "$(entry "oci:$L:slim" sm80)" "$LIBRARY" | wc -c)
    # of a part without code for the target one entry stays, and pages have two ends
    ((estimate <= after && after - estimate < 40000))
}

@test "slim: an index of platforms, into a layout that is not there yet" {
    slim_py index "$L" both "$(make intel)" "$(slim_py make "$L" arm gzip "$OCV_BUILD/test/tools/gpu_library" arm64)"
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:both" --for sm_80 --to "oci:$BATS_TEST_TMPDIR/new:both"
    run -0 skopeo inspect --raw "oci:$BATS_TEST_TMPDIR/new:both"
    [ "$(jq '.manifests | length' <<<"$output")" -ge 4 ]
}

@test "slim: what is quiet, and what is JSON, when nothing is written" {
    make app
    run -0 --separate-stderr "$VARIANTCTL" slim --quiet --dry-run "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [ -z "$output$stderr" ]
    run -0 --separate-stderr "$VARIANTCTL" slim --dry-run "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [[ $output == *$'\nsizes are estimates; nothing was written' ]]
    "$VARIANTCTL" slim --quiet "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    run -0 --separate-stderr "$VARIANTCTL" slim --format json "oci:$L:slim" --for sm_80 --to "oci:$L:two"
    [ "$(jq -c . <<<"$output")" = "[]" ]
}

@test "slim: a file stays where anything below has its path, a link too, also as a layer that was cut before" {
    slim_py below "$L" plain none
    slim_py below "$L" text text
    slim_py below "$L" link link
    for tag in plain text link; do
        run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:$tag" --for gfx942 --to "oci:$L:slim-$tag"
    done
    run ! slim_py cat "$L" "$(entry "oci:$L:slim-plain" gfx942)" k/x_gfx90a.hsaco
    for tag in text link; do
        run -0 slim_py cat "$L" "$(entry "oci:$L:slim-$tag" gfx942)" k/x_gfx90a.hsaco
        [[ $output == *ELF* ]]
    done
}

@test "slim: a user without a home directory" {
    make app
    run -0 --separate-stderr env -u HOME -u XDG_CACHE_HOME TMPDIR="$BATS_TEST_TMPDIR" "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [ "$(chosen "oci:$L:slim" a100)" = sm80 ]
    [ -z "$(find "$BATS_TEST_TMPDIR" -name 'variantctl.*')" ]
}

@test "slim: what was removed is attached to each variant" {
    make app
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    child=$(entry "oci:$L:slim" sm80)
    list=$(jq -r --arg t "sha256-${child#sha256:}" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $t).digest[7:]' "$L/index.json")
    artifact=$(jq -r '.manifests[0].digest[7:]' "$L/blobs/sha256/$list")
    [ "$(jq -r '.artifactType, .subject.digest' "$L/blobs/sha256/$artifact")" = "application/vnd.dev.ocivariant.slim.v1+json"$'\n'"$child" ]
    report=$(jq -r '.layers[0].digest[7:]' "$L/blobs/sha256/$artifact")
    [ "$(jq -rc '.schema, .targets, .files[0].path, ([.files[0].removed[] | select(.kind == "cuda-code" and .value == "86")] | length)' "$L/blobs/sha256/$report")" = \
        "dev.ocivariant.slim/v1"$'\n'"[\"sm_80\"]"$'\n'"$LIBRARY"$'\n'"1" ]
    "$VARIANTCTL" slim --dry-run --format json "oci:$L:app" --for sm_80 --to "oci:$L:other" 2>/dev/null | jq '.[0]' >"$BATS_TEST_TMPDIR/estimate.json"
    cp "$L/blobs/sha256/$report" "$BATS_TEST_TMPDIR/report.json"
    require_validator
    valid slim "$BATS_TEST_TMPDIR/report.json" "$BATS_TEST_TMPDIR/estimate.json"
}

@test "slim: libraries that may not be changed stay, unless it is said that one may" {
    original=$(make app)
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:kept"
    cmp <(slim_py cat "$L" "$original" $SITE/nvidia/cublas/lib/libcublas.so.12) \
        <(slim_py cat "$L" "$(entry "oci:$L:kept" sm80)" $SITE/nvidia/cublas/lib/libcublas.so.12)
    [[ $output == *"left as they are, by their licence: 1 file"* ]]
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --vendor-files --to "oci:$L:all"
    run -0 slim_py compare "$L" "$original" "$(entry "oci:$L:all" sm80)" "$LIBRARY" $SITE/nvidia/cublas/lib/libcublas.so.12
}

@test "slim: a library that is not understood stays, and the table says why" {
    make app gzip gpu_library_stray
    run -4 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [[ $stderr == *"oci:$L:app: nothing could be cut, and nothing was written"* ]]
    run -1 "$VARIANTCTL" index show "oci:$L:slim"
    run -4 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    [[ $output == *"$LIBRARY  (left alone: something leads to its device code that is no wrapper of a fat binary)"* ]]
}

@test "slim: lint has nothing to say of the index" {
    make app
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80,sm_90 --to "oci:$L:slim"
    run -0 "$VARIANTCTL" lint --deep "oci:$L:slim"
    [[ $output != *OCV126* ]]
    [[ $output != *OCV405* ]]
}

@test "slim: what cannot be done is said, with the right exit code" {
    make app
    for try in '--for sm_80|slim: give --to, where the index is written' '--to oci:x:y|slim: give --for, the targets (--for sm_80,sm_90), or --profiles' \
        "--for ampere --to oci:x:y|slim: --for: 'ampere' is no target" '--for sm_80, --to oci:x:y|'"slim: --for: '' is no target" \
        "--for sm_90,sm_90a --to oci:x:y|slim: --for: 'sm_90a' stands twice (sm_90)" '--for sm_80 --compression xz --to oci:x:y|slim: --compression is gzip or zstd'; do
        read -ra arguments <<<"${try%%|*}"
        run -2 "$VARIANTCTL" slim "oci:$L:app" "${arguments[@]}"
        [[ $output == *"${try#*|}"* ]]
    done
    # rather a slip than a GPU
    run "$VARIANTCTL" slim "oci:$L:app" --for sm_95 --dry-run --to "oci:$L:slim"
    [[ $output == *"warning: sm_95 is no architecture that is known here"* ]]
    # before minutes of work
    mkdir -m 555 "$BATS_TEST_TMPDIR/closed"
    local plain=()
    [ "$(id -u)" -ne 0 ] || plain=(setpriv "--bounding-set=-dac_override,-dac_read_search" --inh-caps=-all)
    run -1 "${plain[@]}" "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$BATS_TEST_TMPDIR/closed/x:y"
    [ "$output" = "variantctl: cannot write to $BATS_TEST_TMPDIR/closed/x: Permission denied" ]
    run -2 "$VARIANTCTL" slim "oci:$L:app" --for sm_100,sm_103 --to "oci:$L:slim"
    [[ $output == *"of oci:$L:app, GPUs of sm_100 and of sm_103 run the same code"$'\n'"hint: name one of them, or let both share a variant: sm_100+sm_103"* ]]
    run -4 "$VARIANTCTL" slim "oci:$L:app" --for sm_35 --to "oci:$L:slim"
    [[ $output == *"oci:$L:app has no machine code for sm_35"$'\n'"hint: 'variantctl derive oci:$L:app' says what it has"* ]]
    run -1 "$VARIANTCTL" index show "oci:$L:slim"
    run -1 "$VARIANTCTL" slim "oci:$L:missing" --for sm_80 --to "oci:$L:slim"
    # a layer whose bytes are other than its digest says
    layer=$(jq -r '.layers[1].digest[7:]' "$L/blobs/sha256/$(jq -r '.manifests[0].digest[7:]' "$L/index.json")")
    printf 'BAD!' | dd of="$L/blobs/sha256/$layer" bs=1 seek=100 conv=notrunc status=none
    run -4 "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    run -1 "$VARIANTCTL" index show "oci:$L:slim"
}

@test "slim: a layer that cannot be read is an error, not a layer without files" {
    for bytes in '0\n\x28\xb5\x2f\xfd\xff\xff\xff\xff' '0\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbagegarbage' '0\nno archive of any kind'; do
        printf '%b' "$bytes" >"$BATS_TEST_TMPDIR/layer"
        run -4 "$OCV_BUILD/libexec/content-scan" --slim sm_80 "$BATS_TEST_TMPDIR" <"$BATS_TEST_TMPDIR/layer"
    done
}

@test "slim: a GPU gets no variant in which PTX that it could run is missing" {
    # of parts without machine code for 8.x the PTX of each GPU stays that may take the variant
    make app
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_103 --to "oci:$L:slim"
    slim_py cat "$L" "$(entry "oci:$L:slim" sm103)" "$LIBRARY" >"$BATS_TEST_TMPDIR/lib.so"
    run -0 "$VARIANTCTL" derive --json "$BATS_TEST_TMPDIR/lib.so"
    [ "$(jq -r '[.images[0].targets[] | select(.fact == "cuda-ptx").target] | join(" ")' <<<"$output")" = "sm_52 sm_75 sm_90" ]
}

@test "slim: RECORD of a wheel whose library is a hard link to a file elsewhere" {
    original=$(slim_py cached "$L" app "$OCV_BUILD/test/tools/gpu_library")
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --to "oci:$L:slim"
    run -0 slim_py compare "$L" "$original" "$(entry "oci:$L:slim" sm80)" root/.cache/uv/archive-v0/x/gpu/lib/libgpu.so
}

@test "slim: code for GPUs of AMD, in libraries and in files of its own" {
    original=$(slim_py rocm "$L" app "$OCV_BUILD/test/tools/hip_library")
    run -0 --separate-stderr "$VARIANTCTL" slim --dry-run "oci:$L:app" --for gfx942,gfx1100 --to "oci:$L:slim"
    [[ $output == *"gfx942: pull about "* ]]
    [[ $output == *"$SITE/gpu/library/Kernels_gfx90a.hsaco  (left out)"* ]]
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --for gfx942,gfx1100 --to "oci:$L:slim"
    K=$SITE/gpu/library/Kernels
    run -0 slim_py compare "$L" "$original" "$(entry "oci:$L:slim" gfx942)" "$LIBRARY" "-${K}_gfx90a.hsaco" "-${K}_gfx1100.hsaco" \
        "-$SITE/gpu/library/same.hsaco" "-$SITE/gpu/library/same2.hsaco" "-opt/y_gfx90a.hsaco"
    run -0 slim_py compare "$L" "$original" "$(entry "oci:$L:slim" gfx1100)" "$LIBRARY" "-${K}_gfx90a.hsaco" "-${K}_gfx942.hsaco" \
        "-opt/y_gfx90a.hsaco" # opt/x_gfx90a.hsaco stays: without it that of the layer below would be seen
    run -0 slim_py cat "$L" "$(entry "oci:$L:slim" gfx942)" "$SITE/gpu-1.0.dist-info/RECORD"
    [[ $output != *gfx90a* && $output != *gfx1100* && $output == *gfx942* ]]
    [ "$(chosen "oci:$L:slim" mi300x)" = gfx942 ]
    [ "$(chosen "oci:$L:slim" h100)" = default ]
    # what a variant says it is for is what `derive` reads of it
    run -0 --separate-stderr "$VARIANTCTL" lint --deep "oci:$L:slim"
    # an architecture that nothing is built for
    run -4 "$VARIANTCTL" slim "oci:$L:app" --for gfx1030 --to "oci:$L:none"
    [[ $output == *"has no machine code for gfx1030"* ]]
}

@test "slim: an index that has variants keeps them, and each gets slim ones" {
    make cuda
    slim_py rocm "$L" rocm "$OCV_BUILD/test/tools/hip_library"
    slim_py make "$L" plain none /dev/null
    run -0 --separate-stderr "$VARIANTCTL" index create "oci:$L:varied" --namespaces "nvidia, amd" --default "oci:$L:plain" \
        "cuda12=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.4" "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx90a, amd :: gfx_arch :: gfx942"
    before=$("$VARIANTCTL" index show --format json "oci:$L:varied")
    for to in "oci:$L:slim" "$R/varied/app:1.0"; do
        run -0 --separate-stderr "$VARIANTCTL" slim --insecure "$R" "oci:$L:varied" --for sm_80,gfx942 --to "$to"
        labels "$to"
        [ "$output" = "cuda12 cuda12.fat cuda12.sm80 rocm rocm.fat rocm.gfx942" ] || [ "$output" = "cuda12 cuda12.fat cuda12.sm80 rocm rocm.gfx942" ]
        # what was there is as it was
        after=$("$VARIANTCTL" index show --insecure "$R" --format json "$to")
        # shellcheck disable=SC2016 # jq's variables
        run -0 jq -en --argjson a "$before" --argjson b "$after" '$a.manifests - $b.manifests == []'
        while read -r profile label; do
            run -0 --separate-stderr "$VARIANTCTL" resolve --insecure "$R" --profile "$PROFILES/$profile.json" "$to"
            run -0 jq -r '.selected.label // "default"' <<<"$output"
            [ "$output" = "$label" ] || { echo "$profile gets $output and not $label"; false; }
        done <<'TABLE'
a100 cuda12.sm80
a10 cuda12.fat
h100 cuda12.fat
t4 cuda12.fat
mi300x rocm.gfx942
laptop default
TABLE
    done
    run -0 "$VARIANTCTL" slim "oci:$L:slim" --for sm_80,gfx942 --to "oci:$L:again"
    [[ $output == *"has these variants already: there is nothing to do"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index show --format json "oci:$L:slim"
    run -0 jq -er '.manifests[] | select(.annotations["dev.ocivariant.label"] == "cuda12.sm80").annotations["dev.ocivariant.properties"]' <<<"$output"
    [[ $output == *"nvidia :: cuda_version_lower_bound :: 12.4"* && $output == *"nvidia :: sm_arch :: 80_real"* && $output != *86_real* ]]
}

@test "slim --profiles: a variant for each kind of GPU of a fleet" {
    make app
    mkdir "$BATS_TEST_TMPDIR/fleet"
    for machine in laptop a100 a10 rtx4090 h100 mi300x atom-max; do
        cp "$PROFILES/$machine.json" "$BATS_TEST_TMPDIR/fleet/"
    done
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:app" --profiles "$BATS_TEST_TMPDIR/fleet" --to "oci:$L:slim"
    labels "oci:$L:slim"
    [ "$output" = "fat sm80 sm86 sm89 sm90" ]
    while read -r profile label; do
        [ "$(chosen "oci:$L:slim" "$profile")" = "$label" ] || { echo "$profile gets $(chosen "oci:$L:slim" "$profile")"; false; }
    done <<'TABLE'
a100 sm80
a10 sm86
rtx4090 sm89
h100 sm90
laptop default
mi300x default
TABLE
    rm "$BATS_TEST_TMPDIR/fleet"/[ahr]*.json
    run -4 "$VARIANTCTL" slim "oci:$L:app" --profiles "$BATS_TEST_TMPDIR/fleet" --to "oci:$L:none"
    [[ $output == *"it has machine code for no GPU of these machines"* ]]
    rm "$BATS_TEST_TMPDIR/fleet/mi300x.json"
    run -4 "$VARIANTCTL" slim "oci:$L:app" --profiles "$BATS_TEST_TMPDIR/fleet" --to "oci:$L:none"
    [[ $output == *"no machine has a GPU of NVIDIA or AMD"* ]]
    run -2 "$VARIANTCTL" slim "oci:$L:app" --for sm_80 --profiles "$BATS_TEST_TMPDIR/fleet" --to "oci:$L:none"
    [[ $output == *"--for or --profiles, not both"* ]]
}

@test "slim: variants that say for which GPU they are become slim for that one alone" {
    make cuda
    slim_py rocm "$L" rocm "$OCV_BUILD/test/tools/hip_library"
    slim_py make "$L" plain none /dev/null
    run -0 --separate-stderr "$VARIANTCTL" index create "oci:$L:varied" --namespaces "nvidia, amd" --default "oci:$L:plain" \
        "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx942" "ampere=oci:$L:cuda,nvidia :: sm_arch :: 80_real"
    # rocm's files have code for gfx1100, which its publisher did not name
    run -4 "$VARIANTCTL" slim "oci:$L:varied" --for gfx1100 --to "oci:$L:none"
    [[ $output == *"has no machine code for gfx1100"* ]]
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:varied" --for gfx942,sm_80 --to "oci:$L:slim"
    [ "$(chosen "oci:$L:slim" mi300x)" = rocm.gfx942 ]
    [ "$(chosen "oci:$L:slim" a100)" = ampere.sm80 ]
    # and another target later, on what came of it
    run -0 --separate-stderr "$VARIANTCTL" index create "oci:$L:open" --namespaces nvidia --default "oci:$L:plain" \
        "cu=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.4"
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:open" --for sm_80 --to "oci:$L:one"
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:one" --for sm_80,sm_90 --to "oci:$L:both"
    labels "oci:$L:both"
    [ "$output" = "cu cu.fat cu.sm80 cu.sm90" ]
    [ "$(chosen "oci:$L:both" h100)" = cu.sm90 ]
    # no stage is left of a run that failed for good
    [ -z "$(find "$XDG_CACHE_HOME" -name 'stage-*')" ]
}

@test "slim: no machine gets what is made of another image than before" {
    make cuda
    cp "$OCV_BUILD/test/tools/gpu_library" "$BATS_TEST_TMPDIR/lib.so"
    echo >>"$BATS_TEST_TMPDIR/lib.so" # another image with the same code
    slim_py make "$L" other gzip "$BATS_TEST_TMPDIR/lib.so"
    slim_py make "$L" plain none /dev/null
    run -0 --separate-stderr "$VARIANTCTL" index create "oci:$L:varied" --namespaces "nvidia, x86_64" --default "oci:$L:plain" \
        "best=oci:$L:other,nvidia :: cuda_version_lower_bound :: 12.4,x86_64 :: level :: v3" \
        "other=oci:$L:cuda,nvidia :: cuda_version_lower_bound :: 12.4,nvidia :: sm_arch :: 90_virtual"
    [ "$(chosen "oci:$L:varied" a100)" = best ]
    run "$VARIANTCTL" slim "oci:$L:varied" --for sm_80 --to "oci:$L:slim"
    [ "$status" = 4 ]
    [[ $output == *"a machine like b200 gets other, and would get best.fat, of another image"* ]]
    run -1 "$VARIANTCTL" index show "oci:$L:slim"
}

@test "slim: an image with code of two makers gets an entry of the original for each" {
    slim_py mixed "$L" mixed "$OCV_BUILD/test/tools/gpu_library" "$OCV_BUILD/test/tools/hip_library"
    run -0 --separate-stderr "$VARIANTCTL" slim "oci:$L:mixed" --for sm_80,gfx942 --to "oci:$L:slim"
    labels "oci:$L:slim"
    [ "$output" = "fat.cuda fat.rocm gfx942 sm80" ]
    while read -r profile label; do
        [ "$(chosen "oci:$L:slim" "$profile")" = "$label" ] || { echo "$profile gets $(chosen "oci:$L:slim" "$profile")"; false; }
    done <<'TABLE'
a100 sm80
a10 fat.cuda
mi300x gfx942
laptop default
TABLE
    run -2 "$VARIANTCTL" slim "oci:$L:mixed" --for sm_80+gfx942 --to "oci:$L:none"
    [[ $output == *"has GPUs of two makers: make a variant for each"* ]]
}
