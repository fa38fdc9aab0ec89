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
uint64_t metrics_get(const struct metrics *metrics, enum metric metric);
/** A request has ended after `us` microseconds and `bytes` of body. */
void metrics_request(struct metrics *metrics, enum outcome outcome, int64_t us, int64_t bytes);
/** A variant was announced. The number of labels is bounded: after 256, new ones count as
 *  "other". */
void metrics_chosen(struct metrics *metrics, const char *label);
/** What `n` requests under `choose: shadow` would have been answered with; `label` of the variant,
 *  or empty. */
void metrics_shadow(struct metrics *metrics, enum outcome outcome, const char *label, uint64_t n);
/** An upstream request failed; `kind`: "network", "denied", "data", "mismatch", "http_5xx", ... */
void metrics_upstream_error(struct metrics *metrics, const char *registry, const char *kind);
/** An upstream request was sent ("head", "get", "blob"), or saved by a cache ("remembered"). */
void metrics_upstream(struct metrics *metrics, const char *what);
/** The node was probed at `now_ms` (monotonic) in `took_ms`. */
void metrics_probe(struct metrics *metrics, int64_t now_ms, int64_t took_ms, bool changed);
/** A browser sent this request for a page of another site; `where`: "mirror" or "api". */
void metrics_foreign(struct metrics *metrics, const char *where);
/** The configuration was read, at the start or on a reload. `valid`: it is in force now. */
void metrics_config_read(struct metrics *metrics, bool valid);
/** A credential provider was run; `how`: "ok", "failed", "timeout". */
void metrics_credential_provider(struct metrics *metrics, const char *provider, const char *how);
/** A provider failed in a probe. */
void metrics_provider_failed(struct metrics *metrics, const char *provider);
/** Print everything. */
int metrics_format(struct metrics *metrics, int64_t now_ms, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
