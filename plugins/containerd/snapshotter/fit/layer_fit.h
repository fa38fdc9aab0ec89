/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether an image about to be unpacked or started fits this node. */
#ifndef OCV_SNAPSHOTTER_LAYER_FIT_H
#define OCV_SNAPSHOTTER_LAYER_FIT_H

#include "lib/internal/records/records.h"
#include "ocivariant.h"
#include "plugins/containerd/snapshotter/meta/meta.h"

#include <stdbool.h>
#include <stddef.h>

struct snap_fit;

struct snap_fit_options {
    const char *config_file; /**< NULL: /etc/ocivariant/config.yaml */
    const char *records;     /**< directory of this node's records; NULL: as configured */
    const char *metrics;     /**< file of the counters in Prometheus' text format; NULL: none */
    void (*log)(const char *line);
};

int snap_fit_new(const struct snap_fit_options *options, struct snap_meta *meta,
                 struct snap_fit **out, struct ocv_error *err) OCV_WARN_UNUSED;
void snap_fit_free(struct snap_fit *fit);
/** Read the configuration again at the next question; may be called from a signal handler. */
void snap_fit_reload(struct snap_fit *fit);
/** Check a Prepare of `parent` with `labels` in containerd's namespace `ns`.
 *  GRPC_FAILED_PRECONDITION: refused, with the reason. Under `warn` our labels are added. */
enum grpc_code snap_fit_prepare(struct snap_fit *fit, const char *ns, const char *parent,
                                struct ocv_buffer *labels, struct ocv_error *err);
/** The snapshot was removed: drop what is known of it. */
void snap_fit_removed(struct snap_fit *fit, const char *name);

#endif
