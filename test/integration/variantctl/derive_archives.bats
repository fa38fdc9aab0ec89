#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl derive reads wheels and other archives, and says so of each that it did not open.

load ../harness

UNPACK="unpack it into a directory: variantctl derive DIR"

setup_file()
{
    require xz
    state_start
    export SAMPLES=$OCV_TOP/test/data/fuzz/content SCAN=$OCV_LIBEXECDIR/content-scan L=$STATE/images \
        XDG_CACHE_HOME=$STATE/cache
}

# pack FILE COMPRESSION MEMBER=FILE...: a zip archive
pack()
{
    python3 - "$@" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", getattr(zipfile, "ZIP_" + sys.argv[2])) as archive:
    for member in sys.argv[3:]:
        name, file = member.split("=", 1)
        archive.write(file, name)
PY
}

# of FILTER: of the one result
of()
{
    jq -r ".images[0] | $1" <<<"$output"
}

@test "derive: a wheel is read as the directory that it is unpacked into" {
    local d=$BATS_TEST_TMPDIR how wanted
    mkdir -p "$d/tree/k" "$d/tree/torch"
    cp "$SAMPLES/cuda.so" "$d/tree/k/libk.so"
    head -c 300000 /dev/urandom >"$d/tree/k/data"
    echo "cuda: Optional[str] = '12.8'" >"$d/tree/torch/version.py"
    run -0 "$VARIANTCTL" derive --json "$d/tree"
    wanted=$(of 'del(.name)')
    [ "$(jq '.properties | length' <<<"$wanted")" = 6 ]
    [ "$(jq -r '.says[0].words' <<<"$wanted")" = "cuda 12.8" ]
    for how in STORED DEFLATED BZIP2 LZMA; do
        pack "$d/k-1.0-py3-none-any.whl" $how k/libk.so="$d/tree/k/libk.so" k/data="$d/tree/k/data" \
            torch/version.py="$d/tree/torch/version.py"
        run -0 "$VARIANTCTL" derive --json "$d/k-1.0-py3-none-any.whl"
        [ "$(of 'del(.name)')" = "$wanted" ]
        # its bytes say what it is, not its name
        cp "$d/k-1.0-py3-none-any.whl" "$d/data"
        run -0 "$VARIANTCTL" derive --json "$d/data"
        [ "$(of 'del(.name)')" = "$wanted" ]
    done
}

@test "derive: names in any language, and one that is none" {
    local d=$BATS_TEST_TMPDIR
    pack "$d/k.zip" DEFLATED "bücher/本/libk.so=$SAMPLES/cuda.so" ".wh.x=$SAMPLES/hip.so"
    run -0 "$VARIANTCTL" derive --json "$d/k.zip"
    [ "$(of '.needs | map(.path) | sort | join(" ")')" = ".wh.x bücher/本/libk.so" ]
    python3 - "$d/k.zip" <<'PY'
import sys
with open(sys.argv[1], "rb") as file:
    data = file.read()
with open(sys.argv[1], "wb") as file:
    file.write(data.replace("ü".encode(), b"\xff\xfe"))
PY
    run -0 "$VARIANTCTL" derive "$d/k.zip"
    [[ $output == *"not looked at: files whose names are not in UTF-8"* ]]
    [[ $output == *"gfx942"* && $output != *"sm_90a"* ]]
}

@test "derive: a directory with wheels and other archives, of which one cannot be read" {
    local d=$BATS_TEST_TMPDIR
    mkdir "$d/t"
    head -c 300000 /dev/urandom >"$d/noise"
    pack "$d/t/a-1.0-py3-none-any.whl" DEFLATED a/liba.so="$SAMPLES/cuda.so"
    pack "$d/t/b-1.0-py3-none-any.whl" DEFLATED b/noise="$d/noise" b/libb.so="$SAMPLES/hip.so"
    truncate -s 200000 "$d/t/b-1.0-py3-none-any.whl"
    echo "no archive" >"$d/t/c.zip"
    tar -C "$SAMPLES" -czf "$d/t/d.tar.gz" sm_86.cubin
    tar -C "$SAMPLES" -cJf "$d/t/e.tar.xz" sm_86.cubin
    run -0 "$VARIANTCTL" derive --json "$d/t"
    [ "$(of '.needs[0].path')" = a-1.0-py3-none-any.whl/a/liba.so ]
    [ "$(of '.targets[] | select(.value == "90a") | .without')" = d.tar.gz/sm_86.cubin ]
    [ "$(of '[.not_looked_at[] | .path + ": " + .what] | join("; ")')" = "b-1.0-py3-none-any.whl: an archive that cannot be read; c.zip: an archive that cannot be read; e.tar.xz: an archive, not opened" ]
    run -0 "$VARIANTCTL" derive "$d/t"
    [[ $output == *"not looked at: b-1.0-py3-none-any.whl: an archive that cannot be read (2 files)"* ]]
}

