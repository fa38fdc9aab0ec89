/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends bytes from a worker to a client without a copy: the worker writes to the socket itself. A
 * slow reader blocks the writer, and the writer the registry. The last bytes are held back until
 * the writer has verified all of them. */
#ifndef VARIANTD_STREAM_H
#define VARIANTD_STREAM_H

#include "cmd/variantd/common/cache.h"

#include <microhttpd.h>

/** A reader that takes fewer bytes in this time is disconnected, once the kernel's buffers are
 * full. */
#define STREAM_PATIENCE_MS 120000u
#define STREAM_PATIENCE_BYTES (120 * 1024)
/** A reader that takes fewer bytes in this time of waiting gives way if others need its worker. */
#define STREAM_SLOW_MS 10000
#define STREAM_SLOW_BYTES (320 * 1024)
#define STREAM_HELD 1024u /**< last bytes of an object, held back until it is verified */

struct stream;
/** Returns one reference. `hold`: hold the last bytes back until stream_end. `size`: of all bytes,
 *  -1: unknown. `patience_ms`: a reader that takes almost nothing for so long is disconnected. */
int stream_new(bool hold, int64_t size, unsigned patience_ms, struct stream **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void stream_put(struct stream *stream);
/** Writer: blocks while the reader takes nothing. `more`: more bytes are at hand, and will be
 * pushed soon. Non-zero: the reader has gone. */
int stream_push(struct stream *stream, const char *bytes, size_t len, bool more);
/** Writer: all bytes were passed. `good` false: cut the connection before its end. */
void stream_end(struct stream *stream, bool good);
/** A body for that connection; it ends with the body if the size is known. Takes a reference. NULL:
 *  no memory. */
struct MHD_Response *stream_response(struct stream *stream, struct MHD_Connection *connection);
/** Call now and then: true if the writer waits for a reader that takes almost nothing. */
bool stream_slow(struct stream *stream);
/** Stop both sides now. */
void stream_cut(struct stream *stream);
/** Bytes passed to the kernel. */
int64_t stream_sent(struct stream *stream);

#endif
