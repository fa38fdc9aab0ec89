/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The entry that was missed: this host has that kind of hardware, and would have got the entry with
 * a newer driver or other devices. */
#include "lib/core/resolve/resolve_internal.h"

#include <stdlib.h>
#include <string.h>

/* "12.10" is more than "12.8". */
static int compare_versions(const char *a, const char *b)
{
    for (;;) {
        char *end_a, *end_b;
        unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
        if (end_a == a || end_b == b)
            return strcmp(a, b);
        if (x != y)
            return x < y ? -1 : 1;
        if (*end_a != '.' || *end_b != '.')
            return strcmp(end_a, end_b);
        a = end_a + 1;
        b = end_b + 1;
    }
}

/* The lowest value that the entry asks for of the slot: any of them will do. */
static const char *lowest_wanted(const struct ocv_decision *d, const struct ocv_entry *entry,
                                 const struct ocv_slot *slot)
{
    const char *lowest = NULL;
    for (size_t i = 0; i < entry->n_properties; i++) {
        uint32_t id = entry->properties[i];
        const char *value = d->index->properties[id].value;
        if (&d->host.slots[d->host.slot_of[id]] == slot &&
            (!lowest || compare_versions(value, lowest) < 0))
            lowest = value;
    }
    return lowest;
}

/* Is rejection `a` of something better than `b`? By the index's order of namespaces, then the
 * newest, then the label. */
static bool is_better(const struct ocv_decision *d, const struct ocv_rejection *a,
                      const struct ocv_rejection *b)
{
    const struct ocv_slot *x = ocv_rejection_slot(d, a), *y = ocv_rejection_slot(d, b);
    if (x->ns->rank != y->ns->rank)
        return x->ns->rank < y->ns->rank;
    int order = x == y
                    ? compare_versions(lowest_wanted(d, a->entry, x), lowest_wanted(d, b->entry, y))
                    : (int)(y->rank < x->rank) - (int)(x->rank < y->rank);
    if (order)
        return order > 0;
    return a->entry->label && b->entry->label && strcmp(a->entry->label, b->entry->label) < 0;
}

/* A variant was chosen: was a later version of the same feature, or a more important namespace,
 * wanted? That the chip is another one is no news. */
static bool beats_choice(const struct ocv_decision *d, const struct ocv_rejection *r,
                         const struct ocv_entry *chosen)
{
    const struct ocv_slot *slot = ocv_rejection_slot(d, r);
    static const char versions[] = "_lower_bound"; /* an update of the driver may bring more */
    const char *have = lowest_wanted(d, chosen, slot);
    size_t n = strlen(slot->feature), end = sizeof(versions) - 1;
    if (have)
        return n > end && !strcmp(slot->feature + n - end, versions) &&
               r->code == OCV_REJECT_VALUE_UNSUPPORTED &&
               compare_versions(lowest_wanted(d, r->entry, slot), have) > 0;
    for (size_t i = 0; i < chosen->n_properties; i++)
        if (d->host.slots[d->host.slot_of[chosen->properties[i]]].ns->rank <= slot->ns->rank)
            return false;
    return true;
}

size_t ocv_decision_missed(const struct ocv_decision *decision)
{
    const struct ocv_entry *chosen = ocv_decision_selected(decision);
    size_t best = decision->n_rejected;
    for (size_t i = 0; chosen && i < decision->n_rejected; i++) {
        const struct ocv_rejection *r = &decision->rejected[i];
        const struct ocv_slot *slot = ocv_rejection_slot(decision, r);
        bool lacks = r->code == OCV_REJECT_NAMESPACE_UNSUPPORTED ||
                     r->code == OCV_REJECT_FEATURE_UNSUPPORTED ||
                     r->code == OCV_REJECT_VALUE_UNSUPPORTED || r->code == OCV_REJECT_DEVICE ||
                     r->code == OCV_REJECT_NO_DEVICE;
        /* a host without such a device missed nothing, nor does anything that was disabled count */
        if (lacks && slot && slot->ns->list && slot->ns->list->n_devices &&
            (chosen->kind != OCV_ENTRY_VARIANT || beats_choice(decision, r, chosen)) &&
            (best == decision->n_rejected || is_better(decision, r, &decision->rejected[best])))
            best = i;
    }
    return best;
}
