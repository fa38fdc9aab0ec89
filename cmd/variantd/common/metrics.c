/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters are relaxed atomics. Names that come from outside (labels, registries) stand in small
 * tables, bounded so that nobody can make the page grow. A table only grows, and a name is whole
 * before it is counted in: raising one that is there takes no lock. */
#include "cmd/variantd/common/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 256 /* distinct values of a label; the rest counts as "other" */
#define NAME_BYTES 128

static const char *const outcome_names[OUTCOME_COUNT] = {
    [OUTCOME_VARIANT] = "variant",
    [OUTCOME_ORDINARY] = "ordinary",
    [OUTCOME_NO_FIT] = "no_fit",
    [OUTCOME_PASSED] = "passed",
    [OUTCOME_NOT_OURS] = "not_ours",
    [OUTCOME_BASE] = "base",
    [OUTCOME_UNKNOWN_REGISTRY] = "unknown_registry",
    [OUTCOME_DENIED] = "denied",
    [OUTCOME_MISSING] = "missing",
    [OUTCOME_UPSTREAM] = "upstream_error",
    [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_BAD_REQUEST] = "bad_request",
    [OUTCOME_WRITE] = "write",
    [OUTCOME_BUSY] = "busy",
    [OUTCOME_CLIENT_GONE] = "client_gone",
    [OUTCOME_SHADOW] = "shadow",
    [OUTCOME_OFF] = "off",
};

