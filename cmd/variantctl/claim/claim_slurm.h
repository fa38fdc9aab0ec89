/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Slurm constraint of an image. */
#ifndef OCV_CLAIM_SLURM_H
#define OCV_CLAIM_SLURM_H

#include "cmd/common/cli.h"

struct claim_slurm {
    const char *features, *features_file; /**< features of the nodes; only one of the two is set */
    bool use_short;
};
/** Rows that write into a struct claim_slurm. */
extern const struct ocv_option claim_slurm_options[];

/** Print --constraint=... for the image of cli->arguments, or of an index file. Returns the exit
 *  code. */
int claim_for_slurm(struct cli *cli, const struct claim_slurm *request, const char *index_file);

#endif
