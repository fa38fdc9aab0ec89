/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where entries stand and under which platform (schema/annotations.md, "Layout"): defaults first
 * with a plain platform, every other variant under platform.variant "x-LABEL", attestations last.
 */
#include "lib/edit/edit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Place of the image that an attestation is about: they stand in the order of their images. */
static size_t subject_rank(const struct ocv_author *author, const struct ocv_author_entry *e)
{
    for (size_t i = 0; e->subject && i < author->n; i++)
        if (author->entries[i].class != OCV_AUTHOR_OTHER &&
            !strcmp(author->entries[i].digest, e->subject))
            return i;
    return SIZE_MAX;
}

static int compare_rank(const struct ocv_author *author, const struct ocv_author_entry *a,
                        const struct ocv_author_entry *b)
{
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->class == OCV_AUTHOR_OTHER) {
        size_t ra = subject_rank(author, a), rb = subject_rank(author, b);
        return ra < rb ? -1 : ra > rb;
    }
    int order = strcmp(a->os, b->os);
    if (order == 0)
        order = strcmp(a->architecture, b->architecture);
    if (order == 0 && a->class == OCV_AUTHOR_DEFAULT)
        order = strcmp(b->variant, a->variant); /* the best first */
    if (order == 0 && a->class == OCV_AUTHOR_DEFAULT)
        order = strcmp(b->os_version, a->os_version);
    if (order == 0)
        order = strcmp(a->label ? a->label : "", b->label ? b->label : "");
    return order ? order : ocv_author_compare_features(a, b);
}

int ocv_author_place(struct ocv_author *author, struct ocv_author_entry *e, struct ocv_error *err)
{
    char marked[OCV_PLATFORM_HIDDEN_MAX];
    if (e->class == OCV_AUTHOR_VARIANT && !e->label)
        return OCV_OK; /* half annotated: its label is still to come */
    if (e->class == OCV_AUTHOR_VARIANT && author->layout == OCV_AUTHOR_HIDDEN) {
        ocv_platform_hide(e->label, marked);
        return ocv_author_entry_set(e, "platform", "variant", marked, err);
    }
    /* podman does not run an entry that says v1, nobody but docker one that says v2 */
    if (ocv_platform_is_hidden(e->variant) || !strcmp(e->architecture, "amd64"))
        return ocv_author_entry_set(e, "platform", "variant", NULL, err);
    return OCV_OK;
}

int ocv_author_insert(struct ocv_author *author, struct ocv_author_entry *entry,
                      struct ocv_error *err)
{
    if (author->n == OCV_INDEX_ENTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u entries", OCV_INDEX_ENTRIES_MAX);
    if (author->n == author->cap) {
        size_t cap = author->cap ? author->cap * 2 : 16;
        struct ocv_author_entry *grown = realloc(author->entries, cap * sizeof(*grown));
        if (!grown)
            return ocv_error_nomem(err);
        author->entries = grown;
        author->cap = cap;
    }
    size_t at = author->n;
    while (at > 0 && compare_rank(author, &author->entries[at - 1], entry) > 0)
        at--;
    memmove(author->entries + at + 1, author->entries + at,
            (author->n - at) * sizeof(*author->entries));
    author->entries[at] = *entry;
    author->n++;
    author->changed = true;
    return OCV_OK;
}

struct ocv_author_entry ocv_author_take(struct ocv_author *author, size_t i)
{
    struct ocv_author_entry entry = author->entries[i];
    author->n--;
    memmove(author->entries + i, author->entries + i + 1,
            (author->n - i) * sizeof(*author->entries));
    author->changed = true;
    return entry;
}

/* A default only where no ordinary image of that platform is the default. */
static bool null_is_default(const struct ocv_author *author, const struct ocv_author_entry *e)
{
    for (size_t i = 0; i < author->n; i++) {
        const struct ocv_author_entry *other = &author->entries[i];
        if (!other->label && other->class == OCV_AUTHOR_DEFAULT &&
            ocv_author_same_platform(e, other))
            return false;
    }
    return true;
}

/* What stands on an index with variants, where the tool that made it could not write it. */
static int complete_annotations(struct ocv_author *author, struct ocv_error *err)
{
    bool variants = false;
    for (size_t i = 0; i < author->n; i++)
        variants = variants || author->entries[i].label;
    if (!variants)
        return OCV_OK;
    if (!ocv_author_annotation(author, OCV_ANNOTATION_NAMESPACES))
        author->namespaces_derived = author->changed = true;
    if (json_object_get(author->annotations, OCV_ANNOTATION_SCHEMA))
        return OCV_OK;
    author->annotations_changed = author->changed = true;
    return ocv_author_put_text(author->annotations, OCV_ANNOTATION_SCHEMA, "1", err);
}

/* `null` becomes an ordinary image where no other is the default, so that readers that drop
 * annotated entries find it; what is malformed stays. */
static int relayout_null(struct ocv_author *author, struct ocv_author_entry *e,
                         struct ocv_error *err)
{
    const char *properties = json_string_value(
        json_object_get(json_object_get(e->json, "annotations"), OCV_ANNOTATION_PROPERTIES));
    int status = OCV_OK;
    if (ocv_platform_is_hidden(e->variant)) /* judge its own platform */
        status = ocv_author_entry_set(e, "platform", "variant", NULL, err);
    if (status < 0)
        return status;
    e->class = OCV_AUTHOR_DEFAULT;
    if (properties && !*properties && null_is_default(author, e))
        return ocv_author_entry_plain(e, err);
    if (!null_is_default(author, e))
        e->class = OCV_AUTHOR_VARIANT;
    return OCV_OK;
}

static int relayout_entry(struct ocv_author *author, struct ocv_author_entry *e,
                          struct ocv_error *err)
{
    int status = OCV_OK;
    if (e->class == OCV_AUTHOR_OTHER || !e->label)
        return OCV_OK;
    if (!strcmp(e->label, "null"))
        status = relayout_null(author, e, err);
    else
        e->class = OCV_AUTHOR_VARIANT;
    enum ocv_author_class class = e->class;
    if (status == OCV_OK)
        status = ocv_author_place(author, e, err);
    e->class = class;
    return status;
}

int ocv_author_relayout(struct ocv_author *author, struct ocv_error *err)
{
    struct ocv_author_entry *old = author->entries;
    size_t n = author->n;
    int status = OCV_OK;
    bool was = author->changed;
    for (size_t i = 0; i < n && status == OCV_OK; i++) {
        old[i].order = i;
        status = relayout_entry(author, &old[i], err);
    }
    if (status < 0)
        return status;
    /* images first, so that attestations find theirs */
    author->entries = NULL;
    author->n = author->cap = 0;
    size_t moved = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if ((old[i].class == OCV_AUTHOR_OTHER) == (pass == 1)) {
                if (status == OCV_OK)
                    status = ocv_author_insert(author, &old[i], err);
                if (status < 0)
                    ocv_author_entry_free(&old[i]);
                else
                    moved++;
            }
    bool same = moved == n && author->n == n;
    for (size_t i = 0; author->entries && i < n && same; i++)
        same = !author->entries[i].changed && author->entries[i].order == i;
    author->changed = was || !same;
    free(old);
    return status < 0 ? status : complete_annotations(author, err);
}
