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

#include "lib/core/index_internal.h"
#include "lib/core/platform_internal.h"
#include "lib/core/profile_internal.h"
#include "lib/core/resolve/default.h"
#include "lib/core/resolve/platform_table.h"
#include "lib/core/resolve/preferences_internal.h"
#include "ocivariant/resolve.h"

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
/** Has any list of the host this property? */
bool ocv_host_table_supports(const struct ocv_host_table *host, uint32_t id);
/** What a host needs to have the property (schema/hints.yaml: "driver 575 or newer"), or NULL. */
const char *ocv_hint_needs(struct ocv_property p);
/** The slot a rejection is about, and the host list it was tested against; NULL if none. */
const struct ocv_slot *ocv_rejection_slot(const struct ocv_decision *d,
                                          const struct ocv_rejection *r);
const struct ocv_feature *ocv_rejection_have(const struct ocv_rejection *r,
                                             const struct ocv_slot *slot);

#endif
