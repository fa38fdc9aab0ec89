/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Checks across the values of a rule file: names that are not defined, and captures without a pair
 * of parentheses. A typing error would otherwise be a rule that never applies. */
#include "lib/base/cleanup.h"
#include "lib/internal/tags/rules/read.h"

#include <ctype.h>
#include <string.h>

static int check_captures(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                          const struct ocv_tag_pair *list, size_t n, size_t captured)
{
    for (size_t i = 0; i < n; i++)
        for (const char *p = strchr(list[i].text, '\\'); p; p = strchr(p + 1, '\\'))
            if (isdigit((unsigned char)p[1]) && (size_t)(p[1] - '0') > captured)
                return ocv_yaml_fail(&r->file, map,
                                     "'%.80s' asks for more than the pattern's parentheses capture",
                                     list[i].text);
    return OCV_OK;
}

int ocv_tag_read_check_part(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                            const struct ocv_tag_item *item, size_t frame)
{
    size_t captured = item->regex.re_nsub - frame;
    OCV_TRY(check_captures(r, map, item->gives, item->n_gives, captured));
    /* assumptions cannot use what the pattern captures */
    OCV_TRY(check_captures(r, map, item->assumes, item->n_assumes, 0));
    const struct ocv_tag_pair label = {.text = item->label};
    if (item->label)
        OCV_TRY(check_captures(r, map, &label, 1, captured));
    return check_captures(r, map, item->groups, item->n_groups, captured);
}

static bool in_pairs(const struct ocv_tag_pair *list, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i].key) == len && memcmp(list[i].key, name, len) == 0)
            return true;
    return false;
}

/* May something give this group? */
static bool is_group(const struct ocv_tag_family *f, const char *name, size_t len)
{
    bool found = false;
    for (size_t i = 0; i < f->n_repositories && !found; i++)
        found = in_pairs(f->repositories[i].groups, f->repositories[i].n_groups, name, len);
    for (size_t i = 0; i < f->n_items && !found; i++)
        found = in_pairs(f->items[i].groups, f->items[i].n_groups, name, len);
    for (size_t i = 0; i < f->n_defaults && !found; i++)
        found = in_pairs(f->defaults[i].groups, f->defaults[i].n_groups, name, len);
    return found;
}

static int check_keys(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      const char *besides)
{
    for (const struct ocv_yaml *m = map ? map->first : NULL; m; m = m->next)
        if ((!besides || strcmp(m->key, besides) != 0) &&
            !is_group(r->family, m->key, strlen(m->key)))
            OCV_TRY(ocv_yaml_error(&r->file, m, "is a group that no part captures"));
    return OCV_OK;
}

/* A fact whose version no part of the family reads would be asked for in vain. */
static int check_config(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *of)
{
    struct ocv_tag_answer_part part;
    bool nomem = false;
    if (!of || ocv_tag_answer_part(r->family, of, "12.8", &part, &nomem))
        return OCV_OK;
    return nomem ? ocv_error_nomem(r->file.err)
                 : ocv_yaml_fail(&r->file, map, "config: no part reads '%.40s12.8' as a property",
                                 of);
}

int ocv_tag_read_check(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    const struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "group_tags"), *m;
    for (m = list ? list->first : NULL; m; m = m->next)
        for (const char *p = strchr(m->text, '{'); p; p = strchr(p + 1, '{')) {
            size_t len = strcspn(p + 1, "}");
            if (!is_group(f, p + 1, len))
                return ocv_yaml_fail(&r->file, m, "'%.*s' is a group that no part captures",
                                     (int)len, p + 1);
        }
    OCV_TRY(check_keys(r, ocv_yaml_get(tree, "prefer"), "tag"));

    list = ocv_yaml_get(tree, "defaults");
    m = list ? list->first : NULL;
    for (size_t i = 0; m && i < f->n_defaults; i++, m = m->next) {
        const struct ocv_tag_default *d = &f->defaults[i];
        OCV_TRY(check_keys(r, ocv_yaml_get(m, "where"), NULL));
        /* it matches nothing of the tag */
        OCV_TRY(check_captures(r, m, d->gives, d->n_gives, 0));
        OCV_TRY(check_captures(r, m, d->assumes, d->n_assumes, 0));
        OCV_TRY(check_captures(r, m, d->groups, d->n_groups, 0));
    }

    for (size_t i = 0; i < f->n_repositories; i++)
        OCV_TRY(check_config(r, tree, f->repositories[i].config));
    for (size_t i = 0; i < f->n_items; i++)
        OCV_TRY(check_config(r, tree, f->items[i].config));
    m = list ? list->first : NULL;
    for (size_t i = 0; m && i < f->n_defaults; i++, m = m->next)
        OCV_TRY(check_config(r, m, f->defaults[i].config));

    list = ocv_yaml_get(tree, "cuda");
    for (m = list ? list->first : NULL; m; m = m->next)
        OCV_TRY(check_keys(r, ocv_yaml_get(m, "where"), NULL));
    return OCV_OK;
}
