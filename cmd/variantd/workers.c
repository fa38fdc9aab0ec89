/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workers.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define STACK_BYTES (256u * 1024) /* TLS, JSON of 4 MiB and buffers of a few KiB fit */
#define IDLE_S 10                 /* a thread without work ends after it */

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t more; /* a job may be ready, or the end has come */
    pthread_cond_t gone; /* a thread has ended */
    struct job *first, **last;
    size_t queued, running, threads, idle;
    size_t at_work[WORK_COUNT], at_work_for[WORK_COUNT][WORKERS_UPSTREAMS_MAX];
    bool stopping;
    pthread_t ended; /* the thread that ended last, to be joined by the next one */
    bool any_ended;
    void (*quiet)(void *data);
    void *data;
};

static const size_t most[WORK_COUNT] = {WORKERS_DOCUMENT_MAX, WORKERS_BLOB_MAX};
static const size_t most_each[WORK_COUNT] = {WORKERS_DOCUMENT_EACH, WORKERS_BLOB_EACH};

int workers_new(void (*quiet)(void *data), void *data, struct workers **out, struct ocv_error *err)
{
    pthread_condattr_t attributes;
    struct workers *w = calloc(1, sizeof(*w));
    if (!w)
        return ocv_error_nomem(err);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->more, &attributes);
    pthread_cond_init(&w->gone, NULL);
    pthread_condattr_destroy(&attributes);
    w->last = &w->first;
    w->quiet = quiet;
    w->data = data;
    *out = w;
    return OCV_OK;
}

static bool may_run(const struct workers *w, enum work work, size_t upstream)
{
    return w->at_work[work] < most[work] && w->at_work_for[work][upstream] < most_each[work];
}

/* The oldest job that may run now, taken off the queue. */
static struct job *take(struct workers *w)
{
    for (struct job **at = &w->first; *at; at = &(*at)->next) {
        struct job *job = *at;
        if (!may_run(w, job->work, job->upstream))
            continue;
        *at = job->next;
        if (!*at)
            w->last = at;
        job->next = NULL;
        w->queued--;
        return job;
    }
    return NULL;
}

/* `job` is gone after it ran: what is counted is copied before. */
static void work_on(struct workers *w, struct job *job)
{
    enum work work = job->work;
    size_t upstream = job->upstream;
    w->running++;
    w->at_work[work]++;
    w->at_work_for[work][upstream]++;
    pthread_mutex_unlock(&w->lock);
    job->run(job);
    pthread_mutex_lock(&w->lock);
    w->running--;
    w->at_work[work]--;
    w->at_work_for[work][upstream]--;
}

static void *main_of_thread(void *data)
{
    struct workers *w = data;
    struct timespec until;
    pthread_setname_np(pthread_self(), "upstream");
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct job *job = take(w);
        if (job) {
            work_on(w, job);
            continue;
        }
        if (w->stopping)
            break;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += IDLE_S;
        w->idle++;
        int rc = pthread_cond_timedwait(&w->more, &w->lock, &until);
        w->idle--;
        if (rc == ETIMEDOUT && !w->queued)
            break;
    }
    if (w->threads == 1 && w->quiet)
        w->quiet(w->data);
    if (--w->threads == 0) /* a burst is over: give back what it took */
        malloc_trim(0);
    pthread_t previous = w->ended;
    bool join = w->any_ended;
    w->ended = pthread_self();
    w->any_ended = true;
    pthread_cond_broadcast(&w->gone);
    pthread_mutex_unlock(&w->lock);
    if (join)
        pthread_join(previous, NULL);
    return NULL;
}

/* With the lock held. */
static bool add_thread(struct workers *w)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    bool made = !pthread_create(&thread, &attributes, main_of_thread, w);
    pthread_attr_destroy(&attributes);
    w->threads += made;
    return made;
}

bool workers_submit(struct workers *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    bool accepted = w->queued < WORKERS_QUEUE_MAX && !w->stopping;
    if (accepted && w->idle <= w->queued && w->threads < WORKERS_DOCUMENT_MAX + WORKERS_BLOB_MAX)
        accepted = add_thread(w) || w->threads > 0;
    if (accepted) {
        job->next = NULL;
        *w->last = job;
        w->last = &job->next;
        w->queued++;
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
    return accepted;
}

size_t workers_running(struct workers *w, enum work work)
{
    pthread_mutex_lock(&w->lock);
    size_t n = w->at_work[work];
    pthread_mutex_unlock(&w->lock);
    return n;
}

size_t workers_busy(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    size_t n = w->queued + w->running;
    pthread_mutex_unlock(&w->lock);
    return n;
}

void workers_free(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->more);
    while (w->threads)
        pthread_cond_wait(&w->gone, &w->lock);
    pthread_mutex_unlock(&w->lock);
    if (w->any_ended) /* it has joined the one before, and so on */
        pthread_join(w->ended, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    pthread_cond_destroy(&w->gone);
    free(w);
}
