/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the proxy. One thread (loop.c) runs every connection's frames: for each client's
 * connection a session of nghttp2 as server (down.c) and, made when needed, sessions as client of
 * the engine (up.c), with streams mapped one to one (stream.c). Workers decide (worker.c), never
 * the loop.
 *
 * Invariants. What one side has sent and the other has not taken is bounded by the window that
 * the one was given: windows of streams open only as bytes are handed on. Only requests of three
 * methods are held until they are whole, at most HOLD_MAX bytes. No object is freed while events
 * or callbacks may name it: the loop buries the dead between turns. */
#ifndef CRI_PROXY_PROXY_H
#define CRI_PROXY_PROXY_H

#include "lib/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/map.h"
#include "plugins/containerd/cri-proxy/wire.h"

#include <nghttp2/nghttp2.h>

#define HOLD_MAX (GRPC_MESSAGE_MAX + 5u) /* a held request with its frame */
#define HEADERS_MAX \
    (96u * 1024) /* of one message, names and values; nghttp2 breaks off at 140 KiB */
#define HEADERS_COUNT_MAX 1024u              /* of one message */
#define STREAM_WINDOW (256 * 1024)           /* bytes of a stream on their way, each direction */
#define CONNECTION_WINDOW (64 * 1024 * 1024) /* never what holds a stream back */
#define STREAMS_MAX 256u                     /* calls at once on a connection */
#define CLIENTS_MAX 1024u
#define IDLE_MS 30000 /* a client that does not even say hello */

/* ---- headers.c: a header block as it came ------------------------------------------------------
 */

struct header {
    size_t name, name_len, value, value_len; /* places in the text */
    uint8_t flags;
};
struct headers {
    struct ocv_buffer text;
    struct header *list;
    size_t n, room;
    bool bad; /* too many or too long; nothing more is kept */
};
void headers_init(struct headers *headers);
void headers_free(struct headers *headers);
void headers_add(struct headers *headers, const void *name, size_t name_len, const void *value,
                 size_t value_len, uint8_t flags);
/** A value, NULL where absent. */
const char *headers_find(const struct headers *headers, const char *name, size_t *len);
/** Give a header that is there another value. */
void headers_set(struct headers *headers, const char *name, const char *value);
/** The block for nghttp2: one allocation, its texts borrowed. NULL without memory. */
nghttp2_nv *headers_list(const struct headers *headers);

/* ---- pipe.c: bytes of one direction of a stream ------------------------------------------------
 */

struct pipe {
    uint8_t *bytes;
    size_t at, len, room; /* sent up to `at`, received up to `len` */
    size_t paid;          /* of what waits, the first so many were acknowledged on receipt */
    bool ended;           /* no more will come, but `trailers` if there are any */
    bool has_trailers;
    struct headers trailers;
};
void pipe_init(struct pipe *pipe);
void pipe_free(struct pipe *pipe);
bool pipe_put(struct pipe *pipe, const void *bytes, size_t len);
/** Copy what waits; `*pay`: bytes to acknowledge to their sender. */
size_t pipe_take(struct pipe *pipe, uint8_t *out, size_t size, size_t *pay);
static inline size_t pipe_waits(const struct pipe *pipe)
{
    return pipe->len - pipe->at;
}

/* ---- one call ----------------------------------------------------------------------------------
 */

enum method { METHOD_OTHER, METHOD_PULL, METHOD_STATUS, METHOD_REMOVE };

struct stream {
    struct stream *next, **link; /* of its client */
    struct client *client;
    struct engine *engine;  /* NULL before it is sent on, and when that side is done */
    int32_t down_id, up_id; /* down_id 0: the client's side is done */
    enum method method;
    bool held;              /* the request is kept back until it is whole */
    bool answered;          /* headers of an answer went to the client */
    struct headers request; /* until sent on */
    struct headers answer;
    struct pipe up, down;
    struct job *job; /* a worker's, or NULL */
    char *asked;     /* the reference of a pull that was decided without a registry, else NULL */
};

