/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocking calls. A connection carries one call at a time and goes back to the pool afterwards:
 * simple, and a unix socket's connection costs microseconds. */
#include "lib/base/clock.h"
#include "lib/grpc/grpc.h"
#include "ocivariant/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define POOL_MAX 16u /* idle connections that are kept */
#define HEADERS_MAX 16u
#define WANTED_MS 500 /* how often to ask whether a call is still wanted */

struct link {
    struct link *next;
    int fd;
    nghttp2_session *session;
    struct client_call *call; /* the one that runs */
    bool failed;
};

struct client_call {
    int32_t stream;
    const uint8_t *request;
    size_t len, sent; /* the frame's five bytes included */
    uint8_t frame[5];
    struct ocv_buffer body;
    int (*on_message)(void *data, const uint8_t *message, size_t len);
    void *data;
    struct grpc_result *result;
    long http;
    bool has_status, closed, stopped;
    enum grpc_code bad; /* a message that cannot be taken */
};

struct grpc_client {
    char *path;
    bool (*wanted)(void *data); /* or NULL */
    nghttp2_session_callbacks *callbacks;
    pthread_mutex_t lock;
    struct link *idle;
    size_t n_idle;
};

/* ---- nghttp2's callbacks -----------------------------------------------------------------------
 */

static struct client_call *call_of(struct link *l, int32_t stream)
{
    return l->call && l->call->stream == stream ? l->call : NULL;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *data)
{
    struct client_call *call = call_of(data, frame->hd.stream_id);
    char text[3072];
    (void)session, (void)flags;
    if (!call)
        return 0;
    snprintf(text, sizeof(text), "%.*s",
             (int)(value_len < sizeof(text) ? value_len : sizeof(text) - 1), value);
    if (name_len == 7 && memcmp(name, ":status", 7) == 0) {
        call->http = strtol(text, NULL, 10);
    } else if (name_len == 11 && memcmp(name, "grpc-status", 11) == 0) {
        char *end = NULL;
        long code = strtol(text, &end, 10);
        call->has_status = true;
        call->result->code = *text && !*end && code >= 0 && code <= GRPC_UNAUTHENTICATED
                                 ? (enum grpc_code)code
                                 : GRPC_UNKNOWN;
    } else if (name_len == 12 && memcmp(name, "grpc-message", 12) == 0) {
        grpc_decode_message(text, call->result->message, sizeof(call->result->message));
    }
    return 0;
}

