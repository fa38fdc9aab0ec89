/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record of a set-up: STATE/ENGINE.json, and each replaced content in STATE/ENGINE.d under its
 * digest. Only root may read the directory: configuration files may contain passwords. */
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA "dev.ocivariant.setup/v1"
#define DIRECTORY_MODE 0700

static char *state_path(const struct setup *setup, const char *tail, struct ocv_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s%s", setup->state_dir, setup->engine, tail) >= 0)
        return path;
    ocv_error_nomem(err);
    return NULL;
}

void setup_state_free(struct setup_state *state)
{
    for (size_t i = 0; i < state->n_records; i++) {
        for (size_t k = 0; k < state->records[i].n_own; k++)
            setup_own_free(&state->records[i].own[k]);
        free(state->records[i].own);
        free(state->records[i].path);
    }
    free(state->records);
    setup_names_free(&(struct setup_names){state->directories, state->n_directories});
    setup_names_free(&(struct setup_names){state->registries, state->n_registries});
    free(state->listen);
    *state = (struct setup_state){0};
}

/* Copy a string member; missing or null: NULL. */
static bool take_string(const json_t *object, const char *key, char **out)
{
    const json_t *value = json_object_get(object, key);
    *out = NULL;
    if (!value || json_is_null(value))
        return true;
    const char *text = json_string_value(value);
    *out = text ? strdup(text) : NULL;
    return *out != NULL;
}

static bool take_strings(const json_t *array, char ***out, size_t *n)
{
    size_t count = json_array_size(array);
    *n = 0;
    *out = calloc(count + 1, sizeof(**out));
    for (size_t i = 0; *out && i < count; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (!text || !((*out)[i] = strdup(text)))
            return false;
        ++*n;
    }
    return *out != NULL;
}

static bool take_digest(const json_t *value, char out[OCV_DIGEST_MAX])
{
    const char *text = json_string_value(value);
    if (!text || !ocv_digest_known(text) || strlen(text) >= OCV_DIGEST_MAX)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool read_record(const json_t *object, struct setup_record *record)
{
    const json_t *before = json_object_get(object, "before");
    const json_t *written = json_object_get(object, "written");
    if (!take_string(object, "path", &record->path) || !record->path || record->path[0] != '/' ||
        (json_is_string(before) && !take_digest(before, record->before)))
        return false;
    record->meta = (struct setup_meta){
        .mode = (mode_t)json_integer_value(json_object_get(object, "mode")) & 07777,
        .uid = (uid_t)json_integer_value(json_object_get(object, "uid")),
        .gid = (gid_t)json_integer_value(json_object_get(object, "gid")),
        .mtime = {.tv_nsec = UTIME_NOW}};
    if (json_is_integer(json_object_get(object, "mtime"))) {
        json_int_t nsec = json_integer_value(json_object_get(object, "mtime_nsec"));
        if (nsec < 0 || nsec > 999999999)
            return false;
        record->meta.mtime =
            (struct timespec){json_integer_value(json_object_get(object, "mtime")), (long)nsec};
    }
    for (size_t i = 0; i < json_array_size(written) && i < SETUP_WRITTEN_MAX; i++)
        if (!take_digest(json_array_get(written, i), record->written[record->n_written++]))
            return false;

    const json_t *parts = json_object_get(object, "own");
    size_t n = json_array_size(parts);
    record->own = calloc(n + 1, sizeof(*record->own));
    for (size_t i = 0; record->own && i < n; i++) {
        const json_t *part = json_array_get(parts, i);
        struct setup_own *own = &record->own[record->n_own++];
        own->kind = (enum setup_own_kind)json_integer_value(json_object_get(part, "kind"));
        if (!take_string(part, "table", &own->table) || !take_string(part, "key", &own->key) ||
            !take_string(part, "value", &own->value) ||
            !take_string(part, "previous", &own->previous) || !own->key)
            return false;
        bool needs_value = own->kind != SETUP_OWN_TOML_HOST;
        bool needs_table = own->kind == SETUP_OWN_TOML_KEY || own->kind == SETUP_OWN_TOML_TABLE ||
                           own->kind == SETUP_OWN_TOML_ITEM || own->kind == SETUP_OWN_TOML_MEMBER;
        if ((needs_value && !own->value) || (needs_table && !own->table))
            return false;
    }
    return record->own != NULL;
}

int setup_load_state(const struct setup *setup, struct setup_state *out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, SETUP_STATE_MAX);
    ocv_auto_json *root = NULL;
    *out = (struct setup_state){0};
    ocv_auto_free char *path = state_path(setup, ".json", err);
    if (!path)
        return OCV_ERR_NOMEM;
    int status = setup_read_file(setup, path, &text, err);
    if (status == OCV_ERR_NOT_FOUND) {
        if (err)
            *err = (struct ocv_error){0};
        return OCV_OK;
    }
    if (status < 0)
        return status;
    OCV_TRY(setup_json_load(path, text.data, text.len, &root, err));
    const char *schema = ocv_json_text(root, "schema");
    const json_t *files = json_object_get(root, "files");
    size_t n = json_array_size(files);
    out->there = true;
    out->fail_closed = json_is_true(json_object_get(root, "fail_closed"));
    bool whole =
        schema && strcmp(schema, SCHEMA) == 0 && n <= SETUP_FILES_MAX &&
        take_strings(json_object_get(root, "folders"), &out->directories, &out->n_directories) &&
        take_strings(json_object_get(root, "registries"), &out->registries, &out->n_registries) &&
        take_string(root, "listen", &out->listen);
    if (whole && !(out->records = calloc(n + 1, sizeof(*out->records))))
        status = ocv_error_nomem(err);
    for (size_t i = 0; status == OCV_OK && whole && i < n; i++)
        whole = read_record(json_array_get(files, i), &out->records[out->n_records++]);
    if (status == OCV_OK && whole)
        return OCV_OK;
    setup_state_free(out);
    if (status == OCV_OK)
        status = ocv_error_set(err, OCV_ERR_DATA, "not what a set-up writes");
    ocv_error_prefix(err, "%s", path);
    return status;
}

