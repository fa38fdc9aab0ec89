/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A CRI proxy before the engine of cri_proxy_engine.h, and its client of raw HTTP/2, which may be
 * slow, broken or cut into single bytes. */
#ifndef CRI_PROXY_UTIL_H
#define CRI_PROXY_UTIL_H

#include "lib/base/clock.h"
#include "test/unit/cri-proxy/cri_proxy_engine.h"

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

/* Turns until the condition holds, or nothing has come for a minute of the clock. A turn that only
 * sends takes no time at all, and a large request has thousands. */
#define CLIENT_UNTIL(client, condition)                                             \
    do {                                                                            \
        int64_t since = ocv_clock_ms();                                             \
        while (!(condition) && !(client)->lost && ocv_clock_ms() < since + WAIT_MS) \
            if (client_turn((client), 1))                                           \
                since = ocv_clock_ms();                                             \
        ck_assert_msg((condition), "never: %s%s", #condition,                       \
                      (client)->lost ? ", connection lost" : "");                   \
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

static char directory[] = "/tmp/ocv-crip-XXXXXX", front[64], back[64], state[64];
static struct proxy *proxy;
static struct state *proxy_state;
static struct decide proxy_decide;
static struct live_policy *proxy_policy;
static struct proxy_options proxy_options;
static pthread_t proxy_thread, accept_thread;
static int engine_fd = -1;

static void *proxy_main(void *data)
{
    struct ocv_error err = {0};
    (void)data;
    ck_assert_int_eq(grpc_server_run(proxy->server, &err), OCV_OK);
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
    ck_assert_msg(state_open(state, NULL, &proxy_state, &err) == OCV_OK, "%s", err.message);
    snprintf(config, sizeof(config), "%s/config.yaml", directory);
    FILE *file = fopen(config, "w");
    ck_assert_ptr_nonnull(file);
    fputs("socket: /nobody\n", file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(live_policy_new(config, &proxy_policy, &err) == OCV_OK, "%s", err.message);
    proxy_decide = (struct decide){.records = state, .state = proxy_state};
    proxy_options = (struct proxy_options){.listen_fd = unix_socket(front, true),
                                           .backend = back,
                                           .state = proxy_state,
                                           .policy = proxy_policy,
                                           .decide = &proxy_decide,
                                           .drain_ms = 200};
    ck_assert_msg(proxy_new(&proxy_options, &proxy, &err) == OCV_OK, "%s", err.message);
    pthread_create(&proxy_thread, NULL, proxy_main, NULL);
}

static inline void tear_down(void)
{
    char command[96];
    grpc_server_stop(proxy->server);
    pthread_join(proxy_thread, NULL);
    proxy_free(proxy);
    state_free(proxy_state);
    live_policy_free(proxy_policy);
    if (engine_fd >= 0)
        engine_stop();
    for (size_t i = 0; i < n_engine_threads; i++)
        pthread_join(engine_threads[i], NULL);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

#endif
