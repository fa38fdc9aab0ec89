/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/pci: the back ends, that libpci and the confined reader see the same devices, and that
 * a broken device costs itself only. Recorded machines: test_machines.c. */
#include "lib/probe/pci/pci_backend.h"
#include "test/unit/core_util.h"
#include "test/unit/probe/pci_readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS                                                \
    "00: de 10 30 23 46 05 10 00 a1 00 02 03 10 00 00 00\n" \
    "10: 0c 00 00 00 42 20 00 00 0c 00 00 00 40 20 00 00\n" \
    "20: 0c 00 00 04 42 20 00 00 00 00 00 00 de 10 c1 16\n" \
    "30: 00 00 00 00 40 00 00 00 00 00 00 00 ff 00 00 00\n"
#define GOOD_BEFORE "00:01.0 good\n" ROWS "\n"
#define GOOD_AFTER "\n0000:ff:1f.7 good\n" ROWS

static char root[64];

static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-pci-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

static const char *at(const char *path)
{
    static char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    return full;
}

static void make_directory(const char *path)
{
    char command[1024];
    snprintf(command, sizeof(command), "mkdir -p '%s'", at(path));
    ck_assert_int_eq(system(command), 0);
}

static void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(at(path), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

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

/* ---- dumps ----------------------------------------------------------------------------------- */

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

/* ---- recorded dumps -------------------------------------------------------------------------- */

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

/* ---- sysfs and procfs ------------------------------------------------------------------------ */

static size_t descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static struct ocv_pci_list scan_root(void)
{
    return scan_tree(root, NULL);
}

static void sysfs_device(const char *address, const char *vendor, const char *device,
                         const char *class_code)
{
    const struct {
        const char *name, *value;
    } files[] = {{"vendor", vendor}, {"device", device}, {"class", class_code}};
    char path[128];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s", address);
    make_directory(path);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", address, files[i].name);
        if (files[i].value)
            write_text(path, files[i].value);
    }
}

START_TEST(a_broken_device_in_sysfs)
{
    static const char *const broken[] = {"0000:02:00.0", "0000:03:00.0", "0000:04:00.0",
                                         "0000:05:00.0", "0000:06:00.0", "junk"};
    sysfs_device("0000:01:00.0", "0x10de\n", "0x2330\n", "0x030200\n");
    sysfs_device(broken[0], NULL, "0x2330\n", "0x030200\n");
    sysfs_device(broken[1], "0x10de\n", "", "0x030200\n");
    sysfs_device(broken[2], "0x10de\n", "0x2330\n", "0x1000000\n");
    sysfs_device(broken[3], "10de and more\n", "0x2330\n", "0x030200\n");
    sysfs_device(broken[4], NULL, "0x2330\n", "0x030200\n");
    ck_assert_int_eq(mkfifo(at("sys/bus/pci/devices/0000:06:00.0/vendor"), 0600), 0);
    make_directory("sys/bus/pci/devices/junk");
    ck_assert_int_eq(symlink("nowhere", at("sys/bus/pci/devices/0000:07:00.0")), 0);
    sysfs_device("10000:01:00.0", "0x1da3\n", "0x1000\n", "0x120000\n");
    struct ocv_pci_list list = scan_root();
    ck_assert_uint_eq(list.n, 2);
    ck_assert_uint_eq(list.broken, 7);
    ck_assert_str_eq(list.devices[0].address, "0000:01:00.0");
    ck_assert_str_eq(list.devices[1].address, "10000:01:00.0");
    ocv_pci_list_free(&list);
}
END_TEST

static const unsigned char header[OCV_PCI_CONFIG] = {
    0xde, 0x10, 0x30, 0x23, 0x46,          0x05,          0x10,          0,
    0xa1, 0,    0x02, 0x03, [0x2c] = 0xde, [0x2d] = 0x10, [0x2e] = 0xc1, [0x2f] = 0x16};

#define BASES "\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0"

START_TEST(libpci_sees_what_the_confined_reader_sees_here)
{
    if (access("/sys/bus/pci/devices", R_OK) < 0)
        printf("skipped: no /sys/bus/pci here\n");
    else
        compare_readers("/");
}
END_TEST

