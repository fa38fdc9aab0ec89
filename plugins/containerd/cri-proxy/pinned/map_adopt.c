/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Earlier versions used a directory within variantd's, whose user could replace it. So an entry is
 * accepted only if the index is kept there, matches the pinned digest, and lists the child. */
#include "plugins/containerd/cri-proxy/pinned/map_internal.h"

#include "lib/internal/records/records_internal.h"
#include "plugins/containerd/cri-proxy/pinned/pinned.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int adopt_entry(struct map *map, struct map *from, const char *key, const char *child,
                       struct ocv_error *err)
{
    ocv_auto_buffer body;
    ocv_auto(ocv_index) index = NULL;
    char known[OCV_DIGEST_MAX];
    ocv_buffer_init(&body, MAP_INDEX_MAX);
    if (map_find(map, key, known)) /* chosen meanwhile */
        return OCV_OK;
    OCV_TRY(map_index(from, key, &body, err));
    OCV_TRY(ocv_index_parse(body.data ? body.data : "", body.len, NULL, &index, err));
    if (!ocv_index_find_digest(index, child))
        return ocv_error_set(err, OCV_ERR_DATA, "%s is not in that index", child);
    return map_put(map, key, child, body.data, body.len, err);
}

static void remove_files(struct map *from)
{
    int copy = openat(from->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list && copy >= 0)
        close(copy);
    for (const struct dirent *d; list && (d = readdir(list));)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            (void)unlinkat(from->fd, d->d_name, 0);
    if (list)
        closedir(list);
    (void)rmdir(from->dir); /* fails if it is not empty */
}

void map_adopt(struct map *map, const char *dir)
{
    struct ocv_error err = {0};
    struct map *from = NULL;
    char key[PINNED_TEXT_MAX], child[OCV_DIGEST_MAX];
    size_t taken = 0, n = 0;
    bool whole = true; /* rejected entries do not count */
    if (access(dir, F_OK) < 0)
        return;
    if (map_open(dir, &from, &err) < 0) {
        log_line("%s: nothing is adopted: %s", dir, err.message);
        return;
    }
    for (; map_get(from, n, key, child); n++) {
        int status = adopt_entry(map, from, key, child, &err);
        if (status == OCV_OK)
            taken++;
        else
            log_line("%s: not adopted: %s", key, err.message);
        whole = whole && status != OCV_ERR_IO && status != OCV_ERR_NOMEM;
    }
    if (whole) /* else the next start tries again */
        remove_files(from);
    log_line("%zu of %zu entries of %s are now in %s", taken, n, dir, map->dir);
    map_free(from);
}
