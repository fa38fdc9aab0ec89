/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots' names, parents, kinds and labels. A row exists exactly as long as its snapshot; the
 * folder of its id is made before the row is committed and removed after the row has gone, so that
 * whatever is interrupted leaves a folder without row, never a row without folder. Ids are never
 * used again (AUTOINCREMENT). */
#include "meta.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION 1

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS snapshots("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
    " parent INTEGER REFERENCES snapshots(id), kind INTEGER NOT NULL,"
    " created INTEGER NOT NULL, updated INTEGER NOT NULL,"
    " size INTEGER NOT NULL DEFAULT 0, inodes INTEGER NOT NULL DEFAULT 0, labels BLOB);"
    "CREATE INDEX IF NOT EXISTS children ON snapshots(parent);"
    "CREATE TABLE IF NOT EXISTS variants("
    " ns TEXT NOT NULL, chain TEXT NOT NULL, label TEXT NOT NULL, properties TEXT NOT NULL,"
    " digest TEXT NOT NULL, reference TEXT NOT NULL,"
    " PRIMARY KEY(ns, chain, label, digest)) WITHOUT ROWID;"
    "PRAGMA user_version=1;";

#define INFO                                                                              \
    "s.id, s.name, p.name, s.kind, s.created, s.updated, s.size, s.inodes, s.labels FROM" \
    " snapshots s LEFT JOIN snapshots p ON p.id = s.parent"
static const char *const sql[SQL_N] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_FIND] = "SELECT " INFO " WHERE s.name = ?1",
    [SQL_INSERT] = "INSERT INTO snapshots(name, parent, kind, created, updated, labels)"
                   " VALUES(?1, ?2, ?3, ?4, ?4, ?5)",
    [SQL_PARENT] = "SELECT parent FROM snapshots WHERE id = ?1",
    [SQL_CHILD] = "SELECT 1 FROM snapshots WHERE parent = ?1 LIMIT 1",
    [SQL_RENAME] = "UPDATE snapshots SET name = ?2, parent = ?3, kind = 3, created = ?4,"
                   " updated = ?4, size = ?5, inodes = ?6, labels = ?7 WHERE id = ?1",
    [SQL_DELETE] = "DELETE FROM snapshots WHERE id = ?1",
    [SQL_LABELS] = "UPDATE snapshots SET labels = ?2, updated = ?3 WHERE id = ?1",
    [SQL_PAGE] = "SELECT " INFO " WHERE s.id > ?1 ORDER BY s.id LIMIT ?2",
    [SQL_KNOWN] = "SELECT kind FROM snapshots WHERE id = ?1",
    [SQL_VARIANT_ADD] = "INSERT OR REPLACE INTO variants VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_VARIANTS] = "SELECT * FROM variants WHERE ns = ?1 AND chain = ?2",
    [SQL_VARIANT_DROP] = "DELETE FROM variants WHERE ns = ?1 AND chain = ?2",
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum grpc_code snap_meta_broken(struct snap_meta *meta, struct ocv_error *err)
{
    int code = sqlite3_errcode(meta->db);
    return snap_fail(err, code == SQLITE_FULL ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL,
                     "metadata: %s", sqlite3_errmsg(meta->db));
}

