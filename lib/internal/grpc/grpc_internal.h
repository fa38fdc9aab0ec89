/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Internals of the server. Its threads are equal: grpc_server_run's own, and workers. Each of them
 * waits for events of all connections (the loop), receives frames, and when a call is complete,
 * answers it, and sends the answer itself: no other thread has to be woken first. One thread at
 * least stays in the loop; calls for which there is none wait in the queue. A call has two owners:
 * its connection, until its stream is closed, and the thread that answers it, until it has
 * returned.
 *
 * Two locks: `frames` is for connections, their nghttp2 sessions and what of a call is theirs,
 * `lock` for what else the threads share. Who wants both takes `frames` first. Handlers are
 * called with neither held, and may hold locks of their own when they send: nothing that runs with
 * `frames` held, options.log included, may take those. */
#ifndef OCV_GRPC_INTERNAL_H
#define OCV_GRPC_INTERNAL_H

#include "lib/base/clock.h"
#include "lib/internal/grpc/grpc.h"
#include "ocivariant/buffer.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdbool.h>

/* Frames that go out together. nghttp2 hands over one frame at a time; sent one by one, headers,
 * message and trailers would be three system calls, and each would wake the peer. */

#define GRPC_OUTBOX_MAX (16u * 1024)

struct grpc_outbox {
    size_t len, sent;
    uint8_t bytes[GRPC_OUTBOX_MAX];
};

/** For nghttp2's send callback: how many of the bytes were taken, or nghttp2's error. */
ssize_t grpc_outbox_add(struct grpc_outbox *outbox, int fd, const uint8_t *bytes, size_t len);
/** Send what the session has to send; what the socket does not take stays. 0, or -1 when the
 * connection is lost. */
int grpc_outbox_send(struct grpc_outbox *outbox, int fd, nghttp2_session *session);
/** Is there more to send when the socket takes it? */
bool grpc_outbox_waits(const struct grpc_outbox *outbox, nghttp2_session *session);

#define WAITING_MAX (4u * 1024 * 1024) /* bytes of an answer that a slow peer has not taken */
#define PASSED_MAX (256u * 1024)       /* likewise, of one that is passed on in pieces */
#define GRPC_HEADER_BLOCK_MAX (2 * GRPC_HEADERS_MAX) /* as nghttp2 counts what it sends */
#define QUEUE_MAX 4096u                              /* calls that wait for a thread */
#define GRPC_CUT_MS 1000 /* past its deadline, that a call's answer may still be taken */
#define WORKER_STACK (512u * 1024)
#define STATUS_TEXT_MAX 1024u /* bytes of a status message, encoded */
#define SPARE_MAX 8u          /* eventfds that are kept */

struct connection;

struct grpc_call {
    struct grpc_server *server;
    struct connection *connection; /* NULL once the stream is closed; under `frames` */
    int32_t stream;
    struct grpc_call *next, *woken_next; /* in the queue, in the list of woken ones */
    struct grpc_call *sibling, **link;
    char *path;
    struct ocv_buffer headers;
    struct ocv_buffer body; /* received */
    size_t request_at, request_len;
    size_t counted;   /* of the server's `requests`; under `lock` */
    int64_t deadline; /* monotonic ms, 0: none */
    bool dispatched, bad, cut;
    enum grpc_code bad_code;
    /* under the server's `lock` */
    unsigned references;
    int gone; /* atomic for readers without the lock */
    int gone_fd;
    bool finished, pending, woken, headers_sent; /* pending: since the last push */
    bool ended, told;             /* its handler ended it; `gone_fd` was written to */
    struct ocv_buffer head, tail; /* instead of ours, where they are not empty */
    uint8_t *out;
    size_t out_len, out_size, out_sent;
    enum grpc_code code;
    char *message; /* encoded; NULL if there is none, or no memory for it */
    pthread_cond_t room;
};

struct connection {
    struct connection *next, **link;
    struct grpc_server *server;
    uint64_t id; /* in its events: when they are looked at, it may be closed already */
    int fd;
    nghttp2_session *session;
    struct grpc_call *calls;
    int64_t since;
    bool spoke, failed, writing; /* it is told when the peer takes more */
    struct grpc_outbox out;
};