/* What appends to an array also fails for a NULL item: its text was not UTF-8, or memory ran out.
 */
static json_t *strings_json(char *const *list, size_t n, bool *whole)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        *whole = json_array_append_new(array, json_string(list[i])) == 0 && *whole;
    return array;
}

static json_t *file_json(const struct setup_file *file, bool *whole)
{
    char before[OCV_DIGEST_MAX] = "";
    if (file->base.there &&
        ocv_digest_bytes(file->base.text.data, file->base.text.len, before, NULL) < 0)
        return NULL;
    json_t *own = json_array(), *written = json_array();
    for (size_t i = 0; i < file->n_own; i++) {
        const struct setup_own *o = &file->own[i];
        json_t *item =
            json_pack("{s:i, s:s?, s:s?, s:s?, s:s?}", "kind", (int)o->kind, "table", o->table,
                      "key", o->key, "value", o->value, "previous", o->previous);
        *whole = json_array_append_new(own, item) == 0 && *whole;
    }
    for (size_t i = 0; i < file->n_written; i++)
        *whole = json_array_append_new(written, json_string(file->written[i])) == 0 && *whole;
    const struct setup_meta *meta = &file->base.meta;
    json_t *json = json_pack("{s:s, s:s?, s:I, s:I, s:I, s:o, s:o}", "path", file->path, "before",
                             *before ? before : NULL, "mode", (json_int_t)meta->mode, "uid",
                             (json_int_t)meta->uid, "gid", (json_int_t)meta->gid, "written",
                             written, "own", own);
    if (!json || meta->mtime.tv_nsec == UTIME_NOW)
        return json;
    *whole = json_object_set_new(json, "mtime", json_integer(meta->mtime.tv_sec)) == 0 &&
             json_object_set_new(json, "mtime_nsec", json_integer(meta->mtime.tv_nsec)) == 0 &&
             *whole;
    return json;
}

/* Fails for anything that cannot be represented, since it could not be undone. */
static int state_json(const struct setup *setup, json_t **out, struct ocv_error *err)
{
    bool whole = true;
    const char *name = setup->state_dir;
    json_t *files = json_array();
    for (size_t i = 0; i < setup->n_files && whole; i++)
        if (setup_is_ours(setup->files[i])) {
            name = setup->files[i]->path;
            whole = json_array_append_new(files, file_json(setup->files[i], &whole)) == 0 && whole;
        }
    *out =
        json_pack("{s:s, s:s, s:s?, s:b, s:o, s:o, s:o}", "schema", SCHEMA, "engine", setup->engine,
                  "listen", setup->listen, "fail_closed", setup->fail_closed, "registries",
                  strings_json(setup->registries, setup->n_registries, &whole), "folders",
                  strings_json(setup->directories, setup->n_directories, &whole), "files", files);
    if (whole && *out)
        return OCV_OK;
    json_decref(*out);
    *out = NULL;
    return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                         "%s: cannot be recorded, and so not be undone: a name or a text that is "
                         "not UTF-8 (or memory is short)",
                         name);
}

