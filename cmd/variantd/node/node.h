/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node can run: the profile, probed at the start and after changes. Readers take a
 * reference to an immutable snapshot, so that one request sees one profile. */
#ifndef VARIANTD_NODE_H
#define VARIANTD_NODE_H

#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

/** The result of one probe. Immutable. */
struct snapshot {
    struct ocv_profile *profile; /**< with the configuration's overrides */
    struct ocv_buffer json;      /**< the answer of /v1/profile */
    uint64_t generation; /**< increased with every change; part of the keys of cached decisions */
    int64_t probed_at;   /**< monotonic milliseconds of the last probe with this result */
};

struct node;
/** Probe, or read settings->profile_file. `last` (may be NULL): the node before a reload. If both
 *  probe, the new one starts with the last snapshot and probes in parallel, so that a reload never
 *  waits for a driver that hangs. */
int node_new(const struct settings *settings, struct metrics *metrics, struct node *last,
             struct node **out, struct ocv_error *err) OCV_WARN_UNUSED;
void node_free(struct node *node);
/** The current snapshot with a reference taken. Never NULL. Any thread. */
const struct snapshot *node_get(struct node *node);
void node_put(const struct snapshot *snapshot);
/** The generation only, without a reference: one atomic read. */
uint64_t node_generation(const struct node *node);
/** Log and count the differences to the node before a reload. */
void node_compare(struct node *old, struct node *fresh, const char *why, struct metrics *metrics);

#endif
