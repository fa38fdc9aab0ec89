/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod's annotations about its image, checked and in canonical form: equal wishes give equal text,
 * which is part of a choice's key and of its file. */
#ifndef CRI_PROXY_WORKLOAD_WISHES_H
#define CRI_PROXY_WORKLOAD_WISHES_H

#include "lib/internal/config/config.h"
#include "plugins/containerd/cri-proxy/workload/request.h"

#define WISH_MAX 4096u               /**< bytes of one annotation */
#define WISHES_TEXT_MAX (16u * 1024) /**< of all of them in canonical form */
#define WISH_LABEL_MAX 64u

enum wishes_devices {
    WISHES_UNSAID,
    WISHES_NODE, /**< "node": as if the pod had all devices of the node */
    WISHES_CPU,  /**< "cpu": as if it had none */
    WISHES_NAMED /**< NS=ID[,ID][;NS=...] */
};

struct workload_wishes {
    char *text;                /**< "label=a\nrequire=nvidia\n"; empty without wishes */
    struct ocv_config *config; /**< require, disable and devices as in a configuration */
    char label[WISH_LABEL_MAX];
    enum wishes_devices devices;
};

/** Read those annotations of a request that `config` (`workload_annotations`) permits.
 *  OCV_ERR_INVALID if one is malformed, with the annotation and its value. Filled even then. */
int workload_wishes_read(const struct workload_request *request, const struct ocv_config *config,
                         struct workload_wishes *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Parse untrusted text in canonical form. */
int workload_wishes_parse(const char *text, struct workload_wishes *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
void workload_wishes_free(struct workload_wishes *wishes);

#endif
