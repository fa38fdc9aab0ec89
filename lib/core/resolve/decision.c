/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a decision says: accessors, and a sentence and a hint for everything that was not chosen. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/core/resolve/resolve_internal.h"

#include "gen/hints.h"
#include "gen/toolkits.h"
#include "lib/base/text.h"
#include "ocivariant/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ocv_decision_free(struct ocv_decision *decision)
{
    if (!decision)
        return;
    ocv_arena_free(&decision->own);
    free(decision);
}

const struct ocv_entry *ocv_decision_selected(const struct ocv_decision *decision)
{
    return decision->n_candidates ? decision->candidates[0].entry : NULL;
}

size_t ocv_decision_order_count(const struct ocv_decision *decision)
{
    return decision->n_candidates;
}

const struct ocv_entry *ocv_decision_order(const struct ocv_decision *decision, size_t i)
{
    return i < decision->n_candidates ? decision->candidates[i].entry : NULL;
}

const struct ocv_entry *ocv_decision_default(const struct ocv_decision *decision)
{
    return decision->table->older;
}

bool ocv_host_table_supports(const struct ocv_host_table *host, uint32_t id)
{
    const struct ocv_slot *slot = &host->slots[host->slot_of[id]];
    for (size_t l = 0; slot->ranks && l < slot->n_lists; l++)
        if (slot->ranks[l * slot->count + (id - slot->first)] != OCV_UNSUPPORTED)
            return true;
    return false;
}

size_t ocv_decision_matched(const struct ocv_decision *decision, const struct ocv_entry *entry,
                            uint32_t *ids, size_t max)
{
    size_t n = 0;
    bool candidate = false;
    for (size_t i = 0; i < decision->n_candidates && !candidate; i++)
        candidate = decision->candidates[i].entry == entry;
    for (size_t i = 0; candidate && i < entry->n_properties; i++) {
        if (!ocv_host_table_supports(&decision->host, entry->properties[i]))
            continue;
        if (n < max)
            ids[n] = entry->properties[i];
        n++;
    }
    return n < max ? n : max;
}

size_t ocv_decision_rejected_count(const struct ocv_decision *decision)
{
    return decision->n_rejected;
}

struct ocv_rejection ocv_decision_rejected(const struct ocv_decision *decision, size_t i)
{
    return decision->rejected[i];
}

const struct ocv_slot *ocv_rejection_slot(const struct ocv_decision *d,
                                          const struct ocv_rejection *r)
{
    for (size_t i = 0; r->ns && i < r->entry->n_properties; i++) {
        const struct ocv_slot *slot = &d->host.slots[d->host.slot_of[r->entry->properties[i]]];
        if (!strcmp(slot->ns->name, r->ns) && !strcmp(slot->feature, r->feature))
            return slot;
    }
    return NULL;
}

const struct ocv_feature *ocv_rejection_have(const struct ocv_rejection *r,
                                             const struct ocv_slot *slot)
{
    if (!slot || slot->n_lists == 0)
        return NULL;
    for (size_t l = 0; r->device && slot->list_device && l < slot->n_lists; l++)
        if (!strcmp(slot->list_device[l]->id, r->device))
            return slot->lists[l];
    return slot->lists[0];
}

#define VALUES_SHOWN 4u /* of a long list, in a sentence */

static int append_property(const struct ocv_decision *d, const struct ocv_rejection *r,
                           struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_slot *slot = ocv_rejection_slot(d, r);
    size_t shown = 0;
    OCV_TRY(ocv_buffer_printf(out, err, "needs %s :: %s :: ", r->ns, r->feature));
    for (size_t i = 0; slot && i < r->entry->n_properties; i++) {
        uint32_t id = r->entry->properties[i];
        if (&d->host.slots[d->host.slot_of[id]] != slot)
            continue;
        if (shown < VALUES_SHOWN)
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s", shown ? " or " : "",
                                      ocv_index_property(d->index, id).value));
        shown++;
    }
    if (shown > VALUES_SHOWN)
        OCV_TRY(ocv_buffer_printf(out, err, " or %zu more", (size_t)(shown - VALUES_SHOWN)));
    switch (r->code) {
    case OCV_REJECT_NAMESPACE_UNDECLARED:
        return ocv_buffer_printf(out, err, "; the index does not list the namespace %s", r->ns);
    case OCV_REJECT_NAMESPACE_UNSUPPORTED:
        return ocv_buffer_printf(out, err, "; this host has no %s", r->ns);
    case OCV_REJECT_NO_DEVICE:
        return ocv_buffer_printf(out, err, "; no %s device is left to count", r->ns);
    case OCV_REJECT_DISABLED:
        return ocv_buffer_printf(out, err, "; switched off by configuration");
    default: {
        const struct ocv_feature *have = ocv_rejection_have(r, slot);
        size_t n = have ? have->n_values : 0;
        OCV_TRY(r->device ? ocv_buffer_printf(out, err, "; device %.100s has ", r->device)
                          : ocv_buffer_printf(out, err, "; this host has "));
        if (n == 0)
            OCV_TRY(ocv_buffer_printf(out, err, "no %s", r->feature));
        for (size_t i = 0; i < n && i < VALUES_SHOWN; i++)
            OCV_TRY(ocv_buffer_printf(out, err, "%s%.100s", i ? ", " : "", have->values[i]));
        if (n > VALUES_SHOWN)
            OCV_TRY(ocv_buffer_printf(out, err, " and %zu more", n - VALUES_SHOWN));
        return OCV_OK;
    }
    }
}

