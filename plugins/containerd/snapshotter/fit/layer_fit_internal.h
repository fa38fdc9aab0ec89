/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of fit: images being unpacked (layer_fit.c), containers (container.c). */
#ifndef OCV_SNAPSHOTTER_LAYER_FIT_INTERNAL_H
#define OCV_SNAPSHOTTER_LAYER_FIT_INTERNAL_H

#include "plugins/common/verdict.h"
#include "plugins/containerd/snapshotter/fit/layer_fit.h"

#include <pthread.h>

#define REMEMBERED 16u /* answers; an image's layers follow each other */

struct cached_verdict {
    char *key;
    int64_t at;
    struct verdict_answer answer;
};

struct counters {
    unsigned long long fits, lesser, misfit, none, index, unknown, refused, warned;
};

struct snap_fit {
    struct snap_fit_options options;
    char *config_file, *records, *metrics;
    struct snap_meta *meta;
    pthread_rwlock_t policy_lock;
    struct verdict_policy policy;
    int reload; /* atomic */
    pthread_mutex_t lock;
    struct cached_verdict remembered[REMEMBERED];
    size_t next;
    struct counters counters;
};

/** Ask variantd with the label, and with reference and digest if known; for a label alone this
 *  node's records are used. Call with the policy locked. */
void snap_fit_ask(struct snap_fit *f, const struct ocv_verdict_question *q,
                  struct verdict_answer *out);
void snap_fit_count(struct snap_fit *f, const struct verdict_answer *answer);
void snap_fit_log(const struct snap_fit *f, const char *what, const char *text);
/** Refuse, or add labels for a warning. */
enum grpc_code snap_fit_act(const struct verdict_answer *answer, struct ocv_buffer *labels,
                            struct ocv_error *err);
enum grpc_code snap_fit_container(struct snap_fit *f, const char *parent, struct ocv_buffer *labels,
                                  struct ocv_error *err);

#endif
