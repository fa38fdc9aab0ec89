/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of a choice among tags: its candidates, and what was read of their configurations. */
#ifndef OCV_TAGS_CHOICE_H
#define OCV_TAGS_CHOICE_H

#include "lib/core/core_internal.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/tags/tag_plan.h"
#include "lib/internal/tags/tags_internal.h"

struct ocv_tag_fixed {
    struct ocv_tag_candidate candidate;
    struct ocv_buffer body;            /* of an index */
    char platform[128];                /* of a manifest, once its configuration was read */
    struct ocv_tag_answered *answered; /* by image; owned with their tags */
    size_t n_answered;
    struct ocv_index_doubt doubt; /* the candidate stands for several; owned by the choice */
};

struct ocv_tag_choice {
    struct ocv_arena arena; /* of the doubts */
    struct ocv_tag_plan *plan;
    struct ocv_tag_fixed *fixed;
    size_t n;
    struct ocv_index *index;
    bool stale; /* more is known than the index has, or for another host */
};

/** A document that may not be a manifest of known size is read: an index gives its images. */
int ocv_tag_read_document(const struct ocv_tag_source *source, struct ocv_tag_fixed *fixed,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** Was the configuration of that image read? */
bool ocv_tag_is_read(const struct ocv_tag_fixed *fixed, const char *digest);
/** Read it, and what the tag says with it. A document that is not a configuration gives no facts.
 */
int ocv_tag_read_config(const struct ocv_tag_source *source, struct ocv_tag_fixed *fixed,
                        const char *digest, struct ocv_error *err) OCV_WARN_UNUSED;
/** The digest of the candidate's first image; empty where an index has none. */
int ocv_tag_first_image(const struct ocv_tag_fixed *fixed, char digest[OCV_DIGEST_MAX],
                        struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_fixed_clear(struct ocv_tag_fixed *fixed);

#endif
