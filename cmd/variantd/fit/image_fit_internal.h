/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files here share. */
#ifndef VARIANTD_IMAGE_FIT_INTERNAL_H
#define VARIANTD_IMAGE_FIT_INTERNAL_H

#include "cmd/variantd/instance/instance.h"

#define REASON_MAX 1024u

struct answer {
    const char *verdict; /* NULL: not known yet */
    char label[64], fit[64], reason[REASON_MAX];
    char properties[OCV_ENTRY_PROPERTIES_BYTES_MAX + 1]; /* by which it was judged */
    char required[256];     /* of a lesser one: what it lacks of what the configuration requires */
    bool alone;             /* an image without an index */
    enum ocv_choose choose; /**< in its repository */
    bool labels_only;       /* by the image's own labels */
};

/** Judge one set of properties as the configuration says of the repository at `reference` (may be
 *  NULL), whatever it requires; malformed ones are "unknown", and a status below 0. */
int fit_by_properties(const struct instance *instance, const char *reference, const char *label,
                      const char *properties, const char *statics, struct answer *out);
/** By the node's record of a digest in a repository: true if there is one. `reference`: where it
 *  was resolved. Of what is secret, one who is not trusted learns the verdict alone. Where the
 *  repository is not known (NULL), all that have the digest must agree, as entries of kept indexes,
 *  too; else it is "unknown". */
bool fit_by_record(const struct instance *instance, const char *repository, const char *digest,
                   bool trusted, struct answer *out, char *reference, size_t size);
/** The first of what the configuration requires in the repository at `reference` (may be NULL) that
 *  an image with these properties does not use on this node, or NULL. */
const char *fit_unmet(const struct instance *instance, const char *reference,
                      const char *properties);

#endif
