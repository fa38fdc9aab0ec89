/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kubernetes manifests: the claim for an image, and the pods that use it. */
#ifndef OCV_CLAIM_VERB_H
#define OCV_CLAIM_VERB_H

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

#endif
