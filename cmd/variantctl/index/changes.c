/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differences between two indexes, by label and platform. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"

#include <string.h>

/* Compare platforms without the x- variant, which follows from the label. */
static const char *plain_variant(const struct ocv_entry *e)
{
    const char *v = ocv_or_empty(e->platform.variant);
    return e->label || ocv_platform_is_hidden(v) ? "" : v;
}

static bool same_entry(const struct ocv_entry *a, const struct ocv_entry *b)
{
    bool image_a = a->code != OCV_REJECT_ATTESTATION, image_b = b->code != OCV_REJECT_ATTESTATION;
    if (image_a != image_b)
        return false;
    if (!image_a)
        return !strcmp(a->digest, b->digest);
    const struct ocv_platform *p = &a->platform, *q = &b->platform;
    bool same = !strcmp(ocv_or_empty(a->label), ocv_or_empty(b->label)) &&
                !strcmp(ocv_or_empty(p->os), ocv_or_empty(q->os)) &&
                !strcmp(ocv_or_empty(p->architecture), ocv_or_empty(q->architecture)) &&
                !strcmp(ocv_or_empty(p->os_version), ocv_or_empty(q->os_version)) &&
                !strcmp(plain_variant(a), plain_variant(b)) && p->n_os_features == q->n_os_features;
    for (size_t i = 0; same && i < p->n_os_features; i++) /* both are sorted */
        same = !strcmp(p->os_features[i], q->os_features[i]);
    return same;
}

/* An image that stands for itself: its manifest names no platform. */
static bool is_lone(const struct ocv_index *index)
{
    return ocv_index_count(index) == 1 &&
           !strcmp(ocv_index_entry(index, 0)->digest, ocv_index_digest(index));
}

/* `lone`: one of the two is such an image, so an entry without annotations of the same digest is
 * the same. */
static const struct ocv_entry *find_entry(const struct ocv_index *index,
                                          const struct ocv_entry *wanted, bool lone)
{
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (same_entry(e, wanted) ||
            (lone && !e->label && !wanted->label && !strcmp(e->digest, wanted->digest)))
            return e;
    }
    return NULL;
}

static json_t *property_list(const struct ocv_index *index, const struct ocv_entry *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, e->properties[i]);
        json_array_append_new(list, json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value));
    }
    return list;
}

static json_t *entry_json(const struct ocv_index *index, const struct ocv_entry *e,
                          const char *change)
{
    char platform[128];
    return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:o}", "change", change, "label", e->label, "kind",
                     e->code == OCV_REJECT_ATTESTATION ? "attestation" : "image", "platform",
                     ocv_platform_format(&e->platform, platform, sizeof(platform)), "digest",
                     e->digest, "properties", property_list(index, e));
}

static json_t *missing_from(const json_t *list, const json_t *other)
{
    json_t *out = json_array(), *item;
    size_t i;
    json_array_foreach((json_t *)list, i, item)
    {
        bool found = false;
        for (size_t k = 0; k < json_array_size(other) && !found; k++)
            found = json_equal(json_array_get(other, k), item);
        if (!found)
            json_array_append(out, item);
    }
    return out;
}

/* NULL if nothing changed. */
static json_t *change_of(const struct ocv_index *old, const struct ocv_entry *a,
                         const struct ocv_index *new, const struct ocv_entry *b, bool lone)
{
    ocv_auto_json *before = property_list(old, a);
    ocv_auto_json *after = property_list(new, b);
    ocv_auto_json *gone = missing_from(before, after);
    ocv_auto_json *added = missing_from(after, before);
    char platform[128], was[128];
    ocv_platform_format(&a->platform, was, sizeof(was));
    ocv_platform_format(&b->platform, platform, sizeof(platform));
    bool digest = strcmp(a->digest, b->digest) != 0, place = !lone && strcmp(was, platform) != 0;
    if (!digest && !place && !json_array_size(gone) && !json_array_size(added))
        return NULL;
    json_t *out = entry_json(new, b, "changed");
    if (digest)
        json_object_set_new(out, "oldDigest", json_string(a->digest));
    if (place)
        json_object_set_new(out, "oldPlatform", json_string(was));
    json_object_set(out, "removedProperties", gone);
    json_object_set(out, "addedProperties", added);
    return out;
}

static json_t *annotations_of(const struct ocv_buffer *body)
{
    json_t *root = ocv_json_load_any(body->data, body->len, OCV_JSON_VALUES_MAX, 0, NULL);
    json_t *found = json_incref(json_object_get(root, "annotations"));
    json_decref(root);
    return json_is_object(found) ? found : json_object();
}

