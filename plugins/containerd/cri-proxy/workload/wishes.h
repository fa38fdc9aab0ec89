/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a pod says about its image by annotations, checked and in one form: two pods that say the
 * same have the same text, which is part of a decision's key and stands in its file. */
#ifndef CRI_PROXY_WORKLOAD_WISHES_H
#define CRI_PROXY_WORKLOAD_WISHES_H

#include "lib/config/config.h"
#include "plugins/containerd/cri-proxy/workload/request.h"

#define WISH_MAX 4096u               /**< bytes of one annotation */
#define WISHES_TEXT_MAX (16u * 1024) /**< of all of them in one form */
#define WISH_LABEL_MAX 64u

enum wishes_devices {
    WISHES_UNSAID,
    WISHES_NODE, /**< "node": as if the pod had all that the node has */
    WISHES_CPU,  /**< "cpu": as if it had none */
    WISHES_NAMED /**< NS=ID[,ID][;NS=...] */
};

struct workload_wishes {
    char *text;                /**< "label=a\nrequire=nvidia\n"; empty where nothing is said */
    struct ocv_config *config; /**< require, disable and devices as a configuration has them */
    char label[WISH_LABEL_MAX];
    enum wishes_devices devices;
};

/** Those of a request that `config` (`workload_annotations`) lets count. A malformed one:
 *  OCV_ERR_INVALID, with the annotation and its value. Filled even then. */
int workload_wishes_read(const struct workload_request *request, const struct ocv_config *config,
                         struct workload_wishes *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Those of a text in that form, which is not trusted. */
int workload_wishes_parse(const char *text, struct workload_wishes *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
void workload_wishes_free(struct workload_wishes *wishes);

#endif
