/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots in folders, as containerd's overlayfs lays them out:
 *
 *   ROOT/metadata.db        names (meta.c)
 *   ROOT/snapshots/ID/fs    what the snapshot changed
 *   ROOT/snapshots/ID/work  overlayfs' own, of active ones
 *   ROOT/snapshots/rm-…     on its way out
 *
 * A folder whose number is no row's is an orphan: of a call that was interrupted. */
#include "snapshotter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL_UIDS SNAP_LABEL_PREFIX "uidmapping"
#define LABEL_GIDS SNAP_LABEL_PREFIX "gidmapping"

struct snap_overlay {
    char *folder; /* ROOT/snapshots */
    int fd;
    struct snap_meta *meta;
    bool remap_ids;
    void (*log)(const char *line);
    const char *options[4];
    size_t n_options;
    unsigned aside; /* number of the next rm- name; under meta's lock */
};

static void say(const struct snap_overlay *o, const char *what, const char *name)
{
    char line[512];
    snprintf(line, sizeof(line), "%s: %s: %s", name, what, strerror(errno));
    if (o->log)
        o->log(line);
}

static enum grpc_code io_failure(struct ocv_error *err, const char *what, const char *name)
{
    enum grpc_code code =
        errno == ENOSPC || errno == EDQUOT ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL;
    return snap_fail(err, code, "%s %s: %s", what, name, strerror(errno));
}

/* ---- mounts ------------------------------------------------------------------------------------
 */

static bool add_option(struct snap_mount *m, const char *text)
{
    if (m->n_options == sizeof(m->options) / sizeof(*m->options))
        return false;
    m->options[m->n_options] = strdup(text);
    return m->options[m->n_options++] != NULL;
}

static bool add_path(struct snap_mount *m, const char *option, const struct snap_overlay *o,
                     int64_t id, const char *leaf)
{
    char *text = NULL;
    if (asprintf(&text, "%s=%s/%" PRId64 "/%s", option, o->folder, id, leaf) < 0)
        return false;
    bool added = add_option(m, text);
    free(text);
    return added;
}

static bool add_lower(struct snap_mount *m, const struct snap_overlay *o,
                      const struct snap_chain *chain)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 8u * 1024 * 1024);
    for (size_t i = 0; i < chain->n_parents; i++)
        if (ocv_buffer_printf(&text, NULL, "%s%s/%" PRId64 "/fs", i ? ":" : "lowerdir=", o->folder,
                              chain->parents[i]) < 0)
            return false;
    return add_option(m, text.data);
}

static bool make_bind(struct snap_mount *m, const struct snap_overlay *o, int64_t id, bool writable)
{
    m->type = strdup("bind");
    return m->type && asprintf(&m->source, "%s/%" PRId64 "/fs", o->folder, id) >= 0 &&
           add_option(m, writable ? "rw" : "ro") && add_option(m, "rbind");
}

static bool make_overlay(struct snap_mount *m, const struct snap_overlay *o,
                         const struct snap_chain *chain)
{
    bool ok = (m->type = strdup("overlay")) && (m->source = strdup("overlay"));
    for (size_t i = 0; ok && i < o->n_options; i++)
        ok = add_option(m, o->options[i]);
    if (ok && chain->kind == SNAP_ACTIVE)
        ok = add_path(m, "workdir", o, chain->id, "work") &&
             add_path(m, "upperdir", o, chain->id, "fs");
    return ok && add_lower(m, o, chain);
}

static bool add_mapping(struct snap_mount *m, const char *option, const char *value)
{
    char text[SNAP_LABEL_MAX + 16];
    snprintf(text, sizeof(text), "%s=%s", option, value);
    return add_option(m, text);
}

