/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Several blobs at once into a layout. Each job walks
 *
 *   IDLE -> (present) -> DONE
 *   IDLE -> (a slot among shared downloads) -> RECEIVE
 *        -> SETTLE (hash and fsync go on in the writer's thread) -> DONE
 *
 * and the loop drives all of them and libcurl on the calling thread. `offset` is what the writer
 * has been given; a broken transfer goes on from there by Range. */
#include "lib/base/cleanup.h"
#include "lib/registry/registry_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_DEFAULT 4
#define BUSY_RETRY_MS 100 /* another process writes the same blob: how often to check */

/* Downloads that clients share.
 *
 * A client that wants one and gets none waits in line, and whoever waits is served before others,
 * so that a client with many blobs does not keep out one that came later. Nobody sleeps here: who
 * gives a slot back wakes the loop of the next client. */

struct ocv_downloads {
    pthread_mutex_t lock;
    unsigned free;
    struct ocv_registry *first;  /* clients that wait, the first one longest */
    struct ocv_registry **after; /* the end of that list */
};

int ocv_downloads_new(unsigned at_once, struct ocv_downloads **out, struct ocv_error *err)
{
    struct ocv_downloads *downloads = calloc(1, sizeof(*downloads));
    if (!downloads || pthread_mutex_init(&downloads->lock, NULL) != 0) {
        free(downloads);
        return ocv_error_nomem(err);
    }
    downloads->free = at_once ? at_once : 1;
    downloads->after = &downloads->first;
    *out = downloads;
    return OCV_OK;
}

void ocv_downloads_free(struct ocv_downloads *downloads)
{
    if (!downloads)
        return;
    pthread_mutex_destroy(&downloads->lock);
    free(downloads);
}

void ocv_registry_share(struct ocv_registry *registry, struct ocv_downloads *downloads)
{
    registry->downloads = downloads;
}

/* The list is at most as long as there are threads. */
static void take_out(struct ocv_downloads *downloads, struct ocv_registry *registry)
{
    struct ocv_registry **at = &downloads->first;
    while (*at && *at != registry)
        at = &(*at)->next_waiting;
    if (!*at)
        return;
    *at = registry->next_waiting;
    if (!*at)
        downloads->after = at;
    registry->next_waiting = NULL;
    registry->waits = false;
}

static void wake_next(struct ocv_downloads *downloads)
{
    if (downloads->free && downloads->first && downloads->first->multi)
        curl_multi_wakeup(downloads->first->multi);
}

bool ocv_downloads_enter(struct ocv_registry *registry)
{
    struct ocv_downloads *downloads = registry->downloads;
    if (!downloads)
        return true;
    pthread_mutex_lock(&downloads->lock);
    bool mine = downloads->free && (!downloads->first || downloads->first == registry);
    if (mine) {
        downloads->free--;
        take_out(downloads, registry);
        wake_next(downloads);
    } else if (!registry->waits) {
        registry->waits = true;
        *downloads->after = registry;
        downloads->after = &registry->next_waiting;
    }
    pthread_mutex_unlock(&downloads->lock);
    return mine;
}

void ocv_downloads_leave(struct ocv_registry *registry)
{
    struct ocv_downloads *downloads = registry->downloads;
    if (!downloads)
        return;
    pthread_mutex_lock(&downloads->lock);
    downloads->free++;
    wake_next(downloads);
    pthread_mutex_unlock(&downloads->lock);
}

void ocv_downloads_give_up(struct ocv_registry *registry)
{
    struct ocv_downloads *downloads = registry->downloads;
    if (!downloads)
        return;
    pthread_mutex_lock(&downloads->lock);
    take_out(downloads, registry);
    wake_next(downloads);
    pthread_mutex_unlock(&downloads->lock);
}

enum job_state { JOB_FREE, JOB_OPEN, JOB_RECEIVE, JOB_SETTLE };

struct fetch_job {
    struct fetcher *fetcher;
    enum job_state state;
    bool slot, queued; /* it has a slot among shared downloads, or waits for one */
    size_t i;          /* of fetches */
    const struct ocv_descriptor *descriptor;
    struct ocv_blob_writer *writer;
    struct ocv_exchange exchange;
    char *path;
    char *what;
    int64_t offset;
    int64_t told; /* last progress */
    bool resumed; /* part of the bytes came from an earlier run */
    bool again;   /* fetched again after a resumed part turned out wrong */
    atomic_bool settled;
};

struct fetcher {
    struct ocv_registry *registry;
    const struct ocv_reference *reference;
    struct ocv_layout *layout;
    const struct ocv_fetch *fetches;
    size_t *order; /* largest first, so that none is left alone at the end */
    size_t n, next, done;
    unsigned jobs;
    ocv_fetch_progress progress;
    void *data;
    struct fetch_job job[OCV_FETCH_JOBS_MAX];
};

static void report_progress(struct fetch_job *job, bool finished, bool cached)
{
    struct fetcher *f = job->fetcher;
    if (!finished && job->offset == job->told)
        return;
    job->told = job->offset;
    if (f->progress)
        f->progress(f->data, job->i, finished ? job->descriptor->size : job->offset, finished,
                    cached);
}

static int restart_job(struct fetch_job *job, struct ocv_error *err)
{
    OCV_TRY(ocv_blob_writer_reset(job->writer, err));
    job->offset = job->exchange.range_from = 0;
    job->resumed = false;
    return OCV_OK;
}

static int begin_blob(void *data, struct ocv_exchange *x)
{
    struct fetch_job *job = data;
    const struct ocv_response *r = &x->transfer.response;
    int64_t size = job->descriptor->size;
    if (job->offset && r->status == 206) {
        if (r->range_start == job->offset && (r->range_total < 0 || r->range_total == size))
            return OCV_OK;
        OCV_TRY(restart_job(job, &x->error)); /* another range, or another blob */
        return OCV_EXCHANGE_AGAIN;
    }
    if (r->status == 206)
        return ocv_error_set(&x->error, OCV_ERR_NETWORK,
                             "a part was sent though the whole was requested");
    if (r->content_length >= 0 && r->content_length != size && !r->encoded)
        return ocv_error_set(&x->error, OCV_ERR_MISMATCH, "announced as %lld bytes, sent as %lld",
                             (long long)size, (long long)r->content_length);
    return job->offset ? restart_job(job, &x->error) : OCV_OK; /* Range is not supported */
}

static int write_blob(void *data, const char *bytes, size_t len, struct ocv_error *err)
{
    struct fetch_job *job = data;
    int64_t size = job->descriptor->size;
    if ((int64_t)len > size - job->offset)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "exceeds the announced %lld bytes",
                             (long long)size);
    OCV_TRY(ocv_blob_writer_write(job->writer, bytes, len, err));
    job->offset += (int64_t)len;
    job->exchange.range_from = job->offset;
    return OCV_OK;
}

