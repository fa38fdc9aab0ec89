/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --print-ref on a node that runs variantd: the daemon has the profile and a registry client, so
 * this process needs neither a probe nor libcurl. */
#ifndef VPULL_DAEMON_H
#define VPULL_DAEMON_H

#include "cmd/common/cli.h"

/** Ask this node's variantd for the choice. Returns "REPOSITORY@DIGEST", freed by the caller, after
 *  showing warnings about the index. NULL if vpull must choose itself, because the daemon might
 *  answer differently or not at all: the user has own settings, there is no daemon, it cannot read
 *  the image, its index has no variants (tag rules and CPU levels are set per daemon), or nothing
 *  fits. */
char *daemon_choose(const struct cli *cli, const char *text, bool quiet);

#endif
