/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Frames that go out together. nghttp2 hands over one frame at a time; sent one by one, headers,
 * message and trailers would be three system calls, and each would wake the peer. */
#ifndef OCV_GRPC_OUTBOX_H
#define OCV_GRPC_OUTBOX_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

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

#endif
