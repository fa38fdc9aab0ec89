/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only people read of PCI devices. */
#ifndef OCV_DESCRIBE_H
#define OCV_DESCRIBE_H

#include "lib/probe/host/host.h"

#include <jansson.h>

/** Add to a profile what people want to read: to devices with a PCI address `pci_id`,
 *  `kernel_driver` ("" none) and, where it has none, `name`; at the top `other_devices`
 *  (accelerators that no provider knows), `broken_devices` (how many could not be read) and
 *  `pci_error` (why none could).
 *  `datadir` may hold a pci.ids that goes before the system's. */
int ocv_pci_describe(const struct ocv_probe_host *host, const char *datadir, json_t *profile,
                     struct ocv_error *err) OCV_WARN_UNUSED;

#endif
