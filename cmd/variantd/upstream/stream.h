/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes on their way from a worker to a connection, through a small ring: a slow reader holds the
 * writer back, and the writer holds the registry back. The last bytes wait until the writer says
 * that all of them were right. */
#ifndef VARIANTD_STREAM_H
#define VARIANTD_STREAM_H

#include "cmd/variantd/cache.h"

#include <microhttpd.h>

#define STREAM_RING_MIN (128u * 1024) /**< bytes on the way: with many streams, */
#define STREAM_RING_MAX \
    (1024u * 1024) /**< and with few, where every pause between threads counts */
#define STREAM_PATIENCE_MS \
    120000u                  /**< a reader below 1 to 6 KB/s, by the ring's size, is dropped */
#define STREAM_SLOW_MS 10000 /**< of waiting for a reader, in which it should take */
#define STREAM_SLOW_BYTES \
    (320u * 1024)         /**< so much, or it gives way where others wait for its place */
#define STREAM_HELD 1024u /**< bytes of a whole object that wait for its digest */

struct stream;
/** One reference. `hold`: keep the last bytes back until stream_end. `ring`: bytes of room.
 *  `patience_ms`: a reader that makes no room for so long is cut. */
int stream_new(bool hold, size_t ring, unsigned patience_ms, struct stream **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void stream_put(struct stream *stream);
/** Writer: blocks while there is no room. Non-zero: nobody reads any more. */
int stream_push(struct stream *stream, const char *bytes, size_t len);
/** Writer: that was all; `good` false cuts the connection before its end. */
void stream_end(struct stream *stream, bool good);
/** A body of `size` bytes (-1: unknown) for that connection; takes a reference. NULL: no memory. */
struct MHD_Response *stream_response(struct stream *stream, struct MHD_Connection *connection,
                                     int64_t size);
/** Now and then: does the writer wait for a reader that takes next to nothing? */
bool stream_slow(struct stream *stream);
/** Nobody reads, nobody writes: both sides end now. */
void stream_cut(struct stream *stream);
/** Bytes given to the connection. */
int64_t stream_sent(struct stream *stream);

#endif
