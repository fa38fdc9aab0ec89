/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order of entries and their platforms (schema/annotations.md, "Layout"): defaults first
 * with a plain platform, every other variant under platform.variant "x-LABEL", attestations last.
 */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/edit/edit_internal.h"

#include "lib/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Place of the image that an attestation is about: attestations are in the order of their images.
 */
static size_t subject_rank(const struct ocv_edit *edit, const struct ocv_edit_entry *e)
{
    for (size_t i = 0; e->subject && i < edit->n; i++)
        if (edit->entries[i].class != OCV_EDIT_OTHER &&
            !strcmp(edit->entries[i].digest, e->subject))
            return i;
    return SIZE_MAX;
}

/* Of the formats of one build the plain one comes first, then those with more and more features. */
static int compare_rank(const struct ocv_edit *edit, const struct ocv_edit_entry *a,
                        const struct ocv_edit_entry *b)
{
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->class == OCV_EDIT_OTHER) {
        size_t ra = subject_rank(edit, a), rb = subject_rank(edit, b);
        return ra < rb ? -1 : ra > rb;
    }
    int order = strcmp(a->os, b->os);
    if (order == 0)
        order = strcmp(a->architecture, b->architecture);
    if (order == 0 && a->class == OCV_EDIT_DEFAULT)
        order = strcmp(b->variant, a->variant); /* the best first */
    if (order == 0 && a->class == OCV_EDIT_DEFAULT)
        order = strcmp(b->os_version, a->os_version);
    if (order == 0)
        order = strcmp(a->label ? a->label : "", b->label ? b->label : "");
    size_t n = json_array_size(a->os_features), m = json_array_size(b->os_features);
    if (order == 0)
        order = (n > m) - (n < m);
    for (size_t i = 0; order == 0 && i < n; i++) {
        const char *x = json_string_value(json_array_get(a->os_features, i));
        const char *y = json_string_value(json_array_get(b->os_features, i));
        order = strcmp(x ? x : "", y ? y : "");
    }
    return order;
}

/* Give the entry the platform.variant that its class asks for. */
static int place_entry(struct ocv_edit *edit, struct ocv_edit_entry *e, struct ocv_error *err)
{
    char marked[OCV_PLATFORM_HIDDEN_MAX];
    if (e->class == OCV_EDIT_VARIANT && !e->label)
        return OCV_OK; /* half annotated: its label is still to come */
    if (e->class == OCV_EDIT_VARIANT && edit->layout == OCV_EDIT_HIDDEN) {
        ocv_platform_hide(e->label, marked);
        return ocv_edit_entry_set(e, "platform", "variant", marked, err);
    }
    /* podman does not run an entry that says v1, and only docker one that says v2 */
    if (ocv_platform_is_hidden(e->variant) || !strcmp(e->architecture, "amd64"))
        return ocv_edit_entry_set(e, "platform", "variant", NULL, err);
    return OCV_OK;
}

int ocv_edit_insert(struct ocv_edit *edit, struct ocv_edit_entry *entry, struct ocv_error *err)
{
    if (edit->n == OCV_INDEX_ENTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u entries", OCV_INDEX_ENTRIES_MAX);
    if (!ocv_array_grow(&edit->entries, edit->n))
        return ocv_error_nomem(err);
    size_t at = edit->n;
    while (at > 0 && compare_rank(edit, &edit->entries[at - 1], entry) > 0)
        at--;
    memmove(edit->entries + at + 1, edit->entries + at, (edit->n - at) * sizeof(*edit->entries));
    edit->entries[at] = *entry;
    edit->n++;
    edit->changed = true;
    return OCV_OK;
}

int ocv_edit_put(struct ocv_edit *edit, struct ocv_edit_entry *entry, int status,
                 struct ocv_error *err)
{
    if (status == OCV_OK)
        status = place_entry(edit, entry, err);
    if (status == OCV_OK)
        status = ocv_edit_insert(edit, entry, err);
    if (status < 0)
        ocv_edit_entry_free(entry);
    return status;
}

struct ocv_edit_entry ocv_edit_take(struct ocv_edit *edit, size_t i)
{
    struct ocv_edit_entry entry = edit->entries[i];
    edit->n--;
    memmove(edit->entries + i, edit->entries + i + 1, (edit->n - i) * sizeof(*edit->entries));
    edit->changed = true;
    return entry;
}

static int relayout_entry(struct ocv_edit *edit, struct ocv_edit_entry *e, struct ocv_error *err)
{
    const char *properties =
        ocv_json_text(json_object_get(e->json, "annotations"), OCV_ANNOTATION_PROPERTIES);
    if (e->class == OCV_EDIT_OTHER || !e->label)
        return OCV_OK;
    bool null = !strcmp(e->label, "null");
    /* check its own platform */
    if (null && ocv_platform_is_hidden(e->variant))
        OCV_TRY(ocv_edit_entry_set(e, "platform", "variant", NULL, err));
    e->class = OCV_EDIT_VARIANT;
    /* `null` becomes an ordinary image where no other is the default, so that readers that drop
     * annotated entries find it; what is malformed stays. */
    bool is_default = null;
    for (size_t i = 0; i < edit->n && is_default; i++)
        is_default = edit->entries[i].label || edit->entries[i].class != OCV_EDIT_DEFAULT ||
                     !ocv_edit_same_platform(e, &edit->entries[i]);
    if (is_default) {
        e->class = OCV_EDIT_DEFAULT;
        if (properties && !*properties)
            OCV_TRY(ocv_edit_entry_plain(e, err));
    }
    enum ocv_edit_class class = e->class;
    int status = place_entry(edit, e, err);
    e->class = class;
    return status;
}

int ocv_edit_relayout(struct ocv_edit *edit, struct ocv_error *err)
{
    size_t n = edit->n;
    int status = OCV_OK;
    bool was = edit->changed;
    for (size_t i = 0; i < n; i++) {
        edit->entries[i].order = i;
        OCV_TRY(relayout_entry(edit, &edit->entries[i], err));
    }
    struct ocv_edit_entry *old = edit->entries;
    /* images first, so that attestations find theirs */
    edit->entries = NULL;
    edit->n = 0;
    size_t moved = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if ((old[i].class == OCV_EDIT_OTHER) == (pass == 1)) {
                if (status == OCV_OK)
                    status = ocv_edit_insert(edit, &old[i], err);
                if (status < 0)
                    ocv_edit_entry_free(&old[i]);
                else
                    moved++;
            }
    bool same = moved == n && edit->n == n;
    for (size_t i = 0; edit->entries && i < n && same; i++)
        same = !edit->entries[i].changed && edit->entries[i].order == i;
    edit->changed = was || !same;
    free(old);
    if (status < 0)
        return status;

    /* The annotations of an index with variants, if the tool that made it could not write them. */
    bool variants = false;
    for (size_t i = 0; i < edit->n; i++)
        variants = variants || edit->entries[i].label;
    if (!variants)
        return OCV_OK;
    if (!ocv_edit_annotation(edit, OCV_ANNOTATION_NAMESPACES))
        edit->namespaces_derived = edit->changed = true;
    if (json_object_get(edit->annotations, OCV_ANNOTATION_SCHEMA))
        return OCV_OK;
    edit->annotations_changed = edit->changed = true;
    return ocv_edit_put_text(edit->annotations, OCV_ANNOTATION_SCHEMA, "1", err);
}
