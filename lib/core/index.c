/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Image indexes with variant annotations (image-spec image-index.md; schema/annotations.md).
 * A malformed index is an error; a malformed entry keeps its code and never counts as a
 * non-variant. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_labels(const void *a, const void *b)
{
    const struct ocv_entry *x = *(struct ocv_entry *const *)a, *y = *(struct ocv_entry *const *)b;
    int order = strcmp(x->label, y->label);
    if (order == 0)
        order = strcmp(ocv_or_empty(x->platform.os), ocv_or_empty(y->platform.os));
    if (order == 0)
        order =
            strcmp(ocv_or_empty(x->platform.architecture), ocv_or_empty(y->platform.architecture));
    return order ? order : ocv_platform_compare(&x->platform, &y->platform);
}

int ocv_index_parse(const void *bytes, size_t len, const char *media_type, struct ocv_index **out,
                    struct ocv_error *err)
{
    ocv_auto(ocv_index) index = calloc(1, sizeof(*index));
    if (!index)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_load_document("index", bytes, len, &index->root, err));
    enum ocv_document_kind kind;
    OCV_TRY(ocv_document_kind_of(index->root, media_type, &kind, err));
    if (kind != OCV_DOCUMENT_INDEX)
        return ocv_error_set(err, OCV_ERR_DATA, "this is an image manifest, not an index");
    const json_t *manifests = json_object_get(index->root, "manifests");
    const json_t *annotations = json_object_get(index->root, "annotations");
    if (manifests && !json_is_array(manifests))
        return ocv_error_set(err, OCV_ERR_DATA, "index: 'manifests' is not a list");
    if (annotations && !json_is_object(annotations) && !json_is_null(annotations))
        return ocv_error_set(err, OCV_ERR_DATA, "index: annotations is not an object");
    OCV_TRY(ocv_digest_bytes(bytes, len, index->digest, err));
    size_t n = json_array_size(manifests);
    if (n > OCV_INDEX_ENTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "index has %zu entries, at most %u are read", n,
                             OCV_INDEX_ENTRIES_MAX);
    index->entries = ocv_arena_alloc(&index->arena, n ? n : 1, sizeof(*index->entries));
    ocv_auto_free struct ocv_properties **sets = calloc(n + 1, sizeof(*sets));
    if (!index->entries || !sets)
        return ocv_error_nomem(err);
    index->n_entries = n;
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_index_read_entry(index, i, json_array_get(manifests, i), &sets[i], err);
    if (status == OCV_OK)
        status = ocv_index_intern(index, sets, err);
    for (size_t i = 0; i < n; i++)
        ocv_properties_free(sets[i]);
    OCV_TRY(status);
    /* The same label twice on a platform: they cannot be told apart, so all are rejected. */
    ocv_auto_free struct ocv_entry **labelled = malloc((n + 1) * sizeof(*labelled));
    if (!labelled)
        return ocv_error_nomem(err);
    n = 0;
    for (size_t i = 0; i < index->n_entries; i++)
        if (index->entries[i].label && index->entries[i].code == OCV_REJECT_NONE)
            labelled[n++] = &index->entries[i];
    qsort(labelled, n, sizeof(*labelled), compare_labels);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_labels(&labelled[i], &labelled[end]) == 0; end++)
            ;
        for (size_t k = i; end - i > 1 && k < end; k++)
            OCV_TRY(ocv_index_reject_entry(index, labelled[k], OCV_REJECT_DUPLICATE_LABEL,
                                           "duplicate label for this platform", err));
    }

    const json_t *schema = json_object_get(annotations, OCV_ANNOTATION_SCHEMA);
    const char *text = json_string_value(schema);
    bool known = !schema || (text && !strcmp(text, "1"));
    for (size_t i = 0; !known && i < index->n_entries; i++) {
        char detail[128];
        snprintf(detail, sizeof(detail), "%s is '%.40s', known here: 1", OCV_ANNOTATION_SCHEMA,
                 text ? text : "not a string");
        if (index->entries[i].kind != OCV_ENTRY_NON_VARIANT)
            OCV_TRY(
                ocv_index_reject_entry(index, &index->entries[i], OCV_REJECT_SCHEMA, detail, err));
    }
    OCV_TRY(ocv_index_read_annotations(index, annotations, err));
    *out = ocv_steal(&index);
    return OCV_OK;
}

int ocv_index_of_manifest(const struct ocv_descriptor *manifest, struct ocv_index **out,
                          struct ocv_error *err)
{
    ocv_auto_json *root =
        json_pack("{s:i, s:s, s:[{s:s, s:s, s:I}]}", "schemaVersion", 2, "mediaType",
                  OCV_MEDIA_TYPE_INDEX, "manifests", "mediaType", manifest->media_type, "digest",
                  manifest->digest, "size", (json_int_t)manifest->size);
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    if (!root)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(root, JSON_COMPACT, &bytes, err));
    OCV_TRY(ocv_index_parse(bytes.data, bytes.len, NULL, out, err));
    memcpy((*out)->digest, manifest->digest, sizeof((*out)->digest));
    return OCV_OK;
}

void ocv_index_free(struct ocv_index *index)
{
    if (!index)
        return;
    json_decref(index->root);
    ocv_arena_free(&index->arena);
    free(index);
}

size_t ocv_index_count(const struct ocv_index *index)
{
    return index->n_entries;
}

const struct ocv_entry *ocv_index_entry(const struct ocv_index *index, size_t i)
{
    return i < index->n_entries ? &index->entries[i] : NULL;
}

struct ocv_property ocv_index_property(const struct ocv_index *index, uint32_t id)
{
    return index->properties[id];
}

size_t ocv_index_property_count(const struct ocv_index *index)
{
    return index->n_properties;
}

const char *ocv_index_digest(const struct ocv_index *index)
{
    return index->digest;
}

bool ocv_index_has_variants(const struct ocv_index *index)
{
    return index->has_variants;
}

size_t ocv_index_namespaces(const struct ocv_index *index, const char *const **out, bool *declared)
{
    *out = index->namespaces;
    if (declared)
        *declared = index->declared;
    return index->n_namespaces;
}

size_t ocv_index_warnings(const struct ocv_index *index, const char *const **out)
{
    *out = index->warnings;
    return index->n_warnings;
}

const char *ocv_index_doubt(const struct ocv_index *index, const struct ocv_entry *entry)
{
    return index->doubts && entry ? index->doubts[entry->position].message : NULL;
}

const struct ocv_entry *ocv_index_find_digest(const struct ocv_index *index, const char *digest)
{
    for (size_t i = 0; i < index->n_entries; i++)
        if (!strcmp(index->entries[i].digest, digest))
            return &index->entries[i];
    return NULL;
}

int ocv_index_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                       struct ocv_buffer *properties, struct ocv_buffer *statics,
                       struct ocv_error *err)
{
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        OCV_TRY(ocv_buffer_printf(properties, err, "%s%s :: %s :: %s", i ? ", " : "", p.ns,
                                  p.feature, p.value));
        size_t k = 0;
        while (k < index->n_statics && strcmp(index->statics[k].name, p.ns) != 0)
            k++;
        if (k < index->n_statics)
            OCV_TRY(ocv_buffer_printf(statics, err, "%s%s", statics->len ? ", " : "", p.ns));
    }
    return OCV_OK;
}
