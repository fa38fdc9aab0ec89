/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of meta: meta.c opens the database and reads rows; the transactions are in write.c,
 * read.c and variants.c. */
#ifndef OCV_SNAPSHOTTER_META_INTERNAL_H
#define OCV_SNAPSHOTTER_META_INTERNAL_H

#include "plugins/containerd/snapshotter/meta/meta.h"

#include <pthread.h>
#include <sqlite3.h>

enum snap_sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_FIND,
    SQL_INSERT,
    SQL_PARENT,
    SQL_CHILD,
    SQL_RENAME,
    SQL_DELETE,
    SQL_LABELS,
    SQL_PAGE,
    SQL_KNOWN,
    SQL_VARIANT_ADD,
    SQL_VARIANTS,
    SQL_VARIANT_DROP,
    SQL_N
};

struct snap_meta {
    sqlite3 *db;
    pthread_mutex_t lock; /* one connection, used by one thread at a time */
    sqlite3_stmt *statements[SQL_N];
    char *reserve; /* a file that reserves disk space (reserve.c) */
};

/** The statement, prepared once and reset; NULL: see sqlite3_errmsg. */
sqlite3_stmt *snap_meta_statement(struct snap_meta *meta, enum snap_sql which);
/** Run a statement that returns no row. */
enum grpc_code snap_meta_run(struct snap_meta *meta, sqlite3_stmt *statement,
                             struct ocv_error *err);
enum grpc_code snap_meta_broken(struct snap_meta *meta, struct ocv_error *err);

/** Begin and lock; snap_meta_end: commit on success, else roll back, then unlock. */
enum grpc_code snap_meta_begin(struct snap_meta *meta, struct ocv_error *err);
enum grpc_code snap_meta_end(struct snap_meta *meta, enum grpc_code code, struct ocv_error *err);

/** Release the reserved space; false if there is none. */
bool snap_meta_unreserve(const struct snap_meta *meta);

/** False: no memory. Labels in another format set `out->damaged`. */
bool snap_meta_row(sqlite3_stmt *row, struct snap_info *out);
/** GRPC_NOT_FOUND without a message if there is none. */
enum grpc_code snap_meta_find(struct snap_meta *meta, const char *name, struct snap_info *out,
                              struct ocv_error *err);
enum grpc_code snap_meta_must_find(struct snap_meta *meta, const char *name, struct snap_info *out,
                                   struct ocv_error *err);
/** Fill in the parents of chain->id. */
enum grpc_code snap_meta_read_chain(struct snap_meta *meta, struct snap_chain *chain,
                                    struct ocv_error *err);

#endif
