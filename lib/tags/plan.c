/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which tags of a repository stand for one name, and under which labels. Tags that say the same
 * count once, by the family's `prefer`; where that does not decide, none of them is taken and the
 * plan says so. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

static int leave_out(struct ocv_tag_plan *plan, const struct ocv_tag *tag, const char *reason,
                     struct ocv_error *err)
{
    struct left_out *list = realloc(plan->out, (plan->n_out + 1) * sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    plan->out = list;
    list[plan->n_out++] = (struct left_out){tag, reason};
    return OCV_OK;
}

static int add_tag(struct ocv_tag_plan *plan, const struct ocv_tag *tag, const char *wanted,
                   struct ocv_error *err)
{
    char name[OCV_TAG_TEXT_MAX];
    const char *reason = ocv_tag_unfit(&plan->arena, tag);
    int status = OCV_OK;
    bool any = false;
    if (reason)
        return leave_out(plan, tag, reason, err);
    for (size_t i = 0; status == OCV_OK && i < tag->family->n_group_tags; i++) {
        const char *format = tag->family->group_tags[i];
        if (!ocv_tag_group_format(tag, format, name) || !ocv_tag_joins(tag, format))
            continue;
        any = true;
        if (!wanted || strcmp(wanted, name) == 0)
            status = ocv_tag_set_add(plan, name, format, tag, err);
    }
    if (status == OCV_OK && !any)
        status = leave_out(plan, tag, "the rule names no group for it", err);
    return status;
}

/* "1.9-py312" and "1.9-py3.12" want the same set. */
static int name_wanted(struct ocv_tag_plan *plan, const struct ocv_tag_rules *rules,
                       const struct ocv_reference *reference, const char **wanted,
                       struct ocv_error *err)
{
    char text[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_tag) tag = NULL;
    if (!*wanted)
        return OCV_OK;
    int status = ocv_tag_parse(rules, reference, *wanted, &tag, err);
    const char *name = status == OCV_OK ? ocv_tag_group_name(tag, text) : NULL;
    if (name && !(*wanted = ocv_arena_copy(&plan->arena, name, strlen(name))))
        return ocv_error_nomem(err);
    return status;
}

int ocv_tag_plan_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *wanted, const char *const *tags, size_t n,
                     struct ocv_tag_plan **out, struct ocv_error *err)
{
    struct ocv_tag_plan *plan = calloc(1, sizeof(*plan));
    if (plan)
        plan->tags = calloc(n + 1, sizeof(*plan->tags));
    if (!plan || !plan->tags) {
        free(plan);
        return ocv_error_nomem(err);
    }
    int status = name_wanted(plan, rules, reference, &wanted, err);
    for (size_t i = 0; status == OCV_OK && i < n; i++) {
        status = ocv_tag_parse(rules, reference, tags[i], &plan->tags[plan->n_tags], err);
        if (status == OCV_OK)
            status = add_tag(plan, plan->tags[plan->n_tags++], wanted, err);
    }
    if (status == OCV_OK)
        status = ocv_tag_sets_settle(plan, err);
    if (status < 0) {
        ocv_tag_plan_free(plan);
        return status;
    }
    *out = plan;
    return OCV_OK;
}

void ocv_tag_plan_free(struct ocv_tag_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_sets; i++)
        ocv_tag_set_clear(&plan->sets[i]);
    for (size_t i = 0; i < plan->n_tags; i++)
        ocv_tag_free(plan->tags[i]);
    free(plan->sets);
    free(plan->tags);
    free(plan->out);
    ocv_arena_free(&plan->arena);
    free(plan);
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
