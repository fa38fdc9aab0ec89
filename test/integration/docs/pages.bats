#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of the pages that users read, as they stand, with the files that `make install` gives. What
# cannot be run here has its reason before it: <!-- not run: REASON -->, with the test that does run it.

load ../harness
load ../images
load ../world

# pages whose sections have separate tests
BY_SECTION="docs/quickstart.md docs/operating.md docs/kubernetes.md"

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr podman curl openssl unshare nsenter
    start_world
    world_registry
    make_programs "$STATE/layout"
    in_world sh -c 'printf "choose: on\nregistries:\n  registry.example:\n  registry.example:5000:\n  docker.io:\n" >/etc/ocivariant/config.yaml'
    in_world systemctl enable --now variantd
    in_world systemctl start containerd
    push_tags app 1.0-cpu=null 1.0-cu128=cuda12.8 1.0-rocm=rocm7.1 1.0-rocm7.1=rocm7.1 1.0-hpu=cpu.v3 nightly-hpu=cuda12.6
    push_tags app --all 1.0=app 1.1=app
    push_tags team/app 2.1-cu128-py312=cuda12.8 2.1-cpu-py312=null
}

pages()
{
    cd "$OCV_TOP" && printf '%s\n' README.md SECURITY.md docs/*.md contrib/*/README.md plugins/*/README.md
}

listed() # PAGE: LINE, reason, first line of each block of commands
{
    awk -v list=1 -f "$OCV_TOP/test/integration/docs/page_commands.awk" "$OCV_TOP/$1"
}

# the block of a page in that language, which N has before it
block() # PAGE LANGUAGE [N]
{
    awk -v language="$2" -v n="${3:-0}" '$0 == "```" language { inside = !n-- ; next } /^```$/ { inside = 0 } inside' "$OCV_TOP/$1"
}

push_tags() # REPOSITORY TAG=BUILD...
{
    local pair all=()
    for pair in "${@:2}"; do
        [ "$pair" != --all ] || { all=(--all) && continue; }
        in_world skopeo --insecure-policy copy --quiet "${all[@]}" "oci:$STATE/layout:${pair#*=}" "docker://registry.example/$1:${pair%%=*}"
    done
}

# what single pages speak of
furnish() # DIRECTORY
{
    local chip=$1/recorded/sys/bus/pci/devices/0000:01:00.0
    cp -r "$STATE/layout" "$1/app"
    "$VARIANTCTL" index copy --quiet "oci:$STATE/layout:app" "oci:$1/app:1.0" >/dev/null 3>&-
    cp "$STATE/layout/blobs/sha256/$(index_digest | cut -d: -f2)" "$1/index.json"
    echo registry.example/app:1.0 >"$1/tags.txt"
    "$VARIANTCTL" fleet pack "$1/machines" >"$1/fleet.packed"
    mkdir -p "$chip" "$1/new/share" "$1/recorded/proc"
    echo 0x1234 >"$chip/vendor"
    echo 0x0002 >"$chip/device"
    echo 0x120000 >"$chip/class"
    cp -r "$OCV_TOP/plugins" "$1/new/share/ocivariant"
}

# run_page PAGE: in a directory that has what the pages speak of: builds in registries and layouts, profiles
run_page()
{
    local here=$STATE/page n
    rm -rf "$here"
    mkdir -p "$here/machines" "$here/site-packages"
    cp -r "$STATE/layout" "$here/images"
    cp "$FLEET_DIR"/*.json "$here/machines"
    for n in 1 2 3 4 5 6 7 8; do
        jq --arg name "h100-$n" '.hostname = $name' "$PROFILES/h100.json" >"$here/machines/h100-$n.json"
    done
    cp "$PROFILES/h100.json" "$here"
    block docs/authoring.md yaml >"$here/app.yaml"
    block plugins/tags.d/README.md yaml >"$here/mine.yaml"
    block plugins/providers/README.md yaml >"$here/mychip.yaml"
    cp "/usr/bin/true" "$here/site-packages/module.so"
    cp "/usr/bin/true" "$here/libcuda_kernels.so"
    tar -C "$here" -czf "$here/layer.tar.gz" site-packages
    mkdir "$here/wheels"
    python3 -m zipfile -c "$here/wheels/app-1.0-cp313-cp313-linux_x86_64.whl" "$here/site-packages"
    cp "$here/wheels/"*.whl "$here"
    furnish "$here"
    awk -f "$OCV_TOP/test/integration/docs/page_commands.awk" "$OCV_TOP/$1" >"$here/page.sh"
    [ -s "$here/page.sh" ] || return 1
    # shellcheck disable=SC2016 # expanded inside
    in_world sh -c 'rm -rf "$HOME/page" && cp -r "$1" "$HOME/page" && cd "$HOME/page" && exec bash -eux -o pipefail page.sh' sh "$here"
}

@test "every command of every page is run by a test, or says why not" {
    local page line why first file
    while read -r page; do
        run ! grep -n 'no commands behind' <(listed "$page")
        while IFS=$'\037' read -r line why first; do # tabs would be taken together
            if [ -z "$why" ]; then
                [[ " $BY_SECTION " == *" $page "* ]] || grep -qF "run_page $page" "$BATS_TEST_FILENAME" || {
                    echo "$page:$line: not run: $first" && false
                }
            else
                [ ${#why} -ge 8 ] || { echo "$page:$line: why?" && false; }
                file=$(grep -o 'test/[a-z0-9_/.]*' <<<"$why" || true)
                [ -z "$file" ] || grep -qw -- "$(sed -E 's/^\$ //; s/^[A-Za-z_]+=\$?\(?//' <<<"$first" | cut -d' ' -f1)" "$OCV_TOP/$file" ||
                    { echo "$page:$line: $file has nothing of it" && false; }
            fi
        done < <(listed "$page" | tr '\t' '\037')
    done < <(pages)
}

@test "docs/authoring.md" {
    run -0 run_page docs/authoring.md
    echo "$output"
}

@test "docs/overview.md" {
    run -0 run_page docs/overview.md
    echo "$output"
}

@test "docs/derive.md" {
    run -0 run_page docs/derive.md
    echo "$output"
}

@test "docs/lint.md" {
    run -0 run_page docs/lint.md
    echo "$output"
}

@test "docs/lock.md" {
    run -0 run_page docs/lock.md
    echo "$output"
}

@test "docs/metrics.md" {
    run -0 run_page docs/metrics.md
    echo "$output"
}

@test "docs/placing.md" {
    run -0 run_page docs/placing.md
    echo "$output"
}

@test "docs/claims.md" {
    in_world mkdir -p /etc/kubernetes/node-feature-discovery/features.d # node-feature-discovery makes it
    run -0 run_page docs/claims.md
    echo "$output"
}

@test "docs/profile.md" {
    run -0 run_page docs/profile.md
    echo "$output"
}

@test "docs/pulling.md" {
    run -0 run_page docs/pulling.md
    echo "$output"
}

@test "docs/engines.md" {
    run -0 run_page docs/engines.md
    echo "$output"
}

@test "docs/refusing.md" {
    run -0 run_page docs/refusing.md
    echo "$output"
}

@test "docs/rollout.md" {
    run -0 run_page docs/rollout.md
    echo "$output"
}

@test "docs/events.md" {
    in_world variantctl setup containerd >/dev/null # on a node that is in use
    run -0 run_page docs/events.md
    echo "$output"
    in_world variantctl setup --uninstall >/dev/null
}

@test "docs/beside.md: a peer's file, with variantd before it" {
    local file=/etc/containerd/certs.d/registry.example/hosts.toml
    block docs/beside.md toml >"$STATE/hosts.toml"
    in_world mkdir -p "${file%/*}"
    in_world cp "$STATE/hosts.toml" "$file"
    in_world variantctl setup containerd >/dev/null
    diff <(block docs/beside.md toml 1) <(in_world cat "$file")
    run -0 run_page docs/beside.md
    echo "$output"
    in_world variantctl setup --uninstall >/dev/null
    in_world cat "$file" | diff "$STATE/hosts.toml" -
    in_world rm -r "${file%/*}"
}

@test "docs/airgap.md" {
    run -0 run_page docs/airgap.md
    echo "$output"
    in_world variantctl setup containerd --registry registry.example --fail-closed >/dev/null
    diff <(block docs/airgap.md toml) <(in_world cat /etc/containerd/certs.d/registry.example/hosts.toml)
    in_world variantctl setup --uninstall >/dev/null
}

@test "plugins/tags.d/README.md" {
    run -0 run_page plugins/tags.d/README.md
    echo "$output"
}

@test "plugins/providers/README.md" {
    run -0 run_page plugins/providers/README.md
    echo "$output"
}

@test "docs/backendai.md" {
    run -0 run_page docs/backendai.md
    echo "$output"
}

blotted()
{
    sed -E 's/sha256:[0-9a-f]{64}/DIGEST/g; s/^[0-9a-f]{12}:/ID:/; s/[0-9.]+ [kMG]?B/SIZE/g'
}

# last: its tags would be among those that "index create --from-tags" finds
@test "README.md" {
    push_tags app 1.0-cu126=cuda12.6 1.0-atommax=cpu.v3
    run -0 run_page README.md
    # it prints what the page says that it prints, but for digests and sizes; the page is read in a minute
    local shown
    shown=$(awk '/^## / { in_it = $0 == "## Quick start" } in_it && sub(/^    /, "") && !/^\$/ && !more { print }
        { more = /\\$/ }' "$OCV_TOP/README.md" | blotted)
    [[ $shown == *"Chosen  cuda12.8"*"Status: pulled into"* ]]
    [ "$(grep -vxF -f <(blotted <<<"$output") <<<"$shown")" = "" ]
    [ "$(wc -l <"$OCV_TOP/README.md")" -le 120 ]
}
