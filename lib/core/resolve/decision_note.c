/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Notes on builds that fit. Machine code of CUDA 12.9 runs on older drivers of CUDA 12, too
 * (NVIDIA, "CUDA Compatibility", Minor Version Compatibility), and an entry says so with two values
 * of one feature, 12.9 and 12.0. A ROCm that an image brings may be newer than any that was tested
 * with the host's driver. */
#include "lib/base/cleanup.h"
#include "lib/core/resolve/resolve_internal.h"

#include "gen/toolkits.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

struct version {
    unsigned long major, minor;
};

/* False for a text that is not like "12.8". */
static bool read_number(const char *text, struct version *out)
{
    char *end;
    out->major = strtoul(text, &end, 10);
    out->minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    return *end == '\0';
}

static bool read_version(struct ocv_property p, struct version *out)
{
    return strcmp(p.ns, OCV_TOOLKIT_NAMESPACE) == 0 &&
           strcmp(p.feature, OCV_TOOLKIT_VERSION) == 0 && read_number(p.value, out);
}

/* Of the entry's versions with the major of `*newest`, the newest above it. */
static void find_newer(const struct ocv_decision *d, const struct ocv_entry *entry,
                       struct version *newest, uint32_t *id)
{
    struct version v;
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(d->index, entry->properties[i]);
        if (!read_version(p, &v) || v.major != newest->major || v.minor <= newest->minor)
            continue;
        *newest = v;
        *id = entry->properties[i];
    }
}

/* Does the host have of the entry's versions only the base of a major? */
static bool runs_by_the_base(const struct ocv_decision *d, const struct ocv_entry *entry,
                             struct version *base, const struct ocv_slot **slot)
{
    struct version v, best = {0, 0};
    for (size_t i = 0; i < entry->n_properties; i++) {
        uint32_t id = entry->properties[i];
        if (!read_version(ocv_index_property(d->index, id), &v) ||
            !ocv_host_table_supports(&d->host, id))
            continue;
        if (v.major > best.major || (v.major == best.major && v.minor > best.minor))
            best = v;
        *slot = &d->host.slots[d->host.slot_of[id]];
    }
    *base = best;
    /* is it the one from which on machine code of its major runs? */
    struct version zstd;
    return best.major > 0 &&
           (best.minor == 0 || (read_number(OCV_TOOLKIT_ZSTD, &zstd) && best.major == zstd.major &&
                                best.minor == zstd.minor));
}

/* The newest version that the host has. */
static const char *host_version(const struct ocv_slot *slot)
{
    for (size_t l = 0; l < slot->n_lists; l++)
        if (slot->lists[l] && slot->lists[l]->n_values)
            return slot->lists[l]->values[0];
    return "none";
}

/* The user space of the entry's image, where it is newer than the first of the host's list, which
 * was tested. NULL: it was tested, too, or the entry names none. */
static const char *untested_note(const struct ocv_decision *d, const struct ocv_entry *entry,
                                 const char **tested)
{
    const char *brings = NULL;
    for (size_t i = 0; i < entry->n_properties; i++) {
        uint32_t id = entry->properties[i];
        struct ocv_property p = ocv_index_property(d->index, id);
        struct version have, newest;
        if (strcmp(p.ns, OCV_TESTED_NAMESPACE) != 0 || strcmp(p.feature, OCV_TESTED_VERSION) != 0 ||
            !ocv_host_table_supports(&d->host, id))
            continue;
        *tested = host_version(&d->host.slots[d->host.slot_of[id]]);
        if (!read_number(p.value, &have) || !read_number(*tested, &newest) ||
            have.major < newest.major || (have.major == newest.major && have.minor <= newest.minor))
            return NULL;
        brings = p.value;
    }
    return brings;
}

int ocv_decision_note(const struct ocv_decision *decision, const struct ocv_entry *entry,
                      struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_slot *slot = NULL;
    struct version base;
    const char *tested = NULL;
    uint32_t id = UINT32_MAX;
    size_t i = 0;
    while (i < decision->n_candidates && decision->candidates[i].entry != entry)
        i++;
    if (i == decision->n_candidates)
        return OCV_OK;
    const char *brings = untested_note(decision, entry, &tested);
    if (brings)
        return ocv_buffer_printf(out, err,
                                 "brings ROCm %.40s, newer than what was tested with this driver "
                                 "(up to %.40s)",
                                 brings, tested);
    if (!runs_by_the_base(decision, entry, &base, &slot))
        return OCV_OK;
    /* the version with which the entry's image was built: the entry names it, or another one of the
     * same image does */
    find_newer(decision, entry, &base, &id);
    for (i = 0; id == UINT32_MAX && i < ocv_index_count(decision->index); i++) {
        const struct ocv_entry *other = ocv_index_entry(decision->index, i);
        if (strcmp(other->digest, entry->digest) == 0)
            find_newer(decision, other, &base, &id);
    }
    if (id == UINT32_MAX || ocv_host_table_supports(&decision->host, id))
        return OCV_OK;
    struct ocv_property built = ocv_index_property(decision->index, id);
    const char *needs = ocv_hint_needs(built);
    size_t start = out->len;
    OCV_TRY(ocv_buffer_printf(out, err,
                              "runs by CUDA minor-version compatibility: built with %.40s, "
                              "this driver has %.40s; %s runs it natively",
                              built.value, host_version(slot), needs ? needs : "a newer driver"));
    ocv_text_clean(out->data + start);
    return OCV_OK;
}