static enum grpc_code make_mount(const struct snap_overlay *o, const struct snap_chain *chain,
                                 const struct ocv_buffer *labels, struct snap_mount *m,
                                 struct ocv_error *err)
{
    bool ok = true;
    const char *uids = snap_labels_get(labels, LABEL_UIDS);
    const char *gids = snap_labels_get(labels, LABEL_GIDS);
    *m = (struct snap_mount){0};
    if (o->remap_ids && uids)
        ok = add_mapping(m, "uidmap", uids);
    if (ok && o->remap_ids && gids)
        ok = add_mapping(m, "gidmap", gids);
    if (ok && chain->n_parents == 0) /* overlayfs wants a lower folder */
        ok = make_bind(m, o, chain->id, chain->kind == SNAP_ACTIVE);
    else if (ok && chain->n_parents == 1 &&
             chain->kind == SNAP_VIEW) /* and two of them, read-only */
        ok = make_bind(m, o, chain->parents[0], false);
    else
        ok = ok && make_overlay(m, o, chain);
    if (ok)
        return GRPC_OK;
    snap_mount_free(m);
    return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

enum grpc_code snap_overlay_mounts(struct snap_overlay *o, const char *key, struct snap_mount *out,
                                   struct ocv_error *err)
{
    struct snap_chain chain;
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    enum grpc_code code = snap_meta_chain(o->meta, key, &chain, &labels, err);
    return code == GRPC_OK ? make_mount(o, &chain, &labels, out, err) : code;
}

/* ---- create ------------------------------------------------------------------------------------
 */

struct placement {
    struct snap_overlay *overlay;
    uid_t uid;
    gid_t gid;
    bool owned; /* by the labels' mapping */
};

/* "0:HOST:SIZE[,…]": the host's id of 0. */
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

static enum grpc_code read_owner(const struct ocv_buffer *labels, struct placement *p,
                                 struct ocv_error *err)
{
    const char *uids = snap_labels_get(labels, LABEL_UIDS);
    const char *gids = snap_labels_get(labels, LABEL_GIDS);
    unsigned uid, gid;
    if (!uids && !gids)
        return GRPC_OK;
    if (!uids || !gids || !root_of(uids, &uid) || !root_of(gids, &gid))
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "malformed id mapping '%.64s', '%.64s'",
                         uids ? uids : "", gids ? gids : "");
    p->uid = uid;
    p->gid = gid;
    p->owned = true;
    return GRPC_OK;
}

/* Out of the way of a new name: of a snapshot whose creation was interrupted. */
static int move_aside(struct snap_overlay *o, const char *name)
{
    char aside[NAME_MAX + 1];
    do {
        snprintf(aside, sizeof(aside), "rm-%.200s.%u", name, o->aside++);
    } while (faccessat(o->fd, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    return renameat(o->fd, name, o->fd, aside);
}

static int make_folder(struct snap_overlay *o, const char *name)
{
    if (mkdirat(o->fd, name, 0700) == 0)
        return 0;
    if (errno != EEXIST || move_aside(o, name) < 0)
        return -1;
    return mkdirat(o->fd, name, 0700);
}

static int make_inside(struct snap_overlay *o, const char *name, const struct snap_chain *chain,
                       const struct placement *p)
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

static enum grpc_code place(void *data, const struct snap_chain *chain, struct ocv_error *err)
{
    struct placement *p = data;
    struct snap_overlay *o = p->overlay;
    char name[32];
    snprintf(name, sizeof(name), "%" PRId64, chain->id);
    if (make_folder(o, name) < 0)
        return io_failure(err, "cannot create snapshot folder", name);
    snap_crash_point("create-folder");
    if (make_inside(o, name, chain, p) == 0)
        return GRPC_OK;
    enum grpc_code code = io_failure(err, "cannot create snapshot folder", name);
    (void)snap_tree_remove(o->fd, name);
    return code;
}

enum grpc_code snap_overlay_create(struct snap_overlay *o, enum snap_kind kind, const char *key,
                                   const char *parent, const struct ocv_buffer *labels,
                                   struct snap_mount *out, struct ocv_error *err)
{
    struct placement p = {.overlay = o};
    struct snap_chain chain;
    enum grpc_code code = read_owner(labels, &p, err);
    if (code == GRPC_OK)
        code = snap_meta_create(o->meta, kind, key, parent, labels, place, &p, &chain, err);
    return code == GRPC_OK ? make_mount(o, &chain, labels, out, err) : code;
}

/* ---- the rest ----------------------------------------------------------------------------------
 */

static enum grpc_code usage_of(struct snap_overlay *o, int64_t id, struct grpc_call *call,
                               struct snap_usage *out, struct ocv_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%" PRId64 "/fs", o->folder, id) < 0)
        return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    enum grpc_code code = snap_tree_usage(path, call, out, err);
    free(path);
    return code;
}

enum grpc_code snap_overlay_commit(struct snap_overlay *o, const char *name, const char *key,
                                   const char *parent, const struct ocv_buffer *labels,
                                   struct grpc_call *call, struct ocv_error *err)
{
    struct snap_info info = {0};
    struct snap_usage usage = {0};
    enum grpc_code code = snap_meta_stat(o->meta, key, &info, err);
    if (code == GRPC_OK && info.kind == SNAP_ACTIVE)
        code = usage_of(o, info.id, call, &usage, err);
    snap_info_free(&info);
    return code == GRPC_OK ? snap_meta_commit(o->meta, name, key, parent, labels, usage, err)
                           : code;
}

enum grpc_code snap_overlay_usage(struct snap_overlay *o, const char *key, struct grpc_call *call,
                                  struct snap_usage *out, struct ocv_error *err)
{
    struct snap_info info = {0};
    enum grpc_code code = snap_meta_stat(o->meta, key, &info, err);
    *out = (struct snap_usage){info.size, info.inodes};
    if (code == GRPC_OK && info.kind == SNAP_ACTIVE)
        code = usage_of(o, info.id, call, out, err);
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
    if (snap_tree_remove(o->fd, name) < 0) /* the key is gone: Cleanup tries again */
        say(o, "cannot remove the folder", name);
    snap_crash_point("remove-folder");
    return GRPC_OK;
}

/* ---- clean-up ----------------------------------------------------------------------------------
 */

static bool is_number(const char *name, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(name, &end, 10);
    return *name >= '1' && *name <= '9' && !*end && !errno;
}

/* Orphans get another name while no snapshot can come, so that what is removed afterwards is no
 * new snapshot's. */
static enum grpc_code set_aside(void *data)
{
    struct snap_overlay *o = data;
    const struct dirent *entry;
    int64_t id;
    int fd = openat(o->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return GRPC_INTERNAL;
    }
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "rm-", 3) == 0)
            continue;
        if (is_number(entry->d_name, &id) && snap_meta_known(o->meta, id, NULL))
            continue;
        if (move_aside(o, entry->d_name) < 0 && errno != ENOENT)
            say(o, "cannot set an orphan aside", entry->d_name);
    }
    closedir(dir);
    return GRPC_OK;
}

