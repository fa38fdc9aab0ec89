/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by metrics.c, which raises counters, and metrics_page.c, which prints them. */
#ifndef VARIANTD_METRICS_INTERNAL_H
#define VARIANTD_METRICS_INTERNAL_H

#include "cmd/variantd/common/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define NAMES_MAX 256 /* distinct values of a label; further ones count as "other" */
#define NAME_BYTES 128
#define LATENCY_BUCKETS 17

/* Upper bounds of the histogram, in microseconds and as Prometheus prints them. */
struct latency_bucket {
    int64_t us;
    const char *le;
};
extern const struct latency_bucket latency_buckets[];

/* A counter with one or two labels of free text. */
struct named_counter {
    char first[NAME_BYTES], second[NAME_BYTES];
    atomic_uint_fast64_t count;
};

struct family {
    struct named_counter items[NAMES_MAX + 1];
    atomic_size_t n;
};

struct metrics {
    atomic_uint_fast64_t numbers[METRIC_COUNT]; /* of those that are a single one */
    atomic_uint_fast64_t outcomes[OUTCOME_COUNT];
    atomic_uint_fast64_t latency[LATENCY_BUCKETS + 1];
    atomic_uint_fast64_t latency_us;
    atomic_int_fast64_t probed_at_ms, probe_ms;
    atomic_int_fast64_t config_read_ms; /* Unix time */
    int64_t started_ms;                 /* the same, never changed */
    pthread_mutex_t lock;               /* for adding names to the tables below */
    struct family families[METRICS_FAMILIES];
};

#endif
