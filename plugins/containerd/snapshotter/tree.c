/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees that images and containers made: any depth, any number of files, names of any bytes. */
#include "snapshotter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 32u /* open folders at once; what lies deeper is moved up first */

/* ---- removal -----------------------------------------------------------------------------------
 */

struct removal {
    int topfd; /* where deep folders are moved to */
    const char *top;
    unsigned moved;
};

static int remove_below(struct removal *r, int fd, unsigned depth);

/* Beside the top, for the next round. What an interrupted removal left there is done then, too. */
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

/* A folder below `parent`. */
static int remove_folder(struct removal *r, int parent, const char *name, unsigned depth)
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

/* Takes `fd` over. */
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
        bool folder = entry->d_type == DT_DIR; /* or one that says nothing of itself */
        if (!folder && (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT))
            continue;
        folder |= errno == EISDIR || errno == EPERM;
        if (!folder || remove_folder(r, fd, entry->d_name, depth) < 0)
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
    if (remove_folder(&r, dirfd, name, 0) < 0)
        return -1;
    for (unsigned i = 0; i < r.moved; i++) { /* grows while it runs */
        snprintf(aside, sizeof(aside), "rm-%s-%u", name, i);
        if (remove_folder(&r, dirfd, aside, 0) < 0)
            return -1;
    }
    return 0;
}

/* ---- usage -------------------------------------------------------------------------------------
 */

struct inode {
    dev_t dev;
    ino_t ino;
};

/* Inodes with several names, in a hash table with open addressing. */
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

static bool grow(struct seen *seen)
{
    struct seen larger = {.size = seen->size ? seen->size * 2 : 256};
    larger.slots = calloc(larger.size, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < seen->size; i++)
        if (seen->slots[i].ino)
            larger.slots[slot_of(&larger, seen->slots[i])] = seen->slots[i];
    larger.n = seen->n;
    free(seen->slots);
    *seen = larger;
    return true;
}

/* 1: new, 0: seen, -1: out of memory. */
static int note(struct seen *seen, const struct stat *st)
{
    const struct inode wanted = {st->st_dev, st->st_ino};
    if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
        return 1; /* has no second name */
    if (seen->n * 2 >= seen->size && !grow(seen))
        return -1;
    size_t i = slot_of(seen, wanted);
    if (seen->slots[i].ino)
        return 0;
    seen->slots[i] = wanted;
    seen->n++;
    return 1;
}

static enum grpc_code walk(FTS *fts, struct seen *seen, struct grpc_call *call,
                           struct snap_usage *out, struct ocv_error *err)
{
    const FTSENT *entry;
    unsigned turn = 0;
    errno = 0;
    while ((entry = fts_read(fts))) {
        if (call && ++turn % 256 == 0 && grpc_call_cancelled(call))
            return snap_fail(err, GRPC_CANCELLED, "context canceled");
        if (entry->fts_info == FTS_DP)
            continue;
        if ((entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR ||
             entry->fts_info == FTS_NS)) {
            if (entry->fts_errno == ENOENT && entry->fts_level > 0)
                continue; /* removed meanwhile */
            return snap_fail(err, entry->fts_errno == ENOENT ? GRPC_NOT_FOUND : GRPC_INTERNAL,
                             "%s: %s", entry->fts_path, strerror(entry->fts_errno));
        }
        int news = note(seen, entry->fts_statp);
        if (news < 0)
            return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        out->inodes += news;
        out->size += news ? (int64_t)entry->fts_statp->st_blocks * 512 : 0;
        errno = 0;
    }
    return errno ? snap_fail(err, GRPC_INTERNAL, "fts: %s", strerror(errno)) : GRPC_OK;
}

enum grpc_code snap_tree_usage(const char *path, struct grpc_call *call, struct snap_usage *out,
                               struct ocv_error *err)
{
    char *const roots[] = {(char *)(uintptr_t)path, NULL};
    struct seen seen = {0};
    *out = (struct snap_usage){0};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!fts)
        return snap_fail(err, GRPC_INTERNAL, "%s: %s", path, strerror(errno));
    enum grpc_code code = walk(fts, &seen, call, out, err);
    fts_close(fts);
    free(seen.slots);
    return code;
}