json_t *changes_between(const struct changes_side *old, const struct changes_side *new)
{
    json_t *entries = json_array();
    bool lone = is_lone(old->index) || is_lone(new->index);
    for (size_t i = 0; i < ocv_index_count(old->index); i++) {
        const struct ocv_entry *a = ocv_index_entry(old->index, i),
                               *b = find_entry(new->index, a, lone);
        json_t *change = b ? change_of(old->index, a, new->index, b, lone)
                           : entry_json(old->index, a, "removed");
        if (change)
            json_array_append_new(entries, change);
    }
    for (size_t i = 0; i < ocv_index_count(new->index); i++)
        if (!find_entry(old->index, ocv_index_entry(new->index, i), lone))
            json_array_append_new(entries,
                                  entry_json(new->index, ocv_index_entry(new->index, i), "added"));
    /* True if common entries changed their order, which matters to clients that take the first
     * fitting one. */
    bool reordered = false;
    for (size_t i = 0, last = 0; i < ocv_index_count(old->index) && !reordered; i++) {
        const struct ocv_entry *b = find_entry(new->index, ocv_index_entry(old->index, i), false);
        reordered = b && b->position < last;
        last = b ? b->position : last;
    }
    ocv_auto_json *before = annotations_of(old->body), *after = annotations_of(new->body);
    json_t *annotations = json_object(), *value;
    const char *key;
    json_object_foreach(before, key, value)
    {
        if (!json_equal(value, json_object_get(after, key)))
            json_object_set_new(annotations, key, json_pack("{s:O}", "old", value));
    }
    json_object_foreach(after, key, value)
    {
        if (json_equal(value, json_object_get(before, key)))
            continue;
        if (!json_object_get(annotations, key))
            json_object_set_new(annotations, key, json_object());
        json_object_set(json_object_get(annotations, key), "new", value);
    }
    return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:b}", "schema", "dev.ocivariant.diff/v1",
                     "old", old->digest, "new", new->digest, "equal",
                     !strcmp(old->digest, new->digest), "entries", entries, "annotations",
                     annotations, "reordered", reordered);
}

static void print_texts(const json_t *list, char sign, FILE *out)
{
    size_t i;
    json_t *text;
    json_array_foreach((json_t *)list, i, text)
    {
        fprintf(out, "      %c %s\n", sign, json_string_value(text));
    }
}

void changes_print(const json_t *root, FILE *out)
{
    size_t i;
    json_t *e;
    const char *key;
    char name[256], text[1024];
    json_array_foreach(json_object_get(root, "entries"), i, e)
    {
        const char *change = ocv_json_text(e, "change"), *kind = ocv_json_text(e, "kind");
        const char *label = ocv_json_text(e, "label"), *old = ocv_json_text(e, "oldDigest");
        const char *was = ocv_json_text(e, "oldPlatform");
        char before[128], after[128];
        char sign = *change == 'a' ? '+' : *change == 'r' ? '-' : '~';
        fprintf(out, "%c %s  %s%s%s  ", sign,
                label          ? label
                : *kind == 'a' ? "attestation"
                               : "the default",
                was ? cli_text(was, before, sizeof(before)) : "", was ? " -> " : "",
                cli_text(ocv_json_text(e, "platform"), after, sizeof(after)));
        fprintf(out, "%s%s%s\n", old ? old : "", old ? " -> " : "", ocv_json_text(e, "digest"));
        if (sign == '~') {
            print_texts(json_object_get(e, "removedProperties"), '-', out);
            print_texts(json_object_get(e, "addedProperties"), '+', out);
        } else {
            print_texts(json_object_get(e, "properties"), sign, out);
        }
    }
    json_object_foreach(json_object_get(root, "annotations"), key, e)
    {
        const char *old = ocv_json_text(e, "old");
        const char *new = ocv_json_text(e, "new");
        if (old)
            fprintf(out, "- %s: %s\n", cli_text(key, name, sizeof(name)),
                    cli_text(old, text, sizeof(text)));
        if (new)
            fprintf(out, "+ %s: %s\n", cli_text(key, name, sizeof(name)),
                    cli_text(new, text, sizeof(text)));
    }
    bool order = json_is_true(json_object_get(root, "reordered"));
    if (order)
        fputs("~ the order of entries\n", out);
    if (!order && !json_is_true(json_object_get(root, "equal")) &&
        !json_array_size(json_object_get(root, "entries")) &&
        !json_object_size(json_object_get(root, "annotations")))
        fprintf(out, "~ different bytes, same variants: %s -> %s\n", ocv_json_text(root, "old"),
                ocv_json_text(root, "new"));
}

const char *changes_gone(const json_t *changes, char *out, size_t size)
{
    const json_t *list = json_object_get(changes, "entries");
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(list) && used < size; i++) {
        const json_t *e = json_array_get(list, i);
        const char *label = ocv_json_text(e, "label");
        char platform[128];
        if (strcmp(ocv_json_text(e, "change"), "removed") != 0 ||
            strcmp(ocv_json_text(e, "kind"), "image") != 0)
            continue;
        cli_text(ocv_json_text(e, "platform"), platform, sizeof(platform));
        used += (size_t)snprintf(out + used, size - used, "%s%s (%s)", used ? ", " : "",
                                 label ? label : "the default", platform);
    }
    return out;
}
