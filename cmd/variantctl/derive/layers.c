/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inflating takes most of the time, so each processor reads a layer of its own. Reports are stacked
 * in the layers' order as they become complete; readers stay a few layers ahead at most, so that
 * the reports that wait are few. */
#include "cmd/variantctl/derive/derive_verb.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define READERS_MAX 4u /* for an ordinary image they take less than 64 MiB, scanners included */
#define AHEAD_MAX 8u   /* layers that are read or wait to be stacked */
#define LOOK_MS 100    /* how often an interrupt is looked for */

/* A layer's report, until it is stacked. */
struct slot {
    bool done;
    struct ocv_content_report report;
};

struct reading {
    struct cli *cli;
    const struct image *image;
    const struct ocv_manifest *manifest;
    int stop;                /* atomic for readers without the lock */
    pthread_mutex_t parsing; /* a report may be large: one at a time is parsed */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n, next, stacked; /* layers; the next one to read; those in the result */
    struct slot slots[AHEAD_MAX];
    struct ocv_error error; /* of the first that failed */
};

static void stop_reading(struct reading *r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&r->changed);
}

static void *run_reader(void *data)
{
    struct reading *r = data;
    struct layer_reader reader = {
        .cli = r->cli, .image = r->image, .stop = &r->stop, .parsing = &r->parsing};
    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->next < r->n) {
        if (r->next - r->stacked >= AHEAD_MAX) { /* no slot for the next layer yet */
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        size_t i = r->next++;
        struct ocv_error err = {0};
        pthread_mutex_unlock(&r->lock);
        int status = layer_read(&reader, ocv_manifest_layer(r->manifest, i),
                                &r->slots[i % AHEAD_MAX].report, &err);
        pthread_mutex_lock(&r->lock);
        if (status < 0 && !r->error.status) {
            r->error = err;
            stop_reading(r);
        }
        r->slots[i % AHEAD_MAX].done = true;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    ocv_registry_free(reader.registry);
    return NULL;
}

/* Ends early, without an error, where the program was interrupted or a layer could not be read. */
static int stack_layers(struct reading *r, struct ocv_content_report *out, struct ocv_error *err)
{
    const volatile int *interrupted = r->cli->interrupted;
    int status = OCV_OK;
    for (size_t i = 0; i < r->n && status >= 0; i++) {
        struct slot *slot = &r->slots[i % AHEAD_MAX];
        struct timespec until;
        pthread_mutex_lock(&r->lock);
        while (!slot->done && !r->stop) {
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_nsec += LOOK_MS * 1000000L;
            until.tv_sec += until.tv_nsec / 1000000000L;
            until.tv_nsec %= 1000000000L;
            pthread_cond_clockwait(&r->changed, &r->lock, CLOCK_MONOTONIC, &until);
            if (interrupted && *interrupted)
                stop_reading(r);
        }
        bool stopped = r->stop;
        pthread_mutex_unlock(&r->lock);
        if (stopped)
            return OCV_OK;
        status = ocv_content_report_stack(out, &slot->report, err);
        ocv_content_report_free(&slot->report);
        pthread_mutex_lock(&r->lock);
        slot->done = false;
        r->stacked++;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    return status;
}

int layers_read(struct cli *cli, const struct image *image, const struct ocv_manifest *manifest,
                struct ocv_content_report *out, struct ocv_error *err)
{
    struct reading r = {.cli = cli,
                        .image = image,
                        .manifest = manifest,
                        .parsing = PTHREAD_MUTEX_INITIALIZER,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .n = ocv_manifest_layer_count(manifest)};
    pthread_t threads[READERS_MAX];
    /* One for each processor that this program may use. */
    cpu_set_t processors;
    size_t n = READERS_MAX, started = 0; /* where there are more than the set has room for */
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
        n = (size_t)CPU_COUNT(&processors);
    n = n < READERS_MAX ? n : READERS_MAX;
    n = n < r.n ? n : r.n;
    int status = image->layout || !r.n ? OCV_OK : cli_registry(cli, err);
    while (status >= 0 && started < n && !pthread_create(&threads[started], NULL, run_reader, &r))
        started++;
    if (status >= 0 && r.n && !started)
        status = ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
    if (status >= 0)
        status = stack_layers(&r, out, err);
    bool whole = status >= 0 && r.stacked == r.n;
    pthread_mutex_lock(&r.lock);
    stop_reading(&r);
    pthread_mutex_unlock(&r.lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < AHEAD_MAX; i++)
        ocv_content_report_free(&r.slots[i].report);
    if (whole || status < 0)
        return status;
    if (r.error.status < 0 && err)
        *err = r.error;
    return r.error.status < 0 ? (int)r.error.status
                              : ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
}
