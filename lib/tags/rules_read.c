/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One family from its YAML tree. Everything is checked here, so that parsing a tag can only find
 * what the tag says. */
#include "lib/core/property_internal.h"
#include "lib/tags/read.h"

#include <stdlib.h>
#include <string.h>

/* HOST/PATH as references have it, with stars; another text would never match. */
static bool is_repository(const char *text)
{
    return strlen(text) <= OCV_TAG_PATTERN_MAX && strchr(text, '/') && !strstr(text, "//") &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-:/*[]") == strlen(text);
}

static int repositories(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "repositories");
    if (!list || list->type != OCV_YAML_LIST || !list->n)
        return ocv_tag_read_complain(r, list ? list : tree, "a family needs a list 'repositories'");
    f->repositories = ocv_arena_alloc(&f->arena, list->n, sizeof(*f->repositories));
    if (!f->repositories)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next) {
        struct ocv_tag_item *out = &f->repositories[f->n_repositories++];
        if (m->type != OCV_YAML_SCALAR) {
            status = ocv_tag_read_part(r, m, NULL, "repository", out);
        } else if (!(out->match = ocv_arena_copy(&f->arena, m->text, strlen(m->text)))) {
            status = ocv_error_nomem(r->err);
        } else if (!is_repository(m->text)) {
            status =
                ocv_tag_read_complain(r, m, "is not HOST/PATH (\"docker.io/pytorch/pytorch\")");
        }
    }
    return status;
}

static int one_default(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                       struct ocv_tag_default *out)
{
    static const char *const known[] = {"missing", "said",     "where",  "gives", "assumes",
                                        "group",   "platform", "refuse", "note",  NULL};
    const struct ocv_yaml *missing = ocv_yaml_get(map, "missing");
    int status = ocv_tag_read_keys(r, map, known);
    if (status == OCV_OK && missing && missing->type == OCV_YAML_SCALAR)
        status = ocv_tag_read_one(r, map, "missing", &out->missing, &out->n_missing);
    else if (status == OCV_OK)
        status = ocv_tag_read_texts(r, map, "missing", &out->missing, &out->n_missing);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "said", &out->said);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "platform", &out->platform);
    if (status == OCV_OK)
        status = ocv_tag_read_platform(r, map, out->platform);
    if (status == OCV_OK)
        status = ocv_tag_read_where(r, map, &out->where);
    if (status == OCV_OK)
        status = ocv_tag_read_properties(r, map, "gives", &out->gives, &out->n_gives);
    if (status == OCV_OK)
        status = ocv_tag_read_properties(r, map, "assumes", &out->assumes, &out->n_assumes);
    if (status == OCV_OK)
        status = ocv_tag_read_pairs(r, map, "group", NULL, &out->groups, &out->n_groups);
    return status < 0 ? status : ocv_tag_read_text(r, map, "refuse", &out->refuse);
}

static int defaults(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "defaults");
    if (!list)
        return OCV_OK;
    if (list->type != OCV_YAML_LIST)
        return ocv_tag_read_complain(r, list, "must be a list");
    f->defaults = ocv_arena_alloc(&f->arena, list->n + 1, sizeof(*f->defaults));
    if (!f->defaults)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next)
        status = one_default(r, m, &f->defaults[f->n_defaults++]);
    return status;
}

static int add_kind(const struct ocv_tag_reader *r, const char *kind)
{
    struct ocv_tag_family *f = r->family;
    for (size_t i = 0; i < f->n_kinds; i++)
        if (!kind || strcmp(f->kinds[i], kind) == 0)
            return OCV_OK;
    if (kind && f->n_kinds == OCV_TAG_ITEMS_MAX)
        return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s: too many kinds", r->source);
    if (kind)
        f->kinds[f->n_kinds++] = kind;
    return OCV_OK;
}

/* A default may speak only of what something can say. */
static int kinds(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "defaults");
    int status = OCV_OK;
    f->kinds = ocv_arena_alloc(&f->arena, OCV_TAG_ITEMS_MAX, sizeof(*f->kinds));
    if (!f->kinds)
        return ocv_error_nomem(r->err);
    for (size_t i = 0; i < f->n_repositories && status == OCV_OK; i++)
        status = add_kind(r, f->repositories[i].kind);
    for (size_t i = 0; i < f->n_items && status == OCV_OK; i++)
        status = add_kind(r, f->items[i].kind);
    const struct ocv_yaml *m = list ? list->first : NULL;
    for (size_t i = 0; m && i < f->n_defaults && status == OCV_OK; i++, m = m->next) {
        size_t before = f->n_kinds;
        for (size_t k = 0; k < f->defaults[i].n_missing && status == OCV_OK; k++)
            status = add_kind(r, f->defaults[i].missing[k]);
        if (status == OCV_OK && f->defaults[i].said)
            status = add_kind(r, f->defaults[i].said);
        if (status == OCV_OK && f->n_kinds != before)
            status =
                ocv_error_set(r->err, OCV_ERR_CONFIG, "%s:%zu: '%.80s' is a kind that no part has",
                              r->source, m->line, f->kinds[before]);
    }
    return status;
}

