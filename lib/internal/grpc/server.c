/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loop: connections from accept to close, and the events that wake it. A thread holds `frames`
 * while it handles them. Events are edge-triggered, so that each wakes one thread. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/internal/grpc/grpc_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS 64
#define TICK_MS 1000
#define TURNS 16 /* reads of one connection, or new connections, then the others' turn */

enum { ID_LISTEN, ID_WAKE, ID_CLOCK, ID_CONNECTION };

static void log_line(const struct grpc_server *s, const char *line)
{
    if (s->options.log)
        s->options.log(s->options.data, line);
}

/* `op` EPOLL_CTL_MOD has what is ready reported again. */
static int watch(const struct grpc_server *s, int op, int fd, uint32_t events, uint64_t id)
{
    struct epoll_event event = {.events = events | EPOLLET, .data.u64 = id};
    return epoll_ctl(s->epoll, op, fd, &event);
}

static int watch_connection(const struct connection *c, int op)
{
    return watch(c->server, op, c->fd, EPOLLIN | EPOLLRDHUP | (c->writing ? EPOLLOUT : 0u), c->id);
}

static void connection_close(struct connection *c)
{
    struct grpc_server *s = c->server;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    s->n_connections--;
    nghttp2_session_del(c->session); /* without on_close: its calls are ours to end */
    while (c->calls)
        grpc_call_forget(c->calls);
    close(c->fd);
    free(c);
}

void grpc_connection_flush(struct connection *c)
{
    if (c->failed)
        return;
    if (grpc_outbox_send(&c->out, c->fd, c->session) < 0)
        c->failed = true;
    bool wants = grpc_outbox_waits(&c->out, c->session);
    if (wants != c->writing) {
        c->writing = wants;
        (void)watch_connection(c, EPOLL_CTL_MOD);
    }
    if (!wants && !nghttp2_session_want_read(c->session))
        c->failed = true;
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
        struct connection *c = call->connection;
        if (!grpc_stream_advance(call))
            c->failed = true;
        if (c)
            grpc_connection_flush(c);
        grpc_call_release(call);
    }
}

/* After EMFILE a connection waits in the backlog: look at it again when there may be descriptors.
 */
static void let_in(struct grpc_server *s, bool yes)
{
    (void)watch(s, EPOLL_CTL_MOD, s->listen_fd, yes ? EPOLLIN : 0u, ID_LISTEN);
    s->full_until = yes ? 0 : ocv_clock_ms() + TICK_MS;
}

static void add_connection(struct grpc_server *s, int fd)
{
    struct connection *c = s->n_connections < GRPC_CONNECTIONS_MAX ? calloc(1, sizeof(*c)) : NULL;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADERS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1024 * 1024}};
    if (!c || nghttp2_session_server_new2(&c->session, s->callbacks, c, s->option) != 0) {
        if (!c)
            log_line(s, "too many connections");
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->id = s->last_id++;
    c->fd = fd;
    c->since = ocv_clock_ms();
    c->next = s->connections;
    c->link = &s->connections;
    if (c->next)
        c->next->link = &c->next;
    s->connections = c;
    s->n_connections++;
    if (watch_connection(c, EPOLL_CTL_ADD) < 0 ||
        nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 3) != 0)
        c->failed = true;
    grpc_connection_flush(c);
}

static void accept_some(struct grpc_server *s)
{
    int fd, turn = 0;
    do {
        fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            add_connection(s, fd);
    } while (++turn < TURNS && (fd >= 0 || errno == EINTR || errno == ECONNABORTED));
    if (turn == TURNS)
        (void)watch(s, EPOLL_CTL_MOD, s->listen_fd, EPOLLIN, ID_LISTEN);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        log_line(s, "no file descriptor is left: a connection must wait");
        let_in(s, false);
    }
}

/* Close connections that failed or never sent anything, and at the end those that do not read. */
static void sweep_connections(struct grpc_server *s)
{
    int64_t now = ocv_clock_ms();
    if (s->full_until && now >= s->full_until && !s->stopping)
        let_in(s, true);
    for (struct connection *c = s->connections, *next; c; c = next) {
        next = c->next;
        if (!c->failed && !c->spoke && now - c->since > GRPC_IDLE_MS)
            c->failed = true;
        if (!c->failed) {
            /* Past their deadline, calls end; where even that answer is not read, the stream is
             * cut. */
            bool cut = false;
            for (struct grpc_call *call = c->calls; call; call = call->sibling) {
                if (!call->deadline || call->deadline >= now)
                    continue;
                grpc_call_refuse(call, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
                if (!call->cut && now - call->deadline > GRPC_CUT_MS) {
                    call->cut = cut = true;
                    if (nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, call->stream,
                                                  NGHTTP2_CANCEL) != 0)
                        c->failed = true;
                }
            }
            if (cut) /* ends the calls: not while they are walked over */
                grpc_connection_flush(c);
        }
        if (c->failed || (s->stopping && now - s->stopping_since > s->drain_ms))
            connection_close(c);
    }
}

static void handle_connection(const struct grpc_server *s, const struct epoll_event *event)
{
    struct connection *c = s->connections;
    while (c && c->id != event->data.u64)
        c = c->next;
    uint32_t closed = event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    if (c && (closed || (event->events & EPOLLIN))) {
        /* Read what there is; epoll reports what comes next. A read that does not fill the buffer
         * is the last one, as long as peers pass no descriptors and no urgent data. But the end has
         * no event of its own if the same one reported it (`closed`): then read on until it is
         * reached. */
        uint8_t bytes[16384];
        int turn = 0;
        for (; turn < TURNS && !c->failed; turn++) {
            ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0 && errno == EAGAIN)
                break;
            if (n <= 0 || nghttp2_session_mem_recv(c->session, bytes, (size_t)n) < 0)
                c->failed = true;
            else if ((size_t)n < sizeof(bytes) && !closed)
                break;
        }
        if (turn == TURNS)
            (void)watch_connection(c, EPOLL_CTL_MOD);
        grpc_connection_flush(c);
    } else if (c)
        grpc_connection_flush(c);
}

