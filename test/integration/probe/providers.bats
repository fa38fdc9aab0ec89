#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl probe --check, the data directory, and what make install puts into it.

load ../harness
load ../schema

readme_example()
{
    # shellcheck disable=SC2016 # Markdown's quotes
    sed -n '/^```yaml$/,/^```$/p' "$OCV_TOP/plugins/providers/README.md" | grep -v '^```'
}

@test "a provider file is checked: fine, wrong with file and line, missing" {
    run -0 "$VARIANTCTL" probe --check "$OCV_TOP/plugins/providers/rebellions.yaml" --format json
    [[ $output == *'"namespace": "rebellions"'* ]]
    [[ $output != *'"namespace": "x86_64"'* ]]
    sed 's/^drivers:/driver:/' "$OCV_TOP/plugins/providers/rebellions.yaml" >"$BATS_TEST_TMPDIR/bad.yaml"
    run -2 "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/bad.yaml"
    [[ $output == *"bad.yaml:8: unknown key 'driver'"* ]]
    run -1 "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/missing.yaml"
}

# What the build notes of a file is what its YAML says, however that is quoted.
@test "the build's index knows a vendor in any quotes" {
    local yaml=$BATS_TEST_TMPDIR/furiosa.yaml
    cp "$OCV_TOP/plugins/providers/furiosa.yaml" "$yaml"
    "$OCV_BUILD/providers-index" "$yaml" | tail -2 >"$BATS_TEST_TMPDIR/double"
    grep -q '"furiosa", "furiosa", "1", "1ed2", "' "$BATS_TEST_TMPDIR/double"
    tr '"' "'" <"$OCV_TOP/plugins/providers/furiosa.yaml" >"$yaml"
    "$OCV_BUILD/providers-index" "$yaml" | tail -2 | cmp - "$BATS_TEST_TMPDIR/double"
    sed 's/vendor: "\([0-9a-f]*\)"/"vendor":  \1/' "$OCV_TOP/plugins/providers/furiosa.yaml" >"$yaml"
    run ! cmp -s "$yaml" "$OCV_TOP/plugins/providers/furiosa.yaml"
    "$OCV_BUILD/providers-index" "$yaml" | tail -2 | sed 's/[0-9]*,//' |
        cmp - <(sed 's/[0-9]*,//' "$BATS_TEST_TMPDIR/double")
}

@test "OCV_DATADIR's providers find a card in a recorded tree" {
    local card=$BATS_TEST_TMPDIR/tree/sys/bus/pci/devices/0000:3b:00.0
    mkdir -p "$card"
    echo 0x1eff >"$card/vendor"
    echo 0x1250 >"$card/device"
    echo 0x120000 >"$card/class"
    ln -s ../../drivers/rebellions "$card/driver"
    OCV_DATADIR=$OCV_TOP/plugins run -0 "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree" --format text
    [[ $output == *"arch: atom_max"* ]]
    OCV_DATADIR=$BATS_TEST_TMPDIR run -0 "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree" --format text
    [[ $output != *atom_max* ]]
}

@test "the example of the README is what it says" {
    local card=$BATS_TEST_TMPDIR/tree/sys/bus/pci/devices/0000:3b:00.0
    readme_example >"$BATS_TEST_TMPDIR/mychip.yaml"
    mkdir -p "$card" "$BATS_TEST_TMPDIR/tree/sys/module/mychip" "$BATS_TEST_TMPDIR/tree/sys/class/accel/accel0"
    echo 0x1234 >"$card/vendor"
    echo 0x0003 >"$card/device"
    echo 0x120000 >"$card/class"
    echo 65536 >"$card/mem_total"
    ln -s ../../drivers/mychip "$card/driver"
    echo 1.4.2 >"$BATS_TEST_TMPDIR/tree/sys/module/mychip/version"
    ln -s ../../../bus/pci/devices/0000:3b:00.0 "$BATS_TEST_TMPDIR/tree/sys/class/accel/accel0/device"
    echo 7.1 >"$BATS_TEST_TMPDIR/tree/sys/class/accel/accel0/fw_version"
    "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/mychip.yaml" --sysroot "$BATS_TEST_TMPDIR/tree" --format json >"$BATS_TEST_TMPDIR/profile.json"
    run -0 jq -r '.namespaces[0] | [.status, .driver, .features[0].values[], .devices[0].id, .devices[0].name,
        .devices[0].attributes.memory, .devices[0].attributes.firmware_version] | join("|")' "$BATS_TEST_TMPDIR/profile.json"
    [ "$output" = "ok|1.4.2|two|one|0000:3b:00.0|MyChip Two|68719476736|7.1" ]
}

@test "--check says what a vendor has to know: no device here, its driver missing" {
    local card=$BATS_TEST_TMPDIR/tree/sys/bus/pci/devices/0000:3b:00.0
    mkdir -p "$card"
    run -0 "$VARIANTCTL" probe --check "$OCV_TOP/plugins/providers/furiosa.yaml" --sysroot "$BATS_TEST_TMPDIR/tree" --format json
    [[ $output == *'"status": "absent"'* ]]
    echo 0x1ed2 >"$card/vendor"
    echo 0x0001 >"$card/device"
    echo 0x120000 >"$card/class"
    run -0 "$VARIANTCTL" probe --check "$OCV_TOP/plugins/providers/qualcomm.yaml" --sysroot "$BATS_TEST_TMPDIR/tree" --format json
    [[ $output == *'"status": "absent"'* ]]
    sed '/^schema/a drivers: [rngd]' "$OCV_TOP/plugins/providers/furiosa.yaml" >"$BATS_TEST_TMPDIR/own.yaml"
    run -0 "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/own.yaml" --sysroot "$BATS_TEST_TMPDIR/tree" --format json
    [[ $output == *"0000:3b:00.0 RNGD: driver 'rngd' is not loaded"* ]]
}

