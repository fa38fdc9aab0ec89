/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocking calls. */
#include "lib/base/cleanup.h"
#include "lib/internal/grpc/grpc_internal.h"

#include "lib/base/clock.h"
#include "lib/base/system/unix_socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADERS_MAX 16u

static struct client_call *call_of(struct link *l, int32_t stream)
{
    return l->call && l->call->stream == stream ? l->call : NULL;
}

/* nghttp2 ends each value with a NUL, and refuses those that have one. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *data)
{
    struct client_call *call = call_of(data, frame->hd.stream_id);
    (void)session, (void)flags;
    if (!call)
        return 0;
    if (call->passed && grpc_header_add(&call->headers, name, name_len, value, value_len) < 0) {
        call->bad = GRPC_RESOURCE_EXHAUSTED;
        call->stopped = true;
    }
    if (name_len == 7 && memcmp(name, ":status", 7) == 0)
        call->http = strtol((const char *)value, NULL, 10);
    else if (name_len == 11 && memcmp(name, "grpc-status", 11) == 0) {
        char *end = NULL;
        long code = strtol((const char *)value, &end, 10);
        call->has_status = true;
        call->result->code = *value && !*end && code >= 0 && code <= GRPC_UNAUTHENTICATED
                                 ? (enum grpc_code)code
                                 : GRPC_UNKNOWN;
    } else if (name_len == 12 && memcmp(name, "grpc-message", 12) == 0)
        grpc_decode_message((const char *)value, call->result->message,
                            sizeof(call->result->message));
    return 0;
}

/* Headers of an answer that is passed on, without interim responses. The last ones stay until the
 * connection is free for the next call, which the caller may make as soon as it has them. */