static int append_platform(const struct ocv_decision *d, const struct ocv_rejection *r,
                           struct ocv_buffer *out, struct ocv_error *err)
{
    char entry[128], host[128];
    ocv_platform_format(&r->entry->platform, entry, sizeof(entry));
    ocv_platform_format(&d->platform, host, sizeof(host));
    if (r->code == OCV_REJECT_OS_FEATURES) {
        const struct ocv_platform *p = &r->entry->platform;
        OCV_TRY(ocv_buffer_printf(out, err, "for %s with", entry));
        for (size_t i = 0, shown = 0; i < p->n_os_features; i++) {
            struct ocv_platform one = {.os_features = &p->os_features[i], .n_os_features = 1};
            one.os = d->platform.os;
            one.architecture = d->platform.architecture;
            if (ocv_platform_match(&d->platform, &one, NULL) < 0 && shown++ < VALUES_SHOWN)
                OCV_TRY(ocv_buffer_printf(out, err, "%s %.100s", shown > 1 ? "," : "",
                                          p->os_features[i]));
        }
        return ocv_buffer_printf(out, err, ", which this host lacks (os_features)");
    }
    return ocv_buffer_printf(out, err, "for %s; this is %s", entry, host);
}

static int format_rejection(const struct ocv_decision *decision, size_t i, struct ocv_buffer *out,
                            struct ocv_error *err)
{
    const struct ocv_rejection *r = &decision->rejected[i];
    if (r->ns)
        return append_property(decision, r, out, err);
    if (r->entry->detail)
        return ocv_buffer_printf(out, err, "malformed: %s", r->entry->detail);
    switch (r->code) {
    case OCV_REJECT_PLATFORM:
    case OCV_REJECT_PLATFORM_VARIANT:
    case OCV_REJECT_OS_FEATURES:
        return append_platform(decision, r, out, err);
    case OCV_REJECT_UNKNOWN_PLATFORM:
        return ocv_buffer_printf(out, err, "platform unknown/unknown: not an image to run");
    case OCV_REJECT_ATTESTATION:
        return ocv_buffer_printf(out, err, "an attestation, not an image");
    case OCV_REJECT_ARTIFACT:
        return ocv_buffer_printf(out, err, "an artifact, not an image");
    case OCV_REJECT_MEDIA_TYPE:
        return ocv_buffer_printf(out, err, "media type %.100s is not an image manifest",
                                 r->entry->media_type);
    case OCV_REJECT_NESTED:
        return ocv_buffer_printf(out, err, "a nested index");
    case OCV_REJECT_DIGEST_ALGORITHM:
        return ocv_buffer_printf(out, err, "its digest algorithm is not supported");
    case OCV_REJECT_NOT_REQUESTED:
        return ocv_buffer_printf(out, err, "fits, but another label was asked for");
    case OCV_REJECT_REQUIREMENT:
        return ocv_buffer_printf(out, err, "fits, but does not use %s, which is required",
                                 r->required);
    case OCV_REJECT_DENIED:
        return ocv_buffer_printf(out, err, "never taken here: deny has '%.100s'", r->required);
    case OCV_REJECT_FOREIGN_ARCHITECTURE:
        return ocv_buffer_printf(
            out, err,
            "the profile is for another architecture, so nothing is known about variants");
    default:
        return ocv_buffer_printf(out, err, "%s", ocv_reject_name(r->code));
    }
}

