/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --print-ref on a node where variantd runs: it has the profile and the client, so that neither a
 * probe nor libcurl is needed here. */
#ifndef VPULL_DAEMON_H
#define VPULL_DAEMON_H

#include "cmd/common/cli.h"

/** Ask this node's variantd for the choice. NULL wherever its answer need not be the one that vpull
 *  itself would give, and it has to be made here: the user has settings of his own, there is no
 *  daemon, it cannot read the image or finds no variants in its index (tag rules and levels of
 *  processors are the daemon's own business), or nothing fits. Else "REPOSITORY@DIGEST", freed by
 *  the caller; warnings about the index have been shown. */
char *daemon_choose(const struct cli *cli, const char *text, bool quiet);

#endif
