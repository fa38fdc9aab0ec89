/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of a node's set-up: a line of the log, a file that variantd reads, an event. */
#ifndef OCV_KUBERNETES_REPORT_H
#define OCV_KUBERNETES_REPORT_H

#include "ocivariant.h"

#define NODE_SETUP "ocivariant-node-setup"
#define REASON_MAX 512u /**< bytes of what people read, with its end */

/** How it ended. */
enum node_state { NODE_CONFIGURED, NODE_NOT_CONFIGURED, NODE_FAILED };

/** Write `reason`, or "configured", as the one line of the file (variantd --setup-report). */
int report_write(const char *path, enum node_state state, const char *reason,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Have Kubernetes keep an event about this pod: with the service account in `account` (a directory
 *  with token and ca.crt), at the API server that KUBERNETES_SERVICE_HOST and _PORT name, about the
 *  pod that POD_NAME, POD_NAMESPACE and POD_UID name. OCV_ERR_NOT_FOUND: not in a pod, or it has
 * no account. */
int report_event(const char *account, enum node_state state, const char *reason,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** The event as JSON, owned; NULL where memory is short. `now`: seconds since 1970. */
char *report_event_text(enum node_state state, const char *reason, int64_t now);

#endif
