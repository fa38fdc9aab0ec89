/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Choose among the entries of an index, in PEP 825's order.
 *
 * Invariants: every entry of the index is either a candidate or rejected, exactly once; the order
 * does not depend on the order of entries, except for non-variants that are otherwise equal. */
#include "lib/core/resolve/resolve_internal.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static int compare_candidates(const void *pa, const void *pb)
{
    const struct ocv_candidate *a = pa, *b = pb;
    if (a->architecture != b->architecture)
        return a->architecture < b->architecture ? -1 : 1;
    if (a->entry->kind != b->entry->kind)
        return a->entry->kind < b->entry->kind ? -1 : 1;
    int order = ocv_key_compare(a->key, a->n_key, b->key, b->n_key);
    if (order == 0) /* an ordinary image to readers; what older clients take comes before it */
        order = ocv_entry_is_unfinished(a->entry) - ocv_entry_is_unfinished(b->entry);
    if (order == 0 && a->place != b->place)
        order = a->place < b->place ? -1 : 1;
    if (order == 0 && a->entry->label && b->entry->label)
        order = strcmp(a->entry->label, b->entry->label);
    if (order == 0) /* twins in other formats: the one that uses more of this host */
        order = (a->entry->platform.n_os_features < b->entry->platform.n_os_features) -
                (a->entry->platform.n_os_features > b->entry->platform.n_os_features);
    if (order == 0)
        order = a->entry->position < b->entry->position ? -1 : 1;
    return order;
}

struct constraints {
    const struct ocv_resolve_options *options;
    const char *label; /* --label or the configuration's, or NULL */
    const struct ocv_strings *required;
    bool foreign; /* --platform names another architecture than the profile's */
    bool plain;   /* --label null, and no entry of that label is on offer */
};

static bool asked_for(const struct constraints *request, const struct ocv_entry *entry)
{
    const char *label = request->label;
    if (label && !entry->label)
        return request->plain && !ocv_entry_is_unfinished(entry);
    return !label || !strcmp(entry->label, label);
}

static const char *disabled_at(const struct ocv_decision *d,
                               const struct ocv_preferences *preferences,
                               const struct ocv_rejection *why)
{
    const char *at = why->ns ? ocv_preferences_disabled(preferences, why->ns, NULL, NULL) : NULL;
    if (!why->ns || !why->feature)
        return at;
    if (!at)
        at = ocv_preferences_disabled(preferences, why->ns, why->feature, NULL);
    for (size_t i = 0; !at && i < why->entry->n_properties; i++) {
        const struct ocv_property *p = &d->index->properties[why->entry->properties[i]];
        if (!strcmp(p->ns, why->ns) && !strcmp(p->feature, why->feature))
            at = ocv_preferences_disabled(preferences, p->ns, p->feature, p->value);
    }
    return at;
}

static int consider_entry(struct ocv_decision *d, const struct constraints *request,
                          const struct ocv_entry *entry, struct ocv_error *err)
{
    const struct ocv_preferences *preferences = &request->options->preferences;
    const struct ocv_strings *required = request->required;
    struct ocv_rejection why = {.entry = entry, .code = entry->code};
    const struct ocv_platform_place *place = &d->table->places[entry->position];
    struct ocv_candidate candidate = {
        .entry = entry, .architecture = place->architecture, .place = place->place};
    bool unchecked = request->options->unchecked && request->label && asked_for(request, entry) &&
                     entry->code == OCV_REJECT_NONE;
    if (why.code == OCV_REJECT_NONE) {
        why.code = place->code;
        if (unchecked && why.code != OCV_REJECT_NONE) {
            candidate.architecture = 3;
            why.code = OCV_REJECT_NONE;
        }
    }
    if (why.code == OCV_REJECT_NONE && !unchecked && entry->kind == OCV_ENTRY_VARIANT) {
        if (request->foreign)
            why.code = OCV_REJECT_FOREIGN_ARCHITECTURE;
        else
            ocv_entry_fits(&d->host, entry, &why);
    }
    if (why.code == OCV_REJECT_NONE && !unchecked) {
        size_t i = ocv_entry_unmet(&d->host, d->index, entry, required);
        if (i < required->count && required->list) {
            why.code = OCV_REJECT_REQUIREMENT;
            why.required = required->list[i];
            why.origin = required->origins[i];
        }
    }
    if (why.code == OCV_REJECT_NONE && !asked_for(request, entry))
        why.code = OCV_REJECT_NOT_REQUESTED;
    /* last, as it says that nothing else keeps the entry away. The default goes by the name null,
     * labelled or not. An index that was kept has the tags of which a rule made it, but not the
     * rule. */
    if (why.code == OCV_REJECT_NONE && preferences->deny.count &&
        ocv_preferences_deny(preferences, entry->label ? entry->label : "null",
                             ocv_entry_tag(d->index, entry), &why.required, &why.origin))
        why.code = OCV_REJECT_DENIED;
    if (why.code == OCV_REJECT_NONE) {
        int status = unchecked ? OCV_OK : ocv_entry_key(d, &candidate, err);
        *--d->candidates = candidate; /* each entry is one or the other, so they never meet */
        d->n_candidates++;
        return status;
    }
    /* the line of the configuration that decided, if one did: it may be gone before the decision */
    const char *origin = why.origin;
    if (why.code == OCV_REJECT_NOT_REQUESTED && !request->options->label)
        origin = preferences->label_origin;
    else if (why.code == OCV_REJECT_DISABLED)
        origin = disabled_at(d, preferences, &why);
    else if (why.code == OCV_REJECT_NO_DEVICE || why.code == OCV_REJECT_DEVICE)
        origin = ocv_preferences_devices_origin(preferences, why.ns);
    why.origin = origin ? ocv_arena_printf(d->arena, "%s", origin) : NULL;
    if (why.required)
        why.required = ocv_arena_printf(d->arena, "%s", why.required);
    bool needed = why.code == OCV_REJECT_REQUIREMENT || why.code == OCV_REJECT_DENIED;
    bool kept = (!origin || why.origin) && (!needed || why.required);
    d->rejected[d->n_rejected++] = why;
    return kept ? OCV_OK : ocv_error_nomem(err);
}

