/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serving instance, and replaced ones that requests still use. */
#ifndef VARIANTD_CURRENT_H
#define VARIANTD_CURRENT_H

#include "cmd/variantd/instance/instance.h"

#include <pthread.h>

struct current {
    struct metrics *metrics;
    char *address; /**< of the mirror, as configured; without a port if the system chose it */
    unsigned port;
    atomic_bool stopping; /**< stopping: nothing may be suspended any more */
    pthread_rwlock_t lock;
    struct instance *instance;
    pthread_mutex_t retired_lock;
    struct instance *retired;
    atomic_uint_fast64_t running; /**< requests */
};

/** Takes over `instance`. */
void current_init(struct current *current, struct instance *instance, struct metrics *metrics);
/** Take a reference to the instance; current_return drops it. Any thread. */
struct instance *current_borrow(struct current *current);
void current_return(struct current *current, struct instance *instance);
/** New requests use `instance`, which is taken over. */
void current_replace(struct current *current, struct instance *instance);
/** Free replaced instances that no request uses. */
void current_free_retired(struct current *current);
/** True if every request has ended. */
bool current_idle(const struct current *current);
/** From now on no request is suspended. */
void current_stop(struct current *current);
/** Call when no request is left; waits for running workers. */
void current_free(struct current *current);

#endif
