/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates, commits, updates and removes snapshots. */
#include "plugins/containerd/snapshotter/meta/meta_internal.h"
#include "plugins/containerd/snapshotter/types/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void bind_labels(sqlite3_stmt *statement, int place, const struct ocv_buffer *labels)
{
    if (labels->len)
        sqlite3_bind_blob(statement, place, labels->data, (int)labels->len, SQLITE_STATIC);
}

static void bind_parent(sqlite3_stmt *statement, int place, int64_t parent)
{
    if (parent)
        sqlite3_bind_int64(statement, place, parent);
}

static enum grpc_code check_name(const char *what, const char *name, struct ocv_error *err)
{
    if (!*name)
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "%s is empty", what);
    if (strlen(name) > SNAP_NAME_MAX)
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "%s longer than %u bytes", what,
                         SNAP_NAME_MAX);
    return GRPC_OK;
}

static enum grpc_code parent_id(struct snap_meta *meta, const char *parent,
                                enum grpc_code not_committed, int64_t *id, struct ocv_error *err)
{
    struct snap_info info = {0};
    *id = 0;
    if (!*parent)
        return GRPC_OK;
    enum grpc_code code = snap_meta_find(meta, parent, &info, err);
    if (code == GRPC_NOT_FOUND)
        snap_fail(err, code, "parent snapshot %s does not exist", parent);
    else if (code == GRPC_OK && info.kind != SNAP_COMMITTED)
        code = snap_fail(err, not_committed, "parent %s is not a committed snapshot", parent);
    *id = info.id;
    snap_info_free(&info);
    return code;
}

enum grpc_code snap_meta_create(struct snap_meta *meta, enum snap_kind kind, const char *name,
                                const char *parent, const struct ocv_buffer *labels,
                                enum grpc_code (*place)(void *data, const struct snap_chain *chain,
                                                        struct ocv_error *err),
                                void *data, struct snap_chain *chain, struct ocv_error *err)
{
    int64_t above = 0;
    enum grpc_code code = check_name("key", name, err);
    if (code != GRPC_OK || (code = snap_meta_begin(meta, err)) != GRPC_OK)
        return code;
    code = parent_id(meta, parent, GRPC_INVALID_ARGUMENT, &above, err);
    chain->kind = kind;
    sqlite3_stmt *statement = code == GRPC_OK ? snap_meta_statement(meta, SQL_INSERT) : NULL;
    if (code == GRPC_OK && !statement)
        code = snap_meta_broken(meta, err);
    if (code == GRPC_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        bind_parent(statement, 2, above);
        sqlite3_bind_int(statement, 3, (int)kind);
        sqlite3_bind_int64(statement, 4, now_ns());
        bind_labels(statement, 5, labels);
        code = snap_meta_run(meta, statement, err);
        if (code != GRPC_OK && sqlite3_errcode(meta->db) == SQLITE_CONSTRAINT)
            code = snap_fail(err, GRPC_ALREADY_EXISTS, "snapshot %s already exists", name);
        chain->id = sqlite3_last_insert_rowid(meta->db);
    }
    if (code == GRPC_OK)
        code = snap_meta_read_chain(meta, chain, err);
    snap_crash_point("create-row");
    if (code == GRPC_OK)
        code = place(data, chain, err);
    snap_crash_point("create-placed");
    code = snap_meta_end(meta, code, err);
    snap_crash_point("create-done");
    return code;
}

enum grpc_code snap_meta_commit(struct snap_meta *meta, const char *name, const char *key,
                                const char *parent, const struct ocv_buffer *labels,
                                struct snap_usage usage, struct ocv_error *err)
{
    ocv_auto_buffer merged;
    snap_labels_init(&merged);
    enum grpc_code code = check_name("name", name, err);
    if (code == GRPC_OK)
        code = snap_labels_copy(&merged, labels, err);
    if (code != GRPC_OK || (code = snap_meta_begin(meta, err)) != GRPC_OK)
        return code;

