/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One family from its YAML tree. Everything is checked here, so that parsing a tag can only find
 * what the tag says. */
#include "property.h"
#include "tags.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const struct ocv_tag_rules *rules;
    const char *source;
    struct ocv_tag_family *family;
    struct ocv_error *err;
};

static int complain(const struct reader *r, const struct ocv_yaml *node, const char *what)
{
    return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s:%zu: %s%s%s", r->source, node->line,
                         node->key ? node->key : "", node->key ? ": " : "", what);
}

static int check_keys(const struct reader *r, const struct ocv_yaml *map, const char *const *known)
{
    if (map->type != OCV_YAML_MAP)
        return complain(r, map, "must be a mapping");
    for (const struct ocv_yaml *m = map->first; m; m = m->next) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], m->key) != 0)
            i++;
        if (!known[i])
            return complain(r, m, "unknown key");
    }
    return OCV_OK;
}

static int text(const struct reader *r, const struct ocv_yaml *map, const char *key,
                const char **out)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    if (!node)
        return OCV_OK;
    if (node->type != OCV_YAML_SCALAR || !*node->text || strlen(node->text) > OCV_TAG_PATTERN_MAX)
        return complain(r, node, "must be a short text");
    *out = ocv_arena_copy(&r->family->arena, node->text, strlen(node->text));
    return *out ? OCV_OK : ocv_error_nomem(r->err);
}

static int flag(const struct reader *r, const struct ocv_yaml *map, const char *key, bool *out)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = node && node->text && strcmp(node->text, "true") == 0;
    if (node && !*out && (!node->text || strcmp(node->text, "false") != 0))
        return complain(r, node, "must be true or false");
    return OCV_OK;
}

/* A list of texts. */
static int texts(const struct reader *r, const struct ocv_yaml *map, const char *key,
                 const char *const **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    if (node->type != OCV_YAML_LIST)
        return complain(r, node, "must be a list");
    const char **list = ocv_arena_alloc(&r->family->arena, node->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        if (m->type != OCV_YAML_SCALAR || !*m->text || strlen(m->text) > OCV_TAG_PATTERN_MAX)
            return complain(r, m, "must be a short text");
        if (!(list[(*n)++] = ocv_arena_copy(&r->family->arena, m->text, strlen(m->text))))
            return ocv_error_nomem(r->err);
    }
    *out = list;
    return OCV_OK;
}

/* A text where a list may stand, too. */
static int one_text(const struct reader *r, const struct ocv_yaml *map, const char *key,
                    const char *const **out, size_t *n)
{
    const char **list = ocv_arena_alloc(&r->family->arena, 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    *out = list;
    *n = 1;
    return text(r, map, key, list);
}

/* Would the template be a property if what it captures were plain? */
static int check_property(const struct reader *r, const struct ocv_yaml *node)
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
    struct ocv_error err = {0};
    if (ocv_properties_parse(sample, n, &parsed, &err) < 0 || ocv_properties_count(parsed) != 1)
        return complain(r, node, "is not 'namespace :: feature :: value'");
    return OCV_OK;
}

static int gives(const struct reader *r, const struct ocv_yaml *map,
                 const struct ocv_tag_pair **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, "gives");
    const char *const *list;
    int status = texts(r, map, "gives", &list, n);
    for (const struct ocv_yaml *m = node ? node->first : NULL; m && status == OCV_OK; m = m->next)
        status = check_property(r, m);
    struct ocv_tag_pair *pairs =
        status == OCV_OK ? ocv_arena_alloc(&r->family->arena, *n + 1, sizeof(*pairs)) : NULL;
    if (status == OCV_OK && !pairs)
        return ocv_error_nomem(r->err);
    for (size_t i = 0; status == OCV_OK && i < *n; i++)
        pairs[i].text = list[i];
    *out = pairs;
    return status;
}

