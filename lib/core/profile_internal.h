/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a parsed profile looks like inside the core. */
#ifndef OCV_PROFILE_INTERNAL_H
#define OCV_PROFILE_INTERNAL_H

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

/** Make a profile of an object that was parsed strictly; it is kept. Errors as ocv_profile_parse.
 */
int ocv_profile_of_json(json_t *root, struct ocv_profile **out, struct ocv_error *err);

/** The namespace of that name, or NULL. */
static inline const struct ocv_namespace *ocv_profile_namespace(const struct ocv_profile *profile,
                                                                const char *name)
{
    return ocv_namespace_find(profile->namespaces, profile->n_namespaces, name);
}

#endif
