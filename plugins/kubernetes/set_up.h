/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup, run on a node's tree. */
#ifndef OCV_KUBERNETES_SET_UP_H
#define OCV_KUBERNETES_SET_UP_H

#include "plugins/kubernetes/report.h"

#include <stdbool.h>

#define ENGINE_REGISTRIES_MAX 128u /**< as many as variantctl setup takes */

struct engine_setup {
    const char *root;          /**< the node's file system */
    const char *config_file;   /**< variantd's configuration */
    const char *engine_config; /**< containerd's, below the root; NULL: the usual one */
    const char *registries[ENGINE_REGISTRIES_MAX];
    size_t n_registries;
    bool edit_config; /**< containerd's own configuration may be changed, too */
    bool remove;      /**< undo it */
};

/** Run it; what it prints is printed. `reason`: why it is not configured, for people. */
enum node_state engine_set_up(const struct engine_setup *setup, char reason[static REASON_MAX]);

#endif
