/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers: checks whether the variants unpacked to their parent fit. */
#include "plugins/containerd/snapshotter/fit/layer_fit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIANTS_MAX 64u /* variants of one chain that are asked about */

struct variants {
    struct snap_variant list[VARIANTS_MAX];
    size_t n;
};

static int keep_variant(void *data, const struct snap_variant *v)
{
    struct variants *all = data;
    const char *const from[] = {v->label, v->properties, v->digest, v->reference};
    char *copy[4];
    for (size_t i = 0; i < 4; i++)
        copy[i] = strdup(from[i] ? from[i] : "");
    all->list[all->n++] = (struct snap_variant){
        .label = copy[0], .properties = copy[1], .digest = copy[2], .reference = copy[3]};
    return all->n == VARIANTS_MAX;
}

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

/* "NS/SEQ/CHAIN", the names that containerd's metadata gives to snapshots in back ends. */
static bool split_name(const char *name, char ns[80], const char **chain)
{
    size_t len = strcspn(name, "/");
    const char *last = strrchr(name, '/');
    if (!last || len >= 80 || !ocv_digest_wellformed(last + 1))
        return false;
    memcpy(ns, name, len);
    ns[len] = '\0';
    *chain = last + 1;
    return true;
}

enum grpc_code snap_fit_container(struct snap_fit *f, const char *parent, struct ocv_buffer *labels,
                                  struct ocv_error *err)
{
    struct variants all = {.n = 0};
    struct verdict_answer answer = {.action = VERDICT_ALLOW};
    struct ocv_error why = {0};
    const char *chain = NULL;
    char ns[80];
    if (!split_name(parent, ns, &chain))
        return GRPC_OK;
    bool read = snap_meta_variants(f->meta, ns, chain, keep_variant, &all, &why) == GRPC_OK;
    if (read && all.n == 0)
        return GRPC_OK;
    if (!read) {
        answer = (struct verdict_answer){.verdict = OCV_VERDICT_UNKNOWN,
                                         .action =
                                             verdict_decide(&f->policy, OCV_VERDICT_UNKNOWN, NULL)};
        snprintf(answer.reason, sizeof(answer.reason),
                 "what was unpacked to %s cannot be checked: %s", chain, why.message);
    }
    /* if one is allowed it decides for all, else the first */
    for (size_t i = 0; read && i < all.n && (i == 0 || answer.action != VERDICT_ALLOW); i++) {
        const struct snap_variant *v = &all.list[i];
        const struct ocv_verdict_question q = {.reference = or_null(v->reference),
                                               .digest = or_null(v->digest),
                                               .label = or_null(v->label),
                                               .properties = or_null(v->properties)};
        struct verdict_answer one;
        snap_fit_ask(f, &q, &one);
        if (i == 0 || one.action == VERDICT_ALLOW)
            answer = one;
    }
    for (size_t i = 0; i < all.n; i++) {
        free(all.list[i].label);
        free(all.list[i].properties);
        free(all.list[i].digest);
        free(all.list[i].reference);
    }
    snap_fit_count(f, &answer);
    if (answer.action != VERDICT_ALLOW)
        snap_fit_log(f, answer.action == VERDICT_REFUSE ? "refused" : "warning", answer.reason);
    return snap_fit_act(&answer, labels, err);
}

void snap_fit_removed(struct snap_fit *f, const char *name)
{
    const char *chain;
    char ns[80];
    if (split_name(name, ns, &chain))
        (void)snap_meta_variants_drop(f->meta, ns, chain, NULL);
}
