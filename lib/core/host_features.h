/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The ordered lists of a host: namespace -> feature -> values, best first, and its devices.
 * Profiles and an index's static namespaces have the same shape. All strings are borrowed. */
#ifndef OCV_HOST_FEATURES_H
#define OCV_HOST_FEATURES_H

#include "lib/base/arena.h"

#include <stdbool.h>

#define OCV_PROFILE_NAMESPACES_MAX 256u
#define OCV_PROFILE_FEATURES_MAX 4096u /* features of a namespace or device */
#define OCV_PROFILE_VALUES_MAX 65536u  /* values of a feature */
#define OCV_PROFILE_DEVICES_MAX 1024u  /* devices of a namespace */

struct ocv_feature {
    const char *name;
    const char **values;
    size_t n_values;
};

struct ocv_device {
    const char *id;
    const char *uuid; /* NULL if not recorded */
    long index;       /* PCI order within the namespace; -1 if not recorded: its place */
    bool secondary;
    struct ocv_feature *features;
    size_t n_features;
};

struct ocv_namespace {
    const char *name;
    struct ocv_feature *features;
    size_t n_features;
    struct ocv_device *devices;
    size_t n_devices;
};

const struct ocv_feature *ocv_feature_find(const struct ocv_feature *list, size_t n,
                                           const char *name);
const struct ocv_namespace *ocv_namespace_find(const struct ocv_namespace *list, size_t n,
                                               const char *name);
/** Is `text` (PCI index, PCI address with or without domain, UUID) this device? */
bool ocv_device_is(const struct ocv_device *device, const char *text);

#endif