/* Hand over every message that is whole. */
static void deliver(struct client_call *call)
{
    size_t at = 0, len = 0, used = 0;
    int whole = 0;
    while (!call->stopped &&
           (whole = grpc_unframe((const uint8_t *)call->body.data + used, call->body.len - used,
                                 &at, &len, &call->bad)) == 1) {
        const uint8_t *message = (const uint8_t *)call->body.data + used + at;
        if (call->on_message && call->on_message(call->data, message, len) != 0)
            call->stopped = true;
        used += at + len;
    }
    if (whole < 0)
        call->stopped = true;
    else
        call->bad = GRPC_OK;
    memmove(call->body.data, call->body.data + used, call->body.len - used);
    call->body.len -= used;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t len, void *data)
{
    struct client_call *call = call_of(data, stream);
    (void)session, (void)flags;
    if (!call || call->stopped)
        return 0;
    if (ocv_buffer_append(&call->body, bytes, len, NULL) < 0) {
        call->bad = GRPC_RESOURCE_EXHAUSTED;
        call->stopped = true;
        return 0;
    }
    deliver(call);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *data)
{
    struct client_call *call = call_of(data, stream);
    (void)session;
    if (call) {
        call->closed = true;
        if (error != NGHTTP2_NO_ERROR && !call->has_status) {
            call->has_status = true;
            call->result->code = error == NGHTTP2_REFUSED_STREAM ? GRPC_UNAVAILABLE : GRPC_INTERNAL;
            snprintf(call->result->message, sizeof(call->result->message), "stream reset: %s",
                     nghttp2_http2_strerror(error));
        }
    }
    return 0;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                       void *data)
{
    struct link *l = data;
    (void)session, (void)flags;
    ssize_t n = send(l->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? NGHTTP2_ERR_WOULDBLOCK
                                             : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *out, size_t size,
                            uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct client_call *call = source->ptr;
    size_t n = 0;
    (void)session, (void)stream, (void)data;
    while (n < size && call->sent < 5)
        out[n++] = call->frame[call->sent++];
    size_t left = call->len + 5 - call->sent;
    if (left > size - n)
        left = size - n;
    if (left)
        memcpy(out + n, call->request + call->sent - 5, left);
    call->sent += left;
    n += left;
    if (call->sent == call->len + 5)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* ---- connections -------------------------------------------------------------------------------
 */

static void link_free(struct link *l)
{
    if (!l)
        return;
    nghttp2_session_del(l->session);
    if (l->fd >= 0)
        close(l->fd);
    free(l);
}

static int link_new(struct grpc_client *client, struct link **out, struct ocv_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                               {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1024 * 1024}};
    struct link *l = calloc(1, sizeof(*l));
    if (!l)
        return ocv_error_nomem(err);
    memcpy(address.sun_path, client->path, strlen(client->path) + 1);
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int status = OCV_OK;
    if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        status = ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", client->path, strerror(errno));
    else if (nghttp2_session_client_new(&l->session, client->callbacks, l) != 0 ||
             nghttp2_submit_settings(l->session, NGHTTP2_FLAG_NONE, settings, 2) != 0)
        status = ocv_error_nomem(err);
    if (status < 0) {
        link_free(l);
        return status;
    }
    *out = l;
    return OCV_OK;
}

/* A connection that waited may have been closed by the other side meanwhile: read what it said
 * last, a GOAWAY before its end most of all. */
static bool usable(struct link *l)
{
    uint8_t bytes[4096];
    for (;;) {
        ssize_t n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN && nghttp2_session_check_request_allowed(l->session);
        if (n == 0 || nghttp2_session_mem_recv(l->session, bytes, (size_t)n) < 0)
            return false;
    }
}

static int take(struct grpc_client *client, struct link **out, struct ocv_error *err)
{
    for (;;) {
        pthread_mutex_lock(&client->lock);
        struct link *l = client->idle;
        if (l) {
            client->idle = l->next;
            client->n_idle--;
        }
        pthread_mutex_unlock(&client->lock);
        if (!l)
            return link_new(client, out, err);
        if (usable(l)) {
            *out = l;
            return OCV_OK;
        }
        link_free(l);
    }
}

static void give_back(struct grpc_client *client, struct link *l)
{
    l->call = NULL;
    bool keep = !l->failed && nghttp2_session_want_read(l->session);
    pthread_mutex_lock(&client->lock);
    if (keep && client->n_idle < POOL_MAX) {
        l->next = client->idle;
        client->idle = l;
        client->n_idle++;
        l = NULL;
    }
    pthread_mutex_unlock(&client->lock);
    link_free(l);
}

/* ---- one call ----------------------------------------------------------------------------------
 */

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int submit(struct link *l, struct client_call *call, const char *path,
                  const struct grpc_header *headers, size_t n_headers, unsigned timeout_ms,
                  struct ocv_error *err)
{
    char timeout[32];
    nghttp2_nv list[8 + HEADERS_MAX];
    size_t n = 0;
    snprintf(timeout, sizeof(timeout), "%um", timeout_ms);
    list[n++] = header(":method", "POST");
    list[n++] = header(":scheme", "http");
    list[n++] = header(":path", path);
    list[n++] = header(":authority", "localhost");
    list[n++] = header("content-type", "application/grpc");
    list[n++] = header("te", "trailers");
    list[n++] = header("user-agent", "ocivariant");
    if (timeout_ms && timeout_ms < 100000000)
        list[n++] = header("grpc-timeout", timeout);
    for (size_t i = 0; i < n_headers && i < HEADERS_MAX; i++)
        list[n++] = header(headers[i].name, headers[i].value);
    const nghttp2_data_provider body = {.source.ptr = call, .read_callback = read_request};
    l->call = call;
    call->stream = nghttp2_submit_request(l->session, NULL, list, n, &body, NULL);
    return call->stream < 0
               ? ocv_error_set(err, OCV_ERR_NETWORK, "%s", nghttp2_strerror(call->stream))
               : OCV_OK;
}

/* Wait for the socket: 0 when the time is over, or nobody wants the answer any more. */
static int wait_for(const struct grpc_client *client, const struct client_call *call,
                    struct pollfd *fd, int64_t deadline)
{
    int ready = 0;
    while (ready == 0) {
        int64_t left = deadline ? deadline - ocv_clock_ms() : INT_MAX;
        bool ask = client->wanted && left > WANTED_MS;
        if (left <= 0 || (client->wanted && !client->wanted(call->data)))
            return 0;
        ready = poll(fd, 1,
                     ask              ? WANTED_MS
                     : !deadline      ? -1
                     : left > INT_MAX ? INT_MAX
                                      : (int)left);
    }
    return ready;
}

static int run(struct grpc_client *client, struct link *l, struct client_call *call,
               int64_t deadline, struct ocv_error *err)
{
    uint8_t bytes[16384];
    while (!call->closed && !call->stopped) {
        if (nghttp2_session_send(l->session) != 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: the connection broke", client->path);
        if (call->closed)
            break;
        bool writing = nghttp2_session_want_write(l->session);
        struct pollfd fd = {.fd = l->fd, .events = (short)(POLLIN | (writing ? POLLOUT : 0))};
        int ready = wait_for(client, call, &fd, deadline);
        if (ready == 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: no answer in time", client->path);
        if (ready < 0 || !(fd.revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        ssize_t n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0 || nghttp2_session_mem_recv(l->session, bytes, (size_t)n) < 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: the connection broke", client->path);
    }
    return OCV_OK;
}

int grpc_client_call(struct grpc_client *client, const char *path,
                     const struct grpc_header *headers, size_t n_headers, const void *request,
                     size_t len, unsigned timeout_ms,
                     int (*on_message)(void *data, const uint8_t *message, size_t len), void *data,
                     struct grpc_result *result, struct ocv_error *err)
{
    struct link *l = NULL;
    struct client_call call = {
        .request = request, .len = len, .on_message = on_message, .data = data, .result = result};
    *result = (struct grpc_result){.code = GRPC_UNKNOWN};
    if (len > GRPC_MESSAGE_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: message larger than 16 MiB", path);
    grpc_frame(call.frame, len);
    ocv_buffer_init(&call.body, GRPC_MESSAGE_MAX + 5);
    int status = take(client, &l, err);
    if (status < 0)
        return status;
    status = submit(l, &call, path, headers, n_headers, timeout_ms, err);
    if (status == OCV_OK)
        status = run(client, l, &call, timeout_ms ? ocv_clock_ms() + timeout_ms : 0, err);
    if (status < 0 || !call.closed)
        l->failed = true; /* what comes late must not be taken for the next call's */
    if (status == OCV_OK && call.bad != GRPC_OK)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: an answer that cannot be taken", path);
    else if (status == OCV_OK && !call.stopped && !call.has_status)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: no gRPC answer (HTTP %ld)", path, call.http);
    ocv_buffer_free(&call.body);
    give_back(client, l);
    return status;
}

int grpc_client_new(const char *socket_path, struct grpc_client **out, struct ocv_error *err)
{
    struct sockaddr_un address;
    if (strlen(socket_path) >= sizeof(address.sun_path))
        return ocv_error_set(err, OCV_ERR_INVALID, "socket path too long: %s", socket_path);
    struct grpc_client *client = calloc(1, sizeof(*client));
    if (!client)
        return ocv_error_nomem(err);
    pthread_mutex_init(&client->lock, NULL);
    client->path = strdup(socket_path);
    if (!client->path || nghttp2_session_callbacks_new(&client->callbacks) != 0) {
        grpc_client_free(client);
        return ocv_error_nomem(err);
    }
    nghttp2_session_callbacks_set_on_header_callback(client->callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(client->callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(client->callbacks, on_close);
    nghttp2_session_callbacks_set_send_callback(client->callbacks, on_send);
    *out = client;
    return OCV_OK;
}

void grpc_client_set_wanted(struct grpc_client *client, bool (*wanted)(void *data))
{
    client->wanted = wanted;
}

void grpc_client_free(struct grpc_client *client)
{
    if (!client)
        return;
    while (client->idle) {
        struct link *next = client->idle->next;
        link_free(client->idle);
        client->idle = next;
    }
    if (client->callbacks)
        nghttp2_session_callbacks_del(client->callbacks);
    pthread_mutex_destroy(&client->lock);
    free(client->path);
    free(client);
}