/* What a recording cannot have: everything that a device can show, and little of it. */
START_TEST(libpci_sees_what_the_confined_reader_sees_in_a_tree_made_here)
{
    sysfs_device("0000:01:00.0", "0x10de\n", "0x2330\n", "0x030200\n");
    write_text("sys/bus/pci/devices/0000:01:00.0/revision", "0xa1\n");
    write_text("sys/bus/pci/devices/0000:01:00.0/subsystem_vendor", "0x10de\n");
    write_text("sys/bus/pci/devices/0000:01:00.0/subsystem_device", "0x16c1\n");
    ck_assert_int_eq(
        symlink("../../../nowhere/nvidia", at("sys/bus/pci/devices/0000:01:00.0/driver")), 0);
    sysfs_device("0000:01:00.1", "0x10de\n", "0x2330\n", "0x0302a5\n");
    ck_assert_int_eq(symlink("../0000:01:00.0", at("sys/bus/pci/devices/0000:01:00.1/physfn")), 0);
    sysfs_device("0000:00:00.0", "0x8086\n", "0x0d57\n", "0x060000\n");
    write_text("sys/bus/pci/devices/0000:00:00.0/revision", "0x02\n");
    sysfs_device("10000:e1:1f.7", "0x1da3\n", "0x1000\n", "0x120000\n");
    sysfs_device("0000:02:00.0", NULL, "0x1000\n", "0x120000\n");
    make_directory("sys/bus/pci/devices/junk");
    ck_assert_uint_eq(compare_readers(root), 4);
    struct ocv_pci_list list = scan_tree(root, at("sys/bus/pci"));
    ck_assert_uint_eq(list.broken, 2);
    ck_assert_str_eq(list.devices[1].driver, "nvidia");
    ck_assert_uint_eq(list.devices[1].revision, 0xa1);
    ck_assert_uint_eq(list.devices[1].subsystem_device, 0x16c1);
    ck_assert(list.devices[2].virtual_function);
    ck_assert_uint_eq(list.devices[2].class_code, 0x0302a5);
    ck_assert_str_eq(list.devices[3].address, "10000:e1:1f.7");
    ocv_pci_list_free(&list);
}
END_TEST

/* libpci's own way to fail is to print and to exit. Two hundred of its fatal errors come back as
 * errors, print nothing and leave no descriptor behind (and no memory: this runs under ASan, too).
 */
START_TEST(libpci_gives_up)
{
    char longest[1100];
    struct ocv_pci_device device;
    struct ocv_libpci *pci;
    size_t before = 0;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    sysfs_device("0000:01:00.0", "0x10de\n", "0x2330\n", "0x030200\n");
    sysfs_device("0000:02:00.0", NULL, "0x2330\n", "0x030200\n");
    sysfs_device("0000:03:00.0", "0x10de\n", "0x2330\n", longest);
    make_directory("sys/bus/pci/devices/0000:04:00.0/vendor");
    int out = memfd_create("printed", MFD_CLOEXEC), saved[] = {dup(1), dup(2)};
    fflush(NULL);
    ck_assert(dup2(out, 1) == 1 && dup2(out, 2) == 2);
    bool told = true, read = true;
    for (unsigned round = 0; round < 200; round++) {
        const char *path = round % 8 == 7 ? longest : at("sys/bus/pci");
        told = told && ocv_libpci_open_sysfs(&pci, path, NULL) == OCV_OK;
        for (unsigned i = 2; told && i <= 5; i++) {
            char address[16];
            snprintf(address, sizeof(address), "0000:%02x:00.0", i);
            told = !ocv_libpci_read(pci, address, &device);
        }
        read = read && ocv_libpci_read(pci, "0000:01:00.0", &device) == (path != longest);
        ocv_libpci_close(pci);
        if (round == 0)
            before = descriptors();
    }
    size_t after = descriptors();
    fflush(NULL);
    off_t printed = lseek(out, 0, SEEK_END);
    ck_assert(dup2(saved[0], 1) == 1 && dup2(saved[1], 2) == 2);
    ck_assert(told);
    ck_assert(read);
    ck_assert_int_eq(printed, 0);
    ck_assert_uint_eq(after, before);
}
END_TEST

