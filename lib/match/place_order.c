/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Places that an entry has on hosts. */
#include "lib/match/match_internal.h"

int ocv_match_compare_places(const struct ocv_candidate *a, const struct ocv_candidate *b)
{
    if (a->architecture != b->architecture)
        return a->architecture < b->architecture ? -1 : 1;
    if (a->entry->kind != b->entry->kind)
        return a->entry->kind < b->entry->kind ? -1 : 1;
    int order = ocv_key_compare(a->key, a->n_key, b->key, b->n_key);
    if (order == 0)
        order = ocv_entry_is_unfinished(a->entry) - ocv_entry_is_unfinished(b->entry);
    if (order == 0 && a->place != b->place)
        order = a->place < b->place ? -1 : 1;
    return order;
}
