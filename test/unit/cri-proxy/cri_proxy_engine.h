/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An engine behind the CRI proxy, in raw HTTP/2; the path of a call selects its behaviour. */
#ifndef CRI_PROXY_ENGINE_H
#define CRI_PROXY_ENGINE_H

#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/proxy.h"
#include "test/unit/suite.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BIG (8u * 1024 * 1024) /* bytes of a long answer */
#define WAIT_MS 60000

static inline int unix_socket(const char *path, bool listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    if (listening) {
        unlink(path);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fd, 128), 0);
    } else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/*
 * /echo   the request's bytes as they come, its x- headers, and its trailers back
 * /late   the request's bytes, once it is whole
 * /wait   some bytes, and the end of the answer when the gate opens
 * /big    BIG bytes, whatever comes
 * /reset  a reset with HTTP/2's code 11
 * /part   headers and some bytes, then a reset with code 11
 * /fail   status 5 in trailers only
 * /die    every connection is closed
 * /leave  an answer and, on every connection, GOAWAY
 * /hang   nothing
 * others  as /late */

struct call {
    struct call *next;
    int32_t id;
    char path[128];
    struct ocv_buffer extra; /* x- headers */
    uint8_t *bytes;
    size_t at, len;
    bool ended, answered, reset;
};

struct engine_side {
    int fd;
    nghttp2_session *session;
    struct call *calls;
    bool die;
    int dying, leaving; /* of the counters below, what was before it */
};

/* What tests look at. Atomic. */
static int engine_connections, engine_closed;
static int engine_received; /* bytes for /hang */
/* And what they, or calls, tell all connections. Atomic. */
static int engine_gate, engine_dying, engine_leaving;

/* The last call's headers as they came, "name: value" in lines. */
static char engine_headers[4096];
static pthread_mutex_t engine_headers_lock = PTHREAD_MUTEX_INITIALIZER;

static int add(int *counter, int n)
{
    return __atomic_add_fetch(counter, n, __ATOMIC_ACQ_REL);
}

static inline int look(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static inline nghttp2_nv text_nv(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static struct call *call_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static bool is(const struct call *call, const char *path)
{
    return strcmp(call->path, path) == 0;
}

static void engine_append(struct call *call, const void *bytes, size_t len)
{
    call->bytes = realloc(call->bytes, call->len + len + 1);
    ck_assert_ptr_nonnull(call->bytes);
    memcpy(call->bytes + call->len, bytes, len);
    call->len += len;
}

static ssize_t engine_read(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct call *call = call_of(session, id);
    (void)source, (void)data;
    size_t n = call->len - call->at < size ? call->len - call->at : size;
    if (n)
        memcpy(out, call->bytes + call->at, n);
    call->at += n;
    bool end = call->at == call->len && (call->ended || is(call, "/big") || is(call, "/leave"));
    if (is(call, "/part") || (is(call, "/wait") && !look(&engine_gate)) || !end)
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    nghttp2_nv list[64] = {text_nv("grpc-status", "0")};
    const char *name, *value;
    size_t m = 1, at = 0;
    while (m < 64 && grpc_header_next(&call->extra, &at, &name, &value))
        list[m++] = text_nv(name, value);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(session, id, list, m);
    return (ssize_t)n;
}

static void engine_answer(struct engine_side *side, struct call *call)
{
    nghttp2_nv head[] = {text_nv(":status", "200"), text_nv("content-type", "application/grpc"),
                         text_nv("x-engine", "yes")};
    nghttp2_data_provider body = {.read_callback = engine_read};
    if (call->answered) {
        nghttp2_session_resume_data(side->session, call->id);
        return;
    }
    call->answered = true;
    nghttp2_submit_response(side->session, call->id, head, 3, &body);
}

static void engine_begin(struct engine_side *side, struct call *call)
{
    nghttp2_nv failed[] = {text_nv(":status", "200"), text_nv("content-type", "application/grpc"),
                           text_nv("grpc-status", "5"), text_nv("grpc-message", "nothing%20here")};
    if (is(call, "/reset")) {
        nghttp2_submit_rst_stream(side->session, 0, call->id, 11);
    } else if (is(call, "/fail")) {
        nghttp2_submit_response(side->session, call->id, failed, 4, NULL);
    } else if (is(call, "/die")) {
        add(&engine_dying, 1);
    } else if (is(call, "/big")) {
        uint8_t *bytes = malloc(BIG);
        ck_assert_ptr_nonnull(bytes);
        for (size_t i = 0; i < BIG; i++)
            bytes[i] = (uint8_t)(i * 31 >> 3);
        engine_append(call, bytes, BIG);
        free(bytes);
        engine_answer(side, call);
    } else if (is(call, "/part") || is(call, "/wait") || is(call, "/leave")) {
        engine_append(call, "some bytes", 10);
        engine_answer(side, call);
        if (is(call, "/leave"))
            add(&engine_leaving, 1);
    } else if (is(call, "/echo")) {
        engine_answer(side, call);
    }
}

static int engine_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct engine_side *side = data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct call *call = calloc(1, sizeof(*call));
    ck_assert_ptr_nonnull(call);
    call->id = frame->hd.stream_id;
    ocv_buffer_init(&call->extra, GRPC_HEADERS_MAX);
    call->next = side->calls;
    side->calls = call;
    nghttp2_session_set_stream_user_data(session, call->id, call);
    pthread_mutex_lock(&engine_headers_lock);
    engine_headers[0] = '\0';
    pthread_mutex_unlock(&engine_headers_lock);
    return 0;
}

static void engine_note(const uint8_t *name, size_t name_len, const uint8_t *value,
                        size_t value_len)
{
    pthread_mutex_lock(&engine_headers_lock);
    size_t n = strlen(engine_headers);
    snprintf(engine_headers + n, sizeof(engine_headers) - n, "%.*s: %.*s\n", (int)name_len, name,
             (int)value_len, value);
    pthread_mutex_unlock(&engine_headers_lock);
}

static int engine_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                            const uint8_t *name, size_t name_len, const uint8_t *value,
                            size_t value_len, uint8_t flags, void *data)
{
    struct call *call = call_of(session, frame->hd.stream_id);
    (void)flags, (void)data;
    if (call && name_len == 5 && memcmp(name, ":path", 5) == 0)
        snprintf(call->path, sizeof(call->path), "%.*s", (int)value_len, value);
    if (call && name_len > 2 && memcmp(name, "x-", 2) == 0)
        ck_assert_int_eq(grpc_header_add(&call->extra, name, name_len, value, value_len), OCV_OK);
    engine_note(name, name_len, value, value_len);
    return 0;
}

