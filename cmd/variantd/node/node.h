/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node can run: the profile, probed at start and again when something changed. Readers
 * take a reference to an immutable snapshot, so that one request sees one profile. */
#ifndef VARIANTD_NODE_H
#define VARIANTD_NODE_H

#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

/** One probe's answer. Immutable. */
struct snapshot {
    struct ocv_profile *profile; /**< with the configuration's overrides */
    struct ocv_buffer json;      /**< what /v1/profile answers */
    uint64_t generation;         /**< counts up with every change: decisions are kept under it */
    int64_t probed_at;           /**< monotonic milliseconds of the last probe that gave this */
};

struct node;
/** Probe, or read settings->profile_file. `last` (may be NULL): the node before a reload; where
 * both probe, the new one begins with what that one knows and probes at once beside it, so that no
 *  setting waits for a driver that hangs. */
int node_new(const struct settings *settings, struct metrics *metrics, struct node *last,
             struct node **out, struct ocv_error *err) OCV_WARN_UNUSED;
void node_free(struct node *node);
/** Current snapshot with a reference taken. Never NULL. Any thread. */
const struct snapshot *node_get(struct node *node);
void node_put(const struct snapshot *snapshot);
/** The generation alone, without a reference: one atomic read. */
uint64_t node_generation(const struct node *node);
/** Log and count what another node's profile has otherwise, after a reload. */
void node_compare(struct node *old, struct node *fresh, const char *why, struct metrics *metrics);

#endif
