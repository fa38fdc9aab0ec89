/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a part of a tag may say, and the notations that families share. */
#include "lib/base/cleanup.h"
#include "lib/internal/tags/rules/read.h"

#include <string.h>

int ocv_tag_read_part(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      const char *separators, const char *kind, struct ocv_tag_item *out)
{
    *out = (struct ocv_tag_item){.line = map->line,
                                 .match = ocv_yaml_text(map, "match"),
                                 .kind = ocv_yaml_text(map, "kind"),
                                 .platform = ocv_yaml_text(map, "platform"),
                                 .refuse = ocv_yaml_text(map, "refuse"),
                                 .label = ocv_yaml_text(map, "label"),
                                 .config = ocv_yaml_text(map, "config"),
                                 .ignore = ocv_yaml_flag(map, "ignore"),
                                 .first = ocv_yaml_flag(map, "first"),
                                 .repeat = ocv_yaml_flag(map, "repeat")};
    OCV_TRY(ocv_tag_read_properties(r, map, "gives", &out->gives, &out->n_gives));
    OCV_TRY(ocv_tag_read_properties(r, map, "assumes", &out->assumes, &out->n_assumes));
    OCV_TRY(ocv_tag_read_pairs(r, map, "group", "\\0", &out->groups, &out->n_groups));
    if (!out->kind)
        out->kind = kind ? kind : out->n_groups ? out->groups[0].key : NULL;
    if (ocv_tag_pattern_compile(out->match, separators, &out->regex, r->file.err) < 0)
        return ocv_error_prefix(r->file.err, "%s:%zu", r->file.source, map->line);
    out->compiled = true;
    if (out->regex.re_nsub > OCV_TAG_CAPTURES - 1)
        return ocv_yaml_fail(&r->file, map, "at most nine groups are captured");
    return ocv_tag_read_check_part(r, map, out, separators ? 2 : 1);
}

int ocv_tag_read_parts(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *list = ocv_yaml_get(tree, "parts");
    if (!list)
        return ocv_yaml_fail(&r->file, tree, "a family needs a list 'parts'");
    f->items = ocv_arena_alloc(&f->arena, OCV_TAG_ITEMS_MAX, sizeof(*f->items));
    if (!f->items)
        return ocv_error_nomem(r->file.err);
    for (const struct ocv_yaml *m = list->first; m; m = m->next) {
        const char *name = ocv_yaml_text(m, "use"), *kind = ocv_yaml_text(m, "kind");
        const char *label = ocv_yaml_text(m, "label");
        if (!ocv_yaml_get(m, "use")) {
            if (f->n_items == OCV_TAG_ITEMS_MAX)
                return ocv_yaml_fail(&r->file, m, "too many parts");
            OCV_TRY(ocv_tag_read_part(r, m, f->separators, NULL, &f->items[f->n_items++]));
            continue;
        }
        /* `use: NAME` stands for the notation's items; `kind` renames what they speak of, and
         * `label` is for all of them */
        const struct ocv_tag_notation *notation = r->rules->notations;
        while (notation && strcmp(notation->name, name) != 0)
            notation = notation->next;
        if (!notation) {
            int status = ocv_yaml_fail(&r->file, m, "no such notation: '%s'", name);
            ocv_error_hint(r->file.err,
                           "notations are in tags.d of the data directory (OCV_DATADIR)");
            return status;
        }
        struct ocv_tag_reader there = *r;
        there.file.source = notation->source;
        for (const struct ocv_yaml *k = notation->tree->first; k; k = k->next) {
            if (f->n_items == OCV_TAG_ITEMS_MAX)
                return ocv_yaml_fail(&r->file, m, "too many parts");
            struct ocv_tag_item *item = &f->items[f->n_items];
            OCV_TRY(ocv_yaml_check(&there.file, &ocv_tag_part_rule, k));
            f->n_items++;
            OCV_TRY(ocv_tag_read_part(&there, k, f->separators, kind ? kind : name, item));
            item->label = label ? label : item->label;
        }
    }
    return OCV_OK;
}