static int engine_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct engine_side *side = data;
    struct call *call = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA
                            ? call_of(session, frame->hd.stream_id)
                            : NULL;
    if (!call)
        return 0;
    call->ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        engine_begin(side, call);
    bool quiet = is(call, "/hang") || is(call, "/reset") || is(call, "/fail") || is(call, "/die") ||
                 is(call, "/part") || is(call, "/wait") || is(call, "/big") || is(call, "/leave");
    if (call->ended && !quiet)
        engine_answer(side, call);
    return 0;
}

static int engine_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                          size_t len, void *data)
{
    struct call *call = call_of(session, id);
    (void)flags;
    if (is(call, "/hang")) { /* takes nothing: its window stays closed */
        add(&engine_received, (int)len);
        nghttp2_session_consume_connection(session, len);
        return 0;
    }
    nghttp2_session_consume(session, id, len);
    if (is(call, "/part") || is(call, "/wait") || is(call, "/big") || is(call, "/leave"))
        return 0;
    engine_append(call, bytes, len);
    if (is(call, "/echo"))
        engine_answer(data, call);
    return 0;
}

static ssize_t engine_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                           void *data)
{
    const struct engine_side *side = data;
    (void)session, (void)flags;
    ssize_t n = send(side->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n >= 0 ? n : NGHTTP2_ERR_WOULDBLOCK;
}

/* What has been told to all connections. */
static void engine_tell(struct engine_side *side)
{
    side->die = look(&engine_dying) != side->dying;
    if (look(&engine_leaving) != side->leaving)
        nghttp2_submit_goaway(side->session, 0,
                              nghttp2_session_get_last_proc_stream_id(side->session), 0, NULL, 0);
    side->leaving = look(&engine_leaving);
    for (struct call *call = side->calls; call; call = call->next)
        if (is(call, "/wait") && look(&engine_gate)) {
            nghttp2_session_resume_data(side->session, call->id);
        } else if (is(call, "/part") && call->at && !call->reset) {
            call->reset = true;
            nghttp2_submit_rst_stream(side->session, 0, call->id, 11);
        }
}

static void *engine_serve(void *data)
{
    struct engine_side side = {
        .fd = (int)(intptr_t)data, .dying = look(&engine_dying), .leaving = look(&engine_leaving)};
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, engine_on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, engine_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, engine_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, engine_on_data);
    nghttp2_session_callbacks_set_send_callback(callbacks, engine_send);
    nghttp2_session_server_new2(&side.session, callbacks, &side, option);
    nghttp2_submit_settings(side.session, 0, NULL, 0);
    while (!side.die) {
        uint8_t bytes[16384];
        short out = nghttp2_session_want_write(side.session) ? POLLOUT : 0;
        struct pollfd fd = {.fd = side.fd, .events = (short)(POLLIN | out)};
        poll(&fd, 1, 10);
        if (fd.revents & (POLLIN | POLLHUP)) {
            ssize_t n = recv(side.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
            if (n == 0 || (n > 0 && nghttp2_session_mem_recv(side.session, bytes, (size_t)n) < 0))
                break;
        }
        engine_tell(&side);
        if (!side.die && nghttp2_session_send(side.session) != 0)
            break;
    }
    nghttp2_session_del(side.session);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    close(side.fd);
    add(&engine_closed, 1);
    while (side.calls) {
        struct call *call = side.calls;
        side.calls = call->next;
        ocv_buffer_free(&call->extra);
        free(call->bytes);
        free(call);
    }
    return NULL;
}

#define ENGINE_THREADS 4096 /* of one test */
static pthread_t engine_threads[ENGINE_THREADS];
static size_t n_engine_threads;

static void *engine_accept(void *data)
{
    int listening = (int)(intptr_t)data, fd;
    while ((fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        add(&engine_connections, 1);
        ck_assert_uint_lt(n_engine_threads, ENGINE_THREADS);
        pthread_create(&engine_threads[n_engine_threads++], NULL, engine_serve,
                       (void *)(intptr_t)fd);
    }
    return NULL;
}

#endif
