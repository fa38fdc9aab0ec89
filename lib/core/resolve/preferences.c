/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/core/resolve/resolve_internal.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

#define DENY_GLOB_MAX 256u /* a configuration's are shorter */

size_t ocv_preferences_parts(const char *item, const char *ns, const char *feature,
                             const char *value)
{
    const char *const parts[] = {ns, feature, value};
    for (size_t i = 0; i < 3 && parts[i]; i++) {
        size_t n = strlen(parts[i]);
        if (strncmp(item, parts[i], n) != 0)
            return 0;
        item += n;
        if (!*item)
            return i + 1;
        if (strncmp(item, " :: ", 4) != 0)
            return 0;
        item += 4;
    }
    return 0;
}

const char *ocv_preferences_disabled(const struct ocv_preferences *preferences, const char *ns,
                                     const char *feature, const char *value)
{
    const struct ocv_strings *disable = &preferences->disable;
    size_t parts = !feature ? 1 : !value ? 2 : 3;
    for (size_t i = 0; i < disable->count; i++)
        if (ocv_preferences_parts(disable->list[i], ns, feature, value) == parts)
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

/* The place of the member that names such a label or tag (or NULL); their number: none. */
static size_t find_denied(const struct ocv_strings *deny, const char *name, bool label)
{
    size_t i = name ? ocv_text_find_glob(deny->list, deny->count, name) : deny->count;
    for (size_t k = 0; name && label && k < i; k++) {
        char glob[DENY_GLOB_MAX + 1], *one = glob;
        if (!strcmp(deny->list[k], "default") && !strcmp(name, "null"))
            return k;
        if (snprintf(glob, sizeof(glob), "%s", deny->list[k]) >= (int)sizeof(glob))
            continue;
        for (char *p = glob; *p; p++)
            *p = *p == '-' ? '_' : *p;
        if (ocv_text_find_glob(&one, 1, name) == 0)
            return k;
    }
    return i;
}

bool ocv_preferences_deny(const struct ocv_preferences *preferences, const char *label,
                          const char *made_of, const char **glob, const char **origin)
{
    const struct ocv_strings *deny = &preferences->deny;
    const char *const names[] = {preferences->tag, label, made_of};
    size_t i = deny->count;
    for (size_t k = 0; k < 3 && i == deny->count; k++)
        i = find_denied(deny, names[k], k == 1);
    if (i == deny->count)
        return false;
    *glob = deny->list[i];
    *origin = deny->origins[i];
    return true;
}
