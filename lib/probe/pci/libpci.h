/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libpci with its fatal errors contained. It is opened when it is first needed and not linked: with
 * libudev and libz behind it, it would cost the start of every command. One session serves one
 * thread. */
#ifndef OCV_PCI_LIBPCI_H
#define OCV_PCI_LIBPCI_H

#include "lib/probe/pci/pci.h"

struct ocv_libpci;

/** OCV_ERR_UNSUPPORTED without libpci.so.3, OCV_ERR_DATA with libpci's message where it gave up. */

/** For names only; no device is looked at. `path` is a list of names, NULL: the system's. */
int ocv_libpci_open_names(struct ocv_libpci **out, const char *path,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** For the devices of a sysfs. `path` stands for /sys/bus/pci; libpci follows links below it
 *  wherever they lead. OCV_ERR_UNSUPPORTED before libpci 3.8, too. */
int ocv_libpci_open_sysfs(struct ocv_libpci **out, const char *path,
                          struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_libpci_close(struct ocv_libpci *pci);

/** Ids, class, revision and subsystem of the device that has that address (pci.h); of bridges, ids
 *  and class only. False where libpci cannot read it. */
bool ocv_libpci_read(struct ocv_libpci *pci, const char *address, struct ocv_pci_device *out);
/** Vendor and device by name, without asking the network or udev. False if the ids are unknown or
 *  there is no list. */
bool ocv_libpci_name(struct ocv_libpci *pci, uint16_t vendor, uint16_t device, char *out,
                     size_t size);

#endif
