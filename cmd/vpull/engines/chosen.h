/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file chosen.h
 * The image that was chosen, on its way to a destination.
 */
#ifndef VPULL_CHOSEN_H
#define VPULL_CHOSEN_H

#include "cmd/common/image/image_copy.h"
#include "cmd/common/image/lockfile.h"
#include "cmd/common/progress/progress.h"
#include "cmd/vpull/engines/docker_plugin.h"

/** Options of the command line other than those that all commands share. */
struct pull_options {
    const char *to;                  /**< --to, or the configuration's, or NULL: the first engine */
    const char *tag;                 /**< --tag: name of the result */
    const char *ns;                  /**< -n: containerd namespace */
    unsigned jobs;                   /**< layers at once, 0: the default */
    const struct lock_image *locked; /**< of the image that is pulled now, or NULL */
    /** taken from the lock unchecked (--lock-profile), or NULL */
    const struct lock_choice *choice;
    bool dry_run, print_ref, quiet, verify;
    struct plugin_globals docker; /**< docker's own global options */
};

struct pull {
    struct cli *cli;
    const struct pull_options *options;
    struct progress *progress;
    struct image image;
    struct ocv_decision *decision;
    const struct ocv_entry *entry; /**< the chosen one */
    struct manifest_doc child;     /**< its manifest; read by pull_child */
    char *name;  /**< what the result is to be called, "host/repo:tag"; may be NULL */
    bool staged; /**< what is fetched goes on into an engine: a layer is not done with its bytes */
    bool cached; /**< the destination had everything already */
};

/** "repo@sha256:..." of the chosen manifest; NULL without memory. The caller frees it. */
char *pull_digest_reference(const struct pull *pull);
/** Fetch the chosen image into a layout with progress shown. */
int pull_to_layout(struct pull *pull, struct ocv_layout *layout,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
