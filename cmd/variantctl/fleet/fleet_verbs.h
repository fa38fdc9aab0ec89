/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of `variantctl fleet`. */
#ifndef OCV_FLEET_VERBS_H
#define OCV_FLEET_VERBS_H

#include "cmd/common/cli.h"
#include "cmd/variantctl/verbs.h"

int cmd_fleet_pack(struct cli *cli, int argc, char **argv);
int cmd_fleet_generate(struct cli *cli, int argc, char **argv);

/* Reads fleets named on a command line. */

/** Nodes whose profile could not be read, why the first of them could not, and the next ones. */
struct fleet_skipped {
    size_t n;
    char first[OCV_ERROR_MESSAGE_MAX], others[OCV_ERROR_MESSAGE_MAX];
};
/** Count `n` nodes; `why` is "NAME: what" of the first, `more` names some of the others, or is
 *  empty. */
void fleet_skip(struct fleet_skipped *skipped, size_t n, const char *why, const char *more);
/** Warn of them, if there are any: "N WHAT nodes left out". */
void fleet_warn_skipped(const struct cli *cli, const char *what,
                        const struct fleet_skipped *skipped);

/** Add FLEET to `fleet`: a directory of profiles (*.json, each a node named after its file), a
 *  document for ocv_fleet_read, or "-" for one on standard input. The configuration's `override` is
 *  applied. Invalid nodes are skipped, counted in `*skipped` and warned of;
 *  `strict`: an error. Needs
 *  cli_load. */
int fleet_read(struct cli *cli, const char *path, bool strict, struct ocv_fleet *fleet,
               size_t *skipped, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
