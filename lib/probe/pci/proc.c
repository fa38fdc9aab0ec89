/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from /proc/bus/pci, where no sysfs is mounted: a minimal container or chroot, an old
 * recording. The list of devices is read here, because one odd line ends libpci's own scan with its
 * file left open; libpci reads the configuration headers, which hold class and revision.
 *
 * libpci opens them by name. Invariant: only after it was seen that no link stands on the way. */
#include "lib/probe/pci/pci_libpci.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The file libpci would open is a plain one, reached without a link. */
static bool is_plain(int directory, uint32_t dfn)
{
    char path[16];
    struct stat st;
    snprintf(path, sizeof(path), "%02x", dfn >> 8);
    if (fstatat(directory, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
        return false;
    snprintf(path, sizeof(path), "%02x/%02x.%x", dfn >> 8, dfn >> 3 & 0x1f, dfn & 7);
    return fstatat(directory, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int add_line(struct ocv_libpci *pci, int directory, char *line, struct ocv_pci_scan *scan,
                    struct ocv_error *err)
{
    uint32_t dfn;
    unsigned char config[OCV_PCI_CONFIG];
    struct ocv_pci_device device = {0};
    if (!read_line(line, &dfn, &device) || !is_plain(directory, dfn) ||
        !ocv_libpci_read(pci, dfn >> 8, dfn >> 3 & 0x1f, dfn & 7, config) ||
        !ocv_pci_decode(config, &device))
        return ocv_pci_broken(scan, err);
    snprintf(device.address, sizeof(device.address), "0000:%02x:%02x.%x", dfn >> 8, dfn >> 3 & 0x1f,
             dfn & 7);
    return ocv_pci_append(scan, &device, err);
}

static int scan_lines(struct ocv_libpci *pci, int directory, char *text, struct ocv_pci_scan *scan,
                      struct ocv_error *err)
{
    int status = OCV_OK;
    for (char *line; status == OCV_OK && (line = strsep(&text, "\n"));)
        if (*line)
            status = add_line(pci, directory, line, scan, err);
    return status;
}

static int scan_proc(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    char path[32];
    struct ocv_libpci *pci;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, DEVICES_MAX);
    int status = ocv_sysroot_read(scan->source->root, DEVICES, &text, err);
    if (status < 0 || text.len == 0)
        return status;
    int directory = ocv_sysroot_openat(scan->source->root, DIRECTORY, O_RDONLY | O_DIRECTORY);
    if (directory < 0)
        return ocv_error_set(err, OCV_ERR_IO, "/" DIRECTORY ": %s", strerror(errno));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
    status = ocv_libpci_open(&pci, OCV_LIBPCI_PROC, path, err);
    if (status == OCV_OK)
        status = scan_lines(pci, directory, text.data, scan, err);
    ocv_libpci_close(pci);
    close(directory);
    return status < 0 ? ocv_error_prefix(err, "/" DEVICES), status : OCV_OK;
}

const struct ocv_pci_backend ocv_pci_proc = {"proc", scan_proc};
