/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of `variantctl fleet`. */
#ifndef OCV_FLEET_VERBS_H
#define OCV_FLEET_VERBS_H

#include "cmd/variantctl/verbs.h"

int cmd_fleet_pack(struct cli *cli, int argc, char **argv);
int cmd_fleet_generate(struct cli *cli, int argc, char **argv);

#endif
