/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The build that all members of a job get on a fleet. */
#ifndef OCV_CLAIM_MATCHED_H
#define OCV_CLAIM_MATCHED_H

#include "cmd/common/image/image.h"

/** The job. */
struct claim_job {
    const char *fleet; /**< as `variantctl match --profiles` takes it; NULL: no job */
    unsigned replicas;
    bool strict;
};

/** The result. Zero-initialise. */
struct claim_matched {
    const struct ocv_entry *entry; /**< of the image's index */
    const char **classes;          /**< classes of the fleet whose nodes run it, sorted; borrowed
                                    * from the fleet */
    size_t n_classes;
    struct ocv_fleet *fleet;
};

/** Place the job. Needs cli_load. OCV_ERR_NO_MATCH if there is no placement. */
int claim_match(struct cli *cli, const struct claim_job *job, const struct image *image,
                struct claim_matched *out, struct ocv_error *err) OCV_WARN_UNUSED;
void claim_matched_free(struct claim_matched *matched);

#endif
