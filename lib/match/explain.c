/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Why there is no placement: the nearest entries, and what costs them most nodes. */
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/match/match_internal.h"

#include <stdlib.h>
#include <string.h>

#define NEAREST_MAX 3u

static const struct ocv_rejection *rejection_of(const struct ocv_match *match, size_t k,
                                                size_t entry)
{
    static const struct ocv_rejection undecided = {.code = OCV_REJECT_AMBIGUOUS};
    class_rank v = rank_of(match, k, entry);
    if (v == CLASS_UNDECIDED)
        return &undecided;
    return v < 0 ? &match->decisions[k]->rejected[-1 - v] : NULL;
}

/* The feature that rules out most nodes. Where the reasons differ, the one of the first class with
 * room is given. */
static void find_cost(const struct ocv_match *match, const struct ocv_match_role *role,
                      const uint64_t *nodes, size_t entry, struct ocv_lack *lack)
{
    for (size_t k = 0; k < match->n_classes; k++) {
        const struct ocv_rejection *r = rejection_of(match, k, entry), *other;
        uint64_t cost = 0;
        if (!r || !nodes[k] || !ocv_role_takes(match, role, k))
            continue;
        for (size_t i = 0; i < match->n_classes; i++)
            if (nodes[i] && ocv_role_takes(match, role, i) &&
                (other = rejection_of(match, i, entry)) != NULL &&
                ocv_text_same(r->ns, other->ns) && ocv_text_same(r->feature, other->feature) &&
                (r->ns || r->code == other->code))
                cost += nodes[i];
        if (cost <= lack->cost)
            continue;
        lack->cost = (size_t)cost;
        lack->code = r->code;
        lack->ns = r->ns;
        lack->feature = r->feature;
        lack->class_place = k;
    }
}

struct near_miss {
    size_t entry, order;
    uint64_t room;
};

static int by_room(const void *pa, const void *pb)
{
    const struct near_miss *a = pa, *b = pb;
    if (a->room != b->room)
        return a->room > b->room ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

int ocv_placement_explain(struct ocv_placement *p, size_t role, const struct ocv_match_role *asked,
                          const struct room *room, size_t pin, struct ocv_error *err)
{
    const struct ocv_match *match = p->match;
    ocv_auto_free uint64_t *nodes = calloc(match->n_classes + 1, sizeof(*nodes)); /* with room */
    ocv_auto_free struct candidate *candidates = calloc(match->n_entries + 1, sizeof(*candidates));
    ocv_auto_free struct near_miss *near = calloc(match->n_entries + 1, sizeof(*near));
    if (!nodes || !candidates || !near)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < match->fleet->n_nodes; i++)
        nodes[match->fleet->nodes[i].class_place] += room->of_node[i] > 0;
    /* all images of the index; equally near ones in the order of candidates, then of the index */
    size_t n = 0, fit;
    OCV_TRY(ocv_candidates(match, asked, room, pin, candidates, &fit, err));
    for (size_t e = 0; e < match->n_entries; e++) {
        if (match->index->entries[e].code != OCV_REJECT_NONE || (pin != SIZE_MAX && pin != e))
            continue;
        size_t order = 0;
        while (order < fit && candidates[order].entry != e)
            order++;
        uint64_t sum = 0;
        for (size_t k = 0; k < match->n_classes; k++)
            if (class_runs(match, room, k, e) && ocv_role_takes(match, asked, k))
                sum += room->of_class[k];
        near[n++] = (struct near_miss){e, order < fit ? order : fit + e, sum};
    }
    qsort(near, n, sizeof(*near), by_room);
    for (size_t i = 0; i < n && i < NEAREST_MAX; i++) {
        struct ocv_lack *lacks = reallocarray(p->lacks, p->n_lacks + 1, sizeof(*lacks));
        if (!lacks)
            return ocv_error_nomem(err);
        p->lacks = lacks;
        struct ocv_lack *lack = &lacks[p->n_lacks++];
        *lack = (struct ocv_lack){
            .role = role,
            .entry = &match->index->entries[near[i].entry],
            .room = (size_t)near[i].room,
            .missing = asked->count > near[i].room ? asked->count - (size_t)near[i].room : 0};
        find_cost(match, asked, nodes, near[i].entry, lack);
    }
    return OCV_OK;
}