/* From the writer's thread: only wake the loop. */
static void on_settled(void *data)
{
    struct fetch_job *job = data;
    atomic_store(&job->settled, true);
    curl_multi_wakeup(job->fetcher->registry->multi);
}

static bool take_slot(struct fetch_job *job)
{
    job->slot = job->slot || ocv_downloads_enter(job->fetcher->registry);
    job->queued = !job->slot;
    return job->slot;
}

static void leave_place(struct fetch_job *job)
{
    if (job->slot)
        ocv_downloads_leave(job->fetcher->registry);
    job->slot = false;
}

static void settle_job(struct fetch_job *job)
{
    leave_place(job);
    job->state = JOB_SETTLE;
    atomic_store(&job->settled, false);
    ocv_blob_writer_finish(job->writer, on_settled, job);
}

static void job_done(struct fetch_job *job)
{
    free(job->path);
    free(job->what);
    job->path = job->what = NULL;
    job->state = JOB_FREE;
    job->fetcher->done++;
}

/* A blob that is there already needs no slot, and while one waits for a slot nothing is held:
 * each writer has more than 1 MiB, and whoever waits for the blob's lock would wait for the line,
 * too. */
static int job_open(struct fetch_job *job, int *wait_ms, struct ocv_error *err)
{
    bool present = false, busy = false;
    const struct ocv_descriptor *d = job->descriptor;
    if (job->queued && !take_slot(job))
        return OCV_OK;
    int status = ocv_blob_writer_try_open(job->fetcher->layout, d->digest, d->size, &job->writer,
                                          &job->offset, &present, &busy, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", job->what);
    if (busy || present)
        leave_place(job);
    if (busy) {
        if (*wait_ms > BUSY_RETRY_MS)
            *wait_ms = BUSY_RETRY_MS;
        return OCV_OK;
    }
    if (present) {
        report_progress(job, true, true);
        job_done(job);
        return OCV_OK;
    }
    if (!take_slot(job)) {
        ocv_blob_writer_close(job->writer);
        job->writer = NULL;
        return OCV_OK;
    }
    *wait_ms = 0;
    job->resumed = job->offset > 0;
    if (job->offset)
        ocv_registry_log(job->fetcher->registry, "%s: resuming at %lld", job->what,
                         (long long)job->offset);
    report_progress(job, false, false);
    if (job->offset == d->size) {
        settle_job(job);
        return OCV_OK;
    }

    struct fetcher *f = job->fetcher;
    struct ocv_exchange *x = &job->exchange;
    if (x->registry)
        ocv_exchange_free(x);
    *x = (struct ocv_exchange){.registry = f->registry,
                               .what = job->what,
                               .method = "GET",
                               .path = job->path,
                               .repository = f->reference->repository,
                               .body_max = OCV_ERROR_BODY_MAX,
                               .buffer_size = f->jobs <= JOBS_DEFAULT ? 512L * 1024 : 128L * 1024,
                               .range_from = job->offset,
                               .mark = job->offset,
                               .begin = begin_blob,
                               .sink = write_blob,
                               .data = job};
    job->state = JOB_RECEIVE;
    return ocv_registry_host_get(f->registry, f->reference->host, &x->host, err);
}

static int job_receive(struct fetch_job *job, int *wait_ms, struct ocv_error *err)
{
    struct ocv_exchange *x = &job->exchange;
    ocv_exchange_step(x, wait_ms);
    report_progress(job, false, false);
    if (x->state != OCV_EXCHANGE_DONE)
        return OCV_OK;
    if (x->status < 0) {
        if (err)
            *err = x->error;
        return x->status;
    }
    *wait_ms = 0;
    if (job->offset < job->descriptor->size) { /* a body without length that simply ended */
        if (x->attempts++ < x->registry->retries) {
            x->state = OCV_EXCHANGE_READY;
            return OCV_OK;
        }
        return ocv_error_set(err, OCV_ERR_NETWORK, "%s: ends after %lld of %lld bytes", job->what,
                             (long long)job->offset, (long long)job->descriptor->size);
    }
    settle_job(job);
    return OCV_OK;
}

static int job_settle(struct fetch_job *job, int *wait_ms, struct ocv_error *err)
{
    if (!atomic_load(&job->settled))
        return OCV_OK;
    *wait_ms = 0;
    int status = ocv_blob_writer_commit(job->writer, err);
    job->writer = NULL;
    if (status == OCV_ERR_MISMATCH && job->resumed && !job->again) {
        ocv_registry_log(job->fetcher->registry, "%s: partial download is corrupt; restarting",
                         job->what);
        job->again = true;
        job->told = -1;
        job->state = JOB_OPEN;
        return OCV_OK;
    }
    if (status < 0)
        return ocv_error_prefix(err, "%s", job->what);
    report_progress(job, true, false);
    job_done(job);
    return OCV_OK;
}

static int job_step(struct fetch_job *job, int *wait_ms, struct ocv_error *err)
{
    struct fetcher *f = job->fetcher;
    if (job->state == JOB_FREE && f->next < f->n) {
        size_t i = f->order[f->next++];
        const struct ocv_descriptor *d = &f->fetches[i].descriptor;
        if (!ocv_digest_known(d->digest))
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s@%s: unknown digest algorithm",
                                 f->reference->name, d->digest);
        if (d->size < 0)
            return ocv_error_set(err, OCV_ERR_DATA, "%s@%s: no size", f->reference->name,
                                 d->digest);
        if (asprintf(&job->path, "/v2/%s/blobs/%s", f->reference->repository, d->digest) < 0)
            job->path = NULL;
        if (asprintf(&job->what, "%s@%s", f->reference->name, d->digest) < 0)
            job->what = NULL;
        if (!job->path || !job->what)
            return ocv_error_nomem(err);
        job->i = i;
        job->descriptor = d;
        job->offset = 0;
        job->told = -1;
        job->resumed = job->again = job->queued = false;
        job->state = JOB_OPEN;
        *wait_ms = 0;
    }
    switch (job->state) {
    case JOB_OPEN:
        return job_open(job, wait_ms, err);
    case JOB_RECEIVE:
        return job_receive(job, wait_ms, err);
    case JOB_SETTLE:
        return job_settle(job, wait_ms, err);
    case JOB_FREE:
        break;
    }
    return OCV_OK;
}

