/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The index's distinct properties as small sorted ids, its namespace order and its static
 * namespaces. With ids, selection compares numbers: each distinct property is looked up in the
 * profile once, however many variants carry it. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "ocivariant/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#define NO_SLOT UINT32_MAX
#define NAMESPACES_MAX 1024u /* of an index: each is looked up in lists, one after the other */

struct property_table {
    struct ocv_property *list; /* in order of first sight */
    size_t count;
    uint32_t *slots;
    size_t mask;
};

static uint32_t find_or_add(struct property_table *t, struct ocv_property p)
{
    const char *const parts[] = {p.value, p.feature, p.ns};
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < 3; i++) {
        for (const char *s = parts[i]; *s; s++)
            h = (h ^ (unsigned char)*s) * 0x100000001b3u;
        h = (h ^ 0xff) * 0x100000001b3u;
    }
    h ^= h >> 29;
    for (size_t i = (size_t)h & t->mask;; i = (i + 1) & t->mask) {
        uint32_t id = t->slots[i];
        if (id == NO_SLOT) {
            t->slots[i] = (uint32_t)t->count;
            t->list[t->count] = p;
            return (uint32_t)t->count++;
        }
        if (ocv_property_compare(&t->list[id], &p) == 0)
            return id;
    }
}

static int compare_indirect(const void *a, const void *b, void *list)
{
    const struct ocv_property *p = list;
    return ocv_property_compare(&p[*(const uint32_t *)a], &p[*(const uint32_t *)b]);
}

int ocv_index_intern(struct ocv_index *index, struct ocv_properties *const *sets,
                     struct ocv_error *err)
{
    size_t total = 0, size = 64, used = 0, namespaces = 0;
    for (size_t i = 0; i < index->n_entries; i++)
        total += sets[i] ? ocv_properties_count(sets[i]) : 0;
    while (size < total * 2)
        size *= 2;
    ocv_auto_free uint32_t *slots = malloc(size * sizeof(*slots));
    ocv_auto_free struct ocv_property *list = malloc((total + 1) * sizeof(*list));
    uint32_t *ids = ocv_arena_alloc(&index->arena, total + 1, sizeof(*ids));
    if (!slots || !list || !ids)
        return ocv_error_nomem(err);
    memset(slots, 0xff, size * sizeof(*slots));
    struct property_table t = {.mask = size - 1, .slots = slots, .list = list};
    for (size_t i = 0; i < index->n_entries; i++) {
        size_t n = sets[i] ? ocv_properties_count(sets[i]) : 0;
        index->entries[i].properties = ids + used;
        index->entries[i].n_properties = n;
        for (size_t k = 0; k < n; k++)
            ids[used++] = find_or_add(&t, ocv_properties_get(sets[i], k));
    }
    ocv_auto_free uint32_t *rank = calloc(t.count + 1, sizeof(*rank));
    if (!rank)
        return ocv_error_nomem(err);
    /* sort the distinct properties and copy their strings; `rank`: first-sight id -> sorted id */
    ocv_auto_free uint32_t *order = malloc((t.count + 1) * sizeof(*order));
    index->properties = ocv_arena_alloc(&index->arena, t.count + 1, sizeof(*index->properties));
    if (!order || !index->properties)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < t.count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, t.count, sizeof(*order), compare_indirect, t.list);
    for (size_t i = 0; i < t.count; i++) {
        struct ocv_property p = t.list[order[i]], *before = &index->properties[i ? i - 1 : 0];
        bool same_ns = i && !strcmp(before->ns, p.ns);
        bool same_feature = same_ns && !strcmp(before->feature, p.feature);
        p.ns = same_ns ? before->ns : ocv_arena_text(&index->arena, p.ns);
        p.feature = same_feature ? before->feature : ocv_arena_text(&index->arena, p.feature);
        p.value = ocv_arena_text(&index->arena, p.value);
        if (!p.ns || !p.feature || !p.value)
            return ocv_error_nomem(err);
        index->properties[i] = p;
        rank[order[i]] = (uint32_t)i;
    }
    index->n_properties = t.count;
    for (size_t i = 0; i < used; i++)
        ids[i] = rank[ids[i]];
    for (size_t i = 0; i < index->n_properties; i++)
        namespaces += i == 0 || index->properties[i].ns != index->properties[i - 1].ns;
    if (namespaces > NAMESPACES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "index uses %zu namespaces, at most %u are read",
                             namespaces, NAMESPACES_MAX);
    return OCV_OK;
}

#define STATIC_VALUES_MAX 512u /* "feature :: value" items of one static namespace */

