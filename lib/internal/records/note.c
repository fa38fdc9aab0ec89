/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was resolved, as texts: an index need not stay in memory until it is known whether what was
 * chosen in it is there. */
#include "lib/base/cleanup.h"
#include "lib/internal/records/records_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ocv_record_note {
    struct ocv_record record;  /* child NULL: nothing was chosen, there is the index alone */
    char kept[OCV_DIGEST_MAX]; /* the index's own digest */
    struct ocv_buffer text;
    struct ocv_error why; /* the index is not kept */
};

int ocv_record_note_new(const struct ocv_index *index, const struct ocv_entry *entry,
                        const struct ocv_record *where, struct ocv_record_note **out,
                        struct ocv_error *err)
{
    ocv_auto(ocv_record_note) note = calloc(1, sizeof(*note));
    ocv_auto_record chosen = {0};
    if (!note)
        return ocv_error_nomem(err);
    ocv_buffer_init(&note->text, OCV_RECORD_INDEX_MAX);
    if (entry && entry->label)
        OCV_TRY(ocv_entry_describe(index, entry, &chosen, err));
    chosen.repository = where->repository;
    chosen.index = where->index ? where->index : ocv_index_digest(index);
    chosen.reference = where->reference;
    chosen.secret = where->secret;
    OCV_TRY(ocv_record_copy(&chosen, &note->record, err));
    if (ocv_index_has_variants(index)) {
        /* An index that is too large is not kept; this is reported when the rest is written. */
        snprintf(note->kept, sizeof(note->kept), "%s", ocv_index_digest(index));
        int status = ocv_record_index_format(index, &note->record, &note->text, &note->why);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status < 0)
            ocv_buffer_free(&note->text);
    }
    *out = ocv_steal(&note);
    return OCV_OK;
}

size_t ocv_record_note_size(const struct ocv_record_note *note)
{
    return sizeof(*note) + ocv_record_text_size(&note->record) + note->text.len;
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
        note->record.child ? ocv_record_write(dir, &note->record, status < 0 ? NULL : err) : OCV_OK;
    return status < 0 ? status : written;
}

void ocv_record_note_free(struct ocv_record_note *note)
{
    if (!note)
        return;
    ocv_record_free(&note->record);
    ocv_buffer_free(&note->text);
    free(note);
}

int ocv_record_chosen(const char *dir, const struct ocv_index *index, const struct ocv_entry *entry,
                      const struct ocv_record *where, struct ocv_error *err)
{
    ocv_auto(ocv_record_note) note = NULL;
    OCV_TRY(ocv_record_note_new(index, entry, where, &note, err));
    return ocv_record_note_write(note, dir, err);
}