@test "derive: of a package whose files are in archives in a zip archive nothing is read" {
    local d=$BATS_TEST_TMPDIR
    mkdir "$d/t"
    tar -C "$SAMPLES" --zstd -cf "$d/pkg-k-1.0-0.tar.zst" cuda.so
    pack "$d/t/k-1.0-0.conda" STORED pkg-k-1.0-0.tar.zst="$d/pkg-k-1.0-0.tar.zst"
    run -0 "$VARIANTCTL" derive --json "$d/t"
    [ "$(of '[.not_looked_at[] | .path + ": " + .what] | join("; ")')" = "k-1.0-0.conda: a zip archive, not opened" ]
}

@test "derive: an archive that inflates without end is not the end of its directory" {
    local d=$BATS_TEST_TMPDIR
    mkdir "$d/t"
    python3 "$OCV_TOP/test/integration/layers.py" fast-zeros 5368709120 >"$d/t/disk.tar.zst"
    python3 "$OCV_TOP/test/integration/layers.py" size -1 >"$d/t/negative.tar"
    cp "$SAMPLES/cuda.so" "$d/t/x.so"
    run -0 "$VARIANTCTL" derive --json "$d/t"
    [ "$(of '.needs[0].path')" = x.so ]
    [ "$(of '[.not_looked_at[] | .path + ": " + .what] | join("; ")')" = "disk.tar.zst: an archive that inflates to far more than its size; negative.tar: an archive that cannot be read" ]
    # it is an error where it is all that is wanted, and what is too much for the whole report stays one
    run -4 --separate-stderr "$VARIANTCTL" derive "$d/t/disk.tar.zst"
    [[ $stderr == *"$d/t/disk.tar.zst: a"*" of 0 MiB inflates to more than 4096 MiB"* ]]
    python3 "$OCV_TOP/test/integration/layers.py" texts 2000 | gzip -1 >"$d/t/disk.tar.gz"
    run -4 --separate-stderr "$VARIANTCTL" derive "$d/t"
    [[ $stderr == *"disk.tar.gz: the findings in its files exceed 16 MiB"* ]]
}

@test "derive: wheels of a library and of its code for each GPU are one" {
    local d=$BATS_TEST_TMPDIR
    mkdir "$d/t"
    pack "$d/t/k-1.0-py3-none-any.whl" DEFLATED k/lib/libx.so="$SAMPLES/kpack.so"
    pack "$d/t/k_gfx942-1.0-py3-none-any.whl" DEFLATED k/.kpack/x_gfx942.kpack="$SAMPLES/x_gfx942.kpack"
    run -0 "$VARIANTCTL" derive --json "$d/t"
    [ "$(of '.properties | join(", ")')" = "amd :: gfx_arch :: gfx942" ]
    run -0 "$VARIANTCTL" derive --json "$d/t/k_gfx942-1.0-py3-none-any.whl"
    [ "$(of '.properties | join(", ")')" = "amd :: gfx_arch :: gfx942" ]
    run -0 "$VARIANTCTL" derive "$d/t/k-1.0-py3-none-any.whl"
    [[ $output == *"not looked at: k/lib/libx.so: its code for GPUs is in .kpack archives that are not here"* ]]
}

