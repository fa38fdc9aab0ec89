/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page that /metrics answers. Names, types and help are those of schema/daemon-metrics.yaml. */
#include "cmd/variantd/common/metrics_internal.h"
#include "lib/base/cleanup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
    const char *name, *type, *labels[2], *help;
} infos[METRIC_COUNT] = {METRIC_TABLE};

struct metrics_page {
    struct ocv_buffer *out;
    int status;
    struct ocv_error *err;
};

#define PRINT(p, ...)                                                         \
    do {                                                                      \
        if ((p)->status == OCV_OK)                                            \
            (p)->status = ocv_buffer_printf((p)->out, (p)->err, __VA_ARGS__); \
    } while (0)

static void print_head(struct metrics_page *p, enum metric metric)
{
    const char *name = infos[metric].name;
    PRINT(p, "# HELP %s %s\n# TYPE %s %s\n", name, infos[metric].help, name, infos[metric].type);
}

static void print_count(struct metrics_page *p, enum metric metric, uint64_t count)
{
    print_head(p, metric);
    PRINT(p, "%s %llu\n", infos[metric].name, (unsigned long long)count);
}

static void print_number(struct metrics_page *p, const struct metrics *m, enum metric metric)
{
    print_count(p, metric, metrics_get(m, metric));
}

static void print_seconds(struct metrics_page *p, enum metric metric, double seconds)
{
    print_head(p, metric);
    PRINT(p, "%s %.3f\n", infos[metric].name, seconds);
}

/* A label's value: backslash, quote and newline are escaped (text format 0.0.4). */
static void print_value(struct metrics_page *p, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '\\' || *c == '"')
            PRINT(p, "\\%c", *c);
        else if (*c == '\n')
            PRINT(p, "\\n");
        else
            PRINT(p, "%c", *c);
}

