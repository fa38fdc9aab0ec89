/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is said of a variant: by its entry in an index, or by a record. */
#include "lib/core/core_internal.h"
#include "lib/internal/records/records_internal.h"

#include <stdlib.h>
#include <string.h>

/* Offsets of a record's texts in its structure. */
#define TEXTS 8
static void list_texts(struct ocv_record *record, const char **texts[TEXTS])
{
    const char **const all[TEXTS] = {&record->repository, &record->child,      &record->index,
                                     &record->label,      &record->properties, &record->statics,
                                     &record->reference,  &record->tag};
    memcpy(texts, all, sizeof(all));
}

size_t ocv_record_text_size(const struct ocv_record *record)
{
    struct ocv_record same = *record;
    const char **texts[TEXTS];
    size_t size = 0;
    list_texts(&same, texts);
    for (size_t i = 0; i < TEXTS; i++)
        size += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    return size;
}

int ocv_record_copy(const struct ocv_record *from, struct ocv_record *out, struct ocv_error *err)
{
    struct ocv_record copy = *from;
    const char **texts[TEXTS];
    char *at = malloc(ocv_record_text_size(from) + 1);
    if (!at)
        return ocv_error_nomem(err);
    copy.own = at;
    list_texts(&copy, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        size_t size = *texts[i] ? strlen(*texts[i]) + 1 : 0;
        if (size)
            *texts[i] = memcpy(at, *texts[i], size);
        at += size;
    }
    *out = copy;
    return OCV_OK;
}

void ocv_record_free(struct ocv_record *record)
{
    free(record->own);
    *record = (struct ocv_record){0};
}

int ocv_entry_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                       struct ocv_record *out, struct ocv_error *err)
{
    ocv_auto_buffer properties, statics;
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&statics, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(ocv_index_describe(index, entry, &properties, &statics, err));
    const struct ocv_record borrowed = {.child = entry->digest,
                                        .index = ocv_index_digest(index),
                                        .label = entry->label,
                                        .properties = properties.data ? properties.data : "",
                                        .statics = statics.data,
                                        .tag = ocv_entry_tag(index, entry)};
    return ocv_record_copy(&borrowed, out, err);
}
