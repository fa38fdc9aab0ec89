/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes in a fleet's choices with another data directory. */
#ifndef OCV_COVERAGE_CHANGES_H
#define OCV_COVERAGE_CHANGES_H

#include "ocivariant.h"

/** A machine's choice for an image. */
struct coverage_choice {
    char digest[OCV_DIGEST_MAX]; /**< empty: nothing */
    char name[160];              /**< the tag that a rule chose, else the label */
    char problem[256];           /**< why the image cannot be resolved at all, or empty */
};

struct coverage_change {
    char *image, *host, *profile;
    struct coverage_choice before, after;
};

struct coverage_changes {
    const char *before, *after; /**< data directories */
    size_t images, hosts;
    struct coverage_change *list; /**< by image, then by host */
    size_t n;
};

/** Add a host's choices before and after, unless they are equal. */
int coverage_changes_add(struct coverage_changes *changes, const char *image,
                         const char *const host[2], const struct coverage_choice choices[2],
                         struct ocv_error *err) OCV_WARN_UNUSED;
void coverage_changes_free(struct coverage_changes *changes);
int coverage_changes_format(const struct coverage_changes *changes, struct ocv_buffer *out,
                            struct ocv_error *err) OCV_WARN_UNUSED;
int coverage_changes_format_json(const struct coverage_changes *changes, struct ocv_buffer *out,
                                 struct ocv_error *err) OCV_WARN_UNUSED;

#endif
