/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads for what blocks: requests upstream, blobs on their way through. Made when needed, gone
 * after a while without work. Each kind of work has a limit for all registries and one for each,
 * and no registry has more than half of what the others leave: one that hangs leaves room for
 * another, and so do several. A client that is not trusted has, of everything and of each registry,
 * less than half of what the others leave, so that the last place is never its own. */
#ifndef VARIANTD_WORKERS_H
#define VARIANTD_WORKERS_H

#include "ocivariant.h"

enum work { WORK_DOCUMENT, WORK_BLOB, WORK_COUNT };

#define WORKERS_DOCUMENT_MAX 128u /**< at work for all registries */
#define WORKERS_DOCUMENT_EACH 32u /**< for one registry */
#define WORKERS_BLOB_MAX 192u
#define WORKERS_BLOB_EACH 96u
#define WORKERS_QUEUE_MAX 4096u /**< waiting; past it work is refused */
#define WORKERS_UPSTREAMS_MAX 256u
#define WORKERS_CLIENTS_MAX 64u

/** First member of the caller's own. `run` takes it over. */
struct job {
    struct job *next;
    enum work work;
    size_t upstream; /**< number of the registry, below WORKERS_UPSTREAMS_MAX */
    unsigned client; /**< for whom, below WORKERS_CLIENTS_MAX; 0: one who is trusted */
    bool queued;     /**< it has not begun */
    void (*run)(struct job *job);
};

struct workers;
/** `quiet` is called, with `data`, when the last thread has had nothing to do for a while. */
int workers_new(void (*quiet)(void *data), void *data, struct workers **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** False where the queue is full or no thread can be had: the job is still the caller's. */
bool workers_submit(struct workers *workers, struct job *job);
/** The job, which has not ended, is for one who is trusted, too. */
void workers_favour(struct workers *workers, struct job *job);
/** Jobs of that kind that have not begun, for each registry. */
void workers_waiting(struct workers *workers, enum work work, size_t out[WORKERS_UPSTREAMS_MAX]);
/** Jobs of that kind at work now. */
size_t workers_running(struct workers *workers, enum work work);
/** Jobs waiting or running. */
size_t workers_busy(struct workers *workers);
/** Waits until every job is done and every thread has ended. */
void workers_free(struct workers *workers);

#endif
