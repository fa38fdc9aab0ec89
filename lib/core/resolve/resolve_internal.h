/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parts of resolution.
 *
 * host (lib/core/resolve/host.c): each distinct property of the index is looked up once in the
 * host's lists. Properties are sorted, so those of one feature are neighbours: a slot. A slot has
 * one value list per group of devices, or one in all; `ranks` says where each property stands in
 * each list.
 *
 * entry (lib/core/resolve/entry.c): one entry is tested against the slots and gets its sort key.
 *
 * platform (lib/core/resolve/platform_table.c): where each entry stands on hosts of this platform.
 *
 * lib/core/resolve/resolve.c puts the three together: requests, order. */
#ifndef OCV_RESOLVE_H
#define OCV_RESOLVE_H

#include "lib/base/arena.h"
#include "lib/core/core_internal.h"
#include "ocivariant/index.h"
#include "ocivariant/preferences.h"
#include "ocivariant/resolve.h"

#include <stdbool.h>

struct ocv_platform_tables;

#define OCV_UNSUPPORTED UINT32_MAX

/** One namespace that the index uses, on this host. */
struct ocv_host_table_namespace {
    const char *name;
    uint32_t rank; /* place in the namespace order; OCV_UNSUPPORTED: undeclared */
    const struct ocv_namespace *list; /* NULL: the host does not have it */
    enum ocv_reject code;             /* why every property of it fails, or NONE */
    enum ocv_policy policy;
    const struct ocv_device **counted; /* devices that count; n_counted 0 with devices: none left */
    size_t n_counted;
};

/** One (namespace, feature) that the index uses. */
struct ocv_slot {
    struct ocv_host_table_namespace *ns;
    const char *feature;
    uint32_t first, count; /* ids of its properties */
    uint32_t rank;         /* place in the host's feature order */
    bool disabled;
    const struct ocv_feature **lists; /* one per group; members may be NULL */
    size_t n_lists;
    uint32_t *list_of; /* counted device -> list; NULL when there is one list for all */
    const struct ocv_device **list_device; /* first device of each list; NULL likewise */
    uint32_t *ranks;                       /* [list * count + (id - first)] */
    bool *value_disabled;                  /* [id - first], or NULL */
};

struct ocv_host_table {
    struct ocv_host_table_namespace *namespaces;
    size_t n_namespaces;
    struct ocv_slot *slots;
    size_t n_slots;
    uint32_t *slot_of; /* id -> slot */
};

int ocv_host_table_build(struct ocv_arena *arena, const struct ocv_index *index,
                         const struct ocv_profile *profile,
                         const struct ocv_preferences *preferences, struct ocv_host_table *out,
                         struct ocv_error *err);

/** One component of a sort key, (namespace, feature, group, value) in two words; smaller is better,
 * a longer key beats its own prefix. */
struct ocv_component {
    uint64_t feature; /* namespace << 32 | feature */
    uint64_t value;   /* group << 32 | value */
};

struct ocv_candidate {
    const struct ocv_entry *entry;
    uint32_t architecture; /* 0 own, 1 compatible, 2 unannotated without platform */
    uint32_t place;        /* of the platform in the host's order */
    const struct ocv_component *key;
    size_t n_key;
};

struct ocv_decision {
    struct ocv_arena own, *arena; /* complete: its own, or of shared tables */
    const struct ocv_index *index;
    const struct ocv_profile *profile;
    struct ocv_host_table host;
    struct ocv_platform platform;     /* resolved for */
    struct ocv_candidate *candidates; /* one allocation with `rejected`, filled from its end */
    size_t n_candidates;
    struct ocv_rejection *rejected;
    size_t n_rejected;
    const struct ocv_platform_table *table; /* of `platform` */
};

/** ocv_resolve with tables that decisions of one index share, which also have the decision's
 *  memory: hundreds of them in few pages. NULL: the decision has its own. */
int ocv_resolve_with(const struct ocv_index *index, const struct ocv_profile *profile,
                     const struct ocv_resolve_options *options, struct ocv_platform_tables *tables,
                     struct ocv_decision **out, struct ocv_error *err);
/** Does this host have a value of every feature of the entry, device by device as the policies say?
 *  If not, `*why` is the first failure by namespace, feature. */
bool ocv_entry_fits(const struct ocv_host_table *host, const struct ocv_entry *entry,
                    struct ocv_rejection *why);
/** Place of the first of `required` that an entry that fits does not use; their number: none. */
size_t ocv_entry_unmet(const struct ocv_host_table *host, const struct ocv_index *index,
                       const struct ocv_entry *entry, const struct ocv_strings *required);
/** Does any list of the host hold the property? */
bool ocv_host_table_supports(const struct ocv_host_table *host, uint32_t id);
/** Sort key of a candidate that fits, in the decision's arena. */
int ocv_entry_key(struct ocv_decision *d, struct ocv_candidate *candidate, struct ocv_error *err);
int ocv_key_compare(const struct ocv_component *a, size_t n, const struct ocv_component *b,
                    size_t m);
