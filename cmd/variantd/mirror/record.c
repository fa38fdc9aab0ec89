/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records choices for hooks and verify. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/internal/records/records.h"

#include <stdio.h>

static void log_failure(int status, const struct ocv_error *err)
{
    static atomic_bool told; /* a failure of the directory is logged once */
    if (status < 0 && !atomic_exchange(&told, true))
        log_line(LOG_LEVEL_WARNING, "choices are not recorded: %s", err->message);
}

void choice_note(struct mirror_choice *choice, const struct mirror *mirror,
                 const struct source *from, const struct ocv_reference *reference,
                 const struct ocv_index *index, const struct ocv_entry *entry)
{
    char name[1024];
    struct ocv_error err = {0};
    struct ocv_record_note *note = NULL;
    bool secret = client_is_daemon(from->client) && !mirror->settings->serve_private;
    snprintf(name, sizeof(name), "%s%s%s", reference->name, reference->tag ? ":" : "",
             reference->tag ? reference->tag : "");
    const struct ocv_record where = {
        .repository = reference->name, .reference = name, .secret = secret};
    log_failure(ocv_record_note_new(index, entry, &where, &note, &err), &err);
    if (note && !budget_acquire(ocv_record_note_size(note))) {
        ocv_record_note_free(note);
        note = NULL;
    }
    atomic_store(&choice->note, note);
}

void choice_drop_note(struct ocv_record_note *note)
{
    if (note)
        budget_release(ocv_record_note_size(note));
    ocv_record_note_free(note);
}

struct ocv_record_note *choice_take_note(struct mirror_choice *choice, bool seen)
{
    struct ocv_record_note *note = atomic_exchange(&choice->note, NULL);
    if (seen)
        return note;
    choice_drop_note(note);
    return NULL;
}

void choice_record(const struct mirror *mirror, struct ocv_record_note *note)
{
    struct ocv_error err = {0};
    log_failure(ocv_record_note_write(note, mirror->settings->records, &err), &err);
    choice_drop_note(note);
}
