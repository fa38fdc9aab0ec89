/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One entry against the host: does it fit under the device policies, and what is its sort key. */
#include "lib/core/resolve/resolve_internal.h"

#include <string.h>

#define FEW 16u /* components of a key that are worked on without an allocation */

/* Best value of the entry's properties ids[0..n) of one slot, in one of the slot's lists. */
static uint32_t best_value(const struct ocv_slot *slot, size_t list, const uint32_t *ids, size_t n)
{
    const uint32_t *ranks = slot->ranks + list * slot->count;
    uint32_t best = OCV_UNSUPPORTED;
    for (size_t i = 0; i < n; i++)
        if (ranks[ids[i] - slot->first] < best)
            best = ranks[ids[i] - slot->first];
    return best;
}

/* Where the properties of the slot end that ids[start] is of. */
static size_t slot_end(const struct ocv_host_table *host, const uint32_t *ids, size_t n,
                       size_t start)
{
    size_t end = start + 1;
    while (end < n && host->slot_of[ids[end]] == host->slot_of[ids[start]])
        end++;
    return end;
}

/* Under `all` and `first` (which counts one device) every list of the slot must hold one of the
 * entry's values, under `any` at least one list. */
static bool fits_slot(const struct ocv_slot *slot, const struct ocv_entry *entry,
                      const uint32_t *ids, size_t n, struct ocv_rejection *why)
{
    size_t failing = 0;
    bool any = slot->ns->policy == OCV_POLICY_ANY, all = true, some = false, listed = false;
    for (size_t l = 0; l < slot->n_lists; l++) { /* none, where the namespace fails as a whole */
        bool here = best_value(slot, l, ids, n) != OCV_UNSUPPORTED;
        if (!here && all)
            failing = l;
        all = all && here;
        some = some || here;
        listed = listed || (slot->lists[l] && slot->lists[l]->n_values);
    }
    if (some && (any || all))
        return true;
    bool disabled = slot->disabled;
    for (size_t i = 0; slot->value_disabled && i < n; i++)
        disabled = disabled || slot->value_disabled[ids[i] - slot->first];
    *why = (struct ocv_rejection){.entry = entry,
                                  .code = slot->ns->code != OCV_REJECT_NONE ? slot->ns->code
                                          : disabled                        ? OCV_REJECT_DISABLED
                                          : some || slot->n_lists > 1       ? OCV_REJECT_DEVICE
                                          : listed ? OCV_REJECT_VALUE_UNSUPPORTED
                                                   : OCV_REJECT_FEATURE_UNSUPPORTED,
                                  .ns = slot->ns->name,
                                  .feature = slot->feature};
    if (slot->list_device && why->code == OCV_REJECT_DEVICE)
        why->device = slot->list_device[failing]->id;
    return false;
}

/* Under `any`: does this device serve every slot of ids[0..n), all of one namespace? */
static bool device_serves(const struct ocv_host_table *host, size_t device, const uint32_t *ids,
                          size_t n, const struct ocv_slot **failing)
{
    for (size_t i = 0, end; i < n; i = end) {
        const struct ocv_slot *slot = &host->slots[host->slot_of[ids[i]]];
        end = slot_end(host, ids, n, i);
        size_t list = slot->list_of ? slot->list_of[device] : 0;
        if (best_value(slot, list, ids + i, end - i) == OCV_UNSUPPORTED) {
            *failing = slot;
            return false;
        }
    }
    return true;
}

static size_t namespace_end(const struct ocv_host_table *host, const struct ocv_entry *entry,
                            size_t start)
{
    const struct ocv_host_table_namespace *ns =
        host->slots[host->slot_of[entry->properties[start]]].ns;
    size_t end = start + 1;
    while (end < entry->n_properties && host->slots[host->slot_of[entry->properties[end]]].ns == ns)
        end++;
    return end;
}

bool ocv_entry_fits(const struct ocv_host_table *host, const struct ocv_entry *entry,
                    struct ocv_rejection *why)
{
    for (size_t i = 0, end; i < entry->n_properties; i = end) {
        end = namespace_end(host, entry, i);
        const uint32_t *ids = entry->properties + i;
        for (size_t k = i, stop; k < end; k = stop) {
            stop = slot_end(host, entry->properties, end, k);
            const struct ocv_slot *slot = &host->slots[host->slot_of[entry->properties[k]]];
            if (!fits_slot(slot, entry, entry->properties + k, stop - k, why))
                return false;
        }
        /* under `any` all features must fit on one device. Where several devices fit, any_key
         * decides which one represents the namespace. */
        const struct ocv_slot *failing = NULL, *last = NULL;
        const struct ocv_host_table_namespace *ns = host->slots[host->slot_of[*ids]].ns;
        bool served = ns->policy != OCV_POLICY_ANY || ns->n_counted == 0;
        for (size_t d = 0; d < ns->n_counted && !served; d++) {
            served = device_serves(host, d, ids, end - i, &last);
            failing = failing ? failing : last;
        }
        if (!served) {
            *why = (struct ocv_rejection){.entry = entry,
                                          .code = OCV_REJECT_DEVICE,
                                          .ns = ns->name,
                                          .feature = failing->feature,
                                          .device = ns->counted[0]->id};
            return false;
        }
    }
    return true;
}

