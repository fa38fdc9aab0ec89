/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handles directories without rows, and rows without directories. */
#include "lib/base/cleanup.h"
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"
#include "plugins/containerd/snapshotter/types/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static DIR *open_snapshots(const struct snap_overlay *o)
{
    int fd = openat(o->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* Rename orphans while no snapshot can be created, so that a later removal never hits a new
 * snapshot. */
static enum grpc_code set_aside(void *data)
{
    struct snap_overlay *o = data;
    const struct dirent *entry;
    ocv_auto_dir DIR *dir = open_snapshots(o);
    if (!dir)
        return GRPC_INTERNAL;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "rm-", 3) == 0)
            continue;
        char *end = NULL;
        errno = 0;
        int64_t id = strtoll(entry->d_name, &end, 10);
        bool number = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && !*end && !errno;
        if (number && snap_meta_known(o->meta, id))
            continue;
        if (snap_overlay_move_aside(o, entry->d_name) < 0 && errno != ENOENT)
            snap_overlay_log(o, "cannot move an orphan aside", entry->d_name);
    }
    return GRPC_OK;
}

enum grpc_code snap_overlay_cleanup(struct snap_overlay *o, struct ocv_error *err)
{
    enum grpc_code code = snap_meta_freeze(o->meta, set_aside, o);
    if (code != GRPC_OK)
        return snap_fail(err, code, "cannot read %s", o->directory);
    snap_crash_point("cleanup-aside");
    const struct dirent *entry;
    ocv_auto_dir DIR *dir = open_snapshots(o);
    if (!dir)
        code = snap_overlay_failure(err, "cannot read", o->directory);
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, "rm-", 3) == 0 && snap_tree_remove(o->fd, entry->d_name) < 0)
            snap_overlay_log(o, "cannot remove an orphan", entry->d_name);
    snap_meta_reserve(o->meta);
    return code;
}

/* Only a power cut can remove the directory of a row. An active snapshot's directory is created
 * again, empty, and its owner removes it; a committed snapshot's content is lost, which is logged.
 */
static int check_row(void *data, const struct snap_info *info)
{
    struct snap_overlay *o = ((void **)data)[0];
    char name[64];
    *(int64_t *)((void **)data)[1] = info->id;
    snprintf(name, sizeof(name), "%" PRId64 "/fs", info->id);
    if (info->damaged)
        snap_overlay_log(o, "labels damaged, not listed", info->name);
    if (faccessat(o->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    snap_overlay_log(
        o, info->kind == SNAP_COMMITTED ? "content lost" : "directory lost, created again",
        info->name);
    if (info->kind == SNAP_COMMITTED)
        return 0;
    const struct snap_chain chain = {.id = info->id, .kind = info->kind};
    const struct snap_placement p = {.overlay = o};
    *strchr(name, '/') = '\0';
    if (snap_overlay_make_directory(o, name) < 0 ||
        snap_overlay_make_inside(o, name, &chain, &p) < 0)
        snap_overlay_log(o, "cannot create the directory again", name);
    return 0;
}

enum grpc_code snap_overlay_check(struct snap_overlay *o, struct ocv_error *err)
{
    int64_t last = 0;
    size_t n = 0;
    enum grpc_code code;
    void *data[] = {o, &last};
    do {
        code = snap_meta_page(o->meta, last, &n, check_row, data, err);
    } while (code == GRPC_OK && n == SNAP_PAGE);
    return code;
}
