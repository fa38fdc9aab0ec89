/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties that are claimed for an image, compared with its files. */
#ifndef OCV_CONTENT_CLAIMS_H
#define OCV_CONTENT_CLAIMS_H

#include "lib/internal/content/derived.h"
#include "ocivariant/property.h"

enum ocv_content_keeping {
    OCV_CONTENT_NO_WORD, /**< files cannot show such a property, or none of them does */
    OCV_CONTENT_KEPT,
    OCV_CONTENT_PARTLY, /**< some files with code for such GPUs do not run there */
    OCV_CONTENT_BROKEN, /**< none does, or a file asks for more than is claimed */
    OCV_CONTENT_NO_CODE /**< for such GPUs there is no code at all: it is made when a program runs
                         */
};

/** What became of a claim. */
struct ocv_content_claim {
    enum ocv_content_keeping keeping;
    size_t files, lacking; /**< that have such code; of these, that do not run there */
    const char *path;      /**< a file that breaks the claim, or NULL; borrowed from the report */
    char found[160];       /**< what there is instead: "sm_80, sm_86", "v3" */
};

/** Compare one property with the content. */
void ocv_content_claim(const struct ocv_content *content, struct ocv_property property,
                       struct ocv_content_claim *out);
/** The content proposes more of a feature than is claimed of it: the i-th such property ("ns ::
 *  feature :: value"), NULL past the last. Features of which nothing is claimed do not count. */
const char *ocv_content_unclaimed(const struct ocv_content *content,
                                  const struct ocv_property *claims, size_t n, size_t i);
/** Have two images the same device code, file by file? False where they have none. */
bool ocv_content_same_code(const struct ocv_content *a, const struct ocv_content *b);
/** A forward-compatibility library that stands where NVIDIA's container toolkit does not look for
 *  it (usr/local/cuda.../compat), or NULL. */
const char *ocv_content_idle_compat(const struct ocv_content *content);
/** How many files are libraries of a driver, which should be the host's: one of them and its maker.
 */
size_t ocv_content_drivers(const struct ocv_content *content, const struct ocv_content_file **first,
                           const char **maker);

#endif
