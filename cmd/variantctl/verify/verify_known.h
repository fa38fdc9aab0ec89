/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node knows of an image that is on it. */
#ifndef OCV_VERIFY_KNOWN_H
#define OCV_VERIFY_KNOWN_H

#include "cmd/variantctl/verify/verify_sources.h"
#include "lib/records/records.h"

/** What is known of an image, and by what. */
struct known_image {
    const char *by; /**< "record", "index", "labels", "daemon", or NULL */
    const char *digest;
    char *repository;       /**< HOST/REPOSITORY, or NULL */
    struct ocv_record said; /**< label, properties, statics */
    size_t n;               /**< repositories that were heard */
    bool differ;
    char heard[512]; /**< the first of them */
};

/** By the records and kept indexes of the directory, else by the image's own labels. */
void known_find(const char *records, const struct local_image *image, struct known_image *out);
void known_forget(struct known_image *known);
/** Give it a label. Without memory it keeps what it had. */
void known_set_label(struct known_image *known, const char *label);
void known_free(struct known_image *known);
/** Of one that fits: is another one better, by the index that the node keeps? Then the reason. */
bool known_lesser(const char *records, const struct known_image *known,
                  const struct ocv_profile *profile, const struct ocv_resolve_options *choose,
                  struct ocv_buffer *reason);
/** True if no entry of the index that the node keeps fits this machine; false without an index. */
bool known_hopeless(const char *records, const struct known_image *known,
                    const struct ocv_profile *profile, const struct ocv_resolve_options *choose);
/** Ask variantd, which may ask a registry, and which counts the images it is asked about: "fits",
 * "lesser", "misfit", "none"; NULL where it cannot tell. `*answers` false: there is no daemon. */
const char *known_ask(const struct ocv_config *config, struct known_image *known,
                      const struct local_image *image, struct ocv_buffer *reason, bool *answers);

#endif