enum source_kind { SOURCE_LISTEN, SOURCE_WAKE, SOURCE_CLIENT, SOURCE_ENGINE };
/** What an event of epoll points at; first member of what is waited for. */
struct source {
    enum source_kind kind;
    int fd;
    bool writing; /* EPOLLOUT is asked for */
    bool dead;    /* closed; buried at the end of the turn */
};

/** A connection to the engine, of one client. */
struct engine {
    struct source source;
    struct engine *next;
    struct client *client;
    nghttp2_session *session;
    bool leaving; /* takes no new calls */
};

/** A client's connection. */
struct client {
    struct source source;
    struct client *next;
    struct proxy *proxy;
    nghttp2_session *session;
    struct stream *streams;
    struct engine *engines;
    int64_t since;
    bool spoke, dirty; /* dirty: a session of it has something to say */
};

struct proxy {
    const struct proxy_options *options;
    struct source listen, wake;
    int epoll;
    nghttp2_session_callbacks *down, *up;
    nghttp2_option *option;
    struct client *clients;
    size_t n_clients;
    struct workers *workers;
    struct map *map;
    bool draining;
    int64_t full_until; /* no descriptor was left: nobody is let in until then; 0: all are */
    int64_t drain_until;
    int stop; /* atomic */
};

/* ---- stream.c ----------------------------------------------------------------------------------
 */

struct stream *stream_new(struct client *client, int32_t id);
/** The request's headers are here; `end`: it has no body. */
void stream_begin(struct stream *stream, bool end);
/** Bytes of the request. */
void stream_body(struct stream *stream, const uint8_t *bytes, size_t len);
/** The request is whole. */
void stream_end(struct stream *stream);
/** The worker has decided: `image` is the new name, or NULL for none. */
void stream_decided(struct stream *stream, const char *image);
/** The pull must not go on: FAILED_PRECONDITION with the reason. */
void stream_refused(struct stream *stream, const char *reason);
/** The block that ends the answer: how did the call end? */
void stream_answered(const struct stream *stream, const struct headers *last);
/** The client's side is closed. */
void stream_down_closed(struct stream *stream, uint32_t error);
/** Answer with a status of our own: the engine cannot. */
void stream_fail(struct stream *stream, enum grpc_code code, const char *message);
void stream_free(struct stream *stream);

/* ---- down.c, up.c ------------------------------------------------------------------------------
 */

nghttp2_session_callbacks *down_callbacks(void);
int down_new(struct client *client);
/** Send the answer's headers; `end`: there is nothing more. */
void down_answer(struct stream *stream, const struct headers *headers, bool end);
void down_resume(struct stream *stream);
void down_reset(struct stream *stream, uint32_t error);

nghttp2_session_callbacks *up_callbacks(void);
/** Send the request to the engine. */
void up_send(struct stream *stream, bool end);
void up_resume(struct stream *stream);
/** The client is gone: so is the call. */
void up_cancel(struct stream *stream, uint32_t error);
/** The engine's connection is lost: its calls are answered. */
void up_lost(struct engine *engine);
void up_free(struct engine *engine);

/* ---- loop.c ------------------------------------------------------------------------------------
 */

/** Watch a descriptor (its first time: add), or change what for. */
int loop_watch(struct proxy *proxy, struct source *source, bool add, bool writing);
/** nghttp2's send callback for both sides: user data is a struct source first. */
ssize_t loop_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                  void *data);

struct proxy_options {
    int listen_fd;       /**< taken over */
    const char *backend; /**< the engine's socket */
    struct map *map;
    struct decide *decide;
    unsigned drain_ms;
};
int proxy_new(const struct proxy_options *options, struct proxy **out,
              struct ocv_error *err) OCV_WARN_UNUSED;
/** Until proxy_stop; returns when every call has ended, or drain_ms after it. */
int proxy_run(struct proxy *proxy, struct ocv_error *err) OCV_WARN_UNUSED;
/** From any thread or a signal handler. */
void proxy_stop(struct proxy *proxy);
void proxy_free(struct proxy *proxy);

#endif
