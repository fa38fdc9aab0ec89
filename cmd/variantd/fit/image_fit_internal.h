/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of this directory. */
#ifndef VARIANTD_IMAGE_FIT_INTERNAL_H
#define VARIANTD_IMAGE_FIT_INTERNAL_H

#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/instance/instance.h"
#include "cmd/variantd/node/node.h"
#include "lib/internal/fit/fit.h"

#include <jansson.h>

#define REASON_MAX 1024u

struct fit_answer {
    enum ocv_verdict verdict;
    char label[64], fit[64], reason[REASON_MAX];
    char properties[OCV_ENTRY_PROPERTIES_BYTES_MAX + 1]; /* that were checked */
    char required[256]; /* of a lesser image: the requirement of the configuration that it lacks */
    bool alone;         /* an image without an index */
    enum ocv_choose choose; /**< in its repository */
    bool labels_only;       /* known only from the image's own labels */
    bool each_pod;          /* each pod gets its own build in this repository (`workload`) */
};

/** What this daemon judges images by. */
struct ocv_fit_host fit_host(const struct instance *instance, const struct snapshot *snapshot);
/** Check what is said of a variant (label, properties, statics, tag) with the configuration for the
 * repository at `reference` (may be NULL), without its requirements. Malformed properties give
 * "unknown" and a status below 0. `given`: a container's devices, or NULL. */
int fit_by_properties(const struct instance *instance, const char *reference, const char *given,
                      const struct ocv_record *said, struct fit_answer *out);
/** By the node's record of a digest in a repository. `reference`: where it was resolved. An
 *  untrusted client learns only the verdict of a secret record. If the repository is unknown
 * (NULL), all records and kept indexes with the digest must agree; else the verdict is "unknown".
 */
void fit_by_record(const struct instance *instance, const char *repository,
                   const struct fit_question *question, struct fit_answer *out, char *reference,
                   size_t size);
/** Check an ordinary image's configuration against this node: {"verdict", "reason"}, or NULL if it
 *  has no requirements or cannot be read. */
json_t *fit_by_config(const struct instance *instance, const struct fit_question *question);
/** The first requirement of the configuration for the repository at `reference` (may be NULL) that
 *  an image with these properties does not use on this node, or NULL. */
const char *fit_unmet(const struct instance *instance, const char *reference, const char *given,
                      const char *properties);

#endif