static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct client_call *call = call_of(data, frame->hd.stream_id);
    (void)session;
    if (!call || !call->passed || call->stopped || frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (end) {
        call->ended = true;
        return 0;
    }
    if (!call->began && call->http >= 200) {
        call->began = call->delivered = true;
        call->stopped = call->passed->on_headers(call->data, &call->headers, false) != 0;
    }
    call->headers.len = 0;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t len, void *data)
{
    struct client_call *call = call_of(data, stream);
    (void)session, (void)flags;
    if (!call || call->stopped)
        return 0;
    if (call->passed) {
        call->delivered = true;
        call->stopped = call->on_message(call->data, bytes, len) != 0;
        return 0;
    }
    if (ocv_buffer_append(&call->body, bytes, len, NULL) < 0) {
        call->bad = GRPC_RESOURCE_EXHAUSTED;
        call->stopped = true;
        return 0;
    }
    size_t at = 0, length = 0, used = 0;
    int whole = 0;
    while (!call->stopped &&
           (whole = grpc_unframe((const uint8_t *)call->body.data + used, call->body.len - used,
                                 &at, &length, &call->bad)) == 1) {
        const uint8_t *message = (const uint8_t *)call->body.data + used + at;
        if (call->on_message && call->on_message(call->data, message, length) != 0)
            call->stopped = true;
        used += at + length;
    }
    if (whole < 0)
        call->stopped = true;
    else
        call->bad = GRPC_OK;
    memmove(call->body.data, call->body.data + used, call->body.len - used);
    call->body.len -= used;
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
            /* as PROTOCOL-HTTP2.md has it */
            call->result->code = error == NGHTTP2_REFUSED_STREAM        ? GRPC_UNAVAILABLE
                                 : error == NGHTTP2_CANCEL              ? GRPC_CANCELLED
                                 : error == NGHTTP2_ENHANCE_YOUR_CALM   ? GRPC_RESOURCE_EXHAUSTED
                                 : error == NGHTTP2_INADEQUATE_SECURITY ? GRPC_PERMISSION_DENIED
                                                                        : GRPC_INTERNAL;
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
    return grpc_outbox_add(&l->out, l->fd, bytes, len);
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

static nghttp2_nv make_header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int run_call(const struct grpc_client *client, struct link *l, struct client_call *call,
                    int64_t deadline, struct ocv_error *err)
{
    uint8_t bytes[16384];
    const int gone = client->gone_fd ? client->gone_fd(call->data) : -1;
    while (!call->closed && !call->stopped && !call->ended) { /* it may end before the request */
        if (grpc_outbox_send(&l->out, l->fd, l->session) < 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: the connection is lost", client->path);
        if (call->closed)
            break;
        if (call->delivered && call->passed->on_pause)
            call->passed->on_pause(call->data);
        call->delivered = false;
        bool writing = grpc_outbox_waits(&l->out, l->session);
        struct pollfd fds[2] = {{.fd = l->fd, .events = (short)(POLLIN | (writing ? POLLOUT : 0))},
                                {.fd = gone, .events = POLLIN}};
        int64_t left = deadline ? deadline - ocv_clock_ms() : -1;
        int ready = deadline && left <= 0 ? 0 : poll(fds, 2, left > INT_MAX ? INT_MAX : (int)left);
        if (ready == 0 || (ready > 0 && fds[1].revents)) /* the time is over, or it was cancelled */
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: no answer in time", client->path);
        if (ready < 0 || !(fds[0].revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        ssize_t n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0 || nghttp2_session_mem_recv(l->session, bytes, (size_t)n) < 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: the connection is lost", client->path);
    }
    return OCV_OK;
}

/* Run the call to its end; it is submitted, or `status` says why not. */
static int finish_call(struct grpc_client *client, struct link *l, struct client_call *call,
                       const char *path, int status, int64_t deadline, struct ocv_error *err)
{
    if (status == OCV_OK)
        status = run_call(client, l, call, deadline, err);
    if (status < 0 || !call->closed)
        l->failed = true; /* what comes late must not be taken for the next call's */
    if (status == OCV_OK && call->bad != GRPC_OK)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: invalid gRPC answer", path);
    else if (status == OCV_OK && !call->stopped && !call->has_status)
        status =
            ocv_error_set(err, OCV_ERR_DATA, "%s: not a gRPC answer (HTTP %ld)", path, call->http);
    grpc_link_give_back(client, l);
    if (call->passed && call->ended)
        (void)call->passed->on_headers(call->data, &call->headers, true);
    ocv_buffer_free(&call->body);
    ocv_buffer_free(&call->headers);
    return status;
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
    OCV_TRY(grpc_link_take(client, &l, err));
    char timeout[32];
    nghttp2_nv list[8 + HEADERS_MAX];
    size_t n = 0;
    snprintf(timeout, sizeof(timeout), "%um", timeout_ms);
    list[n++] = make_header(":method", "POST");
    list[n++] = make_header(":scheme", "http");
    list[n++] = make_header(":path", path);
    list[n++] = make_header(":authority", "localhost");
    list[n++] = make_header("content-type", "application/grpc");
    list[n++] = make_header("te", "trailers");
    list[n++] = make_header("user-agent", "ocivariant");
    if (timeout_ms && timeout_ms < 100000000)
        list[n++] = make_header("grpc-timeout", timeout);
    for (size_t i = 0; i < n_headers && i < HEADERS_MAX; i++)
        list[n++] = make_header(headers[i].name, headers[i].value);
    const nghttp2_data_provider body = {.source.ptr = &call, .read_callback = read_request};
    l->call = &call;
    call.stream = nghttp2_submit_request(l->session, NULL, list, n, &body, NULL);
    int status = call.stream < 0
                     ? ocv_error_set(err, OCV_ERR_NETWORK, "%s", nghttp2_strerror(call.stream))
                     : OCV_OK;
    return finish_call(client, l, &call, path, status, timeout_ms ? ocv_clock_ms() + timeout_ms : 0,
                       err);
}

int grpc_client_pass(struct grpc_client *client, const struct grpc_passed *passed,
                     struct grpc_result *result, struct ocv_error *err)
{
    struct link *l = NULL;
    struct client_call call = {.request = passed->body,
                               .len = passed->len,
                               .sent = 5, /* there is no frame of ours */
                               .passed = passed,
                               .on_message = passed->on_message,
                               .data = passed->data,
                               .result = result};
    const nghttp2_data_provider body = {.source.ptr = &call, .read_callback = read_request};
    size_t n = 0;
    *result = (struct grpc_result){.code = GRPC_UNKNOWN};
    ocv_buffer_init(&call.headers, GRPC_HEADERS_MAX);
    OCV_TRY(grpc_link_take(client, &l, err));
    int status = OCV_OK;
    nghttp2_nv *list = grpc_header_list(passed->headers, true, &n);
    l->call = &call;
    call.stream =
        list ? nghttp2_submit_request(l->session, NULL, list, n, passed->len ? &body : NULL, NULL)
             : NGHTTP2_ERR_NOMEM;
    free(list);
    if (call.stream < 0)
        status = ocv_error_set(err, OCV_ERR_NETWORK, "%s", nghttp2_strerror(call.stream));
    return finish_call(client, l, &call, client->path, status, 0, err);
}

int grpc_client_new(const char *socket_path, struct grpc_client **out, struct ocv_error *err)
{
    if (strlen(socket_path) > OCV_UNIX_PATH_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "socket path too long: %s", socket_path);
    struct grpc_client *client = calloc(1, sizeof(*client));
    if (!client)
        return ocv_error_nomem(err);
    pthread_mutex_init(&client->lock, NULL);
    client->path = strdup(socket_path);
    if (!client->path || nghttp2_session_callbacks_new(&client->callbacks) != 0 ||
        nghttp2_option_new(&client->option) != 0) {
        grpc_client_free(client);
        return ocv_error_nomem(err);
    }
    nghttp2_option_set_max_send_header_block_length(client->option, GRPC_HEADER_BLOCK_MAX);
    nghttp2_session_callbacks_set_on_header_callback(client->callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(client->callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(client->callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(client->callbacks, on_close);
    nghttp2_session_callbacks_set_send_callback(client->callbacks, on_send);
    *out = client;
    return OCV_OK;
}

void grpc_client_set_gone(struct grpc_client *client, int (*gone_fd)(void *data))
{
    client->gone_fd = gone_fd;
}

void grpc_client_free(struct grpc_client *client)
{
    if (!client)
        return;
    while (client->idle) {
        struct link *next = client->idle->next;
        grpc_link_free(client->idle);
        client->idle = next;
    }
    nghttp2_option_del(client->option);
    nghttp2_session_callbacks_del(client->callbacks);
    pthread_mutex_destroy(&client->lock);
    free(client->path);
    free(client);
}
