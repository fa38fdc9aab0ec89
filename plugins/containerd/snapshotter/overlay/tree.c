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

/* A directory below `parent`. */
static int remove_directory(struct removal *r, int parent, const char *name, unsigned depth)
{
    if (depth >= DEPTH_MAX) {
        /* Move it beside the top for the next round, which also removes the remains of an
         * interrupted removal. */
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

/* Space used by a tree. A container may change its own tree meanwhile, and replace a directory by a
 * link to one of the host's. So each directory is opened in its parent, without following links. */

#define LEVELS_MAX 512u /* directories open at once */

struct inode {
    dev_t dev;
    ino_t ino;
};

/* Inodes with several names: a hash table with open addressing. */
struct seen {
    struct inode *slots; /* ino 0: free */
    size_t n, size;
};

static size_t slot_of(const struct seen *seen, struct inode wanted)
{
    size_t i = (size_t)(wanted.ino * 0x9e3779b97f4a7c15u) & (seen->size - 1);
    while (seen->slots[i].ino &&
           (seen->slots[i].ino != wanted.ino || seen->slots[i].dev != wanted.dev))
        i = (i + 1) & (seen->size - 1);
    return i;
}

struct usage_walk {
    struct seen seen;
    struct snap_usage *out;
    DIR *open[LEVELS_MAX]; /* from the top down */
    size_t n;
};

static enum grpc_code walk_failed(struct ocv_error *err, const char *name)
{
    return snap_fail(err, errno == ENOMEM ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL, "%s: %s", name,
                     strerror(errno));
}

static enum grpc_code count_file(struct usage_walk *w, const struct stat *st, struct ocv_error *err)
{
    struct seen *seen = &w->seen;
    bool news = true;
    if (!S_ISDIR(st->st_mode) && st->st_nlink > 1) { /* it has several names */
        const struct inode wanted = {st->st_dev, st->st_ino};
        if (seen->n * 2 >= seen->size) {
            struct seen larger = {.n = seen->n, .size = seen->size ? seen->size * 2 : 256};
            larger.slots = calloc(larger.size, sizeof(*larger.slots));
            if (!larger.slots)
                return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
            for (size_t i = 0; i < seen->size; i++)
                if (seen->slots[i].ino)
                    larger.slots[slot_of(&larger, seen->slots[i])] = seen->slots[i];
            free(seen->slots);
            *seen = larger;
        }
        size_t i = slot_of(seen, wanted);
        news = !seen->slots[i].ino;
        seen->slots[i] = wanted;
        seen->n += news;
    }
    w->out->inodes += news;
    w->out->size += news ? (int64_t)st->st_blocks * 512 : 0;
    return GRPC_OK;
}

/* Takes over `fd`. */
static enum grpc_code enter_directory(struct usage_walk *w, int fd, const char *name,
                                      struct ocv_error *err)
{
    DIR *dir = NULL;
    if (w->n == LEVELS_MAX)
        errno = ENAMETOOLONG;
    else
        dir = fdopendir(fd);
    if (dir) {
        w->open[w->n++] = dir;
        return GRPC_OK;
    }
    enum grpc_code code = walk_failed(err, name);
    close(fd);
    return code;
}

/* Entries that have been replaced or removed meanwhile are not counted. */
static enum grpc_code visit_entry(struct usage_walk *w, int parent, const char *name,
                                  struct ocv_error *err)
{
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? GRPC_OK : walk_failed(err, name);
    if (!S_ISDIR(st.st_mode))
        return count_file(w, &st, err);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? GRPC_OK
                                                                     : walk_failed(err, name);
    enum grpc_code code = count_file(w, &st, err);
    if (code == GRPC_OK)
        return enter_directory(w, fd, name, err);
    close(fd);
    return code;
}

enum grpc_code snap_tree_usage(const char *path, struct grpc_call *call, struct snap_usage *out,
                               struct ocv_error *err)
{
    struct usage_walk *w = calloc(1, sizeof(*w));
    struct stat st;
    int fd = w ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    enum grpc_code code = GRPC_OK;
    *out = (struct snap_usage){0};
    if (!w)
        return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    w->out = out;
    if (fd < 0)
        code = errno == ENOENT ? snap_fail(err, GRPC_NOT_FOUND, "%s: %s", path, strerror(errno))
                               : walk_failed(err, path);
    else if (fstat(fd, &st) < 0 || (code = count_file(w, &st, err)) != GRPC_OK)
        close(fd);
    else
        code = enter_directory(w, fd, path, err);
    unsigned turn = 0;
    while (code == GRPC_OK && w->n) {
        DIR *dir = w->open[w->n - 1];
        const struct dirent *entry = readdir(dir);
        if (call && ++turn % 256 == 0 && grpc_call_cancelled(call)) {
            code = snap_fail(err, GRPC_CANCELLED, "context canceled");
        } else if (!entry) {
            closedir(dir);
            w->n--;
        } else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            code = visit_entry(w, dirfd(dir), entry->d_name, err);
        }
    }
    while (w->n)
        closedir(w->open[--w->n]);
    free(w->seen.slots);
    free(w);
    return code;
}
