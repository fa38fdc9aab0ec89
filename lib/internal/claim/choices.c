/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Variants, split by the values that they name. */
#include "lib/base/cleanup.h"
#include "lib/internal/claim/claim_internal.h"

#include <stdlib.h>
#include <string.h>

/* The properties of one feature of an entry. */
struct feature_part {
    const struct ocv_slot *slot;
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX]; /* those that count */
    size_t n, at;
};
#define PARTS_MAX 32u

static uint32_t rank_of(const struct ocv_slot *slot, uint32_t id)
{
    return slot->ranks[id - slot->first];
}

static int compare_components(const void *a, const void *b)
{
    const struct ocv_component *x = a, *y = b;
    if (x->feature != y->feature)
        return x->feature < y->feature ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static struct ocv_component make_component(const struct ocv_slot *slot, uint32_t rank)
{
    return (struct ocv_component){(uint64_t)slot->ns->rank << 32 | slot->rank, rank};
}

/* The values of a feature that a device attribute shows and that are not disabled. */
static int take_known(struct ocv_claim_work *work, const struct ocv_entry *entry,
                      const struct ocv_slot *slot, const uint32_t *ids, size_t n,
                      struct feature_part *part, struct ocv_error *err)
{
    part->slot = slot;
    part->n = part->at = 0;
    for (size_t i = 0; i < n; i++) {
        struct ocv_property p = ocv_index_property(work->index, ids[i]);
        if (rank_of(slot, ids[i]) == OCV_UNSUPPORTED)
            continue;
        if (work->facts[ids[i]].known)
            part->ids[part->n++] = ids[i];
        else
            OCV_TRY(ocv_claim_warn(
                work, err, "%s: no device of %s is known to have %s :: %s :: %s", entry->label,
                work->facts[ids[i]].driver->name ? work->facts[ids[i]].driver->name
                                                 : work->facts[ids[i]].driver->label,
                p.ns, p.feature, p.value));
    }
    return OCV_OK;
}

static int add_choice(struct ocv_claim_work *work, const struct ocv_claim_choice *like,
                      const struct feature_part *parts, size_t n_parts,
                      const struct ocv_component *rest, size_t n_rest,
                      struct ocv_claim_choices *choices, struct ocv_error *err)
{
    struct ocv_arena *arena = &work->claim->arena;
    if (choices->n == OCV_CLAIM_CHOICES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "the variants name more than %u combinations of values",
                             OCV_CLAIM_CHOICES_MAX);
    struct ocv_component *key = ocv_arena_alloc(arena, n_parts + n_rest + 1, sizeof(*key));
    uint32_t *ids = ocv_arena_alloc(arena, n_parts + 1, sizeof(*ids));
    if (!key || !ids)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n_parts; i++) {
        ids[i] = parts[i].ids[parts[i].at];
        key[i] = make_component(parts[i].slot, rank_of(parts[i].slot, ids[i]));
    }
    memcpy(key + n_parts, rest, n_rest * sizeof(*rest));
    qsort(key, n_parts + n_rest, sizeof(*key), compare_components);
    struct ocv_claim_choice *choice = &choices->list[choices->n++];
    *choice = *like;
    choice->key = key;
    choice->n_key = n_parts + n_rest;
    choice->ids = ids;
    choice->n_ids = n_parts;
    return OCV_OK;
}

int ocv_claim_split(struct ocv_claim_work *work, const struct ocv_decision *decision,
                    const struct ocv_entry *entry, const struct ocv_device_driver *driver,
                    struct ocv_claim_choices *choices, struct ocv_error *err)
{
    struct ocv_claim_choice like = {.entry = entry, .driver = driver};
    ocv_auto_free struct feature_part *parts = calloc(PARTS_MAX, sizeof(*parts));
    ocv_auto_free struct ocv_component *rest = calloc(entry->n_properties + 1, sizeof(*rest));
    const struct ocv_host_table *host = &decision->host;
    size_t n_parts = 0, n_rest = 0;
    if (!parts || !rest)
        return ocv_error_nomem(err);
    for (size_t i = 0, end; i < entry->n_properties; i = end) {
        const uint32_t *ids = entry->properties + i;
        const struct ocv_slot *slot = &host->slots[host->slot_of[*ids]];
        const struct ocv_fact *fact = &work->facts[*ids];
        for (end = i + 1; end < entry->n_properties &&
                          host->slot_of[entry->properties[end]] == host->slot_of[*ids];
             end++)
            ;
        bool told = fact->driver == driver && fact->feature &&
                    fact->feature->test != OCV_DEVICE_NOTHING &&
                    fact->feature->test != OCV_DEVICE_ANY;
        if (told && n_parts < PARTS_MAX) {
            OCV_TRY(take_known(work, entry, slot, ids, end - i, &parts[n_parts++], err));
            continue;
        }
        uint32_t best = OCV_UNSUPPORTED; /* of a feature that no attribute shows */
        for (size_t v = 0; v < end - i; v++)
            best = rank_of(slot, ids[v]) < best ? rank_of(slot, ids[v]) : best;
        rest[n_rest++] = make_component(slot, best);
        struct ocv_property p = ocv_index_property(work->index, *ids);
        if (!fact->driver && ocv_vocabulary_is_cpu(p.ns)) {
            like.unsaid = true;
            /* the level is in the node's label */
            if (strcmp(p.ns, OCV_LEVEL_NAMESPACE) != 0 || strcmp(p.feature, OCV_LEVEL_FEATURE) != 0)
                OCV_TRY(ocv_claim_warn(work, err,
                                       "%s :: %s is left to the nodes: no device shows it", p.ns,
                                       p.feature));
        } else if (fact->driver && !(fact->feature && fact->feature->test == OCV_DEVICE_ANY)) {
            like.unsaid = true; /* neither the index's own nor what every device has */
            OCV_TRY(ocv_claim_warn(
                work, err, "%s :: %s is left to the nodes: %s has no attribute for it", p.ns,
                p.feature, fact->driver->name ? fact->driver->name : fact->driver->label));
        }
    }
    for (size_t i = 0; i < n_parts; i++)
        if (parts[i].n == 0)
            return OCV_OK; /* a warning said so */
    size_t k;
    do {
        OCV_TRY(add_choice(work, &like, parts, n_parts, rest, n_rest, choices, err));
        for (k = 0; k < n_parts && ++parts[k].at == parts[k].n; k++) /* the next combination */
            parts[k].at = 0;
    } while (k < n_parts);
    return OCV_OK;
}
