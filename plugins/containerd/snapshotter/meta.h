/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database's inside, for meta.c and variants.c. */
#ifndef OCV_SNAPSHOTTER_META_H
#define OCV_SNAPSHOTTER_META_H

#include "snapshotter.h"

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
    pthread_mutex_t lock; /* one connection, one user at a time */
    sqlite3_stmt *statements[SQL_N];
};

/** The statement, prepared once and reset; NULL: sqlite3_errmsg says why. */
sqlite3_stmt *snap_meta_statement(struct snap_meta *meta, enum snap_sql which);
/** Run one that gives no row. */
enum grpc_code snap_meta_run(struct snap_meta *meta, sqlite3_stmt *statement,
                             struct ocv_error *err);
enum grpc_code snap_meta_broken(struct snap_meta *meta, struct ocv_error *err);

#endif