static int prefer(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *map = ocv_yaml_get(tree, "prefer");
    if (!map)
        return OCV_OK;
    if (map->type != OCV_YAML_MAP)
        return ocv_tag_read_complain(r, map, "must be a mapping");
    f->prefers = ocv_arena_alloc(&f->arena, map->n + 1, sizeof(*f->prefers));
    if (!f->prefers)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = map->first; m && status == OCV_OK; m = m->next) {
        struct ocv_tag_prefer *p = &f->prefers[f->n_prefers++];
        if (!(p->key = ocv_arena_copy(&f->arena, m->key, strlen(m->key))))
            return ocv_error_nomem(r->err);
        p->shortest = strcmp(m->key, "tag") == 0;
        if (p->shortest && (!m->text || strcmp(m->text, "shortest") != 0))
            status = ocv_tag_read_complain(r, m, "must be shortest");
        else if (p->shortest)
            continue;
        else if (m->type == OCV_YAML_LIST)
            status = ocv_tag_read_texts(r, map, m->key, &p->values, &p->n);
        else if (m->text && strcmp(m->text, "newest") == 0)
            p->direction = 1;
        else if (m->text && strcmp(m->text, "oldest") == 0)
            p->direction = -1;
        else
            status = ocv_tag_read_complain(r, m, "must be newest, oldest or a list of values");
    }
    return status;
}

/* "{version}-{python}": braces around names. */
static int check_group_tags(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    const struct ocv_yaml *list = ocv_yaml_get(tree, "group_tags");
    for (const struct ocv_yaml *m = list ? list->first : NULL; m; m = m->next) {
        bool any = false;
        for (const char *p = m->text; *p; p++) {
            const char *end = *p == '{' ? strchr(p, '}') : NULL;
            if (*p == '}' ||
                (*p == '{' && (!end || !ocv_property_name_valid(p + 1, (size_t)(end - p - 1)))))
                return ocv_tag_read_complain(r, m, "must name groups in braces, as {version}");
            any = any || end;
            p = end ? end : p;
        }
        if (!any)
            return ocv_tag_read_complain(r, m, "names no group, as {version}");
    }
    return OCV_OK;
}

static int check_separators(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    int status = ocv_tag_read_text(r, tree, "separators", &f->separators);
    if (status == OCV_OK && !f->separators)
        f->separators = "-";
    for (const char *p = f->separators; status == OCV_OK && *p; p++)
        if (!strchr("-_.+", *p))
            status =
                ocv_tag_read_complain(r, ocv_yaml_get(tree, "separators"), "may hold - _ . + only");
    /* a dash elsewhere in a bracket expression could mean a range */
    const char *dash = status == OCV_OK ? strchr(f->separators, '-') : NULL;
    if (dash && dash != f->separators)
        status =
            ocv_tag_read_complain(r, ocv_yaml_get(tree, "separators"), "the dash must stand first");
    return status;
}

int ocv_tag_family_read(const struct ocv_tag_rules *rules, const char *source,
                        const struct ocv_yaml *tree, struct ocv_tag_family *out,
                        struct ocv_error *err)
{
    static const char *const known[] = {
        "schema", "family",     "description", "repositories", "separators", "parts", "defaults",
        "cuda",   "group_tags", "prefer",      "namespaces",   "notations",  NULL};
    struct ocv_tag_reader r = {rules, source, out, err};
    int status = ocv_tag_read_keys(&r, tree, known);
    if (status == OCV_OK)
        status = ocv_tag_read_text(&r, tree, "family", &out->name);
    if (status == OCV_OK)
        status = ocv_tag_read_text(&r, tree, "description", &out->description);
    if (status == OCV_OK && !(out->source = ocv_arena_copy(&out->arena, source, strlen(source))))
        status = ocv_error_nomem(err);
    if (status == OCV_OK)
        status = check_separators(&r, tree);
    if (status == OCV_OK)
        status = repositories(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_parts(&r, tree);
    if (status == OCV_OK)
        status = defaults(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_cuda(&r, tree);
    if (status == OCV_OK)
        status = kinds(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_texts(&r, tree, "group_tags", &out->group_tags, &out->n_group_tags);
    if (status == OCV_OK)
        status = check_group_tags(&r, tree);
    if (status == OCV_OK)
        status = prefer(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_texts(&r, tree, "namespaces", &out->namespaces, &out->n_namespaces);
    if (status == OCV_OK)
        status = ocv_tag_read_check(&r, tree);
    return status;
}

static void where_clear(struct ocv_tag_where *where)
{
    for (size_t i = 0; i < where->n_compiled; i++)
        regfree(&where->regexes[i]);
}

void ocv_tag_family_free(struct ocv_tag_family *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n_repositories; i++)
        if (f->repositories[i].compiled)
            regfree(&f->repositories[i].regex);
    for (size_t i = 0; i < f->n_items; i++)
        if (f->items[i].compiled)
            regfree(&f->items[i].regex);
    for (size_t i = 0; i < f->n_defaults; i++)
        where_clear(&f->defaults[i].where);
    for (size_t i = 0; i < f->n_cudas; i++) {
        where_clear(&f->cudas[i].toolkit);
        where_clear(&f->cudas[i].where);
    }
    ocv_arena_free(&f->arena);
    free(f);
}
