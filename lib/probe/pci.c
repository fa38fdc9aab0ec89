/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from sysfs, read directly and not through libpci: libpci opens paths by name, so an
 * absolute link in a recorded tree would lead it out of the sysroot; one entry that it cannot read
 * ends its whole scan through a callback that must not return and, jumped out of, leaks the folder;
 * and a driver link that dangles, as in a container or a recording, is no driver to it. What is
 * left of its work is six small files a device.
 *
 * Invariant: an entry that cannot be read costs that entry only. The attribute files are asked
 * first and `config` last, because reading it wakes a device from power saving. */
#include "pci.h"
#include "probe.h"

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
#define CLASS_BRIDGE 0x06u

bool ocv_pci_hex(const char *text, uint32_t max, uint32_t *out)
{
    char *end;
    if (strncmp(text, "0x", 2) == 0)
        text += 2;
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 8 || text[digits] != '\0')
        return false;
    unsigned long value = strtoul(text, &end, 16);
    *out = (uint32_t)value;
    return value <= max;
}

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
    int fd = ocv_sysroot_openat(dir, "config", O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, config, sizeof(config));
    close(fd);
    return n > CONFIG_REVISION ? config[CONFIG_REVISION] : 0;
}

/* The last component of the link, whether or not there is something at its end. */
static void read_driver(int dir, char *out, size_t size)
{
    char target[512];
    ssize_t n = readlinkat(dir, "driver", target, sizeof(target) - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (name[i] < 0x21 || name[i] > 0x7e)
            return; /* it goes into the profile */
    if (len < size)
        memcpy(out, name, len + 1);
}

static void read_details(int dir, struct ocv_pci_device *device)
{
    char line[16];
    struct stat st;
    uint32_t vendor, subsystem;
    device->revision = revision_of(dir);
    if (attribute(dir, "subsystem_vendor", UINT16_MAX, &vendor) &&
        attribute(dir, "subsystem_device", UINT16_MAX, &subsystem)) {
        device->subsystem_vendor = (uint16_t)vendor;
        device->subsystem_device = (uint16_t)subsystem;
    }
    if (ocv_sysroot_line(dir, "numa_node", line, sizeof(line)) &&
        strspn(line, "0123456789") == strlen(line) && strlen(line) < 6)
        device->numa_node = (int)strtol(line, NULL, 10);
    device->virtual_function = fstatat(dir, "physfn", &st, AT_SYMLINK_NOFOLLOW) == 0;
    read_driver(dir, device->driver, sizeof(device->driver));
}

/* False if the entry is broken. */
static bool read_device(int root, const char *name, struct ocv_pci_device *out)
{
    char path[sizeof(DEVICES) + NAME_MAX + 1];
    uint32_t vendor, device, class_code;
    struct ocv_pci_device found = {.numa_node = -1};
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
        if (class_code >> 16 != CLASS_BRIDGE) /* a third of the devices, and no provider's */
            read_details(dir, &found);
        *out = found;
    }
    close(dir);
    return good;
}

static int append(struct ocv_pci_list *list, size_t *size, const struct ocv_pci_device *device,
                  struct ocv_error *err)
{
    if (list->n == *size) {
        size_t more = *size ? *size * 2 : 64;
        struct ocv_pci_device *grown = reallocarray(list->devices, more, sizeof(*grown));
        if (!grown)
            return ocv_error_nomem(err);
        list->devices = grown;
        *size = more;
    }
    list->devices[list->n++] = *device;
    return OCV_OK;
}

/* A longer domain is a larger one. */
static int by_address(const void *a, const void *b)
{
    const char *left = ((const struct ocv_pci_device *)a)->address;
    const char *right = ((const struct ocv_pci_device *)b)->address;
    size_t n = strlen(left), m = strlen(right);
    return n != m ? (n < m ? -1 : 1) : strcmp(left, right);
}

static int scan(DIR *dir, int root, struct ocv_pci_list *list, struct ocv_error *err)
{
    struct dirent *entry;
    struct ocv_pci_device device;
    size_t size = 0;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (list->n + list->broken == OCV_PCI_DEVICES_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "/" DEVICES ": more than %u devices",
                                 OCV_PCI_DEVICES_MAX);
        if (!read_device(root, entry->d_name, &device)) {
            list->broken++;
            continue;
        }
        int status = append(list, &size, &device, err);
        if (status < 0)
            return status;
    }
    if (list->n)
        qsort(list->devices, list->n, sizeof(*list->devices), by_address);
    return OCV_OK;
}

int ocv_pci_scan(const struct ocv_probe_host *host, struct ocv_pci_list *out, struct ocv_error *err)
{
    struct ocv_pci_list list = {0};
    int fd = ocv_sysroot_openat(host->root, DEVICES, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        bool none = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
        if (fd >= 0)
            close(fd);
        *out = list;
        return none ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "/" DEVICES ": %s", strerror(errno));
    }
    int status = scan(dir, host->root, &list, err);
    closedir(dir);
    if (status < 0)
        ocv_pci_list_free(&list);
    *out = list;
    return status;
}

void ocv_pci_list_free(struct ocv_pci_list *list)
{
    free(list->devices);
    *list = (struct ocv_pci_list){0};
}
