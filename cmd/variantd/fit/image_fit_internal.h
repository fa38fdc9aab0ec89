/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files here share. */
#ifndef VARIANTD_IMAGE_FIT_INTERNAL_H
#define VARIANTD_IMAGE_FIT_INTERNAL_H

#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/instance/instance.h"

#include <jansson.h>

#define REASON_MAX 1024u

struct fit_answer {
    const char *verdict; /* NULL: not known yet */
    char label[64], fit[64], reason[REASON_MAX];
    char properties[OCV_ENTRY_PROPERTIES_BYTES_MAX + 1]; /* by which it was checked */
    char required[256];     /* of a lesser one: what it lacks of what the configuration requires */
    bool alone;             /* an image without an index */
    enum ocv_choose choose; /**< in its repository */
    bool labels_only;       /* by the image's own labels */
    bool each_pod;          /* its repository gives each pod a build of its own (`workload`) */
};

/** Check one set of properties under the configuration of the repository at `reference` (may be
 * NULL), ignoring what it requires; malformed ones are "unknown", and a status below 0. `given`: a
 * container's devices, or NULL. */
int fit_by_properties(const struct instance *instance, const char *reference, const char *given,
                      const char *label, const char *properties, const char *statics,
                      struct fit_answer *out);
/** By the node's record of a digest in a repository: true if there is one. `reference`: where it
 * was resolved. If the record is secret, a client that is not trusted learns only the verdict. If
 * the repository is not known (NULL), all records and kept indexes with the digest must agree;
 * else the verdict is "unknown". */
bool fit_by_record(const struct instance *instance, const char *repository,
                   const struct fit_question *question, struct fit_answer *out, char *reference,
                   size_t size);
/** What the configuration of an ordinary image says of this node: {"verdict", "reason"}, or NULL
 * for nothing. One that cannot be read says nothing. */
json_t *fit_by_config(const struct instance *instance, const struct fit_question *question);
/** The first of what the configuration requires in the repository at `reference` (may be NULL) that
 *  an image with these properties does not use on this node, or NULL. */
const char *fit_unmet(const struct instance *instance, const char *reference, const char *given,
                      const char *properties);

#endif
