/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace vulkan, what its files and tests share. */
#ifndef OCV_VULKAN_H
#define OCV_VULKAN_H

#include "lib/probe/providers/gpu.h"

/** What a Vulkan driver in a container makes of a GPU. */
struct ocv_vulkan_support {
    const char *driver; /**< "radv", NULL: none drives it */
    unsigned minor;     /**< of the API's version 1.minor */
    bool integrated;
};

/** By the kernel driver that is bound to a PCI device. `version` is that driver's, and may be
 * empty.
 */
struct ocv_vulkan_support ocv_vulkan_of_pci(const struct ocv_pci_device *pci, const char *version);
/** By the kernel driver of a device of a system on a chip, and the first name that the device tree
 *  gives it ("arm,mali-valhall-csf"). */
struct ocv_vulkan_support ocv_vulkan_of_platform(const char *driver, const char *compatible);

#endif
