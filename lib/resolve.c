/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Choose among the entries of an index (specification section 4).
 *
 * Invariants: every entry of the index is either a candidate or rejected, exactly once; the order
 * does not depend on the order of entries, except for non-variants that are otherwise equal. */
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

/* ---- one entry against the host ---- */

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

static size_t slot_end(const struct ocv_host *host, const struct ocv_entry *entry, size_t start)
{
    uint32_t slot = host->slot_of[entry->properties[start]];
    size_t end = start + 1;
    while (end < entry->n_properties && host->slot_of[entry->properties[end]] == slot)
        end++;
    return end;
}

static enum ocv_reject failure_code(const struct ocv_slot *slot, const uint32_t *ids, size_t n)
{
    if (slot->ns->code != OCV_REJECT_NONE)
        return slot->ns->code;
    if (slot->disabled)
        return OCV_REJECT_DISABLED;
    bool has_feature = false, elsewhere = false;
    for (size_t l = 0; l < slot->n_lists; l++) {
        has_feature = has_feature || (slot->lists[l] && slot->lists[l]->n_values);
        elsewhere = elsewhere || best_value(slot, l, ids, n) != OCV_UNSUPPORTED;
    }
    for (size_t i = 0; slot->value_disabled && i < n; i++)
        if (slot->value_disabled[ids[i] - slot->first])
            return OCV_REJECT_DISABLED;
    if (elsewhere || slot->n_lists > 1)
        return OCV_REJECT_DEVICE;
    return has_feature ? OCV_REJECT_VALUE_UNSUPPORTED : OCV_REJECT_FEATURE_UNSUPPORTED;
}

static struct ocv_rejection failure(const struct ocv_entry *entry, const struct ocv_slot *slot,
                                    size_t list, const uint32_t *ids, size_t n)
{
    struct ocv_rejection r = {.entry = entry, .ns = slot->ns->name, .feature = slot->feature};
    r.code = failure_code(slot, ids, n);
    if (slot->list_device && r.code == OCV_REJECT_DEVICE)
        r.device = slot->list_device[list]->id;
    return r;
}

/* Under `all` and `first` (which counts one device) every list of the slot must hold one of the
 * entry's values, under `any` at least one list. */
static bool fits_slot(const struct ocv_slot *slot, const struct ocv_entry *entry,
                      const uint32_t *ids, size_t n, struct ocv_rejection *why)
{
    size_t failing = 0;
    bool any = slot->ns->policy == OCV_POLICY_ANY, supported = false;
    if (slot->ns->code == OCV_REJECT_NONE) {
        for (size_t l = 0; l < slot->n_lists; l++) {
            bool here = best_value(slot, l, ids, n) != OCV_UNSUPPORTED;
            supported = supported || here;
            if (here)
                continue;
            failing = l;
            if (!any) {
                supported = false;
                break;
            }
        }
        if (supported)
            return true;
    }
    *why = failure(entry, slot, failing, ids, n);
    return false;
}

static size_t list_for(const struct ocv_slot *slot, size_t device)
{
    return slot->list_of ? slot->list_of[device] : 0;
}

/* Under `any`: does this device serve every slot of ids[0..n), all of one namespace? */
static bool serves(const struct ocv_host *host, size_t device, const uint32_t *ids, size_t n,
                   const struct ocv_slot **failing)
{
    for (size_t i = 0, end; i < n; i = end) {
        const struct ocv_slot *slot = &host->slots[host->slot_of[ids[i]]];
        for (end = i + 1; end < n && &host->slots[host->slot_of[ids[end]]] == slot; end++)
            ;
        if (best_value(slot, list_for(slot, device), ids + i, end - i) == OCV_UNSUPPORTED) {
            *failing = slot;
            return false;
        }
    }
    return true;
}

/* Under `any` the features must fit together on one device; which one speaks for the namespace when
 * several do is decided in any_key. */
static bool some_device_serves(const struct ocv_host *host, const struct ocv_host_namespace *ns,
                               const uint32_t *ids, size_t n, const struct ocv_slot **failing)
{
    const struct ocv_slot *last = NULL;
    for (size_t d = 0; d < ns->n_counted; d++)
        if (serves(host, d, ids, n, &last))
            return true;
        else if (!*failing)
            *failing = last;
    return ns->n_counted == 0;
}

