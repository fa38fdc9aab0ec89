/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A connection's streams: requests into calls, answers out of them. Runs with `frames` held. */
#include "lib/base/clock.h"
#include "lib/internal/grpc/grpc_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct connection *c = data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct grpc_call *call = c->server->stopping ? NULL : grpc_call_new(c, frame->hd.stream_id);
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    c->spoke = true;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *data)
{
    struct grpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    (void)flags, (void)data;
    if (!call || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (name_len == 5 && memcmp(name, ":path", 5) == 0) {
        free(call->path);
        call->path = strndup((const char *)value, value_len);
    } else if (name_len == 12 && memcmp(name, "grpc-timeout", 12) == 0) {
        int64_t ms = grpc_timeout_ms((const char *)value);
        if (ms >= 0)
            call->deadline = ocv_clock_ms() + ms;
    }
    /* nghttp2 ends both with a NUL, and has checked that there is none in them */
    if (call->bad || grpc_header_add(&call->headers, name, name_len, value, value_len) < 0) {
        call->bad = true;
        call->bad_code = GRPC_RESOURCE_EXHAUSTED;
        call->headers.len = 0;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t len, void *data)
{
    struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
    (void)flags, (void)data;
    if (!call || call->bad)
        return 0;
    /* All requests share what is held of them beyond what each may have. */
    struct grpc_server *s = call->server;
    size_t all = call->body.len + len;
    size_t counted = all > GRPC_REQUEST_FREE ? all - GRPC_REQUEST_FREE : 0;
    pthread_mutex_lock(&s->lock);
    bool room = counted - call->counted <= GRPC_REQUESTS_MAX - s->requests;
    if (room) {
        s->requests += counted - call->counted;
        call->counted = counted;
    }
    pthread_mutex_unlock(&s->lock);
    if (room && ocv_buffer_append(&call->body, bytes, len, NULL) == OCV_OK)
        return 0;
    call->bad = true;
    call->bad_code = GRPC_RESOURCE_EXHAUSTED;
    ocv_buffer_free(&call->body);
    pthread_mutex_lock(&s->lock);
    s->requests -= call->counted;
    call->counted = 0;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    (void)data;
    if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    struct grpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (call && !call->dispatched)
        grpc_call_dispatch(call);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *data)
{
    struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
    struct connection *c = data;
    (void)error;
    c->since = ocv_clock_ms();
    if (call)
        grpc_call_forget(call);
    return 0;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                       void *data)
{
    struct connection *c = data;
    (void)session, (void)flags;
    return grpc_outbox_add(&c->out, c->fd, bytes, len);
}

/* What goes out next: the handler's headers or ours, of an answer, of its status, or of both at
 * once. Under the lock. */
static nghttp2_nv *next_headers(const struct grpc_call *call, bool head, bool status,
                                struct ocv_buffer *out, size_t *n)
{
    const struct ocv_buffer *given = status ? &call->tail : &call->head;
    ocv_buffer_init(out, GRPC_HEADERS_MAX);
    if (given->len)
        return ocv_buffer_append(out, given->data, given->len, NULL) == OCV_OK
                   ? grpc_header_list(out, true, n)
                   : NULL;
    char code[4];
    const struct {
        const char *name, *value;
        bool wanted;
    } list[] = {{":status", "200", head},
                {"content-type", "application/grpc", head},
                {"grpc-status", code, status},
                {"grpc-accept-encoding", "identity", head && status},
                {"grpc-message", call->message, status && call->message}};
    snprintf(code, sizeof(code), "%d", (int)call->code);
    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
        if (list[i].wanted && grpc_header_add(out, list[i].name, strlen(list[i].name),
                                              list[i].value, strlen(list[i].value)) < 0)
            return NULL;
    return grpc_header_list(out, false, n);
}

/* The body of an answer; its end brings the trailers. */
static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct grpc_call *call = source->ptr;
    struct ocv_buffer text = {0};
    nghttp2_nv *trailers = NULL;
    size_t count = 0;
    (void)data;
    pthread_mutex_lock(&call->server->lock);
    size_t n = call->out_len - call->out_sent;
    if (n > size)
        n = size;
    if (n)
        memcpy(out, call->out + call->out_sent, n);
    call->out_sent += n;
    bool end = call->finished && call->out_sent == call->out_len;
    if (end)
        trailers = next_headers(call, false, true, &text, &count);
    pthread_cond_broadcast(&call->room);
    pthread_mutex_unlock(&call->server->lock);
    if (!end)
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    int failed = trailers ? nghttp2_submit_trailer(session, stream, trailers, count) : -1;
    free(trailers);
    ocv_buffer_free(&text);
    return failed ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : (ssize_t)n;
}

bool grpc_stream_advance(struct grpc_call *call)
{
    struct connection *c = call->connection;
    struct ocv_buffer text = {0};
    nghttp2_nv *list = NULL;
    size_t n = 0;
    nghttp2_data_provider body = {.source.ptr = call, .read_callback = read_body};
    pthread_mutex_lock(&call->server->lock);
    bool first = !call->headers_sent;
    bool last = first && call->finished && call->out_len == 0 && !call->head.len;
    call->headers_sent = true;
    if (first && c)
        list = next_headers(call, true, last, &text, &n);
    pthread_mutex_unlock(&call->server->lock);
    if (!c)
        return true;
    if (!first) {
        nghttp2_session_resume_data(c->session, call->stream);
        return true;
    }
    int failed =
        list ? nghttp2_submit_response(c->session, call->stream, list, n, last ? NULL : &body) : -1;
    free(list);
    ocv_buffer_free(&text);
    return !failed;
}

nghttp2_session_callbacks *grpc_stream_callbacks(void)
{
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
    return callbacks;
}
