/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads for what blocks: requests upstream, blobs on their way through. Made when needed, gone
 * after a while without work. Each kind of work has a limit for all registries and one for each,
 * so that a registry that hangs leaves room for the others. */
#ifndef VARIANTD_WORKERS_H
#define VARIANTD_WORKERS_H

#include "ocivariant.h"

enum work { WORK_DOCUMENT, WORK_BLOB, WORK_COUNT };

#define WORKERS_DOCUMENT_MAX 64u  /**< at work for all registries */
#define WORKERS_DOCUMENT_EACH 32u /**< for one registry */
#define WORKERS_BLOB_MAX 128u
#define WORKERS_BLOB_EACH 96u
#define WORKERS_QUEUE_MAX 4096u /**< waiting; past it work is refused */
#define WORKERS_UPSTREAMS_MAX 256u

/** First member of the caller's own. `run` takes it over. */
struct job {
    struct job *next;
    enum work work;
    size_t upstream; /**< number of the registry, below WORKERS_UPSTREAMS_MAX */
    void (*run)(struct job *job);
};

struct workers;
/** `quiet` is called, with `data`, when the last thread has had nothing to do for a while. */
int workers_new(void (*quiet)(void *data), void *data, struct workers **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** False where the queue is full or no thread can be had: the job is still the caller's. */
bool workers_submit(struct workers *workers, struct job *job);
/** Jobs of that kind at work now. */
size_t workers_running(struct workers *workers, enum work work);
/** Jobs waiting or running. */
size_t workers_busy(struct workers *workers);
/** Waits until every job is done and every thread has ended. */
void workers_free(struct workers *workers);

#endif
