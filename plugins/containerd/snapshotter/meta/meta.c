/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots' names, parents, kinds and labels. A row exists exactly as long as its snapshot; the
 * directory for its id is created before the row is committed and removed after the row is gone. So
 * an interruption may leave a directory without a row, but never a row without a directory. Ids are
 * never reused (AUTOINCREMENT). */
#include "plugins/containerd/snapshotter/meta/meta_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    [SQL_KNOWN] = "SELECT 1 FROM snapshots WHERE id = ?1",
    [SQL_VARIANT_ADD] = "INSERT OR REPLACE INTO variants VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_VARIANTS] = "SELECT * FROM variants WHERE ns = ?1 AND chain = ?2",
    /* NS/SEQ/CHAIN, and NS/SEQ/extract-... CHAIN during unpacking; '0' follows '/' */
    [SQL_VARIANT_DROP] = "DELETE FROM variants WHERE ns = ?1 AND chain = ?2 AND NOT EXISTS("
                         "SELECT 1 FROM snapshots WHERE name > ?1 || '/' AND name < ?1 || '0'"
                         " AND substr(name, -length(?2)) = ?2)",
};

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

enum grpc_code snap_meta_begin(struct snap_meta *meta, struct ocv_error *err)
{
    pthread_mutex_lock(&meta->lock);
    enum grpc_code code = snap_meta_run(meta, snap_meta_statement(meta, SQL_BEGIN), err);
    if (code != GRPC_OK)
        pthread_mutex_unlock(&meta->lock);
    return code;
}

/* Commit on success, else roll back. */
enum grpc_code snap_meta_end(struct snap_meta *meta, enum grpc_code code, struct ocv_error *err)
{
    if (code == GRPC_OK)
        code = snap_meta_run(meta, snap_meta_statement(meta, SQL_COMMIT), err);
    if (code != GRPC_OK)
        (void)snap_meta_run(meta, snap_meta_statement(meta, SQL_ROLLBACK), NULL);
    pthread_mutex_unlock(&meta->lock);
    return code;
}

static char *column_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return strdup(text ? text : "");
}

bool snap_meta_row(sqlite3_stmt *row, struct snap_info *out)
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
    out->damaged = len > 0 && (!labels || !snap_labels_sound(labels, (size_t)len));
    bool copied =
        len <= 0 || out->damaged || ocv_buffer_append(&out->labels, labels, (size_t)len, NULL) == 0;
    if (out->name && out->parent && copied)
        return true;
    snap_info_free(out);
    return false;
}

/* GRPC_NOT_FOUND without a message if there is none. */
enum grpc_code snap_meta_find(struct snap_meta *meta, const char *name, struct snap_info *out,
                              struct ocv_error *err)
{
    sqlite3_stmt *row = snap_meta_statement(meta, SQL_FIND);
    *out = (struct snap_info){0};
    if (!row || sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC) != SQLITE_OK)
        return snap_meta_broken(meta, err);
    int result = sqlite3_step(row);
    enum grpc_code code = GRPC_NOT_FOUND;
    if (result == SQLITE_ROW && !snap_meta_row(row, out)) {
        code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    } else if (result == SQLITE_ROW) {
        code = out->damaged
                   ? snap_fail(err, GRPC_DATA_LOSS, "snapshot %s: its labels are damaged", name)
                   : GRPC_OK;
        if (out->damaged)
            snap_info_free(out);
    } else if (result != SQLITE_DONE) {
        code = snap_meta_broken(meta, err);
    }
    sqlite3_reset(row);
    return code;
}

enum grpc_code snap_meta_must_find(struct snap_meta *meta, const char *name, struct snap_info *out,
                                   struct ocv_error *err)
{
    enum grpc_code code = snap_meta_find(meta, name, out, err);
    return code == GRPC_NOT_FOUND ? snap_fail(err, code, "snapshot %s does not exist", name) : code;
}

/* Fill in the parents of chain->id. */
enum grpc_code snap_meta_read_chain(struct snap_meta *meta, struct snap_chain *chain,
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

static int open_database(struct snap_meta *meta, const char *path, struct ocv_error *err)
{
    /* FULL: a snapshot that was reported to containerd survives a power cut, as with bbolt */
    static const char settings[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                   "PRAGMA cache_size=-1024; PRAGMA foreign_keys=ON;"
                                   "PRAGMA wal_autocheckpoint=256;";
    bool opened = sqlite3_open_v2(path, &meta->db,
                                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                  NULL) == SQLITE_OK &&
                  sqlite3_busy_timeout(meta->db, 5000) == SQLITE_OK &&
                  sqlite3_exec(meta->db, settings, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_stmt *row = NULL;
    bool newer = opened &&
                 sqlite3_prepare_v2(meta->db, "PRAGMA user_version", -1, &row, NULL) == SQLITE_OK &&
                 sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) > SCHEMA_VERSION;
    sqlite3_finalize(row);
    if (newer)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: written by a newer version", path);
    if (!opened || sqlite3_exec(meta->db, schema, NULL, NULL, NULL) != SQLITE_OK)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, sqlite3_errmsg(meta->db));
    return OCV_OK;
}

int snap_meta_open(const char *path, struct snap_meta **out, struct ocv_error *err)
{
    struct snap_meta *meta = calloc(1, sizeof(*meta));
    if (!meta)
        return ocv_error_nomem(err);
    pthread_mutex_init(&meta->lock, NULL);
    mode_t mask = umask(0077); /* the program's is 0, and the directory may be another user's */
    int status = OCV_OK;
    if (strcmp(path, ":memory:") != 0 && /* SQLite's name for a database in memory */
        asprintf(&meta->reserve, "%s-reserve", path) < 0) {
        meta->reserve = NULL;
        status = ocv_error_nomem(err);
    }
    if (status == OCV_OK)
        status = open_database(meta, path, err);
    if (status == OCV_ERR_IO &&
        snap_meta_unreserve(meta)) { /* SQLite has many errors for a full disk */
        sqlite3_close(meta->db);
        meta->db = NULL;
        status = open_database(meta, path, err);
    }
    umask(mask);
    if (status < 0) {
        snap_meta_close(meta);
        return status;
    }
    snap_meta_reserve(meta);
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
    free(meta->reserve);
    free(meta);
}
