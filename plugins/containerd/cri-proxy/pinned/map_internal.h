/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What map.c, the entries in memory, and map_files.c, those on disk, share. */
#ifndef CRI_PROXY_MAP_INTERNAL_H
#define CRI_PROXY_MAP_INTERNAL_H

#include "plugins/containerd/cri-proxy/pinned/map.h"

#include <pthread.h>

struct map_entry {
    char *key;
    char child[OCV_DIGEST_MAX];
    int64_t time;
    bool checked; /* never from disk */
};

struct map {
    char *dir;
    int fd;
    pthread_mutex_t lock;    /* of the entries: held for microseconds, the loop waits for it */
    pthread_mutex_t writing; /* of the files */
    struct map_entry *entries;
    size_t n;
    char **plain; /* keys, the oldest at `next_plain` */
    size_t next_plain;
};

/** Add or replace. `*gone`: the key that had to go for it, or NULL; the caller's. With the lock
 * held, or before there are threads. */
int map_keep(struct map *map, const char *key, const char *child, int64_t when, char **gone,
             struct ocv_error *err) OCV_WARN_UNUSED;
/** Every entry of the directory. */
int map_read_all(struct map *map, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
