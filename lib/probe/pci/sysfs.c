/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from sysfs, read directly and not through libpci: libpci opens paths by name, so an
 * absolute link in a recorded tree would lead it out of the sysroot; one entry that it cannot read
 * ends its whole scan through a callback that must not return and, jumped out of, leaks the
 * directory; and a driver link that dangles, as in a container or a recording, is no driver to it.
 * What is left of its work is six small files a device.
 *
 * Invariant: an entry that cannot be read costs that entry only. The attribute files are asked
 * first and `config` last, because reading it wakes a device from power saving. */
#include "lib/probe/pci/pci_backend.h"

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
#define CONFIG_REVISION 8 /* offset in config space; PCI local bus specification 3.0, 6.1 */

static bool attribute(int dir, const char *name, uint32_t max, uint32_t *out)
{
    char line[32];
    return ocv_sysroot_line(dir, name, line, sizeof(line)) && ocv_pci_hex(line, max, out);
}

/* DDDD:BB:SS.F; the kernel writes the domain with four digits or more. */
static bool is_address(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    size_t domain = strspn(name, hex);
    const char *rest = name + domain;
    return domain >= 4 && domain <= 8 && strlen(rest) == 8 && rest[0] == ':' &&
           strspn(rest + 1, hex) == 2 && rest[3] == ':' && strspn(rest + 4, hex) == 2 &&
           rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7';
}

static uint8_t revision_of(int dir)
{
    uint32_t value;
    unsigned char config[64];
    if (attribute(dir, "revision", 0xff, &value)) /* Linux 4.10 and newer */
        return (uint8_t)value;
    int fd = ocv_sysroot_file(dir, "config");
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, config, sizeof(config));
    close(fd);
    return n > CONFIG_REVISION ? config[CONFIG_REVISION] : 0;
}

/* The last component of the link, whether or not there is something at its end. */
static void read_driver(int dir, struct ocv_pci_device *device)
{
    char target[512];
    ssize_t n = readlinkat(dir, "driver", target, sizeof(target) - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    ocv_pci_set_driver(device, name, strlen(name));
}

static void read_details(int dir, struct ocv_pci_device *device)
{
    struct stat st;
    uint32_t vendor, subsystem;
    device->revision = revision_of(dir);
    if (attribute(dir, "subsystem_vendor", UINT16_MAX, &vendor) &&
        attribute(dir, "subsystem_device", UINT16_MAX, &subsystem)) {
        device->subsystem_vendor = (uint16_t)vendor;
        device->subsystem_device = (uint16_t)subsystem;
    }
    device->virtual_function = fstatat(dir, "physfn", &st, AT_SYMLINK_NOFOLLOW) == 0;
    read_driver(dir, device);
}

/* False if the entry is broken. */
static bool read_device(int root, const char *name, struct ocv_pci_device *out)
{
    char path[sizeof(DEVICES) + NAME_MAX + 1];
    uint32_t vendor, device, class_code;
    struct ocv_pci_device found = {0};
    if (!is_address(name))
        return false;
    snprintf(path, sizeof(path), DEVICES "/%s", name);
    int dir = ocv_sysroot_openat(root, path, O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        return false;
    bool good = attribute(dir, "vendor", UINT16_MAX, &vendor) &&
                attribute(dir, "device", UINT16_MAX, &device) &&
                attribute(dir, "class", 0xffffff, &class_code);
    if (good) {
        memcpy(found.address, name, strlen(name) + 1); /* at most 16: is_address */
        found.vendor = (uint16_t)vendor;
        found.device = (uint16_t)device;
        found.class_code = class_code;
        if (class_code >> 16 != OCV_PCI_BRIDGE) /* a third of the devices, and no provider's */
            read_details(dir, &found);
        *out = found;
    }
    close(dir);
    return good;
}

static int scan_directory(DIR *dir, struct ocv_pci_scan *scan, struct ocv_error *err)
{
    struct dirent *entry;
    struct ocv_pci_device device;
    int status = OCV_OK;
    while (status == OCV_OK && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (read_device(scan->source->root, entry->d_name, &device))
            status = ocv_pci_append(scan, &device, err);
        else
            status = ocv_pci_broken(scan, err);
    }
    return status;
}

static int scan_sysfs(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    int fd = ocv_sysroot_openat(scan->source->root, DEVICES, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        bool none = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
        int status = ocv_error_set(err, none ? OCV_ERR_NOT_FOUND : OCV_ERR_IO, "/" DEVICES ": %s",
                                   strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    int status = scan_directory(dir, scan, err);
    closedir(dir);
    return status < 0 ? ocv_error_prefix(err, "/" DEVICES), status : OCV_OK;
}

const struct ocv_pci_backend ocv_pci_sysfs = {"sysfs", scan_sysfs};