struct grpc_server {
    struct grpc_server_options options;
    int listen_fd, epoll, wake, clock;
    struct connection *connections;
    size_t n_connections;
    uint64_t last_id;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    pthread_mutex_t frames, lock;
    struct grpc_call *queue, **queue_end;
    size_t n_queue, n_running, n_in_loop;
    size_t requests; /* bytes of them that count to GRPC_REQUESTS_MAX */
    struct grpc_call *woken;
    int spare[SPARE_MAX]; /* eventfds that were not written to, for the next calls */
    size_t n_spare;
    bool stopping;
    bool over;    /* the loop has ended */
    int fault;    /* errno that it ended with, or 0 */
    bool ticking; /* a thread is in options.tick */
    int64_t stopping_since, drain_ms;
    int64_t full_until; /* no descriptor was left: nothing is accepted until then; 0: all are */
    int stop_asked;     /* atomic: also set by signal handlers */
    pthread_t *threads;
    unsigned n_threads, max_threads;
};

/** Headers for nghttp2: one allocation, its texts borrowed. `passed`: what a proxy must not put
 * into tables, as it does not know what is secret. NULL without memory. */
nghttp2_nv *grpc_header_list(const struct ocv_buffer *headers, bool passed, size_t *n);

/** Have a thread of the loop look at what there is to do. */
void grpc_wake(struct grpc_server *server);
/** grpc_call_finish where `frames` is held: the loop sends it. */
void grpc_call_refuse(struct grpc_call *call, enum grpc_code code, const char *message);
/** A call on a connection's stream. NULL without memory. */
struct grpc_call *grpc_call_new(struct connection *connection, int32_t stream);
/** Its stream is closed: its handler may still be busy, but the answer is dropped. */
void grpc_call_forget(struct grpc_call *call);
void grpc_call_release(struct grpc_call *call);

/** The request is complete: check it and put it into the queue. */
void grpc_call_dispatch(struct grpc_call *call);
/** Be in the loop and answer calls, with as many workers as it takes, until it is over. */
int grpc_workers_run(struct grpc_server *server, struct ocv_error *err) OCV_WARN_UNUSED;
/** Join them, and drop the calls that are left. */
void grpc_workers_join(struct grpc_server *server);

/** nghttp2's callbacks for a server's sessions; NULL without memory. */
nghttp2_session_callbacks *grpc_stream_callbacks(void);
/** There is something for the call's stream: submit or resume it. False: the connection failed. */
bool grpc_stream_advance(struct grpc_call *call);

/** Wait for events and handle them. True: the loop is over. */
bool grpc_server_turn(struct grpc_server *server);

/** Send what waits for the peer, as far as it takes it. */
void grpc_connection_flush(struct connection *connection);

/* Inside of the client. A connection carries one call at a time and goes back to the pool
 * afterwards: simple, and a unix socket's connection costs microseconds. */

struct link {
    struct link *next;
    int fd;
    nghttp2_session *session;
    struct client_call *call; /* the one that runs */
    bool failed;
    struct grpc_outbox out;
};

struct client_call {
    int32_t stream;
    const uint8_t *request;
    size_t len, sent; /* with the frame's five bytes, which one that is passed on has already */
    const struct grpc_passed *passed; /* or NULL */
    struct ocv_buffer headers;        /* of it: those that are being received */
    bool began;                       /* on_headers has had the first ones */
    bool delivered;                   /* something, since the last pause */
    bool ended;                       /* the last ones are received */
    uint8_t frame[5];
    struct ocv_buffer body;
    int (*on_message)(void *data, const uint8_t *message, size_t len);
    void *data;
    struct grpc_result *result;
    long http;
    bool has_status, closed, stopped;
    enum grpc_code bad; /* a message that cannot be accepted */
};

struct grpc_client {
    char *path;
    int (*gone_fd)(void *data); /* or NULL */
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    pthread_mutex_t lock;
    struct link *idle;
    size_t n_idle;
};

/** An idle connection, or a new one. */
int grpc_link_take(struct grpc_client *client, struct link **out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep it as idle, or close it if it failed. */
void grpc_link_give_back(struct grpc_client *client, struct link *l);
void grpc_link_free(struct link *l);

#endif