    struct snap_info info = {0};
    int64_t above = 0;
    code = snap_meta_find(meta, name, &info, err);
    if (code == GRPC_OK)
        code = snap_fail(err, GRPC_ALREADY_EXISTS, "committed snapshot %s already exists", name);
    else if (code == GRPC_NOT_FOUND)
        code = snap_meta_must_find(meta, key, &info, err);
    if (code == GRPC_OK && info.kind != SNAP_ACTIVE)
        code = snap_fail(err, GRPC_FAILED_PRECONDITION, "snapshot %s is not active", key);
    const char *own = info.parent ? info.parent : "", *label, *value;
    if (code == GRPC_OK && *parent && *own && strcmp(parent, own) != 0)
        code = snap_fail(err, GRPC_INVALID_ARGUMENT,
                         "cannot change parent of active snapshot %s on commit", key);
    /* It was mounted as a directory, and so what its layer deletes is lost. */
    if (code == GRPC_OK && *parent && !*own && snap_labels_get(&info.labels, SNAP_LABEL_REF) &&
        !snap_labels_get(&info.labels, SNAP_LABEL_PARENT))
        code = snap_fail(
            err, GRPC_FAILED_PRECONDITION,
            "%s was unpacked beside its parent by a containerd older than 2.3, which loses "
            "deleted files: set max_concurrent_unpacks = 1",
            key);
    if (code == GRPC_OK)
        code = parent_id(meta, *own ? own : parent, GRPC_FAILED_PRECONDITION, &above, err);
    /* our labels about the image stay with its snapshot */
    for (size_t at = 0; code == GRPC_OK && snap_labels_next(&info.labels, &at, &label, &value);)
        if (strncmp(label, SNAP_LABEL_OURS, sizeof(SNAP_LABEL_OURS) - 1) == 0)
            code = snap_labels_set(&merged, label, value, err);
    sqlite3_stmt *statement = code == GRPC_OK ? snap_meta_statement(meta, SQL_RENAME) : NULL;
    if (code == GRPC_OK && !statement)
        code = snap_meta_broken(meta, err);
    if (code == GRPC_OK) {
        sqlite3_bind_int64(statement, 1, info.id);
        sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
        bind_parent(statement, 3, above);
        sqlite3_bind_int64(statement, 4, now_ns());
        sqlite3_bind_int64(statement, 5, usage.size);
        sqlite3_bind_int64(statement, 6, usage.inodes);
        bind_labels(statement, 7, &merged);
        code = snap_meta_run(meta, statement, err);
        if (code != GRPC_OK && sqlite3_errcode(meta->db) == SQLITE_CONSTRAINT)
            code =
                snap_fail(err, GRPC_ALREADY_EXISTS, "committed snapshot %s already exists", name);
    }
    snap_info_free(&info);
    snap_crash_point("commit-row");
    code = snap_meta_end(meta, code, err);
    snap_crash_point("commit-done");
    return code;
}

static enum grpc_code remove_row(struct snap_meta *meta, const char *name, int64_t *id,
                                 struct ocv_error *err)
{
    struct snap_info info = {0};
    enum grpc_code code = snap_meta_begin(meta, err);
    if (code != GRPC_OK)
        return code;
    code = snap_meta_must_find(meta, name, &info, err);
    sqlite3_stmt *child = code == GRPC_OK ? snap_meta_statement(meta, SQL_CHILD) : NULL;
    sqlite3_stmt *statement = child ? snap_meta_statement(meta, SQL_DELETE) : NULL;
    if (code == GRPC_OK && !statement)
        code = snap_meta_broken(meta, err);
    if (code == GRPC_OK) {
        sqlite3_bind_int64(child, 1, info.id);
        int result = sqlite3_step(child);
        sqlite3_reset(child);
        if (result == SQLITE_ROW)
            code = snap_fail(err, GRPC_FAILED_PRECONDITION, "cannot remove snapshot with child");
        else if (result != SQLITE_DONE)
            code = snap_meta_broken(meta, err);
    }
    if (code == GRPC_OK) {
        sqlite3_bind_int64(statement, 1, info.id);
        code = snap_meta_run(meta, statement, err);
    }
    *id = info.id;
    snap_crash_point("remove-row");
    code = snap_meta_end(meta, code, err);
    snap_crash_point("remove-done");
    snap_info_free(&info);
    return code;
}

enum grpc_code snap_meta_remove(struct snap_meta *meta, const char *name, int64_t *id,
                                struct ocv_error *err)
{
    enum grpc_code code = remove_row(meta, name, id, err);
    if (code == GRPC_RESOURCE_EXHAUSTED && snap_meta_unreserve(meta))
        code = remove_row(meta, name, id, err);
    return code;
}

enum grpc_code snap_meta_update(struct snap_meta *meta, const char *name,
                                const struct ocv_buffer *labels, char *const *paths, size_t n_paths,
                                struct snap_info *out, struct ocv_error *err)
{
    enum grpc_code code = snap_meta_begin(meta, err);
    *out = (struct snap_info){0};
    if (code != GRPC_OK)
        return code;
    code = snap_meta_must_find(meta, name, out, err);
    if (code == GRPC_OK && !n_paths)
        code = snap_labels_copy(&out->labels, labels, err);
    for (size_t i = 0; code == GRPC_OK && i < n_paths; i++) {
        if (strcmp(paths[i], "labels") == 0) {
            code = snap_labels_copy(&out->labels, labels, err);
        } else if (strncmp(paths[i], "labels.", 7) == 0) {
            const char *value = snap_labels_get(labels, paths[i] + 7);
            code = snap_labels_set(&out->labels, paths[i] + 7, value ? value : "", err);
        } else {
            code =
                snap_fail(err, GRPC_INVALID_ARGUMENT,
                          "cannot update \"%.64s\" field on snapshot \"%.256s\"", paths[i], name);
        }
    }
    sqlite3_stmt *statement = code == GRPC_OK ? snap_meta_statement(meta, SQL_LABELS) : NULL;
    if (code == GRPC_OK && !statement)
        code = snap_meta_broken(meta, err);
    if (code == GRPC_OK) {
        out->updated = now_ns();
        sqlite3_bind_int64(statement, 1, out->id);
        bind_labels(statement, 2, &out->labels);
        sqlite3_bind_int64(statement, 3, out->updated);
        code = snap_meta_run(meta, statement, err);
    }
    code = snap_meta_end(meta, code, err);
    if (code != GRPC_OK)
        snap_info_free(out);
    return code;
}

/* Reserved disk space: even removing a snapshot must write to the database, which fails on a full
 * disk. A file beside the database reserves some space, and is emptied when that is needed. */

#define RESERVE_BYTES (2 * 1024 * 1024) /* twice the size at which the log starts over */

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
