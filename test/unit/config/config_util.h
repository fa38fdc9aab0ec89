/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a configuration makes of a namespace, a feature, a value. */
#ifndef CONFIG_UTIL_H
#define CONFIG_UTIL_H

#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/config/config.h"

static inline bool disabled(const struct ocv_config *config, const char *ns, const char *feature,
                            const char *value)
{
    struct ocv_preferences preferences = ocv_config_preferences(config);
    return ocv_preferences_disabled(&preferences, ns, feature, value) != NULL;
}

static inline enum ocv_policy policy(const struct ocv_config *config, const char *ns)
{
    struct ocv_preferences preferences = ocv_config_preferences(config);
    return ocv_preferences_policy(&preferences, ns);
}

static inline const struct ocv_strings *devices(const struct ocv_config *config, const char *ns)
{
    struct ocv_preferences preferences = ocv_config_preferences(config);
    return ocv_preferences_devices(&preferences, ns);
}

#endif
