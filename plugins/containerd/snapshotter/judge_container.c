/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers: what they start from is judged by all that was unpacked there. */
#include "judge_internal.h"

#include <stdlib.h>
#include <string.h>

#define VARIANTS_MAX 64u /* of one chain that are asked about */

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

/* "NS/SEQ/CHAIN", as containerd's metadata names what it keeps in back ends. */
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

enum grpc_code snap_judge_container(struct snap_judge *j, const char *parent,
                                    struct ocv_buffer *labels, struct ocv_error *err)
{
    struct variants all = {.n = 0};
    struct verdict_answer answer = {.action = VERDICT_ALLOW}, worst = {.action = VERDICT_ALLOW};
    const char *chain = NULL;
    char ns[80];
    bool allowed = !split_name(parent, ns, &chain);
    if (!allowed && snap_meta_variants(j->meta, ns, chain, keep_variant, &all, NULL) != GRPC_OK)
        allowed = true;
    for (size_t i = 0; i < all.n; i++) {
        const struct snap_variant *v = &all.list[i];
        const struct verdict_question q = {.reference = or_null(v->reference),
                                           .digest = or_null(v->digest),
                                           .label = or_null(v->label),
                                           .properties = or_null(v->properties)};
        if (!allowed) {
            snap_judge_ask(j, &q, &answer);
            allowed = answer.action == VERDICT_ALLOW;
            if (i == 0 || allowed)
                worst = answer;
        }
        free(v->label);
        free(v->properties);
        free(v->digest);
        free(v->reference);
    }
    if (all.n == 0)
        return GRPC_OK;
    snap_judge_count(j, &worst);
    if (worst.action != VERDICT_ALLOW)
        snap_judge_say(j, worst.action == VERDICT_REFUSE ? "refused" : "warning", worst.reason);
    return snap_judge_act(&worst, labels, err);
}

void snap_judge_removed(struct snap_judge *j, const char *name)
{
    const char *chain;
    char ns[80];
    if (split_name(name, ns, &chain))
        (void)snap_meta_variants_drop(j->meta, ns, chain, NULL);
}
