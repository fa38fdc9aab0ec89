/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* gRPC over HTTP/2 on unix sockets, as containerd and kubelet speak it: nghttp2 for the frames,
 * this for calls (PROTOCOL-HTTP2.md of gRPC). A static library of this project's plugins; not
 * installed.
 *
 * A message on the wire is a flag byte (0: not compressed), its length (32 bits, big-endian) and
 * its bytes. A call ends with the trailers grpc-status and grpc-message. */
#ifndef OCV_GRPC_H
#define OCV_GRPC_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRPC_MESSAGE_MAX (16u * 1024 * 1024) /**< as containerd's own limit */
#define GRPC_HEADERS_MAX (64u * 1024)        /**< of one call, names and values together */
/** Bytes of requests that a server holds, beyond the first 64 KiB of each. */
#define GRPC_REQUESTS_MAX (128u * 1024 * 1024)
#define GRPC_REQUEST_FREE (64u * 1024)
#define GRPC_STREAMS_MAX 100u /**< calls at once on a connection */
#define GRPC_CONNECTIONS_MAX 1024u
#define GRPC_WORKERS 4u /**< by default */
#define GRPC_DRAIN_MS \
    5000u /**< after the order to stop, that answers may still be taken; likewise */
#define GRPC_IDLE_MS 30000 /**< a connection without a call that does not even send its preface */

/** Status codes of gRPC (google.golang.org/grpc/codes). */
enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16,
};

/** "grpc-timeout" to milliseconds, rounded up: "5S", "100m", "30u". -1 if it is malformed. */
int64_t grpc_timeout_ms(const char *text);
/** Percent-encode a grpc-message into `out`, cut to fit. */
void grpc_encode_message(const char *text, char *out, size_t size);
/** And back. Malformed escapes stay as they are. */
void grpc_decode_message(const char *text, char *out, size_t size);
/** The five bytes before a message. */
void grpc_frame(uint8_t out[5], size_t len);
/** Look at the start of received bytes: 1 and the message's place when it is whole, 0 when more
 * must come, -1 and a code when it cannot be taken (compressed, too large). */
int grpc_unframe(const uint8_t *bytes, size_t len, size_t *at, size_t *message_len,
                 enum grpc_code *code);

/** Headers in a buffer: each name and each value with a NUL behind it. The next from `*at`; false
 * at the end. */
bool grpc_header_next(const struct ocv_buffer *headers, size_t *at, const char **name,
                      const char **value);
int grpc_header_add(struct ocv_buffer *headers, const void *name, size_t name_len,
                    const void *value, size_t value_len) OCV_WARN_UNUSED;

struct grpc_server;
/** One call, from its whole request to its end. */
struct grpc_call;

struct grpc_server_options {
    /** Answer a call: send messages, then finish it, once, before returning. Runs in one of
     *  several threads, grpc_server_run's among them; the call is freed after it returns. */
    void (*handle)(void *data, struct grpc_call *call);
    void *data;
    void (*tick)(void *data); /**< about once a second, never twice at once; may be NULL */
    unsigned workers;  /**< calls at once; each is a thread, started when it is needed. 0: 4 */
    unsigned drain_ms; /**< 0: GRPC_DRAIN_MS */
    /** For proxies: requests and answers are bytes as the wire has them, any number of messages
     *  with their frames, and are not interpreted. */
    bool framed;
    void (*log)(void *data, const char *line); /**< protocol trouble; may be NULL */
};

