/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pass.c, the way of a call, and pass_workload.c share. */
#ifndef CRI_PROXY_PASS_INTERNAL_H
#define CRI_PROXY_PASS_INTERNAL_H

#include "plugins/containerd/cri-proxy/proxy.h"

struct passing {
    struct proxy *proxy;
    struct grpc_call *call;
    bool ended;                /* the engine's last word has gone to the client */
    bool known;                /* a pull that was decided without a registry */
    char fresh[TABLE_POD_MAX]; /* uid of a pod that chose in this call, or empty */
    struct ocv_buffer edited;  /* the request with another name, or empty */
    char text[PINNED_TEXT_MAX];
};

/** The request's message and where the image stands in it. */
struct passing_request {
    const uint8_t *message;
    size_t len;
    struct wire_image image;
};
/** Put another name into the request. False, and nothing is changed, where that cannot be done. */
bool pass_edit(struct passing *p, const struct passing_request *request, const char *name);

/* ---- pass_workload.c ------------------------------------------------------------------------- */

/** Is it a call of a repository with `workload`? Then it has been looked at: `*go_on` is false
 * where it was answered here. */
bool pass_workload(struct passing *p, bool pull, const struct decide *how,
                   const struct verdict_policy *policy, const struct passing_request *request,
                   bool *go_on);
/** The engine has answered a pull of one. */
void pass_workload_end(const struct passing *p, bool pulled);

#endif
