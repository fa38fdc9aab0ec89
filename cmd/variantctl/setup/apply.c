/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a plan. The order makes an interruption at any point harmless: backups; files that are
 * restored, which the old state still describes; the new state; files that become ours. */
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int setup_note_directories(struct setup *setup, const char *path, struct ocv_error *err)
{
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        ocv_auto_free char *directory = strndup(path, (size_t)(at - path));
        if (!directory)
            return ocv_error_nomem(err);
        bool known = setup_exists(setup, directory, true);
        for (size_t i = 0; i < setup->n_directories && !known; i++)
            known = strcmp(setup->directories[i], directory) == 0;
        if (known)
            continue;
        if (setup->n_directories == SETUP_FILES_MAX)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "more than %u directories",
                                 SETUP_FILES_MAX);
        setup->directories[setup->n_directories++] = ocv_steal(&directory);
    }
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
    for (size_t i = 0; i < setup->n_files; i++) {
        struct setup_file *file = setup->files[i];
        if (setup_is_ours(file) != ours || !setup_changes(file))
            continue;
        OCV_TRY(file->want.there ? setup_write_file(setup, file->path, &file->want, !ours, err)
                                 : setup_remove_file(setup, file->path, err));
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
    return OCV_OK;
}

int setup_apply(struct setup *setup, struct ocv_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < setup->n_files; i++) /* left by killed runs */
        setup_unlink_temporary(setup, setup->files[i]->path, !setup->files[i]->torn);
    for (size_t i = 0; i < setup->n_files; i++) {
        struct setup_file *file = setup->files[i];
        if (!setup_is_ours(file))
            continue;
        n++;
        /* Record the digest, latest first, so that the file is recognised as ours later. */
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
        OCV_TRY(setup_note_directories(setup, file->path, err));
    }
    if (n)
        OCV_TRY(setup_check_state(setup, err));
    for (size_t i = 0; i < setup->n_files; i++)
        if (setup_is_ours(setup->files[i]) && setup->files[i]->base.there)
            OCV_TRY(setup_save_backup(setup, &setup->files[i]->base, err));
    OCV_TRY(write_files(setup, false, err));
    if (n)
        OCV_TRY(setup_save_state(setup, err));
    OCV_TRY(write_files(setup, true, err));
    setup_remove_directories(setup);
    if (n == 0)
        return setup_drop_state(setup, err);
    setup_sweep_backups(setup);
    return setup_save_state(setup, err);
}
