/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values of a rule file: lists, properties, groups. */
#include "lib/internal/tags/rules/read.h"

#include <string.h>

int ocv_tag_read_texts(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *const **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    const char **list = ocv_arena_alloc(&r->family->arena, node->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->file.err);
    if (node->type == OCV_YAML_SCALAR)
        list[(*n)++] = node->text;
    for (const struct ocv_yaml *m = node->first; m; m = m->next)
        list[(*n)++] = m->text;
    *out = list;
    return OCV_OK;
}

int ocv_tag_read_properties(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                            const char *key, const struct ocv_tag_pair **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    struct ocv_tag_pair *pairs = ocv_arena_alloc(&r->family->arena, node->n + 1, sizeof(*pairs));
    if (!pairs)
        return ocv_error_nomem(r->file.err);
    /* each template with one blank on each side of "::"; it has two of them */
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        const char *text = m->text, *part[3];
        int len[3];
        for (size_t i = 0; i < 3; i++) {
            const char *end = strstr(text, "::");
            part[i] = text + strspn(text, " \t");
            end = i < 2 && end ? end : text + strlen(text);
            text = *end ? end + 2 : end;
            while (end > part[i] && strchr(" \t", end[-1]))
                end--;
            len[i] = (int)(end - part[i]);
        }
        text = ocv_arena_printf(&r->family->arena, "%.*s :: %.*s :: %.*s", len[0], part[0], len[1],
                                part[1], len[2], part[2]);
        if (!(pairs[(*n)++].text = text))
            return ocv_error_nomem(r->file.err);
    }
    *out = pairs;
    return OCV_OK;
}

int ocv_tag_read_pairs(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *shorthand, const struct ocv_tag_pair **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    struct ocv_tag_pair *list = ocv_arena_alloc(&r->family->arena, node->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->file.err);
    if (node->type == OCV_YAML_SCALAR)
        list[(*n)++] = (struct ocv_tag_pair){node->text, shorthand};
    for (const struct ocv_yaml *m = node->first; m; m = m->next)
        list[(*n)++] = (struct ocv_tag_pair){m->key, m->text};
    *out = list;
    return OCV_OK;
}
