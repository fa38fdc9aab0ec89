/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/pci: dumps of lspci, and that a broken device costs itself only. */
#include "test/unit/probe/pci_util.h"

#include <unistd.h>

#define ROWS                                                \
    "00: de 10 30 23 46 05 10 00 a1 00 02 03 10 00 00 00\n" \
    "10: 0c 00 00 00 42 20 00 00 0c 00 00 00 40 20 00 00\n" \
    "20: 0c 00 00 04 42 20 00 00 00 00 00 00 de 10 c1 16\n" \
    "30: 00 00 00 00 40 00 00 00 00 00 00 00 ff 00 00 00\n"
#define GOOD_BEFORE "00:01.0 good\n" ROWS "\n"
#define GOOD_AFTER "\n0000:ff:1f.7 good\n" ROWS

static int scan_dump(const char *path, struct ocv_pci_list *list, struct ocv_error *err)
{
    const struct ocv_pci_source source = {.root = -1, .dump = path};
    return ocv_pci_scan(&source, list, err);
}

/* The devices of a text. */
static struct ocv_pci_list dump(const char *text)
{
    struct ocv_pci_list list;
    struct ocv_error err = {0};
    write_text("dump", text);
    int status = scan_dump(at("dump"), &list, &err);
    ck_assert_msg(status == OCV_OK, "%s\n%s", err.message, text);
    return list;
}

START_TEST(dump_of_a_server)
{
    struct ocv_pci_list list;
    struct ocv_error err = {0};
    ck_assert_int_eq(scan_dump("test/data/pci/gpu-server.lspci", &list, &err), OCV_OK);
    ck_assert_uint_eq(list.n, 3);
    ck_assert_uint_eq(list.broken, 0);
    const struct ocv_pci_device *gpu = &list.devices[1], *npu = &list.devices[2];
    ck_assert_str_eq(list.devices[0].address, "0000:00:00.0");
    ck_assert_str_eq(list.devices[0].driver, "");
    ck_assert_str_eq(gpu->address, "0000:18:00.0");
    ck_assert_uint_eq(gpu->vendor, 0x10de);
    ck_assert_uint_eq(gpu->device, 0x2330);
    ck_assert_uint_eq(gpu->class_code, 0x030200);
    ck_assert_uint_eq(gpu->revision, 0xa1);
    ck_assert_uint_eq(gpu->subsystem_vendor, 0x10de);
    ck_assert_uint_eq(gpu->subsystem_device, 0x16c1);
    ck_assert_str_eq(gpu->driver, "nvidia");
    ck_assert_str_eq(npu->address, "10001:3b:00.0");
    ck_assert_str_eq(npu->driver, "habanalabs");
    ocv_pci_list_free(&list);
}
END_TEST

/* Between two good devices: what stands there costs itself at most. */
static const struct {
    const char *text;
    size_t n, broken;
} odd[] = {
    {"00:02.0 no rows\n", 2, 1},
    {"00:02.0 malformed\n00: de 10 zz\n", 2, 1},
    {"00:02.0 malformed later\n" ROWS "40: xx\n", 3, 0},
    {"00:02.0 half\n00: de 10 30 23 46 05 10 00 a1 00 02 03 10 00 00 00\n", 2, 1},
    {"00:02.0 no vendor\n30: 00 00 00 00 40 00 00 00 00 00 00 00 ff 00 00 00\n", 2, 1},
    {"00:02.0 past the end\n" ROWS "ff0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n", 3,
     0},
    {"00:02.0 digits\n000: de 10\n00: d\n00: de10\n00:\n", 2, 1},
    {"00:02.0 rows after a gap\n\n" ROWS, 2, 1},
    {"00:01.0 an address twice\n" ROWS, 2, 1},
    {"00:02.8 no such function\n" ROWS, 2, 0},
    {"00:2g.0 no such slot\n" ROWS, 2, 0},
    {"123456:00:02.0 a domain too long\n", 2, 0},
    {"00:02.0\r\n00: de 10 30 23 46 05 10 00 a1 00 02 03 10 00 00 00\r\n", 2, 1},
    {"00:1A.0 upper case\n" ROWS, 3, 0},
    {ROWS, 2, 0},
    {"", 2, 0},
};

START_TEST(a_broken_device_in_a_dump)
{
    char text[4096];
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        snprintf(text, sizeof(text), "%s%s%s", GOOD_BEFORE, odd[i].text, GOOD_AFTER);
        struct ocv_pci_list list = dump(text);
        ck_assert_msg(list.n == odd[i].n && list.broken == odd[i].broken, "%zu and %zu broken: %s",
                      list.n, list.broken, odd[i].text);
        ck_assert_ptr_nonnull(ocv_pci_find(&list, "0000:00:01.0"));
        ck_assert_ptr_nonnull(ocv_pci_find(&list, "0000:ff:1f.7"));
        ocv_pci_list_free(&list);
    }
}
END_TEST

/* A line of any length, bytes of any value, no final newline. */
START_TEST(long_lines_and_zero_bytes)
{
    struct ocv_error err = {0};
    struct ocv_pci_list list;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1 << 20);
    static const char zero[] = "00:03.0 zero\0byte\n00: de\0 10\n";
    ck_assert_int_eq(ocv_buffer_printf(&text, &err, GOOD_BEFORE "00:02.0 %0300d\n\t%0300d\n", 1, 2),
                     OCV_OK);
    ck_assert_int_eq(ocv_buffer_printf(&text, &err, ROWS "\n"), OCV_OK);
    ck_assert_int_eq(ocv_buffer_append(&text, zero, sizeof(zero) - 1, &err), OCV_OK);
    ck_assert_int_eq(ocv_buffer_printf(&text, &err, GOOD_AFTER), OCV_OK);
    write_bytes("dump", text.data, text.len - 1);
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_OK);
    ck_assert_uint_eq(list.n, 3);
    ck_assert_uint_eq(list.broken, 1);
    ocv_pci_list_free(&list);
}
END_TEST

