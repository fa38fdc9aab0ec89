/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from sysfs. On the live machine libpci reads them. It opens paths by name, so in any
 * other tree an absolute link would lead it out of the sysroot: there, and where libpci is not
 * installed, the files are read here, confined. Three things are always read here: the directory,
 * because one odd entry ends libpci's scan and leaves it open; the driver, because libpci ignores a
 * dangling link, which containers and recordings have; and whether a device is a virtual function.
 *
 * Invariant: an entry that cannot be read costs that entry only. The attribute files are asked
 * first and `config` last, because reading it wakes a device from power saving. */
#include "lib/base/cleanup.h"
#include "lib/probe/pci/pci_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES "sys/bus/pci/devices"

static bool read_attribute(int dir, const char *name, uint32_t max, uint32_t *out)
{
    char line[32];
    return ocv_sysroot_line(dir, name, line, sizeof(line)) && ocv_pci_hex(line, max, out);
}

/* The driver is the last component of its link, whether or not there is something at its end.
 * `entry` is below `dir`. */
static void read_links(int dir, const char *entry, struct ocv_pci_device *device)
{
    struct stat st;
    char path[64], target[512];
    snprintf(path, sizeof(path), "%s/physfn", entry);
    device->virtual_function = fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    snprintf(path, sizeof(path), "%s/driver", entry);
    ssize_t n = readlinkat(dir, path, target, sizeof(target) - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    ocv_pci_set_driver(device, name, strlen(name));
}

/* A third of the devices, and no provider's. */
static bool is_bridge(const struct ocv_pci_device *device)
{
    return device->class_code >> 16 == OCV_PCI_BRIDGE;
}

/* False if the entry is broken. */
static bool read_confined(int root, struct ocv_pci_device *out)
{
    char path[sizeof(DEVICES) + sizeof(out->address) + 1];
    unsigned char config[OCV_PCI_CONFIG] = {0};
    struct ocv_pci_device header = {0};
    uint32_t vendor, device, revision, subsystem;
    snprintf(path, sizeof(path), DEVICES "/%s", out->address);
    ocv_auto_fd int dir = ocv_sysroot_openat(root, path, O_RDONLY | O_DIRECTORY);
    if (dir < 0 || !read_attribute(dir, "vendor", UINT16_MAX, &vendor) ||
        !read_attribute(dir, "device", UINT16_MAX, &device) ||
        !read_attribute(dir, "class", 0xffffff, &out->class_code))
        return false;
    out->vendor = (uint16_t)vendor;
    out->device = (uint16_t)device;
    if (is_bridge(out))
        return true;
    bool has_revision = read_attribute(dir, "revision", 0xff, &revision); /* Linux 4.10 and newer */
    bool has_subsystem = read_attribute(dir, "subsystem_vendor", UINT16_MAX, &vendor) &&
                         read_attribute(dir, "subsystem_device", UINT16_MAX, &subsystem);
    if ((!has_revision || !has_subsystem) && ocv_pci_read_config(dir, "config", config) > 0)
        (void)ocv_pci_decode(config, &header);
    out->revision = has_revision ? (uint8_t)revision : header.revision;
    out->subsystem_vendor = has_subsystem ? (uint16_t)vendor : header.subsystem_vendor;
    out->subsystem_device = has_subsystem ? (uint16_t)subsystem : header.subsystem_device;
    read_links(dir, ".", out);
    return true;
}

static int scan_sysfs(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    static const char hex[] = "0123456789abcdef";
    int fd = ocv_sysroot_openat(scan->source->root, DEVICES, O_RDONLY | O_DIRECTORY);
    ocv_auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        bool none = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
        int status = ocv_error_set(err, none ? OCV_ERR_NOT_FOUND : OCV_ERR_IO, "/" DEVICES ": %s",
                                   strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    struct ocv_libpci *pci = NULL;
    if (scan->source->libpci && ocv_libpci_open(&pci, false, scan->source->libpci, NULL) < 0)
        pci = NULL; /* not installed: the confined reader sees the same */
    int status = OCV_OK;
    for (struct dirent *entry; status == OCV_OK && (entry = readdir(dir));) {
        struct ocv_pci_device device = {0};
        if (entry->d_name[0] == '.')
            continue;
        /* DDDD:BB:SS.F; the kernel writes the domain with four digits or more */
        size_t domain = strspn(entry->d_name, hex);
        const char *rest = entry->d_name + domain;
        bool good = domain >= 4 && domain <= 8 && strlen(rest) == 8 && rest[0] == ':' &&
                    strspn(rest + 1, hex) == 2 && rest[3] == ':' && strspn(rest + 4, hex) == 2 &&
                    rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7';
        if (good) {
            memcpy(device.address, entry->d_name, strlen(entry->d_name) + 1); /* at most 16 */
            good = pci ? ocv_libpci_read(pci, device.address, &device)
                       : read_confined(scan->source->root, &device);
        }
        if (good && pci && !is_bridge(&device))
            read_links(dirfd(dir), device.address, &device);
        status = good ? ocv_pci_append(scan, &device, err) : ocv_pci_broken(scan, err);
    }
    ocv_libpci_close(pci);
    return status < 0 ? ocv_error_prefix(err, "/" DEVICES), status : OCV_OK;
}

const struct ocv_pci_backend ocv_pci_sysfs = {"sysfs", scan_sysfs};

/* PCI devices from /proc/bus/pci, where no sysfs is mounted: a minimal container or chroot, an old
 * recording. Its list has the devices, and a file each the configuration header, which holds class
 * and revision. */

#define DIRECTORY "proc/bus/pci"
#define PROC_DEVICES DIRECTORY "/devices"
#define DEVICES_MAX (16u * 1024 * 1024) /* a line has about 250 bytes */
#define FIELDS 17                       /* of a line: address, ids, IRQ, 7 bases, 7 sizes */

static int scan_proc(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, DEVICES_MAX);
    OCV_TRY(ocv_sysroot_read(scan->source->root, PROC_DEVICES, &text, err));
    char *rest = text.data;
    for (char *line; (line = strsep(&rest, "\n"));) {
        /* "BBDD VVVVDDDD IRQ ... [DRIVER]" in hexadecimal; DD holds slot and function */
        uint32_t dfn, ids;
        char path[64], *fields[FIELDS + 1], *field;
        unsigned char config[OCV_PCI_CONFIG];
        struct ocv_pci_device device = {0};
        size_t n = 0;
        if (!*line)
            continue;
        while (n <= FIELDS && (field = strsep(&line, "\t ")))
            if (*field)
                fields[n++] = field;
        bool good = n >= FIELDS && ocv_pci_hex(fields[0], 0xffff, &dfn) &&
                    ocv_pci_hex(fields[1], UINT32_MAX, &ids);
        if (good) {
            device.vendor = (uint16_t)(ids >> 16);
            device.device = (uint16_t)ids;
            if (n > FIELDS)
                ocv_pci_set_driver(&device, fields[FIELDS], strlen(fields[FIELDS]));
            snprintf(path, sizeof(path), DIRECTORY "/%02x/%02x.%x", dfn >> 8, dfn >> 3 & 0x1f,
                     dfn & 7);
            good = ocv_pci_read_config(scan->source->root, path, config) == sizeof(config) &&
                   ocv_pci_decode(config, &device);
            snprintf(device.address, sizeof(device.address), "0000:%02x:%02x.%x", dfn >> 8,
                     dfn >> 3 & 0x1f, dfn & 7);
        }
        OCV_TRY(good ? ocv_pci_append(scan, &device, err) : ocv_pci_broken(scan, err));
    }
    return OCV_OK;
}

const struct ocv_pci_backend ocv_pci_proc = {"proc", scan_proc};
