/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a tag was found to say: read, named as a group, written as JSON. */
#include "lib/base/format/json.h"
#include "lib/internal/tags/tags_internal.h"

#include <stdio.h>
#include <string.h>

const char *ocv_tag_family(const struct ocv_tag *tag)
{
    return tag->family ? tag->family->name : NULL;
}

const char *ocv_tag_text(const struct ocv_tag *tag)
{
    return tag->tag;
}

const char *ocv_tag_reference(const struct ocv_tag *tag)
{
    return tag->reference;
}

bool ocv_tag_group(const struct ocv_tag *tag, size_t i, const char **key, const char **value)
{
    if (i >= tag->n_groups)
        return false;
    *key = tag->groups[i].key;
    *value = tag->groups[i].text;
    return true;
}

const char *ocv_tag_refused(const struct ocv_tag *tag)
{
    return tag->refused;
}

const char *ocv_tag_platform(const struct ocv_tag *tag)
{
    return tag->platform;
}

const struct ocv_properties *ocv_tag_properties(const struct ocv_tag *tag)
{
    return tag->properties;
}

const struct ocv_properties *ocv_tag_said(const struct ocv_tag *tag)
{
    return tag->said;
}

size_t ocv_tag_list(const struct ocv_tag *tag, enum ocv_tag_list which, const char *const **out)
{
    const char **const lists[] = {tag->ignored, tag->unknown, tag->ambiguous};
    const size_t counts[] = {tag->n_ignored, tag->n_unknown, tag->n_ambiguous};
    if (out)
        *out = (const char *const *)lists[which];
    return counts[which];
}

const char *ocv_tag_group_value(const struct ocv_tag *tag, const char *key)
{
    for (size_t i = 0; i < tag->n_groups; i++)
        if (strcmp(tag->groups[i].key, key) == 0)
            return tag->groups[i].text;
    return NULL;
}

bool ocv_tag_group_in(const char *format, const char *key)
{
    size_t len = strlen(key);
    for (const char *p = strchr(format, '{'); p; p = strchr(p + 1, '{'))
        if (strncmp(p + 1, key, len) == 0 && p[1 + len] == '}')
            return true;
    return false;
}

const char *ocv_tag_group_name(const struct ocv_tag *tag, char out[OCV_TAG_TEXT_MAX])
{
    if (!tag->family || !tag->plain || tag->n_unknown || tag->n_ambiguous ||
        (tag->refused && !tag->by_default))
        return NULL;
    for (size_t i = 0; i < tag->family->n_group_tags; i++) {
        const char *format = tag->family->group_tags[i];
        bool named = true; /* the tag consists only of what the template names */
        for (size_t k = 0; k < tag->n_groups; k++)
            named =
                named && (!tag->groups[k].in_tag || ocv_tag_group_in(format, tag->groups[k].key));
        if (named && ocv_tag_group_format(tag, format, out))
            return out;
    }
    return NULL;
}

bool ocv_tag_group_format(const struct ocv_tag *tag, const char *format, char out[OCV_TAG_TEXT_MAX])
{
    size_t n = 0;
    for (const char *p = format; *p; p++) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL, *text = p;
        char key[OCV_TAG_TEXT_MAX];
        size_t len = 1;
        if (end) {
            snprintf(key, sizeof(key), "%.*s", (int)(end - p - 1), p + 1);
            text = ocv_tag_group_value(tag, key);
            if (!text)
                return false;
            len = strlen(text);
            p = end;
        }
        if (n + len >= OCV_TAG_TEXT_MAX)
            return false;
        memcpy(out + n, text, len);
        n += len;
    }
    out[n] = '\0';
    return true;
}

bool ocv_tag_names_group(const struct ocv_tag *tag)
{
    char text[OCV_TAG_TEXT_MAX];
    return ocv_tag_group_name(tag, text) != NULL;
}

/* A list or object is NULL once something could not be put into it, which fails what it is put
 * into.
 */
static void append_item(json_t **list, json_t *item)
{
    if (json_array_append_new(*list, item) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

static void set_text(json_t **object, const char *key, const char *text)
{
    if (!text || json_object_set_new(*object, key, json_string(text)) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

static json_t *string_list(const char *const *list, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        append_item(&array, json_string(list[i]));
    return array;
}

static json_t *property_array(const struct ocv_properties *properties)
{
    json_t *array = json_array();
    for (size_t i = 0; i < ocv_properties_count(properties); i++) {
        struct ocv_property p = ocv_properties_get(properties, i);
        append_item(&array, json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value));
    }
    return array;
}

int ocv_tag_format_json(const struct ocv_tag *tag, struct ocv_buffer *out, struct ocv_error *err)
{
    const char *family = ocv_tag_family(tag);
    json_t *group = json_object();
    for (size_t i = 0; i < tag->n_groups; i++)
        set_text(&group, tag->groups[i].key, tag->groups[i].text);
    ocv_auto_json *root = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "reference", tag->reference, "family",
        family ? json_string(family) : json_null(), "properties", property_array(tag->properties),
        "group", group, "ignored", string_list(tag->ignored, tag->n_ignored), "unknown",
        string_list(tag->unknown, tag->n_unknown), "ambiguous",
        string_list(tag->ambiguous, tag->n_ambiguous));
    if (!root || (tag->base && json_object_set_new(root, "base", property_array(tag->base)) < 0))
        return ocv_error_nomem(err);
    set_text(&root, "platform", tag->platform);
    set_text(&root, "refused", tag->refused);
    if (!root ||
        (tag->n_asks && json_object_set_new(root, "asks", string_list(tag->asks, tag->n_asks)) < 0))
        return ocv_error_nomem(err);
    return ocv_json_append(root, JSON_COMPACT, out, err);
}