START_TEST(drivers_of_a_dump)
{
    struct ocv_pci_list list = dump("\tKernel driver in use: nobody\n"
                                    "00:01.0 a\n\tKernel driver in use: nvidia\r\n" ROWS "\n"
                                    "00:02.0 b\n    Kernel driver in use: two words\n" ROWS "\n"
                                    "00:03.0 c\n\tKernel driver in use: \n" ROWS "\n"
                                    "00:04.0 d\n\tKernel driver in use: "
                                    "abcdefghijklmnopqrstuvwxyz0123456789\n" ROWS);
    ck_assert_uint_eq(list.n, 4);
    ck_assert_str_eq(list.devices[0].driver, "nvidia");
    for (size_t i = 1; i < 4; i++)
        ck_assert_str_eq(list.devices[i].driver, "");
    ocv_pci_list_free(&list);
}
END_TEST

START_TEST(what_is_no_dump)
{
    struct ocv_pci_list list;
    struct ocv_error err = {0};
    write_text("dump", "not from lspci\n");
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "no device in it"));
    ck_assert_ptr_nonnull(strstr(err.message, root));
    ck_assert_int_eq(scan_dump(at("none"), &list, &err), OCV_ERR_NOT_FOUND);
    ck_assert_int_eq(scan_dump(root, &list, &err), OCV_ERR_IO);
    write_text("dump", "");
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_ERR_DATA);
    /* of lspci without -x */
    write_text("dump", "00:01.0 a\n\tKernel driver in use: nvidia\n00:02.0 b\n");
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "expected the output of 'lspci -kx'"));
}
END_TEST

/* 16 MiB and 65536 devices, and one more of each. */
START_TEST(limits_of_a_dump)
{
    struct ocv_pci_list list;
    struct ocv_error err = {0};
    write_text("dump", GOOD_BEFORE);
    ck_assert_int_eq(truncate(at("dump"), 16 << 20), 0);
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_OK);
    ck_assert_uint_eq(list.n, 1);
    ocv_pci_list_free(&list);
    ck_assert_int_eq(truncate(at("dump"), (16 << 20) + 1), 0);
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_ERR_DATA);

    FILE *file = fopen(at("dump"), "w");
    for (unsigned i = 0; i < OCV_PCI_DEVICES_MAX; i++)
        fprintf(file, "%05x:00:00.0 \n%s", i, i ? "" : "00: ff ff\n");
    fflush(file);
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_OK);
    ck_assert_uint_eq(list.broken, OCV_PCI_DEVICES_MAX);
    ocv_pci_list_free(&list);
    fputs("fffff:00:00.0 \n", file);
    fclose(file);
    ck_assert_int_eq(scan_dump(at("dump"), &list, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "more than 65536 devices"));
}
END_TEST

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void check_accelerator(const char *name, const struct ocv_pci_list *list, const json_t *want)
{
    char have[64], expected[64];
    const struct ocv_pci_device *device = ocv_pci_find(list, text_of(want, "address"));
    ck_assert_msg(device != NULL, "%s: %s", name, text_of(want, "address"));
    snprintf(have, sizeof(have), "%04x %04x %06x %02x %04x:%04x", device->vendor, device->device,
             device->class_code, device->revision, device->subsystem_vendor,
             device->subsystem_device);
    snprintf(expected, sizeof(expected), "%s %s %s %s %s", text_of(want, "vendor"),
             text_of(want, "device"), text_of(want, "class"), text_of(want, "revision"),
             text_of(want, "subsystem"));
    ck_assert_msg(strcmp(have, expected) == 0, "%s: %s, not %s", name, have, expected);
}

static bool is_accelerator(uint32_t class_code)
{
    return class_code >> 16 == 0x03 || class_code >> 16 == 0x12 || class_code >> 8 == 0x0b40;
}

START_TEST(recorded_dumps)
{
    char path[512];
    const char *name;
    json_t *want, *accelerator;
    size_t i, n = 0;
    snprintf(path, sizeof(path), "%s/lspci/expected.json", fixtures_dir());
    json_t *expected = json_load_file(path, 0, NULL);
    if (!expected) {
        printf("skipped: no %s\n", path);
        return;
    }
    json_object_foreach(expected, name, want)
    {
        struct ocv_pci_list list;
        struct ocv_error err = {0};
        size_t accelerators = 0;
        snprintf(path, sizeof(path), "%s/lspci/dumps/%s", fixtures_dir(), name);
        ck_assert_msg(scan_dump(path, &list, &err) == OCV_OK, "%s", err.message);
        ck_assert_msg(list.n + list.broken ==
                          (size_t)json_integer_value(json_object_get(want, "device_count")),
                      "%s", name);
        ck_assert_uint_eq(list.broken,
                          (size_t)json_integer_value(json_object_get(want, "without_config")));
        json_array_foreach(json_object_get(want, "accelerators"), i, accelerator)
            check_accelerator(name, &list, accelerator);
        for (size_t k = 0; k < list.n; k++)
            accelerators += is_accelerator(list.devices[k].class_code);
        ck_assert_uint_eq(accelerators, json_array_size(json_object_get(want, "accelerators")));
        ocv_pci_list_free(&list);
        n++;
    }
    json_decref(expected);
    ck_assert_uint_eq(n, 27);
}
END_TEST

RUN_TESTS_IN("pci_dump", make_root, remove_root, dump_of_a_server, a_broken_device_in_a_dump,
             long_lines_and_zero_bytes, drivers_of_a_dump, what_is_no_dump, limits_of_a_dump,
             recorded_dumps)
