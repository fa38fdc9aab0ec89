/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parts of matching.
 *
 * match (lib/match/match.c): one decision for each class, and a table of what it says of each
 * entry.
 *
 * candidates (lib/match/candidates.c): which entries a role could take on the classes that have
 * room, in what order, and how many members they have room for.
 *
 * place (lib/match/place.c): an entry for each role, and nodes for its members. Roles may want the
 * same nodes; Hall's condition (lib/match/place.c) says whether there are enough for all. */
#ifndef OCV_MATCH_INTERNAL_H
#define OCV_MATCH_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/core/core_internal.h"
#include "lib/core/resolve/resolve_internal.h"
#include "ocivariant/digest.h"
#include "ocivariant/error.h"
#include "ocivariant/match.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash table of places by name. Names live where the places do. */

/** Zero-initialise, but set `name_of`, which gives the name at a place of `data`. */
struct ocv_names {
    const char *(*name_of)(const void *data, size_t place);
    uint32_t *slots; /* place + 1; 0: free */
    size_t room;     /* a power of two, or 0 */
    size_t count;
};

/** The place of a name, or SIZE_MAX. */
size_t ocv_names_find(const struct ocv_names *names, const void *data, const char *name);
/** Add a name that is not there. OCV_ERR_NOMEM leaves it as it was. */
int ocv_names_add(struct ocv_names *names, const void *data, size_t place, struct ocv_error *err);
void ocv_names_free(struct ocv_names *names);

/* What a fleet looks like inside: nodes, and the classes that they are of. */

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

/* The result of an entry for a class: its place in the order from 0, or -1 - its place among the
 * rejected; CLASS_UNDECIDED for each entry where the class's own choice is not decided. */
typedef int32_t class_rank;
#define CLASS_UNDECIDED INT32_MIN

struct ocv_match {
    struct ocv_fleet *fleet;
    const struct ocv_index *index;
    const struct ocv_resolve_options *options;
    struct ocv_platform_tables tables;
    struct ocv_decision **decisions; /* by class */
    class_rank *ranks;               /* class * entries + entry */
    size_t n_classes, n_entries;
};

static inline class_rank rank_of(const struct ocv_match *match, size_t class_place, size_t entry)
{
    return match->ranks[class_place * match->n_entries + entry];
}

/** Room of the nodes that may be taken. */
struct room {
    uint32_t *of_node;  /* members, by node */
    uint64_t *of_class; /* the sum, by class */
    bool unpinned;      /* a node runs only what it would choose by itself */
};

/** Do nodes of the class run the entry? */
static inline bool class_runs(const struct ocv_match *match, const struct room *room,
                              size_t class_place, size_t entry)
{
    class_rank v = rank_of(match, class_place, entry);
    return room->unpinned ? v == 0 : v >= 0;
}

/** An entry that a role could take. */
struct candidate {
    size_t entry;  /* position */
    size_t at;     /* its place before they were ordered */
    uint64_t room; /* members that all its nodes have room for */
};

/** Order of two places that one entry, or two, have on hosts, by what the resolver orders by first,
 *  and what is comparable between hosts. */
int ocv_match_compare_places(const struct ocv_candidate *a, const struct ocv_candidate *b);
/** Does the class serve the role, leaving entries aside? */
bool ocv_role_takes(const struct ocv_match *match, const struct ocv_match_role *role,
                    size_t class_place);
/** The entries that a role could take, best first, in `list` of at least n_entries; *n of them.
 *  `pin`: only the entry at this position, or SIZE_MAX. */
int ocv_candidates(const struct ocv_match *match, const struct ocv_match_role *role,
                   const struct room *room, size_t pin, struct candidate *list, size_t *n,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** How much room which roles could take: `room[m]` is the room of the nodes that exactly the roles
 * with a bit in `m` could take. */
struct share {
    uint64_t room[1u << OCV_MATCH_ROLES_MAX];
    uint64_t want[OCV_MATCH_ROLES_MAX];
    size_t n_roles;
};
/** Is there room for all members of all roles? */
bool ocv_share_suffices(const struct share *share);

struct ocv_placement {
    const struct ocv_match *match;
    bool found;
    size_t n_roles;
    const struct ocv_entry *entries[OCV_MATCH_ROLES_MAX];
    bool pin_needed[OCV_MATCH_ROLES_MAX];
    struct ocv_member *members;
    size_t n_members;
    struct ocv_lack *lacks;
    size_t n_lacks;
};

/** Say what is missing: of a role whose candidates have too little room. */
int ocv_placement_explain(struct ocv_placement *placement, size_t role,
                          const struct ocv_match_role *asked, const struct room *room, size_t pin,
                          struct ocv_error *err);

#endif
