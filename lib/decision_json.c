/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A decision as JSON (dev.ocivariant.decision/v1, schema/decision.schema.json). */
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX \
    (32u * 1024) /* an entry's properties have 4,000 bytes, quoted at most three times */

/* Lists are NULL once something could not be put into them, which fails what they are put into. */
static void append(json_t **list, json_t *item)
{
    if (json_array_append_new(*list, item) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

static void set_string(json_t **object, const char *key, const char *value)
{
    if (!value || json_object_set_new(*object, key, json_string(value)) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

static json_t *property_string(struct ocv_property p)
{
    return json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value);
}

static json_t *string_or_null(const char *s)
{
    return s ? json_string(s) : json_null();
}

static json_t *platform_json(const struct ocv_entry *entry)
{
    const struct ocv_platform *p = &entry->platform;
    if (!entry->has_platform)
        return json_null();
    json_t *object = json_object(); /* json_pack's s* takes a failed allocation for an absent one */
    set_string(&object, "os", p->os);
    set_string(&object, "architecture", p->architecture);
    set_string(&object, "variant", p->variant);
    return object;
}

static const char *kind_name(enum ocv_entry_kind kind)
{
    static const char *const names[] = {"variant", "null", "non-variant"};
    return names[kind];
}

/* By a rule: the tag, for people to find the image again. */
static const char *entry_tag(const struct ocv_index *index, const struct ocv_entry *entry)
{
    const json_t *one = json_array_get(json_object_get(index->root, "manifests"), entry->position);
    return json_string_value(
        json_object_get(json_object_get(one, "annotations"), OCV_ANNOTATION_REF_NAME));
}

static json_t *selected_json(const struct ocv_decision *d)
{
    const struct ocv_entry *entry = ocv_decision_selected(d);
    if (!entry)
        return json_null();
    json_t *matched = json_array();
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    size_t n = ocv_decision_matched(d, entry, ids, OCV_ENTRY_PROPERTIES_MAX);
    for (size_t i = 0; i < n; i++)
        append(&matched, property_string(ocv_index_property(d->index, ids[i])));
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:s, s:I, s:o, s:o}", "label", string_or_null(entry->label), "kind",
        kind_name(entry->kind), "digest", entry->digest, "mediaType", entry->media_type, "size",
        (json_int_t)entry->size, "platform", platform_json(entry), "matched", matched);
    if (object && d->index->rule)
        set_string(&object, "tag", entry_tag(d->index, entry));
    return object;
}

static json_t *wanted_json(const struct ocv_decision *d, const struct ocv_rejection *r,
                           const struct ocv_slot *slot)
{
    json_t *list = json_array();
    for (size_t i = 0; slot && i < r->entry->n_properties; i++) {
        uint32_t id = r->entry->properties[i];
        if (&d->host.slots[d->host.slot_of[id]] == slot)
            append(&list, json_string(ocv_index_property(d->index, id).value));
    }
    return list;
}

static json_t *have_json(const struct ocv_rejection *r, const struct ocv_slot *slot)
{
    const struct ocv_feature *have = ocv_rejection_have(r, slot);
    json_t *list = json_array();
    for (size_t i = 0; have && i < have->n_values; i++)
        append(&list, json_string(have->values[i]));
    return list;
}

typedef int (*sentence)(const struct ocv_decision *, size_t, struct ocv_buffer *,
                        struct ocv_error *);

static json_t *text_json(const struct ocv_decision *d, size_t i, sentence say)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX);
    if (say(d, i, &text, NULL) < 0)
        return NULL;
    if (text.len == 0)
        return json_null();
    return json_stringn_nocheck(text.data, text.len);
}

static json_t *rejected_json(const struct ocv_decision *d, size_t i)
{
    const struct ocv_rejection *r = &d->rejected[i];
    const struct ocv_slot *slot = ocv_rejection_slot(d, r);
    json_t *property = r->ns ? json_sprintf("%s :: %s", r->ns, r->feature) : json_null();
    return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "label",
                     string_or_null(r->entry->label), "digest", r->entry->digest, "code",
                     ocv_reject_name(r->code), "property", property, "device",
                     string_or_null(r->device), "wanted", wanted_json(d, r, slot), "have",
                     have_json(r, slot), "reason", text_json(d, i, ocv_decision_reason), "hint",
                     text_json(d, i, ocv_decision_hint));
}

static json_t *warnings_json(const struct ocv_decision *d)
{
    json_t *list = json_array();
    const char *const *warnings;
    size_t n = ocv_index_warnings(d->index, &warnings);
    for (size_t i = 0; i < n; i++)
        append(&list, json_string(warnings[i]));
    return list;
}

static const char *source_name(const struct ocv_index *index)
{
    return index->rule ? "rule" : index->has_variants ? "index" : "none";
}

static json_t *rule_json(const struct ocv_index *index)
{
    return json_pack("{s:s, s:s}", "family", index->rule, "group", index->group);
}

int ocv_decision_format_json(const struct ocv_decision *decision, struct ocv_buffer *out,
                             struct ocv_error *err)
{
    json_t *order = json_array(), *rejected = json_array();
    for (size_t i = 0; i < decision->n_candidates; i++) {
        const struct ocv_entry *entry = decision->candidates[i].entry;
        append(&order, json_string(entry->label ? entry->label : entry->digest));
    }
    for (size_t i = 0; i < decision->n_rejected; i++)
        append(&rejected, rejected_json(decision, i));
    ocv_auto_json *root =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "schema", "dev.ocivariant.decision/v1",
                  "index", decision->index->digest, "source", source_name(decision->index),
                  "selected", selected_json(decision), "order", order, "rejected", rejected,
                  "warnings", warnings_json(decision));
    if (!root || (decision->index->rule &&
                  json_object_set_new(root, "rule", rule_json(decision->index)) < 0))
        return ocv_error_nomem(err);
    int status = ocv_json_append(root, JSON_INDENT(2), out, err);
    return status < 0 ? status : ocv_buffer_append(out, "\n", 1, err);
}
