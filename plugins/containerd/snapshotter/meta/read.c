/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries on snapshots. */
#include "plugins/containerd/snapshotter/meta/meta_internal.h"

#include <string.h>

enum grpc_code snap_meta_stat(struct snap_meta *meta, const char *name, struct snap_info *out,
                              struct ocv_error *err)
{
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = snap_meta_must_find(meta, name, out, err);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

enum grpc_code snap_meta_chain(struct snap_meta *meta, const char *name, struct snap_chain *chain,
                               struct ocv_buffer *labels, struct ocv_error *err)
{
    struct snap_info info = {0};
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = snap_meta_must_find(meta, name, &info, err);
    if (code == GRPC_OK && info.kind == SNAP_COMMITTED)
        code =
            snap_fail(err, GRPC_FAILED_PRECONDITION, "snapshot %s is not active or a view", name);
    chain->id = info.id;
    chain->kind = info.kind;
    if (code == GRPC_OK)
        code = snap_meta_read_chain(meta, chain, err);
    pthread_mutex_unlock(&meta->lock);
    if (code == GRPC_OK)
        code = snap_labels_copy(labels, &info.labels, err);
    snap_info_free(&info);
    return code;
}

enum grpc_code snap_meta_page(struct snap_meta *meta, int64_t after, size_t *n,
                              int (*visit)(void *data, const struct snap_info *info), void *data,
                              struct ocv_error *err)
{
    struct snap_info info;
    int result = SQLITE_DONE, stop = 0;
    *n = 0;
    pthread_mutex_lock(&meta->lock);
    sqlite3_stmt *row = snap_meta_statement(meta, SQL_PAGE);
    enum grpc_code code = row ? GRPC_OK : snap_meta_broken(meta, err);
    if (row) {
        sqlite3_bind_int64(row, 1, after);
        sqlite3_bind_int(row, 2, (int)SNAP_PAGE);
    }
    while (row && !stop && (result = sqlite3_step(row)) == SQLITE_ROW) {
        if (!snap_meta_row(row, &info)) {
            code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
            break;
        }
        (*n)++;
        stop = visit(data, &info);
        snap_info_free(&info);
    }
    if (row && result != SQLITE_ROW && result != SQLITE_DONE)
        code = snap_meta_broken(meta, err);
    if (row)
        sqlite3_reset(row);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

enum grpc_code snap_meta_freeze(struct snap_meta *meta, enum grpc_code (*visit)(void *data),
                                void *data)
{
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = visit(data);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

bool snap_meta_known(struct snap_meta *meta, int64_t id)
{
    sqlite3_stmt *row = snap_meta_statement(meta, SQL_KNOWN);
    if (!row)
        return true; /* if it cannot be read, do not remove it */
    sqlite3_bind_int64(row, 1, id);
    int result = sqlite3_step(row);
    sqlite3_reset(row);
    return result != SQLITE_DONE;
}

/* The variants unpacked to a chain of layers. Several images may share a chain. */

static bool bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    return sqlite3_bind_text(statement, place, text ? text : "", -1, SQLITE_STATIC) == SQLITE_OK;
}

enum grpc_code snap_meta_variant_add(struct snap_meta *meta, const struct snap_variant *v,
                                     struct ocv_error *err)
{
    pthread_mutex_lock(&meta->lock);
    sqlite3_stmt *statement = snap_meta_statement(meta, SQL_VARIANT_ADD);
    bool bound = statement && bind_text(statement, 1, v->ns) && bind_text(statement, 2, v->chain) &&
                 bind_text(statement, 3, v->label) && bind_text(statement, 4, v->properties) &&
                 bind_text(statement, 5, v->digest) && bind_text(statement, 6, v->reference);
    enum grpc_code code = bound ? snap_meta_run(meta, statement, err) : snap_meta_broken(meta, err);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

enum grpc_code snap_meta_variants(struct snap_meta *meta, const char *ns, const char *chain,
                                  int (*visit)(void *data, const struct snap_variant *variant),
                                  void *data, struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    int result = SQLITE_DONE, stop = 0;
    pthread_mutex_lock(&meta->lock);
    sqlite3_stmt *row = snap_meta_statement(meta, SQL_VARIANTS);
    if (!row || !bind_text(row, 1, ns) || !bind_text(row, 2, chain))
        code = snap_meta_broken(meta, err);
    while (code == GRPC_OK && !stop && (result = sqlite3_step(row)) == SQLITE_ROW) {
        char *text[6];
        for (int i = 0; i < 6; i++)
            text[i] = (char *)(uintptr_t)sqlite3_column_text(row, i);
        const struct snap_variant variant = {text[0], text[1], text[2], text[3], text[4], text[5]};
        stop = visit(data, &variant);
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        code = snap_meta_broken(meta, err);
    if (row)
        sqlite3_reset(row);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

enum grpc_code snap_meta_variants_drop(struct snap_meta *meta, const char *ns, const char *chain,
                                       struct ocv_error *err)
{
    pthread_mutex_lock(&meta->lock);
    sqlite3_stmt *statement = snap_meta_statement(meta, SQL_VARIANT_DROP);
    enum grpc_code code = statement && bind_text(statement, 1, ns) && bind_text(statement, 2, chain)
                              ? snap_meta_run(meta, statement, err)
                              : snap_meta_broken(meta, err);
    pthread_mutex_unlock(&meta->lock);
    return code;
}
