/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/workers.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK_BYTES (256u * 1024) /* enough for TLS, JSON of 4 MiB and buffers of a few KiB */
#define IDLE_S 10                 /* a thread that is idle for so long ends */

/* Running jobs: all, per registry, per client, and per registry and client. */
struct job_counts {
    size_t all, upstream[WORKERS_UPSTREAMS_MAX], client[WORKERS_CLIENTS_MAX];
    uint16_t both[WORKERS_UPSTREAMS_MAX][WORKERS_CLIENTS_MAX];
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t more; /* a job may be ready, or the workers are being freed */
    pthread_cond_t gone; /* a thread has ended */
    struct job *first, **last;
    size_t queued, queued_for[WORKERS_CLIENTS_MAX], running, threads, idle;
    struct job_counts at_work[WORK_COUNT];
    bool stopping;
    pthread_t ended; /* the thread that ended last; the next one to end joins it */
    bool any_ended;
    void (*quiet)(void *data);
    void *data;
};

static const size_t most[WORK_COUNT] = {WORKERS_DOCUMENT_MAX, WORKERS_BLOB_MAX};
static const size_t most_each[WORK_COUNT] = {WORKERS_DOCUMENT_EACH, WORKERS_BLOB_EACH};

int workers_new(void (*quiet)(void *data), void *data, struct workers **out, struct ocv_error *err)
{
    struct workers *w = calloc(1, sizeof(*w));
    if (!w)
        return ocv_error_nomem(err);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    pthread_cond_init(&w->gone, NULL);
    w->last = &w->first;
    w->quiet = quiet;
    w->data = data;
    *out = w;
    return OCV_OK;
}

/* `mine` of `all` running jobs are its own: may it have one more and stay within half of what the
 * others leave? */
static bool within_half(size_t mine, size_t all, size_t limit)
{
    return 2 * mine < limit - (all - mine);
}

/* The oldest job that may run now, removed from the queue. */
static struct job *take_job(struct workers *w)
{
    for (struct job **at = &w->first; *at; at = &(*at)->next) {
        struct job *job = *at;
        const struct job_counts *s = &w->at_work[job->work];
        size_t limit = most[job->work], each = most_each[job->work];
        size_t for_it = s->upstream[job->upstream];
        if (s->all >= limit || for_it >= each || !within_half(for_it, s->all, limit))
            continue;
        if (job->client &&
            (!within_half(s->client[job->client] + 1, s->all + 1, limit) ||
             !within_half(s->both[job->upstream][job->client] + 1u, for_it + 1, each)))
            continue;
        *at = job->next;
        if (!*at)
            w->last = at;
        job->next = NULL;
        job->queued = false;
        w->queued--;
        w->queued_for[job->client]--;
        return job;
    }
    return NULL;
}

static void count_job(struct workers *w, const struct job *job, int by)
{
    struct job_counts *s = &w->at_work[job->work];
    w->running += (size_t)by;
    s->all += (size_t)by;
    s->upstream[job->upstream] += (size_t)by;
    s->client[job->client] += (size_t)by;
    s->both[job->upstream][job->client] = (uint16_t)(s->both[job->upstream][job->client] + by);
}

static void *main_of_thread(void *data)
{
    struct workers *w = data;
    pthread_setname_np(pthread_self(), "upstream");
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct job *job = take_job(w);
        if (job) {
            /* A job frees itself, so its counts are copied first. More than one queued job may be
             * able to run now, so another idle thread is woken. */
            const struct job counted = *job;
            count_job(w, &counted, 1);
            if (w->queued && w->idle)
                pthread_cond_signal(&w->more);
            pthread_mutex_unlock(&w->lock);
            job->run(job);
            pthread_mutex_lock(&w->lock);
            count_job(w, &counted, -1);
            continue;
        }
        if (w->stopping)
            break;
        const struct timespec until = ocv_clock_after(IDLE_S * 1000);
        w->idle++;
        int rc = pthread_cond_clockwait(&w->more, &w->lock, CLOCK_MONOTONIC, &until);
        w->idle--;
        if (rc == ETIMEDOUT && !w->queued)
            break;
    }
    if (w->threads == 1 && w->quiet)
        w->quiet(w->data);
    if (--w->threads == 0) /* a burst is over: return its memory */
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

bool workers_submit(struct workers *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    bool accepted = w->queued < WORKERS_QUEUE_MAX && !w->stopping &&
                    (!job->client ||
                     within_half(w->queued_for[job->client] + 1, w->queued + 1, WORKERS_QUEUE_MAX));
    if (accepted && w->idle <= w->queued && w->threads < WORKERS_DOCUMENT_MAX + WORKERS_BLOB_MAX) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        w->threads += !pthread_create(&thread, &attributes, main_of_thread, w);
        pthread_attr_destroy(&attributes);
        accepted = w->threads > 0;
    }
    if (accepted) {
        job->next = NULL;
        job->queued = true;
        *w->last = job;
        w->last = &job->next;
        w->queued++;
        w->queued_for[job->client]++;
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
    return accepted;
}

void workers_favour(struct workers *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    if (job->queued && job->client) {
        w->queued_for[job->client]--;
        w->queued_for[job->client = 0]++;
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
}

void workers_waiting(struct workers *w, enum work work, size_t out[WORKERS_UPSTREAMS_MAX])
{
    memset(out, 0, WORKERS_UPSTREAMS_MAX * sizeof(*out));
    pthread_mutex_lock(&w->lock);
    for (const struct job *job = w->first; job; job = job->next)
        out[job->upstream] += job->work == work;
    pthread_mutex_unlock(&w->lock);
}

size_t workers_running(struct workers *w, enum work work)
{
    pthread_mutex_lock(&w->lock);
    size_t n = w->at_work[work].all;
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
    if (w->any_ended) /* it has joined the one that ended before it, and so on */
        pthread_join(w->ended, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    pthread_cond_destroy(&w->gone);
    free(w);
}
