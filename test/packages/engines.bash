# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: the integration tests with the release's own engines against the installed files.
# Nothing of the build is in the tree but the tests' tools.
# shellcheck disable=SC2154 # work, build, tree: of packages.sh

ENGINE_TESTS=${ENGINE_TESTS:-vpull_engines vpull_containerd variantd_containerd variantd_podman variantd_docker setup
    variantd_cri snapshotter verifier hooks cri_proxy}

engines_installed()
{
    local names=(bats jq curl openssl apache2-utils strace sqlite3 iproute2 procps util-linux containerd runc
        docker.io docker-registry podman skopeo buildah ca-certificates)
    names+=(git gcc libc6-dev systemd-sysv) # tests compare trees and build what images run; booted
    ! in_tree apt-cache show docker-cli >/dev/null 2>&1 || names+=(docker-cli)
    in_tree apt-get install -y -q --no-install-recommends "${names[@]}"
    tests_installed
}

tests_installed()
{
    source_copy "$tree/src"
    rm -rf "$tree/src"/{cmd,lib} # so that only installed files are tested
    mkdir -p "$tree/build/test"
    cp -r "$build/test/tools" "$tree/build/test"
    rm -f "$tree"/build/test/tools/*.o
}

engine_test()
{
    # shellcheck disable=SC2016 # expanded inside
    as_machine env OCV_INSTALLED=/usr OCV_BUILD=/build OCV_STRICT=1 sh -c \
        'cd /src && exec timeout 400 bats --tap --print-output-on-failure test/integration/*/"$1.bats"' sh "$1" |
        tee "$work/tap"
    ! grep -q '^not ok' "$work/tap"
    # most tests must not be skipped
    [ "$(grep -c '^ok' "$work/tap")" -gt $((2 * $(grep -c '# skip' "$work/tap"))) ]
}
