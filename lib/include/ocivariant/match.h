/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file match.h
 * Placing the members of a job: which nodes of a fleet can run an image, and with which entry of
 * its index, so that all members of a role get the same build.
 *
 * A fleet is a set of nodes with their profiles. Nodes whose profiles differ in nothing that
 * resolution reads are of one class, which is kept and checked once.
 *
 * Ownership: the caller owns fleets, matches and placements. A match borrows the fleet and the
 * index, a placement borrows the match; both must be freed before what they borrow. Strings are
 * borrowed from the fleet or the index. Thread safety: what is not changed by a thread (a fleet
 * that nodes are added to, a match that is brought up to date) may be read by any number of them.
 */
#ifndef OCIVARIANT_MATCH_H
#define OCIVARIANT_MATCH_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/profile.h"
#include "ocivariant/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A class's name, with NUL: 12 hexadecimal digits. */
#define OCV_CLASS_MAX 13
/** Nodes of a fleet, at most. */
#define OCV_FLEET_NODES_MAX 1000000u
/** Bytes of a fleet document, at most. */
#define OCV_FLEET_MAX ((size_t)1024 * 1024 * 1024)
/** Longest name of a node: 1 to 253 of A-Z a-z 0-9 . _ : @ + - */
#define OCV_NODE_NAME_MAX 253u
/** Roles of one request, at most. */
#define OCV_MATCH_ROLES_MAX 8u

/** Append what resolution reads of a profile as one line of JSON: platform, and of namespaces,
 *  sorted by name, features, devices and their values; without host name, times and what only
 *  messages quote. It is a profile itself, of the same class. */
OCV_API int ocv_profile_essence(const struct ocv_profile *profile, struct ocv_buffer *out,
                                struct ocv_error *err) OCV_WARN_UNUSED;
/** The class of a profile: the first digits of the SHA-256 of ocv_profile_essence. */
OCV_API int ocv_profile_class(const struct ocv_profile *profile, char out[OCV_CLASS_MAX],
                              struct ocv_error *err) OCV_WARN_UNUSED;

