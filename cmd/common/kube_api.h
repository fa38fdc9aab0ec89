/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request to the API server of the Kubernetes cluster that this process runs in as a pod. */
#ifndef CMD_KUBE_API_H
#define CMD_KUBE_API_H

#include "ocivariant/error.h"

/** Members are borrowed. */
struct kube_request {
    const char *account;       /**< directory of the service account: token and ca.crt */
    const char *method, *path; /**< "PATCH", "/api/v1/nodes/a" */
    const char *type, *body;   /**< the body's media type, and its text */
    long wanted;               /**< expected HTTP status */
    unsigned timeout_ms;
    volatile int *interrupted; /**< not 0: stop; may be NULL */
};

/** True if KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT name an API server. */
bool kube_api_known(void);
/** Send it with the account's token. The token is read for each request, since Kubernetes renews
 *  it. OCV_ERR_DENIED: the HTTP status is not the expected one. */
int kube_api_send(const struct kube_request *request, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