/* `KEY: {a: x, b: y}`, or where `shorthand` is set also `KEY: a` for {a: shorthand}. */
static int pairs(const struct reader *r, const struct ocv_yaml *map, const char *key,
                 const char *shorthand, const struct ocv_tag_pair **out, size_t *n)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    *out = NULL;
    *n = 0;
    if (!node)
        return OCV_OK;
    bool one = shorthand && node->type == OCV_YAML_SCALAR;
    if (!one && node->type != OCV_YAML_MAP)
        return complain(r, node, "must be a mapping");
    struct ocv_tag_pair *list =
        ocv_arena_alloc(&r->family->arena, one ? 1 : node->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    for (const struct ocv_yaml *m = one ? node : node->first; m; m = one ? NULL : m->next) {
        const char *name = one ? m->text : m->key;
        if (!one && (m->type != OCV_YAML_SCALAR || strlen(m->text) > OCV_TAG_PATTERN_MAX))
            return complain(r, m, "must be a short text");
        if (!ocv_property_name_valid(name, strlen(name)))
            return complain(r, m, "is not a name (a-z 0-9 _)");
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

/* ---- items -------------------------------------------------------------------------------------
 */

static int platform_ok(const struct reader *r, const struct ocv_yaml *map, const char *name)
{
    ocv_auto(ocv_platform) platform = NULL;
    if (name && ocv_platform_parse(name, &platform, NULL) < 0)
        return complain(r, ocv_yaml_get(map, "platform"), "is not OS/ARCHITECTURE");
    return OCV_OK;
}

static int item(const struct reader *r, const struct ocv_yaml *map, const char *separators,
                const char *kind, struct ocv_tag_item *out)
{
    static const char *const known[] = {"match",  "kind",  "gives",  "group", "platform", "ignore",
                                        "refuse", "first", "repeat", "note",  NULL};
    int status = check_keys(r, map, known);
    out->line = map->line;
    if (status == OCV_OK)
        status = text(r, map, "match", &out->match);
    if (status == OCV_OK && !out->match)
        status = complain(r, map, "needs a 'match'");
    if (status == OCV_OK)
        status = text(r, map, "kind", &out->kind);
    if (status == OCV_OK)
        status = gives(r, map, &out->gives, &out->n_gives);
    if (status == OCV_OK)
        status = pairs(r, map, "group", "\\0", &out->groups, &out->n_groups);
    if (status == OCV_OK)
        status = text(r, map, "platform", &out->platform);
    if (status == OCV_OK)
        status = platform_ok(r, map, out->platform);
    if (status == OCV_OK)
        status = text(r, map, "refuse", &out->refuse);
    if (status == OCV_OK)
        status = flag(r, map, "ignore", &out->ignore);
    if (status == OCV_OK)
        status = flag(r, map, "first", &out->first);
    if (status == OCV_OK)
        status = flag(r, map, "repeat", &out->repeat);
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
        return complain(r, map, "at most nine groups are captured");
    return OCV_OK;
}

static const struct ocv_tag_notation *notation_of(const struct reader *r, const char *name)
{
    const struct ocv_tag_notation *n = r->rules->notations;
    while (n && strcmp(n->name, name) != 0)
        n = n->next;
    return n;
}

/* `use: NAME` stands for the notation's items; `kind` renames what they speak of. */
static int use(const struct reader *r, const struct ocv_yaml *map)
{
    static const char *const known[] = {"use", "kind", NULL};
    const char *name, *kind;
    struct ocv_tag_family *f = r->family;
    int status = check_keys(r, map, known);
    if (status == OCV_OK)
        status = text(r, map, "use", &name);
    if (status == OCV_OK)
        status = text(r, map, "kind", &kind);
    if (status < 0)
        return status;
    const struct ocv_tag_notation *notation = notation_of(r, name);
    if (!notation)
        return complain(r, ocv_yaml_get(map, "use"), "no such notation");
    struct reader there = *r;
    there.source = notation->source;
    for (const struct ocv_yaml *m = notation->tree->first; m && status == OCV_OK; m = m->next) {
        if (f->n_items == OCV_TAG_ITEMS_MAX)
            return complain(r, map, "too many parts");
        status = item(&there, m, f->separators, kind ? kind : name, &f->items[f->n_items++]);
    }
    return status;
}

static int items(const struct reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "parts");
    if (!list || list->type != OCV_YAML_LIST || !list->n)
        return complain(r, list ? list : tree, "a family needs a list 'parts'");
    f->items = ocv_arena_alloc(&f->arena, OCV_TAG_ITEMS_MAX, sizeof(*f->items));
    if (!f->items)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next) {
        if (m->type == OCV_YAML_MAP && ocv_yaml_get(m, "use"))
            status = use(r, m);
        else if (f->n_items == OCV_TAG_ITEMS_MAX)
            status = complain(r, m, "too many parts");
        else
            status = item(r, m, f->separators, NULL, &f->items[f->n_items++]);
    }
    return status;
}

