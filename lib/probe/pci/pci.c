/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices of the machine: the back ends in the order they are tried, and what they share. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/probe/pci/pci_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOST_BYTES 16u /* from vendor to header type */

static const struct ocv_pci_backend *const backends[] = {&ocv_pci_sysfs, &ocv_pci_proc};

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

/* Linux, Documentation/ABI: power/runtime_status; PCI Local Bus Specification: what no device
 * answers reads as ones. A virtual function has ones for vendor and device only (PCIe, "VF Vendor
 * ID"): command, class and header type say that it is there. */
bool ocv_pci_is_lost(int root, const char *address)
{
    unsigned char head[LOST_BYTES];
    char path[96], status[16];
    if (root < 0)
        return false;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/power/runtime_status", address);
    if (ocv_sysroot_line(root, path, status, sizeof(status)) && strcmp(status, "active") != 0 &&
        strcmp(status, "unsupported") != 0 && strcmp(status, "error") != 0)
        return false;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/config", address);
    ocv_auto_fd int fd = ocv_sysroot_openat(root, path, O_RDONLY);
    if (fd < 0 || read(fd, head, sizeof(head)) != (ssize_t)sizeof(head))
        return false;
    for (size_t i = 0; i < sizeof(head); i++)
        if (head[i] != 0xff)
            return false;
    return true;
}

static int too_many(const struct ocv_pci_scan *scan, struct ocv_error *err)
{
    return scan->list.n + scan->list.broken < OCV_PCI_DEVICES_MAX
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_DATA, "more than %u devices", OCV_PCI_DEVICES_MAX);
}

int ocv_pci_append(struct ocv_pci_scan *scan, const struct ocv_pci_device *device,
                   struct ocv_error *err)
{
    struct ocv_pci_list *list = &scan->list;
    if (too_many(scan, err) < 0)
        return OCV_ERR_DATA;
    struct ocv_pci_device *added = ocv_array_grow(&list->devices, list->n);
    if (!added)
        return ocv_error_nomem(err);
    *added = *device;
    list->n++;
    return OCV_OK;
}

int ocv_pci_broken(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    int status = too_many(scan, err);
    scan->list.broken += status == OCV_OK;
    return status;
}

/* A longer domain is a larger one. */
static int by_address(const void *a, const void *b)
{
    const char *left = ((const struct ocv_pci_device *)a)->address;
    const char *right = ((const struct ocv_pci_device *)b)->address;
    size_t n = strlen(left), m = strlen(right);
    return n != m ? (n < m ? -1 : 1) : strcmp(left, right);
}

struct ocv_pci_device *ocv_pci_find(const struct ocv_pci_list *list, const char *address)
{
    struct ocv_pci_device key = {.vendor = 0};
    size_t len = strlen(address);
    if (list->n == 0 || len >= sizeof(key.address))
        return NULL;
    memcpy(key.address, address, len + 1);
    return bsearch(&key, list->devices, list->n, sizeof(key), by_address);
}

void ocv_pci_sort(struct ocv_pci_list *list)
{
    size_t kept = 0;
    if (list->n)
        qsort(list->devices, list->n, sizeof(*list->devices), by_address);
    for (size_t i = 0; i < list->n; i++) {
        if (kept && by_address(&list->devices[kept - 1], &list->devices[i]) == 0)
            list->broken++;
        else
            list->devices[kept++] = list->devices[i];
    }
    list->n = kept;
}

size_t ocv_pci_read_config(int dir, const char *path, unsigned char config[OCV_PCI_CONFIG])
{
    ocv_auto_fd int fd = ocv_sysroot_file(dir, path);
    ssize_t n = fd < 0 ? -1 : read(fd, config, OCV_PCI_CONFIG);
    return n > 0 ? (size_t)n : 0;
}

static uint16_t read_word(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* Offsets: PCI local bus specification 3.0, 6.1 */
bool ocv_pci_decode(const unsigned char config[OCV_PCI_CONFIG], struct ocv_pci_device *device)
{
    device->vendor = read_word(config);
    device->device = read_word(config + 2);
    device->revision = config[8];
    device->class_code =
        (uint32_t)config[11] << 16 | (uint32_t)config[10] << 8 | (uint32_t)config[9];
    if ((config[14] & 0x7f) == 0) { /* header of a device; those of bridges have other fields */
        device->subsystem_vendor = read_word(config + 0x2c);
        device->subsystem_device = read_word(config + 0x2e);
    }
    return device->vendor != 0xffff && device->vendor != 0;
}

void ocv_pci_set_driver(struct ocv_pci_device *device, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] < 0x21 || name[i] > 0x7e)
            return; /* it goes into the profile */
    if (len == 0 || len >= sizeof(device->driver))
        return;
    memcpy(device->driver, name, len);
    device->driver[len] = '\0';
}

int ocv_pci_scan(const struct ocv_pci_source *source, struct ocv_pci_list *out,
                 struct ocv_error *err)
{
    struct ocv_pci_scan scan = {.source = source};
    struct ocv_error failure = {0};
    int status = OCV_ERR_NOT_FOUND;
    if (source->dump)
        status = ocv_pci_dump.scan(&scan, &failure);
    for (size_t i = 0; !source->dump && i < sizeof(backends) / sizeof(*backends); i++)
        if ((status = backends[i]->scan(&scan, &failure)) != OCV_ERR_NOT_FOUND)
            break;
    if (status == OCV_ERR_NOT_FOUND && !source->dump)
        status = OCV_OK; /* a machine without PCI */
    if (status < 0) {
        ocv_pci_list_free(&scan.list);
        if (err)
            *err = failure;
    }
    ocv_pci_sort(&scan.list);
    *out = scan.list;
    return status;
}

void ocv_pci_list_free(struct ocv_pci_list *list)
{
    free(list->devices);
    *list = (struct ocv_pci_list){0};
}
