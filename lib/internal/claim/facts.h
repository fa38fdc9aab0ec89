/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the properties of an index mean for the attributes of devices. */
#ifndef OCV_CLAIM_FACTS_H
#define OCV_CLAIM_FACTS_H

#include "gen/device-drivers.h"
#include "lib/base/arena.h"
#include "ocivariant/index.h"

#include <stdbool.h>
#include <stdint.h>

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