static int compare_components(const struct ocv_component *a, const struct ocv_component *b)
{
    if (a->feature != b->feature)
        return a->feature < b->feature ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

int ocv_key_compare(const struct ocv_component *a, size_t n, const struct ocv_component *b,
                    size_t m)
{
    for (size_t i = 0; i < n && i < m; i++) {
        int order = compare_components(&a[i], &b[i]);
        if (order)
            return order;
    }
    return (m > n) - (m < n); /* the longer list beats its own prefix */
}

static void insert_component(struct ocv_component *key, size_t *n, struct ocv_component c)
{
    size_t at = *n;
    for (; at && compare_components(&c, &key[at - 1]) < 0; at--)
        key[at] = key[at - 1];
    key[at] = c;
    (*n)++;
}

#define EVERY_LIST SIZE_MAX /* of a slot, in place of one device's */

/* Components of the slots in ids[0..n), all of one namespace, as `device` sees them (`any`). */
static size_t namespace_key(const struct ocv_host_table *host, size_t device, const uint32_t *ids,
                            size_t n, struct ocv_component *key)
{
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end) {
        const struct ocv_slot *slot = &host->slots[host->slot_of[ids[i]]];
        end = slot_end(host, ids, n, i);
        bool every = device == EVERY_LIST;
        size_t from = !every && slot->list_of ? slot->list_of[device] : 0;
        size_t to = every ? slot->n_lists : from + 1;
        for (size_t l = from; l < to; l++) {
            struct ocv_component c = {(uint64_t)slot->ns->rank << 32 | slot->rank,
                                      (uint64_t)(l - from) << 32 |
                                          best_value(slot, l, ids + i, end - i)};
            insert_component(key, &count, c);
        }
    }
    return count;
}

/* `any`: the serving device with the best key decides for the namespace. */
static size_t any_key(const struct ocv_host_table *host, const struct ocv_host_table_namespace *ns,
                      const uint32_t *ids, size_t n, struct ocv_component *best,
                      struct ocv_component *scratch)
{
    size_t count = 0;
    const struct ocv_slot *ignored;
    if (ns->n_counted == 0)
        return namespace_key(host, 0, ids, n, best);
    for (size_t d = 0; d < ns->n_counted; d++) {
        if (!device_serves(host, d, ids, n, &ignored))
            continue;
        size_t m = namespace_key(host, d, ids, n, scratch);
        if (count == 0 || ocv_key_compare(scratch, m, best, count) < 0)
            memcpy(best, scratch, m * sizeof(*best));
        count = m; /* the same slots for every device, so the same length */
    }
    return count;
}

int ocv_entry_key(struct ocv_decision *d, struct ocv_candidate *candidate, struct ocv_error *err)
{
    const struct ocv_entry *entry = candidate->entry;
    const struct ocv_host_table *host = &d->host;
    size_t size = 0, n = 0;
    for (size_t i = 0; i < entry->n_properties;
         i = slot_end(host, entry->properties, entry->n_properties, i))
        size += host->slots[host->slot_of[entry->properties[i]]].n_lists;
    struct ocv_component few[2 * FEW];
    struct ocv_component *key = ocv_arena_alloc(d->arena, size + 1, sizeof(*key));
    struct ocv_component *part =
        size <= FEW ? few : ocv_arena_alloc(d->arena, size * 2, sizeof(*part));
    if (!key || !part)
        return ocv_error_nomem(err);
    struct ocv_component *scratch = part + size;
    for (size_t i = 0, end; i < entry->n_properties; i = end) {
        end = namespace_end(host, entry, i);
        const uint32_t *ids = entry->properties + i;
        const struct ocv_host_table_namespace *ns = host->slots[host->slot_of[*ids]].ns;
        size_t m = ns->policy == OCV_POLICY_ANY
                       ? any_key(host, ns, ids, end - i, part, scratch)
                       : namespace_key(host, EVERY_LIST, ids, end - i, part);
        for (size_t k = 0; k < m; k++)
            insert_component(key, &n, part[k]);
    }
    candidate->key = key;
    candidate->n_key = n;
    return OCV_OK;
}
