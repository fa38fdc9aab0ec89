/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* `require`: an entry that fits is rejected unless it matched the required property, or, where a
 * single value is required, the devices that serve it have that value. */
#include "lib/core/resolve/resolve_internal.h"

#include <string.h>

/* Has the device `rest`, "feature :: value"? A device's own list replaces the namespace's. */
static bool device_has(const struct ocv_namespace *list, const struct ocv_device *device,
                       const char *rest)
{
    const char *value = strstr(rest, " :: ");
    size_t len = value ? (size_t)(value - rest) : 0, n = device->n_features + list->n_features;
    const struct ocv_feature *f = NULL;
    for (size_t i = 0; value && !f && i < n; i++) {
        f = i < device->n_features ? &device->features[i] : &list->features[i - device->n_features];
        if (strlen(f->name) != len || memcmp(f->name, rest, len) != 0)
            f = NULL;
    }
    for (size_t i = 0; f && i < f->n_values; i++)
        if (!strcmp(f->values[i], value + 4))
            return true;
    return false;
}

size_t ocv_entry_unmet(const struct ocv_host_table *host, const struct ocv_index *index,
                       const struct ocv_entry *entry, const struct ocv_strings *required)
{
    for (size_t i = 0; i < required->count; i++) {
        const char *item = required->list[i];
        bool met = false;
        for (size_t k = 0; k < entry->n_properties && !met; k++) {
            uint32_t id = entry->properties[k];
            const struct ocv_property *p = &index->properties[id];
            const struct ocv_host_table_namespace *ns = host->slots[host->slot_of[id]].ns;
            size_t n = strlen(ns->name), have = 0;
            met = ocv_preferences_parts(item, p->ns, p->feature, p->value) &&
                  ocv_host_table_supports(host, id);
            if (met || strncmp(item, ns->name, n) != 0 || strncmp(item + n, " :: ", 4) != 0)
                continue;
            for (size_t d = 0; d < ns->n_counted; d++)
                have += device_has(ns->list, ns->counted[d], item + n + 4);
            /* under `any` one device that counts is enough */
            met = have && (have == ns->n_counted || ns->policy == OCV_POLICY_ANY);
        }
        if (!met)
            return i;
    }
    return required->count;
}
