/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where the entries of an index stand on hosts of one platform: the part of resolution that all
 * these hosts share. */
#ifndef OCV_PLATFORM_TABLE_H
#define OCV_PLATFORM_TABLE_H

#include "lib/base/arena.h"
#include "ocivariant/resolve.h"

struct ocv_platform_place {
    enum ocv_reject code;  /* why the platform does not fit, or NONE */
    uint32_t architecture; /* 0 own, 1 compatible, 2 unannotated without platform */
    uint32_t place;        /* in the host's order */
};

struct ocv_platform_table {
    struct ocv_platform host;
    struct ocv_platform_place *places; /* by entry position */
    const struct ocv_entry *older;     /* what a client without this library takes */
    struct ocv_platform_table *next;
};

/** Tables of one index, one for each platform that was asked for, and what decisions made with them
 *  are made of. Free the arena when the last of these is gone. */
struct ocv_platform_tables {
    struct ocv_arena arena;
    struct ocv_platform_table *first;
};

/** The table of `host`, made if it is not there. Its strings are copied. */
int ocv_platform_table_get(struct ocv_platform_tables *tables, const struct ocv_index *index,
                           const struct ocv_platform *host, const struct ocv_platform_table **out,
                           struct ocv_error *err);
/** The same for one decision: made in `arena`, with the strings of `host`. NULL: no memory. */
struct ocv_platform_table *ocv_platform_table_make(struct ocv_arena *arena,
                                                   const struct ocv_index *index,
                                                   const struct ocv_platform *host);

#endif
