/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef OCV_SLURM_INTERNAL_H
#define OCV_SLURM_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/internal/slurm/slurm.h"
#include "lib/match/match_internal.h"

/* Features have ids, which are their places in `features`. */
struct slurm_kind {
    uint32_t *features; /* best first, as the line has them */
    size_t n_features;
    uint64_t *has; /* a bit for each feature */
    bool has_short;
};

struct ocv_slurm_nodes {
    struct ocv_arena arena;
    struct ocv_fleet *fleet; /* its classes are the kinds */
    struct slurm_kind *kinds;
    const char **features;
    size_t n_features;
    struct ocv_names by_name;
};

static inline bool slurm_has(const struct slurm_kind *kind, uint32_t feature)
{
    return kind->has[feature / 64] >> (feature % 64) & 1;
}

/* What nodes have to have for an entry. */
struct slurm_alternative {
    const struct ocv_entry *entry;
    uint32_t *features;
    size_t n_features;
    size_t n_values;                   /* of them, those that the entry names: the first ones */
    size_t order;                      /* the place of the entry among all */
    const struct ocv_candidate *place; /* the best of the kinds that it was made for */
    uint64_t *covers;                  /* a bit for each kind that has the features */
    size_t n_covers;
    char *text; /* features joined by "&" */
};

#endif
