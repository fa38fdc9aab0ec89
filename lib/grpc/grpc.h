/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* gRPC over HTTP/2 on unix sockets, as containerd and kubelet speak it: nghttp2 for the frames,
 * this for calls (PROTOCOL-HTTP2.md of gRPC). A static library of this project's plugins; not
 * installed.
 *
 * A message on the wire is a flag byte (0: not compressed), its length (32 bits, big-endian) and
 * its bytes. A call ends with the trailers grpc-status and grpc-message. */
#ifndef OCV_GRPC_H
#define OCV_GRPC_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRPC_MESSAGE_MAX (16u * 1024 * 1024) /**< as containerd's own limit */
#define GRPC_HEADERS_MAX (64u * 1024)        /**< of one call, names and values together */
#define GRPC_STREAMS_MAX 100u                /**< calls at once on a connection */
#define GRPC_CONNECTIONS_MAX 1024u
#define GRPC_IDLE_MS 30000 /**< a connection without a call that does not even say hello */

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

/* ---- text and framing (grpc_text.c) ------------------------------------------------------------
 */

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

/* ---- server (grpc_server.c) --------------------------------------------------------------------
 */

struct grpc_server;
/** One call, from its whole request to its end. */
struct grpc_call;

struct grpc_server_options {
    /** Answer a call: send messages, then finish it, once, before returning. Runs in one of
     *  `workers` threads; the call is freed after it returns. */
    void (*handle)(void *data, struct grpc_call *call);
    void *data;
    unsigned workers;                          /**< 0: 4 */
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
/** Milliseconds left of the caller's deadline: 0 when it is over, -1 without one. */
int64_t grpc_call_left(const struct grpc_call *call);
/** Has the caller gone or the deadline passed? */
bool grpc_call_cancelled(struct grpc_call *call);
const uint8_t *grpc_call_request(const struct grpc_call *call, size_t *len);
/** Send one message. Blocks while the peer takes none and more than 4 MiB wait. OCV_ERR_NETWORK
 * when the caller has gone. */
int grpc_call_send(struct grpc_call *call, const void *message, size_t len) OCV_WARN_UNUSED;
/** End it. `message` may be NULL. */
void grpc_call_finish(struct grpc_call *call, enum grpc_code code, const char *message);

/* ---- client (grpc_client.c) --------------------------------------------------------------------
 */

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
/** Before the first call: is a call whose `data` this is still wanted? Asked while it waits; one
 * that is not ends as if it were late. */
void grpc_client_set_wanted(struct grpc_client *client, bool (*wanted)(void *data));
/** One call with one request message. `on_message` gets each message of the answer; non-zero ends
 * the call. An answer with a status other than OK is no error of this function: see `result`. Not
 *  connected, broken, late (`timeout_ms`, 0: none): OCV_ERR_NETWORK. */
int grpc_client_call(struct grpc_client *client, const char *path,
                     const struct grpc_header *headers, size_t n_headers, const void *request,
                     size_t len, unsigned timeout_ms,
                     int (*on_message)(void *data, const uint8_t *message, size_t len), void *data,
                     struct grpc_result *result, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