static size_t namespace_end(const struct ocv_host *host, const struct ocv_entry *entry,
                            size_t start)
{
    const struct ocv_host_namespace *ns = host->slots[host->slot_of[entry->properties[start]]].ns;
    size_t end = start + 1;
    while (end < entry->n_properties && host->slots[host->slot_of[entry->properties[end]]].ns == ns)
        end++;
    return end;
}

static bool fits(const struct ocv_host *host, const struct ocv_entry *entry,
                 struct ocv_rejection *why)
{
    for (size_t i = 0, end; i < entry->n_properties; i = end) {
        end = namespace_end(host, entry, i);
        const uint32_t *ids = entry->properties + i;
        for (size_t k = i, stop; k < end; k = stop) {
            stop = slot_end(host, entry, k);
            const struct ocv_slot *slot = &host->slots[host->slot_of[entry->properties[k]]];
            if (!fits_slot(slot, entry, entry->properties + k, stop - k, why))
                return false;
        }
        const struct ocv_slot *failing = NULL;
        const struct ocv_host_namespace *ns = host->slots[host->slot_of[*ids]].ns;
        if (ns->policy == OCV_POLICY_ANY && !some_device_serves(host, ns, ids, end - i, &failing)) {
            *why = (struct ocv_rejection){entry, OCV_REJECT_DEVICE, ns->name, failing->feature,
                                          ns->counted[0]->id};
            return false;
        }
    }
    return true;
}

/* ---- sort keys ---- */

static int compare_components(const struct ocv_component *a, const struct ocv_component *b)
{
    if (a->feature != b->feature)
        return a->feature < b->feature ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

static struct ocv_component component(const struct ocv_slot *slot, size_t group, uint32_t value)
{
    return (struct ocv_component){(uint64_t)slot->ns->rank << 32 | slot->rank,
                                  (uint64_t)group << 32 | value};
}

static int compare_keys(const struct ocv_component *a, size_t n, const struct ocv_component *b,
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

/* Components of the slots in ids[0..n) of one namespace as `device` sees them (`any`). */
static size_t device_key(const struct ocv_host *host, size_t device, const uint32_t *ids, size_t n,
                         struct ocv_component *key)
{
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end) {
        const struct ocv_slot *slot = &host->slots[host->slot_of[ids[i]]];
        for (end = i + 1; end < n && &host->slots[host->slot_of[ids[end]]] == slot; end++)
            ;
        uint32_t value = best_value(slot, list_for(slot, device), ids + i, end - i);
        insert_component(key, &count, component(slot, 0, value));
    }
    return count;
}

/* `any`: the serving device with the best key speaks for the namespace. */
static size_t any_key(const struct ocv_host *host, const struct ocv_host_namespace *ns,
                      const uint32_t *ids, size_t n, struct ocv_component *best,
                      struct ocv_component *scratch)
{
    size_t count = 0;
    const struct ocv_slot *ignored;
    if (ns->n_counted == 0)
        return device_key(host, 0, ids, n, best);
    for (size_t d = 0; d < ns->n_counted; d++) {
        if (!serves(host, d, ids, n, &ignored))
            continue;
        size_t m = device_key(host, d, ids, n, scratch);
        if (count == 0 || compare_keys(scratch, m, best, count) < 0)
            memcpy(best, scratch, m * sizeof(*best));
        count = m; /* the same slots for every device, so the same length */
    }
    return count;
}

static size_t all_key(const struct ocv_host *host, const uint32_t *ids, size_t n,
                      struct ocv_component *key)
{
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end) {
        const struct ocv_slot *slot = &host->slots[host->slot_of[ids[i]]];
        for (end = i + 1; end < n && &host->slots[host->slot_of[ids[end]]] == slot; end++)
            ;
        for (size_t l = 0; l < slot->n_lists; l++) {
            uint32_t value = best_value(slot, l, ids + i, end - i);
            insert_component(key, &count, component(slot, l, value));
        }
    }
    return count;
}

static size_t key_size(const struct ocv_host *host, const struct ocv_entry *entry)
{
    size_t n = 0;
    for (size_t i = 0; i < entry->n_properties; i = slot_end(host, entry, i))
        n += host->slots[host->slot_of[entry->properties[i]]].n_lists;
    return n;
}