static int by_size(const void *a, const void *b, void *data)
{
    const struct ocv_fetch *fetches = data;
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    int64_t l = fetches[left].descriptor.size, r = fetches[right].descriptor.size;
    if (l != r)
        return l > r ? -1 : 1;
    return left < right ? -1 : 1;
}

int ocv_registry_fetch(struct ocv_registry *registry, const struct ocv_reference *reference,
                       struct ocv_layout *layout, const struct ocv_fetch *fetches, size_t n,
                       unsigned jobs, ocv_fetch_progress progress, void *data,
                       struct ocv_error *err)
{
    struct ocv_error local = {0};
    struct fetcher *f = calloc(1, sizeof(*f));
    size_t *order = calloc(n ? n : 1, sizeof(*order));
    if (!f || !order) {
        free(f);
        free(order);
        return ocv_error_nomem(err);
    }
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof(*order), by_size, (void *)(uintptr_t)fetches);
    f->registry = registry;
    f->reference = reference;
    f->layout = layout;
    f->fetches = fetches;
    f->order = order;
    f->n = n;
    f->jobs = !jobs ? JOBS_DEFAULT : jobs > OCV_FETCH_JOBS_MAX ? OCV_FETCH_JOBS_MAX : jobs;
    f->progress = progress;
    f->data = data;
    for (unsigned i = 0; i < f->jobs; i++)
        f->job[i].fetcher = f;
    int status = OCV_OK;
    while (status == OCV_OK && f->done < f->n) {
        int wait_ms = 100;
        for (unsigned i = 0; status == OCV_OK && i < f->jobs; i++)
            status = job_step(&f->job[i], &wait_ms, &local);
        if (status < 0)
            break;
        ocv_wait_report(registry, NULL);
        status = ocv_exchange_poll(registry, wait_ms, &local);
    }
    for (unsigned i = 0; i < f->jobs; i++) {
        struct fetch_job *job = &f->job[i];
        leave_place(job);
        if (job->exchange.registry)
            ocv_exchange_free(&job->exchange);
        ocv_blob_writer_close(job->writer); /* after this no thread knows the job any more */
        free(job->path);
        free(job->what);
    }
    ocv_downloads_give_up(registry);
    free(order);
    free(f);
    if (status < 0 && err)
        *err = local;
    return status;
}