/** What a host needs to have the property (schema/hints.yaml: "driver 575 or newer"), or NULL. */
const char *ocv_hint_needs(struct ocv_property p);
/** The slot a rejection is about, and the host list it was tested against; NULL if none. */
const struct ocv_slot *ocv_rejection_slot(const struct ocv_decision *d,
                                          const struct ocv_rejection *r);
const struct ocv_feature *ocv_rejection_have(const struct ocv_rejection *r,
                                             const struct ocv_slot *slot);

/* What preferences say of a namespace, a feature, a value. */

/** How many parts of a property `item` ("ns", "ns :: feature", "ns :: feature :: value") names: 0
 * if it is neither the property, whose last parts may be NULL, nor the beginning of it. */
size_t ocv_preferences_parts(const char *item, const char *ns, const char *feature,
                             const char *value);
/** Where a namespace, feature (may be NULL) or value (likewise) was disabled, or NULL. */
const char *ocv_preferences_disabled(const struct ocv_preferences *preferences, const char *ns,
                                     const char *feature, const char *value);
/** The policy of a namespace; OCV_POLICY_ALL where none is set. */
enum ocv_policy ocv_preferences_policy(const struct ocv_preferences *preferences, const char *ns);
/** The devices of a namespace that count, or NULL: all of them. */
const struct ocv_strings *ocv_preferences_devices(const struct ocv_preferences *preferences,
                                                  const char *ns);
/** Where the devices of a namespace are narrowed, or else its policy is set; NULL. */
const char *ocv_preferences_devices_origin(const struct ocv_preferences *preferences,
                                           const char *ns);

/* Where the entries of an index stand on hosts of one platform: the part of resolution that all
 * these hosts share. */

struct ocv_platform_place {
    enum ocv_reject code;  /* why the platform does not fit, or NONE */
    uint32_t architecture; /* 0 own, 1 compatible, 2 unannotated without platform */
    uint32_t place;        /* in the host's order */
};

struct ocv_platform_table {
    struct ocv_platform host;
    struct ocv_platform_place *places; /* by entry position */
    const struct ocv_entry *older;     /* what a client without this library takes */
    struct ocv_platform_table *next;
};

/** Tables of one index, one for each platform that was asked for, and what decisions made with them
 *  are made of. Free the arena when the last of these is gone. */
struct ocv_platform_tables {
    struct ocv_arena arena;
    struct ocv_platform_table *first;
};

/** The table of `host`, made if it is not there. Its strings are copied. */
int ocv_platform_table_get(struct ocv_platform_tables *tables, const struct ocv_index *index,
                           const struct ocv_platform *host, const struct ocv_platform_table **out,
                           struct ocv_error *err);
/** The same for one decision: made in `arena`, with the strings of `host`. NULL: no memory. */
struct ocv_platform_table *ocv_platform_table_make(struct ocv_arena *arena,
                                                   const struct ocv_index *index,
                                                   const struct ocv_platform *host);

/* Which entries are defaults; used by the core, lint and tables. */

/** Is it a default for hosts that no variant fits: `null`, or a complete ordinary image that is not
 *  a twin in a format that only some hosts read (os.features)? */
bool ocv_entry_is_default(const struct ocv_entry *entry);
/** Is it hidden ("x-...") without annotations: a variant that its publisher has yet to annotate? */
bool ocv_entry_is_unfinished(const struct ocv_entry *entry);
/** Is it shown as "the default": a complete ordinary image among variants? */
bool ocv_index_shows_default(const struct ocv_index *index, const struct ocv_entry *entry);
/** What a client that knows nothing of variants takes on this machine: of the entries that are not
 *  hidden the first of the platform that fits best, or NULL. `any_features`: it ignores
 *  os.features, as most of them do. */
const struct ocv_entry *ocv_index_older_choice(const struct ocv_index *index,
                                               const struct ocv_platform *machine,
                                               bool any_features);

/** Does code of SM number `code` run on a GPU of SM number `sm`? `form` is 'a' for code of that
 * chip alone, 'f' of its family, 'v' for PTX, else any: plain machine code. */
bool ocv_sm_runs(unsigned code, char form, unsigned sm);

/* A `..._lower_bound` has a list of values: the machine's version, and all that are older. */

/** Call `visit` for each value that a machine of version MAJOR.MINOR has for that feature, newest
 *  first: its own minor versions downwards, the bare major, then the same of each older major, as
 * the vocabulary's `downwards` says. Of a feature without it: down to 1. Ends when `visit` returns
 *  something else than 0, and returns that. */
int ocv_versions_below(const char *ns, const char *feature, unsigned major, unsigned minor,
                       int (*visit)(void *data, const char *version), void *data);

#endif
