/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does what is about to be unpacked, or started, fit this node? */
#ifndef OCV_SNAPSHOTTER_JUDGE_H
#define OCV_SNAPSHOTTER_JUDGE_H

#include "plugins/containerd/snapshotter/snapshotter.h"

struct snap_judge;

struct snap_judge_options {
    const char *config_file; /**< NULL: /etc/ocivariant/config.yaml */
    const char *records;     /**< directory of what was resolved on this node */
    const char *metrics;     /**< file for the counters, Prometheus' text format; NULL: none */
    void (*log)(const char *line);
};

int snap_judge_new(const struct snap_judge_options *options, struct snap_meta *meta,
                   struct snap_judge **out, struct ocv_error *err) OCV_WARN_UNUSED;
void snap_judge_free(struct snap_judge *judge);
/** Read the configuration again at the next question; from a signal handler, too. */
void snap_judge_reload(struct snap_judge *judge);
/** A Prepare of `parent` under `labels` in containerd's namespace `ns`. GRPC_FAILED_PRECONDITION:
 *  refused, with the reason. Under `warn`, labels of ours are added. */
enum grpc_code snap_judge_prepare(struct snap_judge *judge, const char *ns, const char *parent,
                                  struct ocv_buffer *labels, struct ocv_error *err);
/** The snapshot has gone: so has what was known of it. */
void snap_judge_removed(struct snap_judge *judge, const char *name);

#endif
