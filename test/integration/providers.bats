#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe --check, the data folder, and what make install puts into it.

load harness

@test "a provider file is checked: fine, wrong with file and line, missing" {
    run -0 "$VARIANTCTL" probe --check "$OCV_TOP/plugins/providers/rebellions.yaml" --format json
    [[ $output == *'"namespace": "rebellions"'* ]]
    [[ $output != *'"namespace": "x86_64"'* ]]
    sed 's/^drivers:/driver:/' "$OCV_TOP/plugins/providers/rebellions.yaml" >"$BATS_TEST_TMPDIR/bad.yaml"
    run -2 "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/bad.yaml"
    [[ $output == *"bad.yaml:8: 'driver' is an unknown key"* ]]
    run -1 "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/missing.yaml"
}

@test "OCV_DATADIR's providers find a card in a recorded tree" {
    local card=$BATS_TEST_TMPDIR/tree/sys/bus/pci/devices/0000:3b:00.0
    mkdir -p "$card"
    echo 0x1eff >"$card/vendor"
    echo 0x1250 >"$card/device"
    echo 0x120000 >"$card/class"
    ln -s ../../drivers/rebellions "$card/driver"
    OCV_DATADIR=$OCV_TOP/plugins run -0 "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree" --format table
    [[ $output == *"arch: atom_max"* ]]
    OCV_DATADIR=$BATS_TEST_TMPDIR run -0 "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree" --format table
    [[ $output != *atom_max* ]]
}
