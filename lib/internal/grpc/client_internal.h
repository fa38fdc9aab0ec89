/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of the client. A connection carries one call at a time and goes back to the pool
 * afterwards: simple, and a unix socket's connection costs microseconds. */
#ifndef OCV_GRPC_CLIENT_INTERNAL_H
#define OCV_GRPC_CLIENT_INTERNAL_H

#include "lib/internal/grpc/grpc_internal.h"

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
