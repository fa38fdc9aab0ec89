/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/declarative: the ways to match a device, and what its values become. */
#include "test/unit/probe/declarative_util.h"

static json_t *probe_rules(const char *more)
{
    char text[2048];
    struct ocv_error err = {0};
    json_t *profile = NULL;
    snprintf(text, sizeof(text), "%s", more);
    ck_assert_msg(probe_with(text, &profile, &err) == 0, "%s", err.message);
    return profile;
}

START_TEST(lists_and_order)
{
    add_card("0000:01:00.0", &(struct card){"1234", "000a", NULL, NULL, "chip"});
    add_card("0000:02:00.0", &(struct card){"1234", "000c", NULL, NULL, "chip"});
    json_t *profile =
        probe_rules(HEAD FEATURES "devices:\n"
                                  "- {pci: {vendor: '1234', device: '000a'}, set: {arch: a}}\n"
                                  "- {pci: {vendor: '1234', class: '12'}, set: {arch: c}}\n");
    json_t *ns = namespace_of(profile, "chip");
    ck_assert_str_eq(features_of(ns), "arch=c,b,a");
    json_t *first = json_array_get(json_object_get(ns, "devices"), 0);
    json_t *second = json_array_get(json_object_get(ns, "devices"), 1);
    ck_assert_str_eq(string_at(first, "id"), "0000:02:00.0");
    ck_assert_int_eq(json_integer_value(json_object_get(first, "index")), 1);
    ck_assert_str_eq(features_of(first), "arch=c,b");
    ck_assert_int_eq(json_integer_value(json_object_get(second, "index")), 0);
    ck_assert_str_eq(features_of(second), "arch=a");
    json_decref(profile);
}
END_TEST

static const struct {
    const char *rule, *devices; /* of the machine below */
} ways[] = {
    {"{pci: {vendor: '1234'}}", "01 02 03 04"},
    {"{pci: {vendor: '1234', device: '0001'}}", "01 02"},
    {"{pci: {vendor: '1234', device: ['0001', '0002']}}", "01 02 03"},
    {"{pci: {vendor: '1234', subsystem_vendor: '1111'}}", "02"},
    {"{pci: {vendor: '1234', subsystem_device: '0022'}}", "02"},
    {"{pci: {vendor: '1234', subsystem_vendor: '1111', subsystem_device: ['0022', '0033']}}", "02"},
    {"{pci: {vendor: '1234', class: '03'}}", "03 04"},
    {"{pci: {vendor: '1234', class: ['0300', '0302']}}", "03"},
    {"{pci: {vendor: '1234', class: '038000'}}", "04"},
    {"{pci: {vendor: '1234', revision: '0a'}}", "03"},
    {"{pci: {vendor: '1234', revision: ['00', '0b']}}", "01 02 04"},
    {"{pci: {vendor: '1234', driver: chip}}", "01 03 04"},
    {"{pci: {vendor: '1234', driver: [other, third]}}", "02"},
    {"{sysfs: {class: accel, vendor: '1234'}, set: {arch: a}}", "03"},
    {"{sysfs: {class: accel, attributes: {kind: Good}}, set: {arch: a}}", "03 05"},
    {"{sysfs: {class: accel, vendor: '4321', attributes: {kind: [bad, good]}}, set: {arch: a}}",
     "05"},
    {"{sysfs: {class: accel, vendor: '1234', attributes: {kind: bad}}, set: {arch: a}}", ""},
};

/* The class accel has devices of several vendors; a PCI device and its class entry are one. */
static void ways_machine(void)
{
    static const char *const drivers[] = {"chip", "other", "chip", "chip", "chip"};
    static const char *const revisions[] = {"00", "00", "0a", "0b", "00"};
    static const char *const classes[] = {"120000", "120000", "030200", "038000", "120000"};
    for (int i = 0; i < 5; i++) {
        char address[16], path[128];
        snprintf(address, sizeof(address), "0000:%02x:00.0", i + 1);
        add_card(address, &(struct card){i == 4 ? "4321" : "1234", i < 2 ? "0001" : "0002",
                                         i == 1 ? "0022" : NULL, revisions[i], drivers[i]});
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", address);
        write_text(path, "0x%s\n", classes[i]);
    }
    write_text("sys/bus/pci/devices/0000:02:00.0/subsystem_vendor", "0x1111\n");
    write_text("sys/bus/pci/devices/0000:04:00.0/device", "0x0003\n");
    link_to("../../../bus/pci/devices/0000:03:00.0", "sys/class/accel/accel0/device");
    link_to("../../../bus/pci/devices/0000:05:00.0", "sys/class/accel/accel1/device");
    write_text("sys/class/accel/accel0/kind", "good");
    write_text("sys/class/accel/accel1/kind", "GOOD\n");
}

START_TEST(every_way_to_match)
{
    ways_machine();
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        char text[1024], found[64] = "";
        struct ocv_error err = {0};
        json_t *profile = NULL, *device;
        size_t k;
        snprintf(text, sizeof(text), HEAD "drivers: [chip, other]\n" FEATURES "devices: [%s]\n",
                 ways[i].rule);
        ck_assert_msg(probe_with(text, &profile, &err) == 0, "%s: %s", ways[i].rule, err.message);
        json_array_foreach(json_object_get(namespace_of(profile, "chip"), "devices"), k, device)
        {
            size_t at = strlen(found);
            snprintf(found + at, sizeof(found) - at, "%s%.2s", k ? " " : "",
                     string_at(device, "id") + 5);
        }
        ck_assert_msg(strcmp(found, ways[i].devices) == 0, "%s: %s", ways[i].rule, found);
        json_decref(profile);
    }
}
END_TEST