/* Without `frames`: it may wait for locks of handlers. */
static void tick(struct grpc_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool mine = s->options.tick && !s->ticking;
    size_t leaves = mine && s->n_in_loop > 1; /* the loop, if that has another thread */
    bool calls = s->queue;
    s->ticking = s->ticking || mine;
    s->n_in_loop -= leaves;
    pthread_mutex_unlock(&s->lock);
    if (!mine)
        return;
    if (calls && leaves)
        grpc_wake(s);
    s->options.tick(s->options.data);
    pthread_mutex_lock(&s->lock);
    s->ticking = false;
    s->n_in_loop += leaves;
    pthread_mutex_unlock(&s->lock);
}

bool grpc_server_turn(struct grpc_server *s)
{
    struct epoll_event events[EVENTS];
    uint64_t ignored;
    int n = epoll_wait(s->epoll, events, EVENTS, -1);
    int fault = n < 0 && errno != EINTR ? errno : 0;
    pthread_mutex_lock(&s->frames);
    /* The eventfd is not read: each write to it is an event. */
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == ID_LISTEN && !s->stopping)
            accept_some(s);
        else if (events[i].data.u64 >= ID_CONNECTION)
            handle_connection(s, &events[i]);
    }
    advance_woken(s);
    if (__atomic_load_n(&s->stop_asked, __ATOMIC_ACQUIRE) && !s->stopping) {
        s->stopping = true;
        s->stopping_since = ocv_clock_ms();
        epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listen_fd, NULL);
        for (struct connection *c = s->connections; c; c = c->next) {
            nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                                  nghttp2_session_get_last_proc_stream_id(c->session),
                                  NGHTTP2_NO_ERROR, NULL, 0);
            grpc_connection_flush(c);
        }
    }
    sweep_connections(s);
    bool drained = s->stopping;
    if (drained) {
        pthread_mutex_lock(&s->lock);
        drained = s->n_queue == 0 && s->n_running == 0 && !s->woken;
        pthread_mutex_unlock(&s->lock);
    }
    for (const struct connection *c = s->connections; c && drained; c = c->next)
        drained = !c->calls && c->out.len == 0;
    if (fault)
        s->fault = fault;
    pthread_mutex_unlock(&s->frames);
    for (int i = 0; i < n; i++)
        if (events[i].data.u64 == ID_CLOCK && read(s->clock, &ignored, sizeof(ignored)) > 0)
            tick(s);
    return fault || drained;
}

int grpc_server_run(struct grpc_server *s, struct ocv_error *err)
{
    OCV_TRY(grpc_workers_run(s, err));
    return s->fault ? ocv_error_set(err, OCV_ERR_IO, "epoll: %s", strerror(s->fault)) : OCV_OK;
}

void grpc_server_stop(struct grpc_server *s)
{
    __atomic_store_n(&s->stop_asked, 1, __ATOMIC_RELEASE);
    grpc_wake(s);
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
    s->epoll = s->wake = s->clock = -1;
    s->last_id = ID_CONNECTION;
    s->queue_end = &s->queue;
    s->drain_ms = options->drain_ms ? options->drain_ms : GRPC_DRAIN_MS;
    pthread_mutex_init(&s->frames, NULL);
    pthread_mutex_init(&s->lock, NULL);
    fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
    const struct itimerspec ticks = {.it_interval.tv_sec = TICK_MS / 1000,
                                     .it_value.tv_sec = TICK_MS / 1000};
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    bool opened = s->epoll >= 0 && s->wake >= 0 && s->clock >= 0 &&
                  timerfd_settime(s->clock, 0, &ticks, NULL) == 0 &&
                  watch(s, EPOLL_CTL_ADD, s->listen_fd, EPOLLIN, ID_LISTEN) == 0 &&
                  watch(s, EPOLL_CTL_ADD, s->wake, EPOLLIN, ID_WAKE) == 0 &&
                  watch(s, EPOLL_CTL_ADD, s->clock, EPOLLIN, ID_CLOCK) == 0;
    int why = errno;
    s->callbacks = grpc_stream_callbacks();
    if (nghttp2_option_new(&s->option) == 0)
        nghttp2_option_set_max_send_header_block_length(s->option, GRPC_HEADER_BLOCK_MAX);
    if (opened && s->callbacks && s->option) {
        *out = s;
        return OCV_OK;
    }
    int status = opened ? ocv_error_nomem(err)
                        : ocv_error_set(err, OCV_ERR_IO, "cannot serve: %s", strerror(why));
    grpc_server_free(s);
    return status;
}

void grpc_server_free(struct grpc_server *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->frames);
    while (s->connections)
        connection_close(s->connections);
    pthread_mutex_unlock(&s->frames);
    grpc_workers_join(s);
    advance_woken(s); /* releases what the last workers left */
    free(s->threads);
    nghttp2_session_callbacks_del(s->callbacks);
    nghttp2_option_del(s->option);
    if (s->epoll >= 0)
        close(s->epoll);
    if (s->wake >= 0)
        close(s->wake);
    if (s->clock >= 0)
        close(s->clock);
    while (s->n_spare)
        close(s->spare[--s->n_spare]);
    close(s->listen_fd);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->frames);
    free(s);
}
