/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw HTTP/2 on both sides of the CRI proxy: an engine whose paths say how it behaves, and a client
 * that may be slow, broken or cut into single bytes. */
#ifndef CRI_PROXY_UTIL_H
#define CRI_PROXY_UTIL_H

#include "plugins/containerd/cri-proxy/decide.h"
#include "plugins/containerd/cri-proxy/proxy.h"

#include <check.h>
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

/* ---- sockets -----------------------------------------------------------------------------------
 */

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

/* ---- the engine ---------------------------------------------------------------------------------
 *
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

/* ---- the client ---------------------------------------------------------------------------------
 */

struct answer {
    int32_t id;
    char status[8], message[256], engine[8], echoed[70000];
    uint8_t *bytes;
    size_t len;
    bool closed, stall, trailers_first;
    uint32_t error;
    const uint8_t *request;
    size_t request_at, request_len;
    bool hold; /* the request does not end */
};

struct client_side {
    int fd;
    nghttp2_session *session;
    nghttp2_session_callbacks *callbacks;
    size_t fragment; /* bytes of a send, 0: any */
    bool lost, going;
};

static struct answer *answer_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int client_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                            const uint8_t *name, size_t name_len, const uint8_t *value,
                            size_t value_len, uint8_t flags, void *data)
{
    struct answer *a = answer_of(session, frame->hd.stream_id);
    (void)flags, (void)data;
    const struct {
        const char *name;
        char *out;
        size_t size;
    } wanted[] = {{"grpc-status", a->status, sizeof(a->status)},
                  {"grpc-message", a->message, sizeof(a->message)},
                  {"x-engine", a->engine, sizeof(a->engine)},
                  {"x-echo", a->echoed, sizeof(a->echoed)}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (strlen(wanted[i].name) == name_len && memcmp(name, wanted[i].name, name_len) == 0)
            snprintf(wanted[i].out, wanted[i].size, "%.*s", (int)value_len, value);
    return 0;
}

static int client_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                          size_t len, void *data)
{
    struct answer *a = answer_of(session, id);
    (void)flags, (void)data;
    a->bytes = realloc(a->bytes, a->len + len);
    ck_assert_ptr_nonnull(a->bytes);
    memcpy(a->bytes + a->len, bytes, len);
    a->len += len;
    nghttp2_session_consume_connection(session, len);
    if (!a->stall)
        nghttp2_session_consume_stream(session, id, len);
    return 0;
}

static int client_on_close(nghttp2_session *session, int32_t id, uint32_t error, void *data)
{
    struct answer *a = answer_of(session, id);
    (void)data;
    a->closed = true;
    a->error = error;
    return 0;
}

static int client_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct client_side *c = data;
    (void)session;
    c->going = c->going || frame->hd.type == NGHTTP2_GOAWAY;
    return 0;
}

static ssize_t client_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                           void *data)
{
    const struct client_side *c = data;
    (void)session, (void)flags;
    if (c->fragment && len > c->fragment)
        len = c->fragment;
    ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n >= 0 ? n : NGHTTP2_ERR_WOULDBLOCK;
}

