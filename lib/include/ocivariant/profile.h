/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file profile.h
 * Profiles: what one host supports (schema/profile.schema.json).
 *
 * Ownership: the caller owns a profile and frees it; what it returns is borrowed from it. Thread
 * safety: a profile never changes, so any number of threads may read it.
 */
#ifndef OCIVARIANT_PROFILE_H
#define OCIVARIANT_PROFILE_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/platform.h"
#include "ocivariant/property.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ocv_profile;
/** Parse a profile. Unknown keys are ignored, a namespace or feature listed twice, bad syntax or
 *  an unknown schema is OCV_ERR_DATA. */
OCV_API int ocv_profile_parse(const void *bytes, size_t len, struct ocv_profile **out,
                              struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_profile_free(struct ocv_profile *profile);
/** The profile's platform, strings borrowed; os and architecture are NULL if it has none. */
OCV_API struct ocv_platform ocv_profile_platform(const struct ocv_profile *profile);
/** True if the host's namespace list supports the property (device lists are not consulted). */
OCV_API bool ocv_profile_supports(const struct ocv_profile *profile, struct ocv_property property);

OCV_DEFINE_CLEANUP(ocv_profile)

#ifdef __cplusplus
}
#endif
#endif
