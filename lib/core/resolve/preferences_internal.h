/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What preferences say of a namespace, a feature, a value. */
#ifndef OCV_PREFERENCES_INTERNAL_H
#define OCV_PREFERENCES_INTERNAL_H

#include "ocivariant/preferences.h"

#include <stdbool.h>

/** Where a namespace, feature (may be NULL) or value (likewise) was disabled, or NULL. */
const char *ocv_preferences_disabled(const struct ocv_preferences *preferences, const char *ns,
                                     const char *feature, const char *value);
/** The policy of a namespace; OCV_POLICY_ALL where none is set. */
enum ocv_policy ocv_preferences_policy(const struct ocv_preferences *preferences, const char *ns);
/** The devices of a namespace that count, or NULL: all of them. */
const struct ocv_strings *ocv_preferences_devices(const struct ocv_preferences *preferences,
                                                  const char *ns);
/** Where the devices of a namespace are narrowed, or else its policy is set; NULL. */
const char *ocv_preferences_devices_origin(const struct ocv_preferences *preferences,
                                           const char *ns);

#endif
