/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The filters of List. */
#ifndef OCV_SNAPSHOTTER_FILTER_H
#define OCV_SNAPSHOTTER_FILTER_H

#include "plugins/containerd/snapshotter/types/snapshot.h"

#define SNAP_FILTERS_MAX 256u /**< filters of a List */

struct snap_filter;
/** One of `texts` must match; without any everything matches. GRPC_INVALID_ARGUMENT if
 *  malformed. */
enum grpc_code snap_filter_new(char *const *texts, size_t n, struct snap_filter **out,
                               struct ocv_error *err);
void snap_filter_free(struct snap_filter *filter);
bool snap_filter_match(const struct snap_filter *filter, const struct snap_info *info);

#endif