static ssize_t client_read(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct answer *a = answer_of(session, id);
    (void)source, (void)data;
    size_t n = a->request_len - a->request_at < size ? a->request_len - a->request_at : size;
    if (n)
        memcpy(out, a->request + a->request_at, n);
    a->request_at += n;
    if (a->request_at < a->request_len)
        return (ssize_t)n;
    if (a->hold)
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static inline void client_open(struct client_side *c, const char *path)
{
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_option *option;
    *c = (struct client_side){.fd = unix_socket(path, false)};
    ck_assert_int_ge(c->fd, 0);
    nghttp2_session_callbacks_new(&c->callbacks);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_send_header_block_length(option, 1024 * 1024);
    nghttp2_session_callbacks_set_on_header_callback(c->callbacks, client_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c->callbacks, client_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c->callbacks, client_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(c->callbacks, client_on_close);
    nghttp2_session_callbacks_set_send_callback(c->callbacks, client_send);
    nghttp2_session_client_new2(&c->session, c->callbacks, c, option);
    nghttp2_option_del(option);
    nghttp2_submit_settings(c->session, 0, settings, 1);
    nghttp2_session_set_local_window_size(c->session, 0, 0, 64 * 1024 * 1024);
}

static inline void client_close(struct client_side *c)
{
    nghttp2_session_del(c->session);
    nghttp2_session_callbacks_del(c->callbacks);
    close(c->fd);
}

/* A turn: send, and take what comes within `ms`. True when something came. */
static inline bool client_turn(struct client_side *c, int ms)
{
    uint8_t bytes[16384];
    bool came = false;
    if (nghttp2_session_send(c->session) != 0)
        c->lost = true;
    short out = nghttp2_session_want_write(c->session) ? POLLOUT : 0;
    struct pollfd fd = {.fd = c->fd, .events = (short)(POLLIN | out)};
    if (poll(&fd, 1, ms) > 0 && (fd.revents & (POLLIN | POLLHUP))) {
        came = true;
        ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n == 0 || (n > 0 && nghttp2_session_mem_recv(c->session, bytes, (size_t)n) < 0))
            c->lost = true;
    }
    if (nghttp2_session_send(c->session) != 0)
        c->lost = true;
    return came;
}

/* Turns until the condition holds, or nothing has come for a minute. */
#define CLIENT_UNTIL(client, condition)                                        \
    do {                                                                       \
        for (int idle = 0; !(condition) && !(client)->lost && idle < WAIT_MS;) \
            idle = client_turn((client), 1) ? 0 : idle + 1;                    \
        ck_assert_msg((condition), "never: %s", #condition);                   \
    } while (0)

/* Start a call; `extra` headers are x-echo values. A request of NULL has no body. */
static inline void client_start(struct client_side *c, const char *path, const char *echo,
                                const void *request, size_t len, struct answer *a)
{
    nghttp2_nv list[] = {text_nv(":method", "POST"),
                         text_nv(":scheme", "http"),
                         text_nv(":path", path),
                         text_nv(":authority", "localhost"),
                         text_nv("content-type", "application/grpc"),
                         text_nv("te", "trailers"),
                         text_nv("x-echo", echo ? echo : "")};
    nghttp2_data_provider body = {.read_callback = client_read};
    bool hold = a->hold, stall = a->stall;
    *a = (struct answer){.request = request, .request_len = len, .hold = hold, .stall = stall};
    a->id = nghttp2_submit_request(c->session, NULL, list, echo ? 7 : 6, request ? &body : NULL, a);
    ck_assert_int_gt(a->id, 0);
}

static inline void client_call(struct client_side *c, const char *path, const char *echo,
                               const void *request, size_t len, struct answer *a)
{
    client_start(c, path, echo, request, len, a);
    CLIENT_UNTIL(c, a->closed);
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static char directory[] = "/tmp/ocv-crip-XXXXXX", front[64], back[64], state[64];
static struct proxy *proxy;
static struct map *proxy_map;
static struct decide proxy_decide;
static struct live_policy *proxy_policy;
static struct proxy_options proxy_options;
static pthread_t proxy_thread, accept_thread;
static int engine_fd = -1;

static void *proxy_main(void *data)
{
    struct ocv_error err = {0};
    (void)data;
    ck_assert_int_eq(proxy_run(proxy, &err), OCV_OK);
    return NULL;
}

static inline void engine_start(void)
{
    engine_fd = unix_socket(back, true);
    pthread_create(&accept_thread, NULL, engine_accept, (void *)(intptr_t)engine_fd);
}

/* No new connections; those that are there go on. */
static inline void engine_stop(void)
{
    shutdown(engine_fd, SHUT_RDWR);
    pthread_join(accept_thread, NULL);
    close(engine_fd);
    unlink(back);
    engine_fd = -1;
}

static inline void set_up(void)
{
    struct ocv_error err = {0};
    char config[64];
    snprintf(directory, sizeof(directory), "/tmp/ocv-crip-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(front, sizeof(front), "%s/front", directory);
    snprintf(back, sizeof(back), "%s/back", directory);
    snprintf(state, sizeof(state), "%s/state", directory);
    engine_connections = engine_closed = engine_received = 0;
    engine_gate = engine_dying = engine_leaving = 0;
    n_engine_threads = 0;
    engine_start();
    ck_assert_msg(map_open(state, &proxy_map, &err) == OCV_OK, "%s", err.message);
    snprintf(config, sizeof(config), "%s/config.yaml", directory);
    FILE *file = fopen(config, "w");
    ck_assert_ptr_nonnull(file);
    fputs("socket: /nobody\n", file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(live_policy_new(config, &proxy_policy, &err) == OCV_OK, "%s", err.message);
    proxy_decide = (struct decide){.records = state, .map = proxy_map};
    proxy_options = (struct proxy_options){.listen_fd = unix_socket(front, true),
                                           .backend = back,
                                           .map = proxy_map,
                                           .policy = proxy_policy,
                                           .decide = &proxy_decide,
                                           .drain_ms = 200};
    ck_assert_msg(proxy_new(&proxy_options, &proxy, &err) == OCV_OK, "%s", err.message);
    pthread_create(&proxy_thread, NULL, proxy_main, NULL);
}

static inline void tear_down(void)
{
    char command[96];
    proxy_stop(proxy);
    pthread_join(proxy_thread, NULL);
    proxy_free(proxy);
    map_free(proxy_map);
    live_policy_free(proxy_policy);
    if (engine_fd >= 0)
        engine_stop();
    for (size_t i = 0; i < n_engine_threads; i++)
        pthread_join(engine_threads[i], NULL);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

#endif