@test "the schema and the reader agree on files that are right and wrong" {
    local file change
    require_validator
    mkdir -p "$BATS_TEST_TMPDIR/sys"
    readme_example >"$BATS_TEST_TMPDIR/right.yaml"
    for file in "$OCV_TOP"/plugins/providers/*.yaml "$BATS_TEST_TMPDIR/right.yaml"; do
        run -0 valid provider "$file"
        run -0 "$VARIANTCTL" probe --check "$file" --sysroot "$BATS_TEST_TMPDIR"
    done
    while read -r change; do
        sed -E "$change" "$BATS_TEST_TMPDIR/right.yaml" >"$BATS_TEST_TMPDIR/wrong.yaml"
        run ! cmp "$BATS_TEST_TMPDIR/right.yaml" "$BATS_TEST_TMPDIR/wrong.yaml"
        run ! valid provider "$BATS_TEST_TMPDIR/wrong.yaml"
        run -2 "$VARIANTCTL" probe --check "$BATS_TEST_TMPDIR/wrong.yaml" --sysroot "$BATS_TEST_TMPDIR"
        [[ $output =~ wrong.yaml:[0-9]+:\ . ]]
    done <<'CHANGES'
s/provider\/v1/provider\/v2/
s/^namespace: mychip/namespace: MyChip/
/^namespace/d
/^features/,/compat/d
s/^drivers:/driver:/
s/^drivers: .*/drivers: a\/b/
s/^driver_version: .*/driver_version: ..\/x/
s/values: \[two, one\]/values: []/
s/values: \[two, one\]/values: [two, two]/
s/values: \[two, one\]/values: [t-wo]/
s/"0001"/"01"/
s/"0001"/"000G"/
s/revision: "01"/revision: "1"/
s/revision: "01"/class: "123"/
s/unit: MiB/unit: MB/
s/memory: .*/memory: {unit: MiB}/
s/firmware_version: /memory: /
s/firmware_version: /Firmware: /
s/class: accel, vendor: "1234"/class: accel/
s/class: accel/class: a\/b/
s/^( *)name: MyChip One/\1virtual_functions: maybe/
CHANGES
}

# in_etc COMMAND: with the files of $BATS_TEST_TMPDIR/own as /etc/ocivariant/providers.d
in_etc()
{
    export OWN=$BATS_TEST_TMPDIR/own
    # shellcheck disable=SC2016 # expanded by the shell inside
    unshare -rm sh -c 'mount -t tmpfs none /etc && mkdir -p /etc/ocivariant/providers.d &&
        cp "$OWN"/* /etc/ocivariant/providers.d/ && exec "$@"' sh "$@"
}

@test "an administrator's files: a new chip at once, a conflict, and one that replaces" {
    local card=$BATS_TEST_TMPDIR/tree/sys/bus/pci/devices/0000:3b:00.0 etc=/etc/ocivariant/providers.d
    require unshare jq
    unshare -rm mount -t tmpfs none /etc 2>/dev/null || skip "no mount namespace may be had here"
    export OCV_DATADIR=$OCV_TOP/plugins
    mkdir -p "$card" "$BATS_TEST_TMPDIR/own"
    echo 0x1234 >"$card/vendor"
    echo 0x0001 >"$card/device"
    echo 0x01 >"$card/revision"
    echo 0x120000 >"$card/class"
    ln -s ../../drivers/mychip "$card/driver"
    readme_example >"$BATS_TEST_TMPDIR/own/mychip.yaml"
    in_etc "$VARIANTCTL" probe --format json --sysroot "$BATS_TEST_TMPDIR/tree" >"$BATS_TEST_TMPDIR/profile.json"
    run -0 jq -r '.namespaces[] | select(.namespace == "mychip") | .features[0].values[]' "$BATS_TEST_TMPDIR/profile.json"
    [ "$output" = one ]
    sed 's/^namespace: .*/namespace: groq/' "$BATS_TEST_TMPDIR/own/mychip.yaml" >"$BATS_TEST_TMPDIR/own/other.yaml"
    run -2 in_etc "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree"
    [[ $output == *"$etc/other.yaml:2: namespace 'groq' has a provider already: 'groq'"* ]]
    [[ $output == *"replaces: groq"* ]]
    echo 'replaces: groq' >>"$BATS_TEST_TMPDIR/own/other.yaml"
    in_etc "$VARIANTCTL" probe --format json --sysroot "$BATS_TEST_TMPDIR/tree" >"$BATS_TEST_TMPDIR/profile.json"
    run -0 jq -r '.namespaces[] | select(.namespace == "groq") | .features[0].values[]' "$BATS_TEST_TMPDIR/profile.json"
    [ "$output" = one ]
    echo 'colour: red' >>"$BATS_TEST_TMPDIR/own/mychip.yaml"
    run -2 in_etc "$VARIANTCTL" probe --sysroot "$BATS_TEST_TMPDIR/tree"
    [[ $output == *"$etc/mychip.yaml:"*": unknown key 'colour'"* ]]
}
