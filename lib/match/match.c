/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An index checked for a fleet: ocv_resolve, once for each class. */
#include "lib/base/cleanup.h"
#include "lib/match/match_internal.h"

#include <stdlib.h>
#include <string.h>

void ocv_match_free(struct ocv_match *match)
{
    if (!match)
        return;
    for (size_t i = 0; i < match->n_classes; i++)
        ocv_decision_free(match->decisions[i]);
    ocv_arena_free(&match->tables.arena);
    free(match->decisions);
    free(match->ranks);
    free(match);
}

int ocv_match_update(struct ocv_match *match, struct ocv_error *err)
{
    size_t n = match->fleet->n_classes;
    OCV_TRY(ocv_fleet_sort(match->fleet, err));
    if (n > match->n_classes) {
        struct ocv_decision **decisions =
            reallocarray(match->decisions, n + 1, sizeof(struct ocv_decision *));
        if (!decisions)
            return ocv_error_nomem(err);
        match->decisions = decisions;
        class_rank *ranks =
            reallocarray(match->ranks, (n + 1) * (match->n_entries + 1), sizeof(*ranks));
        if (!ranks)
            return ocv_error_nomem(err);
        match->ranks = ranks;
    }
    for (size_t k; (k = match->n_classes) < n; match->n_classes++) {
        const struct ocv_fleet *fleet = match->fleet;
        struct ocv_decision *d = NULL;
        int status = ocv_resolve_with(match->index, fleet->classes[k].profile, match->options,
                                      &match->tables, &d, err);
        if (status == OCV_ERR_INVALID && err)
            err->status = status = OCV_ERR_DATA; /* the profile names no platform */
        if (status < 0) {                        /* the first node of the class names it */
            size_t i = 0;
            while (i < fleet->n_nodes && fleet->nodes[i].class_place != k)
                i++;
            ocv_error_prefix(err, "node %.253s",
                             i < fleet->n_nodes ? fleet->nodes[i].name : fleet->classes[k].id);
            return status;
        }
        class_rank *ranks = match->ranks + k * match->n_entries;
        match->decisions[k] = d;
        for (size_t i = 0; i < d->n_candidates; i++)
            ranks[d->candidates[i].entry->position] = (class_rank)i;
        for (size_t i = 0; i < d->n_rejected; i++)
            ranks[d->rejected[i].entry->position] = -1 - (class_rank)i;
        for (size_t i = 0; i < match->n_entries && ocv_match_undecided(match, k); i++)
            ranks[i] = CLASS_UNDECIDED;
    }
    return OCV_OK;
}

int ocv_match_new(struct ocv_fleet *fleet, const struct ocv_index *index,
                  const struct ocv_resolve_options *options, struct ocv_match **out,
                  struct ocv_error *err)
{
    ocv_auto(ocv_match) match = calloc(1, sizeof(*match));
    if (!match)
        return ocv_error_nomem(err);
    match->fleet = fleet;
    match->index = index;
    match->options = options;
    match->n_entries = index->n_entries;
    OCV_TRY(ocv_match_update(match, err));
    *out = ocv_steal(&match);
    return OCV_OK;
}

const char *ocv_match_undecided(const struct ocv_match *match, size_t class_place)
{
    return ocv_index_doubt(match->index, ocv_decision_selected(match->decisions[class_place]));
}

const struct ocv_decision *ocv_match_decision(const struct ocv_match *match, size_t class_place)
{
    return match->decisions[class_place];
}
