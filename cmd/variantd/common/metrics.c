/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters are relaxed atomics. Names from outside (labels, registries) are kept in small bounded
 * tables, so that clients cannot make the page grow without limit. Tables only grow, and an entry
 * is complete before its count becomes visible, so raising an existing counter takes no lock. */
#include "cmd/variantd/common/metrics_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const outcome_names[OUTCOME_COUNT] = {OUTCOME_TABLE};

const struct latency_bucket latency_buckets[] = {
    {100, "0.0001"},  {250, "0.00025"},   {500, "0.0005"},  {1000, "0.001"}, {2500, "0.0025"},
    {5000, "0.005"},  {10000, "0.01"},    {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"},
    {250000, "0.25"}, {500000, "0.5"},    {1000000, "1"},   {3000000, "3"},  {10000000, "10"},
    {60000000, "60"}, {600000000, "600"},
};
_Static_assert(sizeof(latency_buckets) / sizeof(*latency_buckets) == LATENCY_BUCKETS, "count");

static int64_t unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int metrics_new(struct metrics **out, struct ocv_error *err)
{
    struct metrics *m = calloc(1, sizeof(*m));
    if (!m)
        return ocv_error_nomem(err);
    pthread_mutex_init(&m->lock, NULL);
    m->started_ms = unix_ms();
    *out = m;
    return OCV_OK;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    free(m);
}

const char *metrics_outcome_name(enum outcome outcome)
{
    return outcome_names[outcome];
}

void metrics_add(struct metrics *m, enum metric metric, uint64_t n)
{
    atomic_fetch_add_explicit(&m->numbers[metric], n, memory_order_relaxed);
}

void metrics_set(struct metrics *m, enum metric metric, uint64_t n)
{
    atomic_store_explicit(&m->numbers[metric], n, memory_order_relaxed);
}

uint64_t metrics_get(const struct metrics *m, enum metric metric)
{
    return atomic_load_explicit(&m->numbers[metric], memory_order_relaxed);
}

void metrics_request(struct metrics *m, enum outcome outcome, int64_t us, int64_t bytes)
{
    size_t i = 0;
    while (i < LATENCY_BUCKETS && us > latency_buckets[i].us)
        i++;
    atomic_fetch_add_explicit(&m->outcomes[outcome], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->latency[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->latency_us, (uint64_t)(us > 0 ? us : 0), memory_order_relaxed);
    if (bytes > 0)
        metrics_add(m, METRIC_SENT_BYTES_TOTAL, (uint64_t)bytes);
}

static struct named_counter *find_named(struct family *f, const char *first, const char *second)
{
    size_t n = atomic_load_explicit(&f->n, memory_order_acquire);
    for (size_t i = 0; i < n; i++)
        if (strncmp(f->items[i].first, first, NAME_BYTES - 1) == 0 &&
            strncmp(f->items[i].second, second, NAME_BYTES - 1) == 0)
            return &f->items[i];
    return NULL;
}

void metrics_raise(struct metrics *m, enum metrics_family family, const char *first,
                   const char *second, uint64_t n)
{
    struct family *f = &m->families[family];
    second = second ? second : "";
    struct named_counter *item = find_named(f, first, second);
    if (!item) {
        pthread_mutex_lock(&m->lock);
        item = find_named(f, first, second); /* another thread may have added it */
        size_t used = atomic_load_explicit(&f->n, memory_order_relaxed);
        if (!item && used > NAMES_MAX) {
            item = &f->items[NAMES_MAX]; /* the last counter takes all further names */
        } else if (!item) {
            item = &f->items[used];
            snprintf(item->first, NAME_BYTES, "%s", used == NAMES_MAX ? "other" : first);
            snprintf(item->second, NAME_BYTES, "%s", used == NAMES_MAX ? "other" : second);
            atomic_store_explicit(&f->n, used + 1, memory_order_release);
        }
        pthread_mutex_unlock(&m->lock);
    }
    atomic_fetch_add_explicit(&item->count, n, memory_order_relaxed);
}

void metrics_probe(struct metrics *m, int64_t now_ms, int64_t took_ms, bool changed)
{
    atomic_store_explicit(&m->probed_at_ms, now_ms, memory_order_relaxed);
    atomic_store_explicit(&m->probe_ms, took_ms, memory_order_relaxed);
    metrics_add(m, METRIC_PROBES_TOTAL, 1);
    metrics_add(m, METRIC_PROFILE_CHANGES_TOTAL, changed);
}

void metrics_config_read(struct metrics *m, bool valid)
{
    metrics_set(m, METRIC_CONFIG_LAST_RELOAD_SUCCESSFUL, valid);
    if (valid)
        atomic_store_explicit(&m->config_read_ms, unix_ms(), memory_order_relaxed);
}
