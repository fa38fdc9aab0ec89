/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots in directories, as containerd's overlayfs lays them out:
 *
 *   ROOT/metadata.db        names (meta.c)
 *   ROOT/snapshots/ID/fs    what the snapshot changed
 *   ROOT/snapshots/ID/work  overlayfs' own, of active ones
 *   ROOT/snapshots/rm-…     on its way out
 *
 * A directory whose number is no row's is an orphan: of a call that was interrupted. */
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"
#include "plugins/containerd/snapshotter/types/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void snap_overlay_log(const struct snap_overlay *o, const char *what, const char *name)
{
    char line[512];
    snprintf(line, sizeof(line), "%s: %s: %s", name, what, strerror(errno));
    if (o->log)
        o->log(line);
}

enum grpc_code snap_overlay_failure(struct ocv_error *err, const char *what, const char *name)
{
    enum grpc_code code =
        errno == ENOSPC || errno == EDQUOT ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL;
    return snap_fail(err, code, "%s %s: %s", what, name, strerror(errno));
}

/* "0:HOST:SIZE[,…]": the host's id for id 0. */
static bool root_of(const char *mapping, unsigned *out)
{
    unsigned long long fields[3] = {0};
    for (const char *at = mapping;; at++) {
        for (size_t i = 0; i < 3; i++) {
            char *end = NULL;
            if (*at < '0' || *at > '9')
                return false;
            errno = 0;
            fields[i] = strtoull(at, &end, 10);
            if (errno || fields[i] > 4294967294u || (i < 2 && *end != ':'))
                return false;
            at = end + (i < 2 ? 1 : 0);
        }
        if (fields[0] == 0 && fields[2] > 0) {
            *out = (unsigned)fields[1];
            return true;
        }
        if (*at != ',')
            return false;
    }
}

