/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two readers of sysfs, libpci and the confined one, on the same tree. */
#ifndef PCI_READERS_H
#define PCI_READERS_H

#include "lib/probe/pci/pci_internal.h"
#include "test/unit/core_util.h"

#include <fcntl.h>
#include <unistd.h>

/* The devices of a tree; `libpci` reads them where it is not NULL. */
UNUSED static struct ocv_pci_list scan_tree(const char *tree, const char *libpci)
{
    struct ocv_error err = {0};
    struct ocv_pci_list list;
    struct ocv_pci_source source = {.root = open(tree, O_PATH | O_DIRECTORY), .libpci = libpci};
    ck_assert_msg(ocv_pci_scan(&source, &list, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(err.status, OCV_OK);
    close(source.root);
    return list;
}

/* All that is known of a device. */
UNUSED static void describe_pci(const struct ocv_pci_device *d, char *text, size_t size)
{
    snprintf(text, size, "%s %04x:%04x %04x:%04x class %06x rev %02x driver '%s'%s", d->address,
             d->vendor, d->device, d->subsystem_vendor, d->subsystem_device, d->class_code,
             d->revision, d->driver, d->virtual_function ? " virtual" : "");
}

UNUSED static void check_same(const char *name, const struct ocv_pci_list *list,
                              const struct ocv_pci_list *other)
{
    ck_assert_msg(list->n == other->n && list->broken == other->broken,
                  "%s: %zu and %zu broken, %zu and %zu broken", name, list->n, list->broken,
                  other->n, other->broken);
    for (size_t i = 0; i < list->n; i++) {
        char text[160], wanted[160];
        describe_pci(&list->devices[i], wanted, sizeof(wanted));
        describe_pci(&other->devices[i], text, sizeof(text));
        ck_assert_msg(strcmp(text, wanted) == 0, "%s: %s, not %s", name, text, wanted);
    }
}

/* Both readers on a tree, each of which must have been at work; how many devices they see. */
UNUSED static size_t compare_readers(const char *tree)
{
    char path[600];
    struct ocv_libpci *pci;
    struct ocv_error err = {0};
    snprintf(path, sizeof(path), "%s/sys/bus/pci", strcmp(tree, "/") == 0 ? "" : tree);
    ck_assert_msg(ocv_libpci_open(&pci, false, path, &err) == OCV_OK, "%s", err.message);
    struct ocv_pci_list confined = scan_tree(tree, NULL);
    struct ocv_pci_list list = scan_tree(tree, path);
    check_same(tree, &confined, &list);
    for (size_t i = 0; i < list.n; i++) {
        struct ocv_pci_device device = {0};
        ck_assert(ocv_libpci_read(pci, list.devices[i].address, &device));
        ck_assert_uint_eq(device.vendor, list.devices[i].vendor);
    }
    size_t n = list.n;
    ocv_libpci_close(pci);
    ocv_pci_list_free(&confined);
    ocv_pci_list_free(&list);
    return n;
}

#endif
