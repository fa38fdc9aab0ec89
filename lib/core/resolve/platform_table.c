/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Platforms of an index compared once with all hosts of one platform. */
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/core/resolve/resolve_internal.h"

#include <string.h>

struct ocv_platform_table *ocv_platform_table_make(struct ocv_arena *arena,
                                                   const struct ocv_index *index,
                                                   const struct ocv_platform *host)
{
    struct ocv_platform_table *table = ocv_arena_alloc(arena, 1, sizeof(*table));
    if (!table)
        return NULL;
    table->places = ocv_arena_alloc(arena, index->n_entries + 1, sizeof(*table->places));
    if (!table->places)
        return NULL;
    table->host = *host;
    for (size_t i = 0; i < index->n_entries; i++) {
        const struct ocv_entry *entry = &index->entries[i];
        struct ocv_platform_place *p = &table->places[i];
        const char *why;
        p->architecture = entry->label ? 0 : 2;
        if (!entry->has_platform)
            continue;
        int place = ocv_platform_match(host, &entry->platform, &why);
        if (place < 0) {
            p->code = !strcmp(why, "variant")       ? OCV_REJECT_PLATFORM_VARIANT
                      : !strcmp(why, "os.features") ? OCV_REJECT_OS_FEATURES
                                                    : OCV_REJECT_PLATFORM;
            continue;
        }
        p->place = (uint32_t)place;
        p->architecture = ocv_platform_same_architecture(host, &entry->platform) ? 0 : 1;
    }
    /* what a client without this library takes: the first entry of its platform, where amd64 levels
     * are not detected (runtimes.md 2.5) */
    struct ocv_platform plain = *host;
    if (plain.architecture && !strcmp(plain.architecture, "amd64"))
        plain.variant = NULL;
    table->older = ocv_index_older_choice(index, &plain, false);
    return table;
}

static bool same_platform(const struct ocv_platform *a, const struct ocv_platform *b)
{
    if (!ocv_text_same(a->os, b->os) || !ocv_text_same(a->architecture, b->architecture) ||
        !ocv_text_same(a->variant, b->variant) || !ocv_text_same(a->os_version, b->os_version) ||
        a->n_os_features != b->n_os_features)
        return false;
    for (size_t i = 0; i < a->n_os_features; i++)
        if (strcmp(a->os_features[i], b->os_features[i]) != 0)
            return false;
    return true;
}

/* NULL stays; false: no memory. */
static bool copy_text(struct ocv_arena *arena, const char **text)
{
    if (!*text)
        return true;
    *text = ocv_arena_copy(arena, *text, strlen(*text));
    return *text != NULL;
}

int ocv_platform_table_get(struct ocv_platform_tables *tables, const struct ocv_index *index,
                           const struct ocv_platform *host, const struct ocv_platform_table **out,
                           struct ocv_error *err)
{
    struct ocv_platform own;
    for (const struct ocv_platform_table *t = tables->first; t; t = t->next)
        if (same_platform(&t->host, host))
            return *out = t, OCV_OK;
    const char **texts[] = {&own.os, &own.architecture, &own.variant, &own.os_version};
    own = *host;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!copy_text(&tables->arena, texts[i]))
            return ocv_error_nomem(err);
    const char **features =
        ocv_arena_alloc(&tables->arena, host->n_os_features + 1, sizeof(*features));
    if (!features)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < host->n_os_features; i++) {
        features[i] = host->os_features[i];
        if (!copy_text(&tables->arena, &features[i]))
            return ocv_error_nomem(err);
    }
    own.os_features = features;

    struct ocv_platform_table *table = ocv_platform_table_make(&tables->arena, index, &own);
    if (!table)
        return ocv_error_nomem(err);
    table->next = tables->first;
    tables->first = table;
    *out = table;
    return OCV_OK;
}
