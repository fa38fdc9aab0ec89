/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a family says of its CUDA builds: on which drivers they run, and for which devices they hold
 * code. */
#include "lib/tags/read.h"

#include <string.h>

static int compile(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                   struct ocv_tag_where *out)
{
    out->regexes = ocv_arena_alloc(&r->family->arena, out->n + 1, sizeof(*out->regexes));
    if (!out->regexes)
        return ocv_error_nomem(r->err);
    for (; out->n_compiled < out->n; out->n_compiled++)
        if (ocv_tag_pattern_compile(out->list[out->n_compiled].text, NULL,
                                    &out->regexes[out->n_compiled], r->err) < 0)
            return ocv_error_prefix(r->err, "%s:%zu", r->source, map->line);
    return OCV_OK;
}

int ocv_tag_read_where(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                       struct ocv_tag_where *out)
{
    int status = ocv_tag_read_pairs(r, map, "where", NULL, &out->list, &out->n);
    return status < 0 ? status : compile(r, map, out);
}

/* `KEY: PATTERN`, over a value that is no group. */
static int read_pattern(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                        struct ocv_tag_where *out)
{
    struct ocv_tag_pair *pair = ocv_arena_alloc(&r->family->arena, 1, sizeof(*pair));
    if (!pair)
        return ocv_error_nomem(r->err);
    int status = ocv_tag_read_text(r, map, key, &pair->text);
    out->list = pair;
    out->n = pair->text != NULL;
    return status < 0 ? status : compile(r, map, out);
}

/* "90_real", "100a_real", "120f_real", "90_virtual" */
static bool is_sm_arch(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    if (digits < 2 || digits > 3 || *text == '0')
        return false;
    if (strcmp(rest, "_virtual") == 0)
        return true;
    rest += *rest == 'a' || *rest == 'f';
    return strcmp(rest, "_real") == 0;
}

static int read_sm_arch(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                        struct ocv_tag_cuda *out)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, "sm_arch");
    out->any_sm = node && node->text && strcmp(node->text, "any") == 0;
    if (!node || out->any_sm)
        return OCV_OK;
    if (node->type != OCV_YAML_LIST || !node->n || node->n > OCV_TAG_SM_MAX)
        return ocv_tag_read_complain(r, node, "must be any, or a list of 1 to 32");
    for (const struct ocv_yaml *m = node->first; m; m = m->next)
        if (m->type != OCV_YAML_SCALAR || !is_sm_arch(m->text))
            return ocv_tag_read_complain(r, m, "is not NN_real, NNa_real, NNf_real or NN_virtual");
    return ocv_tag_read_texts(r, map, "sm_arch", &out->sm_arch, &out->n_sm_arch);
}

static int read_table(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      struct ocv_tag_cuda *out)
{
    static const char *const known[] = {"toolkit", "where", "platform", "sm_arch",
                                        "minor",   "note",  NULL};
    int status = ocv_tag_read_keys(r, map, known);
    if (status == OCV_OK)
        status = read_pattern(r, map, "toolkit", &out->toolkit);
    if (status == OCV_OK)
        status = ocv_tag_read_where(r, map, &out->where);
    if (status == OCV_OK)
        status = ocv_tag_read_text(r, map, "platform", &out->platform);
    if (status == OCV_OK)
        status = ocv_tag_read_platform(r, map, out->platform);
    const char *slash = status == OCV_OK && out->platform ? strchr(out->platform, '/') : NULL;
    if (status == OCV_OK && out->platform && (!slash || strchr(slash + 1, '/')))
        status = ocv_tag_read_complain(r, ocv_yaml_get(map, "platform"), "is not OS/ARCHITECTURE");
    if (status == OCV_OK)
        status = read_sm_arch(r, map, out);
    return status < 0 ? status : ocv_tag_read_flag(r, map, "minor", &out->minor);
}

int ocv_tag_read_cuda(const struct ocv_tag_reader *r, const struct ocv_yaml *tree)
{
    struct ocv_tag_family *f = r->family;
    const struct ocv_yaml *node = ocv_yaml_get(tree, "cuda");
    bool minor = node && node->text && strcmp(node->text, "minor") == 0;
    if (!node || (node->text && strcmp(node->text, "strict") == 0))
        return OCV_OK;
    if (!minor && node->type != OCV_YAML_LIST)
        return ocv_tag_read_complain(r, node, "must be minor, strict or a list of tables");
    if (node->n > OCV_TAG_CUDA_MAX)
        return ocv_tag_read_complain(r, node, "too many tables");
    f->cudas = ocv_arena_alloc(&f->arena, node->n + 1, sizeof(*f->cudas));
    if (!f->cudas)
        return ocv_error_nomem(r->err);
    if (minor)
        f->cudas[f->n_cudas++].minor = true;
    int status = OCV_OK;
    for (const struct ocv_yaml *m = minor ? NULL : node->first; m && status == OCV_OK; m = m->next)
        status = read_table(r, m, &f->cudas[f->n_cudas++]);
    return status;
}