/* Move aside what an interrupted creation left under a new snapshot's name. */
int snap_overlay_move_aside(struct snap_overlay *o, const char *name)
{
    char aside[NAME_MAX + 1];
    do {
        snprintf(aside, sizeof(aside), "rm-%.200s.%u", name, o->aside++);
    } while (faccessat(o->fd, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    return renameat(o->fd, name, o->fd, aside);
}

int snap_overlay_make_directory(struct snap_overlay *o, const char *name)
{
    if (mkdirat(o->fd, name, 0700) == 0)
        return 0;
    if (errno != EEXIST || snap_overlay_move_aside(o, name) < 0)
        return -1;
    return mkdirat(o->fd, name, 0700);
}

int snap_overlay_make_inside(struct snap_overlay *o, const char *name,
                             const struct snap_chain *chain, const struct snap_placement *p)
{
    char fs[64], work[64], parent[64];
    struct stat st;
    snprintf(fs, sizeof(fs), "%s/fs", name);
    snprintf(work, sizeof(work), "%s/work", name);
    if (mkdirat(o->fd, fs, 0755) < 0)
        return -1;
    snap_crash_point("create-fs");
    if (chain->kind == SNAP_ACTIVE && mkdirat(o->fd, work, 0711) < 0)
        return -1;
    if (p->owned)
        return fchownat(o->fd, fs, p->uid, p->gid, AT_SYMLINK_NOFOLLOW);
    if (chain->n_parents == 0)
        return 0;
    snprintf(parent, sizeof(parent), "%" PRId64 "/fs", chain->parents[0]);
    if (fstatat(o->fd, parent, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return st.st_uid == geteuid() && st.st_gid == getegid()
               ? 0
               : fchownat(o->fd, fs, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW);
}

static enum grpc_code place_snapshot(void *data, const struct snap_chain *chain,
                                     struct ocv_error *err)
{
    struct snap_placement *p = data;
    struct snap_overlay *o = p->overlay;
    char name[32];
    snprintf(name, sizeof(name), "%" PRId64, chain->id);
    if (snap_overlay_make_directory(o, name) < 0)
        return snap_overlay_failure(err, "cannot create snapshot directory", name);
    snap_crash_point("create-directory");
    if (snap_overlay_make_inside(o, name, chain, p) == 0)
        return GRPC_OK;
    enum grpc_code code = snap_overlay_failure(err, "cannot create snapshot directory", name);
    (void)snap_tree_remove(o->fd, name);
    return code;
}

enum grpc_code snap_overlay_create(struct snap_overlay *o, enum snap_kind kind, const char *key,
                                   const char *parent, const struct ocv_buffer *labels,
                                   struct snap_mount *out, struct ocv_error *err)
{
    struct snap_placement p = {.overlay = o};
    struct snap_chain chain;
    const char *uids = snap_labels_get(labels, LABEL_UIDS);
    const char *gids = snap_labels_get(labels, LABEL_GIDS);
    p.owned = uids || gids;
    if (p.owned && (!uids || !gids || !root_of(uids, &p.uid) || !root_of(gids, &p.gid)))
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "malformed id mapping '%.64s', '%.64s'",
                         uids ? uids : "", gids ? gids : "");
    enum grpc_code code =
        snap_meta_create(o->meta, kind, key, parent, labels, place_snapshot, &p, &chain, err);
    return code == GRPC_OK ? snap_overlay_mount(o, &chain, labels, out, err) : code;
}

enum grpc_code snap_overlay_commit(struct snap_overlay *o, const char *name, const char *key,
                                   const char *parent, const struct ocv_buffer *labels,
                                   struct grpc_call *call, struct ocv_error *err)
{
    struct snap_usage usage;
    enum grpc_code code = snap_overlay_usage(o, key, call, &usage, err);
    return code == GRPC_OK ? snap_meta_commit(o->meta, name, key, parent, labels, usage, err)
                           : code;
}

enum grpc_code snap_overlay_usage(struct snap_overlay *o, const char *key, struct grpc_call *call,
                                  struct snap_usage *out, struct ocv_error *err)
{
    struct snap_info info = {0};
    enum grpc_code code = snap_meta_stat(o->meta, key, &info, err);
    *out = (struct snap_usage){info.size, info.inodes};
    if (code == GRPC_OK && info.kind == SNAP_ACTIVE) {
        char *path = NULL;
        if (asprintf(&path, "%s/%" PRId64 "/fs", o->directory, info.id) < 0) {
            path = NULL;
            code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        } else {
            code = snap_tree_usage(path, call, out, err);
        }
        free(path);
    }
    snap_info_free(&info);
    return code;
}

enum grpc_code snap_overlay_remove(struct snap_overlay *o, const char *key, struct ocv_error *err)
{
    char name[32];
    int64_t id = 0;
    enum grpc_code code = snap_meta_remove(o->meta, key, &id, err);
    if (code != GRPC_OK)
        return code;
    snprintf(name, sizeof(name), "%" PRId64, id);
    if (snap_tree_remove(o->fd, name) < 0) /* the row is gone: Cleanup tries again */
        snap_overlay_log(o, "cannot remove the directory", name);
    snap_crash_point("remove-directory");
    return GRPC_OK;
}

int snap_overlay_open(const char *root, bool remap_ids, struct snap_meta *meta,
                      void (*log)(const char *line), struct snap_overlay **out,
                      struct ocv_error *err)
{
    struct snap_overlay *o = calloc(1, sizeof(*o));
    if (!o)
        return ocv_error_nomem(err);
    *o = (struct snap_overlay){.fd = -1, .meta = meta, .remap_ids = remap_ids, .log = log};
    int status = OCV_OK;
    if (asprintf(&o->directory, "%s/snapshots", root) < 0) {
        o->directory = NULL;
        status = ocv_error_nomem(err);
    } else if ((mkdir(o->directory, 0700) < 0 && errno != EEXIST) ||
               (o->fd = open(o->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", o->directory, strerror(errno));
    } else {
        o->n_options = snap_overlay_options(root, o->options);
        if (snap_overlay_check(o, err) != GRPC_OK || snap_overlay_cleanup(o, err) != GRPC_OK)
            status = OCV_ERR_IO;
    }
    if (status < 0) {
        snap_overlay_free(o);
        return status;
    }
    *out = o;
    return OCV_OK;
}

void snap_overlay_free(struct snap_overlay *o)
{
    if (!o)
        return;
    if (o->fd >= 0)
        close(o->fd);
    free(o->directory);
    free(o);
}