sqlite3_stmt *snap_meta_statement(struct snap_meta *meta, enum snap_sql which)
{
    sqlite3_stmt **statement = &meta->statements[which];
    if (!*statement && sqlite3_prepare_v3(meta->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                          statement, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_reset(*statement);
    sqlite3_clear_bindings(*statement);
    return *statement;
}

enum grpc_code snap_meta_run(struct snap_meta *meta, sqlite3_stmt *statement, struct ocv_error *err)
{
    int result = statement ? sqlite3_step(statement) : SQLITE_ERROR;
    enum grpc_code code = result == SQLITE_DONE ? GRPC_OK : snap_meta_broken(meta, err);
    if (statement)
        sqlite3_reset(statement);
    return code;
}

/* ---- transactions ------------------------------------------------------------------------------
 */

static enum grpc_code begin(struct snap_meta *meta, struct ocv_error *err)
{
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = snap_meta_run(meta, snap_meta_statement(meta, SQL_BEGIN), err);
    if (code != GRPC_OK)
        pthread_mutex_unlock(&meta->lock);
    return code;
}

/* Commit if all is well, else undo. */
static enum grpc_code end(struct snap_meta *meta, enum grpc_code code, struct ocv_error *err)
{
    if (code == GRPC_OK)
        code = snap_meta_run(meta, snap_meta_statement(meta, SQL_COMMIT), err);
    if (code != GRPC_OK)
        (void)snap_meta_run(meta, snap_meta_statement(meta, SQL_ROLLBACK), NULL);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static char *column_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return strdup(text ? text : "");
}

static bool read_info(sqlite3_stmt *row, struct snap_info *out)
{
    const void *labels = sqlite3_column_blob(row, 8);
    int len = sqlite3_column_bytes(row, 8);
    *out = (struct snap_info){.id = sqlite3_column_int64(row, 0),
                              .name = column_text(row, 1),
                              .parent = column_text(row, 2),
                              .kind = (enum snap_kind)sqlite3_column_int(row, 3),
                              .created = sqlite3_column_int64(row, 4),
                              .updated = sqlite3_column_int64(row, 5),
                              .size = sqlite3_column_int64(row, 6),
                              .inodes = sqlite3_column_int64(row, 7)};
    snap_labels_init(&out->labels);
    bool whole = len <= 0 || (labels && ((const char *)labels)[len - 1] == '\0' &&
                              ocv_buffer_append(&out->labels, labels, (size_t)len, NULL) == 0);
    if (out->name && out->parent && whole)
        return true;
    snap_info_free(out);
    return false;
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

/* GRPC_NOT_FOUND without a message where there is none. */
static enum grpc_code find(struct snap_meta *meta, const char *name, struct snap_info *out,
                           struct ocv_error *err)
{
    sqlite3_stmt *row = snap_meta_statement(meta, SQL_FIND);
    *out = (struct snap_info){0};
    if (!row || sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC) != SQLITE_OK)
        return snap_meta_broken(meta, err);
    int result = sqlite3_step(row);
    enum grpc_code code = GRPC_NOT_FOUND;
    if (result == SQLITE_ROW)
        code = read_info(row, out) ? GRPC_OK
                                   : snap_fail(err, GRPC_DATA_LOSS, "snapshot %s: bad row", name);
    else if (result != SQLITE_DONE)
        code = snap_meta_broken(meta, err);
    sqlite3_reset(row);
    return code;
}

static enum grpc_code must_find(struct snap_meta *meta, const char *name, struct snap_info *out,
                                struct ocv_error *err)
{
    enum grpc_code code = find(meta, name, out, err);
    return code == GRPC_NOT_FOUND ? snap_fail(err, code, "snapshot %s does not exist", name) : code;
}

/* Fill the parents of chain->id. */
static enum grpc_code read_chain(struct snap_meta *meta, struct snap_chain *chain,
                                 struct ocv_error *err)
{
    int64_t id = chain->id;
    chain->n_parents = 0;
    for (;;) {
        sqlite3_stmt *row = snap_meta_statement(meta, SQL_PARENT);
        if (!row || sqlite3_bind_int64(row, 1, id) != SQLITE_OK || sqlite3_step(row) != SQLITE_ROW)
            return snap_meta_broken(meta, err);
        bool last = sqlite3_column_type(row, 0) == SQLITE_NULL;
        id = sqlite3_column_int64(row, 0);
        sqlite3_reset(row);
        if (last)
            return GRPC_OK;
        if (chain->n_parents == SNAP_CHAIN_MAX)
            return snap_fail(err, GRPC_FAILED_PRECONDITION, "more than %u parents", SNAP_CHAIN_MAX);
        chain->parents[chain->n_parents++] = id;
    }
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

/* ---- create ------------------------------------------------------------------------------------
 */

static enum grpc_code parent_id(struct snap_meta *meta, const char *parent,
                                enum grpc_code not_committed, int64_t *id, struct ocv_error *err)
{
    struct snap_info info = {0};
    *id = 0;
    if (!*parent)
        return GRPC_OK;
    enum grpc_code code = find(meta, parent, &info, err);
    if (code == GRPC_NOT_FOUND)
        snap_fail(err, code, "parent snapshot %s does not exist", parent);
    else if (code == GRPC_OK && info.kind != SNAP_COMMITTED)
        code = snap_fail(err, not_committed, "parent %s is not a committed snapshot", parent);
    *id = info.id;
    snap_info_free(&info);
    return code;
}

static enum grpc_code insert(struct snap_meta *meta, enum snap_kind kind, const char *name,
                             int64_t parent, const struct ocv_buffer *labels, int64_t *id,
                             struct ocv_error *err)
{
    sqlite3_stmt *statement = snap_meta_statement(meta, SQL_INSERT);
    if (!statement)
        return snap_meta_broken(meta, err);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    bind_parent(statement, 2, parent);
    sqlite3_bind_int(statement, 3, (int)kind);
    sqlite3_bind_int64(statement, 4, now_ns());
    bind_labels(statement, 5, labels);
    enum grpc_code code = snap_meta_run(meta, statement, err);
    if (code != GRPC_OK && sqlite3_errcode(meta->db) == SQLITE_CONSTRAINT)
        return snap_fail(err, GRPC_ALREADY_EXISTS, "snapshot %s already exists", name);
    *id = sqlite3_last_insert_rowid(meta->db);
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
    if (code != GRPC_OK || (code = begin(meta, err)) != GRPC_OK)
        return code;
    code = parent_id(meta, parent, GRPC_INVALID_ARGUMENT, &above, err);
    chain->kind = kind;
    if (code == GRPC_OK)
        code = insert(meta, kind, name, above, labels, &chain->id, err);
    if (code == GRPC_OK)
        code = read_chain(meta, chain, err);
    snap_crash_point("create-row");
    if (code == GRPC_OK)
        code = place(data, chain, err);
    snap_crash_point("create-placed");
    code = end(meta, code, err);
    snap_crash_point("create-done");
    return code;
}

/* ---- commit, remove ----------------------------------------------------------------------------
 */

static enum grpc_code rename_row(struct snap_meta *meta, const struct snap_info *info,
                                 const char *name, int64_t parent, const struct ocv_buffer *labels,
                                 struct snap_usage usage, struct ocv_error *err)
{
    sqlite3_stmt *statement = snap_meta_statement(meta, SQL_RENAME);
    if (!statement)
        return snap_meta_broken(meta, err);
    sqlite3_bind_int64(statement, 1, info->id);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    bind_parent(statement, 3, parent);
    sqlite3_bind_int64(statement, 4, now_ns());
    sqlite3_bind_int64(statement, 5, usage.size);
    sqlite3_bind_int64(statement, 6, usage.inodes);
    bind_labels(statement, 7, labels);
    enum grpc_code code = snap_meta_run(meta, statement, err);
    if (code != GRPC_OK && sqlite3_errcode(meta->db) == SQLITE_CONSTRAINT)
        return snap_fail(err, GRPC_ALREADY_EXISTS, "committed snapshot %s already exists", name);
    return code;
}

/* What was said of the image stays with its snapshot. */
static enum grpc_code keep_ours(const struct ocv_buffer *from, struct ocv_buffer *labels,
                                struct ocv_error *err)
{
    const char *key, *value;
    enum grpc_code code = GRPC_OK;
    for (size_t at = 0; code == GRPC_OK && snap_labels_next(from, &at, &key, &value);)
        if (strncmp(key, SNAP_LABEL_OURS, sizeof(SNAP_LABEL_OURS) - 1) == 0)
            code = snap_labels_set(labels, key, value, err);
    return code;
}

static enum grpc_code commit_row(struct snap_meta *meta, const char *name, const char *key,
                                 const char *parent, struct ocv_buffer *labels,
                                 struct snap_usage usage, struct ocv_error *err)
{
    struct snap_info info = {0};
    int64_t above = 0;
    enum grpc_code code = find(meta, name, &info, err);
    if (code == GRPC_OK)
        code = snap_fail(err, GRPC_ALREADY_EXISTS, "committed snapshot %s already exists", name);
    else if (code == GRPC_NOT_FOUND)
        code = must_find(meta, key, &info, err);
    if (code == GRPC_OK && info.kind != SNAP_ACTIVE)
        code = snap_fail(err, GRPC_FAILED_PRECONDITION, "snapshot %s is not active", key);
    const char *own = info.parent ? info.parent : "";
    if (code == GRPC_OK && *parent && *own && strcmp(parent, own) != 0)
        code = snap_fail(err, GRPC_INVALID_ARGUMENT,
                         "cannot change parent of active snapshot %s on commit", key);
    if (code == GRPC_OK)
        code = parent_id(meta, *own ? own : parent, GRPC_FAILED_PRECONDITION, &above, err);
    if (code == GRPC_OK)
        code = keep_ours(&info.labels, labels, err);
    if (code == GRPC_OK)
        code = rename_row(meta, &info, name, above, labels, usage, err);
    snap_info_free(&info);
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
    if (code != GRPC_OK || (code = begin(meta, err)) != GRPC_OK)
        return code;
    code = commit_row(meta, name, key, parent, &merged, usage, err);
    snap_crash_point("commit-row");
    code = end(meta, code, err);
    snap_crash_point("commit-done");
    return code;
}

static enum grpc_code delete_row(struct snap_meta *meta, int64_t id, struct ocv_error *err)
{
    sqlite3_stmt *child = snap_meta_statement(meta, SQL_CHILD);
    if (!child)
        return snap_meta_broken(meta, err);
    sqlite3_bind_int64(child, 1, id);
    int result = sqlite3_step(child);
    sqlite3_reset(child);
    if (result == SQLITE_ROW)
        return snap_fail(err, GRPC_FAILED_PRECONDITION, "cannot remove snapshot with child");
    sqlite3_stmt *statement = snap_meta_statement(meta, SQL_DELETE);
    if (result != SQLITE_DONE || !statement)
        return snap_meta_broken(meta, err);
    sqlite3_bind_int64(statement, 1, id);
    return snap_meta_run(meta, statement, err);
}

enum grpc_code snap_meta_remove(struct snap_meta *meta, const char *name, int64_t *id,
                                struct ocv_error *err)
{
    struct snap_info info = {0};
    enum grpc_code code = begin(meta, err);
    if (code != GRPC_OK)
        return code;
    code = must_find(meta, name, &info, err);
    if (code == GRPC_OK)
        code = delete_row(meta, info.id, err);
    *id = info.id;
    snap_crash_point("remove-row");
    code = end(meta, code, err);
    snap_crash_point("remove-done");
    snap_info_free(&info);
    return code;
}

/* ---- read, update ------------------------------------------------------------------------------
 */

enum grpc_code snap_meta_stat(struct snap_meta *meta, const char *name, struct snap_info *out,
                              struct ocv_error *err)
{
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = must_find(meta, name, out, err);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

enum grpc_code snap_meta_chain(struct snap_meta *meta, const char *name, struct snap_chain *chain,
                               struct ocv_buffer *labels, struct ocv_error *err)
{
    struct snap_info info = {0};
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = must_find(meta, name, &info, err);
    if (code == GRPC_OK && info.kind == SNAP_COMMITTED)
        code =
            snap_fail(err, GRPC_FAILED_PRECONDITION, "snapshot %s is not active or a view", name);
    chain->id = info.id;
    chain->kind = info.kind;
    if (code == GRPC_OK)
        code = read_chain(meta, chain, err);
    pthread_mutex_unlock(&meta->lock);
    if (code == GRPC_OK)
        code = snap_labels_copy(labels, &info.labels, err);
    snap_info_free(&info);
    return code;
}

static enum grpc_code mask_labels(struct ocv_buffer *labels, const struct ocv_buffer *wanted,
                                  char *const *paths, size_t n_paths, const char *name,
                                  struct ocv_error *err)
{
    enum grpc_code code = n_paths ? GRPC_OK : snap_labels_copy(labels, wanted, err);
    for (size_t i = 0; code == GRPC_OK && i < n_paths; i++) {
        if (strcmp(paths[i], "labels") == 0) {
            code = snap_labels_copy(labels, wanted, err);
        } else if (strncmp(paths[i], "labels.", 7) == 0) {
            const char *value = snap_labels_get(wanted, paths[i] + 7);
            code = snap_labels_set(labels, paths[i] + 7, value ? value : "", err);
        } else {
            code =
                snap_fail(err, GRPC_INVALID_ARGUMENT,
                          "cannot update \"%.64s\" field on snapshot \"%.256s\"", paths[i], name);
        }
    }
    return code;
}

static enum grpc_code update_row(struct snap_meta *meta, struct snap_info *info,
                                 struct ocv_error *err)
{
    sqlite3_stmt *statement = snap_meta_statement(meta, SQL_LABELS);
    if (!statement)
        return snap_meta_broken(meta, err);
    info->updated = now_ns();
    sqlite3_bind_int64(statement, 1, info->id);
    bind_labels(statement, 2, &info->labels);
    sqlite3_bind_int64(statement, 3, info->updated);
    return snap_meta_run(meta, statement, err);
}

enum grpc_code snap_meta_update(struct snap_meta *meta, const char *name,
                                const struct ocv_buffer *labels, char *const *paths, size_t n_paths,
                                struct snap_info *out, struct ocv_error *err)
{
    enum grpc_code code = begin(meta, err);
    *out = (struct snap_info){0};
    if (code != GRPC_OK)
        return code;
    code = must_find(meta, name, out, err);
    if (code == GRPC_OK)
        code = mask_labels(&out->labels, labels, paths, n_paths, name, err);
    if (code == GRPC_OK)
        code = update_row(meta, out, err);
    code = end(meta, code, err);
    if (code != GRPC_OK)
        snap_info_free(out);
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
        if (!read_info(row, &info)) {
            code = snap_fail(err, GRPC_DATA_LOSS, "snapshot %" PRId64 ": bad row",
                             (int64_t)sqlite3_column_int64(row, 0));
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
                                void *data, struct ocv_error *err)
{
    (void)err;
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = visit(data);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

bool snap_meta_known(struct snap_meta *meta, int64_t id, enum snap_kind *kind)
{
    sqlite3_stmt *row = snap_meta_statement(meta, SQL_KNOWN);
    if (!row)
        return true; /* what cannot be read is not removed */
    sqlite3_bind_int64(row, 1, id);
    int result = sqlite3_step(row);
    if (result == SQLITE_ROW && kind)
        *kind = (enum snap_kind)sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return result != SQLITE_DONE;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static int version_of(sqlite3 *db)
{
    sqlite3_stmt *row = NULL;
    int version = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        version = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return version;
}

int snap_meta_open(const char *path, struct snap_meta **out, struct ocv_error *err)
{
    /* FULL: a snapshot that containerd was told of survives a power cut, as with bbolt */
    static const char settings[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                   "PRAGMA cache_size=-1024; PRAGMA foreign_keys=ON;"
                                   "PRAGMA wal_autocheckpoint=256;";
    struct snap_meta *meta = calloc(1, sizeof(*meta));
    if (!meta)
        return ocv_error_nomem(err);
    pthread_mutex_init(&meta->lock, NULL);
    int status = OCV_OK;
    bool opened = sqlite3_open_v2(path, &meta->db,
                                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                  NULL) == SQLITE_OK &&
                  sqlite3_busy_timeout(meta->db, 5000) == SQLITE_OK &&
                  sqlite3_exec(meta->db, settings, NULL, NULL, NULL) == SQLITE_OK;
    if (opened && version_of(meta->db) > SCHEMA_VERSION)
        status = ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: written by a newer version", path);
    else if (!opened || sqlite3_exec(meta->db, schema, NULL, NULL, NULL) != SQLITE_OK)
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, sqlite3_errmsg(meta->db));
    if (status < 0) {
        snap_meta_close(meta);
        return status;
    }
    *out = meta;
    return OCV_OK;
}

void snap_meta_close(struct snap_meta *meta)
{
    if (!meta)
        return;
    for (size_t i = 0; i < SQL_N; i++)
        sqlite3_finalize(meta->statements[i]);
    sqlite3_close(meta->db);
    pthread_mutex_destroy(&meta->lock);
    free(meta);
}
