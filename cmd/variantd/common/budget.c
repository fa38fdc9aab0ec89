/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/budget.h"
#include "lib/base/clock.h"

#include <pthread.h>
#include <time.h>

#define LOOK_MS 100 /* interval at which `stop` is checked */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, reading = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static size_t taken, waiting;
static size_t coming[WORKERS_UPSTREAMS_MAX], waiting_for[WORKERS_UPSTREAMS_MAX];

/* With the lock held. */
static void release_bytes(size_t bytes)
{
    taken -= bytes;
    if (waiting)
        pthread_cond_broadcast(&more);
}

static bool acquire(size_t bytes, size_t limit)
{
    pthread_mutex_lock(&lock);
    bool room = taken <= limit && bytes <= limit - taken;
    taken += room ? bytes : 0;
    pthread_mutex_unlock(&lock);
    return room;
}

bool budget_acquire(size_t bytes)
{
    return acquire(bytes, BUDGET_BYTES);
}

bool budget_acquire_spare(size_t bytes, size_t limit)
{
    return acquire(bytes, limit < BUDGET_SPARE ? limit : BUDGET_SPARE);
}

void budget_release(size_t bytes)
{
    pthread_mutex_lock(&lock);
    release_bytes(bytes);
    pthread_mutex_unlock(&lock);
}

bool budget_wait(size_t upstream, size_t bytes, int64_t until_ms, const volatile int *stop)
{
    bool room;
    pthread_mutex_lock(&lock);
    for (;;) {
        room = bytes <= BUDGET_BYTES - taken && coming[upstream] + bytes <= BUDGET_EACH;
        if (room || waiting_for[upstream] >= BUDGET_WAITERS || ocv_clock_ms() >= until_ms ||
            __atomic_load_n(stop, __ATOMIC_RELAXED))
            break;
        const struct timespec until = ocv_clock_after(LOOK_MS);
        waiting++;
        waiting_for[upstream]++;
        pthread_cond_clockwait(&more, &lock, CLOCK_MONOTONIC, &until);
        waiting_for[upstream]--;
        waiting--;
    }
    taken += room ? bytes : 0;
    coming[upstream] += room ? bytes : 0;
    pthread_mutex_unlock(&lock);
    return room;
}

void budget_arrived(size_t upstream, size_t bytes, size_t kept)
{
    pthread_mutex_lock(&lock);
    coming[upstream] -= bytes;
    release_bytes(bytes - kept);
    pthread_mutex_unlock(&lock);
}

void budget_read_begin(size_t bytes)
{
    if (bytes > BUDGET_READ_FREE)
        pthread_mutex_lock(&reading);
}

void budget_read_end(size_t bytes)
{
    if (bytes > BUDGET_READ_FREE)
        pthread_mutex_unlock(&reading);
}
