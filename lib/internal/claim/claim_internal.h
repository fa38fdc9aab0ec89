/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parts of a claim: a host that has everything (universe.c) gives the order of the variants;
 * choices.c splits them by their values, groups.c puts together what belongs together,
 * expression.c says it. */
#ifndef OCV_CLAIM_INTERNAL_H
#define OCV_CLAIM_INTERNAL_H

#include "gen/device-drivers.h"
#include "lib/base/arena.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/claim/claim.h"
#include "ocivariant/index.h"
#include "ocivariant/vocabulary.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Compute capabilities as properties name them: "90a_real", "120_virtual". */

struct ocv_capability {
    unsigned code; /**< 10 * major + minor, below 256 */
    char form;     /**< r: machine code; a: of this chip only; f: of this family; v: PTX */
};

/** False: not a compute capability. */
bool ocv_capability_parse(const char *value, struct ocv_capability *out);
/** Does the code run on a device of that capability? */
bool ocv_capability_fits(const struct ocv_capability *code, unsigned capability);
/** Below 0 where a host lists `a` before `b`. */
int ocv_capability_order(const struct ocv_capability *a, const struct ocv_capability *b);

/* What the properties of an index mean for the attributes of devices. */

#define OCV_CAPABILITIES 256u /* 10 * major + minor is below */

/** The devices that a property fits, as far as an attribute tells. */
struct ocv_fact {
    const struct ocv_device_driver *driver;   /**< of its namespace; NULL: none is known */
    const struct ocv_device_feature *feature; /**< likewise of its feature */
    bool known;           /**< the attribute tells; what follows is meaningful then */
    unsigned from, below; /**< versions: 1000 * major + minor */
    uint64_t bits[4];     /**< capabilities, or words of the feature */
    const char *words;    /**< those of the value, separated by blanks */
};

/** The i-th driver, NULL past the last. */
const struct ocv_device_driver *ocv_device_driver_at(size_t i);
/** Position of a feature in hosts' profiles; unknown ones come last. */
size_t ocv_fact_place(const struct ocv_fact *fact);

/** Facts of every property, by its id. */
int ocv_facts_make(struct ocv_arena *arena, const struct ocv_index *index, struct ocv_fact **out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Does every device that `a` fits fit `b`? Both are known and of one feature. */
bool ocv_fact_within(const struct ocv_fact *a, const struct ocv_fact *b);
/** Is there no device that both fit? Both are known and of one attribute. */
bool ocv_fact_apart(const struct ocv_fact *a, const struct ocv_fact *b);
/** The order in which a host lists values of a feature: below 0 where `a` stands first. */
int ocv_fact_order(const struct ocv_fact *feature, const char *a, const char *b);

#endif
