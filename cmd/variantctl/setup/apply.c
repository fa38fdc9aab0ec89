/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a plan. The order makes an interruption at any point harmless: backups; files that are
 * restored, which the old state still describes; the new state; files that become ours. */
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Temporary files of killed runs beside the plan's files. */
static void sweep_temporaries(const struct setup *setup)
{
    for (size_t i = 0; i < setup->n_files; i++)
        setup_unlink_temporary(setup, setup->files[i]->path, !setup->files[i]->torn);
}

bool setup_changes(const struct setup_file *file)
{
    const struct setup_meta *a = &file->want.meta, *b = &file->disk.meta;
    if (file->torn || !setup_content_equal(&file->want, &file->disk))
        return true;
    return file->want.there && (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid);
}

bool setup_is_ours(const struct setup_file *file)
{
    return !setup_content_equal(&file->want, &file->base);
}

/* Record the digest, so that the file is recognised as ours later. */
static int remember_written(struct setup_file *file, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX] = "";
    OCV_TRY(ocv_digest_bytes(file->want.text.data, file->want.text.len, digest, err));
    size_t at = 0;
    while (at < file->n_written && strcmp(file->written[at], digest) != 0)
        at++;
    if (at == file->n_written && file->n_written < SETUP_WRITTEN_MAX)
        file->n_written++;
    else if (at == file->n_written)
        at = SETUP_WRITTEN_MAX - 1;
    memmove(file->written + 1, file->written, at * sizeof(*file->written));
    memcpy(file->written[0], digest, sizeof(digest));
    return OCV_OK;
}

static int add_directory(struct setup *setup, const char *path, size_t len, struct ocv_error *err)
{
    for (size_t i = 0; i < setup->n_directories; i++)
        if (strlen(setup->directories[i]) == len && memcmp(setup->directories[i], path, len) == 0)
            return OCV_OK;
    if (setup->n_directories == SETUP_FILES_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "more than %u directories", SETUP_FILES_MAX);
    char *copy = strndup(path, len);
    if (!copy)
        return ocv_error_nomem(err);
    setup->directories[setup->n_directories++] = copy;
    return OCV_OK;
}

int setup_note_directories(struct setup *setup, const char *path, struct ocv_error *err)
{
    int status = OCV_OK;
    for (const char *at = strchr(path + 1, '/'); at && status == OCV_OK; at = strchr(at + 1, '/')) {
        char *directory = strndup(path, (size_t)(at - path));
        if (!directory)
            return ocv_error_nomem(err);
        if (!setup_exists(setup, directory, true))
            status = add_directory(setup, directory, strlen(directory), err);
        free(directory);
    }
    return status;
}

static void report_written(const struct setup *setup, const struct setup_file *file)
{
    char digest[OCV_DIGEST_MAX] = "";
    char *backup = NULL;
    const char *root = setup->root, *path = file->path;
    if (!file->want.there) {
        printf("removed %s%s\n", root, path);
    } else if (!setup_is_ours(file)) {
        printf(file->reduced ? "removed the set-up's part of %s%s\n" : "put back %s%s\n", root,
               path);
    } else if (file->base.there) {
        if (ocv_digest_bytes(file->base.text.data, file->base.text.len, digest, NULL) == OCV_OK)
            backup = setup_backup_path(setup, digest, NULL);
        printf("changed %s%s (before: %s%s)\n", root, path, root, backup ? backup : "?");
        free(backup);
    } else {
        printf("wrote %s%s\n", root, path);
    }
    if (*root && file->disk.there && file->other_names)
        printf("note: other names (hard links) of %s%s keep the old content\n", root, path);
}

static int write_one(struct setup *setup, struct setup_file *file, struct ocv_error *err)
{
    bool back = !setup_is_ours(file);
    OCV_TRY(file->want.there ? setup_write_file(setup, file->path, &file->want, back, err)
                             : setup_remove_file(setup, file->path, err));
    report_written(setup, file);
    return OCV_OK;
}

void setup_remove_directories(struct setup *setup)
{
    for (size_t i = setup->n_directories; i-- > 0;) {
        if (!setup_remove_directory(setup, setup->directories[i]))
            continue;
        free(setup->directories[i]);
        memmove(setup->directories + i, setup->directories + i + 1,
                (setup->n_directories - i - 1) * sizeof(*setup->directories));
        setup->n_directories--;
    }
}

static int write_files(struct setup *setup, bool ours, struct ocv_error *err)
{
    for (size_t i = 0; i < setup->n_files; i++)
        if (setup_is_ours(setup->files[i]) == ours && setup_changes(setup->files[i]))
            OCV_TRY(write_one(setup, setup->files[i], err));
    return OCV_OK;
}

int setup_apply(struct setup *setup, struct ocv_error *err)
{
    size_t n = 0;
    int status = OCV_OK;
    sweep_temporaries(setup);
    for (size_t i = 0; i < setup->n_files && status == OCV_OK; i++) {
        struct setup_file *file = setup->files[i];
        if (!setup_is_ours(file))
            continue;
        n++;
        status = remember_written(file, err);
        if (status == OCV_OK)
            status = setup_note_directories(setup, file->path, err);
    }
    if (status == OCV_OK && n)
        status = setup_check_state(setup, err);
    for (size_t i = 0; i < setup->n_files && status == OCV_OK; i++)
        if (setup_is_ours(setup->files[i]) && setup->files[i]->base.there)
            status = setup_save_backup(setup, &setup->files[i]->base, err);
    if (status == OCV_OK)
        status = write_files(setup, false, err);
    if (status == OCV_OK && n)
        status = setup_save_state(setup, err);
    if (status == OCV_OK)
        status = write_files(setup, true, err);
    if (status < 0)
        return status;
    setup_remove_directories(setup);
    if (n == 0)
        return setup_drop_state(setup, err);
    setup_sweep_backups(setup);
    return setup_save_state(setup, err);
}
