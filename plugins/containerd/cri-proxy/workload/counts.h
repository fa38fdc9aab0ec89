/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often what has happened, in a file for Prometheus' node exporter (text format). Thread-safe.
 */
#ifndef CRI_PROXY_WORKLOAD_COUNTS_H
#define CRI_PROXY_WORKLOAD_COUNTS_H

#include "ocivariant/error.h"

enum count {
    COUNT_CHOSEN,  /* a pull chose a build for a pod */
    COUNT_KEPT,    /* a pull found that the pod has one */
    COUNT_NODE,    /* the pod's devices are not known: the node's build */
    COUNT_REFUSED, /* a pull or an ImageStatus */
    COUNTS
};

struct counts;
/** `file` NULL: nothing is written. It is there from the start on, with zeroes. */
int counts_new(const char *file, struct counts **out, struct ocv_error *err) OCV_WARN_UNUSED;
void counts_free(struct counts *counts);
/** One more, in the file by the time that this returns. How many there are. */
unsigned long long counts_add(struct counts *counts, enum count what);

#endif
