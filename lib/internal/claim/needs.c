/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What an entry needs of a node. */
#include "lib/internal/claim/claim_internal.h"

#include <string.h>

/* "v3" -> 3 */
static unsigned level_of(const char *text)
{
    return text && text[0] == 'v' && text[1] >= '1' && text[1] <= '9' && !text[2]
               ? (unsigned)(text[1] - '0')
               : 0;
}

unsigned ocv_claim_level(const struct ocv_claim_work *work, const struct ocv_entry *entry)
{
    unsigned lowest = 0, platform = 0;
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(work->index, entry->properties[i]);
        unsigned level = level_of(p.value);
        if (!strcmp(p.ns, OCV_LEVEL_NAMESPACE) && !strcmp(p.feature, OCV_LEVEL_FEATURE) &&
            (!lowest || level < lowest))
            lowest = level;
    }
    if (entry->has_platform && entry->platform.architecture &&
        !strcmp(entry->platform.architecture, "amd64"))
        platform = level_of(entry->platform.variant);
    return platform > lowest ? platform : lowest;
}

int ocv_claim_driver(struct ocv_claim_work *work, const struct ocv_entry *entry,
                     const struct ocv_device_driver **out, bool *plain, struct ocv_error *err)
{
    const char *seen = NULL;
    *out = NULL;
    *plain = false;
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(work->index, entry->properties[i]);
        bool own = false; /* the index itself says what a host has of it */
        for (size_t k = 0; k < work->index->n_statics; k++)
            own = own || !strcmp(work->index->statics[k].name, p.ns);
        if (own || ocv_vocabulary_is_cpu(p.ns) || (seen && !strcmp(seen, p.ns)))
            continue;
        if (seen) {
            *out = NULL;
            return ocv_claim_warn(work, err, "%s is left out: it needs devices of %s and %s",
                                  entry->label, seen, p.ns);
        }
        *out = work->facts[entry->properties[i]].driver;
        if (!*out)
            return ocv_claim_warn(work, err, "%s is left out: no driver is known for devices of %s",
                                  entry->label, p.ns);
        seen = p.ns;
    }
    *plain = !seen;
    return OCV_OK;
}
