/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd's configuration, read with all that it imports. */
#ifndef OCV_SETUP_CONTAINERD_H
#define OCV_SETUP_CONTAINERD_H

#include "cmd/variantctl/setup/setup.h"

#define CONTAINERD_ROOTS_MAX 16u
#define CONTAINERD_CHAIN_MAX 64u /**< configuration files with all that they import */

/* One file of the configuration, read. */
struct containerd_part {
    struct setup_file *file;
    struct toml toml;
    int version;
    const char *plugin; /**< path of CRI's table for images in it */
};

struct containerd_config {
    struct setup *setup;
    struct setup_version engine;
    struct containerd_part
        parts[CONTAINERD_CHAIN_MAX]; /* the main file, then imports in the order that they count */
    size_t n;
    size_t target;                     /* the part that has the last word about the plugin */
    char *path;                        /* config_path as it counts, or NULL */
    char *roots[CONTAINERD_ROOTS_MAX]; /* its directories */
    size_t n_roots;
};

/** Read a file and its imports; `inherited`: the version where it says none. */
int containerd_read(struct containerd_config *config, const char *path, int inherited,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Find which file has the last word and what config_path is; old-style settings are refused. */
int containerd_check(struct containerd_config *config, struct ocv_error *err) OCV_WARN_UNUSED;
/** The directories of config_path. */
int containerd_split_roots(struct containerd_config *config, struct ocv_error *err) OCV_WARN_UNUSED;
int containerd_add_root(struct containerd_config *config, const char *path, size_t len,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** True if CRI is switched off there, as Docker's packages of containerd do. */
bool containerd_cri_disabled(const struct containerd_config *config);
/** Path of the CRI plugin's registry table, or of what is below it. Owned. */
char *containerd_registry_path(const char *plugin, const char *rest, struct ocv_error *err);
void containerd_config_free(struct containerd_config *config);

#endif
