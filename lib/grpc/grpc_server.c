/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One thread runs every connection's frames; workers answer calls. A call is shared by both until
 * each has let go of it: the loop when its stream is closed, the worker when it has returned. Only
 * the loop touches nghttp2. */
#include "grpc.h"

#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAITING_MAX (4u * 1024 * 1024) /* bytes of an answer that a slow peer has not taken */
#define QUEUE_MAX 4096u                /* calls that wait for a worker */
#define EVENTS 64
#define WORKER_STACK (512u * 1024)

struct connection;

struct grpc_call {
    struct grpc_server *server;
    struct connection *connection; /* NULL once the stream is closed; loop's */
    int32_t stream;
    struct grpc_call *next, *woken_next; /* in the queue, in the list of woken ones */
    struct grpc_call *sibling, **link;
    char *path;
    struct ocv_buffer metadata; /* name NUL value NUL ... */
    struct ocv_buffer body;     /* received */
    size_t request_at, request_len;
    int64_t deadline; /* monotonic ms, 0: none */
    bool dispatched, bad;
    enum grpc_code bad_code;
    /* under the server's lock */
    unsigned references;
    bool gone, finished, woken, headers_sent;
    uint8_t *out;
    size_t out_len, out_size, out_sent;
    enum grpc_code code;
    char message[1024]; /* encoded */
    pthread_cond_t room;
};

struct connection {
    struct connection *next, **link;
    struct grpc_server *server;
    int fd;
    nghttp2_session *session;
    struct grpc_call *calls;
    int64_t since;
    bool spoke, failed;
};

