/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kubernetes manifests: the claim for an image, and the pods that use it. */
#ifndef OCV_CLAIM_VERB_H
#define OCV_CLAIM_VERB_H

#include "cmd/common/cli.h"
#include "cmd/common/image/image.h"
#include "lib/internal/claim/claim.h"

#include <jansson.h>

#define CLAIM_OUTPUT_MAX (4u * 1024 * 1024)
#define CLAIM_NAME_MAX 64u    /* of objects, with NUL */
#define CLAIM_DEVICES_MAX 32u /* AllocationResultsMaxSize of resource.k8s.io/v1 */

/** Input of the manifests. */
struct claim_manifest {
    const char *name;  /**< of the claim template; pod templates' names begin with it */
    const char *image; /**< image of the pods */
    const char *index; /**< REPOSITORY@DIGEST from which the claim was made, or NULL */
    const struct ocv_claim *claim;
    unsigned count;             /**< devices per pod */
    const char *const *classes; /**< only nodes of these classes; NULL: any that the claim allows */
    size_t n_classes;
};

/** The objects as an array; NULL without memory. */
json_t *claim_manifest_make(const struct claim_manifest *manifest);
/** Append objects as YAML documents. */
int claim_yaml_format(const json_t *objects, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* The Slurm constraint of an image. */

struct claim_slurm {
    const char *features, *features_file; /**< features of the nodes; only one of the two is set */
    bool use_short;
};
/** Rows that write into a struct claim_slurm. */
extern const struct ocv_option claim_slurm_options[];

/** Print --constraint=... for the image of cli->arguments, or of an index file. */
int claim_for_slurm(struct cli *cli, const struct claim_slurm *request, const char *index_file,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/* The build that all members of a job get on a fleet. */

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
