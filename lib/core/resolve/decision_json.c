/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A decision as JSON (dev.ocivariant.decision/v1, schema/decision.schema.json). */
#include "lib/base/format/json.h"
#include "lib/core/resolve/resolve_internal.h"

#include <stdio.h>

#define TEXT_MAX \
    (32u * 1024) /* an entry's properties have 4,000 bytes, quoted at most three times */

static void write_optional(struct ocv_json_writer *w, const char *key, const char *text)
{
    if (text)
        ocv_json_write_string(w, key, text);
}

static void write_selected(struct ocv_json_writer *w, const struct ocv_decision *d,
                           struct ocv_buffer *text)
{
    static const char *const kinds[] = {"variant", "null", "non-variant"};
    char property[OCV_ENTRY_PROPERTIES_BYTES_MAX + 16];
    const struct ocv_entry *entry = ocv_decision_selected(d);
    if (!entry) {
        ocv_json_write_string(w, "selected", NULL);
        return;
    }
    ocv_json_write_open(w, "selected", '{');
    ocv_json_write_string(w, "label", entry->label);
    ocv_json_write_string(w, "kind", kinds[entry->kind]);
    ocv_json_write_string(w, "digest", entry->digest);
    ocv_json_write_string(w, "mediaType", entry->media_type);
    ocv_json_write_number(w, "size", entry->size);
    if (entry->has_platform) {
        ocv_json_write_open(w, "platform", '{');
        write_optional(w, "os", entry->platform.os);
        write_optional(w, "architecture", entry->platform.architecture);
        write_optional(w, "variant", entry->platform.variant);
        ocv_json_write_close(w, '}');
    } else
        ocv_json_write_string(w, "platform", NULL);
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    size_t n = ocv_decision_matched(d, entry, ids, OCV_ENTRY_PROPERTIES_MAX);
    ocv_json_write_open(w, "matched", '[');
    for (size_t i = 0; i < n; i++) {
        struct ocv_property p = ocv_index_property(d->index, ids[i]);
        snprintf(property, sizeof(property), "%s :: %s :: %s", p.ns, p.feature, p.value);
        ocv_json_write_string(w, NULL, property);
    }
    ocv_json_write_close(w, ']');
    if (d->index->rule)
        write_optional(w, "tag", ocv_entry_tag(d->index, entry));
    text->len = 0;
    if (w->status == OCV_OK)
        w->status = ocv_decision_note(d, entry, text, w->err);
    if (text->len)
        ocv_json_write_string(w, "note", text->data);
    ocv_json_write_close(w, '}');
}

typedef int (*sentence)(const struct ocv_decision *, size_t, struct ocv_buffer *,
                        struct ocv_error *);

static void write_sentence(struct ocv_json_writer *w, const char *key, const struct ocv_decision *d,
                           size_t i, sentence say, struct ocv_buffer *text)
{
    text->len = 0;
    if (w->status == OCV_OK)
        w->status = say(d, i, text, w->err);
    ocv_json_write_string(w, key, text->len ? text->data : NULL);
}

static void write_rejected(struct ocv_json_writer *w, const struct ocv_decision *d, size_t i,
                           struct ocv_buffer *text)
{
    const struct ocv_rejection *r = &d->rejected[i];
    const struct ocv_slot *slot = ocv_rejection_slot(d, r);
    const struct ocv_feature *have = ocv_rejection_have(r, slot);
    char property[OCV_ENTRY_PROPERTIES_BYTES_MAX + 16];
    snprintf(property, sizeof(property), "%s :: %s", r->ns ? r->ns : "",
             r->feature ? r->feature : "");
    ocv_json_write_open(w, NULL, '{');
    ocv_json_write_string(w, "label", r->entry->label);
    ocv_json_write_string(w, "digest", r->entry->digest);
    ocv_json_write_string(w, "code", ocv_reject_name(r->code));
    ocv_json_write_string(w, "property", r->ns ? property : NULL);
    ocv_json_write_string(w, "device", r->device);
    ocv_json_write_open(w, "wanted", '[');
    for (size_t k = 0; slot && k < r->entry->n_properties; k++) {
        uint32_t id = r->entry->properties[k];
        if (&d->host.slots[d->host.slot_of[id]] == slot)
            ocv_json_write_string(w, NULL, ocv_index_property(d->index, id).value);
    }
    ocv_json_write_close(w, ']');
    ocv_json_write_open(w, "have", '[');
    for (size_t k = 0; have && k < have->n_values; k++)
        ocv_json_write_string(w, NULL, have->values[k]);
    ocv_json_write_close(w, ']');
    write_sentence(w, "reason", d, i, ocv_decision_reason, text);
    write_sentence(w, "hint", d, i, ocv_decision_hint, text);
    write_optional(w, "required", r->required);
    write_optional(w, "origin", r->origin);
    ocv_json_write_close(w, '}');
}

int ocv_decision_format_json(const struct ocv_decision *decision, struct ocv_buffer *out,
                             struct ocv_error *err)
{
    const struct ocv_index *index = decision->index;
    const char *const *warnings;
    struct ocv_json_writer w = {.out = out, .err = err};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX);
    ocv_json_write_open(&w, NULL, '{');
    ocv_json_write_string(&w, "schema", "dev.ocivariant.decision/v1");
    ocv_json_write_string(&w, "index", index->digest);
    ocv_json_write_string(&w, "source",
                          index->rule           ? "rule"
                          : index->has_variants ? "index"
                                                : "none");
    write_selected(&w, decision, &text);
    ocv_json_write_open(&w, "order", '[');
    for (size_t i = 0; i < decision->n_candidates; i++) {
        const struct ocv_entry *entry = decision->candidates[i].entry;
        ocv_json_write_string(&w, NULL, entry->label ? entry->label : entry->digest);
    }
    ocv_json_write_close(&w, ']');
    ocv_json_write_open(&w, "rejected", '[');
    for (size_t i = 0; i < decision->n_rejected; i++)
        write_rejected(&w, decision, i, &text);
    ocv_json_write_close(&w, ']');
    size_t n = ocv_index_warnings(index, &warnings);
    ocv_json_write_open(&w, "warnings", '[');
    for (size_t i = 0; i < n; i++)
        ocv_json_write_string(&w, NULL, warnings[i]);
    ocv_json_write_close(&w, ']');
    if (index->rule) {
        ocv_json_write_open(&w, "rule", '{');
        ocv_json_write_string(&w, "family", index->rule);
        ocv_json_write_string(&w, "group", index->group);
        ocv_json_write_close(&w, '}');
    }
    ocv_json_write_close(&w, '}');
    return w.status < 0 ? w.status : ocv_buffer_append(out, "\n", 1, err);
}
