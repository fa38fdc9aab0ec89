/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instance that serves now, and those that were replaced while requests still use them. */
#ifndef VARIANTD_CURRENT_H
#define VARIANTD_CURRENT_H

#include "cmd/variantd/instance/instance.h"

#include <pthread.h>

struct current {
    struct metrics *metrics;
    char
        *address; /**< of the mirror, as configured, without its port where the system chose that */
    unsigned port;
    atomic_bool stopping; /**< the end has come: nothing may be suspended any more */
    pthread_rwlock_t lock;
    struct instance *instance;
    pthread_mutex_t retired_lock;
    struct instance *retired;
    atomic_uint_fast64_t running; /**< requests */
};

/** Takes `instance` over. */
void current_init(struct current *current, struct instance *instance, struct metrics *metrics);
/** The instance with its count of requests raised, and back. Any thread. */
struct instance *current_borrow(struct current *current);
void current_return(struct current *current, struct instance *instance);
/** Requests that begin from now on use `instance`, which is taken over. */
void current_replace(struct current *current, struct instance *instance);
/** Free the replaced ones that no request uses. */
void current_free_retired(struct current *current);
/** Has every request ended? */
bool current_idle(const struct current *current);
/** Suspend nothing any more. */
void current_stop(struct current *current);
/** No request is left; workers may be, and are waited for. */
void current_free(struct current *current);

#endif
