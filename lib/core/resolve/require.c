/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* `require`: an entry that fits is rejected unless it matched the required property, or, where a
 * single value is required, the devices that serve it have that value. */
#include "lib/core/resolve/resolve_internal.h"

#include <string.h>

/* Is `item` ("ns", "ns :: feature", "ns :: feature :: value") this property, or the beginning of
 * it? */
static bool covers_property(const char *item, struct ocv_property p)
{
    const char *const parts[] = {p.ns, p.feature, p.value};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(parts[i]);
        if (strncmp(item, parts[i], n) != 0)
            return false;
        item += n;
        if (!*item)
            return true;
        if (strncmp(item, " :: ", 4) != 0)
            return false;
        item += 4;
    }
    return false;
}

static const struct ocv_feature *find_feature(const struct ocv_feature *list, size_t n,
                                              const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i].name) == len && !memcmp(list[i].name, name, len))
            return &list[i];
    return NULL;
}

/* Has the device `rest`, "feature :: value"? A device's own list replaces the namespace's. */
static bool device_has(const struct ocv_namespace *list, const struct ocv_device *device,
                       const char *rest)
{
    const char *value = strstr(rest, " :: ");
    size_t len = value ? (size_t)(value - rest) : 0;
    const struct ocv_feature *f =
        value ? find_feature(device->features, device->n_features, rest, len) : NULL;
    if (value && !f)
        f = find_feature(list->features, list->n_features, rest, len);
    for (size_t i = 0; f && i < f->n_values; i++)
        if (!strcmp(f->values[i], value + 4))
            return true;
    return false;
}

/* Under `any` one device that counts is enough. */
static bool devices_have(const struct ocv_host_table_namespace *ns, const char *rest)
{
    size_t have = 0;
    for (size_t i = 0; i < ns->n_counted; i++)
        have += device_has(ns->list, ns->counted[i], rest);
    return have && (have == ns->n_counted || ns->policy == OCV_POLICY_ANY);
}

static bool meets_requirement(const struct ocv_host_table *host, const struct ocv_index *index,
                              const struct ocv_entry *entry, const char *item)
{
    for (size_t i = 0; i < entry->n_properties; i++) {
        uint32_t id = entry->properties[i];
        const struct ocv_host_table_namespace *ns = host->slots[host->slot_of[id]].ns;
        size_t n = strlen(ns->name);
        if (covers_property(item, index->properties[id]) && ocv_host_table_supports(host, id))
            return true;
        if (!strncmp(item, ns->name, n) && !strncmp(item + n, " :: ", 4) &&
            devices_have(ns, item + n + 4))
            return true;
    }
    return false;
}

size_t ocv_entry_unmet(const struct ocv_host_table *host, const struct ocv_index *index,
                       const struct ocv_entry *entry, const struct ocv_strings *required)
{
    size_t i = 0;
    while (i < required->count && meets_requirement(host, index, entry, required->list[i]))
        i++;
    return i;
}
