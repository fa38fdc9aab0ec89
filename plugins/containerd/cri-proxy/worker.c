/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (512u * 1024)

struct workers {
    const struct decide *decide;
    int wake_fd;
    pthread_mutex_t lock;
    pthread_cond_t work, end;
    struct job *queue, **queue_end;
    struct job *done, **done_end;
    struct job *running[WORKERS];
    size_t waiting;
    bool stopping;
    pthread_t threads[WORKERS + 1];
    unsigned n;
};

/* ---- jobs --------------------------------------------------------------------------------------
 */

struct job *job_new(struct stream *stream, const uint8_t *message, size_t len,
                    const struct wire_image *image)
{
    ocv_auto(ocv_reference) reference = pinned_parse(message + image->inner_at, image->inner_len);
    struct job *job = reference ? calloc(1, sizeof(*job)) : NULL;
    if (!job)
        return NULL;
    job->stream = stream;
    memcpy(job->text, message + image->inner_at, image->inner_len);
    if (wire_read_auth(message, len, &job->auth, NULL) < 0) {
        job_free(job);
        return NULL;
    }
    return job;
}

void job_free(struct job *job)
{
    wire_auth_free(&job->auth);
    free(job);
}

void job_abandon(struct job *job)
{
    job->stream = NULL;
    __atomic_store_n(&job->abandoned, 1, __ATOMIC_RELEASE);
}

/* ---- threads -----------------------------------------------------------------------------------
 */

static void finish(struct workers *w, struct job *job)
{
    uint64_t one = 1;
    job->next = NULL;
    *w->done_end = job;
    w->done_end = &job->next;
    ssize_t n = write(w->wake_fd, &one, sizeof(one));
    (void)n;
}

static struct job *next_job(struct workers *w)
{
    struct job *job = w->queue;
    w->queue = job->next;
    if (!w->queue)
        w->queue_end = &w->queue;
    w->waiting--;
    return job;
}

static void *work(void *data)
{
    struct workers *w = data;
    size_t place = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        if (!w->queue) {
            pthread_cond_wait(&w->work, &w->lock);
            continue;
        }
        struct job *job = next_job(w);
        for (place = 0; place < WORKERS - 1 && w->running[place]; place++)
            ; /* as many places as workers: one is free */
        w->running[place] = job;
        pthread_mutex_unlock(&w->lock);
        if (!__atomic_load_n(&job->abandoned, __ATOMIC_ACQUIRE))
            job->decided = decide_pull(w->decide, job->text, &job->auth, &job->abandoned,
                                       job->image, &job->known, job->refused);
        wire_auth_free(&job->auth);
        pthread_mutex_lock(&w->lock);
        w->running[place] = NULL;
        finish(w, job);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void *look_again(void *data)
{
    struct workers *w = data;
    char last[OCV_DIGEST_MAX] = "";
    struct timespec when;
    pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        pthread_mutex_unlock(&w->lock);
        decide_again(w->decide, last);
        clock_gettime(CLOCK_MONOTONIC, &when); /* the clock on the wall may be set back */
        when.tv_sec += AGAIN_S;
        pthread_mutex_lock(&w->lock);
        if (!w->stopping)
            pthread_cond_clockwait(&w->end, &w->lock, CLOCK_MONOTONIC, &when);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

bool workers_put(struct workers *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    bool room = w->waiting < JOBS_MAX;
    if (room) {
        job->next = NULL;
        *w->queue_end = job;
        w->queue_end = &job->next;
        w->waiting++;
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return room;
}

struct job *workers_take(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    struct job *job = w->done;
    if (job) {
        w->done = job->next;
        if (!w->done)
            w->done_end = &w->done;
    }
    pthread_mutex_unlock(&w->lock);
    return job;
}

int workers_new(const struct decide *decide, int wake_fd, struct workers **out,
                struct ocv_error *err)
{
    struct workers *w = calloc(1, sizeof(*w));
    pthread_attr_t attributes;
    if (!w)
        return ocv_error_nomem(err);
    w->decide = decide;
    w->wake_fd = wake_fd;
    w->queue_end = &w->queue;
    w->done_end = &w->done;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->end, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (w->n <= WORKERS && pthread_create(&w->threads[w->n], &attributes,
                                             w->n < WORKERS ? work : look_again, w) == 0)
        w->n++;
    pthread_attr_destroy(&attributes);
    if (w->n <= WORKERS) {
        workers_free(w);
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
    }
    *out = w;
    return OCV_OK;
}

static void free_list(struct job *job)
{
    while (job) {
        struct job *next = job->next;
        job_free(job);
        job = next;
    }
}

void workers_free(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    for (size_t i = 0; i < WORKERS; i++)
        if (w->running[i])
            __atomic_store_n(&w->running[i]->abandoned, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&w->work);
    pthread_cond_broadcast(&w->end);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n; i++)
        pthread_join(w->threads[i], NULL);
    free_list(w->queue);
    free_list(w->done);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->end);
    free(w);
}