/* ---- the rest of a family ----------------------------------------------------------------------
 */

static int repositories(const struct reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "repositories");
    if (!list || list->type != OCV_YAML_LIST || !list->n)
        return complain(r, list ? list : tree, "a family needs a list 'repositories'");
    f->repositories = ocv_arena_alloc(&f->arena, list->n, sizeof(*f->repositories));
    if (!f->repositories)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next) {
        struct ocv_tag_item *out = &f->repositories[f->n_repositories++];
        if (m->type != OCV_YAML_SCALAR) {
            status = item(r, m, NULL, "repository", out);
        } else if (!(out->match = ocv_arena_copy(&f->arena, m->text, strlen(m->text)))) {
            status = ocv_error_nomem(r->err);
        } else if (!strchr(m->text, '/') || strlen(m->text) > OCV_TAG_PATTERN_MAX) {
            status = complain(r, m, "is not HOST/PATH (\"docker.io/pytorch/pytorch\")");
        }
    }
    return status;
}

static int one_default(const struct reader *r, const struct ocv_yaml *map,
                       struct ocv_tag_default *out)
{
    static const char *const known[] = {"missing",  "said",   "where", "gives", "group",
                                        "platform", "refuse", "note",  NULL};
    const struct ocv_yaml *missing = ocv_yaml_get(map, "missing");
    int status = check_keys(r, map, known);
    if (status == OCV_OK && missing && missing->type == OCV_YAML_SCALAR)
        status = one_text(r, map, "missing", &out->missing, &out->n_missing);
    else if (status == OCV_OK)
        status = texts(r, map, "missing", &out->missing, &out->n_missing);
    if (status == OCV_OK)
        status = text(r, map, "said", &out->said);
    if (status == OCV_OK)
        status = text(r, map, "platform", &out->platform);
    if (status == OCV_OK)
        status = platform_ok(r, map, out->platform);
    if (status == OCV_OK)
        status = pairs(r, map, "where", NULL, &out->where, &out->n_where);
    if (status == OCV_OK)
        status = gives(r, map, &out->gives, &out->n_gives);
    if (status == OCV_OK)
        status = pairs(r, map, "group", NULL, &out->groups, &out->n_groups);
    if (status == OCV_OK)
        status = text(r, map, "refuse", &out->refuse);
    if (status < 0)
        return status;
    out->regexes = ocv_arena_alloc(&r->family->arena, out->n_where + 1, sizeof(*out->regexes));
    if (!out->regexes)
        return ocv_error_nomem(r->err);
    for (; out->n_compiled < out->n_where; out->n_compiled++)
        if (ocv_tag_pattern_compile(out->where[out->n_compiled].text, NULL,
                                    &out->regexes[out->n_compiled], r->err) < 0)
            return ocv_error_prefix(r->err, "%s:%zu", r->source, map->line);
    return OCV_OK;
}

static int defaults(const struct reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "defaults");
    if (!list)
        return OCV_OK;
    if (list->type != OCV_YAML_LIST)
        return complain(r, list, "must be a list");
    f->defaults = ocv_arena_alloc(&f->arena, list->n + 1, sizeof(*f->defaults));
    if (!f->defaults)
        return ocv_error_nomem(r->err);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = list->first; m && status == OCV_OK; m = m->next)
        status = one_default(r, m, &f->defaults[f->n_defaults++]);
    return status;
}

static int add_kind(const struct reader *r, const char *kind)
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
static int kinds(const struct reader *r, const struct ocv_yaml *tree)
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
    for (size_t i = 0; i < f->n_defaults && status == OCV_OK; i++, m = m->next) {
        size_t before = f->n_kinds;
        for (size_t k = 0; k < f->defaults[i].n_missing && status == OCV_OK; k++)
            status = add_kind(r, f->defaults[i].missing[k]);
        if (status == OCV_OK && f->defaults[i].said)
            status = add_kind(r, f->defaults[i].said);
        if (status == OCV_OK && f->n_kinds != before)
            status = complain(r, m, "speaks of a kind that no part has");
    }
    return status;
}

