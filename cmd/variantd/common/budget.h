/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory for data on its way from registries to clients, bounded for the whole process: mirrors
 * with replaced settings finish their answers, and libmicrohttpd may free a response after its
 * mirror. Any thread. */
#ifndef VARIANTD_BUDGET_H
#define VARIANTD_BUDGET_H

#include "cmd/variantd/common/workers.h"

/** Limit for documents and blob buffers on their way from registries to clients, together. */
#define BUDGET_BYTES (64u * 1024 * 1024)
/** Part of it that documents arriving from one registry may use. A registry that sends only the
 *  beginnings of large documents leaves the rest to the others. */
#define BUDGET_EACH (24u * 1024 * 1024)
/** While less of it is in use, there is room for what only makes work faster. */
#define BUDGET_SPARE (10u * 1024 * 1024)
/** Threads that may wait for it; work that needs no budget must still find a thread. */
#define BUDGET_WAITERS (WORKERS_DOCUMENT_EACH / 4)
/** Larger documents are parsed by one thread at a time: the tree takes up to 50 MiB. */
#define BUDGET_READ_FREE (16u * 1024)

/** Count bytes that are kept. False, without counting, if the limit is reached. */
bool budget_acquire(size_t bytes) OCV_WARN_UNUSED;
/** The same for bytes that only make work faster: `limit` is at most BUDGET_SPARE. */
bool budget_acquire_spare(size_t bytes, size_t limit) OCV_WARN_UNUSED;
void budget_release(size_t bytes);
/** The same for bytes that `upstream` (below WORKERS_UPSTREAMS_MAX) is about to send. Waits for
 *  room until `until_ms` (monotonic) or `*stop`, unless too many threads wait. */
bool budget_wait(size_t upstream, size_t bytes, int64_t until_ms,
                 const volatile int *stop) OCV_WARN_UNUSED;
/** The bytes have arrived, or failed to: `bytes` no longer count for that registry, and `kept` of
 *  them remain counted. */
void budget_arrived(size_t upstream, size_t bytes, size_t kept);

/** Enclose parsing of a document of that size. Do not wait for a registry in between. */
void budget_read_begin(size_t bytes);
void budget_read_end(size_t bytes);

#endif
