#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What people type wrong, and what the verbs of variantctl have in common.

load harness
load images

setup_file()
{
    state_start
    export OCV_DATADIR=$OCV_TOP/plugins
    make_variants "$STATE/images"
}

teardown_file()
{
    state_stop
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    L=$VARIANTS
}

@test "words that the vocabulary does not have are warned about when an index is made" {
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "oci:$L:typo" "null=oci:$L:cpu" \
        "cuda=oci:$L:cuda,nvidia :: sm_arhc :: 90_real" \
        "rocm=oci:$L:rocm,amd :: gfx_arch :: gfx942,own :: order :: 1" --static 'own=order :: 1'
    [[ $stderr == *"warning: manifests["*"] (cuda): the namespace nvidia has no feature sm_arhc"* ]]
    [[ $stderr == *"hint: did you mean nvidia :: sm_arch :: 90_real? variantctl index annotate oci:$L:typo 'cuda=nvidia :: sm_arch :: 90_real'"* ]]
    [[ $stderr != *rocm* ]]
    [[ $stderr != *"(own"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet "oci:$L:typo" 'cuda=nvidia :: sm_arch :: 90real'
    [[ $stderr == *"warning: manifests["*"] (cuda): nvidia :: sm_arch has no value 90real"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet "oci:$L:typo" 'cuda=nvidia :: sm_arch :: 90_real'
    [ -z "$stderr" ]
    run -0 --separate-stderr "$VARIANTCTL" index create --dry-run "oci:$L:other" "null=oci:$L:cpu" \
        "cuda=oci:$L:cuda,nvidai :: sm_arch :: 90_real"
    [[ $stderr == *"the namespace 'nvidai'"*"hint: did you mean nvidia :: sm_arch :: 90_real?"* ]]
}

@test "a plan names the image that each label was given, one image under two labels, too" {
    "$VARIANTCTL" index copy --quiet "oci:$L:cuda" "oci:$L:cuda-again"
    run -0 "$VARIANTCTL" index create --dry-run "oci:$L:twice" "null=oci:$L:cpu" \
        "a=oci:$L:cuda,nvidia :: sm_arch :: 80_real" "b=oci:$L:cuda-again,nvidia :: sm_arch :: 90_real"
    [[ $output == *" a "*"from oci:$L:cuda"$'\n'*" b "*"from oci:$L:cuda-again"$'\n'* ]]
}
