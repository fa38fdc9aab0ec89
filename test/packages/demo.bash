# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: a stranger's first minutes, make demo in a fresh tree that has nothing but make.
# shellcheck disable=SC2154 # work, build, tree: of packages.sh

# Writes its seconds to $work/demo-seconds: of packages, and from the clone to the last line.
demo_runs()
{
    local started packages
    in_tree sh -c 'apt-get update -q && apt-get install -q -y --no-install-recommends make'
    started=$SECONDS
    git clone -q --no-hardlinks . "$tree/src"
    packages=$SECONDS
    as_machine /src/contrib/install-deps.sh --build-only
    packages=$((SECONDS - packages))
    as_machine sh -c 'cd /src && bash -c "time make demo"' 2>&1 | tee "$work/demo"
    echo "$packages s for packages, $((SECONDS - started - packages)) s from the clone to the last line on $(nproc) processors," \
        "$(awk '/^user|^sys/ { split($2, t, /[ms]/); s += 60 * t[1] + t[2] } END { printf "%.0f", s }' "$work/demo")" \
        "s of one processor" >"$work/demo-seconds"
    grep -q '^== Next' "$work/demo"
    [ "$(grep -c '^Docker-Content-Digest' "$work/demo")" = 3 ]
    [ "$(grep '^Docker-Content-Digest' "$work/demo" | sort -u | wc -l)" = 3 ]
    # nothing of the tests, no engine
    ! in_tree sh -c 'command -v dockerd podman containerd bats chromium clang'
}

section_demo()
{
    local release
    for release in $TREES; do
        new_tree "$release" "$work/$release-demo" || continue
        check "$release: make demo" demo_runs
        [ ! -e "$work/demo-seconds" ] || sed "s/^/     $release: /" "$work/demo-seconds"
        rm -rf --one-file-system "$tree" "$work/demo-seconds"
    done
}