static int build_key(struct ocv_decision *d, struct ocv_candidate *candidate, struct ocv_error *err)
{
    const struct ocv_entry *entry = candidate->entry;
    const struct ocv_host *host = &d->host;
    size_t size = key_size(host, entry), n = 0;
    struct ocv_component *key = ocv_arena_alloc(&d->arena, size * 3 + 1, sizeof(*key));
    if (!key)
        return ocv_error_nomem(err);
    struct ocv_component *part = key + size, *scratch = part + size;
    for (size_t i = 0, end; i < entry->n_properties; i = end) {
        end = namespace_end(host, entry, i);
        const uint32_t *ids = entry->properties + i;
        const struct ocv_host_namespace *ns = host->slots[host->slot_of[*ids]].ns;
        size_t m = ns->policy == OCV_POLICY_ANY ? any_key(host, ns, ids, end - i, part, scratch)
                                                : all_key(host, ids, end - i, part);
        for (size_t k = 0; k < m; k++)
            insert_component(key, &n, part[k]);
    }
    candidate->key = key;
    candidate->n_key = n;
    return OCV_OK;
}

/* ---- candidates ---- */

static int compare_candidates(const void *pa, const void *pb)
{
    const struct ocv_candidate *a = pa, *b = pb;
    if (a->architecture != b->architecture)
        return a->architecture < b->architecture ? -1 : 1;
    if (a->entry->kind != b->entry->kind)
        return a->entry->kind < b->entry->kind ? -1 : 1;
    int order = compare_keys(a->key, a->n_key, b->key, b->n_key);
    if (order == 0 && a->place != b->place)
        order = a->place < b->place ? -1 : 1;
    if (order == 0 && a->entry->label && b->entry->label)
        order = strcmp(a->entry->label, b->entry->label);
    if (order == 0)
        order = a->entry->position < b->entry->position ? -1 : 1;
    return order;
}

static enum ocv_reject platform_code(const char *why)
{
    if (!strcmp(why, "variant"))
        return OCV_REJECT_PLATFORM_VARIANT;
    return strcmp(why, "os.features") ? OCV_REJECT_PLATFORM : OCV_REJECT_OS_FEATURES;
}

static enum ocv_reject match_platform(const struct ocv_decision *d, const struct ocv_entry *entry,
                                      struct ocv_candidate *candidate)
{
    candidate->architecture = entry->label ? 0 : 2;
    candidate->place = 0;
    if (!entry->has_platform)
        return OCV_REJECT_NONE;
    const char *why;
    int place = ocv_platform_match(&d->platform, &entry->platform, &why);
    if (place < 0)
        return platform_code(why);
    candidate->place = (uint32_t)place;
    candidate->architecture =
        ocv_platform_same_architecture(&d->platform, &entry->platform) ? 0 : 1;
    return OCV_REJECT_NONE;
}

struct request {
    const struct ocv_resolve_options *options;
    bool foreign; /* --platform names another architecture than the profile's */
};

static bool asked_for(const struct request *request, const struct ocv_entry *entry)
{
    const char *label = request->options->label;
    return !label || (entry->label && !strcmp(entry->label, label));
}

static int consider(struct ocv_decision *d, const struct request *request,
                    const struct ocv_entry *entry, struct ocv_error *err)
{
    struct ocv_rejection why = {.entry = entry, .code = entry->code};
    struct ocv_candidate candidate = {.entry = entry};
    bool unchecked = request->options->unchecked && request->options->label &&
                     asked_for(request, entry) && entry->code == OCV_REJECT_NONE;
    if (why.code == OCV_REJECT_NONE) {
        why.code = match_platform(d, entry, &candidate);
        if (unchecked && why.code != OCV_REJECT_NONE) {
            candidate.architecture = 3;
            why.code = OCV_REJECT_NONE;
        }
    }
    if (why.code == OCV_REJECT_NONE && !unchecked && entry->kind == OCV_ENTRY_VARIANT) {
        if (request->foreign)
            why.code = OCV_REJECT_FOREIGN_ARCHITECTURE;
        else
            fits(&d->host, entry, &why);
    }
    if (why.code == OCV_REJECT_NONE && !asked_for(request, entry))
        why.code = OCV_REJECT_NOT_REQUESTED;
    if (why.code != OCV_REJECT_NONE) {
        d->rejected[d->n_rejected++] = why;
        return OCV_OK;
    }
    int status = unchecked ? OCV_OK : build_key(d, &candidate, err);
    d->candidates[d->n_candidates++] = candidate;
    return status;
}

