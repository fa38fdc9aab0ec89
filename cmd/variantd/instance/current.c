/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every request holds the instance it began with, so a reload never frees settings in use. */
#include "cmd/variantd/instance/current.h"

#include <stdlib.h>

void current_init(struct current *current, struct instance *instance, struct metrics *metrics)
{
    current->metrics = metrics;
    current->instance = instance;
    pthread_rwlock_init(&current->lock, NULL);
    pthread_mutex_init(&current->retired_lock, NULL);
}

struct instance *current_borrow(struct current *current)
{
    pthread_rwlock_rdlock(&current->lock);
    struct instance *instance = current->instance;
    atomic_fetch_add_explicit(&instance->running, 1, memory_order_relaxed);
    pthread_rwlock_unlock(&current->lock);
    atomic_fetch_add_explicit(&current->running, 1, memory_order_relaxed);
    return instance;
}

void current_return(struct current *current, struct instance *instance)
{
    atomic_fetch_sub_explicit(&instance->running, 1, memory_order_release);
    atomic_fetch_sub_explicit(&current->running, 1, memory_order_release);
}

void current_replace(struct current *current, struct instance *instance)
{
    pthread_rwlock_wrlock(&current->lock);
    struct instance *old = current->instance;
    current->instance = instance;
    pthread_rwlock_unlock(&current->lock);
    pthread_mutex_lock(&current->retired_lock);
    old->next = current->retired;
    current->retired = old;
    pthread_mutex_unlock(&current->retired_lock);
}

static void free_list(struct instance *list)
{
    while (list) {
        struct instance *next = list->next;
        instance_free(list);
        list = next;
    }
}

void current_free_retired(struct current *current)
{
    struct instance *done = NULL;
    pthread_mutex_lock(&current->retired_lock);
    for (struct instance **at = &current->retired; *at;) {
        struct instance *instance = *at;
        if (atomic_load_explicit(&instance->running, memory_order_acquire) > 0 ||
            !mirror_idle(instance->mirror)) {
            at = &instance->next;
            continue;
        }
        *at = instance->next;
        instance->next = done;
        done = instance;
    }
    pthread_mutex_unlock(&current->retired_lock);
    free_list(done);
}

bool current_idle(const struct current *current)
{
    return atomic_load_explicit(&current->running, memory_order_acquire) == 0 &&
           mirror_idle(current->instance->mirror);
}

void current_stop(struct current *current)
{
    atomic_store(&current->stopping, true);
    mirror_stop(current->instance->mirror);
    for (struct instance *instance = current->retired; instance; instance = instance->next)
        mirror_stop(instance->mirror);
}

void current_free(struct current *current)
{
    free_list(current->retired);
    instance_free(current->instance);
    free(current->address);
    pthread_rwlock_destroy(&current->lock);
    pthread_mutex_destroy(&current->retired_lock);
}
