/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that decide about pulls, so that the loop never waits for a registry. A job belongs to
 * the workers from workers_put until workers_take gives it back; its stream is the loop's word for
 * who waits, and is cleared when nobody does. */
#ifndef CRI_PROXY_WORKER_H
#define CRI_PROXY_WORKER_H

#include "plugins/containerd/cri-proxy/decide.h"

#define WORKERS 4u     /* pulls that are decided at once */
#define JOBS_MAX 1024u /* that wait; more go through as they are */
#define AGAIN_S 10     /* how often the node is asked whether it has changed */

struct stream;
struct workers;
struct job {
    struct job *next;
    struct stream *stream;      /* loop's */
    char text[PINNED_TEXT_MAX]; /* as the request names it */
    struct wire_auth auth;      /* the request's own */
    volatile int abandoned;     /* atomic: nobody waits any more */
    bool known;                 /* decided without a registry */
    bool decided;               /* there is another name to pull: */
    char image[PINNED_TEXT_MAX];
    char refused[DECIDE_REASON_MAX]; /* why it must not be pulled, or empty */
};

/** A job for a PullImage that names a digest; NULL for any other. */
struct job *job_new(struct stream *stream, const uint8_t *message, size_t len,
                    const struct wire_image *image);
void job_free(struct job *job);
/** The stream is gone. */
void job_abandon(struct job *job);

/** `wake_fd`: an eventfd that is written when a job is done. */
int workers_new(const struct decide *decide, int wake_fd, struct workers **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** False when too many wait. */
bool workers_put(struct workers *workers, struct job *job);
/** A job that is done, or NULL. */
struct job *workers_take(struct workers *workers);
/** Ends what runs. */
void workers_free(struct workers *workers);

#endif
