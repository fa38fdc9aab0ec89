/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a parsed profile looks like inside the core. */
#ifndef OCV_PROFILE_H
#define OCV_PROFILE_H

#include "lib/base/format/json.h"
#include "lib/core/host_features.h"
#include "ocivariant/platform.h"
#include "ocivariant/profile.h"

struct ocv_profile {
    struct ocv_arena arena;
    json_t *root; /* keeps the strings, and every key that is not understood here */
    struct ocv_platform platform;
    struct ocv_namespace *namespaces;
    size_t n_namespaces;
};

const struct ocv_namespace *ocv_profile_namespace(const struct ocv_profile *profile,
                                                  const char *name);
/** Build a profile from parsed JSON; takes its own reference. */
int ocv_profile_from_json(json_t *root, struct ocv_profile **out, struct ocv_error *err);

#endif
