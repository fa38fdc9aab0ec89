/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by pass.c, which handles a call, and pass_workload.c. */
#ifndef CRI_PROXY_PASS_INTERNAL_H
#define CRI_PROXY_PASS_INTERNAL_H

#include "plugins/containerd/cri-proxy/proxy.h"

struct passing {
    struct proxy *proxy;
    struct grpc_call *call;
    bool ended;                      /* the engine's answer has been received completely */
    struct ocv_buffer trailers;      /* its end, with which the call ends */
    bool known;                      /* a pull decided without asking a registry */
    char fresh[STATE_POD_MAX];       /* uid of a pod whose choice was made in this call, or empty */
    struct ocv_buffer edited;        /* the request with another name, or empty */
    char text[PINNED_TEXT_MAX];      /* the image in the request, cut if it is too long */
    struct ocv_reference *reference; /* parsed from `text`; NULL if that is cut or invalid */
};

/** The request's message and the position of the image in it. */
struct passing_request {
    const uint8_t *message;
    size_t len;
    struct wire_image image;
};
/** Put another name into the request. False, with nothing changed, if that is impossible. */
bool pass_edit(struct passing *p, const struct passing_request *request, const char *name);

/** Leave the place to ask the registry of `reference`. `silent`: it sent nothing in time; a caller
 * that has gone says nothing about it. */
void pass_leave_place(struct passing *p, bool silent);

/** True if the repository has `workload`, and the call has been examined; `*go_on` is false if it
 *  has been answered. */
bool pass_workload(struct passing *p, bool pull, const struct decide *how,
                   const struct verdict_policy *policy, const struct passing_request *request,
                   bool *go_on);
/** The engine has answered a pull of such an image. */
void pass_workload_end(const struct passing *p, bool pulled);

#endif
