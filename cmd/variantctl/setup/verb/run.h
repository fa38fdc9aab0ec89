/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engines, and the operations on their set-ups. */
#ifndef OCV_SETUP_RUN_H
#define OCV_SETUP_RUN_H

#include "cmd/variantctl/setup/setup.h"

struct setup_engine {
    const char *name;
    int (*plan)(struct setup *setup, struct ocv_error *err); /**< NULL: can only be undone */
    /** what the engine reads now that goes past the mirror, or NULL */
    int (*passed_by)(struct setup *setup, const struct setup_state *state, json_t *list,
                     struct ocv_error *err);
    bool needs_registry;
    const char *restart; /**< command to reload its files after a set-up was undone, or NULL */
    const struct cli_command *command; /**< of `setup NAME`; NULL: the verb's own */
};

#define SETUP_NAMES_MAX 256
/** The engine of that name, or NULL. */
const struct setup_engine *setup_find_engine(const char *name);
/** All of them, and one without a name. */
extern const struct setup_engine setup_engines[];
/** Set up or undo. `dry_run`: print a diff, write nothing. */
int setup_run(struct setup *setup, const struct setup_engine *engine, enum setup_action action,
              bool dry_run, struct ocv_error *err) OCV_WARN_UNUSED;
/** Undo the set-ups of all engines. All are tried; the first failure is returned, later ones are
 *  printed. */
int setup_uninstall_all(struct setup *setup, bool dry_run, struct ocv_error *err) OCV_WARN_UNUSED;
/** Report on one engine, or on all (`name` NULL). OCV_ERR_CHECK without a message: not set up, or
 *  not in the recorded state. */
int setup_show_status(struct setup *setup, const char *name, struct ocv_error *err) OCV_WARN_UNUSED;

/* The command line of `variantctl setup`. Every engine takes the same options; its help lists those
 * that apply to it. */

/** For the verb, and for `setup ENGINE`; the rows' structure is struct setup. */
extern const struct cli_command setup_command, setup_containerd_command, setup_docker_command,
    setup_podman_command, setup_crio_command;

/** Set the address that engines use: from --listen, or where variantd listens. */
int setup_set_listen(struct setup *setup, const char *text, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
