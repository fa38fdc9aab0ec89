/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a fleet looks like inside: nodes, and the classes that they are of. */
#ifndef OCV_FLEET_INTERNAL_H
#define OCV_FLEET_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/core/profile_internal.h"
#include "lib/match/name_table.h"
#include "ocivariant/digest.h"
#include "ocivariant/match.h"

struct fleet_class {
    char id[OCV_CLASS_MAX];
    char *essence;
    size_t len;
    struct ocv_profile *profile;
};

struct fleet_node {
    const char *name; /* in the arena */
    uint32_t class_place, weight, slots;
    bool excluded;
};

struct ocv_fleet {
    struct ocv_arena arena;
    struct fleet_node *nodes;
    size_t n_nodes;
    struct fleet_class *classes;
    size_t n_classes;
    struct ocv_names by_name, by_class;
    struct ocv_buffer scratch; /* essence of the profile that is added */
    uint32_t *order;           /* nodes by weight, then name; made by ocv_fleet_sort */
    bool sorted;
};

/** Make `order`. */
int ocv_fleet_sort(struct ocv_fleet *fleet, struct ocv_error *err);
/** The place of a profile's class, made where it is new. */
int ocv_fleet_intern(struct ocv_fleet *fleet, const struct ocv_profile *profile, size_t *place,
                     struct ocv_error *err);
/** Add a node of a class that is there. */
int ocv_fleet_add_of(struct ocv_fleet *fleet, const struct ocv_node *node, size_t class_place,
                     struct ocv_error *err);

#endif
