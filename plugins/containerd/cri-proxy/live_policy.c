/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/proxy.h"

#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct shared_policy {
    struct verdict_policy policy; /* first member: users have its address */
    unsigned users;               /* including the live_policy itself while it is current */
};

struct live_policy {
    char *file;
    int reload; /* atomic */
    unsigned generation;
    pthread_mutex_t lock;
    struct shared_policy *current;
};

static int read_file(const char *file, struct shared_policy **out, struct ocv_error *err)
{
    struct shared_policy *held = calloc(1, sizeof(*held));
    if (!held)
        return ocv_error_nomem(err);
    int status = verdict_policy_read(file, &held->policy, err);
    if (status < 0) {
        free(held);
        return status;
    }
    held->users = 1;
    *out = held;
    return OCV_OK;
}

/* Call with the lock held. */
static void give_up(struct shared_policy *held)
{
    if (--held->users)
        return;
    verdict_policy_free(&held->policy);
    free(held);
}

int live_policy_new(const char *file, struct live_policy **out, struct ocv_error *err)
{
    struct live_policy *live = calloc(1, sizeof(*live));
    if (!live)
        return ocv_error_nomem(err);
    pthread_mutex_init(&live->lock, NULL);
    live->file = file ? strdup(file) : NULL;
    int status = file && !live->file ? ocv_error_nomem(err) : read_file(file, &live->current, err);
    if (status < 0) {
        live_policy_free(live);
        return status;
    }
    *out = live;
    return OCV_OK;
}

void live_policy_free(struct live_policy *live)
{
    if (!live)
        return;
    if (live->current)
        give_up(live->current);
    pthread_mutex_destroy(&live->lock);
    free(live->file);
    free(live);
}

void live_policy_reload(struct live_policy *live)
{
    __atomic_store_n(&live->reload, 1, __ATOMIC_RELEASE);
}

const struct verdict_policy *live_policy_get(struct live_policy *live)
{
    struct ocv_error err = {0};
    struct shared_policy *fresh = NULL;
    pthread_mutex_lock(&live->lock);
    bool again = __atomic_exchange_n(&live->reload, 0, __ATOMIC_ACQ_REL);
    if (again && read_file(live->file, &fresh, &err) < 0) {
        log_line("keeping the old configuration: %s", err.message);
    } else if (again) {
        give_up(live->current);
        live->current = fresh;
        live->generation++;
        log_line("configuration read again");
    }
    struct shared_policy *held = live->current;
    held->users++;
    pthread_mutex_unlock(&live->lock);
    return &held->policy;
}

void live_policy_put(struct live_policy *live, const struct verdict_policy *policy)
{
    pthread_mutex_lock(&live->lock);
    give_up((struct shared_policy *)(uintptr_t)policy);
    pthread_mutex_unlock(&live->lock);
}

unsigned live_policy_generation(struct live_policy *live)
{
    pthread_mutex_lock(&live->lock);
    unsigned generation = live->generation;
    pthread_mutex_unlock(&live->lock);
    return generation;
}
