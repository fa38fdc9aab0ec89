/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Match the host's lists with the properties that the index uses (see resolve.h). */
#include "lib/base/cleanup.h"
#include "lib/core/resolve/resolve_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int build_namespace(struct ocv_arena *arena, const struct ocv_index *index,
                           const struct ocv_profile *profile,
                           const struct ocv_preferences *preferences,
                           struct ocv_host_table_namespace *ns, struct ocv_error *err)
{
    const struct ocv_strings *wanted = ocv_preferences_devices(preferences, ns->name);
    const struct ocv_namespace *list = ocv_profile_namespace(profile, ns->name);
    for (size_t i = index->n_statics; i-- > 0;)
        if (!strcmp(index->statics[i].name, ns->name))
            list = &index->statics[i];
    /* the user's namespaces first, then the index's order. A user's list never declares one. */
    const struct ocv_strings *priority = &preferences->namespace_priority;
    size_t place = 0, users = 0;
    while (place < index->n_namespaces && strcmp(index->namespaces[place], ns->name) != 0)
        place++;
    while (users < priority->count && strcmp(priority->list[users], ns->name) != 0)
        users++;
    ns->rank = place == index->n_namespaces ? OCV_UNSUPPORTED
               : users < priority->count    ? (uint32_t)users
                                            : (uint32_t)(users + place);
    ns->list = list;
    ns->policy = ocv_preferences_policy(preferences, ns->name);
    if (ns->rank == OCV_UNSUPPORTED)
        ns->code = OCV_REJECT_NAMESPACE_UNDECLARED;
    else if (ocv_preferences_disabled(preferences, ns->name, NULL, NULL))
        ns->code = OCV_REJECT_DISABLED;
    else if (!list || (list->n_features == 0 && list->n_devices == 0))
        ns->code = OCV_REJECT_NAMESPACE_UNSUPPORTED;
    if (ns->code != OCV_REJECT_NONE)
        return OCV_OK;

    ns->counted = ocv_arena_alloc(arena, list->n_devices + 1, sizeof(*ns->counted));
    if (!ns->counted)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < list->n_devices; i++) {
        const struct ocv_device *device = &list->devices[i];
        size_t k = 0;
        while (wanted && k < wanted->count && !ocv_device_is(device, wanted->list[k]))
            k++;
        if (wanted && k == wanted->count)
            continue;
        if (device->secondary && ns->policy != OCV_POLICY_ANY)
            continue;
        ns->counted[ns->n_counted++] = device;
        if (ns->policy == OCV_POLICY_FIRST)
            break; /* devices are listed most capable first */
    }
    if (ns->n_counted == 0 && (list->n_devices || wanted))
        ns->code = OCV_REJECT_NO_DEVICE;
    return OCV_OK;
}

static bool same_values(const struct ocv_feature *a, const struct ocv_feature *b)
{
    size_t n = a ? a->n_values : 0; /* no list is an empty one */
    if (n != (b ? b->n_values : 0))
        return false;
    for (size_t i = 0; i < n && a != b; i++)
        if (strcmp(a->values[i], b->values[i]) != 0)
            return false;
    return true;
}

/* Place of the feature: as the namespace lists them, then features that only devices have. */
static uint32_t feature_rank(const struct ocv_namespace *list, const char *feature)
{
    for (size_t i = 0; i < list->n_features; i++)
        if (!strcmp(list->features[i].name, feature))
            return (uint32_t)i;
    uint32_t place = (uint32_t)list->n_features;
    for (size_t d = 0; d < list->n_devices; d++)
        for (size_t i = 0; i < list->devices[d].n_features; i++, place++)
            if (!strcmp(list->devices[d].features[i].name, feature))
                return place;
    return OCV_UNSUPPORTED;
}

/* One list per group of consecutive counted devices with equal lists. */
static int group_devices(struct ocv_arena *arena, struct ocv_slot *slot,
                         const struct ocv_feature *common, struct ocv_error *err)
{
    const struct ocv_host_table_namespace *ns = slot->ns;
    bool own = false;
    for (size_t d = 0; d < ns->n_counted && !own; d++)
        own = ocv_feature_find(ns->counted[d]->features, ns->counted[d]->n_features,
                               slot->feature) != NULL;
    if (!own) { /* not a per-device feature: one list for the namespace */
        slot->lists = ocv_arena_alloc(arena, 1, sizeof(*slot->lists));
        if (!slot->lists)
            return ocv_error_nomem(err);
        slot->lists[0] = common;
        slot->n_lists = 1;
        return OCV_OK;
    }
    slot->lists = ocv_arena_alloc(arena, ns->n_counted, sizeof(*slot->lists));
    slot->list_device = ocv_arena_alloc(arena, ns->n_counted, sizeof(*slot->list_device));
    slot->list_of = ocv_arena_alloc(arena, ns->n_counted, sizeof(*slot->list_of));
    if (!slot->lists || !slot->list_device || !slot->list_of)
        return ocv_error_nomem(err);
    for (size_t d = 0; d < ns->n_counted; d++) {
        const struct ocv_device *device = ns->counted[d];
        const struct ocv_feature *list =
            ocv_feature_find(device->features, device->n_features, slot->feature);
        if (!list)
            list = common;
        if (slot->n_lists == 0 || !same_values(slot->lists[slot->n_lists - 1], list)) {
            slot->list_device[slot->n_lists] = device;
            slot->lists[slot->n_lists++] = list;
        }
        slot->list_of[d] = (uint32_t)(slot->n_lists - 1);
    }
    return OCV_OK;
}

