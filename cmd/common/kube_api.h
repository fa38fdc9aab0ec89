/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request to the API server of the Kubernetes cluster that this process is a pod of. */
#ifndef CMD_KUBE_API_H
#define CMD_KUBE_API_H

#include "ocivariant/error.h"

/** Members are borrowed. */
struct kube_request {
    const char *account;       /**< directory of the service account: token and ca.crt */
    const char *method, *path; /**< "PATCH", "/api/v1/nodes/a" */
    const char *type, *body;   /**< the body's media type, and its text */
    long wanted;               /**< the HTTP status of a success */
    unsigned timeout_ms;
    volatile int *interrupted; /**< not 0: give up; may be NULL */
};

/** True if KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT name an API server. */
bool kube_api_known(void);
/** Send it with the account's token, which is read each time, since Kubernetes renews it.
 *  OCV_ERR_DENIED: another HTTP status than the one wanted. */
int kube_api_send(const struct kube_request *request, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
