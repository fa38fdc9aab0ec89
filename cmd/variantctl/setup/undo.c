/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Undoes an earlier set-up in memory: byte for byte if a file is still what was written, else by
 * removing only our part. */
#include "cmd/variantctl/setup/setup.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* True if there are only blanks, our comments and an empty JSON object. */
static bool says_nothing(const struct ocv_buffer *text)
{
    static const char *const comments[] = {SETUP_HOSTS_COMMENT, SETUP_FILE_COMMENT};
    for (size_t i = 0; text->data && i < text->len; i++) {
        const char *at = text->data + i;
        size_t k = 0;
        if (*at && strchr(" \t\r\n{}", *at))
            continue;
        while (k < 2 && strncmp(at, comments[k], strlen(comments[k])) != 0)
            k++;
        if (k == 2)
            return false;
        i += strcspn(at, "\n");
    }
    return true;
}

/* Others changed the file: remove our part from it. */
static int take_out(struct setup *setup, struct setup_file *file, const struct setup_record *record,
                    struct ocv_error *err)
{
    struct ocv_buffer *text = &file->base.text;
    for (size_t i = record->n_own; i-- > 0;) {
        int status = setup_own_remove(&record->own[i], file->path, text, err);
        if (status < 0 && record->before[0])
            ocv_error_hint(err, "the original file is kept in %s%s/%s.d/%s", setup->root,
                           setup->state_dir, setup->engine, strchr(record->before, ':') + 1);
        if (status < 0)
            return status;
    }
    /* Remove the first line of a file that was ours alone and no longer is. */
    if (!record->before[0] && text->data &&
        strncmp(text->data, SETUP_FILE_COMMENT, strlen(SETUP_FILE_COMMENT)) == 0) {
        size_t end = strcspn(text->data, "\n");
        end += strspn(text->data + end, "\r\n");
        OCV_TRY(text_splice(text, 0, end, NULL, 0, err));
    }
    file->reduced = true;
    file->base.meta.mtime = (struct timespec){.tv_nsec = UTIME_NOW};
    if (!record->before[0] && says_nothing(text))
        file->base.there = false;
    return setup_note(setup, err,
                      "note: %s was changed by others since; only what the set-up put there counts "
                      "as ours",
                      file->path);
}

static int undo_file(struct setup *setup, const struct setup_record *record, struct ocv_error *err)
{
    struct setup_file *file = NULL;
    char digest[OCV_DIGEST_MAX] = "";
    OCV_TRY(setup_open(setup, record->path, &file, err));
    if (!file->disk.there)
        return OCV_OK; /* it was removed: there is nothing to undo */
    OCV_TRY(ocv_digest_bytes(file->disk.text.data, file->disk.text.len, digest, err));
    bool ours = false;
    for (size_t i = 0; i < record->n_written; i++)
        ours = ours || strcmp(record->written[i], digest) == 0;
    if (ours) {
        file->base.meta = record->meta;
        file->base.there = record->before[0] != '\0';
        ocv_auto_buffer backup;
        ocv_buffer_init(&backup, SETUP_FILE_MAX);
        if (file->base.there) {
            OCV_TRY(setup_read_backup(setup, record->before, &backup, err));
            struct ocv_buffer now = file->base.text;
            file->base.text = backup;
            backup = now;
        }
    } else if (strcmp(record->before, digest) != 0)
        OCV_TRY(take_out(setup, file, record, err));
    /* contents that led to the same base stay ours in the next state */
    char base[OCV_DIGEST_MAX] = "";
    if (file->base.there)
        OCV_TRY(ocv_digest_bytes(file->base.text.data, file->base.text.len, base, err));
    if (strcmp(base, record->before) == 0) {
        memcpy(file->written, record->written, sizeof(file->written));
        file->n_written = record->n_written;
    }
    if (!file->base.there)
        ocv_buffer_free(&file->base.text);
    return setup_content_copy(&file->want, &file->base, err);
}

int setup_undo(struct setup *setup, struct ocv_error *err)
{
    struct setup_state state;
    int status = setup_load_state(setup, &state, err);
    setup->installed = status == OCV_OK && state.there;
    for (size_t i = 0; i < state.n_directories && status == OCV_OK; i++) {
        if (setup->n_directories == SETUP_FILES_MAX)
            break;
        char *copy = strdup(state.directories[i]);
        if (!copy)
            status = ocv_error_nomem(err);
        else
            setup->directories[setup->n_directories++] = copy;
    }
    for (size_t i = 0; i < state.n_records && status == OCV_OK; i++)
        status = undo_file(setup, &state.records[i], err);
    setup_state_free(&state);
    return status;
}
