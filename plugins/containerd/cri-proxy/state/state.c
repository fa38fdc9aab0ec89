/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/state/state_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA_VERSION 1

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS pinned("
    " reference TEXT PRIMARY KEY, child TEXT NOT NULL, idx TEXT NOT NULL, time INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS choices("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, reference TEXT NOT NULL, wishes TEXT NOT NULL,"
    " devices TEXT NOT NULL, child TEXT NOT NULL, idx TEXT NOT NULL, user TEXT NOT NULL,"
    " time INTEGER NOT NULL, UNIQUE(reference, wishes, devices));"
    "CREATE TABLE IF NOT EXISTS pods("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, reference TEXT NOT NULL, uid TEXT NOT NULL,"
    " seen TEXT NOT NULL, child TEXT NOT NULL, idx TEXT NOT NULL, user TEXT NOT NULL,"
    " time INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS pods_of ON pods(reference);"
    "CREATE TABLE IF NOT EXISTS indexes(digest TEXT PRIMARY KEY, bytes BLOB NOT NULL);"
    "PRAGMA user_version=1;";

static int fail(const struct state *state, sqlite3 *db, struct ocv_error *err)
{
    if (db && sqlite3_errcode(db) == SQLITE_NOMEM)
        return ocv_error_nomem(err);
    return ocv_error_set(err, OCV_ERR_IO, "%s: %s", state->path, sqlite3_errmsg(db));
}

sqlite3_stmt *state_query(sqlite3 *db, const char *sql, const char *types, ...)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
        return NULL;
    va_list values;
    va_start(values, types);
    for (int i = 0; types[i]; i++) {
        if (types[i] == 's') {
            sqlite3_bind_text(row, i + 1, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else if (types[i] == 'i') {
            sqlite3_bind_int64(row, i + 1, va_arg(values, int64_t));
        } else {
            const void *bytes = va_arg(values, const void *);
            sqlite3_bind_blob64(row, i + 1, bytes, va_arg(values, size_t), SQLITE_STATIC);
        }
    }
    va_end(values);
    return row;
}

int state_run(const struct state *state, sqlite3_stmt *statement, struct ocv_error *err)
{
    int result = statement ? sqlite3_step(statement) : SQLITE_ERROR;
    int status = result == SQLITE_DONE ? OCV_OK : fail(state, state->writer, err);
    sqlite3_finalize(statement);
    return status;
}

void state_copy_text(sqlite3_stmt *row, int column, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    snprintf(out, size, "%s", text ? text : "");
}

bool state_take_value(sqlite3_stmt *row, struct state_value *out)
{
    bool found = row && sqlite3_step(row) == SQLITE_ROW;
    if (found) {
        state_copy_text(row, 0, out->child, sizeof(out->child));
        state_copy_text(row, 1, out->index, sizeof(out->index));
        state_copy_text(row, 2, out->user, sizeof(out->user));
    }
    sqlite3_finalize(row);
    return found;
}

bool state_take_number(sqlite3_stmt *row, int64_t *out)
{
    bool found = row && sqlite3_step(row) == SQLITE_ROW;
    if (found)
        *out = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return found;
}

int state_begin(struct state *state, struct ocv_error *err)
{
    pthread_mutex_lock(&state->writing);
    int status = state_run(state, state_query(state->writer, "BEGIN IMMEDIATE", ""), err);
    if (status < 0)
        pthread_mutex_unlock(&state->writing);
    return status;
}

int state_end(struct state *state, int status, struct ocv_error *err)
{
    if (status == OCV_OK)
        status = state_run(state, state_query(state->writer, "COMMIT", ""), err);
    if (status < 0)
        sqlite3_exec(state->writer, "ROLLBACK", NULL, NULL, NULL);
    pthread_mutex_unlock(&state->writing);
    return status;
}

int state_keep_newest(struct state *state, const char *table, unsigned max, struct ocv_error *err)
{
    char sql[256];
    int64_t n = 0;
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    if (!state_take_number(state_query(state->writer, sql, ""), &n))
        return fail(state, state->writer, err);
    if (n <= max)
        return OCV_OK;
    snprintf(sql, sizeof(sql),
             "DELETE FROM %s WHERE rowid IN (SELECT rowid FROM %s ORDER BY time, rowid LIMIT ?1)",
             table, table);
    OCV_TRY(state_run(state, state_query(state->writer, sql, "i", n - max), err));
    return state_drop_unnamed_indexes(state, err);
}

int state_drop_unnamed_indexes(struct state *state, struct ocv_error *err)
{
    return state_run(state,
                     state_query(state->writer,
                                 "DELETE FROM indexes WHERE digest NOT IN"
                                 " (SELECT idx FROM pinned UNION SELECT idx FROM choices)",
                                 ""),
                     err);
}

int state_put_index(struct state *state, const char *digest, const void *bytes, size_t len,
                    struct ocv_error *err)
{
    if (!bytes || len > STATE_INDEX_MAX)
        return OCV_OK;
    return state_run(state,
                     state_query(state->writer, "INSERT OR IGNORE INTO indexes VALUES(?1, ?2)",
                                 "sb", digest, bytes, len),
                     err);
}

int state_index(struct state *state, const char *digest, struct ocv_buffer *out,
                struct ocv_error *err)
{
    pthread_mutex_lock(&state->reading);
    sqlite3_stmt *row =
        state_query(state->reader, "SELECT bytes FROM indexes WHERE digest = ?1", "s", digest);
    int result = row ? sqlite3_step(row) : SQLITE_ERROR;
    int status = result == SQLITE_ROW ? ocv_buffer_append(out, sqlite3_column_blob(row, 0),
                                                          (size_t)sqlite3_column_bytes(row, 0), err)
                 : result == SQLITE_DONE
                     ? ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: not kept", digest)
                     : fail(state, state->reader, err);
    sqlite3_finalize(row);
    pthread_mutex_unlock(&state->reading);
    if (status == OCV_OK)
        status = ocv_digest_check(digest, out->data ? out->data : "", out->len, err);
    struct ocv_error why = {0};
    if (status == OCV_ERR_MISMATCH && state_begin(state, &why) == OCV_OK) {
        /* the registry's bytes will replace it */
        int gone = state_run(
            state, state_query(state->writer, "DELETE FROM indexes WHERE digest = ?1", "s", digest),
            &why);
        if (state_end(state, gone, &why) < 0)
            log_line("%s", why.message);
    }
    return status;
}

static int open_connection(const struct state *state, sqlite3 **db, struct ocv_error *err)
{
    /* FULL: a choice that kubelet was told of survives a power cut */
    static const char settings[] =
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-512;";
    if (sqlite3_open_v2(state->path, db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(*db, 5000) != SQLITE_OK ||
        sqlite3_exec(*db, settings, NULL, NULL, NULL) != SQLITE_OK)
        return fail(state, *db, err);
    return OCV_OK;
}

static int open_database(struct state *state, struct ocv_error *err)
{
    int64_t version = 0;
    struct state_value check = {0};
    OCV_TRY(open_connection(state, &state->writer, err));
    if (!state_take_number(state_query(state->writer, "PRAGMA user_version", ""), &version))
        return fail(state, state->writer, err);
    if (version > SCHEMA_VERSION)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: written by a later version",
                             state->path);
    if (!state_take_value(state_query(state->writer, "PRAGMA quick_check(1)", ""), &check))
        return fail(state, state->writer, err);
    if (strcmp(check.child, "ok") != 0)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: damaged: %.200s", state->path, check.child);
    if (sqlite3_exec(state->writer, schema, NULL, NULL, NULL) != SQLITE_OK)
        return fail(state, state->writer, err);
    return open_connection(state, &state->reader, err);
}

static void close_database(struct state *state)
{
    if (state->reader != state->writer)
        sqlite3_close(state->reader);
    sqlite3_close(state->writer);
    state->reader = state->writer = NULL;
}

/* Kubelet does not start without this service, and everything can be chosen again. */
static int set_aside(struct state *state, struct ocv_error *err)
{
    static const char *const parts[] = {"", "-wal", "-shm"};
    close_database(state);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        char from[PATH_MAX + 32], to[PATH_MAX + 32];
        snprintf(from, sizeof(from), "%s%s", state->path, parts[i]);
        snprintf(to, sizeof(to), "%s.aside%s", state->path, parts[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return ocv_error_set(err, OCV_ERR_IO, "%s: %s", to, strerror(errno));
    }
    log_line("%s; it is now %s.aside, and images are chosen again", err->message, state->path);
    return open_database(state, err);
}

/* The disk is full, read-only or worse. */
static int keep_in_memory(struct state *state, struct ocv_error *err)
{
    log_line("%s; what is chosen is kept in memory until the next start", err->message);
    close_database(state);
    state->in_memory = true;
    snprintf(state->path, strlen(state->path) + 1, ":memory:");
    OCV_TRY(open_connection(state, &state->writer, err));
    state->reader = state->writer;
    return sqlite3_exec(state->writer, schema, NULL, NULL, NULL) == SQLITE_OK
               ? OCV_OK
               : fail(state, state->writer, err);
}

int state_open(const char *dir, const char *old_dir, struct state **out, struct ocv_error *err)
{
    char workload[4096];
    ocv_auto_fd int fd = -1;
    OCV_TRY(ocv_directory_make(dir, 0700, err));
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", dir, strerror(errno));
    if (snprintf(workload, sizeof(workload), "%s/workload", dir) >= (int)sizeof(workload))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%.100s...: too long", dir);
    struct state *state = calloc(1, sizeof(*state));
    if (!state)
        return ocv_error_nomem(err);
    pthread_mutex_init(&state->writing, NULL);
    pthread_mutex_init(&state->reading, NULL);
    pthread_mutex_init(&state->seeing, NULL);
    state->dir = strdup(dir);
    int status = OCV_OK;
    if (!state->dir || asprintf(&state->path, "%s/state.db", dir) < 0) {
        state->path = NULL;
        status = ocv_error_nomem(err);
    }
    mode_t mask = umask(0077);
    if (status == OCV_OK)
        status = open_database(state, err);
    int why = state->writer ? sqlite3_errcode(state->writer) : SQLITE_OK;
    if (status == OCV_ERR_DATA || status == OCV_ERR_UNSUPPORTED ||
        (status < 0 && (why == SQLITE_CORRUPT || why == SQLITE_NOTADB)))
        status = set_aside(state, err);
    if (status < 0 && status != OCV_ERR_NOMEM && state->path)
        status = keep_in_memory(state, err);
    umask(mask);
    if (status < 0) {
        state_free(state);
        return status;
    }
    if (old_dir)
        state_take_over(state, old_dir, true);
    state_take_over(state, dir, false);
    state_take_over(state, workload, false);
    *out = state;
    return OCV_OK;
}

void state_free(struct state *state)
{
    if (!state)
        return;
    close_database(state);
    for (size_t i = 0; i < STATE_SEEN_MAX; i++)
        free(state->seen[i].key);
    pthread_mutex_destroy(&state->writing);
    pthread_mutex_destroy(&state->reading);
    pthread_mutex_destroy(&state->seeing);
    free(state->path);
    free(state->dir);
    free(state);
}
