/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Choices that follow each other and are one variant's become one alternative. */
#include "lib/base/cleanup.h"
#include "lib/internal/claim/claim_internal.h"

#include <string.h>

typedef const struct ocv_fact *fact_ref;

/* Does every device that the choice fits fit the product? */
static bool is_within(const struct ocv_claim_work *work, const struct ocv_claim_choice *choice,
                      const struct ocv_claim_product *product)
{
    for (size_t i = 0; i < product->n; i++) {
        const struct ocv_claim_term *term = &product->terms[i];
        fact_ref wanted = &work->facts[term->ids[0]];
        bool found = false;
        for (size_t k = 0; k < choice->n_ids && !found; k++) {
            fact_ref has = &work->facts[choice->ids[k]];
            for (size_t t = 0; t < term->n && has->feature == wanted->feature && !found; t++)
                found = ocv_fact_within(has, &work->facts[term->ids[t]]);
        }
        if (!found)
            return false;
    }
    return true;
}

/* Is there no device that both fit? */
static bool is_apart(const struct ocv_claim_work *work, const struct ocv_claim_choice *choice,
                     const struct ocv_claim_product *product)
{
    for (size_t i = 0; i < product->n; i++)
        for (size_t k = 0; k < choice->n_ids; k++) {
            const struct ocv_claim_term *term = &product->terms[i];
            fact_ref a = &work->facts[choice->ids[k]], b = &work->facts[term->ids[0]];
            if (a->feature->driver != b->feature->driver ||
                strcmp(a->feature->attribute, b->feature->attribute) != 0)
                continue;
            bool apart = true;
            for (size_t t = 0; t < term->n && apart; t++)
                apart = ocv_fact_apart(a, &work->facts[term->ids[t]]);
            if (apart)
                return true;
        }
    return false;
}

/* The choice's property that bounds a version from below, if any: a build runs by the lower of two
 * where the host has not what it was made for. */
static uint32_t bound_of(const struct ocv_claim_work *work, const struct ocv_claim_choice *choice)
{
    for (size_t k = 0; k < choice->n_ids; k++)
        if (work->facts[choice->ids[k]].feature->test == OCV_DEVICE_AT_LEAST)
            return choice->ids[k];
    return UINT32_MAX;
}

static int add_product(struct ocv_claim_work *work, struct ocv_claim_group *group,
                       const struct ocv_claim_choice *choice, struct ocv_error *err)
{
    struct ocv_arena *arena = &work->claim->arena;
    if (group->n_products == group->max_products) {
        size_t max = group->max_products ? group->max_products * 2 : 8;
        struct ocv_claim_product *list = ocv_arena_alloc(arena, max, sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        if (group->n_products)
            memcpy(list, group->products, group->n_products * sizeof(*list));
        group->products = list;
        group->max_products = max;
    }
    struct ocv_claim_term *terms = ocv_arena_alloc(arena, choice->n_ids + 1, sizeof(*terms));
    if (!terms)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < choice->n_ids; i++)
        terms[i] = (struct ocv_claim_term){&choice->ids[i], 1};
    group->products[group->n_products++] = (struct ocv_claim_product){terms, choice->n_ids};
    group->unsaid |= choice->unsaid;
    return OCV_OK;
}

static int add_label(struct ocv_claim_work *work, struct ocv_claim_group *group, const char *label,
                     struct ocv_error *err)
{
    return ocv_claim_add_text(&work->claim->arena, &group->labels, &group->n_labels,
                              &group->max_labels, label, err);
}

/* The group that the choice may join without moving ahead of a group that one of its devices may
 * fit; NULL: none. */
static struct ocv_claim_group *find_home(const struct ocv_claim_work *work,
                                         const struct ocv_claim_groups *groups,
                                         const struct ocv_claim_choice *choice)
{
    for (size_t i = groups->n; i-- > 0;) {
        struct ocv_claim_group *group = &groups->list[i];
        if (group->driver != choice->driver)
            continue;
        if (!strcmp(group->first->entry->label, choice->entry->label) &&
            bound_of(work, group->first) == bound_of(work, choice))
            return group;
        for (size_t k = 0; k < group->n_products; k++)
            if (!is_apart(work, choice, &group->products[k]))
                return NULL;
    }
    return NULL;
}

static int place_choice(struct ocv_claim_work *work, const struct ocv_claim_choice *choice,
                        struct ocv_claim_groups *groups, struct ocv_error *err)
{
    const char *label = choice->entry->label;
    for (size_t i = 0; i < groups->n; i++) {
        struct ocv_claim_group *group = &groups->list[i];
        for (size_t k = 0; group->driver == choice->driver && k < group->n_products; k++)
            if (is_within(work, choice, &group->products[k]))
                /* what attributes do not tell may have the node choose this one */
                return group->unsaid ? add_label(work, group, label, err) : OCV_OK;
    }
    struct ocv_claim_group *home = find_home(work, groups, choice);
    if (home)
        return add_product(work, home, choice, err);
    home = &groups->list[groups->n];
    *home = (struct ocv_claim_group){.driver = choice->driver, .first = choice};
    for (size_t i = 0; i < groups->n; i++)
        home->again |= !strcmp(groups->list[i].first->entry->label, label);
    groups->n++;
    OCV_TRY(add_label(work, home, label, err));
    return add_product(work, home, choice, err);
}

/* The last two neighbours that may be one: of a variant if there are such, else of a driver. */
static bool find_pair(const struct ocv_claim_groups *groups, bool of_variant, size_t *at)
{
    for (size_t i = groups->n - 1; i-- > 0;) {
        const struct ocv_claim_group *a = &groups->list[i], *b = a + 1;
        if (a->driver == b->driver &&
            (!of_variant || !strcmp(a->first->entry->label, b->first->entry->label))) {
            *at = i;
            return true;
        }
    }
    return false;
}

int ocv_claim_group(struct ocv_claim_work *work, const struct ocv_claim_choices *choices,
                    struct ocv_claim_groups *out, struct ocv_error *err)
{
    *out = (struct ocv_claim_groups){
        .list = ocv_arena_alloc(&work->claim->arena, choices->n + 1, sizeof(*out->list))};
    if (!out->list)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < choices->n; i++)
        OCV_TRY(place_choice(work, &choices->list[i], out, err));
    while (out->n > OCV_CLAIM_ALTERNATIVES_MAX) {
        size_t at;
        if (!find_pair(out, true, &at) && !find_pair(out, false, &at))
            return ocv_error_set(err, OCV_ERR_DATA, "devices of more than %u drivers",
                                 OCV_CLAIM_ALTERNATIVES_MAX);
        struct ocv_claim_group *to = &out->list[at], *from = to + 1;
        struct ocv_arena *arena = &work->claim->arena;
        struct ocv_claim_product *list =
            ocv_arena_alloc(arena, to->n_products + from->n_products, sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        memcpy(list, to->products, to->n_products * sizeof(*list));
        memcpy(list + to->n_products, from->products, from->n_products * sizeof(*list));
        to->products = list;
        to->n_products = to->max_products = to->n_products + from->n_products;
        to->unsaid |= from->unsaid;
        for (size_t i = 0; i < from->n_labels; i++)
            OCV_TRY(add_label(work, to, from->labels[i], err));
        out->n--;
        memmove(from, from + 1, (out->n - at - 1) * sizeof(*from));
    }
    return OCV_OK;
}
