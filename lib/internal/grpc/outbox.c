/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/grpc/grpc_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* -1: the connection is lost. */
static int flush_bytes(struct grpc_outbox *o, int fd)
{
    while (o->sent < o->len) {
        ssize_t n = send(fd, o->bytes + o->sent, o->len - o->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        o->sent += (size_t)n;
    }
    o->len = o->sent = 0;
    return 0;
}

ssize_t grpc_outbox_add(struct grpc_outbox *o, int fd, const uint8_t *bytes, size_t len)
{
    if (len > sizeof(o->bytes) - o->len) {
        if (flush_bytes(o, fd) < 0)
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        memmove(o->bytes, o->bytes + o->sent, o->len - o->sent);
        o->len -= o->sent;
        o->sent = 0;
    }
    size_t n = sizeof(o->bytes) - o->len;
    if (n > len)
        n = len;
    if (n == 0)
        return NGHTTP2_ERR_WOULDBLOCK;
    memcpy(o->bytes + o->len, bytes, n);
    o->len += n;
    return (ssize_t)n;
}

int grpc_outbox_send(struct grpc_outbox *o, int fd, nghttp2_session *session)
{
    return nghttp2_session_send(session) != 0 ? -1 : flush_bytes(o, fd);
}

bool grpc_outbox_waits(const struct grpc_outbox *o, nghttp2_session *session)
{
    return o->len > 0 || nghttp2_session_want_write(session);
}
