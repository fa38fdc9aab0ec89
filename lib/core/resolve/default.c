/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which entry is the default, and what clients that know nothing of variants take. */
#include "lib/core/resolve/resolve_internal.h"
#include "ocivariant/index.h"

#include <string.h>

bool ocv_entry_is_unfinished(const struct ocv_entry *entry)
{
    return entry->kind == OCV_ENTRY_NON_VARIANT && ocv_platform_is_hidden(entry->platform.variant);
}

bool ocv_entry_is_default(const struct ocv_entry *entry)
{
    return entry->code == OCV_REJECT_NONE && entry->kind != OCV_ENTRY_VARIANT &&
           !ocv_entry_is_unfinished(entry) && !ocv_platform_is_other_format(&entry->platform);
}

bool ocv_index_shows_default(const struct ocv_index *index, const struct ocv_entry *entry)
{
    return ocv_index_has_variants(index) && entry->code == OCV_REJECT_NONE &&
           entry->kind == OCV_ENTRY_NON_VARIANT && !ocv_entry_is_unfinished(entry);
}

const struct ocv_entry *ocv_index_older_choice(const struct ocv_index *index,
                                               const struct ocv_platform *machine,
                                               bool any_features)
{
    const struct ocv_entry *best = NULL;
    int best_place = 0;
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (!e->has_platform || ocv_platform_is_hidden(e->platform.variant))
            continue;
        if (e->code != OCV_REJECT_NONE && e->code < OCV_REJECT_LABEL_MISSING)
            continue; /* no image; a malformed label does not stop an older client */
        struct ocv_platform platform = e->platform;
        if (any_features)
            platform.n_os_features = 0;
        int place = ocv_platform_match(machine, &platform, NULL);
        if (place >= 0 && (!best || place < best_place)) {
            best = e;
            best_place = place;
        }
    }
    return best;
}