/* The property of this value: ids of a slot ascend by value. Its count: none. */
static uint32_t find_value(const struct ocv_index *index, const struct ocv_slot *slot,
                           const char *value)
{
    const struct ocv_property *of = &index->properties[slot->first];
    uint32_t low = 0, high = slot->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = (unsigned char)*of[middle].value - (unsigned char)*value;
        if (order == 0)
            order = strcmp(of[middle].value, value);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return slot->count;
}

static int build_slot(struct ocv_arena *arena, const struct ocv_index *index,
                      const struct ocv_preferences *preferences, struct ocv_slot *slot,
                      struct ocv_error *err)
{
    const struct ocv_namespace *list = slot->ns->list;
    slot->rank = OCV_UNSUPPORTED;
    if (slot->ns->code != OCV_REJECT_NONE)
        return OCV_OK;
    slot->rank = feature_rank(list, slot->feature);
    OCV_TRY(group_devices(arena, slot,
                          ocv_feature_find(list->features, list->n_features, slot->feature), err));
    if (preferences->disable.count) {
        const char *ns = slot->ns->name;
        slot->disabled = ocv_preferences_disabled(preferences, ns, slot->feature, NULL) != NULL;
        slot->value_disabled = ocv_arena_alloc(arena, slot->count, sizeof(bool));
        if (!slot->value_disabled)
            return ocv_error_nomem(err);
        for (uint32_t k = 0; k < slot->count; k++)
            slot->value_disabled[k] =
                slot->disabled ||
                ocv_preferences_disabled(preferences, ns, slot->feature,
                                         index->properties[slot->first + k].value);
    }
    slot->ranks = ocv_arena_alloc(arena, slot->n_lists * slot->count, sizeof(*slot->ranks));
    if (!slot->ranks)
        return ocv_error_nomem(err);
    for (size_t l = 0; l < slot->n_lists; l++) {
        const struct ocv_feature *values = slot->lists[l];
        uint32_t *ranks = slot->ranks + l * slot->count;
        for (uint32_t k = 0; k < slot->count; k++)
            ranks[k] = OCV_UNSUPPORTED;
        for (size_t i = 0; values && i < values->n_values; i++) {
            uint32_t k = find_value(index, slot, values->values[i]);
            if (k < slot->count && ranks[k] == OCV_UNSUPPORTED && /* the first mention counts */
                !(slot->value_disabled && slot->value_disabled[k]))
                ranks[k] = (uint32_t)i;
        }
    }
    return OCV_OK;
}

int ocv_host_table_build(struct ocv_arena *arena, const struct ocv_index *index,
                         const struct ocv_profile *profile,
                         const struct ocv_preferences *preferences, struct ocv_host_table *out,
                         struct ocv_error *err)
{
    size_t slots = 0, namespaces = 0, n = index->n_properties;
    for (size_t i = 0; i < n; i++) {
        const struct ocv_property *p = &index->properties[i];
        bool new_ns = i == 0 || p->ns != p[-1].ns;
        namespaces += new_ns;
        slots += new_ns || p->feature != p[-1].feature;
    }
    *out = (struct ocv_host_table){0};
    out->slot_of = ocv_arena_alloc(arena, n + 1, sizeof(*out->slot_of));
    out->slots = ocv_arena_alloc(arena, slots + 1, sizeof(*out->slots));
    out->namespaces = ocv_arena_alloc(arena, namespaces + 1, sizeof(*out->namespaces));
    if (!out->slot_of || !out->slots || !out->namespaces)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct ocv_property *p = &index->properties[i];
        bool new_ns = i == 0 || p->ns != p[-1].ns;
        if (new_ns) {
            struct ocv_host_table_namespace *ns = &out->namespaces[out->n_namespaces++];
            ns->name = p->ns;
            OCV_TRY(build_namespace(arena, index, profile, preferences, ns, err));
        }
        if (new_ns || p->feature != p[-1].feature) {
            struct ocv_slot *slot = &out->slots[out->n_slots++];
            slot->ns = &out->namespaces[out->n_namespaces - 1];
            slot->feature = p->feature;
            slot->first = (uint32_t)i;
        }
        out->slots[out->n_slots - 1].count++;
        out->slot_of[i] = (uint32_t)(out->n_slots - 1);
    }
    for (size_t i = 0; i < out->n_slots; i++)
        OCV_TRY(build_slot(arena, index, preferences, &out->slots[i], err));
    return OCV_OK;
}