/* Sentences quote index and profile. */
static int clean_from(struct ocv_buffer *out, size_t start, int status)
{
    if (status == OCV_OK && out->data)
        ocv_text_clean(out->data + start);
    return status;
}

int ocv_decision_reason(const struct ocv_decision *decision, size_t i, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    size_t start = out->len;
    const char *origin = decision->rejected[i].origin;
    int status = format_rejection(decision, i, out, err);
    if (status == OCV_OK && origin)
        status = ocv_buffer_printf(out, err, " (%.400s)", origin);
    return clean_from(out, start, status);
}

static const struct hint_entry *hint_entry(struct ocv_property p, const char *value)
{
    char text[256];
    const char *property = text; /* what an entry begins with */
    snprintf(text, sizeof(text), "%s :: %s :: %s", p.ns, p.feature, value);
    return bsearch(&property, ocv_hints, sizeof(ocv_hints) / sizeof(*ocv_hints), sizeof(*ocv_hints),
                   ocv_text_order);
}

const char *ocv_hint_needs(struct ocv_property p)
{
    const struct hint_entry *one = hint_entry(p, p.value), *all = one ? one : hint_entry(p, "*");
    return all ? all->needs : NULL;
}

/* What the profile recorded for a namespace, or NULL. */
static const json_t *recorded_object(const struct ocv_profile *profile, const char *ns)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(profile->root, "namespaces"), i, item)
    {
        const char *name = ocv_json_text(item, "namespace");
        if (name && !strcmp(name, ns))
            return item;
    }
    return NULL;
}

/* "12.9" is newer than "12.8" and "9.9", and than "12". */
static bool is_newer(const char *a, const char *b)
{
    char *rest_a, *rest_b;
    unsigned long major_a = strtoul(a, &rest_a, 10), major_b = strtoul(b, &rest_b, 10);
    if (major_a != major_b)
        return major_a > major_b;
    return strtoul(rest_a + (*rest_a == '.'), NULL, 10) >
           strtoul(rest_b + (*rest_b == '.'), NULL, 10);
}

/* Does the entry ask for this version for its code's sake: the first whose drivers read zstd, of an
 * image that was built with a newer one? */
static bool is_for_zstd(const struct ocv_decision *d, const struct ocv_entry *entry,
                        struct ocv_property p)
{
    if (strcmp(p.ns, OCV_TOOLKIT_NAMESPACE) != 0 || strcmp(p.feature, OCV_TOOLKIT_VERSION) != 0 ||
        strcmp(p.value, OCV_TOOLKIT_ZSTD) != 0)
        return false;
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property other = ocv_index_property(d->index, entry->properties[i]);
        if (strcmp(other.ns, p.ns) == 0 && strcmp(other.feature, p.feature) == 0 &&
            strtoul(other.value, NULL, 10) == strtoul(p.value, NULL, 10) &&
            is_newer(other.value, p.value))
            return true;
    }
    return false;
}

/* Of the entry's values of the slot's feature, which are alternatives, the first one with a known
 * remedy, and of a driver's versions the oldest. */
static const struct hint_entry *find_remedy(const struct ocv_decision *d,
                                            const struct ocv_rejection *r,
                                            const struct ocv_slot *slot,
                                            const struct hint_entry **all, struct ocv_property *out)
{
    const struct hint_entry *found = NULL;
    *all = NULL;
    for (size_t i = 0; i < r->entry->n_properties; i++) {
        uint32_t id = r->entry->properties[i];
        if (&d->host.slots[d->host.slot_of[id]] != slot)
            continue;
        struct ocv_property p = ocv_index_property(d->index, id);
        const struct hint_entry *one = hint_entry(p, p.value);
        *all = hint_entry(p, "*");
        bool versions = *all && (*all)->by && !strcmp((*all)->by, "driver");
        if ((one || *all) && (!found || (versions && is_newer(out->value, p.value)))) {
            found = one ? one : *all;
            *out = p;
        }
    }
    return found;
}