/* The platform to resolve for: the profile's, or --platform lowered to what the host can run. */
static int choose_platform(struct ocv_decision *d, struct constraints *request,
                           struct ocv_error *err)
{
    const struct ocv_platform *asked = request->options->platform;
    struct ocv_platform own = ocv_profile_platform(d->profile);
    if (!own.os)
        own.os = "linux";
    if (!own.architecture && !asked)
        return ocv_error_set(err, OCV_ERR_INVALID, "the profile names no platform");
    if (own.architecture)
        own.architecture = ocv_platform_architecture(own.architecture);
    /* a profile written by hand may have the x86-64 level and no platform.variant */
    static const char *const levels[] = {"v4", "v3", "v2"};
    bool amd64 = own.architecture && !strcmp(own.architecture, "amd64");
    for (size_t i = 0; amd64 && !own.variant && i < 3; i++)
        if (ocv_profile_supports(d->profile, (struct ocv_property){"x86_64", "level", levels[i]}))
            own.variant = levels[i];
    d->platform = own;
    if (!asked)
        return OCV_OK;
    if (!own.architecture) {
        d->platform = *asked;
        d->platform.os_features = own.os_features;
        d->platform.n_os_features = own.n_os_features;
        return OCV_OK;
    }
    request->foreign = !ocv_platform_same_architecture(asked, &own) ||
                       (asked->os && strcmp(asked->os, own.os) != 0);
    if (request->foreign)
        d->platform = *asked;
    else if (asked->variant && ocv_platform_match(&own, asked, NULL) >= 0)
        d->platform.variant = asked->variant;
    return OCV_OK;
}

int ocv_resolve_with(const struct ocv_index *index, const struct ocv_profile *profile,
                     const struct ocv_resolve_options *options, struct ocv_platform_tables *tables,
                     struct ocv_decision **out, struct ocv_error *err)
{
    static const struct ocv_resolve_options defaults = {0};
    static const struct ocv_strings none = {0};
    if (!options)
        options = &defaults;
    const struct ocv_preferences *preferences = &options->preferences;
    const char *label = options->label ? options->label : preferences->label;
    struct constraints request = {.options = options,
                                  .label = label && *label ? label : NULL,
                                  .required = options->any_use ? &none : &preferences->require};
    ocv_auto(ocv_decision) d = calloc(1, sizeof(*d));
    if (!d)
        return ocv_error_nomem(err);
    d->arena = tables ? &tables->arena : &d->own;
    d->index = index;
    d->profile = profile;
    OCV_TRY(choose_platform(d, &request, err));
    if (tables)
        OCV_TRY(ocv_platform_table_get(tables, index, &d->platform, &d->table, err));
    else
        d->table = ocv_platform_table_make(d->arena, index, &d->platform);
    size_t n = index->n_entries + 1;
    _Static_assert(sizeof(*d->candidates) <= sizeof(*d->rejected), "room for either");
    d->rejected = ocv_arena_alloc(d->arena, n, sizeof(*d->rejected));
    if (!d->table || !d->rejected)
        return ocv_error_nomem(err);
    d->candidates = (struct ocv_candidate *)(d->rejected + n);
    OCV_TRY(ocv_host_table_build(d->arena, index, profile, preferences, &d->host, err));
    /* the default entry goes by the name null even where it carries no annotation */
    request.plain = request.label && !strcmp(request.label, "null");
    for (size_t i = 0; request.plain && i < index->n_entries; i++)
        request.plain = index->entries[i].code != OCV_REJECT_NONE ||
                        index->entries[i].kind != OCV_ENTRY_NULL ||
                        (!options->unchecked && d->table->places[i].code != OCV_REJECT_NONE);
    for (size_t i = 0; i < index->n_entries; i++)
        OCV_TRY(consider_entry(d, &request, &index->entries[i], err));
    if (d->n_candidates > 1)
        qsort(d->candidates, d->n_candidates, sizeof(*d->candidates), compare_candidates);
    *out = ocv_steal(&d);
    return OCV_OK;
}

int ocv_resolve(const struct ocv_index *index, const struct ocv_profile *profile,
                const struct ocv_resolve_options *options, struct ocv_decision **out,
                struct ocv_error *err)
{
    ocv_auto(ocv_decision) d = NULL;
    OCV_TRY(ocv_resolve_with(index, profile, options, NULL, &d, err));
    OCV_TRY(ocv_index_check_doubt(index, ocv_decision_selected(d), err));
    *out = ocv_steal(&d);
    return OCV_OK;
}
