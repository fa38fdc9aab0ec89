/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of `variantctl export`. */
#ifndef OCV_EXPORT_VERBS_H
#define OCV_EXPORT_VERBS_H

#include "cmd/variantctl/verbs.h"

int cmd_export_backendai(struct cli *cli, int argc, char **argv);
int cmd_export_nfd(struct cli *cli, int argc, char **argv);
int cmd_export_slurm(struct cli *cli, int argc, char **argv);

#endif
