/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names of alternatives: the label where that says all. */
#include "lib/base/cleanup.h"
#include "lib/internal/claim/claim_internal.h"

#include <string.h>

/* What the group has that the variant's first one has not had: its lower version, else all. */
static int append_bound(const struct ocv_claim_work *work, const struct ocv_claim_group *group,
                        const char **out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1u << 20);
    const struct ocv_claim_choice *choice = group->first;
    for (int all = 0; all < 2 && text.len == 0; all++)
        for (size_t i = 0; i < choice->n_ids; i++) {
            struct ocv_property p = ocv_index_property(work->index, choice->ids[i]);
            if (all || work->facts[choice->ids[i]].feature->test == OCV_DEVICE_AT_LEAST)
                OCV_TRY(ocv_buffer_printf(&text, err, "%s%s :: %s :: %s", text.len ? ", " : "",
                                          p.ns, p.feature, p.value));
        }
    *out = ocv_arena_copy(&work->claim->arena, text.len ? text.data : "", text.len);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

int ocv_claim_name(const struct ocv_claim_work *work, const struct ocv_claim_groups *groups,
                   struct ocv_error *err)
{
    struct ocv_claim *claim = work->claim;
    struct ocv_claim_alternative *list =
        ocv_arena_alloc(&claim->arena, groups->n + 1, sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < groups->n; i++) {
        const struct ocv_claim_group *group = &groups->list[i];
        struct ocv_claim_alternative *to = &list[i];
        to->driver = group->driver->name;
        to->labels = group->labels;
        to->n_labels = group->n_labels;
        if (group->again)
            OCV_TRY(append_bound(work, group, &to->bound, err));
        /* "cu128_sm90.x" -> "cu128--sm90-x", where that is a DNS label and nobody's yet */
        bool own = !group->again && group->n_labels == 1;
        const char *c = own ? *group->labels : "";
        size_t n = 0;
        for (; *c && n + 2 < OCV_CLAIM_NAME_MAX; c++) {
            if (*c == '_')
                to->name[n++] = '-';
            to->name[n++] = *c == '_' || *c == '.' ? '-' : *c;
        }
        to->name[n] = '\0';
        own = own && !*c && n && to->name[0] != '-' && to->name[n - 1] != '-';
        for (size_t k = 0; k < i && own; k++)
            own = strcmp(list[k].name, to->name) != 0;
        if (!own) { /* "v2-1a2b3c4d", of the labels and the bound */
            ocv_auto_buffer text;
            ocv_buffer_init(&text, 1u << 20);
            char digest[OCV_DIGEST_MAX];
            for (size_t k = 0; k < to->n_labels; k++)
                OCV_TRY(ocv_buffer_printf(&text, err, "%s\n", to->labels[k]));
            if (to->bound)
                OCV_TRY(ocv_buffer_printf(&text, err, "%s\n", to->bound));
            OCV_TRY(ocv_digest_bytes(text.data, text.len, digest, err));
            snprintf(to->name, sizeof(to->name), "v%zu-%.8s", i + 1, strchr(digest, ':') + 1);
        }
        OCV_TRY(ocv_claim_express(work, group, &to->expression, err));
    }
    claim->alternatives = list;
    claim->n_alternatives = groups->n;
    return OCV_OK;
}
