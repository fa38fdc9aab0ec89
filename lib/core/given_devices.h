/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Devices that a workload was given, by the names that others have for them, as the profile has
 * them: by UUID, PCI address, CDI name or index. */
#ifndef OCV_GIVEN_DEVICES_H
#define OCV_GIVEN_DEVICES_H

#include "ocivariant/error.h"
#include "ocivariant/profile.h"

#include <stddef.h>

#define OCV_GIVEN_MAX 256u        /**< devices of one workload */
#define OCV_GIVEN_TEXT_MAX 256u   /**< bytes of a name or an id */
#define OCV_GIVEN_FOUND_MAX 4096u /**< bytes of what is found */

/** One by one of its names. */
struct ocv_given_device {
    char owner[OCV_GIVEN_TEXT_MAX]; /**< "nvidia.com/gpu", "gpu.nvidia.com"; empty: not known */
    char id[OCV_GIVEN_TEXT_MAX];    /**< UUID, address, index, "VENDOR/CLASS=NAME" */
    size_t group;                   /**< place of the first entry that is about the same device */
};
struct ocv_given_devices {
    struct ocv_given_device list[OCV_GIVEN_MAX];
    size_t n;
};
/** "NS=ID[,ID][;NS=...]" with the profile's ids, each once and in the profile's order, as the key
 *  `devices` of a configuration takes it; empty where nothing was given. A device that the profile
 *  does not have: OCV_ERR_NOT_FOUND with its name, and so is a workload that has only unknown
 *  devices. */
int ocv_given_find(const struct ocv_given_devices *given, const struct ocv_profile *profile,
                   char *out, size_t size, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