int setup_check_state(const struct setup *setup, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    return state_json(setup, &root, err);
}

int setup_save_state(const struct setup *setup, struct ocv_error *err)
{
    struct setup_content content = {.there = true,
                                    .meta = {.mode = 0600, .uid = geteuid(), .gid = getegid()}};
    ocv_auto_buffer old, text;
    ocv_buffer_init(&old, SETUP_STATE_MAX);
    ocv_buffer_init(&text, SETUP_STATE_MAX);
    ocv_auto_json *root = NULL;
    OCV_TRY(state_json(setup, &root, err));
    ocv_auto_free char *path = state_path(setup, ".json", err);
    if (!path)
        return OCV_ERR_NOMEM;
    OCV_TRY(ocv_json_append(root, JSON_INDENT(2), &text, err));
    OCV_TRY(setup_make_directories(setup, setup->state_dir, DIRECTORY_MODE, NULL, err));
    if (setup_read_file(setup, path, &old, NULL) == OCV_OK && old.len == text.len &&
        memcmp(old.data, text.data, old.len) == 0)
        return OCV_OK;
    content.text = text;
    return setup_write_file(setup, path, &content, false, err);
}

/* STATE/ENGINE.d/HEX; the digest is our own sha256, or was checked. */
char *setup_backup_path(const struct setup *setup, const char *digest, struct ocv_error *err)
{
    char tail[OCV_DIGEST_MAX + 8];
    const char *colon = strchr(digest, ':');
    snprintf(tail, sizeof(tail), ".d/%s", colon ? colon + 1 : digest);
    return state_path(setup, tail, err);
}

int setup_read_backup(const struct setup *setup, const char *digest, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    ocv_auto_free char *path = setup_backup_path(setup, digest, err);
    if (!path)
        return OCV_ERR_NOMEM;
    int status = setup_read_file(setup, path, out, err);
    if (status == OCV_OK)
        status = ocv_digest_check(digest, out->data, out->len, err);
    if (status < 0)
        ocv_error_prefix(err, "backup %s%s", setup->root, path);
    return status;
}

int setup_save_backup(const struct setup *setup, const struct setup_content *content,
                      struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX] = "";
    ocv_auto_buffer old;
    ocv_buffer_init(&old, SETUP_FILE_MAX);
    struct setup_content copy = *content;
    copy.meta = (struct setup_meta){.mode = 0600, .uid = geteuid(), .gid = getegid()};
    OCV_TRY(ocv_digest_bytes(content->text.data, content->text.len, digest, err));
    if (setup_read_backup(setup, digest, &old, NULL) == OCV_OK)
        return OCV_OK;
    ocv_auto_free char *path = setup_backup_path(setup, digest, err);
    ocv_auto_free char *directory = state_path(setup, ".d", err);
    if (!path || !directory)
        return OCV_ERR_NOMEM;
    OCV_TRY(setup_make_directories(setup, directory, DIRECTORY_MODE, NULL, err));
    return setup_write_file(setup, path, &copy, false, err);
}

void setup_sweep_backups(const struct setup *setup)
{
    char *path = state_path(setup, ".d", NULL);
    int fd = path ? setup_enter(setup, path, 0) : -1;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        bool needed = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        for (size_t i = 0; i < setup->n_files && !needed; i++) {
            const struct setup_file *file = setup->files[i];
            char digest[OCV_DIGEST_MAX] = "";
            if (!file->base.there || setup_content_equal(&file->base, &file->want))
                continue;
            needed =
                ocv_digest_bytes(file->base.text.data, file->base.text.len, digest, NULL) < 0 ||
                strcmp(strchr(digest, ':') + 1, entry->d_name) == 0;
        }
        if (!needed) /* including incomplete files of a killed run */
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    if (path)
        setup_remove_directory(setup, path);
    free(path);
}

int setup_drop_state(const struct setup *setup, struct ocv_error *err)
{
    ocv_auto_free char *path = state_path(setup, ".json", err);
    if (!path)
        return OCV_ERR_NOMEM;
    int status = setup_remove_file(setup, path, err);
    setup_unlink_temporary(setup, path, true);
    if (status < 0)
        return status;
    setup_sweep_backups(setup);
    return OCV_OK;
}