static uint64_t read_counter(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void print_family(struct metrics_page *p, enum metric metric, const struct family *f)
{
    size_t n = atomic_load_explicit(&f->n, memory_order_acquire);
    const char *const *labels = infos[metric].labels;
    print_head(p, metric);
    for (size_t i = 0; i < n; i++) {
        PRINT(p, "%s{%s=\"", infos[metric].name, labels[0]);
        print_value(p, f->items[i].first);
        if (labels[1]) {
            PRINT(p, "\",%s=\"", labels[1]);
            print_value(p, f->items[i].second);
        }
        PRINT(p, "\"} %llu\n", (unsigned long long)read_counter(&f->items[i].count));
    }
}

/* The kernel's numbers about this process that Prometheus client libraries report; one that cannot
 * be read is 0. */
static void print_process(struct metrics_page *p, const struct metrics *m)
{
    struct rusage used = {0};
    struct rlimit limit;
    (void)getrusage(RUSAGE_SELF, &used);
    print_seconds(p, METRIC_PROCESS_CPU_SECONDS_TOTAL,
                  (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    ocv_auto_dir DIR *dir = opendir("/proc/self/fd");
    uint64_t files = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        files += entry->d_name[0] != '.';
    /* without the entry of the directory itself */
    print_count(p, METRIC_PROCESS_OPEN_FDS, files > 0 ? files - 1 : 0);
    print_count(p, METRIC_PROCESS_MAX_FDS,
                getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0);
    /* the first two numbers are pages: all, and those in memory (proc(5)) */
    char line[128], *end = NULL;
    ocv_auto_file FILE *file = fopen("/proc/self/statm", "re");
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    bool read = file && fgets(line, sizeof(line), file);
    print_count(p, METRIC_PROCESS_VIRTUAL_MEMORY_BYTES, read ? strtoull(line, &end, 10) * page : 0);
    print_count(p, METRIC_PROCESS_VIRTUAL_MEMORY_MAX_BYTES,
                getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : 0);
    print_count(p, METRIC_PROCESS_RESIDENT_MEMORY_BYTES, read ? strtoull(end, NULL, 10) * page : 0);
    print_seconds(p, METRIC_PROCESS_START_TIME_SECONDS, (double)m->started_ms / 1e3);
}

int metrics_format(struct metrics *m, int64_t now_ms, struct ocv_buffer *out, struct ocv_error *err)
{
    struct metrics_page page = {out, OCV_OK, err}, *p = &page;
    print_head(p, METRIC_BUILD_INFO);
    PRINT(p, "%s{%s=\"%s\"} 1\n", infos[METRIC_BUILD_INFO].name, infos[METRIC_BUILD_INFO].labels[0],
          ocv_version());
    print_head(p, METRIC_REQUESTS_TOTAL);
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        PRINT(p, "%s{%s=\"%s\"} %llu\n", infos[METRIC_REQUESTS_TOTAL].name,
              infos[METRIC_REQUESTS_TOTAL].labels[0], metrics_outcome_name((enum outcome)i),
              (unsigned long long)read_counter(&m->outcomes[i]));
    const char *name = infos[METRIC_REQUEST_DURATION_SECONDS].name;
    unsigned long long total = 0;
    print_head(p, METRIC_REQUEST_DURATION_SECONDS);
    for (size_t i = 0; i <= LATENCY_BUCKETS; i++) {
        total += read_counter(&m->latency[i]);
        PRINT(p, "%s_bucket{le=\"%s\"} %llu\n", name,
              i < LATENCY_BUCKETS ? latency_buckets[i].le : "+Inf", total);
    }
    PRINT(p, "%s_sum %.6f\n", name, (double)read_counter(&m->latency_us) / 1e6);
    PRINT(p, "%s_count %llu\n", name, total);
    print_number(p, m, METRIC_SENT_BYTES_TOTAL);
    print_number(p, m, METRIC_SLOW_READERS_TOTAL);
    int64_t at = atomic_load_explicit(&m->probed_at_ms, memory_order_relaxed);
    int64_t took = atomic_load_explicit(&m->probe_ms, memory_order_relaxed);
    int64_t read = atomic_load_explicit(&m->config_read_ms, memory_order_relaxed);
    print_seconds(p, METRIC_PROBE_AGE_SECONDS, at ? (double)(now_ms - at) / 1e3 : 0.0);
    print_seconds(p, METRIC_PROBE_DURATION_SECONDS, (double)took / 1e3);
    print_number(p, m, METRIC_PROBES_TOTAL);
    print_number(p, m, METRIC_PROFILE_CHANGES_TOTAL);
    print_number(p, m, METRIC_MISFIT_IMAGES);
    print_number(p, m, METRIC_FOREIGN_LISTENER);
    if (metrics_get(m, METRIC_LESSER_IMAGES) == METRICS_ABSENT)
        print_head(p, METRIC_LESSER_IMAGES); /* what it is, and that nobody has told */
    else
        print_number(p, m, METRIC_LESSER_IMAGES);
    print_number(p, m, METRIC_STARTUP_TAINTS_EXPIRED_TOTAL);
    print_number(p, m, METRIC_ENGINE_NOT_CONFIGURED);
    print_number(p, m, METRIC_CONFIG_UNKNOWN_NAMES);
    print_number(p, m, METRIC_LOST_DEVICES);
    print_number(p, m, METRIC_CONFIG_LAST_RELOAD_SUCCESSFUL);
    print_seconds(p, METRIC_CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS, (double)read / 1e3);
    print_family(p, METRIC_CHOSEN_TOTAL, &m->families[METRICS_CHOSEN]);
    print_family(p, METRIC_SHADOW_TOTAL, &m->families[METRICS_SHADOW]);
    print_number(p, m, METRIC_DENY_TOTAL);
    print_number(p, m, METRIC_UNTRUSTED_TOTAL);
    print_number(p, m, METRIC_SPARSE_NEXT_TOTAL);
    print_family(p, METRIC_UPSTREAM_REQUESTS_TOTAL, &m->families[METRICS_UPSTREAM]);
    print_family(p, METRIC_UPSTREAM_ERRORS_TOTAL, &m->families[METRICS_ERRORS]);
    print_family(p, METRIC_PROVIDER_FAILURES_TOTAL, &m->families[METRICS_FAILURES]);
    print_family(p, METRIC_FOREIGN_REQUESTS_TOTAL, &m->families[METRICS_FOREIGN]);
    print_number(p, m, METRIC_UNRECORDED_CHOICES_TOTAL);
    print_family(p, METRIC_CREDENTIAL_PROVIDER_RUNS_TOTAL, &m->families[METRICS_CREDENTIALS]);
    print_process(p, m);
    return page.status;
}
