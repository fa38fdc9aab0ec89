/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One family from its checked tree. What the table cannot say is checked here, so that parsing a
 * tag can only find what the tag says. */
#include "lib/base/cleanup.h"
#include "lib/internal/tags/rules/read.h"

#include <stdlib.h>
#include <string.h>

static int read_defaults(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "defaults");
    if (!list)
        return OCV_OK;
    f->defaults = ocv_arena_alloc(&f->arena, list->n + 1, sizeof(*f->defaults));
    if (!f->defaults)
        return ocv_error_nomem(r->file.err);
    for (const struct ocv_yaml *m = list->first; m; m = m->next) {
        struct ocv_tag_default *out = &f->defaults[f->n_defaults++];
        out->said = ocv_yaml_text(m, "said");
        out->platform = ocv_yaml_text(m, "platform");
        out->refuse = ocv_yaml_text(m, "refuse");
        out->config = ocv_yaml_text(m, "config");
        OCV_TRY(ocv_tag_read_texts(r, m, "missing", &out->missing, &out->n_missing));
        OCV_TRY(ocv_tag_read_where(r, m, &out->where));
        OCV_TRY(ocv_tag_read_properties(r, m, "gives", &out->gives, &out->n_gives));
        OCV_TRY(ocv_tag_read_properties(r, m, "assumes", &out->assumes, &out->n_assumes));
        OCV_TRY(ocv_tag_read_pairs(r, m, "group", "\\0", &out->groups, &out->n_groups));
    }
    return OCV_OK;
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

int ocv_tag_family_read(const struct ocv_tag_rules *rules, const char *source,
                        const struct ocv_yaml *tree, struct ocv_tag_family *out,
                        struct ocv_error *err)
{
    const struct ocv_tag_reader r = {rules, {.source = source, .err = err}, out};
    const struct ocv_yaml *list = ocv_yaml_get(tree, "repositories");
    const struct ocv_yaml *map = ocv_yaml_get(tree, "prefer");
    const char *separators = ocv_yaml_text(tree, "separators");
    out->name = ocv_yaml_text(tree, "family");
    out->description = ocv_yaml_text(tree, "description");
    out->separators = separators ? separators : "-";
    out->source = ocv_arena_text(&out->arena, source);
    if (!out->source)
        return ocv_error_nomem(err);

    if (!list)
        return ocv_yaml_fail(&r.file, tree, "a family needs a list 'repositories'");
    out->repositories = ocv_arena_alloc(&out->arena, list->n, sizeof(*out->repositories));
    if (!out->repositories)
        return ocv_error_nomem(err);
    for (const struct ocv_yaml *m = list->first; m; m = m->next) {
        struct ocv_tag_item *item = &out->repositories[out->n_repositories++];
        if (m->type == OCV_YAML_SCALAR)
            item->match = m->text;
        else
            OCV_TRY(ocv_tag_read_part(&r, m, NULL, "repository", item));
    }
    OCV_TRY(ocv_tag_read_parts(&r, tree));
    OCV_TRY(read_defaults(&r, tree));
    OCV_TRY(ocv_tag_read_cuda(&r, tree));

    /* A default may name only kinds that some part can state. */
    out->kinds = ocv_arena_alloc(&out->arena, OCV_TAG_ITEMS_MAX, sizeof(*out->kinds));
    if (!out->kinds)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < out->n_repositories; i++)
        OCV_TRY(add_kind(&r, out->repositories[i].kind));
    for (size_t i = 0; i < out->n_items; i++)
        OCV_TRY(add_kind(&r, out->items[i].kind));
    list = ocv_yaml_get(tree, "defaults");
    const struct ocv_yaml *node = list ? list->first : NULL;
    for (size_t i = 0; node && i < out->n_defaults; i++, node = node->next) {
        size_t before = out->n_kinds;
        for (size_t k = 0; k < out->defaults[i].n_missing; k++)
            OCV_TRY(add_kind(&r, out->defaults[i].missing[k]));
        if (out->defaults[i].said)
            OCV_TRY(add_kind(&r, out->defaults[i].said));
        if (out->n_kinds != before)
            return ocv_yaml_fail(&r.file, node, "'%.80s' is a kind that no part has",
                                 out->kinds[before]);
    }
    OCV_TRY(ocv_tag_read_texts(&r, tree, "group_tags", &out->group_tags, &out->n_group_tags));

    out->prefers = ocv_arena_alloc(&out->arena, map ? map->n + 1 : 1, sizeof(*out->prefers));
    if (!out->prefers)
        return ocv_error_nomem(err);
    for (const struct ocv_yaml *m = map ? map->first : NULL; m; m = m->next) {
        struct ocv_tag_prefer *p = &out->prefers[out->n_prefers++];
        p->key = m->key;
        p->shortest = strcmp(m->key, "tag") == 0;
        if (m->type == OCV_YAML_LIST)
            OCV_TRY(ocv_tag_read_texts(&r, map, m->key, &p->values, &p->n));
        else if (!p->shortest)
            p->direction = strcmp(m->text, "newest") == 0 ? 1 : -1;
    }

    OCV_TRY(ocv_tag_read_texts(&r, tree, "namespaces", &out->namespaces, &out->n_namespaces));
    return ocv_tag_read_check(&r, tree);
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
