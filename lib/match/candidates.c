/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which entries a role could take, in what order. */
#include "lib/match/match_internal.h"

#include <stdlib.h>
#include <string.h>

bool ocv_role_takes(const struct ocv_match *match, const struct ocv_match_role *role,
                    size_t class_place)
{
    const char *own = match->fleet->classes[class_place].profile->platform.architecture;
    return !role->architecture || (own && !strcmp(ocv_platform_architecture(own),
                                                  ocv_platform_architecture(role->architecture)));
}

static const struct ocv_candidate *find_placed(const struct ocv_match *match, size_t class_place,
                                               size_t entry)
{
    return &match->decisions[class_place]->candidates[rank_of(match, class_place, entry)];
}

static int compare_candidates(const void *pa, const void *pb, void *data)
{
    const struct candidate *a = pa, *b = pb;
    const struct ocv_match *match = data;
    const struct ocv_candidate *x = find_placed(match, a->best_class, a->entry);
    const struct ocv_candidate *y = find_placed(match, b->best_class, b->entry);
    int order = ocv_match_compare_places(x, y);
    if (order == 0 && a->room != b->room)
        order = a->room > b->room ? -1 : 1;
    if (order == 0 && x->entry->label && y->entry->label)
        order = strcmp(x->entry->label, y->entry->label);
    return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

size_t ocv_candidates(const struct ocv_match *match, const struct ocv_match_role *role,
                      const struct room *room, size_t pin, struct candidate *list)
{
    size_t n = 0;
    for (size_t e = 0; e < match->n_entries; e++) {
        struct candidate c = {.entry = e, .best_class = SIZE_MAX};
        for (size_t k = 0; (pin == SIZE_MAX || pin == e) && k < match->n_classes; k++) {
            if (!room->of_class[k] || !class_runs(match, room, k, e) ||
                !ocv_role_takes(match, role, k))
                continue;
            c.room += room->of_class[k];
            if (c.best_class == SIZE_MAX ||
                ocv_match_compare_places(find_placed(match, k, e),
                                         find_placed(match, c.best_class, e)) < 0)
                c.best_class = k;
        }
        if (c.best_class != SIZE_MAX)
            list[n++] = c;
    }
    qsort_r(list, n, sizeof(*list), compare_candidates, (void *)(uintptr_t)match);
    return n;
}