@test "derive: an archive that cannot be read is an error, and nothing is said of it" {
    local d=$BATS_TEST_TMPDIR file
    head -c 300000 /dev/urandom >"$d/noise"
    pack "$d/whole.whl" DEFLATED noise="$d/noise" k.so="$SAMPLES/cuda.so"
    head -c 200000 "$d/whole.whl" >"$d/cut.whl"
    python3 - "$d/whole.whl" "$d/secret.zip" <<'PY'
import sys
with open(sys.argv[1], "rb") as file:
    data = bytearray(file.read())
for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
    data[data.find(magic) + at] |= 1  # encrypted
with open(sys.argv[2], "wb") as file:
    file.write(data)
PY
    echo "no archive" >"$d/text.whl"
    : >"$d/empty.zip"
    head -c 300000 /dev/urandom | gzip >"$d/so.gz"
    for file in cut.whl secret.zip text.whl empty.zip so.gz; do
        run -4 --separate-stderr "$VARIANTCTL" derive "$d/$file"
        [ "$output" = "" ]
        [[ ${stderr_lines[0]} == "variantctl: $d/$file: not an archive that can be read: "* ]]
        # a hint only where another program may read it
        [ "${stderr_lines[1]:-}" = "$([ $file != secret.zip ] || echo "hint: $UNPACK")" ]
    done
    tar -C "$SAMPLES" -cJf "$d/k.tar.xz" cuda.so
    tar -C "$SAMPLES" -cjf "$d/k.tar.bz2" cuda.so
    for file in k.tar.xz k.tar.bz2; do
        run -4 --separate-stderr "$VARIANTCTL" derive "$d/$file"
        [ "$output" = "" ]
        [ "${stderr_lines[0]}" = "variantctl: $d/$file: an archive of a kind that is not opened" ]
        [ "${stderr_lines[1]}" = "hint: $UNPACK" ]
    done
}

@test "derive: archives in archives and in layers are not opened, and said so" {
    local d=$BATS_TEST_TMPDIR
    pack "$d/k.whl" DEFLATED k.so="$SAMPLES/cuda.so"
    tar -C "$d" -czf "$d/k.tar.gz" k.whl
    pack "$d/all.zip" STORED k.whl="$d/k.whl" k.tar.gz="$d/k.tar.gz"
    run -0 "$VARIANTCTL" derive --report "$d/page.html" "$d/all.zip"
    [[ $output == *"no GPU code in what was looked at"*"What was looked at needs no particular machine."* ]]
    [[ $output == *"not looked at: k.tar.gz: an archive, not opened"* ]]
    [[ $output == *"not looked at: k.whl: a zip archive, not opened"* ]]
    grep -q "What was looked at needs no particular machine" "$d/page.html"
    mkimage "$L" cached --binary root/.cache/k.whl="$d/k.whl" --binary root/.cache/k.tar.gz="$d/k.tar.gz"
    run -0 "$VARIANTCTL" derive "oci:$L:cached"
    [[ $output == *"What was looked at needs no particular machine."* ]]
    [[ $output == *"not looked at: root/.cache/k.whl: a zip archive, not opened"* ]]
}

@test "derive: a static library is not opened, wherever it is" {
    local d=$BATS_TEST_TMPDIR what
    mkdir "$d/t"
    ar -rc "$d/t/libk.a" "$SAMPLES/cuda.so"
    mkimage "$L" static --binary usr/lib/libk.a="$d/t/libk.a"
    run -4 "$VARIANTCTL" derive "$d/t/libk.a"
    [[ $output == *"libk.a: an archive of a kind that is not opened"*"hint: unpack it into a directory"* ]]
    mkdir "$d/none"
    run -0 "$VARIANTCTL" derive "$d/none"
    [[ $output == *"There is no file in it."* && $output != *"no particular machine"* ]]
    # nor of what may not be read
    printf x >"$d/closed"
    chmod 0 "$d/closed"
    if [ "$(id -u)" = 0 ]; then
        chmod 755 "$d"
        run -1 setpriv --reuid=65534 --clear-groups "$VARIANTCTL" derive "$d/closed"
    else
        run -1 "$VARIANTCTL" derive "$d/closed"
    fi
    [[ $output == *"closed: Permission denied"* && $output != *"no file in it"* ]]
    for what in "$d/t" "oci:$L:static"; do
        run -0 "$VARIANTCTL" derive "$what"
        [[ $output == *"What was looked at needs no particular machine."* ]]
        [[ $output == *"not looked at: "*"libk.a: an archive, not opened"* ]]
    done
    printf '!<arch>\n' >"$d/libdl.a" # as glibc has it: nothing is in it
    run -0 "$VARIANTCTL" derive "$d/libdl.a"
    [[ $output == *"Its files need no particular machine."* ]]
}

@test "derive: a bomb in a zip archive ends with an error, within bounds" {
    python3 "$OCV_TOP/test/integration/layers.py" zip-zeros 5 >"$BATS_TEST_TMPDIR/bomb.zip"
    run -4 --separate-stderr python3 "$OCV_TOP/test/integration/layers.py" rss 9 "$SCAN" "$BATS_TEST_TMPDIR/bomb.zip" \
        9>"$BATS_TEST_TMPDIR/rss"
    [[ $stderr == *"an archive of "*" MiB inflates to more than "* ]]
    [ "$(<"$BATS_TEST_TMPDIR/rss")" -lt 65536 ]
}
