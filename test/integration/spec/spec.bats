#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The format (schema/spec): three readers of it, in C, Go and Python, and its vectors.

load ../harness
load ../images

setup_file()
{
    state_start
    export SPEC=$OCV_TOP/test/spec BUILD=$OCV_BUILD VARIANTCTL
}

# Debian 12's is older than the module asks for
go_here()
{
    local version
    version=$(go env GOVERSION 2>/dev/null) || skip "no Go"
    version=${version#go1.}
    [ "${version%%.*}" -ge 22 ] || skip "Go 1.22 or newer is wanted, and go1.$version is here"
    export GOCACHE=$STATE/go GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
}

@test "each rule of the text has vectors, two of them by hand, and each vector names rules of the text" {
    run -0 "$SPEC/check-vectors" --rules
    [[ $output == *": 0 differences" ]]
    [ "$(cat "$OCV_TOP"/schema/spec/vectors/*.jsonl | wc -l)" -ge 3000 ]
    run ! grep -niE 'variantd|variantctl|vpull|libocivariant' "$OCV_TOP/schema/spec/README.md"
}

@test "the C library answers all vectors" {
    run -0 "$SPEC/check-vectors" -- "$SPEC/c-adapter"
    [[ $output == *" vectors: 0 differences" ]]
}

# bats test_tags=slow
@test "variantctl answers all vectors" {
    run -0 "$SPEC/check-vectors" -- "$SPEC/c-adapter" --program
    [[ $output == *" vectors: 0 differences" ]]
}

@test "the Python package answers all vectors, by itself" {
    cd "$OCV_TOP/contrib/python" || return 1
    PYTHONPATH=. run -0 "$SPEC/check-vectors" -- python3 tests/vectors.py
    [[ $output == *" vectors: 0 differences" ]]
    run -0 python3 -m unittest discover -s tests -t .
}

@test "a wrong reader is found: each of these slips gives differences" {
    local slip
    while IFS='|' read -r file from to; do
        rm -rf "$BATS_TEST_TMPDIR/p"
        cp -r "$OCV_TOP/contrib/python/ocivariant" "$BATS_TEST_TMPDIR/p"
        grep -qF -- "$from" "$BATS_TEST_TMPDIR/p/$file"
        python3 - "$BATS_TEST_TMPDIR/p/$file" "$from" "$to" <<'PY'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
open(path, "w").write(text.replace(old, new, 1))
PY
        mkdir -p "$BATS_TEST_TMPDIR/q"
        rm -rf "$BATS_TEST_TMPDIR/q/ocivariant"
        mv "$BATS_TEST_TMPDIR/p" "$BATS_TEST_TMPDIR/q/ocivariant"
        slip="$file: $from -> $to"
        PYTHONPATH=$BATS_TEST_TMPDIR/q run ! "$SPEC/check-vectors" -- python3 "$OCV_TOP/contrib/python/tests/vectors.py"
        [[ $output =~ ' vectors: '[1-9][0-9]*' differences'$ ]] || { echo "$slip: $output" && false; }
    done <<'TABLE'
platform.py|"armel": "v6"|"armel": "v7"
platform.py|max(place - 5, 0)|max(place - 4, 0)
platform.py|("arm64", "9"): "v9"|("arm64", "9"): "v8"
TABLE
}

@test "the Go module answers all vectors, with its own tests and vet" {
    go_here
    cd "$OCV_TOP/contrib/go/ocivariant" || return 1
    [ -z "$(gofmt -l .)" ]
    run -0 go vet ./...
    run -0 go test ./...
    run -0 go build -o "$STATE/vectors" ./cmd/ocivariant-vectors
    run -0 "$SPEC/check-vectors" -- "$STATE/vectors"
    [[ $output == *" vectors: 0 differences" ]]
}

@test "1,000 random cases: no difference between C, Go and Python" {
    local program=("$SPEC/c-adapter")
    [ ! -x "$STATE/vectors" ] || program=("$STATE/vectors")
    run -0 "$SPEC/random-compare" 1000 "${FUZZ_SEED:-1}" -- "${program[@]}"
    [[ $output == *": 0 differences" ]]
}

@test "the wheel: in a clean environment it chooses, and asks variantctl for the profile" {
    /usr/bin/python3 -c 'import setuptools, wheel' || python3 -c 'import setuptools, wheel' || skip "no python3-setuptools"
    run -0 make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" wheel-only
    python3 -m zipfile -e "$OCV_BUILD"/wheel/ocivariant-*-py3-none-any.whl "$STATE/site"
    [ -s "$(echo "$OCV_BUILD"/wheel/ocivariant-*.tar.gz)" ]
    [ -e "$STATE/site/ocivariant/py.typed" ]
    cd "$STATE/site" || return 1
    PATH=$(dirname "$VARIANTCTL"):$PATH run -0 python3 -I -c 'import sys; sys.path.insert(0, "."); import ocivariant; print(ocivariant.profile().platform)'
    [[ $output == *linux* ]]
}

@test "a C program outside this project, by pkg-config and the installed tree" {
    install_tree "$STATE/tree"
    cp -r "$OCV_TOP/contrib/c" "$STATE/c"
    [ "$(wc -l <"$STATE/c/choose.c")" -le 60 ]
    PKG_CONFIG_SYSROOT_DIR=$STATE/tree PKG_CONFIG_PATH=$(dirname "$(find "$STATE/tree" -name ocivariant.pc)") \
        run -0 make -s -C "$STATE/c"
    lib=$(dirname "$(find "$STATE/tree" -name 'libocivariant.so')")
    jq -n '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [
        {mediaType: "application/vnd.oci.image.manifest.v1+json", digest: ("sha256:" + "a" * 64), size: 1, platform: {os: "linux", architecture: "amd64"}}]}' >"$STATE/index.json"
    LD_LIBRARY_PATH=$lib run -0 "$STATE/c/choose" "$STATE/index.json" "$PROFILES/h100.json"
    [ "$output" = "sha256:$(printf 'a%.0s' {1..64})" ]
    echo '{' >"$STATE/index.json"
    LD_LIBRARY_PATH=$lib run -4 "$STATE/c/choose" "$STATE/index.json" "$PROFILES/h100.json"
}
