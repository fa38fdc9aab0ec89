/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a family says of its CUDA builds: on which drivers they run, and for which devices they hold
 * code. */
#include "lib/base/cleanup.h"
#include "lib/internal/tags/rules/read.h"

#include <string.h>

static int compile_where(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                         struct ocv_tag_where *out)
{
    out->regexes = ocv_arena_alloc(&r->family->arena, out->n + 1, sizeof(*out->regexes));
    if (!out->regexes)
        return ocv_error_nomem(r->file.err);
    for (; out->n_compiled < out->n; out->n_compiled++)
        if (ocv_tag_pattern_compile(out->list[out->n_compiled].text, NULL,
                                    &out->regexes[out->n_compiled], r->file.err) < 0)
            return ocv_error_prefix(r->file.err, "%s:%zu", r->file.source, map->line);
    return OCV_OK;
}

int ocv_tag_read_where(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                       struct ocv_tag_where *out)
{
    OCV_TRY(ocv_tag_read_pairs(r, map, "where", NULL, &out->list, &out->n));
    return compile_where(r, map, out);
}

int ocv_tag_read_cuda(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *node = ocv_yaml_get(tree, "cuda");
    if (!node || (node->text && strcmp(node->text, "strict") == 0))
        return OCV_OK;
    f->cudas = ocv_arena_alloc(&f->arena, node->n + 1, sizeof(*f->cudas));
    if (!f->cudas)
        return ocv_error_nomem(r->file.err);
    if (node->type == OCV_YAML_SCALAR && node->text) {
        bool compat = !strcmp(node->text, "compat");
        f->cudas[f->n_cudas++] = (struct ocv_tag_cuda){.minor = !compat, .compat = compat};
    }
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        struct ocv_tag_cuda *out = &f->cudas[f->n_cudas++];
        const struct ocv_yaml *sm_arch = ocv_yaml_get(m, "sm_arch");
        out->platform = ocv_yaml_text(m, "platform");
        out->from = ocv_yaml_text(m, "minor");
        out->minor = out->from && strcmp(out->from, "false") != 0;
        if (!out->minor || strcmp(out->from, "true") == 0)
            out->from = NULL;
        const char *compat = ocv_yaml_text(m, "compat");
        out->compat = compat && !strcmp(compat, "true");
        out->any_sm = sm_arch && sm_arch->type == OCV_YAML_SCALAR;
        struct ocv_tag_pair *pair = ocv_arena_alloc(&r->family->arena, 1, sizeof(*pair));
        if (!pair)
            return ocv_error_nomem(r->file.err);
        pair->text = ocv_yaml_text(m, "toolkit");
        out->toolkit.list = pair;
        out->toolkit.n = pair->text != NULL;
        OCV_TRY(compile_where(r, m, &out->toolkit));
        OCV_TRY(ocv_tag_read_where(r, m, &out->where));
        if (!out->any_sm)
            OCV_TRY(ocv_tag_read_texts(r, m, "sm_arch", &out->sm_arch, &out->n_sm_arch));
    }
    return OCV_OK;
}
