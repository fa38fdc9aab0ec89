/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/httpd.h"

#include "cmd/variantd/common/log.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define QUIESCE_MS 2000
#define IN_VAIN_MAX 8
#define REST_US 20000

enum order { ORDER_SERVE, ORDER_QUIESCE, ORDER_STOP };

struct httpd_loop {
    struct MHD_Daemon *daemon;
    int epoll, socket, wake; /* the daemon's epoll and socket; our eventfd */
    pthread_t thread;
    bool running, quiesced;
    atomic_int order;
    sem_t quiet; /* posted when the socket is closed */
    unsigned in_vain;
    pthread_mutex_t lock;
    struct httpd_suspended *resumed; /* by other threads; this thread has not handled them yet */
    struct tls_hello hello;          /* used by the thread only */
    MHD_NotifyConnectionCallback notify;
    void *notify_cls;
};

struct httpd {
    unsigned n;
    bool quiet;
    struct httpd_loop loops[];
};

static _Thread_local struct httpd_loop *own_loop;

void httpd_suspend(struct MHD_Connection *connection, struct httpd_suspended *suspended)
{
    *suspended = (struct httpd_suspended){.connection = connection, .loop = own_loop};
    MHD_suspend_connection(connection);
}

void httpd_resume(struct httpd_suspended *suspended)
{
    struct httpd_loop *loop = suspended->loop;
    pthread_mutex_lock(&loop->lock);
    bool first = !loop->resumed;
    suspended->next = loop->resumed;
    loop->resumed = suspended;
    if (first) /* under the lock: the loop may be freed after it */
        (void)eventfd_write(loop->wake, 1);
    pthread_mutex_unlock(&loop->lock);
}

static void resume_all(struct httpd_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct httpd_suspended *next = loop->resumed;
    loop->resumed = NULL;
    pthread_mutex_unlock(&loop->lock);
    while (next) {
        struct httpd_suspended *suspended = next;
        next = suspended->next;
        MHD_resume_connection(suspended->connection);
    }
}

static unsigned count_connections(struct MHD_Daemon *daemon)
{
    return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

static void *run_loop(void *data)
{
    struct httpd_loop *loop = data;
    sigset_t pipe; /* tells libmicrohttpd that SIGPIPE is blocked, so that it may use sendfile */
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    pthread_setname_np(pthread_self(), "http");
    own_loop = loop;
    struct pollfd wait[] = {{.fd = loop->epoll, .events = POLLIN},
                            {.fd = loop->wake, .events = POLLIN}};
    for (;;) {
        eventfd_t orders;
        MHD_UNSIGNED_LONG_LONG ms; /* until something must be done without an event */
        int timeout = MHD_get_timeout(loop->daemon, &ms) != MHD_YES ? -1
                      : ms > INT32_MAX                              ? INT32_MAX
                                                                    : (int)ms;
        (void)poll(wait, 2, timeout); /* all is checked below anyway */
        if (wait[1].revents)
            (void)eventfd_read(loop->wake, &orders);
        int order = atomic_load(&loop->order);
        if (order == ORDER_STOP)
            return NULL;
        if (order == ORDER_QUIESCE && !loop->quiesced) {
            int fd = MHD_quiesce_daemon(loop->daemon);
            if (fd >= 0)
                close(fd);
            loop->quiesced = true;
            sem_post(&loop->quiet);
        }
        resume_all(loop);
        /* All work that is ready. After the connection limit was reached, MHD listens again only
         * at the start of a run, so another run must follow one that closed connections. */
        unsigned before;
        do {
            before = count_connections(loop->daemon);
            tls_hello_scan(&loop->hello);
            MHD_run(loop->daemon);
        } while (count_connections(loop->daemon) < before);
        /* On EMFILE the listening socket stays readable; back off so the loop does not spin. */
        struct pollfd backlog = {.fd = loop->quiesced ? -1 : loop->socket, .events = POLLIN};
        if (count_connections(loop->daemon) > 0 || poll(&backlog, 1, 0) != 1)
            loop->in_vain = 0;
        else if (++loop->in_vain > IN_VAIN_MAX)
            usleep(REST_US);
    }
}

static void give_order(struct httpd_loop *loop, enum order order)
{
    atomic_store(&loop->order, (int)order);
    (void)eventfd_write(loop->wake, 1);
}

static void OCV_PRINTF(2, 0) ignore_log(void *cls, const char *format, va_list args)
{
    char text[512];
    (void)cls;
    vsnprintf(text, sizeof(text), format, args);
    text[strcspn(text, "\r\n")] = '\0';
    log_line(LOG_LEVEL_DEBUG, "libmicrohttpd: %s", text);
}

/* A NUL would cut a string short, so it stays escaped: no path, name or argument contains a percent
 * sign. */
static size_t keep_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
    static const char escape[] = {'%', '0', '0'};
    char *in = text, *out = text, *nul;
    (void)cls, (void)connection;
    while ((nul = strstr(in, "%00"))) {
        *nul = '\0';
        size_t n = MHD_http_unescape(in);
        memmove(out, in, n);
        memcpy(out + n, escape, sizeof(escape));
        out += n + sizeof(escape);
        in = nul + sizeof(escape);
    }
    size_t n = MHD_http_unescape(in);
    memmove(out, in, n + 1);
    return (size_t)(out - text) + n;
}