/* Upper bounds of the histogram, microseconds and as Prometheus prints them. */
static const struct {
    int64_t us;
    const char *le;
} buckets[] = {
    {100, "0.0001"},  {250, "0.00025"},   {500, "0.0005"},  {1000, "0.001"}, {2500, "0.0025"},
    {5000, "0.005"},  {10000, "0.01"},    {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"},
    {250000, "0.25"}, {500000, "0.5"},    {1000000, "1"},   {3000000, "3"},  {10000000, "10"},
    {60000000, "60"}, {600000000, "600"},
};
#define N_BUCKETS (sizeof(buckets) / sizeof(*buckets))

/* A counter with one or two labels of free text. */
struct named {
    char first[NAME_BYTES], second[NAME_BYTES];
    atomic_uint_fast64_t count;
};

struct family {
    struct named items[NAMES_MAX + 1];
    atomic_size_t n;
};

struct metrics {
    atomic_uint_fast64_t outcomes[OUTCOME_COUNT];
    atomic_uint_fast64_t bytes, slow_readers;
    atomic_uint_fast64_t latency[N_BUCKETS + 1];
    atomic_uint_fast64_t latency_us;
    atomic_int_fast64_t probed_at_ms, probe_ms;
    atomic_uint_fast64_t probes, profile_changes, misfits, lesser, usurped, unknown_names;
    pthread_mutex_t lock; /* new names of what follows */
    struct family chosen, shadow, errors, upstream, failures, foreign;
};

int metrics_new(struct metrics **out, struct ocv_error *err)
{
    struct metrics *m = calloc(1, sizeof(*m));
    if (!m)
        return ocv_error_nomem(err);
    pthread_mutex_init(&m->lock, NULL);
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

void metrics_request(struct metrics *m, enum outcome outcome, int64_t us, int64_t bytes)
{
    size_t i = 0;
    while (i < N_BUCKETS && us > buckets[i].us)
        i++;
    atomic_fetch_add_explicit(&m->outcomes[outcome], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->latency[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->latency_us, (uint64_t)(us > 0 ? us : 0), memory_order_relaxed);
    if (bytes > 0)
        atomic_fetch_add_explicit(&m->bytes, (uint64_t)bytes, memory_order_relaxed);
}

static bool is_name(const char name[NAME_BYTES], const char *text)
{
    return strncmp(name, text, NAME_BYTES - 1) == 0;
}

static struct named *find(struct family *f, const char *first, const char *second)
{
    size_t n = atomic_load_explicit(&f->n, memory_order_acquire);
    for (size_t i = 0; i < n; i++)
        if (is_name(f->items[i].first, first) && is_name(f->items[i].second, second))
            return &f->items[i];
    return NULL;
}

static void copy_name(char out[NAME_BYTES], const char *text)
{
    size_t n = strnlen(text, NAME_BYTES - 1);
    memcpy(out, text, n);
    out[n] = '\0';
}

/* With the lock held, which keeps other new names out. */
static struct named *add(struct family *f, const char *first, const char *second)
{
    size_t n = atomic_load_explicit(&f->n, memory_order_relaxed);
    if (n > NAMES_MAX) /* the last one counts for all that found no place */
        return &f->items[NAMES_MAX];
    bool full = n == NAMES_MAX;
    copy_name(f->items[n].first, full ? "other" : first);
    copy_name(f->items[n].second, full ? "other" : second);
    atomic_store_explicit(&f->n, n + 1, memory_order_release);
    return &f->items[n];
}

static void raise_named_by(struct metrics *m, struct family *f, const char *first,
                           const char *second, uint64_t n)
{
    struct named *item = find(f, first, second);
    if (!item) {
        pthread_mutex_lock(&m->lock);
        item = find(f, first, second); /* another thread may have been quicker */
        if (!item)
            item = add(f, first, second);
        pthread_mutex_unlock(&m->lock);
    }
    atomic_fetch_add_explicit(&item->count, n, memory_order_relaxed);
}

static void raise_named(struct metrics *m, struct family *f, const char *first, const char *second)
{
    raise_named_by(m, f, first, second, 1);
}

void metrics_chosen(struct metrics *m, const char *label)
{
    raise_named(m, &m->chosen, label ? label : "", "");
}

void metrics_shadow(struct metrics *m, enum outcome outcome, const char *label, uint64_t n)
{
    raise_named_by(m, &m->shadow, outcome_names[outcome], label, n);
}

void metrics_upstream_error(struct metrics *m, const char *registry, const char *kind)
{
    raise_named(m, &m->errors, registry, kind);
}

void metrics_upstream(struct metrics *m, const char *what)
{
    raise_named(m, &m->upstream, what, "");
}

void metrics_slow_reader(struct metrics *m)
{
    atomic_fetch_add_explicit(&m->slow_readers, 1, memory_order_relaxed);
}

void metrics_probe(struct metrics *m, int64_t now_ms, int64_t took_ms, bool changed)
{
    atomic_store_explicit(&m->probed_at_ms, now_ms, memory_order_relaxed);
    atomic_store_explicit(&m->probe_ms, took_ms, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->probes, 1, memory_order_relaxed);
    if (changed)
        metrics_profile_changed(m);
}

void metrics_profile_changed(struct metrics *m)
{
    atomic_fetch_add_explicit(&m->profile_changes, 1, memory_order_relaxed);
}

void metrics_usurped(struct metrics *m, bool usurped)
{
    atomic_store_explicit(&m->usurped, usurped, memory_order_relaxed);
}

void metrics_unknown_names(struct metrics *m, uint64_t n)
{
    atomic_store_explicit(&m->unknown_names, n, memory_order_relaxed);
}

void metrics_misfits(struct metrics *m, uint64_t n)
{
    atomic_store_explicit(&m->misfits, n, memory_order_relaxed);
}

void metrics_lesser(struct metrics *m, uint64_t n)
{
    atomic_store_explicit(&m->lesser, n, memory_order_relaxed);
}

void metrics_provider_failed(struct metrics *m, const char *provider)
{
    raise_named(m, &m->failures, provider, "");
}

void metrics_foreign(struct metrics *m, const char *where)
{
    raise_named(m, &m->foreign, where, "");
}

/* ---- printing ----------------------------------------------------------------------------------
 */

struct page {
    struct ocv_buffer *out;
    int status;
    struct ocv_error *err;
};

#define PRINT(p, ...)                                                         \
    do {                                                                      \
        if ((p)->status == OCV_OK)                                            \
            (p)->status = ocv_buffer_printf((p)->out, (p)->err, __VA_ARGS__); \
    } while (0)

static void head(struct page *p, const char *name, const char *type, const char *help)
{
    PRINT(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: backslash, quote and newline are escaped (text format 0.0.4). */
static void value(struct page *p, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '\\' || *c == '"')
            PRINT(p, "\\%c", *c);
        else if (*c == '\n')
            PRINT(p, "\\n");
        else
            PRINT(p, "%c", *c);
}

static unsigned long long get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void print_family(struct page *p, const struct family *f, const char *name, const char *help,
                         const char *first, const char *second)
{
    size_t n = atomic_load_explicit(&f->n, memory_order_acquire);
    head(p, name, "counter", help);
    for (size_t i = 0; i < n; i++) {
        PRINT(p, "%s{%s=\"", name, first);
        value(p, f->items[i].first);
        if (second) {
            PRINT(p, "\",%s=\"", second);
            value(p, f->items[i].second);
        }
        PRINT(p, "\"} %llu\n", get(&f->items[i].count));
    }
}

static void print_requests(struct page *p, const struct metrics *m)
{
    unsigned long long total = 0;
    head(p, "variantd_requests_total", "counter", "Requests on the mirror by outcome.");
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        PRINT(p, "variantd_requests_total{outcome=\"%s\"} %llu\n", outcome_names[i],
              get(&m->outcomes[i]));
    head(p, "variantd_request_duration_seconds", "histogram",
         "Time from the request's head to the end of its answer.");
    for (size_t i = 0; i <= N_BUCKETS; i++) {
        total += get(&m->latency[i]);
        PRINT(p, "variantd_request_duration_seconds_bucket{le=\"%s\"} %llu\n",
              i < N_BUCKETS ? buckets[i].le : "+Inf", total);
    }
    PRINT(p, "variantd_request_duration_seconds_sum %.6f\n", (double)get(&m->latency_us) / 1e6);
    PRINT(p, "variantd_request_duration_seconds_count %llu\n", total);
    head(p, "variantd_sent_bytes_total", "counter", "Body bytes sent to clients.");
    PRINT(p, "variantd_sent_bytes_total %llu\n", get(&m->bytes));
    head(p, "variantd_slow_readers_total", "counter",
         "Readers of blobs that were cut since others waited for their places.");
    PRINT(p, "variantd_slow_readers_total %llu\n", get(&m->slow_readers));
}

static void print_probes(struct page *p, const struct metrics *m, int64_t now_ms)
{
    int64_t at = atomic_load_explicit(&m->probed_at_ms, memory_order_relaxed);
    int64_t took = atomic_load_explicit(&m->probe_ms, memory_order_relaxed);
    head(p, "variantd_probe_age_seconds", "gauge", "Time since this node was last probed.");
    PRINT(p, "variantd_probe_age_seconds %.3f\n", at ? (double)(now_ms - at) / 1e3 : 0.0);
    head(p, "variantd_probe_duration_seconds", "gauge", "How long the last probe took.");
    PRINT(p, "variantd_probe_duration_seconds %.3f\n", (double)took / 1e3);
    head(p, "variantd_probes_total", "counter", "Probes of this node.");
    PRINT(p, "variantd_probes_total %llu\n", get(&m->probes));
    head(p, "variantd_profile_changes_total", "counter", "Probes that found another profile.");
    PRINT(p, "variantd_profile_changes_total %llu\n", get(&m->profile_changes));
    head(p, "variantd_misfit_images", "gauge", "Images resolved here that no longer fit the node.");
    PRINT(p, "variantd_misfit_images %llu\n", get(&m->misfits));
    head(p, "variantd_foreign_listener", "gauge",
         "1: another program answers at the mirror's address.");
    PRINT(p, "variantd_foreign_listener %llu\n", get(&m->usurped));
    head(p, "variantd_lesser_images", "gauge",
         "Images here that run, though another one of their index fits the node better.");
    PRINT(p, "variantd_lesser_images %llu\n", get(&m->lesser));
    head(p, "variantd_config_unknown_names", "gauge",
         "Names in the configuration that are not known on this node.");
    PRINT(p, "variantd_config_unknown_names %llu\n", get(&m->unknown_names));
}

int metrics_format(struct metrics *m, int64_t now_ms, struct ocv_buffer *out, struct ocv_error *err)
{
    struct page page = {out, OCV_OK, err}, *p = &page;
    head(p, "variantd_build_info", "gauge", "Always 1; the version is the label.");
    PRINT(p, "variantd_build_info{version=\"%s\"} 1\n", ocv_version());
    print_requests(p, m);
    print_probes(p, m, now_ms);
    print_family(p, &m->chosen, "variantd_chosen_total", "Variants announced, by label.", "label",
                 NULL);
    print_family(p, &m->shadow, "variantd_shadow_total",
                 "What requests under `choose: shadow` would have got.", "outcome", "label");
    print_family(p, &m->upstream, "variantd_upstream_requests_total",
                 "Requests to upstream registries, and those the memory saved.", "what", NULL);
    print_family(p, &m->errors, "variantd_upstream_errors_total", "Upstream requests that failed.",
                 "registry", "kind");
    print_family(p, &m->failures, "variantd_provider_failures_total",
                 "Probes in which a provider failed.", "provider", NULL);
    print_family(p, &m->foreign, "variantd_foreign_requests_total",
                 "Requests under a name that is not this machine's, or for a page: answered 404.",
                 "where", NULL);
    return page.status;
}
