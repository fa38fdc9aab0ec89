/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of a plan: the sets of tags that stand for one name each. */
#ifndef OCV_TAGS_PLAN_H
#define OCV_TAGS_PLAN_H

#include "lib/internal/tags/tags.h"
#include "lib/internal/tags/tags_internal.h"

struct ocv_tag_member {
    struct ocv_tag *tag;
    char *identity; /* platform and properties: what a host can tell apart */
    char label[OCV_TAG_LABEL_MAX + 1];
};

/* Tags between which the rules do not decide. */
struct ocv_tag_doubt {
    struct ocv_tag_member member; /* the first of them, in a choice in place of all */
    char **names;
    size_t n;
};

struct ocv_tag_set {
    char *name;
    const char *format; /* the group_tags entry that makes the name */
    struct ocv_tag_member *members;
    size_t n;
    char **doubts;                  /* why some tags are not among them */
    struct ocv_tag_doubt *doubtful; /* the same doubts, with their tags */
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
    struct ocv_tag **answered; /* of members whose configurations were read */
    size_t n_answered;
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

#define OCV_TAG_ORDER_NAMESPACE "priority" /**< the set's own */

struct ocv_tag_order {
    struct ocv_arena arena;
    const struct ocv_tag *const *tags; /* borrowed */
    size_t n_tags;
    const char **toolkits; /* each once; with fewer than two there is nothing to order */
    size_t n;
};

/** Borrows the tags. To be cleared in case of failure, too. */
int ocv_tag_order_make(struct ocv_tag_order *order, const struct ocv_tag *const *tags, size_t n,
                       struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_order_clear(struct ocv_tag_order *order);
#define ocv_auto_tag_order __attribute__((cleanup(ocv_tag_order_clear))) struct ocv_tag_order
/** "priority :: order :: 12.6" of a tag, or NULL. */
const char *ocv_tag_order_property(const struct ocv_tag_order *order, const struct ocv_tag *tag,
                                   char out[OCV_TAG_TEXT_MAX]);
/** Append the namespace's list, "order :: 12.6, order :: 12.8", where there is one. */
int ocv_tag_order_list(const struct ocv_tag_order *order, struct ocv_buffer *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the index's namespaces: the family's list, or where the order needs one the usual list;
 *  nothing if there is neither. */
int ocv_tag_order_namespaces(const struct ocv_tag_order *order, struct ocv_buffer *out,
                             struct ocv_error *err) OCV_WARN_UNUSED;

#endif
