/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node knows about a local image. */
#ifndef OCV_VERIFY_KNOWN_H
#define OCV_VERIFY_KNOWN_H

#include "cmd/variantctl/verify/verify_sources.h"
#include "lib/internal/records/records.h"

/** What is known of an image, and from where. */
struct known_image {
    const char *by; /**< "record", "index", "labels", "daemon", or NULL */
    const char *digest;
    char *repository;       /**< HOST/REPOSITORY, or NULL */
    struct ocv_record said; /**< label, properties, statics, tag */
    size_t n;               /**< number of repositories that know it */
    bool differ;
    char heard[512]; /**< the first of them */
};

/** Look in the records and kept indexes of the directory, else in the image's own labels. */
void known_find(const char *records, const struct local_image *image, struct known_image *out);
void known_forget(struct known_image *known);
/** Set its label; without memory it keeps the old one. */
void known_set_label(struct known_image *known, const char *label);
void known_free(struct known_image *known);
/** For an image that fits: true if another entry of the kept index is better; `reason` says why. */
bool known_lesser(const char *records, const struct known_image *known,
                  const struct ocv_profile *profile, const struct ocv_resolve_options *choose,
                  struct ocv_buffer *reason);
/** True if no entry of the kept index fits this machine; false without an index. */
bool known_hopeless(const char *records, const struct known_image *known,
                    const struct ocv_profile *profile, const struct ocv_resolve_options *choose);
/** Ask variantd, which may ask a registry, and which counts the images it is asked about: "fits",
 *  "lesser", "misfit", "none"; NULL if unknown. `*answers` false: there is no daemon. */
const char *known_ask(const struct ocv_config *config, struct known_image *known,
                      const struct local_image *image, struct ocv_buffer *reason, bool *answers);

#endif
