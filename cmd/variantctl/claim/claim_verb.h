/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is written for Kubernetes: the claim of an image, and the pods that use it. */
#ifndef OCV_CLAIM_VERB_H
#define OCV_CLAIM_VERB_H

#include "cmd/common/image/image.h"
#include "lib/claim/claim.h"

#include <jansson.h>

#define CLAIM_OUTPUT_MAX (4u * 1024 * 1024)
#define CLAIM_NAME_MAX 64u    /* of objects, with NUL */
#define CLAIM_DEVICES_MAX 32u /* AllocationResultsMaxSize of resource.k8s.io/v1 */

/** What is written. */
struct claim_manifest {
    const char *name;  /**< of the claim template, and what names of pod templates begin with */
    const char *image; /**< what the pods name */
    const char *index; /**< REPOSITORY@DIGEST of what the claim was made of, or NULL */
    const struct ocv_claim *claim;
    unsigned count;             /**< devices of each pod */
    const char *const *classes; /**< only nodes of these; NULL: where the claim says */
    size_t n_classes;
};

/** The objects as an array; NULL when out of memory. */
json_t *claim_manifest_make(const struct claim_manifest *manifest);
/** Append objects as YAML documents. */
int claim_yaml_format(const json_t *objects, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
