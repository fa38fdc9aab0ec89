/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parts of a claim: a host that has everything (universe.c) gives the order of the variants;
 * choices.c splits them by their values, groups.c puts together what belongs together,
 * expression.c says it. */
#ifndef OCV_CLAIM_INTERNAL_H
#define OCV_CLAIM_INTERNAL_H

#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/claim/claim.h"
#include "lib/internal/claim/facts.h"
#include "ocivariant/vocabulary.h"

#define OCV_CLAIM_CHOICES_MAX 4096u

/** What is worked on. */
struct ocv_claim_work {
    struct ocv_claim *claim; /* everything is in its arena */
    const struct ocv_index *index;
    const struct ocv_fact *facts; /* by property id */
    size_t max_warnings;
};

/** A host of a platform that has every property of an index, and what it chooses. */
struct ocv_universe {
    struct ocv_profile *profile;
    struct ocv_decision *decision;
};
int ocv_universe_make(const struct ocv_claim_work *work, const struct ocv_platform *platform,
                      const struct ocv_resolve_options *options, struct ocv_universe *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_universe_free(struct ocv_universe *universe);

/** The level of x86-64 without which the entry runs nowhere; 0: any. */
unsigned ocv_claim_level(const struct ocv_claim_work *work, const struct ocv_entry *entry);
/** The driver whose devices the entry needs; `*plain`: it needs none. Neither if a claim cannot
 * express the need; a warning says so. */
int ocv_claim_driver(struct ocv_claim_work *work, const struct ocv_entry *entry,
                     const struct ocv_device_driver **out, bool *plain,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/** A variant with one value of each feature that an attribute tells. */
struct ocv_claim_choice {
    const struct ocv_entry *entry;
    const struct ocv_device_driver *driver;
    const struct ocv_component *key;
    size_t n_key;
    const uint32_t *ids; /* ascending, one of a feature */
    size_t n_ids;
    bool unsaid; /* the variant needs more than attributes show */
};
struct ocv_claim_choices {
    struct ocv_claim_choice *list;
    size_t n, max;
};
/** Add the choices of an entry of the universe's order. Without one, a warning says why. */
int ocv_claim_split(struct ocv_claim_work *work, const struct ocv_decision *decision,
                    const struct ocv_entry *entry, const struct ocv_device_driver *driver,
                    struct ocv_claim_choices *choices, struct ocv_error *err) OCV_WARN_UNUSED;
/** Into the order in which hosts choose. */
void ocv_claim_sort(struct ocv_claim_choices *choices);

/** One value of each of these features: a product of alternatives. */
struct ocv_claim_term {
    const uint32_t *ids;
    size_t n;
};
struct ocv_claim_product {
    struct ocv_claim_term *terms;
    size_t n;
};
/** What becomes one alternative. */
struct ocv_claim_group {
    const struct ocv_device_driver *driver;
    struct ocv_claim_product *products;
    size_t n_products, max_products;
    const char **labels;
    size_t n_labels, max_labels;
    const struct ocv_claim_choice *first;
    bool unsaid, again; /* again: an earlier group is the same variant's */
};
struct ocv_claim_groups {
    struct ocv_claim_group *list;
    size_t n;
};
/** Put sorted choices together: at most OCV_CLAIM_ALTERNATIVES_MAX groups. */
int ocv_claim_group(struct ocv_claim_work *work, const struct ocv_claim_choices *choices,
                    struct ocv_claim_groups *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** CEL for a group, NULL where every device of the driver fits. */
int ocv_claim_express(const struct ocv_claim_work *work, const struct ocv_claim_group *group,
                      const char **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The groups, named. */
int ocv_claim_name(const struct ocv_claim_work *work, const struct ocv_claim_groups *groups,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** Add a warning, once. */
int ocv_claim_warn(struct ocv_claim_work *work, struct ocv_error *err, const char *format, ...)
    OCV_PRINTF(3, 4) OCV_WARN_UNUSED;
/** Append a text to a list in the arena, once. */
int ocv_claim_add_text(struct ocv_arena *arena, const char ***list, size_t *n, size_t *max,
                       const char *text, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
