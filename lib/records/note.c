/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was resolved, as texts: an index need not stay in memory until it is known whether what was
 * chosen in it is there. */
#include "lib/records/records_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ocv_record_note {
    struct ocv_record record; /* its texts are those below */
    char *repository, *reference;
    char child[OCV_DIGEST_MAX], index[OCV_DIGEST_MAX], kept[OCV_DIGEST_MAX];
    char label[64];
    bool chosen; /* there is a record to be written beside the index */
    struct ocv_buffer properties, statics, text;
    struct ocv_error why; /* the index is not kept */
};

static int describe(struct ocv_record_note *note, const struct ocv_index *index,
                    const struct ocv_entry *entry, struct ocv_error *err)
{
    int status = ocv_index_describe(index, entry, &note->properties, &note->statics, err);
    if (status < 0)
        return status;
    snprintf(note->child, sizeof(note->child), "%s", entry->digest);
    snprintf(note->label, sizeof(note->label), "%s", entry->label);
    note->record.child = note->child;
    note->record.label = note->label;
    note->record.properties = note->properties.data ? note->properties.data : "";
    note->record.statics = note->statics.data;
    note->chosen = true;
    return OCV_OK;
}

/* One that is too large is not kept, which is told when the rest is written. */
static int keep_index(struct ocv_record_note *note, const struct ocv_index *index,
                      struct ocv_error *err)
{
    if (!ocv_index_has_variants(index))
        return OCV_OK;
    snprintf(note->kept, sizeof(note->kept), "%s", ocv_index_digest(index));
    int status = ocv_record_index_format(index, &note->record, &note->text, &note->why);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    if (status < 0)
        ocv_buffer_free(&note->text);
    return OCV_OK;
}

int ocv_record_note_new(const struct ocv_index *index, const struct ocv_entry *entry,
                        const struct ocv_record *where, struct ocv_record_note **out,
                        struct ocv_error *err)
{
    struct ocv_record_note *note = calloc(1, sizeof(*note));
    if (!note)
        return ocv_error_nomem(err);
    ocv_buffer_init(&note->properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&note->statics, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&note->text, OCV_RECORD_INDEX_MAX);
    note->repository = strdup(where->repository);
    note->reference = where->reference ? strdup(where->reference) : NULL;
    snprintf(note->index, sizeof(note->index), "%s",
             where->index ? where->index : ocv_index_digest(index));
    note->record = (struct ocv_record){.repository = note->repository,
                                       .index = note->index,
                                       .reference = note->reference,
                                       .secret = where->secret};
    int status =
        note->repository && (note->reference || !where->reference) ? OCV_OK : ocv_error_nomem(err);
    if (status == OCV_OK)
        status = keep_index(note, index, err);
    if (status == OCV_OK && entry && entry->label)
        status = describe(note, index, entry, err);
    if (status < 0) {
        ocv_record_note_free(note);
        return status;
    }
    *out = note;
    return OCV_OK;
}

size_t ocv_record_note_size(const struct ocv_record_note *note)
{
    return sizeof(*note) + note->properties.len + note->statics.len + note->text.len;
}

int ocv_record_note_write(const struct ocv_record_note *note, const char *dir,
                          struct ocv_error *err)
{
    int status = OCV_OK;
    struct ocv_record kept = note->record;
    kept.index = note->kept;
    if (note->text.len)
        status = ocv_record_index_write(dir, &kept, &note->text, err);
    else if (note->why.status < 0)
        status = ocv_error_set(err, note->why.status, "%s", note->why.message);
    int written =
        note->chosen ? ocv_record_write(dir, &note->record, status < 0 ? NULL : err) : OCV_OK;
    return status < 0 ? status : written;
}

void ocv_record_note_free(struct ocv_record_note *note)
{
    if (!note)
        return;
    free(note->repository);
    free(note->reference);
    ocv_buffer_free(&note->properties);
    ocv_buffer_free(&note->statics);
    ocv_buffer_free(&note->text);
    free(note);
}

int ocv_record_resolved(const char *dir, const struct ocv_index *index,
                        const struct ocv_entry *entry, const struct ocv_record *where,
                        struct ocv_error *err)
{
    struct ocv_record_note *note = NULL;
    int status = ocv_record_note_new(index, entry, where, &note, err);
    if (status == OCV_OK)
        status = ocv_record_note_write(note, dir, err);
    ocv_record_note_free(note);
    return status;
}
