/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file destination.h
 * Destinations of an image: one file for each, one table.
 */
#ifndef VPULL_DESTINATION_H
#define VPULL_DESTINATION_H

#include "cmd/common/cli_complete.h"
#include "cmd/vpull/engines/chosen.h"
#include "cmd/vpull/engines/subprocess.h"

struct destination {
    const char *name;     /**< as in --to */
    const char *argument; /**< text after "NAME:", for the help; NULL: none */
    /** True if the engine answers. NULL: never a default. */
    bool (*available)(struct cli *cli, const struct pull_options *options);
    /** Bring the chosen image there and name it. `where` (may stay empty): text for the user. */
    int (*pull)(struct pull *pull, const char *argument, char *where, size_t size,
                struct ocv_error *err);
};

extern const struct destination destination_docker, destination_podman, destination_containerd,
    destination_nerdctl, destination_oci, destination_archive;

/** All destinations as --to takes them: "docker, ..., oci:DIR[:TAG]". */
void destination_forms(char *out, size_t size);

/** Hooks of struct cli_command: for the help, and to complete DESTINATION. */
void destination_print(void);
bool destination_complete(struct ocv_completion *c, const char *kind);

/** Find the destination of --to, or the first engine that answers, or `oci:` under the XDG data
 * directory.
 *  `*argument` is owned by the caller. */
int destination_choose(struct cli *cli, const struct pull_options *options,
                       struct progress *progress, const struct destination **out, char **argument,
                       struct ocv_error *err) OCV_WARN_UNUSED;

#endif
