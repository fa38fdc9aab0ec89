/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where PCI devices are read from. Back ends are tried in table order (pci.c); each knows by itself
 * whether the machine has what it reads. */
#ifndef OCV_PCI_INTERNAL_H
#define OCV_PCI_INTERNAL_H

#include "lib/probe/files/sysroot.h"
#include "lib/probe/pci/pci.h"

#define OCV_PCI_CONFIG 64u /**< bytes of the configuration header, all that is looked at */

/** A list that grows. */
struct ocv_pci_scan {
    const struct ocv_pci_source *source;
    struct ocv_pci_list list;
};

struct ocv_pci_backend {
    const char *name;
    /** Append every device; one that cannot be read is counted in list.broken and costs itself
     *  only. OCV_ERR_NOT_FOUND: not here, the next back end is asked; any other failure is the
     *  scan's. */
    int (*scan)(struct ocv_pci_scan *scan, struct ocv_error *err);
};

extern const struct ocv_pci_backend ocv_pci_dump;  /**< text of lspci, where the caller named one */
extern const struct ocv_pci_backend ocv_pci_sysfs; /**< sys/bus/pci */
extern const struct ocv_pci_backend ocv_pci_proc;  /**< proc/bus/pci, where there is no sysfs */

/** Append a copy. OCV_ERR_DATA past OCV_PCI_DEVICES_MAX, broken ones counted. */
int ocv_pci_append(struct ocv_pci_scan *scan, const struct ocv_pci_device *device,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Count one that cannot be read, with the same limit. */
int ocv_pci_broken(struct ocv_pci_scan *scan, struct ocv_error *err) OCV_WARN_UNUSED;
/** Sort by address; of two with one address the second counts as broken. */
void ocv_pci_sort(struct ocv_pci_list *list);
/** The beginning of a file that is a configuration header: how many bytes of it there are. */
size_t ocv_pci_read_config(int dir, const char *path, unsigned char config[OCV_PCI_CONFIG]);
/** Ids, class, revision and subsystem from a configuration header. False where there is no device:
 *  a vendor of ones or zeroes. */
bool ocv_pci_decode(const unsigned char config[OCV_PCI_CONFIG], struct ocv_pci_device *device);
/** Copy a driver's name; one that is too long or not printable counts as none. */
void ocv_pci_set_driver(struct ocv_pci_device *device, const char *name, size_t len);
/** Append the devices of such a text; the list is sorted afterwards. */
int ocv_pci_dump_text(const struct ocv_buffer *text, struct ocv_pci_scan *scan,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* libpci with its fatal errors contained. It is opened when it is first needed and not linked: with
 * libudev and libz behind it, it would cost the start of every command. One session serves one
 * thread. */

struct ocv_libpci;

/** OCV_ERR_UNSUPPORTED without libpci.so.3, OCV_ERR_DATA with libpci's message where it gave up.
 *  `names`: for names only; no device is looked at, and `path` is a list of names, NULL: the
 *  system's. Else for the devices of a sysfs: `path` stands for /sys/bus/pci, libpci follows links
 *  below it wherever they lead, and OCV_ERR_UNSUPPORTED before libpci 3.8, too. */
int ocv_libpci_open(struct ocv_libpci **out, bool names, const char *path,
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
