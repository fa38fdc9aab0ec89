# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Tests of the mirror, loaded after harness, images and variantd.
#
#   start_mirror     docker-registry with the variants of $STATE/layout as demo/app:1, and variantd of an H100
#                    before it; sets CUDA, the child that it chooses, and for paths SEGMENT and NS
#   expect_child     the last answer (`ask`) says all that one about the chosen child must say
#   sha256_of FILE   its digest
# shellcheck disable=SC2154 # `ask` sets code

start_mirror()
{
    start_registry
    make_variants "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    start_variantd --registry "$REGISTRY=http://$REGISTRY" --profile "$PROFILES/h100.json"
    CUDA=$(digest_of cuda12.8)
    export CUDA SEGMENT=${REGISTRY/:/--} NS="ns=$REGISTRY"
}

expect_child()
{
    [ "$code" = 200 ]
    [ "$(header docker-content-digest)" = "$CUDA" ]
    [ "$(header content-type)" = application/vnd.oci.image.manifest.v1+json ]
    [ "$(header content-length)" = 549 ]
    [ "$(header warning)" = "299 - \"variantd: chose cuda12.8 of $REGISTRY/demo/app:1\"" ]
}

sha256_of()
{
    sha256sum <"$1" | awk '{ print "sha256:" $1 }'
}
