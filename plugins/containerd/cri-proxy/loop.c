/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets, turns and time. A turn takes what came from each socket that has something, hands on
 * what the sessions want to say to both sides, then buries what died. */
#include "plugins/containerd/cri-proxy/proxy.h"

#include "plugins/containerd/cri-proxy/proxy_log.h"
#include "plugins/containerd/cri-proxy/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 64
#define READS 16 /* of one connection, then the others' turn */
#define TICK_MS 1000

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int loop_watch(struct proxy *proxy, struct source *source, bool add, bool writing)
{
    struct epoll_event event = {.events = EPOLLIN | (writing ? EPOLLOUT : 0u), .data.ptr = source};
    if (!add && source->writing == writing)
        return 0;
    source->writing = writing;
    return epoll_ctl(proxy->epoll, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, source->fd, &event);
}

ssize_t loop_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags, void *data)
{
    const struct source *source = data;
    (void)session, (void)flags;
    ssize_t n = send(source->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? NGHTTP2_ERR_WOULDBLOCK
                                             : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* ---- one client and its connections to the engine ----------------------------------------------
 */

/* False: the connection has come to its end. */
static bool flush(struct proxy *proxy, struct source *source, nghttp2_session *session)
{
    if (nghttp2_session_send(session) != 0)
        return false;
    bool wants = nghttp2_session_want_write(session);
    loop_watch(proxy, source, false, wants);
    return wants || nghttp2_session_want_read(session);
}

/* What one side is told may give the other something to say. */
static void pump(struct client *c)
{
    if (c->source.dead)
        return;
    do {
        c->dirty = false;
        for (struct engine *e = c->engines; e; e = e->next)
            if (!e->source.dead && !flush(c->proxy, &e->source, e->session))
                up_lost(e);
        if (!flush(c->proxy, &c->source, c->session))
            c->source.dead = true;
    } while (c->dirty && !c->source.dead);
}

static bool receive(struct source *source, nghttp2_session *session)
{
    uint8_t bytes[16384];
    for (int turn = 0; turn < READS; turn++) {
        ssize_t n = recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0 || nghttp2_session_mem_recv(session, bytes, (size_t)n) < 0)
            return false;
        if ((size_t)n < sizeof(bytes))
            break;
    }
    return true;
}

static void client_free(struct client *c)
{
    while (c->streams)
        stream_free(c->streams);
    while (c->engines) {
        struct engine *e = c->engines;
        c->engines = e->next;
        up_free(e);
    }
    nghttp2_session_del(c->session);
    close(c->source.fd);
    free(c);
}

static void bury_engines(struct client *c)
{
    for (struct engine **at = &c->engines; *at;) {
        struct engine *e = *at;
        if (!e->source.dead) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        up_free(e);
    }
}

static void bury(struct proxy *p)
{
    for (struct client **at = &p->clients; *at;) {
        struct client *c = *at;
        bury_engines(c);
        if (!c->source.dead) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        p->n_clients--;
        client_free(c);
    }
}

/* Let clients in, or leave them in the backlog: the socket would wake us for ever. */
static void let_in(const struct proxy *p, bool yes)
{
    struct epoll_event event = {.events = yes ? EPOLLIN : 0u,
                                .data.ptr = (void *)(uintptr_t)&p->listen};
    epoll_ctl(p->epoll, EPOLL_CTL_MOD, p->listen.fd, &event);
}

static void accept_one(struct proxy *p)
{
    int fd = accept4(p->listen.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        log_line("a connection must wait: %s", strerror(errno));
        p->full_until = now_ms() + TICK_MS;
        let_in(p, false);
    }
    if (fd < 0)
        return;
    struct client *c = p->n_clients < CLIENTS_MAX ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        log_line("too many connections");
        close(fd);
        return;
    }
    c->source.kind = SOURCE_CLIENT;
    c->source.fd = fd;
    c->proxy = p;
    c->since = now_ms();
    c->next = p->clients;
    p->clients = c;
    p->n_clients++;
    if (down_new(c) < 0 || loop_watch(p, &c->source, true, false) < 0)
        c->source.dead = true;
    else
        pump(c);
}

/* ---- turns -------------------------------------------------------------------------------------
 */

static void take_decisions(struct proxy *p)
{
    uint64_t ignored;
    while (read(p->wake.fd, &ignored, sizeof(ignored)) > 0)
        ;
    for (struct job *job; (job = workers_take(p->workers));) {
        struct stream *stream = job->stream;
        if (stream) {
            if (job->known)
                stream->asked = strdup(job->text);
            if (job->refused[0])
                stream_refused(stream, job->refused);
            else
                stream_decided(stream, job->decided ? job->image : NULL);
            pump(stream->client);
        }
        job_free(job);
    }
}

