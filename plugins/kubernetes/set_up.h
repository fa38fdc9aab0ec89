/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs variantctl setup on a node's file system. */
#ifndef OCV_KUBERNETES_SET_UP_H
#define OCV_KUBERNETES_SET_UP_H

#include "plugins/kubernetes/report.h"

#include <stdbool.h>

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