static const struct {
    const char *text, *unit, *bytes; /* NULL: none */
} sizes[] = {
    {"85520809984\n", NULL, "85520809984"},
    {"32768", ", unit: MiB", "34359738368"},
    {"0x10", ", unit: KiB", "16384"},
    {"16", ", unit: GiB", "17179869184"},
    {"7", ", unit: B", "7"},
    {"0", NULL, NULL},
    {"-1", NULL, NULL},
    {"16 GB", NULL, NULL},
    {"99999999999999999999", NULL, NULL},
    {"17179869184", ", unit: GiB", NULL},
    {"", NULL, NULL},
};

START_TEST(memory_in_bytes)
{
    add_card("0000:01:00.0", &(struct card){"1234", "0001", NULL, NULL, "chip"});
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char rule[256];
        write_text("sys/bus/pci/devices/0000:01:00.0/mem", "%s", sizes[i].text);
        snprintf(rule, sizeof(rule),
                 HEAD FEATURES
                 "devices:\n- {pci: {vendor: '1234'}, memory: {file: mem%s}, set: {arch: a}}\n",
                 sizes[i].unit ? sizes[i].unit : "");
        struct ocv_error err = {0};
        json_t *profile = NULL;
        ck_assert_msg(probe_with(rule, &profile, &err) == 0, "%s", err.message);
        json_t *device = device_of(namespace_of(profile, "chip"), "0000:01:00.0");
        ck_assert_str_eq(string_at(json_object_get(device, "attributes"), "memory"),
                         sizes[i].bytes ? sizes[i].bytes : "");
        json_decref(profile);
    }
}
END_TEST

static const struct {
    const char *text, *version; /* NULL: none */
} versions[] = {
    {"25.5.1", "25.5.1"},
    {"8.3.RC1", "8.3.rc1"},
    {"1.2.92-6d00b56", "1.2.92"},
    {"1..2", "1"},
    {"7.", "7"},
    {"2_3", "2"},
    {"v1.2", NULL},
    {".5", NULL},
    {"unknown", NULL},
};

START_TEST(versions_are_cut)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", versions[i].text);
        ck_assert_int_eq(ocv_source_version(text), versions[i].version != NULL);
        if (versions[i].version)
            ck_assert_str_eq(text, versions[i].version);
    }
}
END_TEST

START_TEST(class_entries)
{
    add_card("0000:01:00.0", &(struct card){"1234", "0001", NULL, NULL, "chip"});
    add_card("0000:02:00.0", &(struct card){"4321", "0001", NULL, NULL, "other"});
    link_to("../../../bus/pci/devices/0000:01:00.0", "sys/class/accel/accel0/device");
    link_to("../../../bus/pci/devices/0000:02:00.0", "sys/class/accel/accel1/device");
    write_text("sys/class/accel/accel0/fw", " 1.2.3 ");
    json_t *profile =
        probe_rules(GOOD "- sysfs: {class: accel, vendor: '1234'}\n"
                         "  attributes: {firmware_version: fw, driver_version: fw}\n");
    json_t *ns = namespace_of(profile, "chip");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    json_t *device = json_array_get(json_object_get(ns, "devices"), 0);
    ck_assert_str_eq(string_at(json_object_get(device, "attributes"), "firmware_version"), "1.2.3");
    ck_assert_str_eq(string_at(ns, "driver"), "1.2.3");
    json_decref(profile);
}
END_TEST

START_TEST(device_tree)
{
    static const char compatible[] = "maker,chip2\0maker,chip";
    char path[256];
    write_text("sys/firmware/devicetree/base/npu/compatible", "%s", "");
    snprintf(path, sizeof(path), "%s/sys/firmware/devicetree/base/npu/compatible", root);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(compatible, 1, sizeof(compatible), file), sizeof(compatible));
    fclose(file);
    link_to("../../../../firmware/devicetree/base/npu",
            "sys/bus/platform/devices/fdab0000.npu/of_node");
    link_to("../../drivers/chip", "sys/bus/platform/devices/fdab0000.npu/driver");
    json_t *profile = probe_rules(RULE("{devicetree: {compatible: 'maker,chip'}, set: {arch: b}}"));
    json_t *ns = namespace_of(profile, "chip");
    ck_assert_str_eq(features_of(ns), "arch=b");
    ck_assert_str_eq(string_at(json_array_get(json_object_get(ns, "devices"), 0), "id"),
                     "platform/fdab0000.npu");
    json_decref(profile);
    profile = probe_rules(RULE("{devicetree: {compatible: 'maker,chi'}, set: {arch: b}}"));
    ck_assert_ptr_null(namespace_of(profile, "chip"));
    json_decref(profile);
}
END_TEST

RUN_TESTS_IN("declarative rules", make_root, remove_root, lists_and_order, every_way_to_match,
             memory_in_bytes, versions_are_cut, class_entries, device_tree)