static void handle(struct proxy *p, struct source *source, uint32_t events)
{
    bool readable = events & (EPOLLIN | EPOLLHUP | EPOLLERR);
    if (source->kind == SOURCE_LISTEN)
        return accept_one(p);
    if (source->kind == SOURCE_WAKE)
        return take_decisions(p);
    if (source->dead)
        return;
    struct client *client =
        source->kind == SOURCE_CLIENT ? (struct client *)source : ((struct engine *)source)->client;
    if (source->kind == SOURCE_CLIENT) {
        if (readable && !receive(source, client->session))
            source->dead = true;
    } else if (readable && !receive(source, ((struct engine *)source)->session)) {
        up_lost((struct engine *)source);
    }
    pump(client);
}

/* No new calls; those that run go on. */
static void drain(struct proxy *p)
{
    p->draining = true;
    p->drain_until = now_ms() + p->options->drain_ms;
    epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->listen.fd, NULL);
    for (struct client *c = p->clients; c; c = c->next) {
        if (c->source.dead)
            continue;
        nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
                              NULL, 0);
        pump(c);
    }
}

static bool drained(const struct proxy *p)
{
    if (!p->draining)
        return false;
    if (now_ms() >= p->drain_until)
        return true;
    for (const struct client *c = p->clients; c; c = c->next)
        if (c->streams)
            return false;
    return true;
}

static void sweep(struct proxy *p)
{
    int64_t now = now_ms();
    for (struct client *c = p->clients; c; c = c->next)
        if (!c->spoke && now - c->since > IDLE_MS)
            c->source.dead = true;
    if (p->full_until && now >= p->full_until && !p->draining) {
        p->full_until = 0;
        let_in(p, true);
    }
    if (__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE) && !p->draining)
        drain(p);
    bury(p);
}

int proxy_run(struct proxy *p, struct ocv_error *err)
{
    struct epoll_event events[EVENTS];
    while (!drained(p)) {
        int n = epoll_wait(p->epoll, events, EVENTS, TICK_MS);
        if (n < 0 && errno != EINTR)
            return ocv_error_set(err, OCV_ERR_IO, "epoll: %s", strerror(errno));
        for (int i = 0; i < n; i++)
            handle(p, events[i].data.ptr, events[i].events);
        sweep(p);
    }
    return OCV_OK;
}

void proxy_stop(struct proxy *p)
{
    uint64_t one = 1;
    __atomic_store_n(&p->stop, 1, __ATOMIC_RELEASE);
    ssize_t n = write(p->wake.fd, &one, sizeof(one));
    (void)n;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static int set_up(struct proxy *p, struct ocv_error *err)
{
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->down = down_callbacks();
    p->up = up_callbacks();
    if (!p->down || !p->up || nghttp2_option_new(&p->option) != 0)
        return ocv_error_nomem(err);
    /* windows open as the other side takes; what is odd about a message is its receiver's to say */
    nghttp2_option_set_no_auto_window_update(p->option, 1);
    nghttp2_option_set_no_http_messaging(p->option, 1);
    nghttp2_option_set_max_send_header_block_length(p->option, 2 * HEADERS_MAX);
    fcntl(p->listen.fd, F_SETFL, fcntl(p->listen.fd, F_GETFL) | O_NONBLOCK);
    if (p->epoll < 0 || p->wake.fd < 0 || loop_watch(p, &p->listen, true, false) < 0 ||
        loop_watch(p, &p->wake, true, false) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "cannot serve: %s", strerror(errno));
    return workers_new(p->options->decide, p->wake.fd, &p->workers, err);
}

int proxy_new(const struct proxy_options *options, struct proxy **out, struct ocv_error *err)
{
    struct proxy *p = calloc(1, sizeof(*p));
    if (!p) {
        close(options->listen_fd);
        return ocv_error_nomem(err);
    }
    p->options = options;
    p->map = options->map;
    p->listen = (struct source){.kind = SOURCE_LISTEN, .fd = options->listen_fd};
    p->wake = (struct source){.kind = SOURCE_WAKE, .fd = -1};
    p->epoll = -1;
    int status = set_up(p, err);
    if (status < 0) {
        proxy_free(p);
        return status;
    }
    *out = p;
    return OCV_OK;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    for (struct client *c = p->clients; c; c = c->next)
        c->source.dead = true;
    bury(p);
    workers_free(p->workers);
    nghttp2_session_callbacks_del(p->down);
    nghttp2_session_callbacks_del(p->up);
    nghttp2_option_del(p->option);
    if (p->epoll >= 0)
        close(p->epoll);
    if (p->wake.fd >= 0)
        close(p->wake.fd);
    close(p->listen.fd);
    free(p);
}
