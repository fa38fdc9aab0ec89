/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd's configuration, read with everything it imports. */
#ifndef OCV_SETUP_CONTAINERD_H
#define OCV_SETUP_CONTAINERD_H

#include "cmd/variantctl/setup/setup.h"

#define CONTAINERD_ROOTS_MAX 16u
#define CONTAINERD_CHAIN_MAX 64u /**< configuration files with all that they import */

/* One configuration file. */
struct containerd_part {
    struct setup_file *file;
    struct toml toml;
    int version;        /**< its own, or that of the file that imports it */
    int stated;         /**< its own; 0: none */
    const char *plugin; /**< path of the CRI plugin's table for images in it: set by
                             containerd_check */
};

struct containerd_config {
    struct setup *setup;
    struct setup_version engine;
    struct containerd_part parts[CONTAINERD_CHAIN_MAX]; /* the main file, then imports in order of
                                                           increasing precedence */
    size_t n;
    size_t target;                     /* the part that takes precedence for the plugin */
    char *path;                        /* the config_path in effect, or NULL */
    char *roots[CONTAINERD_ROOTS_MAX]; /* its directories */
    size_t n_roots;
};

/** The names of the CRI plugin's table for images, the newest first, and NULL. */
extern const char *const containerd_plugin_names[];

/** Read a file and its imports; `inherited`: its version if it states none. */
int containerd_read(struct containerd_config *config, const char *path, int inherited,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Find the file that takes precedence and the config_path in effect; old-style settings are
 *  refused. */
int containerd_check(struct containerd_config *config, struct ocv_error *err) OCV_WARN_UNUSED;
/** Split config_path into its directories. */
int containerd_split_roots(struct containerd_config *config, struct ocv_error *err) OCV_WARN_UNUSED;
int containerd_add_root(struct containerd_config *config, const char *path, size_t len,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** True if CRI is disabled there, as in Docker's packages of containerd. */
bool containerd_cri_disabled(const struct containerd_config *config);
/** Path of the CRI plugin's registry table, or of a table below it. Owned by the caller. */
char *containerd_registry_path(const char *plugin, const char *rest, struct ocv_error *err);
void containerd_config_free(struct containerd_config *config);
#define containerd_auto_config \
    __attribute__((cleanup(containerd_config_free))) struct containerd_config

#endif
