/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slots for decisions: decide.h says what they are. */
#include "lib/base/clock.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 50 /* how often a waiting call sees whether its caller has gone */

void slots_init(struct slots *slots)
{
    memset(slots, 0, sizeof(*slots));
    pthread_mutex_init(&slots->lock, NULL);
    pthread_cond_init(&slots->left, NULL);
}

void slots_destroy(struct slots *slots)
{
    pthread_cond_destroy(&slots->left);
    pthread_mutex_destroy(&slots->lock);
}

/* The entry of that name, else an unused one, else the one that ends first. */
static struct slots_host *find(struct slots_host *list, unsigned n, const char *host)
{
    struct slots_host *other = &list[0];
    for (unsigned i = 0; i < n; i++) {
        if (strncmp(list[i].name, host, SLOTS_HOST_MAX - 1) == 0)
            return &list[i];
        if (!list[i].n && list[i].until_ms < other->until_ms)
            other = &list[i];
        if (!list[i].n && other->n)
            other = &list[i];
    }
    return other;
}

enum slot_given slots_take(struct slots *slots, const char *host, const volatile int *gone)
{
    enum slot_given given = SLOT_TAKEN;
    pthread_mutex_lock(&slots->lock);
    for (;;) {
        const struct slots_host *h = find(slots->silent, SLOTS_SILENT_MAX, host);
        bool silent =
            strncmp(h->name, host, SLOTS_HOST_MAX - 1) == 0 && h->until_ms > ocv_clock_ms();
        given = __atomic_load_n(gone, __ATOMIC_RELAXED) ? SLOT_CANCELLED
                : silent                                ? SLOT_SILENT
                                                        : SLOT_TAKEN;
        if (given != SLOT_TAKEN)
            break;
        /* At most half of what the others leave, the last one included. */
        struct slots_host *b = find(slots->busy, SLOTS_MAX, host);
        bool same = strncmp(b->name, host, SLOTS_HOST_MAX - 1) == 0;
        unsigned own = same ? b->n : 0, others = slots->taken - own;
        if (slots->taken < SLOTS_MAX && own < (SLOTS_MAX - others + 1) / 2) {
            if (!same)
                snprintf(b->name, sizeof(b->name), "%s", host);
            b->n++;
            slots->taken++;
            break;
        }
        const struct timespec until = ocv_clock_after(LOOK_MS);
        pthread_cond_clockwait(&slots->left, &slots->lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&slots->lock);
    return given;
}

void slots_leave(struct slots *slots, const char *host, bool silent)
{
    pthread_mutex_lock(&slots->lock);
    find(slots->busy, SLOTS_MAX, host)->n--;
    slots->taken--;
    struct slots_host *h = find(slots->silent, SLOTS_SILENT_MAX, host);
    if (silent) {
        snprintf(h->name, sizeof(h->name), "%s", host);
        h->until_ms = ocv_clock_ms() + SLOTS_SILENT_MS;
    } else if (strncmp(h->name, host, SLOTS_HOST_MAX - 1) == 0) {
        h->until_ms = 0;
    }
    pthread_cond_broadcast(&slots->left);
    pthread_mutex_unlock(&slots->lock);
}
