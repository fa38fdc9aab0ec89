/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of `variantctl setup`. Every engine takes the same options; its help lists those
 * that apply to it. */
#ifndef OCV_SETUP_OPTIONS_H
#define OCV_SETUP_OPTIONS_H

#include "cmd/variantctl/setup/setup.h"

/** For the verb, and for `setup ENGINE`; the rows' structure is struct setup. */
extern const struct cli_command setup_command, setup_containerd_command, setup_docker_command,
    setup_podman_command, setup_crio_command;

/** Set the address that engines use: from --listen, or where variantd listens. */
int setup_set_listen(struct setup *setup, const char *text, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
