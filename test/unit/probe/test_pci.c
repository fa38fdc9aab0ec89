/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/pci: sysfs and procfs, that libpci and the confined reader see the same devices, and
 * that a broken device costs itself only. Dumps: test_pci_dump.c. Recorded machines:
 * test_machines.c. */
#include "test/unit/probe/pci_readers.h"
#include "test/unit/probe/pci_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
        told = told && ocv_libpci_open(&pci, false, path, NULL) == OCV_OK;
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

START_TEST(names)
{
    struct ocv_libpci *pci;
    struct ocv_error err = {0};
    char name[128];
    write_text("pci.ids", "# a list\n10de  NVIDIA Corporation\n\t2330  GH100 [H100]\n");
    ck_assert_int_eq(ocv_libpci_open(&pci, true, at("pci.ids"), &err), OCV_OK);
    ck_assert(ocv_libpci_name(pci, 0x10de, 0x2330, name, sizeof(name)));
    ck_assert_str_eq(name, "NVIDIA Corporation GH100 [H100]");
    ck_assert(!ocv_libpci_name(pci, 0x10de, 0x2330, name, 8));
    ck_assert(!ocv_libpci_name(pci, 0x1234, 0x5678, name, sizeof(name)));
    ocv_libpci_close(pci);
    write_text("pci.ids", "10de  NVIDIA Corporation\n\tgarbage\n");
    size_t before = 0;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(ocv_libpci_open(&pci, true, at("pci.ids"), &err), OCV_OK);
        ck_assert(!ocv_libpci_name(pci, 0x10de, 0x2330, name, sizeof(name)));
        ocv_libpci_close(pci);
        if (i == 0)
            before = descriptors();
    }
    ck_assert_uint_eq(descriptors(), before);
}
END_TEST

RUN_TESTS_IN("pci", make_root, remove_root, a_broken_device_in_sysfs,
             libpci_sees_what_the_confined_reader_sees_here,
             libpci_sees_what_the_confined_reader_sees_in_a_tree_made_here, libpci_gives_up,
             devices_of_procfs, sysfs_stands_before_procfs, no_pci_at_all, names)
