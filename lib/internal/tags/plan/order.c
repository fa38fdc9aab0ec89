/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order of a set's builds by their toolkit. Of builds that a host can only tell apart by it the
 * oldest asks least of a driver, so an index made of tags has a namespace of its own for it, the
 * last of all. */
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/tags/plan/plan.h"
#include "ocivariant/vocabulary.h"

#include "lib/core/core_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_version(const void *a, const void *b)
{
    return ocv_tag_version_compare(*(const char *const *)a, *(const char *const *)b);
}

static bool is_named(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

int ocv_tag_order_make(struct ocv_tag_order *order, const struct ocv_tag *const *tags, size_t n,
                       struct ocv_error *err)
{
    char toolkit[OCV_TAG_TEXT_MAX];
    *order = (struct ocv_tag_order){.tags = tags, .n_tags = n};
    order->toolkits = ocv_arena_alloc(&order->arena, n + 1, sizeof(*order->toolkits));
    if (!order->toolkits)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (!ocv_tag_toolkit(tags[i], toolkit) || is_named(order->toolkits, order->n, toolkit))
            continue;
        const char *copy = ocv_arena_text(&order->arena, toolkit);
        if (!copy)
            return ocv_error_nomem(err);
        order->toolkits[order->n++] = copy;
    }
    qsort(order->toolkits, order->n, sizeof(*order->toolkits), by_version);
    return OCV_OK;
}

void ocv_tag_order_clear(struct ocv_tag_order *order)
{
    ocv_arena_free(&order->arena);
}

const char *ocv_tag_order_property(const struct ocv_tag_order *order, const struct ocv_tag *tag,
                                   char out[OCV_TAG_TEXT_MAX])
{
    char toolkit[OCV_TAG_TEXT_MAX];
    if (order->n < 2 || !ocv_tag_toolkit(tag, toolkit))
        return NULL;
    snprintf(out, OCV_TAG_TEXT_MAX, OCV_TAG_ORDER_NAMESPACE " :: order :: %.64s", toolkit);
    return out;
}

int ocv_tag_order_list(const struct ocv_tag_order *order, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    for (size_t i = 0; order->n > 1 && i < order->n; i++)
        OCV_TRY(ocv_buffer_printf(out, err, "%sorder :: %s", i ? ", " : "", order->toolkits[i]));
    return OCV_OK;
}

static int append_name(struct ocv_buffer *list, const char *name, struct ocv_error *err)
{
    return ocv_buffer_printf(list, err, "%s%s", list->len ? ", " : "", name);
}

int ocv_tag_order_namespaces(const struct ocv_tag_order *order, struct ocv_buffer *out,
                             struct ocv_error *err)
{
    const struct ocv_tag_family *family = order->n_tags ? order->tags[0]->family : NULL;
    const char *const *own = family ? family->namespaces : NULL;
    size_t n = family ? family->n_namespaces : 0;
    for (size_t i = 0; i < n; i++)
        OCV_TRY(append_name(out, own[i], err));
    if (order->n < 2 || is_named(own, n, OCV_TAG_ORDER_NAMESPACE))
        return OCV_OK;
    if (n > 0)
        return append_name(out, OCV_TAG_ORDER_NAMESPACE, err);

    /* What an index without the annotation would have: accelerators by name, then processors. */
    size_t all = 0, used = 0;
    for (size_t i = 0; i < order->n_tags; i++)
        all += ocv_properties_count(order->tags[i]->said);
    ocv_auto_free const char **names = calloc(all + 1, sizeof(*names));
    if (!names)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < order->n_tags; i++)
        for (size_t k = 0; k < ocv_properties_count(order->tags[i]->said); k++) {
            const char *ns = ocv_properties_get(order->tags[i]->said, k).ns;
            if (!is_named(names, used, ns))
                names[used++] = ns;
        }
    qsort(names, used, sizeof(*names), ocv_text_order);
    for (unsigned turn = 0; turn < OCV_VOCABULARY_TURNS; turn++)
        for (size_t i = 0; i < used; i++)
            if (ocv_vocabulary_turn(names[i]) == turn)
                OCV_TRY(append_name(out, names[i], err));
    return append_name(out, OCV_TAG_ORDER_NAMESPACE, err);
}

static int order_set(const struct ocv_tag_set *set, struct ocv_tag_order *order,
                     const struct ocv_tag ***tags, struct ocv_error *err)
{
    *tags = calloc(set->n + 1, sizeof(**tags));
    if (!*tags)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < set->n; i++)
        (*tags)[i] = set->members[i].tag;
    return ocv_tag_order_make(order, *tags, set->n, err);
}

int ocv_tag_plan_order(const struct ocv_tag_plan *plan, size_t set, struct ocv_buffer *namespaces,
                       struct ocv_buffer *order, struct ocv_error *err)
{
    ocv_auto_free const struct ocv_tag **tags = NULL;
    ocv_auto_tag_order made = {0};
    OCV_TRY(order_set(&plan->sets[set], &made, &tags, err));
    OCV_TRY(ocv_tag_order_namespaces(&made, namespaces, err));
    return ocv_tag_order_list(&made, order, err);
}

bool ocv_tag_plan_is_ordered(const struct ocv_tag_plan *plan, size_t set)
{
    const struct ocv_tag_set *s = &plan->sets[set];
    return s->n && s->members[0].tag->family->n_namespaces > 0;
}

int ocv_tag_plan_entries(const struct ocv_tag_plan *plan, size_t set, size_t i,
                         struct ocv_tag_entry out[2], size_t *n, struct ocv_error *err)
{
    const struct ocv_tag_member *m = &plan->sets[set].members[i];
    ocv_auto_free const struct ocv_tag **tags = NULL;
    ocv_auto_tag_order made = {0};
    char property[OCV_TAG_TEXT_MAX];
    *n = 0;
    OCV_TRY(order_set(&plan->sets[set], &made, &tags, err));
    OCV_TRY(ocv_tag_claims(m->tag, NULL, ocv_tag_order_property(&made, m->tag, property),
                           &out[0].properties, &out[1].properties, err));
    snprintf(out[0].label, sizeof(out[0].label), "%s", m->label);
    ocv_tag_base_label(m->label, out[1].label);
    *n = out[1].properties ? 2 : 1;
    return OCV_OK;
}
