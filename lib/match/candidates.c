/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which entries a role could take, and in what order: as the nodes that can run both prefer, where
 * they agree. Where no node runs both, where nodes disagree, or where preferences go in circles,
 * the index's own order decides: variants before the default, static namespaces, finished entries,
 * the place in the index. So the order
 * depends on which kinds of nodes there are, and on nothing else. */
#include "lib/base/cleanup.h"
#include "lib/match/match_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool ocv_role_takes(const struct ocv_match *match, const struct ocv_match_role *role,
                    size_t class_place)
{
    const char *own = match->fleet->classes[class_place].profile->platform.architecture;
    return !role->architecture || (own && !strcmp(ocv_platform_architecture(own),
                                                  ocv_platform_architecture(role->architecture)));
}

/* The place of an entry in a feature of a static namespace: of its best value; INT_MAX: none. */
static int static_place(const struct ocv_index *index, const struct ocv_entry *entry,
                        const char *ns, const struct ocv_feature *feature)
{
    int best = INT_MAX;
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        if (strcmp(p.ns, ns) != 0 || strcmp(p.feature, feature->name) != 0)
            continue;
        for (size_t v = 0; v < feature->n_values && (int)v < best; v++)
            if (!strcmp(p.value, feature->values[v]))
                best = (int)v;
    }
    return best;
}

/* before[i]: a bit for each candidate that comes after i. */
struct relation {
    uint64_t *bits;
    size_t n, words;
};

static bool is_before(const struct relation *r, size_t i, size_t j)
{
    return r->bits[i * r->words + j / 64] >> j % 64 & 1;
}

static void set_before(struct relation *r, size_t i, size_t j, bool is)
{
    uint64_t bit = (uint64_t)1 << j % 64, *word = &r->bits[i * r->words + j / 64];
    *word = is ? *word | bit : *word & ~bit;
}

static int compare_candidates(const void *a, const void *b, void *index)
{
    const struct ocv_index *of = index;
    const struct ocv_entry *x = &of->entries[((const struct candidate *)a)->entry];
    const struct ocv_entry *y = &of->entries[((const struct candidate *)b)->entry];
    const char *const *names;
    size_t n = ocv_index_namespaces(of, &names, NULL);
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < of->n_statics; s++) {
            const struct ocv_namespace *ns = &of->statics[s];
            for (size_t f = 0; !strcmp(ns->name, names[i]) && f < ns->n_features; f++) {
                int left = static_place(of, x, ns->name, &ns->features[f]);
                int right = static_place(of, y, ns->name, &ns->features[f]);
                if (left != right)
                    return left < right ? -1 : 1;
            }
        }
    int order = ocv_entry_is_unfinished(x) - ocv_entry_is_unfinished(y);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

/* Must i come before j? In a circle neither must. */
static bool must_precede(const struct relation *r, size_t i, size_t j)
{
    return is_before(r, i, j) && !is_before(r, j, i);
}

int ocv_candidates(const struct ocv_match *match, const struct ocv_match_role *role,
                   const struct room *room, size_t pin, struct candidate *list, size_t *n,
                   struct ocv_error *err)
{
    *n = 0;
    for (size_t e = 0; e < match->n_entries; e++) {
        struct candidate c = {.entry = e};
        for (size_t k = 0; (pin == SIZE_MAX || pin == e) && k < match->n_classes; k++)
            if (class_runs(match, room, k, e) && ocv_role_takes(match, role, k))
                c.room += room->of_class[k];
        c.at = *n;
        if (c.room)
            list[(*n)++] = c;
    }
    struct relation r = {.n = *n, .words = (*n + 63) / 64};
    ocv_auto_free uint64_t *bits = calloc(r.n * r.words + 1, sizeof(*bits));
    if (!(r.bits = bits))
        return ocv_error_nomem(err);

    /* What nodes that run both say, if they agree, and what follows from that. */
    for (size_t k = 0; k < match->n_classes; k++) {
        if (!room->of_class[k] || !ocv_role_takes(match, role, k))
            continue;
        for (size_t i = 0; i < r.n; i++) {
            class_rank x = rank_of(match, k, list[i].entry);
            for (size_t j = 0; j < r.n && x >= 0; j++) {
                class_rank y = rank_of(match, k, list[j].entry);
                if (y > x)
                    set_before(&r, i, j, true);
            }
        }
    }
    for (size_t i = 0; i < r.n; i++)
        for (size_t j = 0; j < i; j++)
            if (is_before(&r, i, j) && is_before(&r, j, i)) {
                set_before(&r, i, j, false);
                set_before(&r, j, i, false);
            }
    for (size_t via = 0; via < r.n; via++)
        for (size_t i = 0; i < r.n; i++)
            for (size_t w = 0; w < r.words && is_before(&r, i, via); w++)
                r.bits[i * r.words + w] |= r.bits[via * r.words + w];

    /* Of those that nothing else has to come before, the first in the index's own order is next. */
    ocv_auto_free struct candidate *own = calloc(r.n + 1, sizeof(*own));
    ocv_auto_free size_t *blockers = calloc(r.n + 1, sizeof(*blockers));
    if (!own || !blockers)
        return ocv_error_nomem(err);
    memcpy(own, list, r.n * sizeof(*own));
    qsort_r(own, r.n, sizeof(*own), compare_candidates, (void *)(uintptr_t)match->index);
    for (size_t i = 0; i < r.n; i++)
        for (size_t j = 0; j < r.n; j++)
            blockers[j] += must_precede(&r, i, j);
    for (size_t done = 0; done < r.n; done++) {
        size_t next = 0;
        while (blockers[own[next].at]) /* SIZE_MAX: it has its place */
            next++;
        for (size_t j = 0; j < r.n; j++)
            if (blockers[j] != SIZE_MAX)
                blockers[j] -= must_precede(&r, own[next].at, j);
        blockers[own[next].at] = SIZE_MAX;
        list[done] = own[next];
    }
    return OCV_OK;
}

int ocv_match_order(const struct ocv_match *match, size_t *place_of, struct ocv_error *err)
{
    const struct ocv_match_role any = {0};
    struct room room = {0};
    ocv_auto_free uint64_t *each = calloc(match->n_classes + 1, sizeof(*each));
    ocv_auto_free struct candidate *list = calloc(match->n_entries + 1, sizeof(*list));
    size_t n;
    if (!each || !list)
        return ocv_error_nomem(err);
    for (size_t k = 0; k < match->n_classes; k++)
        each[k] = 1;
    room.of_class = each;
    OCV_TRY(ocv_candidates(match, &any, &room, SIZE_MAX, list, &n, err));
    for (size_t e = 0; e < match->n_entries; e++)
        place_of[e] = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        place_of[list[i].entry] = i;
    return OCV_OK;
}
