/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/core/resolve/preferences_internal.h"

#include "lib/base/text.h"

#include <string.h>

/* Is `item` ("ns", "ns :: feature", ...) the part of the property up to where it ends? */
static bool item_is(const char *item, const char *ns, const char *feature, const char *value)
{
    const char *const parts[] = {ns, feature, value};
    for (size_t i = 0; i < 3 && parts[i]; i++) {
        size_t n = strlen(parts[i]);
        if (strncmp(item, parts[i], n) != 0)
            return false;
        item += n;
        if (!*item)
            return i == 2 || !parts[i + 1];
        if (strncmp(item, " :: ", 4) != 0)
            return false;
        item += 4;
    }
    return false;
}

const char *ocv_preferences_disabled(const struct ocv_preferences *preferences, const char *ns,
                                     const char *feature, const char *value)
{
    const struct ocv_strings *disable = &preferences->disable;
    for (size_t i = 0; i < disable->count; i++)
        if (item_is(disable->list[i], ns, feature, value))
            return disable->origins[i];
    return NULL;
}

enum ocv_policy ocv_preferences_policy(const struct ocv_preferences *preferences, const char *ns)
{
    for (size_t i = 0; i < preferences->n_policies; i++)
        if (!strcmp(preferences->policies[i].ns, ns))
            return preferences->policies[i].policy;
    return OCV_POLICY_ALL;
}

const struct ocv_strings *ocv_preferences_devices(const struct ocv_preferences *preferences,
                                                  const char *ns)
{
    for (size_t i = 0; i < preferences->n_devices; i++)
        if (!strcmp(preferences->devices[i].ns, ns))
            return &preferences->devices[i].ids;
    return NULL;
}

const char *ocv_preferences_devices_origin(const struct ocv_preferences *preferences,
                                           const char *ns)
{
    for (size_t i = 0; i < preferences->n_devices; i++)
        if (!strcmp(preferences->devices[i].ns, ns))
            return preferences->devices[i].origin;
    for (size_t i = 0; i < preferences->n_policies; i++)
        if (!strcmp(preferences->policies[i].ns, ns))
            return preferences->policies[i].origin;
    return NULL;
}

bool ocv_preferences_deny(const struct ocv_preferences *preferences, const char *name,
                          const char **glob, const char **origin)
{
    const struct ocv_strings *deny = &preferences->deny;
    size_t i = name ? ocv_text_find_glob(deny->list, deny->count, name) : deny->count;
    if (i == deny->count)
        return false;
    *glob = deny->list[i];
    *origin = deny->origins[i];
    return true;
}
