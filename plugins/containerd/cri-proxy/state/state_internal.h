/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by state.c, which has the database, the two files of rows, and old_files.c. */
#ifndef CRI_PROXY_STATE_INTERNAL_H
#define CRI_PROXY_STATE_INTERNAL_H

#include "plugins/containerd/cri-proxy/state/state.h"

#include <pthread.h>
#include <sqlite3.h>

/** A key whose child was seen in the registry, or ("") that has no variants. */
struct state_seen {
    char *key;
    char child[OCV_DIGEST_MAX];
};

#define STATE_SEEN_MAX 1024u /* keys in memory; the oldest ones are forgotten */

struct state {
    char *dir, *path;
    bool in_memory;           /* there is no file */
    sqlite3 *writer, *reader; /* two, so that readers do not wait for the disk */
    pthread_mutex_t writing, reading, seeing;
    struct state_seen seen[STATE_SEEN_MAX];
    size_t next_seen;
};

/** A file of an earlier version: a pinned index's choice where `user` is NULL, a workload's where
 *  `wishes` is not, else a pod's. Texts belong to `owner`. */
struct state_old {
    void *owner; /* a json_t */
    const char *reference, *wishes, *devices, *uid, *seen, *child, *index, *user;
    int64_t time;
};
/** OCV_ERR_DATA: it is none. On success the caller releases `owner`. */
int state_old_parse(const void *bytes, size_t len, struct state_old *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Within a transaction: store what the file says, unless it is known. The first takes a pinned
 *  index's choice, the other the rest. */
int state_put_old_pinned(struct state *state, const struct state_old *old,
                         struct ocv_error *err) OCV_WARN_UNUSED;
int state_put_old_choice(struct state *state, const struct state_old *old,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Take the files over and remove them, also those that cannot be read or are no choices; where the
 *  rest cannot be stored all stay for the next start. `proved`: only those of pinned indexes,
 *  where the index is there and lists the child. */
void state_take_over(struct state *state, const char *dir, bool proved);

/* The database. Statements that change something run on the writer, within a transaction. */

/** A statement with its values: 's' a text, 'i' an int64_t, 'b' bytes and their size_t. NULL: see
 *  sqlite3_errmsg. The next functions, which accept NULL, finalize it. */
sqlite3_stmt *state_query(sqlite3 *db, const char *sql, const char *types, ...);
/** Run a statement of the writer that gives no row. */
int state_run(const struct state *state, sqlite3_stmt *statement,
              struct ocv_error *err) OCV_WARN_UNUSED;
/** The first row's child, index and user; its number. False: there is none. */
bool state_take_value(sqlite3_stmt *row, struct state_value *out);
bool state_take_number(sqlite3_stmt *row, int64_t *out);
void state_copy_text(sqlite3_stmt *row, int column, char *out, size_t size);

int state_begin(struct state *state, struct ocv_error *err) OCV_WARN_UNUSED;
/** Commit on success, else roll back; unlocks. */
int state_end(struct state *state, int status, struct ocv_error *err) OCV_WARN_UNUSED;

/** Store an index, unless it is there or too large. */
int state_put_index(struct state *state, const char *digest, const void *bytes, size_t len,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Drop the oldest rows of a table above `max`, and with them indexes that no row names. */
int state_keep_newest(struct state *state, const char *table, unsigned max,
                      struct ocv_error *err) OCV_WARN_UNUSED;
int state_drop_unnamed_indexes(struct state *state, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
