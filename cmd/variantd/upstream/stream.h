/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes on their way from a worker to a client, without a copy: the worker sends them itself. A
 * slow reader holds the writer back, and the writer holds the registry back. The last bytes wait
 * until the writer says that all of them were right. */
#ifndef VARIANTD_STREAM_H
#define VARIANTD_STREAM_H

#include "cmd/variantd/common/cache.h"

#include <microhttpd.h>

#define STREAM_PATIENCE_MS 120000u /**< in which a reader takes */
#define STREAM_PATIENCE_BYTES \
    (120 * 1024)             /**< so much, or it is dropped, once the kernel's buffers are full */
#define STREAM_SLOW_MS 10000 /**< of waiting for a reader, in which it should take */
#define STREAM_SLOW_BYTES \
    (320 * 1024)          /**< so much, or it gives way where others wait for its place */
#define STREAM_HELD 1024u /**< bytes of a whole object that wait for its digest */

struct stream;
/** One reference. `hold`: keep the last bytes back until stream_end. `size`: of all bytes, -1:
 *  unknown. `patience_ms`: a reader that takes next to nothing for so long is cut. */
int stream_new(bool hold, int64_t size, unsigned patience_ms, struct stream **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void stream_put(struct stream *stream);
/** Writer: blocks while the reader takes nothing. Non-zero: there is no reader any more. */
int stream_push(struct stream *stream, const char *bytes, size_t len);
/** Writer: that was all; `good` false cuts the connection before its end. */
void stream_end(struct stream *stream, bool good);
/** A body for that connection, which ends with it where the size is known; takes a reference. NULL:
 *  no memory. */
struct MHD_Response *stream_response(struct stream *stream, struct MHD_Connection *connection);
/** Now and then: does the writer wait for a reader that takes next to nothing? */
bool stream_slow(struct stream *stream);
/** Neither side reads or writes any more: both end now. */
void stream_cut(struct stream *stream);
/** Bytes given to the kernel. */
int64_t stream_sent(struct stream *stream);

#endif
