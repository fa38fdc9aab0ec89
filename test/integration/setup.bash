# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Tests of variantctl setup, loaded after harness: a registry UPSTREAM, and MIRROR, which has other images
# under the same names; $TREE is a machine's tree, new for each test.
#
#   picture                  every file below $TREE with all that a person would call its state
#   in_tree ENGINE OPTION... setup in $TREE for that mirror
#   life ENGINE OPTION...    the whole life of a set-up: the diff is what is written, a second run changes
#                            nothing, --uninstall leaves every file as it was
# shellcheck disable=SC2154 # `run` sets output

setup_file()
{
    state_start
    require docker-registry skopeo
    mkimage "$STATE/layout" plain --label from=upstream
    mkimage "$STATE/layout" chosen --label from=mirror
    start_registry upstream
    UPSTREAM=$REGISTRY
    start_registry mirror
    MIRROR=$REGISTRY
    export UPSTREAM MIRROR
    push_layout "$STATE/layout:plain" "$UPSTREAM/demo/app:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/demo/app:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/${UPSTREAM/:/--}/demo/app:1"
    push_layout "$STATE/layout:chosen" "$MIRROR/library/demo:1"
    CHOSEN=$(skopeo inspect --raw "oci:$STATE/layout:chosen" | sha256sum | cut -d' ' -f1)
    PLAIN=$(skopeo inspect --raw "oci:$STATE/layout:plain" | sha256sum | cut -d' ' -f1)
    export CHOSEN PLAIN
}

teardown_file()
{
    state_stop
}

setup()
{
    TREE=$(mktemp -d "$STATE/tree.XXXXXX")
    mkdir -p "$TREE"/etc/{containerd,docker,containers/registries.conf.d} "$TREE/var/lib"
}

picture()
{
    (cd "$TREE" && find . -type f -printf '%p %m %U:%G %T@ ' -exec sha256sum {} \; | sort &&
        find . -type l -printf '%p -> %l\n' | sort && find . -type d -printf '%p %m\n' | sort)
}

in_tree()
{
    "$VARIANTCTL" setup "$1" --root "$TREE" --listen "$MIRROR" "${@:2}"
}

life()
{
    local before written
    before=$(picture)
    run -0 --separate-stderr in_tree "$@" --dry-run
    [ "$(picture)" = "$before" ]
    cp -a "$TREE" "$TREE.patched"
    (cd "$TREE.patched" && git apply --unsafe-paths -p1 <<<"$output")
    run -0 in_tree "$@"
    written=$(picture)
    diff -r -x ocivariant-setup "$TREE" "$TREE.patched"
    rm -rf "$TREE.patched"
    run -0 in_tree "$@"
    [[ $output == *"nothing to change"* ]]
    [ "$(picture)" = "$written" ]
    run -0 "$VARIANTCTL" setup "$1" --status --root "$TREE"
    [[ $output == *"as written"* ]]
    cp -a "$TREE" "$TREE.set"
    run -0 in_tree "$1" --uninstall
    diff <(printf '%s\n' "$before") <(picture)
    run -5 "$VARIANTCTL" setup "$1" --status --root "$TREE"
    # what the engines read below
    rm -rf "$TREE" && mv "$TREE.set" "$TREE"
}
