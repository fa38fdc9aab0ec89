/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees made by images and containers: any depth, any number of files, names with any bytes. */
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 32u /* directories open at once; deeper ones are moved up first */

struct removal {
    int topfd; /* where deep directories are moved to */
    const char *top;
    unsigned moved;
};

static int remove_below(struct removal *r, int fd, unsigned depth);

/* Move it beside the top for the next round, which also removes the remains of an interrupted
 * removal. */
static int move_up(struct removal *r, int parent, const char *name)
{
    char aside[NAME_MAX + 1];
    do {
        int n = snprintf(aside, sizeof(aside), "rm-%s-%u", r->top, r->moved++);
        if (n < 0 || (size_t)n >= sizeof(aside)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (renameat(parent, name, r->topfd, aside) == 0 || errno == ENOENT)
            return 0;
    } while (errno == EEXIST || errno == ENOTEMPTY);
    return -1;
}

/* A directory below `parent`. */
static int remove_directory(struct removal *r, int parent, const char *name, unsigned depth)
{
    if (depth >= DEPTH_MAX)
        return move_up(r, parent, name);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (remove_below(r, fd, depth + 1) < 0)
        return -1;
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -1 : 0;
}

/* Takes over `fd`. */
static int remove_below(struct removal *r, int fd, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    int failed = 0;
    if (!dir) {
        close(fd);
        return -1;
    }
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bool directory = entry->d_type == DT_DIR; /* the type may also be unknown */
        if (!directory && (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT))
            continue;
        directory |= errno == EISDIR || errno == EPERM;
        if (!directory || remove_directory(r, fd, entry->d_name, depth) < 0)
            failed = errno;
    }
    closedir(dir);
    errno = failed;
    return failed ? -1 : 0;
}

int snap_tree_remove(int dirfd, const char *name)
{
    struct removal r = {.topfd = dirfd, .top = name};
    char aside[NAME_MAX + 1];
    if (remove_directory(&r, dirfd, name, 0) < 0) /* not a directory: a file or a link */
        return errno == ENOTDIR || errno == ELOOP ? unlinkat(dirfd, name, 0) : -1;
    for (unsigned i = 0; i < r.moved; i++) { /* grows while it runs */
        snprintf(aside, sizeof(aside), "rm-%s-%u", name, i);
        if (remove_directory(&r, dirfd, aside, 0) < 0)
            return -1;
    }
    return 0;
}