static int prefer(const struct reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *map = ocv_yaml_get(tree, "prefer");
    if (!map)
        return OCV_OK;
    if (map->type != OCV_YAML_MAP)
        return complain(r, map, "must be a mapping");
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
            status = complain(r, m, "must be shortest");
        else if (p->shortest)
            continue;
        else if (m->type == OCV_YAML_LIST)
            status = texts(r, map, m->key, &p->values, &p->n);
        else if (m->text && strcmp(m->text, "newest") == 0)
            p->direction = 1;
        else if (m->text && strcmp(m->text, "oldest") == 0)
            p->direction = -1;
        else
            status = complain(r, m, "must be newest, oldest or a list of values");
    }
    return status;
}

/* "{version}-{python}": braces around names. */
static int check_group_tags(const struct reader *r, const struct ocv_yaml *tree)
{
    const struct ocv_yaml *list = ocv_yaml_get(tree, "group_tags");
    for (const struct ocv_yaml *m = list ? list->first : NULL; m; m = m->next) {
        bool any = false;
        for (const char *p = m->text; *p; p++) {
            const char *end = *p == '{' ? strchr(p, '}') : NULL;
            if (*p == '}' ||
                (*p == '{' && (!end || !ocv_property_name_valid(p + 1, (size_t)(end - p - 1)))))
                return complain(r, m, "must name groups in braces, as {version}");
            any = any || end;
            p = end ? end : p;
        }
        if (!any)
            return complain(r, m, "names no group, as {version}");
    }
    return OCV_OK;
}

static int check_separators(const struct reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    int status = text(r, tree, "separators", &f->separators);
    if (status == OCV_OK && !f->separators)
        f->separators = "-";
    for (const char *p = f->separators; status == OCV_OK && *p; p++)
        if (!strchr("-_.+", *p))
            status = complain(r, ocv_yaml_get(tree, "separators"), "may hold - _ . + only");
    /* a dash elsewhere in a bracket expression could mean a range */
    const char *dash = status == OCV_OK ? strchr(f->separators, '-') : NULL;
    if (dash && dash != f->separators)
        status = complain(r, ocv_yaml_get(tree, "separators"), "the dash must stand first");
    return status;
}

int ocv_tag_family_read(const struct ocv_tag_rules *rules, const char *source,
                        const struct ocv_yaml *tree, struct ocv_tag_family *out,
                        struct ocv_error *err)
{
    static const char *const known[] = {"schema",     "family",     "description", "repositories",
                                        "separators", "parts",      "defaults",    "group_tags",
                                        "prefer",     "namespaces", "notations",   NULL};
    struct reader r = {rules, source, out, err};
    int status = check_keys(&r, tree, known);
    if (status == OCV_OK)
        status = text(&r, tree, "family", &out->name);
    if (status == OCV_OK)
        status = text(&r, tree, "description", &out->description);
    if (status == OCV_OK && !(out->source = ocv_arena_copy(&out->arena, source, strlen(source))))
        status = ocv_error_nomem(err);
    if (status == OCV_OK)
        status = check_separators(&r, tree);
    if (status == OCV_OK)
        status = repositories(&r, tree);
    if (status == OCV_OK)
        status = items(&r, tree);
    if (status == OCV_OK)
        status = defaults(&r, tree);
    if (status == OCV_OK)
        status = kinds(&r, tree);
    if (status == OCV_OK)
        status = texts(&r, tree, "group_tags", &out->group_tags, &out->n_group_tags);
    if (status == OCV_OK)
        status = check_group_tags(&r, tree);
    if (status == OCV_OK)
        status = prefer(&r, tree);
    if (status == OCV_OK)
        status = texts(&r, tree, "namespaces", &out->namespaces, &out->n_namespaces);
    return status;
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
        for (size_t k = 0; k < f->defaults[i].n_compiled; k++)
            regfree(&f->defaults[i].regexes[k]);
    ocv_arena_free(&f->arena);
    free(f);
}
