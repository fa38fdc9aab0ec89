#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Accelerators as umockdev shows them: a sysfs that another program made, as udev and lspci would see
# it, rather than one of our own making.
#
# umockdev-run makes a tree in $UMOCKDEV_DIR and redirects the C library's calls on /sys and /dev to
# it. The probe opens files by openat2(2) below a descriptor of its root, so that a recorded tree
# cannot lead it out; it calls the kernel itself for that, and no wrapped library function sees the
# path. So the tree is given as what it is, a root: --sysroot "$UMOCKDEV_DIR". That the wrapped
# programs see the same devices is checked beside it; and where a mount namespace may be had, the tree
# is mounted over /sys for a probe that knows nothing of it.

load ../harness

setup_file()
{
    MOCK=$OCV_TOP/test/data/umockdev/accelerators.umockdev
    export MOCK OCV_DATADIR=$OCV_TOP/plugins
}

# The argument of `sh -c` sees $UMOCKDEV_DIR.
mock()
{
    umockdev-run --device "$MOCK" -- sh -c "$1"
}

# A loaded module is not a device, so its version is added by hand.
# shellcheck disable=SC2016 # expanded by the shell inside
probe_mock()
{
    mock 'mkdir -p "$UMOCKDEV_DIR/sys/module/nvidia" &&
        echo 570.133.20 >"$UMOCKDEV_DIR/sys/module/nvidia/version" &&
        "$VARIANTCTL" probe --sysroot "$UMOCKDEV_DIR" --format json' >"$BATS_TEST_TMPDIR/profile.json"
}

field() # JQ-FILTER
{
    jq -er "$1" "$BATS_TEST_TMPDIR/profile.json"
}

@test "a wrapped program and the probe see the same devices" {
    require umockdev-run jq
    mock 'cd /sys/bus/pci/devices && echo *' >"$BATS_TEST_TMPDIR/wrapped"
    probe_mock
    run -0 field '[.namespaces[].devices[]?.id] | unique | join(" ")'
    [ "$output" = "$(cat "$BATS_TEST_TMPDIR/wrapped")" ]
    [ "$output" = "0000:00:01.0 0000:00:02.0 0000:00:03.0 0000:00:04.0 0000:00:05.0" ]
}

@test "an H100 beside three makers' NPUs" {
    require umockdev-run jq
    probe_mock
    run -0 field '[.namespaces[] | select(.status == "ok") | .namespace] | sort | join(" ")'
    [ "$output" = "furiosa habana nvidia rebellions vulkan" ]
    run -0 field '.namespaces[] | select(.namespace == "nvidia") | .devices[0].id'
    [ "$output" = 0000:00:01.0 ]
    run -0 field '.namespaces[] | select(.namespace == "nvidia") | .features[] | select(.name == "sm_arch") | .values[0]'
    [[ $output == 90* ]]
    run -0 field '.namespaces[] | select(.namespace == "rebellions") | .features[0].values | join(" ")'
    [ "$output" = atom_max ]
}

@test "a class entry, '!' in its name, adds to the card" {
    require umockdev-run jq
    probe_mock
    run -0 field '.namespaces[] | select(.namespace == "furiosa") | [.driver, (.devices | length), .devices[0].id, .devices[0].attributes.firmware_version] | join("|")'
    [ "$output" = "1.0.0, 0abcdef|1|0000:00:03.0|1.6.0, c1bebfd" ]
}

@test "an entry of class accel belongs to the vendor behind it" {
    require umockdev-run jq
    # a file of an administrator that takes what Gaudi's driver shows in the class
    cat >"$BATS_TEST_TMPDIR/accel.yaml" <<'YAML'
schema: dev.ocivariant.provider/v1
namespace: gaudi_class
features: [{feature: arch, values: [gaudi2]}]
devices:
  - sysfs: {class: accel, vendor: "1da3"}
    name: Gaudi2
    set: {arch: gaudi2}
    attributes: {firmware_version: device/cpucp_ver, driver_version: device/driver_ver}
YAML
    export CHECKED=$BATS_TEST_TMPDIR/accel.yaml
    # shellcheck disable=SC2016
    mock '"$VARIANTCTL" probe --check "$CHECKED" --sysroot "$UMOCKDEV_DIR" --format json' >"$BATS_TEST_TMPDIR/profile.json"
    run -0 field '.namespaces[0].devices[0] | [.id, .name, .attributes.firmware_version, .attributes.driver_version] | join("|")'
    [ "$output" = "0000:00:04.0|Gaudi2|hl-gaudi2-1.20.0|1.20.0-bd4b6ac" ]
    sed -i 's/1da3/17cb/' "$CHECKED"
    # shellcheck disable=SC2016
    mock '"$VARIANTCTL" probe --check "$CHECKED" --sysroot "$UMOCKDEV_DIR" --format json' >"$BATS_TEST_TMPDIR/profile.json"
    run -0 field '.namespaces[0].status'
    [ "$output" = absent ]
}

@test "a card without its driver is said to be so" {
    require umockdev-run jq
    probe_mock
    run -0 field '.namespaces[] | select(.namespace == "qualcomm") | .status + "|" + .error'
    [ "$output" = "partial|0000:00:05.0 Cloud AI 100: driver 'qaic' is not loaded" ]
}

@test "mounted over /sys, the devices are this machine's" {
    require umockdev-run jq unshare
    unshare -rm true 2>/dev/null || skip "no mount namespace may be had here"
    # shellcheck disable=SC2016
    mock 'unset LD_PRELOAD
        unshare -rm sh -c "mount --bind \"$UMOCKDEV_DIR/sys\" /sys && \"$VARIANTCTL\" probe --format json"' \
        >"$BATS_TEST_TMPDIR/profile.json"
    run -0 field '[.namespaces[] | select(.devices) | .namespace] | sort | join(" ")'
    [ "$output" = "furiosa habana nvidia qualcomm rebellions" ] # no render node: no Vulkan
    run -0 field '.namespaces[] | select(.namespace == "habana") | .devices[0].attributes.firmware_version'
    [ "$output" = hl-gaudi2-1.20.0 ]
    run -0 field '.platform.architecture'
    [ "$output" != null ] # the processor is the real one
}
