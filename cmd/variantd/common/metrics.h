/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters that any thread raises and /metrics prints (Prometheus text format 0.0.4).
 * schema/daemon-metrics.yaml lists their names and the outcomes of requests. */
#ifndef VARIANTD_METRICS_H
#define VARIANTD_METRICS_H

#include "gen/daemon-metrics.h"
#include "ocivariant.h"

#include <stdbool.h>
#include <stdint.h>

struct metrics;
int metrics_new(struct metrics **out, struct ocv_error *err) OCV_WARN_UNUSED;
void metrics_free(struct metrics *metrics);
const char *metrics_outcome_name(enum outcome outcome);
/** For the metrics that are a single number. */
void metrics_add(struct metrics *metrics, enum metric metric, uint64_t n);
void metrics_set(struct metrics *metrics, enum metric metric, uint64_t n);
#define METRICS_ABSENT UINT64_MAX /**< of a gauge that is left out while it is not known */
uint64_t metrics_get(const struct metrics *metrics, enum metric metric);
/** A request has ended after `us` microseconds and `bytes` of body. */
void metrics_request(struct metrics *metrics, enum outcome outcome, int64_t us, int64_t bytes);
/** Counters for each value of one or two labels. After 256 values new ones count as "other". */
enum metrics_family {
    METRICS_CHOSEN,   /**< announced variants: label */
    METRICS_SHADOW,   /**< what requests under `choose: shadow` would have been answered with:
                         outcome, label of the variant, or empty */
    METRICS_ERRORS,   /**< failed upstream requests: registry; "network", "denied", "data",
                         "mismatch", "http_5xx", ... */
    METRICS_UPSTREAM, /**< upstream requests: "head", "get", "blob", or "remembered" where a cache
                         saved one */
    METRICS_FAILURES, /**< providers that failed in a probe */
    METRICS_FOREIGN,  /**< requests of a browser for a page of another site: "mirror" or "api" */
    METRICS_CREDENTIALS, /**< runs of credential providers: provider; "ok", "failed", "timeout" */
    METRICS_FAMILIES
};
/** `second`: NULL where there is one label. */
void metrics_raise(struct metrics *metrics, enum metrics_family family, const char *first,
                   const char *second, uint64_t n);
/** The node was probed at `now_ms` (monotonic) in `took_ms`. */
void metrics_probe(struct metrics *metrics, int64_t now_ms, int64_t took_ms, bool changed);
/** The configuration was read, at the start or on a reload. `valid`: it is in force now. */
void metrics_config_read(struct metrics *metrics, bool valid);
/** Print everything. */
int metrics_format(struct metrics *metrics, int64_t now_ms, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
