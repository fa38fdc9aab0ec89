/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by pod_table.c, which has the rows in memory, and pod_table_files.c, which has them on
 * disk. */
#ifndef CRI_PROXY_WORKLOAD_POD_TABLE_INTERNAL_H
#define CRI_PROXY_WORKLOAD_POD_TABLE_INTERNAL_H

#include "plugins/containerd/cri-proxy/workload/pod_table.h"

#include <pthread.h>

struct pod_row {
    char *key; /* of its file */
    char *reference;
    char *wishes, *devices; /* of a choice; NULL in a pod's row */
    char uid[TABLE_POD_MAX], seen[TABLE_POD_MAX];
    struct table_value value;
    int64_t time;
};

struct pod_rows {
    struct pod_row *list;
    size_t n, max;
};

struct pod_table {
    char *dir;
    int fd;
    pthread_mutex_t lock;    /* for the rows: held for microseconds */
    pthread_mutex_t writing; /* for the files, and the rows that writers check */
    struct pod_rows choices, pods;
};

/** The text by which a row is found; owned by the caller. NULL: no memory. */
char *table_row_key(const struct pod_row *row);
void table_row_free(struct pod_row *row);
/** Add or replace a row, which is taken over. `*gone`: the row dropped for it, or one with key
 *  NULL; owned by the caller. Call with the lock held, or before threads start. */
int table_keep(struct pod_rows *rows, struct pod_row *row, struct pod_row *gone,
               struct ocv_error *err) OCV_WARN_UNUSED;

/** A row for the same reference with another user, or NULL. */
struct pod_row *table_other_user(const struct pod_rows *rows, const struct pod_row *row);

/** Open the directory if it is not open. If it does not exist, `make` creates it; otherwise there
 *  is nothing to read. */
int table_directory(struct pod_table *table, bool make, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read all rows of the directory. */
int table_read_all(struct pod_table *table, struct ocv_error *err) OCV_WARN_UNUSED;
int table_write_row(struct pod_table *table, const struct pod_row *row,
                    struct ocv_error *err) OCV_WARN_UNUSED;
void table_remove_row(struct pod_table *table, const struct pod_row *row);
int table_write_index(struct pod_table *table, const char *digest, const void *body, size_t len,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove files of indexes that no row names. */
void table_sweep_indexes(struct pod_table *table);
/** Parse the bytes of a file into a row, which the caller owns. */
int table_row_parse(const void *bytes, size_t len, struct pod_row *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#endif
