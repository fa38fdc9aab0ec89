/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sets of a repository's tags that stand for one name each: what `variantctl tags plan` shows, and
 * what a choice among tags is made of. Owned by the caller; immutable once made. */
#ifndef OCV_TAG_PLAN_H
#define OCV_TAG_PLAN_H

#include "lib/internal/tags/tags.h"

/** Sets of tags that stand for one name each. Owns the parsed tags. */
struct ocv_tag_plan;
/** Plan over `n` tags of the reference's repository, in any order; duplicates count once. `wanted`
 * (may be NULL): only the set of that name. Of tags that say the same, one is taken by the rule's
 * preference; if that does not decide, none is taken and a doubt says so. Sets in which there is
 * nothing to choose are left out. */
int ocv_tag_plan_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *wanted, const char *const *tags, size_t n,
                     struct ocv_tag_plan **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep the members of sets and the first tag of each doubt alone: what is left out is no longer
 *  told. */
void ocv_tag_plan_trim(struct ocv_tag_plan *plan);
void ocv_tag_plan_free(struct ocv_tag_plan *plan);
/** Number of sets; each has a name, the tag that stands for it, and members. */
size_t ocv_tag_plan_sets(const struct ocv_tag_plan *plan);
const char *ocv_tag_plan_name(const struct ocv_tag_plan *plan, size_t set);
size_t ocv_tag_plan_members(const struct ocv_tag_plan *plan, size_t set);
/** A member and its label ("null" for one without properties). */
const struct ocv_tag *ocv_tag_plan_member(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                          const char **label);
/** Ask the configurations of a set's members for what their tags leave open. Members that are
 * refused then become tags that are left out; the others then ask for nothing and keep their
 * places. */
int ocv_tag_plan_ask(struct ocv_tag_plan *plan, size_t set, const struct ocv_tag_source *source,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** The member as entries of an index of the set. */
struct ocv_tag_entry {
    char label[64];
    struct ocv_properties
        *properties; /**< with its place in the set's order; freed by the caller */
};
/** One, or two where only some devices are served by minor-version compatibility: the second is
 * what the image needs on these. `*n` of them. */
int ocv_tag_plan_entries(const struct ocv_tag_plan *plan, size_t set, size_t i,
                         struct ocv_tag_entry out[2], size_t *n,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the set's namespaces, most important first, and what OCV_ANNOTATION_STATIC of "priority"
 * is for it: builds of an older CUDA first. Appends nothing if the set has no order. */
int ocv_tag_plan_order(const struct ocv_tag_plan *plan, size_t set, struct ocv_buffer *namespaces,
                       struct ocv_buffer *order, struct ocv_error *err) OCV_WARN_UNUSED;
/** Does the set's family say which of its namespaces counts more? */
bool ocv_tag_plan_is_ordered(const struct ocv_tag_plan *plan, size_t set);
/** Texts that name tags between which the rules do not decide. */
size_t ocv_tag_plan_doubts(const struct ocv_tag_plan *plan, size_t set, const char *const **out);
/** The first tag of doubt `i`, its label, and all tags between which the rules do not decide there.
 */
const struct ocv_tag *ocv_tag_plan_doubt(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                         const char **label, const char *const **names, size_t *n);
/** Tags that are in no set and in no doubt, each with the reason; how many there are. */
size_t ocv_tag_plan_left_out(const struct ocv_tag_plan *plan);
const struct ocv_tag *ocv_tag_plan_left(const struct ocv_tag_plan *plan, size_t i,
                                        const char **reason);

OCV_DEFINE_CLEANUP(ocv_tag_plan)

#endif