static void track_connection(void *cls, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode code)
{
    struct httpd_loop *loop = cls;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info && code == MHD_CONNECTION_NOTIFY_STARTED)
        tls_hello_add(&loop->hello, info->connect_fd);
    else if (info)
        tls_hello_drop(&loop->hello, info->connect_fd);
    if (loop->notify)
        loop->notify(loop->notify_cls, connection, context, code);
}

static bool start_loop(struct httpd_loop *loop, int fd, const struct httpd_calls *calls,
                       const struct httpd_limits *limits, unsigned share)
{
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->notify = calls->notify;
    loop->notify_cls = calls->notify_cls;
    /* On failure libmicrohttpd 1.0 has closed the socket, and 0.9 has not. It is left open: a
     * program that cannot serve ends. */
    int own = loop->wake < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return false;
    loop->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, calls->handle,
        calls->cls, MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL, MHD_OPTION_LISTEN_SOCKET, own,
        MHD_OPTION_NOTIFY_COMPLETED, calls->completed, calls->cls, MHD_OPTION_NOTIFY_CONNECTION,
        track_connection, loop, MHD_OPTION_CONNECTION_LIMIT, share,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits->head, MHD_OPTION_CONNECTION_TIMEOUT,
        limits->timeout_s, MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (!loop->daemon)
        return false;
    loop->epoll = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    loop->socket = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd;
    int code = pthread_create(&loop->thread, NULL, run_loop, loop);
    loop->running = code == 0;
    errno = code;
    return loop->running;
}

int httpd_new(int fd, const struct httpd_calls *calls, const struct httpd_limits *limits,
              struct httpd **out, struct ocv_error *err)
{
    struct httpd *httpd = calloc(1, sizeof(*httpd) + limits->threads * sizeof(*httpd->loops));
    bool started = httpd != NULL;
    for (unsigned i = 0; httpd && i < limits->threads; i++, httpd->n++) {
        httpd->loops[i].wake = -1;
        sem_init(&httpd->loops[i].quiet, 0, 0);
        pthread_mutex_init(&httpd->loops[i].lock, NULL);
    }
    for (unsigned i = 0; started && i < httpd->n; i++)
        started = start_loop(&httpd->loops[i], fd, calls, limits,
                             limits->connections / limits->threads +
                                 (i < limits->connections % limits->threads));
    int saved = errno;
    close(fd);
    if (started) {
        *out = httpd;
        return OCV_OK;
    }
    bool nomem = !httpd;
    httpd_free(httpd);
    return nomem ? ocv_error_nomem(err)
                 : ocv_error_set(err, OCV_ERR_IO, "cannot serve: %s", strerror(saved));
}

void httpd_quiesce(struct httpd *httpd)
{
    for (unsigned i = 0; i < httpd->n && !httpd->quiet; i++)
        give_order(&httpd->loops[i], ORDER_QUIESCE);
    const struct timespec until = ocv_clock_after(QUIESCE_MS);
    for (unsigned i = 0; i < httpd->n && !httpd->quiet; i++)
        while (sem_clockwait(&httpd->loops[i].quiet, CLOCK_MONOTONIC, &until) < 0 && errno == EINTR)
            ;
    httpd->quiet = true;
}

void httpd_free(struct httpd *httpd)
{
    if (!httpd)
        return;
    for (unsigned i = 0; i < httpd->n; i++)
        if (httpd->loops[i].running)
            give_order(&httpd->loops[i], ORDER_STOP);
    for (unsigned i = 0; i < httpd->n; i++) {
        struct httpd_loop *loop = &httpd->loops[i];
        if (loop->running)
            pthread_join(loop->thread, NULL);
        resume_all(loop);
        if (loop->daemon)
            MHD_stop_daemon(loop->daemon);
        if (loop->wake >= 0)
            close(loop->wake);
        pthread_mutex_destroy(&loop->lock);
        sem_destroy(&loop->quiet);
    }
    free(httpd);
}