/* What a client without this library takes: the first entry of its platform, where amd64 levels are
 * not detected (runtimes.md 2.5). */
static const struct ocv_entry *older_clients_choice(const struct ocv_decision *d)
{
    struct ocv_platform host = d->platform;
    if (host.architecture && !strcmp(host.architecture, "amd64"))
        host.variant = NULL;
    const struct ocv_entry *best = NULL;
    int best_place = 0;
    for (size_t i = 0; i < d->index->n_entries; i++) {
        const struct ocv_entry *e = &d->index->entries[i];
        const char *variant = e->platform.variant;
        if (!e->has_platform || (variant && !strncmp(variant, "x-", 2)))
            continue;
        if (e->code != OCV_REJECT_NONE && e->code < OCV_REJECT_LABEL_MISSING)
            continue; /* no image; a malformed label does not stop an older client */
        int place = ocv_platform_match(&host, &e->platform, NULL);
        if (place >= 0 && (!best || place < best_place)) {
            best = e;
            best_place = place;
        }
    }
    return best;
}

/* The x86-64 level, for a profile written by hand that has no platform.variant. */
static const char *profile_level(const struct ocv_profile *profile, const char *architecture)
{
    struct ocv_property p = {"x86_64", "level", "v4"};
    static const char *const levels[] = {"v4", "v3", "v2"};
    for (size_t i = 0; !strcmp(architecture, "amd64") && i < 3; i++) {
        p.value = levels[i];
        if (ocv_profile_supports(profile, p))
            return levels[i];
    }
    return NULL;
}

/* The platform to resolve for: the profile's, or --platform lowered to what the host can run. */
static int choose_platform(struct ocv_decision *d, struct request *request, struct ocv_error *err)
{
    const struct ocv_platform *asked = request->options->platform;
    struct ocv_platform own = ocv_profile_platform(d->profile);
    if (!own.os)
        own.os = "linux";
    if (!own.architecture && !asked)
        return ocv_error_set(err, OCV_ERR_INVALID, "the profile names no platform");
    if (own.architecture)
        own.architecture = ocv_platform_architecture(own.architecture);
    if (own.architecture && !own.variant)
        own.variant = profile_level(d->profile, own.architecture);
    d->platform = own;
    if (!asked)
        return OCV_OK;
    if (!own.architecture) {
        d->platform = *asked;
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

static int allocate(struct ocv_decision *d, struct ocv_error *err)
{
    size_t n = d->index->n_entries + 1;
    d->candidates = ocv_arena_alloc(&d->arena, n, sizeof(*d->candidates));
    d->rejected = ocv_arena_alloc(&d->arena, n, sizeof(*d->rejected));
    return d->candidates && d->rejected ? OCV_OK : ocv_error_nomem(err);
}

int ocv_resolve(const struct ocv_index *index, const struct ocv_profile *profile,
                const struct ocv_resolve_options *options, struct ocv_decision **out,
                struct ocv_error *err)
{
    static const struct ocv_resolve_options none = {0};
    struct request request = {.options = options ? options : &none};
    ocv_auto(ocv_decision) d = calloc(1, sizeof(*d));
    if (!d)
        return ocv_error_nomem(err);
    d->index = index;
    d->profile = profile;
    d->label_only = request.options->label != NULL;
    int status = choose_platform(d, &request, err);
    if (status == OCV_OK)
        status = allocate(d, err);
    if (status == OCV_OK)
        status = ocv_host_build(&d->arena, index, profile, request.options->config, &d->host, err);
    for (size_t i = 0; i < index->n_entries && status == OCV_OK; i++)
        status = consider(d, &request, &index->entries[i], err);
    if (status < 0)
        return status;
    if (d->n_candidates > 1)
        qsort(d->candidates, d->n_candidates, sizeof(*d->candidates), compare_candidates);
    d->fallback = older_clients_choice(d);
    *out = d;
    d = NULL;
    return OCV_OK;
}
