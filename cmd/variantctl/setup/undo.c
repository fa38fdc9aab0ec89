/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Undoes an earlier set-up in memory: byte for byte if a file is still what was written, else by
 * removing only our part. */
#include "cmd/variantctl/setup/setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* True if there are only blanks, our comments and an empty JSON object. */
static bool says_nothing(const struct ocv_buffer *text)
{
    static const char *const comments[] = {SETUP_HOSTS_COMMENT, SETUP_FILE_COMMENT};
    for (size_t i = 0; i < text->len; i++) {
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

/* Remove the first line of a file that was ours alone and no longer is. */
static int drop_comment(struct ocv_buffer *text, struct ocv_error *err)
{
    if (!text->data || strncmp(text->data, SETUP_FILE_COMMENT, strlen(SETUP_FILE_COMMENT)) != 0)
        return OCV_OK;
    size_t end = strcspn(text->data, "\n");
    end += strspn(text->data + end, "\r\n");
    return text_splice(text, 0, end, NULL, 0, err);
}

/* Others changed the file: remove our part from it. */
static int take_out(struct setup *setup, struct setup_file *file, const struct setup_record *record,
                    struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = record->n_own; i-- > 0 && status == OCV_OK;)
        status = setup_own_remove(&record->own[i], file->path, &file->base.text, err);
    if (status < 0) {
        if (record->before[0])
            ocv_error_hint(err, "the original file is kept in %s%s/%s.d/%s", setup->root,
                           setup->state_dir, setup->engine, strchr(record->before, ':') + 1);
        return status;
    }
    if (!record->before[0] && (status = drop_comment(&file->base.text, err)) < 0)
        return status;
    file->reduced = true;
    file->base.meta.mtime = (struct timespec){.tv_nsec = UTIME_NOW};
    if (!record->before[0] && says_nothing(&file->base.text))
        file->base.there = false;
    return setup_note(setup, err,
                      "note: %s was changed by others since; only what the set-up put there counts "
                      "as ours",
                      file->path);
}

static int put_back(struct setup *setup, struct setup_file *file, const struct setup_record *record,
                    struct ocv_error *err)
{
    struct ocv_buffer backup;
    file->base.meta = record->meta;
    file->base.there = record->before[0] != '\0';
    if (!file->base.there)
        return OCV_OK;
    ocv_buffer_init(&backup, SETUP_FILE_MAX);
    int status = setup_read_backup(setup, record->before, &backup, err);
    if (status < 0) {
        ocv_buffer_free(&backup);
        return status;
    }
    ocv_buffer_free(&file->base.text);
    file->base.text = backup;
    return OCV_OK;
}

static int undo_file(struct setup *setup, const struct setup_record *record, struct ocv_error *err)
{
    struct setup_file *file = NULL;
    char digest[OCV_DIGEST_MAX] = "";
    int status = setup_open(setup, record->path, &file, err);
    if (status < 0 || !file->disk.there)
        return status; /* it was removed: there is nothing to undo */
    status = ocv_digest_bytes(file->disk.text.data, file->disk.text.len, digest, err);
    bool ours = false;
    for (size_t i = 0; i < record->n_written; i++)
        ours = ours || strcmp(record->written[i], digest) == 0;
    if (status == OCV_OK && ours)
        status = put_back(setup, file, record, err);
    else if (status == OCV_OK && strcmp(record->before, digest) != 0)
        status = take_out(setup, file, record, err);
    /* contents that led to the same base stay ours in the next state */
    char base[OCV_DIGEST_MAX] = "";
    if (status == OCV_OK && file->base.there)
        status = ocv_digest_bytes(file->base.text.data, file->base.text.len, base, err);
    if (status == OCV_OK && strcmp(base, record->before) == 0) {
        memcpy(file->written, record->written, sizeof(file->written));
        file->n_written = record->n_written;
    }
    if (!file->base.there)
        ocv_buffer_free(&file->base.text);
    return status < 0 ? status : setup_content_copy(&file->want, &file->base, err);
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
