/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which tags of a repository stand for one name, and under which labels. Tags that say the same
 * count once, by the family's `prefer`; where that does not decide, none of them is taken and the
 * plan says so. */
#include "lib/internal/tags/plan/plan.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ocv_tag_set_name(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *tag, char out[OCV_TAG_TEXT_MAX], struct ocv_error *err)
{
    char text[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_tag) parsed = NULL;
    int status = ocv_tag_parse(rules, reference, tag, &parsed, err);
    const char *name = status == OCV_OK ? ocv_tag_group_name(parsed, text) : NULL;
    snprintf(out, OCV_TAG_TEXT_MAX, "%s", name ? name : tag);
    return status;
}

int ocv_tag_may_join(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *name, const char *tag, bool *may, struct ocv_error *err)
{
    char text[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_tag) parsed = NULL;
    *may = false;
    int status = ocv_tag_parse(rules, reference, tag, &parsed, err);
    bool fit = status == OCV_OK && parsed->family && !ocv_tag_unfit(&parsed->arena, parsed);
    for (size_t i = 0; fit && i < parsed->family->n_group_tags; i++)
        *may = *may || (ocv_tag_group_format(parsed, parsed->family->group_tags[i], text) &&
                        strcmp(text, name) == 0);
    return status;
}

int ocv_tag_plan_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *wanted, const char *const *tags, size_t n,
                     struct ocv_tag_plan **out, struct ocv_error *err)
{
    char asked[OCV_TAG_TEXT_MAX], name[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_tag_plan) plan = calloc(1, sizeof(*plan));
    if (!plan || !(plan->tags = calloc(n + 1, sizeof(*plan->tags))) ||
        !(plan->out = calloc(n + 1, sizeof(*plan->out))))
        return ocv_error_nomem(err);
    if (wanted)
        OCV_TRY(ocv_tag_set_name(rules, reference, wanted, asked, err));
    /* in the order of bytes, and each once: a registry may tell a tag on two pages */
    ocv_auto_free const char **sorted = calloc(n + 1, sizeof(*sorted));
    if (!sorted)
        return ocv_error_nomem(err);
    if (n) {
        memcpy(sorted, tags, n * sizeof(*sorted));
        qsort(sorted, n, sizeof(*sorted), ocv_text_order);
    }
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0)
            continue;
        OCV_TRY(ocv_tag_parse(rules, reference, sorted[i], &plan->tags[plan->n_tags], err));
        struct ocv_tag *tag = plan->tags[plan->n_tags++];
        bool any = false;
        tag->out = ocv_tag_unfit(&plan->arena, tag);
        if (tag->out)
            continue;
        for (size_t k = 0; k < tag->family->n_group_tags; k++) {
            const char *format = tag->family->group_tags[k];
            if (!ocv_tag_group_format(tag, format, name) || !ocv_tag_joins(tag, format))
                continue;
            any = true;
            if (!wanted || strcmp(asked, name) == 0)
                OCV_TRY(ocv_tag_set_add(plan, name, format, tag, err));
        }
        if (!any)
            tag->out = "the rule names no group for it";
    }

    OCV_TRY(ocv_tag_sets_settle(plan, err));
    /* Every candidate tag is either in a set or left out. */
    for (size_t i = 0; i < plan->n_tags; i++) {
        struct ocv_tag *tag = plan->tags[i];
        if (!tag->out && tag->candidate && !tag->placed)
            tag->out = tag->better ? ocv_arena_printf(&plan->arena,
                                                      "says the same as %s, which is preferred",
                                                      tag->better->tag)
                                   : "nothing to choose: no other tag is in its group";
        if (tag->out)
            plan->out[plan->n_out++] = (struct left_out){tag, tag->out};
    }
    *out = ocv_steal(&plan);
    return OCV_OK;
}

void ocv_tag_plan_trim(struct ocv_tag_plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->n_tags; i++) {
        struct ocv_tag *tag = plan->tags[i];
        bool member = false;
        for (size_t at = 0; at < plan->n_sets && !member; at++) {
            const struct ocv_tag_set *s = &plan->sets[at];
            for (size_t k = 0; k < s->n; k++)
                member = member || s->members[k].tag == tag;
            for (size_t k = 0; k < s->n_doubts; k++)
                member = member || s->doubtful[k].member.tag == tag;
        }
        if (member)
            plan->tags[kept++] = tag;
        else
            ocv_tag_free(tag);
    }
    plan->n_tags = kept;
    plan->n_out = 0;
}

void ocv_tag_plan_free(struct ocv_tag_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_sets; i++)
        ocv_tag_set_clear(&plan->sets[i]);
    for (size_t i = 0; i < plan->n_tags; i++)
        ocv_tag_free(plan->tags[i]);
    for (size_t i = 0; i < plan->n_answered; i++)
        ocv_tag_free(plan->answered[i]);
    free(plan->answered);
    free(plan->sets);
    free(plan->tags);
    free(plan->out);
    ocv_arena_free(&plan->arena);
    free(plan);
}

int ocv_tag_plan_ask(struct ocv_tag_plan *plan, size_t set, const struct ocv_tag_source *source,
                     struct ocv_error *err)
{
    struct ocv_tag_set *s = &plan->sets[set];
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct ocv_tag_member m = s->members[i];
        if (m.tag->n_asks) { /* what its configuration says may leave it out */
            struct ocv_tag **tag = ocv_array_grow(&plan->answered, plan->n_answered);
            if (!tag)
                return ocv_error_nomem(err);
            if (ocv_tag_ask(m.tag, source, tag, err) < 0)
                return ocv_error_prefix(err, "%s", m.tag->tag);
            plan->n_answered++;
            m.tag = *tag;
            if (m.tag->refused) {
                plan->out[plan->n_out++] = (struct left_out){m.tag, m.tag->refused};
                continue;
            }
        }
        s->members[kept++] = m;
    }
    s->n = kept;
    return OCV_OK;
}

size_t ocv_tag_plan_sets(const struct ocv_tag_plan *plan)
{
    return plan->n_sets;
}

const char *ocv_tag_plan_name(const struct ocv_tag_plan *plan, size_t set)
{
    return plan->sets[set].name;
}

size_t ocv_tag_plan_members(const struct ocv_tag_plan *plan, size_t set)
{
    return plan->sets[set].n;
}

const struct ocv_tag *ocv_tag_plan_member(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                          const char **label)
{
    const struct ocv_tag_member *m = &plan->sets[set].members[i];
    if (label)
        *label = m->label;
    return m->tag;
}

size_t ocv_tag_plan_doubts(const struct ocv_tag_plan *plan, size_t set, const char *const **out)
{
    if (out)
        *out = (const char *const *)plan->sets[set].doubts;
    return plan->sets[set].n_doubts;
}

const struct ocv_tag *ocv_tag_plan_doubt(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                         const char **label, const char *const **names, size_t *n)
{
    const struct ocv_tag_doubt *doubt = &plan->sets[set].doubtful[i];
    *label = doubt->member.label;
    *names = (const char *const *)doubt->names;
    *n = doubt->n;
    return doubt->member.tag;
}

size_t ocv_tag_plan_left_out(const struct ocv_tag_plan *plan)
{
    return plan->n_out;
}

const struct ocv_tag *ocv_tag_plan_left(const struct ocv_tag_plan *plan, size_t i,
                                        const char **reason)
{
    *reason = plan->out[i].reason;
    return plan->out[i].tag;
}
