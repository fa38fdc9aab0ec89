/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An index checked for a fleet: ocv_resolve, once for each class. */
#include "lib/match/match_internal.h"

#include "lib/base/cleanup.h"

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

static int make_room(struct ocv_match *match, size_t n_classes, struct ocv_error *err)
{
    struct ocv_decision **decisions =
        reallocarray(match->decisions, n_classes + 1, sizeof(struct ocv_decision *));
    if (!decisions)
        return ocv_error_nomem(err);
    match->decisions = decisions;
    class_rank *ranks =
        reallocarray(match->ranks, (n_classes + 1) * (match->n_entries + 1), sizeof(*ranks));
    if (!ranks)
        return ocv_error_nomem(err);
    match->ranks = ranks;
    return OCV_OK;
}

/* The first node of a class, to name it by. */
static const char *example_node(const struct ocv_fleet *fleet, size_t class_place)
{
    for (size_t i = 0; i < fleet->n_nodes; i++)
        if (fleet->nodes[i].class_place == class_place)
            return fleet->nodes[i].name;
    return fleet->classes[class_place].id;
}

static int resolve_class(struct ocv_match *match, size_t class_place, struct ocv_error *err)
{
    const struct ocv_profile *profile = match->fleet->classes[class_place].profile;
    struct ocv_decision *d = NULL;
    int status = ocv_resolve_with(match->index, profile, match->options, &match->tables, &d, err);
    if (status == OCV_ERR_INVALID && err)
        err->status = status = OCV_ERR_DATA; /* the profile names no platform */
    if (status < 0)
        return ocv_error_prefix(err, "node %.253s", example_node(match->fleet, class_place)),
               status;
    class_rank *ranks = match->ranks + class_place * match->n_entries;
    match->decisions[class_place] = d;
    for (size_t i = 0; i < d->n_candidates; i++)
        ranks[d->candidates[i].entry->position] = (class_rank)i;
    for (size_t i = 0; i < d->n_rejected; i++)
        ranks[d->rejected[i].entry->position] = -1 - (class_rank)i;
    for (size_t i = 0; i < match->n_entries && ocv_match_undecided(match, class_place); i++)
        ranks[i] = CLASS_UNDECIDED;
    return OCV_OK;
}

int ocv_match_update(struct ocv_match *match, struct ocv_error *err)
{
    size_t n = match->fleet->n_classes;
    int status = ocv_fleet_sort(match->fleet, err);
    if (status == OCV_OK && n > match->n_classes)
        status = make_room(match, n, err);
    while (status == OCV_OK && match->n_classes < n) {
        status = resolve_class(match, match->n_classes, err);
        match->n_classes += status == OCV_OK;
    }
    return status;
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
