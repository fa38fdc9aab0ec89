/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the plan: content on disk, and content wanted. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int load_file(const struct setup *setup, struct setup_file *file, struct ocv_error *err)
{
    ocv_auto_fd int fd = setup_open_file(setup, file->path);
    if (fd >= 0) {
        struct stat st;
        if (fstat(fd, &st) < 0)
            return ocv_error_set(err, OCV_ERR_IO, "%s: cannot read: %s", file->path,
                                 strerror(errno));
        if (!S_ISREG(st.st_mode))
            return ocv_error_set(err, OCV_ERR_DATA, "%s%s: not a regular file", setup->root,
                                 file->path);
        file->disk.there = true;
        file->disk.meta = (struct setup_meta){st.st_mode & 07777, st.st_uid, st.st_gid, st.st_mtim};
        file->other_names = st.st_nlink > 1;
        int status = setup_read_whole(setup, file->path, &file->disk.text, err);
        file->torn = status == OCV_OK;
        if (status == OCV_ERR_NOT_FOUND)
            status = setup_read_fd(fd, file->path, &file->disk.text, err);
        if (status < 0)
            return status == OCV_ERR_NOMEM ? status
                                           : ocv_error_prefix(err, "%s%s", setup->root, file->path);
    } else if (errno == ELOOP) /* links were followed, so this one is dangling */
        return ocv_error_set(err, OCV_ERR_DATA, "%s%s: a dangling link", setup->root, file->path);
    else if (errno != ENOENT)
        return ocv_error_set(err, OCV_ERR_IO, "%s%s: cannot read: %s", setup->root, file->path,
                             strerror(errno));
    OCV_TRY(setup_content_copy(&file->base, &file->disk, err));
    return setup_content_copy(&file->want, &file->disk, err);
}

void setup_own_free(struct setup_own *own)
{
    free(own->table);
    free(own->key);
    free(own->value);
    free(own->previous);
}

static void file_free(struct setup_file *file)
{
    for (size_t i = 0; i < file->n_own; i++)
        setup_own_free(&file->own[i]);
    free(file->own);
    free(file->path);
    ocv_buffer_free(&file->disk.text);
    ocv_buffer_free(&file->base.text);
    ocv_buffer_free(&file->want.text);
    free(file);
}

int setup_open(struct setup *setup, const char *path, struct setup_file **out,
               struct ocv_error *err)
{
    ocv_auto_free char *real = NULL;
    OCV_TRY(setup_resolve(setup, path, &real, err));
    for (size_t i = 0; i < setup->n_files; i++)
        if (strcmp(setup->files[i]->path, real) == 0) {
            *out = setup->files[i];
            return OCV_OK;
        }
    struct setup_file *file = setup->n_files < SETUP_FILES_MAX ? calloc(1, sizeof(*file)) : NULL;
    if (!file)
        return setup->n_files < SETUP_FILES_MAX
                   ? ocv_error_nomem(err)
                   : ocv_error_set(err, OCV_ERR_UNSUPPORTED, "more than %u files", SETUP_FILES_MAX);
    file->path = ocv_steal(&real);
    ocv_buffer_init(&file->disk.text, SETUP_FILE_MAX);
    ocv_buffer_init(&file->base.text, SETUP_FILE_MAX);
    ocv_buffer_init(&file->want.text, SETUP_FILE_MAX);
    int status = load_file(setup, file, err);
    if (status < 0) {
        file_free(file);
        return status;
    }
    setup->files[setup->n_files++] = file;
    *out = file;
    return OCV_OK;
}

bool setup_content_equal(const struct setup_content *a, const struct setup_content *b)
{
    if (a->there != b->there)
        return false;
    return !a->there ||
           (a->text.len == b->text.len &&
            (a->text.len == 0 || memcmp(a->text.data, b->text.data, a->text.len) == 0));
}

int setup_content_copy(struct setup_content *to, const struct setup_content *from,
                       struct ocv_error *err)
{
    ocv_buffer_free(&to->text);
    to->there = from->there;
    to->meta = from->meta;
    return ocv_buffer_append(&to->text, from->text.data, from->text.len, err);
}

int setup_want(struct setup_file *file, const char *text, size_t len, struct ocv_error *err)
{
    struct ocv_buffer copy;
    ocv_buffer_init(&copy, SETUP_FILE_MAX);
    OCV_TRY(ocv_buffer_append(&copy, text, len, err));
    ocv_buffer_free(&file->want.text);
    file->want.text = copy;
    if (!file->want.there)
        file->want.meta = (struct setup_meta){.mode = 0644, .uid = geteuid(), .gid = getegid()};
    file->want.there = true;
    return OCV_OK;
}

static char *copy_or_null(const char *text, bool *failed)
{
    char *copy = text ? strdup(text) : NULL;
    *failed = *failed || (text && !copy);
    return copy;
}

int setup_add_own(struct setup_file *file, enum setup_own_kind kind, const char *table,
                  const char *key, const char *value, const char *previous, struct ocv_error *err)
{
    struct setup_own *added = ocv_array_grow(&file->own, file->n_own);
    if (!added)
        return ocv_error_nomem(err);
    bool failed = false;
    struct setup_own own = {kind, copy_or_null(table, &failed), copy_or_null(key, &failed),
                            copy_or_null(value, &failed), copy_or_null(previous, &failed)};
    if (failed) {
        setup_own_free(&own);
        return ocv_error_nomem(err);
    }
    *added = own;
    file->n_own++;
    return OCV_OK;
}

void setup_reset_plan(struct setup *setup)
{
    for (size_t i = 0; i < setup->n_files; i++)
        file_free(setup->files[i]);
    setup->n_files = 0;
    setup->installed = false;
    setup->restart[0] = '\0';
    ocv_buffer_free(&setup->notes);
    ocv_buffer_init(&setup->notes, SETUP_FILE_MAX);
}

void setup_free(struct setup *setup)
{
    setup_reset_plan(setup);
    for (size_t i = 0; i < setup->n_directories; i++)
        free(setup->directories[i]);
    for (size_t i = 0; i < setup->n_registries; i++)
        free(setup->registries[i]);
    if (setup->root && setup->root_fd >= 0)
        close(setup->root_fd);
    free(setup->root);
    free(setup->state_dir);
    free(setup->home);
    free(setup->listen);
    ocv_buffer_free(&setup->notes);
}

int setup_note(struct setup *setup, struct ocv_error *err, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    return ocv_buffer_printf(&setup->notes, err, "%s\n", line);
}