/* A malformed list leaves the namespace empty: better no variant than one ranked by half a list. */
static int read_static(struct ocv_index *index, struct ocv_namespace *ns, const char *text,
                       struct ocv_error *err)
{
    ns->features = ocv_arena_alloc(&index->arena, STATIC_VALUES_MAX, sizeof(*ns->features));
    if (!ns->features)
        return ocv_error_nomem(err);
    struct ocv_span rest = ocv_span_trim((struct ocv_span){text, strlen(text)}), piece, parts[2];
    for (size_t n = 0; rest.len && ocv_span_split(&rest, ',', &piece); n++) {
        if (n == STATIC_VALUES_MAX || ocv_span_parts(piece, parts, 2) != 2 ||
            !ocv_property_name_valid(parts[0].data, parts[0].len) ||
            !ocv_property_value_valid(parts[1].data, parts[1].len)) {
            ns->n_features = 0;
            return ocv_index_warn(index, err, "%s%s: '%.*s' is not 'feature :: value'%s",
                                  OCV_ANNOTATION_STATIC, ns->name,
                                  (int)(piece.len > 60 ? 60 : piece.len), piece.data,
                                  n == STATIC_VALUES_MAX ? " (too many)" : "");
        }
        struct ocv_feature *feature = ns->features, *end = ns->features + ns->n_features;
        while (feature < end && (strlen(feature->name) != parts[0].len ||
                                 memcmp(feature->name, parts[0].data, parts[0].len) != 0))
            feature++;
        if (feature == end) {
            feature->name = ocv_arena_copy(&index->arena, parts[0].data, parts[0].len);
            feature->values = ocv_arena_alloc(&index->arena, STATIC_VALUES_MAX, sizeof(char *));
            ns->n_features++;
        }
        char *value = ocv_arena_copy(&index->arena, parts[1].data, parts[1].len);
        if (!feature->name || !feature->values || !value)
            return ocv_error_nomem(err);
        size_t known = 0;
        while (known < feature->n_values && strcmp(feature->values[known], value) != 0)
            known++;
        if (known == feature->n_values)
            feature->values[feature->n_values++] = value;
    }
    return OCV_OK;
}

#define STATICS_MAX 16u /* static namespaces of an index */

static int read_statics(struct ocv_index *index, const json_t *annotations, struct ocv_error *err)
{
    const char *key;
    json_t *value;
    index->statics = ocv_arena_alloc(&index->arena, STATICS_MAX, sizeof(*index->statics));
    if (!index->statics)
        return ocv_error_nomem(err);
    json_object_foreach((json_t *)annotations, key, value)
    {
        size_t prefix = strlen(OCV_ANNOTATION_STATIC);
        if (strncmp(key, OCV_ANNOTATION_STATIC, prefix) != 0)
            continue;
        const char *ns = key + prefix, *text = json_string_value(value);
        if (!ocv_property_name_valid(ns, strlen(ns)) || !text) {
            OCV_TRY(ocv_index_warn(index, err, "'%.100s' is malformed, ignored", key));
        } else if (ocv_vocabulary_owns(ns)) {
            OCV_TRY(
                ocv_index_warn(index, err, "%s is ignored: '%s' is probed on the host", key, ns));
        } else if (index->n_statics == STATICS_MAX) {
            return ocv_error_set(err, OCV_ERR_DATA, "index has more than %u static namespaces",
                                 STATICS_MAX);
        } else {
            index->statics[index->n_statics].name = ns;
            OCV_TRY(read_static(index, &index->statics[index->n_statics++], text, err));
        }
    }
    return OCV_OK;
}

int ocv_index_read_annotations(struct ocv_index *index, const json_t *annotations,
                               struct ocv_error *err)
{
    const json_t *list = json_object_get(annotations, OCV_ANNOTATION_NAMESPACES);
    index->declared = list != NULL;
    index->namespaces = ocv_arena_alloc(
        &index->arena, list ? NAMESPACES_MAX : index->n_properties + 1, sizeof(char *));
    if (!index->namespaces)
        return ocv_error_nomem(err);
    /* absent list: namespaces in use by their turn, and in lexical order. Sorted ids give that. */
    for (unsigned turn = 0; !list && turn < OCV_VOCABULARY_TURNS; turn++) {
        const char *last = NULL;
        for (size_t i = 0; i < index->n_properties; i++) {
            const char *ns = index->properties[i].ns;
            if (ns != last && ocv_vocabulary_turn(ns) == turn)
                index->namespaces[index->n_namespaces++] = ns;
            last = ns;
        }
    }
    const char *text = !list ? "" : json_is_string(list) ? json_string_value(list) : "?";
    struct ocv_span rest = ocv_span_trim((struct ocv_span){text, strlen(text)}), piece;
    while (rest.len && ocv_span_split(&rest, ',', &piece)) {
        int shown = (int)(piece.len > 60 ? 60 : piece.len);
        size_t known = 0;
        while (known < index->n_namespaces &&
               (strlen(index->namespaces[known]) != piece.len ||
                memcmp(index->namespaces[known], piece.data, piece.len) != 0))
            known++;
        if (!ocv_property_name_valid(piece.data, piece.len))
            OCV_TRY(ocv_index_warn(index, err, "%s: '%.*s' is not a namespace, ignored",
                                   OCV_ANNOTATION_NAMESPACES, shown, piece.data));
        else if (known < index->n_namespaces)
            OCV_TRY(ocv_index_warn(index, err, "%s: '%.*s' is listed twice",
                                   OCV_ANNOTATION_NAMESPACES, shown, piece.data));
        else if (index->n_namespaces == NAMESPACES_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "index: %s has more than %u names",
                                 OCV_ANNOTATION_NAMESPACES, NAMESPACES_MAX);
        else {
            char *copy = ocv_arena_copy(&index->arena, piece.data, piece.len);
            if (!copy)
                return ocv_error_nomem(err);
            index->namespaces[index->n_namespaces++] = copy;
        }
    }
    return read_statics(index, annotations, err);
}
