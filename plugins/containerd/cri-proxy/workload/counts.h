/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event counters in a file for Prometheus' node exporter (text format). Thread-safe. */
#ifndef CRI_PROXY_WORKLOAD_COUNTS_H
#define CRI_PROXY_WORKLOAD_COUNTS_H

#include "ocivariant/error.h"

enum count {
    COUNT_CHOSEN,                 /* a pull chose a build for a pod */
    COUNT_KEPT,                   /* a pull found the pod's earlier choice */
    COUNT_NODE,                   /* the pod's devices are unknown: the node's build */
    COUNT_REFUSED,                /* a pull or an ImageStatus */
    COUNT_BUILDS,                 /* those above are values of one label */
    COUNT_UNKNOWN = COUNT_BUILDS, /* a pod has an annotation of ours that does not exist */
    COUNTS
};

struct counts;
/** `file` NULL: nothing is written. Otherwise it exists from the start, with zeroes. */
int counts_new(const char *file, struct counts **out, struct ocv_error *err) OCV_WARN_UNUSED;
void counts_free(struct counts *counts);
/** Count one event; the file is updated before this returns. Returns the new count. */
unsigned long long counts_add(struct counts *counts, enum count what);

#endif
