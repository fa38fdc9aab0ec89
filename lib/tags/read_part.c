/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a part of a tag may say, and the notations that families share. */
#include "lib/tags/read.h"

#include <string.h>

int ocv_tag_read_platform(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                          const char *name)
{
    ocv_auto(ocv_platform) platform = NULL;
    int status = name ? ocv_platform_parse(name, &platform, NULL) : OCV_OK;
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(r->err);
    if (status < 0)
        return ocv_tag_read_complain(r, ocv_yaml_get(map, "platform"), "is not OS/ARCHITECTURE");
    return OCV_OK;
}

int ocv_tag_read_part(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      const char *separators, const char *kind, struct ocv_tag_item *out)
{
    static const char *const known[] = {"match",  "kind",   "gives", "assumes", "group", "platform",
                                        "ignore", "refuse", "first", "repeat",  "note",  NULL};
    int status = ocv_tag_read_keys(r, map, known);
    out->line = map->line;
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "match", &out->match);
    if (status == OCV_OK && !out->match)
        status = ocv_tag_read_complain(r, map, "needs a 'match'");
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "kind", &out->kind);
    if (status == OCV_OK)
        status = ocv_tag_read_properties(r, map, "gives", &out->gives, &out->n_gives);
    if (status == OCV_OK)
        status = ocv_tag_read_properties(r, map, "assumes", &out->assumes, &out->n_assumes);
    if (status == OCV_OK)
        status = ocv_tag_read_pairs(r, map, "group", "\\0", &out->groups, &out->n_groups);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "platform", &out->platform);
    if (status == OCV_OK)
        status = ocv_tag_read_platform(r, map, out->platform);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "refuse", &out->refuse);
    if (status == OCV_OK)
        status = ocv_tag_read_flag(r, map, "ignore", &out->ignore);
    if (status == OCV_OK)
        status = ocv_tag_read_flag(r, map, "first", &out->first);
    if (status == OCV_OK)
        status = ocv_tag_read_flag(r, map, "repeat", &out->repeat);
    if (status < 0)
        return status;
    if (!out->kind && kind)
        out->kind = ocv_arena_copy(&r->family->arena, kind, strlen(kind));
    if (!out->kind && out->n_groups)
        out->kind = out->groups[0].key;
    status = ocv_tag_pattern_compile(out->match, separators, &out->regex, r->err);
    if (status < 0)
        return ocv_error_prefix(r->err, "%s:%zu", r->source, map->line);
    out->compiled = true;
    if (out->regex.re_nsub > OCV_TAG_CAPTURES - 1)
        return ocv_tag_read_complain(r, map, "at most nine groups are captured");
    return ocv_tag_read_check_part(r, map, out, separators ? 2 : 1);
}

static const struct ocv_tag_notation *notation_of(const struct ocv_tag_reader *r, const char *name)
{
    const struct ocv_tag_notation *n = r->rules->notations;
    while (n && strcmp(n->name, name) != 0)
        n = n->next;
    return n;
}

/* `use: NAME` stands for the notation's items; `kind` renames what they speak of. */
static int use(const struct ocv_tag_reader *r, const struct ocv_yaml *map)
{
    static const char *const known[] = {"use", "kind", NULL};
    const char *name = NULL, *kind = NULL;
    struct ocv_tag_family *f = r->family;
    int status = ocv_tag_read_keys(r, map, known);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "use", &name);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "kind", &kind);
    if (status < 0)
        return status;
    const struct ocv_tag_notation *notation = name ? notation_of(r, name) : NULL;
    if (!notation)
        return ocv_tag_read_complain(r, ocv_yaml_get(map, "use"), "no such notation");
    struct ocv_tag_reader there = *r;
    there.source = notation->source;
    for (const struct ocv_yaml *m = notation->tree->first; m && status == OCV_OK; m = m->next) {
        if (f->n_items == OCV_TAG_ITEMS_MAX)
            return ocv_tag_read_complain(r, map, "too many parts");
        status = ocv_tag_read_part(&there, m, f->separators, kind ? kind : name,
                                   &f->items[f->n_items++]);
    }
    return status;
}

int ocv_tag_read_parts(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "parts");
    if (!list || list->type != OCV_YAML_LIST || !list->n)
        return ocv_tag_read_complain(r, list ? list : tree, "a family needs a list 'parts'");
    f->items = ocv_arena_alloc(&f->arena, OCV_TAG_ITEMS_MAX, sizeof(*f->items));
    if (!f->items)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next) {
        if (m->type == OCV_YAML_MAP && ocv_yaml_get(m, "use"))
            status = use(r, m);
        else if (f->n_items == OCV_TAG_ITEMS_MAX)
            status = ocv_tag_read_complain(r, m, "too many parts");
        else
            status = ocv_tag_read_part(r, m, f->separators, NULL, &f->items[f->n_items++]);
    }
    return status;
}
