/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the daemon makes of one configuration: settings, node and mirror. A reload makes another
 * instance; running requests keep theirs. */
#ifndef VARIANTD_INSTANCE_H
#define VARIANTD_INSTANCE_H

#include "cmd/variantd/mirror/mirror.h"

#include <pthread.h>
#include <stdatomic.h>

struct instance {
    struct settings *settings;
    struct node *node;
    struct mirror *mirror;
    atomic_uint_fast64_t running; /**< requests that use it */
    struct instance *next;        /**< in the list of retired ones */
};

/** Takes over `settings`, even on failure. `last`: the instance to be replaced, or NULL. */
int instance_new(struct settings *settings, struct metrics *metrics, const struct instance *last,
                 struct instance **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Call without running requests. */
void instance_free(struct instance *instance);
OCV_DEFINE_CLEANUP(instance)

/* The serving instance, and replaced ones that requests still use. */

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

/* Unknown names in the configuration. One file may serve different nodes, so there they do not
 * prevent a start; in flags of this daemon they do. */

/** Log names of the configuration that vocabulary, providers and this node do not know, and count
 *  them in `*n`. `n` NULL: only OCV_ERR_CONFIG if a flag has an unknown name. */
int unknown_names(const struct instance *instance, uint64_t *n,
                  struct ocv_error *err) OCV_WARN_UNUSED;

#endif
