/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two halves of matching share: PCI (match.c), directories of sysfs
 * (class.c). */
#ifndef OCV_DECLARATIVE_MATCH_H
#define OCV_DECLARATIVE_MATCH_H

#include "lib/probe/declarative/declarative.h"

struct ocv_matcher {
    const struct ocv_declaration *declaration;
    const struct ocv_probe_host *host;
    struct ocv_declared_list *out;
    struct ocv_error *err;
};

/** A new device, all zero; NULL and a status where there are too many, or no memory. */
struct ocv_declared *ocv_match_append(const struct ocv_matcher *m, int *status);
/** True if a device with this driver (empty: none) can serve builds. */
bool ocv_match_driver(const struct ocv_matcher *m, const char *driver);
/** True if a rule wants this number, or does not mention it. `digits`: leading zeros included. */
bool ocv_match_hex(const struct ocv_yaml *want, unsigned value, int digits);
/** The first PCI rule that fits, or NULL. */
const struct ocv_yaml *ocv_match_pci_rule(const struct ocv_matcher *m,
                                          const struct ocv_pci_device *device);
/** Devices of a rule on a class or on the device tree; none for other rules. */
int ocv_match_directories(const struct ocv_matcher *m, const struct ocv_yaml *rule);

#endif
