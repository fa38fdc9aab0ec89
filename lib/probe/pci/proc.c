/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from /proc/bus/pci, where no sysfs is mounted: a minimal container or chroot, an old
 * recording. Its list has the devices, and a file each the configuration header, which holds class
 * and revision. */
#include "lib/base/cleanup.h"
#include "lib/probe/pci/pci_backend.h"

#include <stdio.h>
#include <string.h>

#define DIRECTORY "proc/bus/pci"
#define DEVICES DIRECTORY "/devices"
#define DEVICES_MAX (16u * 1024 * 1024) /* a line has about 250 bytes */
#define FIELDS 17                       /* of a line: address, ids, IRQ, 7 bases, 7 sizes */

static char *next_field(char **line)
{
    char *field;
    while ((field = strsep(line, "\t ")) && *field == '\0')
        ;
    return field;
}

/* "BBDD VVVVDDDD IRQ ..." in hexadecimal; DD holds slot and function. */
static bool read_line(char *line, uint32_t *dfn, struct ocv_pci_device *device)
{
    uint32_t ids;
    char *field = next_field(&line);
    if (!field || !ocv_pci_hex(field, 0xffff, dfn))
        return false;
    field = next_field(&line);
    if (!field || !ocv_pci_hex(field, UINT32_MAX, &ids))
        return false;
    device->vendor = (uint16_t)(ids >> 16);
    device->device = (uint16_t)ids;
    for (int i = 2; i < FIELDS && field; i++)
        field = next_field(&line);
    if (!field)
        return false;
    if ((field = next_field(&line)))
        ocv_pci_set_driver(device, field, strlen(field));
    return true;
}

static int add_line(char *line, struct ocv_pci_scan *scan, struct ocv_error *err)
{
    uint32_t dfn;
    char path[64];
    unsigned char config[OCV_PCI_CONFIG];
    struct ocv_pci_device device = {0};
    if (!read_line(line, &dfn, &device))
        return ocv_pci_broken(scan, err);
    snprintf(path, sizeof(path), DIRECTORY "/%02x/%02x.%x", dfn >> 8, dfn >> 3 & 0x1f, dfn & 7);
    if (ocv_pci_read_config(scan->source->root, path, config) < sizeof(config) ||
        !ocv_pci_decode(config, &device))
        return ocv_pci_broken(scan, err);
    snprintf(device.address, sizeof(device.address), "0000:%02x:%02x.%x", dfn >> 8, dfn >> 3 & 0x1f,
             dfn & 7);
    return ocv_pci_append(scan, &device, err);
}

static int scan_proc(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, DEVICES_MAX);
    OCV_TRY(ocv_sysroot_read(scan->source->root, DEVICES, &text, err));
    char *rest = text.data;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            OCV_TRY(add_line(line, scan, err));
    return OCV_OK;
}

const struct ocv_pci_backend ocv_pci_proc = {"proc", scan_proc};
