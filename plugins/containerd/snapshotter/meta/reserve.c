/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reserved disk space: even removing a snapshot must write to the database, which fails on a full
 * disk. A file beside the database reserves some space, and is emptied when that is needed. */
#include "plugins/containerd/snapshotter/meta/meta_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_BYTES (2 * 1024 * 1024) /* twice the size at which the log starts over */

bool snap_meta_reserve_name(struct snap_meta *meta, const char *path)
{
    meta->reserve = NULL;
    if (strcmp(path, ":memory:") == 0) /* SQLite's name for a database in memory */
        return true;
    if (asprintf(&meta->reserve, "%s-reserve", path) >= 0)
        return true;
    meta->reserve = NULL;
    return false;
}

void snap_meta_reserve(struct snap_meta *meta)
{
    struct stat st;
    int fd;
    if (!meta->reserve)
        return;
    fd = open(meta->reserve, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size < RESERVE_BYTES &&
        posix_fallocate(fd, 0, RESERVE_BYTES) != 0 && ftruncate(fd, 0) < 0)
        (void)unlink(meta->reserve);
    close(fd);
}

bool snap_meta_unreserve(const struct snap_meta *meta)
{
    struct stat st;
    return meta->reserve && stat(meta->reserve, &st) == 0 && st.st_size > 0 &&
           truncate(meta->reserve, 0) == 0;
}
