/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file chosen.h
 * The chosen image on its way to a destination.
 */
#ifndef VPULL_CHOSEN_H
#define VPULL_CHOSEN_H

#include "cmd/common/image/image_copy.h"
#include "cmd/common/image/lockfile.h"
#include "cmd/common/progress/progress.h"
#include "cmd/vpull/engines/docker_plugin.h"

/** vpull's own command-line options. */
struct pull_options {
    const char *to;                  /**< --to, or the configuration's, or NULL: the first engine */
    const char *tag;                 /**< --tag: name of the result */
    const char *ns;                  /**< -n: containerd namespace */
    unsigned jobs;                   /**< images at once, and layers of all together */
    const struct lock_image *locked; /**< of the current image, or NULL */
    /** taken from the lock without a probe (--lock-profile), or NULL */
    const struct lock_choice *choice;
    bool dry_run, print_ref, quiet, verify;
    bool many;                    /**< several images: a line about one names it */
    struct plugin_globals docker; /**< docker's global options */
};

struct pull {
    struct cli *cli;
    const struct pull_options *options;
    struct progress *progress;
    struct ocv_buffer *prints; /**< goes to standard output when its turn comes */
    struct image image;
    struct ocv_decision *decision;
    const struct ocv_entry *entry; /**< the chosen one */
    struct manifest_doc child;     /**< its manifest; read by pull_child */
    char *name;                    /**< name of the result, "host/repo:tag"; may be NULL */
    bool staged; /**< the fetched image goes on into an engine: a layer is not done when its bytes
                    have arrived */
    bool cached; /**< the destination already had everything */
};

/** "repo@sha256:..." of the chosen manifest; NULL without memory. The caller frees it. */
char *pull_digest_reference(const struct pull *pull);
/** Fetch the chosen image into a layout with progress shown. */
int pull_to_layout(struct pull *pull, struct ocv_layout *layout,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
