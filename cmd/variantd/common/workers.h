/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads for blocking work: upstream requests, and blobs passed through. They are started when
 * needed, and end after some time without work. Each kind of work has a limit for all registries
 * and one per registry. A registry may use at most half of what the others leave, so that several
 * that hang still leave room for another. An untrusted client may use, in total and per registry,
 * less than half of what the others leave, so it never gets the last place. */
#ifndef VARIANTD_WORKERS_H
#define VARIANTD_WORKERS_H

#include "ocivariant.h"

enum work { WORK_DOCUMENT, WORK_BLOB, WORK_COUNT };

#define WORKERS_DOCUMENT_MAX 128u /**< running jobs for all registries */
#define WORKERS_DOCUMENT_EACH 32u /**< running jobs for one registry */
#define WORKERS_BLOB_MAX 192u
#define WORKERS_BLOB_EACH 96u
#define WORKERS_QUEUE_MAX 4096u /**< waiting jobs; further ones are refused */
#define WORKERS_UPSTREAMS_MAX 256u
#define WORKERS_CLIENTS_MAX 64u

/** First member of the caller's structure. `run` takes it over. */
struct job {
    struct job *next;
    enum work work;
    size_t upstream; /**< number of the registry, below WORKERS_UPSTREAMS_MAX */
    unsigned client; /**< client number below WORKERS_CLIENTS_MAX; 0: trusted */
    bool queued;     /**< not started yet */
    void (*run)(struct job *job);
};

struct workers;
/** `quiet` is called with `data` when the last thread has been idle for some time. */
int workers_new(void (*quiet)(void *data), void *data, struct workers **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** False if the queue is full or no thread can be started; the caller keeps the job. */
bool workers_submit(struct workers *workers, struct job *job);
/** A trusted client now also waits for this unfinished job, so count it as trusted. */
void workers_favour(struct workers *workers, struct job *job);
/** Queued jobs of that kind, per registry. */
void workers_waiting(struct workers *workers, enum work work, size_t out[WORKERS_UPSTREAMS_MAX]);
/** Running jobs of that kind. */
size_t workers_running(struct workers *workers, enum work work);
/** Queued and running jobs. */
size_t workers_busy(struct workers *workers);
/** Waits for all jobs and threads to end. */
void workers_free(struct workers *workers);

#endif
