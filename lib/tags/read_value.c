/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values of a rule file: texts, lists, properties, groups. */
#include "lib/tags/read.h"

#include "lib/core/property_internal.h"

#include <string.h>

int ocv_tag_read_complain(const struct ocv_tag_reader *r, const struct ocv_yaml *node,
                          const char *what)
{
    return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s:%zu: %s%s%s", r->source, node->line,
                         node->key ? node->key : "", node->key ? ": " : "", what);
}

int ocv_tag_read_keys(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      const char *const *known)
{
    if (map->type != OCV_YAML_MAP)
        return ocv_tag_read_complain(r, map, "must be a mapping");
    for (const struct ocv_yaml *m = map->first; m; m = m->next) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], m->key) != 0)
            i++;
        if (!known[i])
            return ocv_tag_read_complain(r, m, "unknown key");
    }
    return OCV_OK;
}

int ocv_tag_read_text(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                      const char **out)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    if (!node)
        return OCV_OK;
    if (node->type != OCV_YAML_SCALAR || !*node->text || strlen(node->text) > OCV_TAG_PATTERN_MAX)
        return ocv_tag_read_complain(r, node, "must be a short text");
    *out = ocv_arena_copy(&r->family->arena, node->text, strlen(node->text));
    return *out ? OCV_OK : ocv_error_nomem(r->err);
}

int ocv_tag_read_flag(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                      bool *out)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = node && node->text && strcmp(node->text, "true") == 0;
    if (node && !*out && (!node->text || strcmp(node->text, "false") != 0))
        return ocv_tag_read_complain(r, node, "must be true or false");
    return OCV_OK;
}

/* A list of texts. */
int ocv_tag_read_texts(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *const **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    if (node->type != OCV_YAML_LIST)
        return ocv_tag_read_complain(r, node, "must be a list");
    const char **list = ocv_arena_alloc(&r->family->arena, node->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        if (m->type != OCV_YAML_SCALAR || !*m->text || strlen(m->text) > OCV_TAG_PATTERN_MAX)
            return ocv_tag_read_complain(r, m, "must be a short text");
        if (!(list[(*n)++] = ocv_arena_copy(&r->family->arena, m->text, strlen(m->text))))
            return ocv_error_nomem(r->err);
    }
    *out = list;
    return OCV_OK;
}

/* A text where a list may stand, too. */
int ocv_tag_read_one(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                     const char *const **out, size_t *n)
{
    const char **list = ocv_arena_alloc(&r->family->arena, 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    *out = list;
    *n = 1;
    return ocv_tag_read_text(r, map, key, list);
}

/* Would the template be a property if what it captures were plain? */
static int check_property(const struct ocv_tag_reader *r, const char *key,
                          const struct ocv_yaml *node)
{
    char sample[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_properties) parsed = NULL;
    size_t n = 0;
    for (const char *p = node->text; *p && n + 2 < sizeof(sample); p++) {
        bool capture = *p == '\\' && p[1] >= '0' && p[1] <= '9';
        sample[n++] = capture ? '1' : *p;
        p += capture ? 1 : 0;
    }
    sample[n] = '\0';
    int status = ocv_properties_parse(sample, n, &parsed, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(r->err);
    if (status < 0 || ocv_properties_count(parsed) != 1)
        return ocv_error_set(r->err, OCV_ERR_CONFIG,
                             "%s:%zu: %s: '%.80s' is not 'namespace :: feature :: value'",
                             r->source, node->line, key, node->text);
    return OCV_OK;
}

/* The template with one blank on each side of "::"; it has two of them. */
static const char *canonical(const struct ocv_tag_reader *r, const char *text)
{
    const char *part[3];
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
    return ocv_arena_printf(&r->family->arena, "%.*s :: %.*s :: %.*s", len[0], part[0], len[1],
                            part[1], len[2], part[2]);
}

int ocv_tag_read_properties(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                            const char *key, const struct ocv_tag_pair **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    const char *const *list;
    int status = ocv_tag_read_texts(r, map, key, &list, n);
    for (const struct ocv_yaml *m = node ? node->first : NULL; m && status == OCV_OK; m = m->next)
        status = check_property(r, key, m);
    struct ocv_tag_pair *pairs =
        status == OCV_OK ? ocv_arena_alloc(&r->family->arena, *n + 1, sizeof(*pairs)) : NULL;
    if (status == OCV_OK && !pairs)
        return ocv_error_nomem(r->err);
    for (size_t i = 0; status == OCV_OK && i < *n; i++)
        if (!(pairs[i].text = canonical(r, list[i])))
            return ocv_error_nomem(r->err);
    *out = pairs;
    return status;
}

/* `KEY: {a: x, b: y}`, or where `shorthand` is set also `KEY: a` for {a: shorthand}. */
int ocv_tag_read_pairs(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *shorthand, const struct ocv_tag_pair **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    bool one = shorthand && node->type == OCV_YAML_SCALAR;
    if (!one && node->type != OCV_YAML_MAP)
        return ocv_tag_read_complain(r, node, "must be a mapping");
    struct ocv_tag_pair *list =
        ocv_arena_alloc(&r->family->arena, one ? 1 : node->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    for (const struct ocv_yaml *m = one ? node : node->first; m; m = one ? NULL : m->next) {
        const char *name = one ? m->text : m->key;
        if (!one && (m->type != OCV_YAML_SCALAR || strlen(m->text) > OCV_TAG_PATTERN_MAX))
            return ocv_tag_read_complain(r, m, "must be a short text");
        if (!ocv_property_name_valid(name, strlen(name)))
            return ocv_tag_read_complain(r, m, "is not a name (a-z 0-9 _)");
        list[*n].key = ocv_arena_copy(&r->family->arena, name, strlen(name));
        const char *value = one ? shorthand : m->text;
        list[*n].text = ocv_arena_copy(&r->family->arena, value, strlen(value));
        if (!list[*n].key || !list[*n].text)
            return ocv_error_nomem(r->err);
        (*n)++;
    }
    *out = list;
    return OCV_OK;
}
