/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices of the probed machine. They are read once, when the host is opened, and shared by all
 * providers. */
#ifndef OCV_PCI_H
#define OCV_PCI_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCV_PCI_DEVICES_MAX 65536u /**< entries of sys/bus/pci/devices */

#define OCV_PCI_BRIDGE 0x06u /**< base class */
#define OCV_PCI_NVIDIA 0x10deu
#define OCV_PCI_AMD 0x1002u
#define OCV_PCI_INTEL 0x8086u

struct ocv_pci_device {
    char address[24]; /**< DDDD:BB:SS.F, lower case; domains beyond 16 bits have up to 8 digits */
    uint16_t vendor;
    uint16_t device;
    uint16_t subsystem_vendor; /**< both 0 where the kernel shows none */
    uint16_t subsystem_device;
    uint32_t class_code; /**< 24 bits: base class, subclass, programming interface */
    uint8_t revision;
    bool virtual_function; /**< of SR-IOV: has a physfn */
    char driver[32];       /**< bound kernel driver, or empty */
};

struct ocv_pci_list {
    struct ocv_pci_device *devices; /**< by address */
    size_t n;
    size_t broken; /**< entries without address, vendor, device or class; they are not listed */
};

/** Where the devices are. */
struct ocv_pci_source {
    int root; /**< directory that stands for / */
    /** path of that root's sys/bus/pci, where libpci may read it; NULL where links may lead out */
    const char *libpci;
    const char *dump; /**< text of lspci that stands for the devices of the root, or NULL */
};

/** Read all devices. No PCI at all is an empty list. OCV_ERR_IO where the directory cannot be read,
 *  OCV_ERR_DATA past OCV_PCI_DEVICES_MAX. */
int ocv_pci_scan(const struct ocv_pci_source *source, struct ocv_pci_list *out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_pci_list_free(struct ocv_pci_list *list);
/** Device by address in a sorted list, or NULL. */
struct ocv_pci_device *ocv_pci_find(const struct ocv_pci_list *list, const char *address);
#define OCV_PCI_LOST "does not answer on the bus"
/** True if every read of the device's configuration gives ones: it fell off the bus, and its driver
 *  may still be bound. One that sleeps is not asked, since that would wake it. `root` as in struct
 *  ocv_pci_source. */
bool ocv_pci_is_lost(int root, const char *address);
/** Read a hexadecimal attribute, with or without 0x, of at most `max`. */
bool ocv_pci_hex(const char *text, uint32_t max, uint32_t *out);

#endif
