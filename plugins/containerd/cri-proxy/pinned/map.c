/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/pinned/map_internal.h"

#include "lib/internal/records/records_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Call with the lock held. */
static struct map_entry *find_entry(struct map *map, const char *key)
{
    for (size_t i = 0; i < map->n; i++)
        if (map->entries[i].key && strcmp(map->entries[i].key, key) == 0)
            return &map->entries[i];
    return NULL;
}

bool map_find(struct map *map, const char *key, char child[OCV_DIGEST_MAX])
{
    pthread_mutex_lock(&map->lock);
    const struct map_entry *entry = find_entry(map, key);
    if (entry)
        memcpy(child, entry->child, OCV_DIGEST_MAX);
    pthread_mutex_unlock(&map->lock);
    return entry != NULL;
}

bool map_get(struct map *map, size_t i, char key[PINNED_TEXT_MAX], char child[OCV_DIGEST_MAX])
{
    pthread_mutex_lock(&map->lock);
    bool there = i < map->n;
    if (there) {
        snprintf(key, PINNED_TEXT_MAX, "%s", map->entries[i].key);
        memcpy(child, map->entries[i].child, OCV_DIGEST_MAX);
    }
    pthread_mutex_unlock(&map->lock);
    return there;
}

bool map_checked(struct map *map, const char *key, const char *child)
{
    pthread_mutex_lock(&map->lock);
    const struct map_entry *entry = find_entry(map, key);
    bool checked = entry && entry->checked && strcmp(entry->child, child) == 0;
    pthread_mutex_unlock(&map->lock);
    return checked;
}

void map_set_checked(struct map *map, const char *key, bool checked)
{
    pthread_mutex_lock(&map->lock);
    struct map_entry *entry = find_entry(map, key);
    if (entry)
        entry->checked = checked;
    pthread_mutex_unlock(&map->lock);
}

bool map_is_plain(struct map *map, const char *key)
{
    bool plain = false;
    pthread_mutex_lock(&map->lock);
    for (size_t i = 0; i < MAP_ENTRIES_MAX && !plain; i++)
        plain = map->plain[i] && strcmp(map->plain[i], key) == 0;
    pthread_mutex_unlock(&map->lock);
    return plain;
}

void map_add_plain(struct map *map, const char *key)
{
    char *copy = map_is_plain(map, key) ? NULL : strdup(key);
    if (!copy)
        return;
    pthread_mutex_lock(&map->lock);
    free(map->plain[map->next_plain]);
    map->plain[map->next_plain] = copy;
    map->next_plain = (map->next_plain + 1) % MAP_ENTRIES_MAX;
    pthread_mutex_unlock(&map->lock);
}

bool map_rewrite(struct map *map, const struct ocv_reference *reference, const char *text,
                 char out[PINNED_TEXT_MAX])
{
    char key[PINNED_TEXT_MAX], child[OCV_DIGEST_MAX];
    return pinned_by_digest(reference) && pinned_key(reference, key) && map_find(map, key, child) &&
           pinned_rewrite(text, strlen(text), child, out);
}

/* Add or replace. `*gone`: the key that was dropped for it, or NULL; owned by the caller. */
int map_keep(struct map *map, const char *key, const char *child, int64_t when, char **gone,
             struct ocv_error *err)
{
    *gone = NULL;
    struct map_entry *entry = find_entry(map, key);
    if (!entry) {
        char *copy = strdup(key);
        if (!copy)
            return ocv_error_nomem(err);
        size_t at = map->n;
        if (map->n == MAP_ENTRIES_MAX) {
            for (size_t i = at = 0; i < map->n; i++)
                if (map->entries[i].time < map->entries[at].time)
                    at = i;
            *gone = map->entries[at].key;
        } else {
            map->n++;
        }
        entry = &map->entries[at];
        *entry = (struct map_entry){.key = copy};
    }
    entry->checked = entry->checked && strcmp(entry->child, child) == 0;
    snprintf(entry->child, sizeof(entry->child), "%s", child);
    entry->time = when;
    return OCV_OK;
}

int map_open(const char *dir, struct map **out, struct ocv_error *err)
{
    int status = ocv_directory_make(dir, 0700, err);
    if (status < 0)
        return status;
    struct map *map = calloc(1, sizeof(*map));
    if (!map)
        return ocv_error_nomem(err);
    pthread_mutex_init(&map->lock, NULL);
    pthread_mutex_init(&map->writing, NULL);
    map->dir = strdup(dir);
    map->entries = calloc(MAP_ENTRIES_MAX, sizeof(*map->entries));
    map->plain = calloc(MAP_ENTRIES_MAX, sizeof(*map->plain));
    map->fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); /* as records */
    if (!map->dir || !map->entries || !map->plain)
        status = ocv_error_nomem(err);
    else if (map->fd < 0)
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", dir, strerror(errno));
    if (status == OCV_OK) {
        ocv_file_sweep(map->fd);
        status = map_read_all(map, err);
    }
    if (status < 0) {
        map_free(map);
        return status;
    }
    *out = map;
    return OCV_OK;
}

void map_free(struct map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->n; i++)
        free(map->entries[i].key);
    for (size_t i = 0; map->plain && i < MAP_ENTRIES_MAX; i++)
        free(map->plain[i]);
    free(map->plain);
    free(map->entries);
    if (map->fd >= 0)
        close(map->fd);
    free(map->dir);
    pthread_mutex_destroy(&map->lock);
    pthread_mutex_destroy(&map->writing);
    free(map);
}