struct ocv_fleet;
/** An empty fleet. */
OCV_API int ocv_fleet_new(struct ocv_fleet **out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_fleet_free(struct ocv_fleet *fleet);

/** A node. Zero-initialise, then set at least `name` and `slots`. */
struct ocv_node {
    const char *name;
    uint32_t weight; /**< nodes of a lower weight are taken first */
    uint32_t slots;  /**< members that it has room for now; 0: none */
    bool excluded;   /**< never taken: drained, cordoned */
};
/** Add a node. Name and profile are copied. A malformed name, or one that the fleet has:
 *  OCV_ERR_DATA. */
OCV_API int ocv_fleet_add(struct ocv_fleet *fleet, const struct ocv_node *node,
                          const struct ocv_profile *profile, struct ocv_error *err) OCV_WARN_UNUSED;
/** Change the node of that name; `profile` NULL leaves its class. No such node: OCV_ERR_NOT_FOUND.
 *  ocv_match_update makes a match follow. */
OCV_API int ocv_fleet_change(struct ocv_fleet *fleet, const struct ocv_node *node,
                             const struct ocv_profile *profile,
                             struct ocv_error *err) OCV_WARN_UNUSED;
/** Number of nodes. */
OCV_API size_t ocv_fleet_count(const struct ocv_fleet *fleet);
/** Number of classes, those included that changed nodes have left. */
OCV_API size_t ocv_fleet_class_count(const struct ocv_fleet *fleet);
/** The i-th node, in the order in which they were added. `class_place` (may be NULL) gets the place
 *  of its class. */
OCV_API struct ocv_node ocv_fleet_node(const struct ocv_fleet *fleet, size_t i,
                                       size_t *class_place);
/** Place of the node of that name; the number of nodes if there is none. */
OCV_API size_t ocv_fleet_find(const struct ocv_fleet *fleet, const char *name);
/** Name of the class at a place, 12 hexadecimal digits. */
OCV_API const char *ocv_fleet_class(const struct ocv_fleet *fleet, size_t class_place);
/** Its profile, as ocv_profile_essence gives it. */
OCV_API const struct ocv_profile *ocv_fleet_class_profile(const struct ocv_fleet *fleet,
                                                          size_t class_place);

/** How a document is read. Zero-initialised: the first bad node is an error. */
struct ocv_fleet_reading {
    const char *source; /**< name of the document for messages ("fleet.jsonl") */
    const char *name;   /**< of the node, where the document is one profile; NULL: its hostname */
    bool skip_bad;      /**< leave out nodes that cannot be read, and count them */
    /** Make another profile of the one that was read, or NULL: none. OCV_ERR_DATA is a bad node. */
    int (*adapt)(void *data, const struct ocv_profile *profile, struct ocv_profile **out,
                 struct ocv_error *err);
    void *data;             /**< of `adapt` */
    size_t skipped;         /**< out: nodes that were left out */
    size_t without_profile; /**< out: Kubernetes nodes without the profile annotation, left out */
    struct ocv_error first; /**< out: why the first of those skipped was; its hint names the next */
};
#define OCV_FLEET_NAMED_MAX 10u /**< of those skipped, so many are named in all */
/** Read a document into the fleet: a profile; JSON Lines of profiles or of nodes (`name`,
 * `profile`, and `weight`, `slots`, `excluded`); what ocv_fleet_pack writes; a list of Kubernetes
 * nodes, whose annotation `dev.ocivariant/profile` has the profile. Bad data is OCV_ERR_DATA and
 * names source and line. What was read before stays in the fleet. */
OCV_API int ocv_fleet_read(struct ocv_fleet *fleet, const void *bytes, size_t len,
                           struct ocv_fleet_reading *how, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the fleet as JSON Lines that load fast: a header, the classes that nodes are of, the
 * nodes sorted by name. */
OCV_API int ocv_fleet_pack(const struct ocv_fleet *fleet, struct ocv_buffer *out,
                           struct ocv_error *err) OCV_WARN_UNUSED;

/** Append the names that a node list means to `out`, each with its NUL: names and Slurm's host
 *  lists ("n[1-4,7],login", "r[1-2]c[01-16]"), separated by commas, blanks or newlines. `*count`:
 *  how many. Names may repeat. Over OCV_FLEET_NODES_MAX or malformed: OCV_ERR_INVALID. */
OCV_API int ocv_node_list_expand(const char *text, size_t len, struct ocv_buffer *out,
                                 size_t *count, struct ocv_error *err) OCV_WARN_UNUSED;

struct ocv_match;
/** Check an index for every class of a fleet. `options` as for ocv_resolve, or NULL; they and what
 *  they borrow must outlive the match. A class without platform is OCV_ERR_DATA. */
OCV_API int ocv_match_new(struct ocv_fleet *fleet, const struct ocv_index *index,
                          const struct ocv_resolve_options *options, struct ocv_match **out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** Check the classes that were added to the fleet since. Free earlier placements first. */
OCV_API int ocv_match_update(struct ocv_match *match, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_match_free(struct ocv_match *match);
/** Why nothing can be decided for the nodes of a class, on which no entry is placed then: the image
 *  that fits them best is one of several (ocv_index_doubt). NULL: it can. */
OCV_API const char *ocv_match_undecided(const struct ocv_match *match, size_t class_place);
/** What ocv_resolve decides for the nodes of a class: order and reasons. */
OCV_API const struct ocv_decision *ocv_match_decision(const struct ocv_match *match,
                                                      size_t class_place);

/** The order of the index's entries for all nodes of the fleet, as ocv_match_place has it:
 * `place_of` gets the place of each (as many as ocv_index_count), SIZE_MAX of one that no node
 * runs. */
OCV_API int ocv_match_order(const struct ocv_match *match, size_t *place_of,
                            struct ocv_error *err) OCV_WARN_UNUSED;

/** What the members of a job must have in common. */
enum ocv_match_policy {
    OCV_MATCH_HOMOGENEOUS, /**< one entry for all members of a role; the nodes are chosen */
    OCV_MATCH_BEST,        /**< each node its own best */
    OCV_MATCH_COMMON,      /**< one entry for all nodes of `nodes`: an allocation that exists */
    OCV_MATCH_UNPINNED     /**< as homogeneous, on nodes that take the entry by themselves, for
                                schedulers that cannot name an image by its digest */
};
/** One role. */
struct ocv_match_role {
    const char *name;         /**< "worker"; may be NULL */
    const char *architecture; /**< only nodes of it ("amd64"), or NULL */
    size_t count;             /**< members, at least 1; not read by OCV_MATCH_COMMON */
};
/** What is asked. Zero-initialise. */
struct ocv_match_request {
    enum ocv_match_policy policy;
    const struct ocv_match_role *roles; /**< OCV_MATCH_COMMON takes at most one */
    size_t n_roles;
    const char *const *nodes; /**< only these, or NULL: all. Unknown: OCV_ERR_NOT_FOUND */
    size_t n_nodes;
    const char *pin; /**< only the entry with this digest, or NULL. Not there: OCV_ERR_NOT_FOUND */
};

struct ocv_placement;
/** Place members. Deterministic. Candidates are ordered as the nodes that may be taken and run both
 *  prefer; where none runs both, where they disagree or where that goes in circles, by the index:
 *  variants before defaults, static namespaces, then the place in it. The first with room for all
 *  members is taken. Nodes of lower weight come first, then those that
 *  would choose the entry by themselves, then by name. No placement is not an error. */
OCV_API int ocv_match_place(const struct ocv_match *match, const struct ocv_match_request *request,
                            struct ocv_placement **out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_placement_free(struct ocv_placement *placement);
/** Was there a placement? If not, ocv_placement_lack says what is missing. */
OCV_API bool ocv_placement_found(const struct ocv_placement *placement);

/** A member of the job. */
struct ocv_member {
    size_t role;
    size_t node; /**< place in the fleet */
    const struct ocv_entry *entry;
    bool own; /**< the node would choose this entry by itself */
};
/** Number of members placed: all that were asked for, or 0. */
OCV_API size_t ocv_placement_count(const struct ocv_placement *placement);
/** The i-th member, by roles. */
OCV_API struct ocv_member ocv_placement_member(const struct ocv_placement *placement, size_t i);
/** The entry of a role, NULL under OCV_MATCH_BEST and without placement. */
OCV_API const struct ocv_entry *ocv_placement_entry(const struct ocv_placement *placement,
                                                    size_t role);
/** Must the role's image be named by digest? Left alone, some of its nodes take another entry. */
OCV_API bool ocv_placement_pin_needed(const struct ocv_placement *placement, size_t role);
/** Why there is no placement: an entry that is near to one. */
struct ocv_lack {
    size_t role;
    const struct ocv_entry *entry; /**< NULL: the roles fit one by one, not together */
    size_t room;                   /**< members that there is room for */
    size_t missing;                /**< members without room */
    size_t cost;                   /**< nodes that lack the property below */
    enum ocv_reject code;          /**< as in struct ocv_rejection, of the class below */
    const char *ns, *feature; /**< of all those nodes; NULL if the code is not about a property */
    size_t class_place;       /**< a class that says so: ocv_match_decision has the sentence */
};
/** Number of them: for each role that has no room its nearest entries, at most three. */
OCV_API size_t ocv_placement_lack_count(const struct ocv_placement *placement);
OCV_API struct ocv_lack ocv_placement_lack(const struct ocv_placement *placement, size_t i);

OCV_DEFINE_CLEANUP(ocv_fleet)
OCV_DEFINE_CLEANUP(ocv_match)
OCV_DEFINE_CLEANUP(ocv_placement)

#ifdef __cplusplus
}
#endif
#endif
