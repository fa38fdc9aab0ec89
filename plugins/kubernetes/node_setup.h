/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports the result of a node's set-up: as a log line, a file that variantd reads, and an event.
 */
#ifndef OCV_NODE_SETUP_H
#define OCV_NODE_SETUP_H

#include "ocivariant.h"

#include <stdbool.h>

#define NODE_SETUP "ocivariant-node-setup"
#define REASON_MAX 512u /**< bytes of the message, with its NUL */

/** Result of a set-up. */
enum node_state { NODE_CONFIGURED, NODE_NOT_CONFIGURED, NODE_FAILED };

/** Write `reason`, or "configured", as the only line of the file (variantd --setup-report). */
int report_write(const char *path, enum node_state state, const char *reason,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Create a Kubernetes event about this pod (POD_NAME, POD_NAMESPACE, POD_UID), with the service
 *  account in `account` (a directory with token and ca.crt), at the API server of
 *  KUBERNETES_SERVICE_HOST and _PORT. OCV_ERR_NOT_FOUND: not in a pod, or the pod has no
 *  account. */
int report_event(const char *account, enum node_state state, const char *reason,
                 struct ocv_error *err) OCV_WARN_UNUSED;

/* Runs variantctl setup on a node's file system. */

#define ENGINE_REGISTRIES_MAX 128u /**< the limit of variantctl setup */

struct engine_setup {
    const char *root;          /**< the node's file system */
    const char *config_file;   /**< variantd's configuration */
    const char *engine_config; /**< containerd's, below the root; NULL: the usual one */
    const char *registries[ENGINE_REGISTRIES_MAX];
    size_t n_registries;
    bool edit_config; /**< containerd's own configuration may be changed */
    bool remove;      /**< undo the set-up */
};

/** Run it; its output is printed. `reason`: text that says why the node is not configured. */
enum node_state engine_set_up(const struct engine_setup *setup, char reason[static REASON_MAX]);

#endif
