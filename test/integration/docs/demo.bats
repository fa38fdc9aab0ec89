# SPDX-License-Identifier: GPL-3.0-or-later
# make demo's script, on the programs that were built.

load ../harness

setup_file()
{
    state_start
}

# a PATH with what every machine has, and curl: no registry, no engine
plain_path()
{
    local program
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    for program in sh sed grep awk cat mktemp rm mkdir tr sleep curl dirname env kill tail head; do
        ln -sf "$(command -v $program)" "$BATS_TEST_TMPDIR/bin/$program"
    done
    echo "$BATS_TEST_TMPDIR/bin"
}

@test "three nodes give one tag three digests, and what does not fit is said, without an engine" {
    local path
    path=$(plain_path)
    run -0 env PATH="$path" BUILD="$OCV_BUILD" sh "$OCV_TOP/contrib/demo.sh"
    echo "$output"
    [ "$(grep -c '^Docker-Content-Digest: sha256:' <<<"$output")" = 3 ]
    [ "$(grep '^Docker-Content-Digest: sha256:' <<<"$output" | sort -u | wc -l)" = 3 ]
    for label in cpu.v3 cuda12.8 rocm7.1; do
        grep -q "^variantd's log: .* 200 variant $label " <<<"$output"
    done
    grep -q 'hint: driver 535.161.08 supports CUDA up to 12.2; this needs 12.8: driver 570 or newer' <<<"$output"
    grep -q '^(exit status 3)$' <<<"$output"
    grep -q '^Not installed, and left out here: podman docker docker-registry$' <<<"$output"
    [ "$(sed -n '/^== Next/,$p' <<<"$output" | grep -c '^\(variantctl\|vpull\) ')" = 3 ]
}

@test "podman and a registry join where they are, and a Docker that does not answer is one line" {
    local pulled said
    run -0 env BUILD="$OCV_BUILD" DOCKER_HOST="unix://$BATS_TEST_TMPDIR/nothing.sock" sh "$OCV_TOP/contrib/demo.sh"
    said=$output
    echo "$said"
    run ! grep 'could not pull here' <<<"$said"
    grep -q '^== Unmodified podman, on the H100 node' <<<"$said"
    pulled=$(sed -n '/^== The same from a registry/,/^== Next/p' <<<"$said")
    grep -q '^127.0.0.1:[0-9]*/demo/app@sha256:' <<<"$pulled"
    grep -q '^rocm7.1: ' <<<"$pulled"
    grep -q '^Not installed, and left out here: docker(does not answer)$' <<<"$said"
}

@test "it leaves nothing behind" {
    mkdir "$BATS_TEST_TMPDIR/work"
    run -0 env PATH="$(plain_path)" BUILD="$OCV_BUILD" TMPDIR="$BATS_TEST_TMPDIR/work" sh "$OCV_TOP/contrib/demo.sh"
    [ -z "$(ls -A "$BATS_TEST_TMPDIR/work")" ]
    run -1 pgrep -f "socket $BATS_TEST_TMPDIR/work"
}
