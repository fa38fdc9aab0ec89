/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suspended requests. Each is resumed exactly once: by its result, its deadline, or the stop. It is
 * resumed under the lock under which it was suspended, so never before it is suspended. */
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>

#define TICK_MAX_MS 1000
#define QUICK_US 1000000 /* younger requests are not checked for a hang-up */

void request_sleep(struct mirror_request *r, int64_t deadline_ms)
{
    struct mirror *m = r->mirror;
    r->waiting = true;
    r->deadline_ms = deadline_ms;
    r->next = m->suspended;
    r->link = &m->suspended;
    if (r->next)
        r->next->link = &r->next;
    if (deadline_ms < m->tick_ms)
        pthread_cond_signal(&m->tick);
    m->suspended = r;
    httpd_suspend(r->connection, &r->suspended);
}

void request_hurry(struct mirror_request *r, int64_t deadline_ms)
{
    if (deadline_ms >= r->deadline_ms)
        return;
    r->deadline_ms = deadline_ms;
    if (deadline_ms < r->mirror->tick_ms)
        pthread_cond_signal(&r->mirror->tick);
}

/* libmicrohttpd does not watch a suspended connection, so check for a hang-up here. A client that
 * has only shut down its sending side is rare, and is still served unless a look-up is late. */
bool request_wanted(const struct mirror_request *r)
{
    char byte;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return r->waiting && (ocv_clock_us() - r->started_us < QUICK_US || !info ||
                          recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0);
}

void request_wake(struct mirror_request *r)
{
    if (!r->waiting)
        return;
    r->waiting = false;
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    httpd_resume(&r->suspended);
}

/* Resume requests whose deadline has passed; returns the next deadline. */
static int64_t wake_late(struct mirror *m, int64_t now)
{
    int64_t next = now + TICK_MAX_MS;
    for (struct mirror_request *r = m->suspended, *following; r; r = following) {
        following = r->next;
        if (r->deadline_ms > now && !m->stopping) {
            next = r->deadline_ms < next ? r->deadline_ms : next;
            continue;
        }
        r->late = !flight_leave(r);
        request_wake(r);
    }
    return next;
}

static void *clock_main(void *data)
{
    struct mirror *m = data;
    pthread_setname_np(pthread_self(), "deadlines");
    pthread_mutex_lock(&m->lock);
    while (!m->stopping) {
        if (!m->suspended && !m->passes) {
            m->tick_ms = INT64_MAX;
            pthread_cond_wait(&m->tick, &m->lock);
            continue;
        }
        int64_t next = m->tick_ms = wake_late(m, ocv_clock_ms());
        passthrough_make_way(m);
        struct timespec until = {.tv_sec = next / 1000, .tv_nsec = next % 1000 * 1000000};
        if ((m->suspended || m->passes) && !m->stopping)
            pthread_cond_clockwait(&m->tick, &m->lock, CLOCK_MONOTONIC, &until);
    }
    wake_late(m, ocv_clock_ms());
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

int waiting_start(struct mirror *m, struct ocv_error *err)
{
    pthread_attr_t small;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->tick, NULL);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128u * 1024);
    m->clock_runs = !pthread_create(&m->clock, &small, clock_main, m);
    pthread_attr_destroy(&small);
    return m->clock_runs ? OCV_OK : ocv_error_set(err, OCV_ERR_NOMEM, "no thread for the clock");
}

void waiting_stop(struct mirror *m)
{
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    wake_late(m, ocv_clock_ms());
    for (struct passthrough *p = m->passes; p; p = p->next)
        if (p->arrived && p->stream)
            stream_cut(p->stream);
    pthread_cond_signal(&m->tick);
    pthread_mutex_unlock(&m->lock);
    if (m->clock_runs)
        pthread_join(m->clock, NULL);
    m->clock_runs = false;
}