/* From schema/hints.yaml. Without a remedy, name what the probe reported as missing. */
static int hint_value(const struct ocv_decision *d, const struct ocv_rejection *r,
                      struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_slot *slot = ocv_rejection_slot(d, r);
    const struct ocv_feature *have = ocv_rejection_have(r, slot);
    const char *best = have && have->n_values ? have->values[0] : NULL;
    const json_t *recorded = recorded_object(d->profile, r->ns);
    const char *error = ocv_json_text(recorded, "error");
    const struct hint_entry *all = NULL, *found = NULL;
    struct ocv_property p = {0};
    if (slot && (best || !error))
        found = find_remedy(d, r, slot, &all, &p);
    if (!found)
        return error ? ocv_buffer_printf(out, err, "%.200s", error) : OCV_OK;
    if (!best && all && !json_array_size(json_object_get(recorded, "devices")) &&
        (all->by || r->code == OCV_REJECT_NAMESPACE_UNSUPPORTED))
        return OCV_OK; /* nothing that is installed helps a host that has no such device */
    /* "driver 535.161 supports CUDA up to 12.2; this needs 12.8: driver 570 or newer". A list that
     * has a newer version, but not this one, was written by hand: no driver would help. */
    const char *driver = ocv_json_text(recorded, "driver");
    const char *what = all && all->what ? all->what : "";
    bool by_driver = all && all->by && !strcmp(all->by, "driver");
    if (by_driver && best && !is_newer(p.value, best)) /* lower bounds */
        OCV_TRY(ocv_buffer_printf(out, err,
                                  "the host's list has %.100s and not %s: it should have each "
                                  "version that runs, down to the oldest",
                                  best, p.value));
    else if (by_driver && driver && best)
        OCV_TRY(ocv_buffer_printf(out, err,
                                  "driver %.40s supports %s up to %.100s; this needs %s: %s",
                                  driver, what, best, p.value, found->needs));
    else
        OCV_TRY(ocv_buffer_printf(out, err, "this needs %s%s%s: %s", what, *what ? " " : "",
                                  p.value, found->needs));
    return is_for_zstd(d, r->entry, p)
               ? ocv_buffer_printf(out, err,
                                   "; its code is compressed in a way that older drivers "
                                   "cannot read")
               : OCV_OK;
}

/* No device is left to count. Where none of them can serve anything, the first, which is the most
 * capable, says why. */
static int hint_devices(const struct ocv_decision *d, const char *ns, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    size_t i;
    json_t *device, *devices = json_object_get(recorded_object(d->profile, ns), "devices");
    const char *first = NULL, *id = NULL;
    bool all = true;
    json_array_foreach(devices, i, device)
    {
        const char *why = ocv_json_text(json_object_get(device, "attributes"), "reason");
        all = all && why;
        if (!first) {
            first = why;
            id = ocv_json_text(device, "id");
        }
    }
    return all && first
               ? ocv_buffer_printf(out, err, "device %.100s: %.300s", id ? id : "0", first)
               : ocv_buffer_printf(out, err,
                                   "see --devices, 'devices' and what the probe marks secondary");
}

static int format_hint(const struct ocv_decision *decision, size_t i, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    const struct ocv_rejection *r = &decision->rejected[i];
    /* why the machine's PCI devices were not seen */
    const char *unseen = ocv_json_text(decision->profile->root, "pci_error");
    switch (r->code) {
    case OCV_REJECT_DISABLED:
        return ocv_buffer_printf(out, err, "take it out of 'disable' in the configuration");
    case OCV_REJECT_NO_DEVICE:
        return hint_devices(decision, r->ns, out, err);
    case OCV_REJECT_NAMESPACE_UNDECLARED:
        return ocv_buffer_printf(out, err, "the publisher must add it to %s",
                                 OCV_ANNOTATION_NAMESPACES);
    case OCV_REJECT_FOREIGN_ARCHITECTURE:
        return ocv_buffer_printf(out, err, "give a profile of that machine with --profile");
    case OCV_REJECT_DEVICE:
        if (json_array_size(json_object_get(recorded_object(decision->profile, r->ns), "devices")) <
            2) /* nothing to narrow */
            return hint_value(decision, r, out, err);
        return ocv_buffer_printf(out, err,
                                 "narrow the devices (--devices %s=...) or use "
                                 "--device-policy %s=any",
                                 r->ns, r->ns);
    case OCV_REJECT_NAMESPACE_UNSUPPORTED:
        if (!ocv_vocabulary_is_cpu(r->ns) && unseen)
            return ocv_buffer_printf(out, err, "devices could not be looked for: %.300s", unseen);
        return hint_value(decision, r, out, err);
    case OCV_REJECT_FEATURE_UNSUPPORTED:
    case OCV_REJECT_VALUE_UNSUPPORTED:
        return hint_value(decision, r, out, err);
    default:
        return OCV_OK;
    }
}

int ocv_decision_hint(const struct ocv_decision *decision, size_t i, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    size_t start = out->len;
    return clean_from(out, start, format_hint(decision, i, out, err));
}