/** Serve calls of one request message each on a listening socket, which is taken over. */
int grpc_server_new(const struct grpc_server_options *options, int listen_fd,
                    struct grpc_server **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Run until grpc_server_stop. Returns when every call that runs has ended. */
int grpc_server_run(struct grpc_server *server, struct ocv_error *err) OCV_WARN_UNUSED;
/** From any thread or a signal handler: no new connections and calls, then end. */
void grpc_server_stop(struct grpc_server *server);
void grpc_server_free(struct grpc_server *server);

const char *grpc_call_path(const struct grpc_call *call); /**< "/package.Service/Method" */
/** A header's value (lower-case name), or NULL. */
const char *grpc_call_metadata(const struct grpc_call *call, const char *name);
/** All of them as they came, with those of HTTP/2 (":path"). */
const struct ocv_buffer *grpc_call_headers(const struct grpc_call *call);
/** Milliseconds left of the caller's deadline: 0 when it is over, -1 without one. */
int64_t grpc_call_left(const struct grpc_call *call);
/** Has the caller gone or the deadline passed? */
bool grpc_call_cancelled(struct grpc_call *call);
/** Not 0 once the caller has gone; read atomically, while the handler runs. */
const volatile int *grpc_call_gone(const struct grpc_call *call);
/** Readable once the caller has gone, until the handler ends the call; never read. -1 where there
 * is none. */
int grpc_call_gone_fd(struct grpc_call *call);
const uint8_t *grpc_call_request(const struct grpc_call *call, size_t *len);
/** Send one message. It leaves with the call's end, with grpc_call_push, or when more than 4 MiB
 * (`framed`: 256 KiB) wait; blocks while so many do and the peer takes none. OCV_ERR_NETWORK when
 * the caller has gone. */
int grpc_call_send(struct grpc_call *call, const void *message, size_t len) OCV_WARN_UNUSED;
/** Let what waits leave now: a handler calls it before it waits for something else. */
void grpc_call_push(struct grpc_call *call);
/** End it. `message` may be NULL. */
void grpc_call_finish(struct grpc_call *call, enum grpc_code code, const char *message);
/** Other headers than our own, ":status" among them, before the first message. Copied. */
int grpc_call_begin(struct grpc_call *call, const struct ocv_buffer *headers) OCV_WARN_UNUSED;
/** End it with trailers of the handler's, or without a message before with these headers. Copied.
 */
void grpc_call_end(struct grpc_call *call, const struct ocv_buffer *trailers);

/** Connections to one unix socket, made when needed. Thread-safe: calls at once use one each. */
struct grpc_client;
struct grpc_header {
    const char *name, *value;
};
/** How a call ended. */
struct grpc_result {
    enum grpc_code code;
    char message[1024];
};

int grpc_client_new(const char *socket_path, struct grpc_client **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
void grpc_client_free(struct grpc_client *client);
/** Now and then: read what arrived on idle connections, above all a GOAWAY, which the other side
 * may wait to have acknowledged. */
void grpc_client_tend(struct grpc_client *client);
/** Before the first call: what is readable once a call with this `data` is not wanted any more, or
 * -1. It then ends like a call that timed out, and its connection with it. */
void grpc_client_set_gone(struct grpc_client *client, int (*gone_fd)(void *data));
/** One call with one request message. `on_message` gets each message of the answer; non-zero ends
 * the call. An answer with a status other than OK is not an error of this function: see `result`.
 * Not connected, broken, late (`timeout_ms`, 0: none): OCV_ERR_NETWORK. */
int grpc_client_call(struct grpc_client *client, const char *path,
                     const struct grpc_header *headers, size_t n_headers, const void *request,
                     size_t len, unsigned timeout_ms,
                     int (*on_message)(void *data, const uint8_t *message, size_t len), void *data,
                     struct grpc_result *result, struct ocv_error *err) OCV_WARN_UNUSED;

/** Pass a call on: headers, those of HTTP/2 first, and a body with its frames. The answer comes as
 * it is: `on_headers` gets its headers and, `last`, its trailers (or headers that are both),
 *  `on_message` pieces of its body. `on_pause` (may be NULL) is called after these, before more of
 * it is waited for. `result` knows the status as well. */
struct grpc_passed {
    const struct ocv_buffer *headers;
    const void *body;
    size_t len;
    int (*on_headers)(void *data, const struct ocv_buffer *headers, bool last);
    int (*on_message)(void *data, const uint8_t *bytes, size_t len);
    void (*on_pause)(void *data);
    void *data;
};
int grpc_client_pass(struct grpc_client *client, const struct grpc_passed *passed,
                     struct grpc_result *result, struct ocv_error *err) OCV_WARN_UNUSED;

/* Fields of protobuf messages, for what has no generated code or must not lose a byte. */

#define GRPC_VARINT_MAX 10u

enum grpc_wire_type { GRPC_VARINT = 0, GRPC_FIXED64 = 1, GRPC_BYTES = 2, GRPC_FIXED32 = 5 };

struct grpc_field {
    uint32_t number; /**< 1 to 2^29 - 1 */
    enum grpc_wire_type type;
    size_t start, at, len; /**< of GRPC_BYTES: the tag, the bytes, their number */
};
/** The next field from `*pos`: 1, 0 at the end, -1 where the message is malformed. Groups, which
 * are obsolete, are. */
int grpc_field_next(const uint8_t *bytes, size_t len, size_t *pos, struct grpc_field *out);
/** How many bytes a number has. */
size_t grpc_put_varint(uint8_t out[GRPC_VARINT_MAX], uint64_t value);

#endif
