/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of a plan: the sets of tags that stand for one name each. */
#ifndef OCV_TAGS_PLAN_H
#define OCV_TAGS_PLAN_H

#include "lib/tags/tag_plan.h"
#include "lib/tags/tags_internal.h"

struct ocv_tag_member {
    struct ocv_tag *tag;
    char *identity; /* platform and properties: what a host can tell apart */
    char label[OCV_TAG_LABEL_MAX + 1];
};

struct ocv_tag_set {
    char *name;
    const char *format; /* the group_tags entry that makes the name */
    struct ocv_tag_member *members;
    size_t n;
    char **doubts; /* why some tags are not among them */
    size_t n_doubts;
};

struct left_out {
    const struct ocv_tag *tag;
    const char *reason;
};

struct ocv_tag_plan {
    struct ocv_arena arena;
    struct ocv_tag **tags;
    size_t n_tags;
    struct ocv_tag_set *sets;
    size_t n_sets;
    struct left_out *out;
    size_t n_out;
};

/** Why a tag joins no set; NULL where it may. */
const char *ocv_tag_unfit(struct ocv_arena *arena, const struct ocv_tag *tag);
/** May the tag stand for a name of this template? */
bool ocv_tag_joins(const struct ocv_tag *tag, const char *format);
int ocv_tag_set_add(struct ocv_tag_plan *plan, const char *name, const char *format,
                    struct ocv_tag *tag, struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep one tag for each thing that can be told apart, label them, and drop the sets in which there
 *  is nothing to choose. */
int ocv_tag_sets_settle(struct ocv_tag_plan *plan, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_set_clear(struct ocv_tag_set *set);

#endif