struct grpc_server {
    struct grpc_server_options options;
    int listen_fd, epoll, wake;
    struct connection *connections;
    size_t n_connections;
    nghttp2_session_callbacks *callbacks;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct grpc_call *queue, **queue_end;
    size_t n_queue, n_running;
    struct grpc_call *woken;
    bool stopping, workers_stop;
    int stop_asked; /* atomic: also set by signal handlers */
    pthread_t *threads;
    unsigned n_threads;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(const struct grpc_server *s, const char *line)
{
    if (s->options.log)
        s->options.log(s->options.data, line);
}

static void wake(struct grpc_server *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof(one));
    (void)n;
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static void call_release(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    pthread_mutex_lock(&s->lock);
    bool last = --call->references == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    pthread_cond_destroy(&call->room);
    ocv_buffer_free(&call->metadata);
    ocv_buffer_free(&call->body);
    free(call->out);
    free(call->path);
    free(call);
}

static struct grpc_call *call_new(struct connection *c, int32_t stream)
{
    struct grpc_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->server = c->server;
    call->connection = c;
    call->stream = stream;
    call->references = 1;
    ocv_buffer_init(&call->metadata, GRPC_HEADERS_MAX);
    ocv_buffer_init(&call->body, GRPC_MESSAGE_MAX + 5);
    pthread_cond_init(&call->room, NULL);
    call->sibling = c->calls;
    call->link = &c->calls;
    if (call->sibling)
        call->sibling->link = &call->sibling;
    c->calls = call;
    return call;
}

/* The stream is closed: the worker may still be busy, but nobody listens. */
static void call_forget(struct grpc_call *call)
{
    *call->link = call->sibling;
    if (call->sibling)
        call->sibling->link = call->link;
    pthread_mutex_lock(&call->server->lock);
    call->gone = true;
    call->connection = NULL;
    pthread_cond_broadcast(&call->room);
    pthread_mutex_unlock(&call->server->lock);
    call_release(call);
}

const char *grpc_call_path(const struct grpc_call *call)
{
    return call->path ? call->path : "";
}

const char *grpc_call_metadata(const struct grpc_call *call, const char *name)
{
    const char *p = call->metadata.data, *end = p ? p + call->metadata.len : NULL;
    while (p && p < end) {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, name) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

int64_t grpc_call_left(const struct grpc_call *call)
{
    if (!call->deadline)
        return -1;
    int64_t left = call->deadline - now_ms();
    return left > 0 ? left : 0;
}

bool grpc_call_cancelled(struct grpc_call *call)
{
    pthread_mutex_lock(&call->server->lock);
    bool gone = call->gone;
    pthread_mutex_unlock(&call->server->lock);
    return gone || grpc_call_left(call) == 0;
}

const uint8_t *grpc_call_request(const struct grpc_call *call, size_t *len)
{
    *len = call->request_len;
    return (const uint8_t *)call->body.data + call->request_at;
}

/* Under the lock: the loop looks at the call soon. */
static void call_wake(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    if (call->woken || call->gone)
        return;
    call->woken = true;
    call->references++;
    call->woken_next = s->woken;
    s->woken = call;
    wake(s);
}

static bool reserve(struct grpc_call *call, size_t more)
{
    if (call->out_sent) { /* what is sent makes room */
        memmove(call->out, call->out + call->out_sent, call->out_len - call->out_sent);
        call->out_len -= call->out_sent;
        call->out_sent = 0;
    }
    if (call->out_size - call->out_len >= more)
        return true;
    size_t size = call->out_len + more + 4096;
    uint8_t *bytes = realloc(call->out, size);
    if (!bytes)
        return false;
    call->out = bytes;
    call->out_size = size;
    return true;
}

int grpc_call_send(struct grpc_call *call, const void *message, size_t len)
{
    struct grpc_server *s = call->server;
    int status = OCV_OK;
    pthread_mutex_lock(&s->lock);
    while (!call->gone && call->out_len - call->out_sent > WAITING_MAX)
        pthread_cond_wait(&call->room, &s->lock);
    if (call->gone) {
        status = OCV_ERR_NETWORK;
    } else if (len > GRPC_MESSAGE_MAX || !reserve(call, len + 5)) {
        status = OCV_ERR_NOMEM;
    } else {
        grpc_frame(call->out + call->out_len, len);
        if (len)
            memcpy(call->out + call->out_len + 5, message, len);
        call->out_len += len + 5;
        call_wake(call);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void grpc_call_finish(struct grpc_call *call, enum grpc_code code, const char *message)
{
    pthread_mutex_lock(&call->server->lock);
    if (!call->finished) {
        call->finished = true;
        call->code = code;
        if (message)
            grpc_encode_message(message, call->message, sizeof(call->message));
        call_wake(call);
    }
    pthread_mutex_unlock(&call->server->lock);
}

/* ---- workers -----------------------------------------------------------------------------------
 */

static void *worker(void *data)
{
    struct grpc_server *s = data;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->queue && !s->workers_stop)
            pthread_cond_wait(&s->work, &s->lock);
        struct grpc_call *call = s->queue;
        if (!call)
            break;
        s->queue = call->next;
        if (!s->queue)
            s->queue_end = &s->queue;
        s->n_queue--;
        s->n_running++;
        bool late = call->gone;
        pthread_mutex_unlock(&s->lock);
        if (!late && grpc_call_left(call) == 0)
            grpc_call_finish(call, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
        else if (!late)
            s->options.handle(s->options.data, call);
        grpc_call_finish(call, GRPC_INTERNAL, "the call was not answered");
        call_release(call);
        pthread_mutex_lock(&s->lock);
        s->n_running--;
        wake(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void dispatch(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    call->dispatched = true;
    pthread_mutex_lock(&s->lock);
    bool full = s->n_queue >= QUEUE_MAX;
    if (!full) {
        call->references++;
        call->next = NULL;
        *s->queue_end = call;
        s->queue_end = &call->next;
        s->n_queue++;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (full)
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many calls at once");
}

/* The request is complete. */
static void judge_request(struct grpc_call *call)
{
    const char *type = grpc_call_metadata(call, "content-type");
    enum grpc_code code = GRPC_OK;
    size_t at = 0, len = 0;
    int whole = grpc_unframe((const uint8_t *)call->body.data, call->body.len, &at, &len, &code);
    call->dispatched = true;
    if (call->bad)
        grpc_call_finish(call, call->bad_code, "the request cannot be taken");
    else if (!call->path || !type || strncmp(type, "application/grpc", 16) != 0)
        grpc_call_finish(call, GRPC_INTERNAL, "not a gRPC request");
    else if (whole < 0)
        grpc_call_finish(call, code,
                         code == GRPC_UNIMPLEMENTED ? "compression is not supported"
                                                    : "message larger than 16 MiB");
    else if (whole == 0 || call->body.len != at + len)
        grpc_call_finish(call, GRPC_INTERNAL, "not exactly one message");
    else {
        call->request_at = at;
        call->request_len = len;
        dispatch(call);
    }
}

/* ---- nghttp2's callbacks -----------------------------------------------------------------------
 */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct connection *c = data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct grpc_call *call = c->server->stopping ? NULL : call_new(c, frame->hd.stream_id);
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
    } else if (name_len && name[0] != ':') {
        /* nghttp2 has checked that neither has a NUL */
        if (ocv_buffer_append(&call->metadata, name, name_len, NULL) < 0 ||
            ocv_buffer_append(&call->metadata, "", 1, NULL) < 0 ||
            ocv_buffer_append(&call->metadata, value, value_len, NULL) < 0 ||
            ocv_buffer_append(&call->metadata, "", 1, NULL) < 0) {
            call->bad = true;
            call->bad_code = GRPC_RESOURCE_EXHAUSTED;
            call->metadata.len = 0;
        }
        if (name_len == 12 && memcmp(name, "grpc-timeout", 12) == 0) {
            char text[16];
            snprintf(text, sizeof(text), "%.*s", (int)(value_len < 15 ? value_len : 15), value);
            int64_t ms = grpc_timeout_ms(text);
            if (ms >= 0)
                call->deadline = now_ms() + ms;
        }
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t len, void *data)
{
    struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
    (void)flags, (void)data;
    if (call && !call->bad && ocv_buffer_append(&call->body, bytes, len, NULL) < 0) {
        call->bad = true;
        call->bad_code = GRPC_RESOURCE_EXHAUSTED;
        ocv_buffer_free(&call->body);
    }
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
        judge_request(call);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *data)
{
    struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
    struct connection *c = data;
    (void)error;
    c->since = now_ms();
    if (call)
        call_forget(call);
    return 0;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                       void *data)
{
    struct connection *c = data;
    (void)session, (void)flags;
    ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? NGHTTP2_ERR_WOULDBLOCK
                                             : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

/* The body of an answer; its end brings the trailers. */
static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct grpc_call *call = source->ptr;
    char code[4], message[1024];
    (void)data;
    pthread_mutex_lock(&call->server->lock);
    size_t n = call->out_len - call->out_sent;
    if (n > size)
        n = size;
    if (n)
        memcpy(out, call->out + call->out_sent, n);
    call->out_sent += n;
    bool end = call->finished && call->out_sent == call->out_len;
    snprintf(code, sizeof(code), "%d", (int)call->code);
    memcpy(message, call->message, sizeof(message));
    pthread_cond_broadcast(&call->room);
    pthread_mutex_unlock(&call->server->lock);
    if (!end)
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_nv trailers[] = {header("grpc-status", code), header("grpc-message", message)};
    if (nghttp2_submit_trailer(session, stream, trailers, message[0] ? 2 : 1) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return (ssize_t)n;
}

/* ---- connections -------------------------------------------------------------------------------
 */

static void connection_close(struct connection *c)
{
    struct grpc_server *s = c->server;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    s->n_connections--;
    nghttp2_session_del(c->session); /* without on_close: its calls are ours to end */
    while (c->calls)
        call_forget(c->calls);
    close(c->fd);
    free(c);
}

static void flush(struct connection *c)
{
    if (c->failed)
        return;
    if (nghttp2_session_send(c->session) != 0)
        c->failed = true;
    bool wants = nghttp2_session_want_write(c->session);
    struct epoll_event event = {.events = EPOLLIN | (wants ? EPOLLOUT : 0u), .data.ptr = c};
    epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, c->fd, &event);
    if (!wants && !nghttp2_session_want_read(c->session))
        c->failed = true;
}

/* A worker has something for the call's stream. */
static void advance(struct grpc_call *call)
{
    struct connection *c = call->connection;
    char code[4], message[1024];
    nghttp2_data_provider body = {.source.ptr = call, .read_callback = read_body};
    pthread_mutex_lock(&call->server->lock);
    bool first = !call->headers_sent;
    bool only_status = first && call->finished && call->out_len == 0;
    call->headers_sent = true;
    snprintf(code, sizeof(code), "%d", (int)call->code);
    memcpy(message, call->message, sizeof(message));
    pthread_mutex_unlock(&call->server->lock);
    if (!c)
        return;
    nghttp2_nv head[] = {header(":status", "200"), header("content-type", "application/grpc"),
                         header("grpc-status", code), header("grpc-message", message)};
    int result = 0;
    if (only_status)
        result = nghttp2_submit_response(c->session, call->stream, head, message[0] ? 4 : 3, NULL);
    else if (first)
        result = nghttp2_submit_response(c->session, call->stream, head, 2, &body);
    else
        nghttp2_session_resume_data(c->session, call->stream);
    if (result != 0)
        c->failed = true;
    flush(c);
}

static void advance_woken(struct grpc_server *s)
{
    for (;;) {
        pthread_mutex_lock(&s->lock);
        struct grpc_call *call = s->woken;
        if (call) {
            s->woken = call->woken_next;
            call->woken = false; /* from here on it may be woken again */
        }
        pthread_mutex_unlock(&s->lock);
        if (!call)
            return;
        advance(call);
        call_release(call);
    }
}

static void receive(struct connection *c)
{
    uint8_t bytes[16384];
    for (int turn = 0; turn < 16 && !c->failed; turn++) { /* then the others' turn */
        ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0 || nghttp2_session_mem_recv(c->session, bytes, (size_t)n) < 0)
            c->failed = true;
    }
    flush(c);
}

static void accept_one(struct grpc_server *s)
{
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct connection *c = s->n_connections < GRPC_CONNECTIONS_MAX ? calloc(1, sizeof(*c)) : NULL;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADERS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1024 * 1024}};
    if (!c || nghttp2_session_server_new(&c->session, s->callbacks, c) != 0) {
        if (!c)
            say(s, "too many connections");
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->fd = fd;
    c->since = now_ms();
    c->next = s->connections;
    c->link = &s->connections;
    if (c->next)
        c->next->link = &c->next;
    s->connections = c;
    s->n_connections++;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ||
        nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 3) != 0)
        c->failed = true;
    flush(c);
}

/* Close what failed, what never spoke, and past deadlines' streams. */
static void sweep(struct grpc_server *s)
{
    int64_t now = now_ms();
    for (struct connection *c = s->connections, *next; c; c = next) {
        next = c->next;
        if (!c->failed && !c->spoke && now - c->since > GRPC_IDLE_MS)
            c->failed = true;
        for (struct grpc_call *call = c->calls; call && !c->failed; call = call->sibling)
            if (call->deadline && call->deadline < now && !call->finished)
                grpc_call_finish(call, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
        if (c->failed)
            connection_close(c);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

static bool drained(struct grpc_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool done = s->n_queue == 0 && s->n_running == 0 && !s->woken;
    pthread_mutex_unlock(&s->lock);
    for (const struct connection *c = s->connections; c && done; c = c->next)
        done = !c->calls;
    return done;
}

static void begin_stop(struct grpc_server *s)
{
    s->stopping = true;
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listen_fd, NULL);
    for (struct connection *c = s->connections; c; c = c->next) {
        nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
                              NULL, 0);
        flush(c);
    }
}

int grpc_server_run(struct grpc_server *s, struct ocv_error *err)
{
    struct epoll_event events[EVENTS];
    uint64_t ignored;
    while (!s->stopping || !drained(s)) {
        int n = epoll_wait(s->epoll, events, EVENTS, 1000);
        if (n < 0 && errno != EINTR)
            return ocv_error_set(err, OCV_ERR_IO, "epoll: %s", strerror(errno));
        for (int i = 0; i < n; i++) {
            void *who = events[i].data.ptr;
            if (who == &s->listen_fd)
                accept_one(s);
            else if (who == &s->wake)
                while (read(s->wake, &ignored, sizeof(ignored)) > 0)
                    ;
            else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(who);
            else
                flush(who);
        }
        advance_woken(s);
        if (__atomic_load_n(&s->stop_asked, __ATOMIC_ACQUIRE) && !s->stopping)
            begin_stop(s);
        sweep(s);
    }
    return OCV_OK;
}

void grpc_server_stop(struct grpc_server *s)
{
    __atomic_store_n(&s->stop_asked, 1, __ATOMIC_RELEASE);
    wake(s);
}

static nghttp2_session_callbacks *make_callbacks(void)
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

static int start_workers(struct grpc_server *s, struct ocv_error *err)
{
    unsigned n = s->options.workers ? s->options.workers : 4;
    pthread_attr_t attributes;
    s->threads = calloc(n, sizeof(*s->threads));
    if (!s->threads)
        return ocv_error_nomem(err);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    while (s->n_threads < n &&
           pthread_create(&s->threads[s->n_threads], &attributes, worker, s) == 0)
        s->n_threads++;
    pthread_attr_destroy(&attributes);
    return s->n_threads ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
}

int grpc_server_new(const struct grpc_server_options *options, int listen_fd,
                    struct grpc_server **out, struct ocv_error *err)
{
    struct grpc_server *s = calloc(1, sizeof(*s));
    if (!s) {
        close(listen_fd);
        return ocv_error_nomem(err);
    }
    s->options = *options;
    s->listen_fd = listen_fd;
    s->queue_end = &s->queue;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->callbacks = make_callbacks();
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = &s->listen_fd};
    struct epoll_event woken = {.events = EPOLLIN, .data.ptr = &s->wake};
    int status = OCV_OK;
    if (s->epoll < 0 || s->wake < 0 || !s->callbacks ||
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, listen_fd, &listening) < 0 ||
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake, &woken) < 0)
        status = ocv_error_set(err, OCV_ERR_IO, "cannot serve: %s", strerror(errno));
    if (status == OCV_OK)
        status = start_workers(s, err);
    if (status < 0) {
        grpc_server_free(s);
        return status;
    }
    *out = s;
    return OCV_OK;
}

void grpc_server_free(struct grpc_server *s)
{
    if (!s)
        return;
    while (s->connections)
        connection_close(s->connections);
    pthread_mutex_lock(&s->lock);
    s->workers_stop = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    advance_woken(s); /* lets go of what the last workers left */
    free(s->threads);
    if (s->callbacks)
        nghttp2_session_callbacks_del(s->callbacks);
    if (s->epoll >= 0)
        close(s->epoll);
    if (s->wake >= 0)
        close(s->wake);
    close(s->listen_fd);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