/* Without sysfs; with odd lines, and with links, which are followed inside the tree only. */
START_TEST(devices_of_procfs)
{
    make_directory("proc/bus/pci/01");
    make_directory("proc/bus/pci/03");
    write_text("proc/bus/pci/devices", "0100\t10de2330\t10" BASES "\tnvidia\n"
                                       "0101\t10de22e8\t10" BASES "\n"
                                       "0200\t10de2330\t10" BASES "\n"
                                       "0300\t10de2330\t10" BASES "\n"
                                       "0400\t10de2330\t10" BASES "\n"
                                       "garbage\n"
                                       "0108\t10de2330\t10\t0\n"
                                       "\n"
                                       "0110\t10de2330\t10" BASES "\ta driver\n");
    write_bytes("proc/bus/pci/01/00.0", header, sizeof(header));
    write_bytes("proc/bus/pci/01/00.1", header, 16);
    write_bytes("proc/bus/pci/01/02.0", header, sizeof(header));
    ck_assert_int_eq(symlink("01", at("proc/bus/pci/02")), 0);
    char outside[128];
    snprintf(outside, sizeof(outside), "%s/../%s.outside", root, strrchr(root, '/') + 1);
    int fd = open(outside, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_eq(write(fd, header, sizeof(header)), sizeof(header));
    close(fd);
    ck_assert_int_eq(symlink(outside, at("proc/bus/pci/03/00.0")), 0);
    struct ocv_pci_list list = scan_root();
    size_t before = descriptors();
    ocv_pci_list_free(&list);
    list = scan_root();
    ck_assert_uint_eq(descriptors(), before);
    unlink(outside);
    ck_assert_uint_eq(list.n, 3);
    ck_assert_uint_eq(list.broken, 5);
    ck_assert_str_eq(list.devices[0].address, "0000:01:00.0");
    ck_assert_str_eq(list.devices[0].driver, "nvidia");
    ck_assert_uint_eq(list.devices[0].class_code, 0x030200);
    ck_assert_uint_eq(list.devices[0].subsystem_device, 0x16c1);
    ck_assert_str_eq(list.devices[1].address, "0000:01:02.0");
    ck_assert_str_eq(list.devices[2].address, "0000:02:00.0");
    ocv_pci_list_free(&list);
}
END_TEST

START_TEST(sysfs_stands_before_procfs)
{
    make_directory("sys/bus/pci/devices");
    make_directory("proc/bus/pci/01");
    write_text("proc/bus/pci/devices", "0100\t10de2330\t10" BASES "\tnvidia\n");
    write_bytes("proc/bus/pci/01/00.0", header, sizeof(header));
    struct ocv_pci_list list = scan_root();
    ck_assert_uint_eq(list.n + list.broken, 0);
}
END_TEST

START_TEST(no_pci_at_all)
{
    struct ocv_pci_list list = scan_root();
    ck_assert_uint_eq(list.n + list.broken, 0);
    make_directory("proc/bus/pci");
    write_text("proc/bus/pci/devices", "");
    list = scan_root();
    ck_assert_uint_eq(list.n + list.broken, 0);
}
END_TEST

/* ---- names ----------------------------------------------------------------------------------- */

START_TEST(names)
{
    struct ocv_libpci *pci;
    struct ocv_error err = {0};
    char name[128];
    write_text("pci.ids", "# a list\n10de  NVIDIA Corporation\n\t2330  GH100 [H100]\n");
    ck_assert_int_eq(ocv_libpci_open_names(&pci, at("pci.ids"), &err), OCV_OK);
    ck_assert(ocv_libpci_name(pci, 0x10de, 0x2330, name, sizeof(name)));
    ck_assert_str_eq(name, "NVIDIA Corporation GH100 [H100]");
    ck_assert(!ocv_libpci_name(pci, 0x10de, 0x2330, name, 8));
    ck_assert(!ocv_libpci_name(pci, 0x1234, 0x5678, name, sizeof(name)));
    ocv_libpci_close(pci);
    write_text("pci.ids", "10de  NVIDIA Corporation\n\tgarbage\n");
    size_t before = 0;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(ocv_libpci_open_names(&pci, at("pci.ids"), &err), OCV_OK);
        ck_assert(!ocv_libpci_name(pci, 0x10de, 0x2330, name, sizeof(name)));
        ocv_libpci_close(pci);
        if (i == 0)
            before = descriptors();
    }
    ck_assert_uint_eq(descriptors(), before);
}
END_TEST

RUN_TESTS_IN("pci", make_root, remove_root, dump_of_a_server, a_broken_device_in_a_dump,
             long_lines_and_zero_bytes, drivers_of_a_dump, what_is_no_dump, limits_of_a_dump,
             recorded_dumps, a_broken_device_in_sysfs,
             libpci_sees_what_the_confined_reader_sees_here,
             libpci_sees_what_the_confined_reader_sees_in_a_tree_made_here, libpci_gives_up,
             devices_of_procfs, sysfs_stands_before_procfs, no_pci_at_all, names)
