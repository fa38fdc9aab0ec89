/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/pinned/decision_places.h"

#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 50 /* how often a waiting call sees whether its caller has gone */

void places_init(struct places *places)
{
    memset(places, 0, sizeof(*places));
    pthread_mutex_init(&places->lock, NULL);
    pthread_cond_init(&places->left, NULL);
}

void places_destroy(struct places *places)
{
    pthread_cond_destroy(&places->left);
    pthread_mutex_destroy(&places->lock);
}

/* The entry of that name, else an unused one, else the one that ends first. */
static struct places_host *find(struct places_host *list, unsigned n, const char *host)
{
    struct places_host *other = &list[0];
    for (unsigned i = 0; i < n; i++) {
        if (strncmp(list[i].name, host, PLACES_HOST_MAX - 1) == 0)
            return &list[i];
        if (!list[i].n && list[i].until_ms < other->until_ms)
            other = &list[i];
        if (!list[i].n && other->n)
            other = &list[i];
    }
    return other;
}

static bool is_silent(struct places *places, const char *host)
{
    const struct places_host *h = find(places->silent, PLACES_SILENT_MAX, host);
    return strncmp(h->name, host, PLACES_HOST_MAX - 1) == 0 && h->until_ms > ocv_clock_ms();
}

/* At most half of what the others leave, the last one included. */
static bool take(struct places *places, const char *host)
{
    struct places_host *h = find(places->busy, PLACES_MAX, host);
    bool same = strncmp(h->name, host, PLACES_HOST_MAX - 1) == 0;
    unsigned own = same ? h->n : 0, others = places->taken - own;
    if (places->taken == PLACES_MAX || own >= (PLACES_MAX - others + 1) / 2)
        return false;
    if (!same)
        snprintf(h->name, sizeof(h->name), "%s", host);
    h->n++;
    places->taken++;
    return true;
}

enum place_given places_take(struct places *places, const char *host, const volatile int *gone)
{
    enum place_given given = PLACE_TAKEN;
    pthread_mutex_lock(&places->lock);
    for (;;) {
        given = __atomic_load_n(gone, __ATOMIC_RELAXED) ? PLACE_CANCELLED
                : is_silent(places, host)               ? PLACE_SILENT
                                                        : PLACE_TAKEN;
        if (given != PLACE_TAKEN || take(places, host))
            break;
        const struct timespec until = ocv_clock_after(LOOK_MS);
        pthread_cond_clockwait(&places->left, &places->lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&places->lock);
    return given;
}

void places_leave(struct places *places, const char *host, bool silent)
{
    pthread_mutex_lock(&places->lock);
    find(places->busy, PLACES_MAX, host)->n--;
    places->taken--;
    struct places_host *h = find(places->silent, PLACES_SILENT_MAX, host);
    if (silent) {
        snprintf(h->name, sizeof(h->name), "%s", host);
        h->until_ms = ocv_clock_ms() + PLACES_SILENT_MS;
    } else if (strncmp(h->name, host, PLACES_HOST_MAX - 1) == 0) {
        h->until_ms = 0;
    }
    pthread_cond_broadcast(&places->left);
    pthread_mutex_unlock(&places->lock);
}
