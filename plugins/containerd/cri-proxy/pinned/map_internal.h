/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by map.c, which has the entries in memory, and map_files.c, which has them on disk. */
#ifndef CRI_PROXY_MAP_INTERNAL_H
#define CRI_PROXY_MAP_INTERNAL_H

#include "plugins/containerd/cri-proxy/pinned/map.h"

#include <jansson.h>
#include <pthread.h>

struct map_entry {
    char *key;
    char child[OCV_DIGEST_MAX];
    int64_t time;
    bool checked; /* not stored on disk */
};

struct map {
    char *dir;
    int fd;
    pthread_mutex_t lock; /* for the entries: held for microseconds, since the loop waits for it */
    pthread_mutex_t writing; /* for the files */
    struct map_entry *entries;
    size_t n;
    char **plain; /* keys; the oldest one is at `next_plain` */
    size_t next_plain;
};

#define MAP_NAME_MAX 192 /* of a file's name */

/** An entry as its file has it. */
struct map_parsed {
    json_t *owner; /* of the texts */
    const char *key, *child;
    int64_t when;
    char name[MAP_NAME_MAX]; /* that its file must have */
};
/** OCV_ERR_DATA: not an entry. The caller gives `owner` back. */
int map_entry_parse(const char *bytes, size_t len, struct map_parsed *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Add or replace. `*gone`: the key that was dropped for it, or NULL; owned by the caller. Call
 *  with the lock held, or before threads start. */
int map_keep(struct map *map, const char *key, const char *child, int64_t when, char **gone,
             struct ocv_error *err) OCV_WARN_UNUSED;
/** Read all entries of the directory. */
int map_read_all(struct map *map, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
