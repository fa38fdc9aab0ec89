/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The changes between two profiles, as text for a log. */
#ifndef VARIANTD_NODE_DIFF_H
#define VARIANTD_NODE_DIFF_H

#include "cmd/variantd/common/metrics.h"

/** Compare two profiles (JSON). True if they differ in meaning; `out` then has a line for each
 *  change: "nvidia: cuda_version_lower_bound -12.8 -12.7", "nvidia: device 0000:3b:00.0 gone". */
bool node_diff(const struct ocv_buffer *before, const struct ocv_buffer *after,
               struct ocv_buffer *out);
/** Count the failed providers, and the devices that do not answer on the bus. */
void node_diff_failures(const struct ocv_buffer *profile, struct metrics *metrics);

#endif
