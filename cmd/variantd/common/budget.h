/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory for what comes from registries and waits for clients, bounded for the whole process:
 * mirrors of settings that were replaced answer to the end, and libmicrohttpd frees a response when
 * its mirror may be gone. Any thread. */
#ifndef VARIANTD_BUDGET_H
#define VARIANTD_BUDGET_H

#include "cmd/variantd/common/workers.h"

/** Most bytes of documents and of buffers of blobs, on their way from registries and to clients,
 *  together. */
#define ROOM_BYTES (64u * 1024 * 1024)
/** Of it, for documents that are on their way from one registry: one that sends the beginnings of
 *  large documents and no more leaves the rest to the others. */
#define ROOM_EACH (24u * 1024 * 1024)
/** Threads that wait for it: what needs no room shall find a thread meanwhile. */
#define ROOM_WAITERS (WORKERS_DOCUMENT_EACH / 4)
/** Larger than this, a document is read by one thread at a time: the tree that it becomes takes up
 *  to 50 MiB while it is looked at. */
#define ROOM_READ_FREE (16u * 1024)

/** Count bytes that are kept; false, and nothing is counted, where there are too many. */
bool budget_acquire(size_t bytes) OCV_WARN_UNUSED;
void budget_release(size_t bytes);
/** The same for bytes that `upstream` (below WORKERS_UPSTREAMS_MAX) is about to send. Waits for
 *  room until then (monotonic ms), or until `*stop`, unless too many do. */
bool budget_wait(size_t upstream, size_t bytes, int64_t until_ms,
                 const volatile int *stop) OCV_WARN_UNUSED;
/** They have come, or not: `bytes` no longer count as that registry's, and only `kept` of them are
 *  still counted. */
void budget_arrived(size_t upstream, size_t bytes, size_t kept);

/** Around what makes a tree of a document of so many bytes. Never wait for a registry within. */
void budget_read_begin(size_t bytes);
void budget_read_end(size_t bytes);

#endif
