/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libpci with its fatal errors contained. It is opened when it is first needed and not linked: with
 * libudev and libz behind it, it costs every start 0.14 ms, and a probe of a machine with sysfs has
 * no use for it. One session serves one thread. */
#ifndef OCV_PCI_LIBPCI_H
#define OCV_PCI_LIBPCI_H

#include "lib/probe/pci/pci_backend.h"

struct ocv_libpci;

/** Methods, always named: left to itself libpci goes on to I/O ports and /dev/mem. */
enum ocv_libpci_method {
    OCV_LIBPCI_NAMES, /**< no device is looked at; `path` is a list of names or NULL */
    OCV_LIBPCI_DUMP,  /**< `path` is a text of `lspci -x` */
    OCV_LIBPCI_PROC,  /**< `path` stands for /proc/bus/pci */
};

/** OCV_ERR_UNSUPPORTED without libpci.so.3, OCV_ERR_DATA with libpci's message where it gave up. */
int ocv_libpci_open(struct ocv_libpci **out, enum ocv_libpci_method method, const char *path,
                    struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_libpci_close(struct ocv_libpci *pci);
/** Append the devices of a dump. */
int ocv_libpci_scan(struct ocv_libpci *pci, struct ocv_pci_scan *scan,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The configuration header of one device of domain 0; false where it cannot be read. */
bool ocv_libpci_read(struct ocv_libpci *pci, unsigned bus, unsigned slot, unsigned function,
                     unsigned char config[OCV_PCI_CONFIG]);
/** Vendor and device by name, without asking the network or udev. False if the ids are unknown or
 *  there is no list. */
bool ocv_libpci_name(struct ocv_libpci *pci, uint16_t vendor, uint16_t device, char *out,
                     size_t size);

#endif