static enum grpc_code remove_aside(struct snap_overlay *o, struct ocv_error *err)
{
    const struct dirent *entry;
    int fd = openat(o->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return io_failure(err, "cannot read", o->folder);
    }
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, "rm-", 3) == 0 && snap_tree_remove(o->fd, entry->d_name) < 0)
            say(o, "cannot remove an orphan", entry->d_name);
    closedir(dir);
    return GRPC_OK;
}

enum grpc_code snap_overlay_cleanup(struct snap_overlay *o, struct ocv_error *err)
{
    enum grpc_code code = snap_meta_freeze(o->meta, set_aside, o, err);
    if (code != GRPC_OK)
        return snap_fail(err, code, "cannot read %s", o->folder);
    snap_crash_point("cleanup-aside");
    return remove_aside(o, err);
}

/* ---- life --------------------------------------------------------------------------------------
 */

/* Only a power cut can take the folder of a row. An active snapshot's is made again, empty: its
 * owner removes it; a committed one's content is lost and said so. */
static int check_row(void *data, const struct snap_info *info)
{
    struct snap_overlay *o = ((void **)data)[0];
    char name[64];
    *(int64_t *)((void **)data)[1] = info->id;
    snprintf(name, sizeof(name), "%" PRId64 "/fs", info->id);
    if (faccessat(o->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    say(o, info->kind == SNAP_COMMITTED ? "content lost" : "folder lost, made again", info->name);
    if (info->kind == SNAP_COMMITTED)
        return 0;
    const struct snap_chain chain = {.id = info->id, .kind = info->kind};
    const struct placement p = {.overlay = o};
    *strchr(name, '/') = '\0';
    if (make_folder(o, name) < 0 || make_inside(o, name, &chain, &p) < 0)
        say(o, "cannot make the folder again", name);
    return 0;
}

static enum grpc_code check_rows(struct snap_overlay *o, struct ocv_error *err)
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

int snap_overlay_open(const char *root, bool remap_ids, struct snap_meta *meta,
                      void (*log)(const char *line), struct snap_overlay **out,
                      struct ocv_error *err)
{
    struct snap_overlay *o = calloc(1, sizeof(*o));
    if (!o)
        return ocv_error_nomem(err);
    *o = (struct snap_overlay){.fd = -1, .meta = meta, .remap_ids = remap_ids, .log = log};
    int status = OCV_OK;
    if (asprintf(&o->folder, "%s/snapshots", root) < 0) {
        o->folder = NULL;
        status = ocv_error_nomem(err);
    } else if ((mkdir(o->folder, 0700) < 0 && errno != EEXIST) ||
               (o->fd = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", o->folder, strerror(errno));
    } else {
        o->n_options = snap_overlay_options(root, o->options);
        if (check_rows(o, err) != GRPC_OK || snap_overlay_cleanup(o, err) != GRPC_OK)
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
    free(o->folder);
    free(o);
}
