/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/pinned/map_internal.h"

#include "lib/internal/records/records_internal.h"
#include "plugins/containerd/cri-proxy/pinned/pinned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAME_MAX_BYTES MAP_NAME_MAX

static int entry_name(const char *key, char out[NAME_MAX_BYTES], struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    OCV_TRY(ocv_digest_bytes(key, strlen(key), digest, err));
    snprintf(out, NAME_MAX_BYTES, "%s.json", strchr(digest, ':') + 1);
    return OCV_OK;
}

/* File name of the index named by a key; the digest's algorithm is known, so it is safe in a name.
 */
static void index_name(const char *key, char out[NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "index-%s", strrchr(key, '@') + 1);
    *strchr(out, ':') = '-';
}

static bool valid_key(const char *key)
{
    char again[PINNED_TEXT_MAX];
    ocv_auto(ocv_reference) reference = pinned_parse(key, strlen(key));
    return reference && pinned_key(reference, again) && strcmp(key, again) == 0;
}

/* Remove an index that no entry names any more. */
static void sweep_index(struct map *map, const char *key)
{
    char name[NAME_MAX_BYTES], other[NAME_MAX_BYTES];
    bool used = false;
    index_name(key, name);
    pthread_mutex_lock(&map->lock);
    for (size_t i = 0; i < map->n && !used; i++) {
        index_name(map->entries[i].key, other);
        used = strcmp(name, other) == 0;
    }
    pthread_mutex_unlock(&map->lock);
    if (!used)
        unlinkat(map->fd, name, 0);
}

static void drop_files(struct map *map, const char *key)
{
    char name[NAME_MAX_BYTES];
    if (entry_name(key, name, NULL) == OCV_OK)
        unlinkat(map->fd, name, 0);
    sweep_index(map, key);
}

static int write_entry(struct map *map, const char *key, const char *child, int64_t when,
                       struct ocv_error *err)
{
    char name[NAME_MAX_BYTES];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, MAP_ENTRY_MAX);
    ocv_auto_json *json =
        json_pack("{s:s, s:s, s:I}", "reference", key, "child", child, "time", (json_int_t)when);
    if (!json)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(json, JSON_COMPACT, &text, err));
    OCV_TRY(entry_name(key, name, err));
    return ocv_file_replace(map->fd, map->fd, map->dir, name, text.data, text.len, 0600, err);
}

static int write_index(struct map *map, const char *key, const void *index, size_t len,
                       struct ocv_error *err)
{
    char name[NAME_MAX_BYTES];
    struct stat st;
    index_name(key, name);
    if (!index || len > MAP_INDEX_MAX ||
        (fstatat(map->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == (off_t)len))
        return OCV_OK;
    return ocv_file_replace(map->fd, map->fd, map->dir, name, index, len, 0600, err);
}

int map_put(struct map *map, const char *key, const char *child, const void *index, size_t len,
            struct ocv_error *err)
{
    char known[OCV_DIGEST_MAX], *gone = NULL;
    int64_t now = (int64_t)time(NULL);
    if (!valid_key(key) || !ocv_digest_known(child))
        return ocv_error_set(err, OCV_ERR_INVALID, "%.200s: not a pinned reference", key);
    pthread_mutex_lock(&map->writing);
    bool same = map_find(map, key, known) && strcmp(known, child) == 0;
    int status = write_index(map, key, index, len, err);
    if (status == OCV_OK && !same)
        status = write_entry(map, key, child, now, err);
    pthread_mutex_lock(&map->lock);
    if (status == OCV_OK)
        status = map_keep(map, key, child, now, &gone, err);
    pthread_mutex_unlock(&map->lock);
    if (gone)
        drop_files(map, gone);
    pthread_mutex_unlock(&map->writing);
    free(gone);
    return status;
}

int map_index(struct map *map, const char *key, struct ocv_buffer *out, struct ocv_error *err)
{
    char name[NAME_MAX_BYTES];
    index_name(key, name);
    int status = ocv_file_read_at(map->fd, map->dir, name, out, err);
    if (status == OCV_OK)
        status = ocv_digest_check(strrchr(key, '@') + 1, out->data, out->len, err);
    if (status == OCV_ERR_MISMATCH) /* the registry's bytes will replace it */
        unlinkat(map->fd, name, 0);
    return status;
}

int map_entry_parse(const char *bytes, size_t len, struct map_parsed *out, struct ocv_error *err)
{
    json_t *json = NULL;
    *out = (struct map_parsed){0};
    int status = ocv_json_load("entry", bytes, len, MAP_ENTRY_MAX, &json, err);
    if (status == OCV_OK)
        status = ocv_json_string(json, "entry", "reference", &out->key, err);
    if (status == OCV_OK)
        status = ocv_json_string(json, "entry", "child", &out->child, err);
    if (status == OCV_OK && (!out->key || !out->child || !valid_key(out->key) ||
                             !ocv_digest_known(out->child) || entry_name(out->key, out->name, err)))
        status = ocv_error_set(err, OCV_ERR_DATA, "not an entry of this map");
    if (status < 0) {
        json_decref(json);
        return status;
    }
    out->when = json_integer_value(json_object_get(json, "time"));
    out->owner = json;
    return OCV_OK;
}

static int read_entry(struct map *map, const char *name, struct ocv_error *err)
{
    char *gone = NULL;
    struct map_parsed entry = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, MAP_ENTRY_MAX);
    int status = ocv_file_read_at(map->fd, map->dir, name, &text, err);
    if (status == OCV_OK)
        status = map_entry_parse(text.data ? text.data : "", text.len, &entry, err);
    if (status < 0)
        return status;
    status = strcmp(entry.name, name) == 0
                 ? map_keep(map, entry.key, entry.child, entry.when, &gone, err)
                 : ocv_error_set(err, OCV_ERR_DATA, "not an entry of this map");
    json_decref(entry.owner);
    if (gone)
        drop_files(map, gone);
    free(gone);
    return status;
}

int map_read_all(struct map *map, struct ocv_error *err)
{
    int copy = openat(map->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list) {
        if (copy >= 0)
            close(copy);
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", map->dir, strerror(errno));
    }
    for (const struct dirent *d; (d = readdir(list));) {
        struct ocv_error why = {0};
        size_t len = strlen(d->d_name);
        if (len < 6 || strcmp(d->d_name + len - 5, ".json") != 0)
            continue;
        if (read_entry(map, d->d_name, &why) < 0)
            log_line("%s/%s: skipped: %s", map->dir, d->d_name, why.message);
    }
    closedir(list);
    return OCV_OK;
}
