/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One family from its checked tree. What the table cannot say is checked here, so that parsing a
 * tag can only find what the tag says. */
#include "lib/internal/tags/rules/read.h"

#include <stdlib.h>
#include <string.h>

static int read_repositories(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "repositories");
    if (!list)
        return ocv_yaml_fail(&r->file, tree, "a family needs a list 'repositories'");
    f->repositories = ocv_arena_alloc(&f->arena, list->n, sizeof(*f->repositories));
    if (!f->repositories)
        return ocv_error_nomem(r->file.err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next) {
        struct ocv_tag_item *out = &f->repositories[f->n_repositories++];
        if (m->type == OCV_YAML_SCALAR)
            out->match = m->text;
        else
            status = ocv_tag_read_part(r, m, NULL, "repository", out);
    }
    return status;
}

static int read_default(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                        struct ocv_tag_default *out)
{
    out->said = ocv_yaml_text(map, "said");
    out->platform = ocv_yaml_text(map, "platform");
    out->refuse = ocv_yaml_text(map, "refuse");
    out->config = ocv_yaml_text(map, "config");
    int status = ocv_tag_read_texts(r, map, "missing", &out->missing, &out->n_missing);
    if (status == OCV_OK)
        status = ocv_tag_read_where(r, map, &out->where);
    if (status == OCV_OK)
        status = ocv_tag_read_properties(r, map, "gives", &out->gives, &out->n_gives);
    if (status == OCV_OK)
        status = ocv_tag_read_properties(r, map, "assumes", &out->assumes, &out->n_assumes);
    if (status == OCV_OK)
        status = ocv_tag_read_pairs(r, map, "group", "\\0", &out->groups, &out->n_groups);
    return status;
}

static int read_defaults(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "defaults");
    if (!list)
        return OCV_OK;
    f->defaults = ocv_arena_alloc(&f->arena, list->n + 1, sizeof(*f->defaults));
    if (!f->defaults)
        return ocv_error_nomem(r->file.err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next)
        status = read_default(r, m, &f->defaults[f->n_defaults++]);
    return status;
}

static int add_kind(const struct ocv_tag_reader *r, const char *kind)
{
    struct ocv_tag_family *f = r->family;
    for (size_t i = 0; i < f->n_kinds; i++)
        if (!kind || strcmp(f->kinds[i], kind) == 0)
            return OCV_OK;
    if (kind && f->n_kinds == OCV_TAG_ITEMS_MAX)
        return ocv_error_set(r->file.err, OCV_ERR_CONFIG, "%s: too many kinds", r->file.source);
    if (kind)
        f->kinds[f->n_kinds++] = kind;
    return OCV_OK;
}

/* A default may name only kinds that some part can state. */
static int read_kinds(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "defaults");
    int status = OCV_OK;
    f->kinds = ocv_arena_alloc(&f->arena, OCV_TAG_ITEMS_MAX, sizeof(*f->kinds));
    if (!f->kinds)
        return ocv_error_nomem(r->file.err);
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
                ocv_yaml_fail(&r->file, m, "'%.80s' is a kind that no part has", f->kinds[before]);
    }
    return status;
}

static int read_prefer(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *map = ocv_yaml_get(tree, "prefer");
    if (!map)
        return OCV_OK;
    f->prefers = ocv_arena_alloc(&f->arena, map->n + 1, sizeof(*f->prefers));
    if (!f->prefers)
        return ocv_error_nomem(r->file.err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = map->first; m && status == OCV_OK; m = m->next) {
        struct ocv_tag_prefer *p = &f->prefers[f->n_prefers++];
        p->key = m->key;
        p->shortest = strcmp(m->key, "tag") == 0;
        if (m->type == OCV_YAML_LIST)
            status = ocv_tag_read_texts(r, map, m->key, &p->values, &p->n);
        else if (!p->shortest)
            p->direction = strcmp(m->text, "newest") == 0 ? 1 : -1;
    }
    return status;
}

int ocv_tag_family_read(const struct ocv_tag_rules *rules, const char *source,
                        const struct ocv_yaml *tree, struct ocv_tag_family *out,
                        struct ocv_error *err)
{
    const struct ocv_tag_reader r = {rules, {source, err}, out};
    const char *separators = ocv_yaml_text(tree, "separators");
    out->name = ocv_yaml_text(tree, "family");
    out->description = ocv_yaml_text(tree, "description");
    out->separators = separators ? separators : "-";
    out->source = ocv_arena_copy(&out->arena, source, strlen(source));
    if (!out->source)
        return ocv_error_nomem(err);
    int status = read_repositories(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_parts(&r, tree);
    if (status == OCV_OK)
        status = read_defaults(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_cuda(&r, tree);
    if (status == OCV_OK)
        status = read_kinds(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_texts(&r, tree, "group_tags", &out->group_tags, &out->n_group_tags);
    if (status == OCV_OK)
        status = read_prefer(&r, tree);
    if (status == OCV_OK)
        status = ocv_tag_read_texts(&r, tree, "namespaces", &out->namespaces, &out->n_namespaces);
    return status == OCV_OK ? ocv_tag_read_check(&r, tree) : status;
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
    ocv_yaml_free(f->tree);
    free(f);
}
