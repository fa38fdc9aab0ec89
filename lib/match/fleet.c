/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Fleets: nodes by name, and one profile for each class of them. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/match/match_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *node_name(const void *fleet, size_t i)
{
    return ((const struct ocv_fleet *)fleet)->nodes[i].name;
}

static const char *class_name(const void *fleet, size_t i)
{
    return ((const struct ocv_fleet *)fleet)->classes[i].id;
}

int ocv_fleet_new(struct ocv_fleet **out, struct ocv_error *err)
{
    struct ocv_fleet *fleet = calloc(1, sizeof(*fleet));
    if (!fleet)
        return ocv_error_nomem(err);
    fleet->by_name.name_of = node_name;
    fleet->by_class.name_of = class_name;
    ocv_buffer_init(&fleet->scratch, OCV_PROFILE_MAX);
    *out = fleet;
    return OCV_OK;
}

void ocv_fleet_free(struct ocv_fleet *fleet)
{
    if (!fleet)
        return;
    for (size_t i = 0; i < fleet->n_classes; i++) {
        free(fleet->classes[i].essence);
        ocv_profile_free(fleet->classes[i].profile);
    }
    free(fleet->classes);
    free(fleet->nodes);
    free(fleet->order);
    ocv_names_free(&fleet->by_name);
    ocv_names_free(&fleet->by_class);
    ocv_buffer_free(&fleet->scratch);
    ocv_arena_free(&fleet->arena);
    free(fleet);
}

int ocv_fleet_intern(struct ocv_fleet *fleet, const struct ocv_profile *profile, size_t *place,
                     struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX], id[OCV_CLASS_MAX];
    struct ocv_buffer *text = &fleet->scratch;
    text->len = 0;
    OCV_TRY(ocv_profile_essence(profile, text, err));
    OCV_TRY(ocv_digest_bytes(text->data, text->len, digest, err));
    snprintf(id, sizeof(id), "%s", strchr(digest, ':') + 1);
    *place = ocv_names_find(&fleet->by_class, fleet, id);
    if (*place != SIZE_MAX) {
        const struct fleet_class *known = &fleet->classes[*place];
        if (known->len != text->len || memcmp(known->essence, text->data, text->len) != 0)
            return ocv_error_set(err, OCV_ERR_DATA, "two kinds of nodes have the class %s", id);
        return OCV_OK;
    }
    *place = fleet->n_classes;
    ocv_auto(ocv_profile) own = NULL;
    OCV_TRY(ocv_profile_parse(text->data, text->len, &own, err));
    ocv_auto_free char *essence = strndup(text->data, text->len);
    struct fleet_class *class = essence ? ocv_array_grow(&fleet->classes, fleet->n_classes) : NULL;
    if (!class)
        return ocv_error_nomem(err);
    snprintf(class->id, sizeof(class->id), "%s", id);
    OCV_TRY(ocv_names_add(&fleet->by_class, fleet, fleet->n_classes, err));
    class->essence = ocv_steal(&essence);
    class->len = text->len;
    class->profile = ocv_steal(&own);
    fleet->n_classes++;
    return OCV_OK;
}

static int check_name(const char *name, struct ocv_error *err)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@+-";
    size_t len = name ? strspn(name, characters) : 0;
    if (len == 0 || len > OCV_NODE_NAME_MAX || name[len])
        return ocv_error_set(err, OCV_ERR_DATA,
                             "'%.80s' is not a valid node name: 1 to %u of A-Z a-z 0-9 . _ : @ + -",
                             name ? name : "", OCV_NODE_NAME_MAX);
    return OCV_OK;
}

static void fill_node(struct fleet_node *to, const struct ocv_node *node, size_t class_place)
{
    to->class_place = (uint32_t)class_place;
    to->weight = node->weight;
    to->slots = node->slots;
    to->excluded = node->excluded;
}

int ocv_fleet_add_of(struct ocv_fleet *fleet, const struct ocv_node *node, size_t class_place,
                     struct ocv_error *err)
{
    OCV_TRY(check_name(node->name, err));
    if (ocv_names_find(&fleet->by_name, fleet, node->name) != SIZE_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "duplicate node '%s'", node->name);
    if (fleet->n_nodes == OCV_FLEET_NODES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u nodes", OCV_FLEET_NODES_MAX);
    struct fleet_node *added = ocv_array_grow(&fleet->nodes, fleet->n_nodes);
    if (added)
        added->name = ocv_arena_text(&fleet->arena, node->name);
    if (!added || !added->name)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_names_add(&fleet->by_name, fleet, fleet->n_nodes, err));
    fill_node(added, node, class_place);
    fleet->n_nodes++;
    fleet->sorted = false;
    return OCV_OK;
}

int ocv_fleet_add(struct ocv_fleet *fleet, const struct ocv_node *node,
                  const struct ocv_profile *profile, struct ocv_error *err)
{
    size_t place = 0;
    OCV_TRY(check_name(node->name, err));
    OCV_TRY(ocv_fleet_intern(fleet, profile, &place, err));
    return ocv_fleet_add_of(fleet, node, place, err);
}

int ocv_fleet_change(struct ocv_fleet *fleet, const struct ocv_node *node,
                     const struct ocv_profile *profile, struct ocv_error *err)
{
    size_t at = ocv_names_find(&fleet->by_name, fleet, node->name);
    if (at == SIZE_MAX)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "the fleet has no node '%.253s'", node->name);
    size_t place = fleet->nodes[at].class_place;
    if (profile)
        OCV_TRY(ocv_fleet_intern(fleet, profile, &place, err));
    fleet->sorted = fleet->sorted && fleet->nodes[at].weight == node->weight;
    fill_node(&fleet->nodes[at], node, place);
    return OCV_OK;
}

static int by_weight_and_name(const void *a, const void *b, void *nodes)
{
    const struct fleet_node *x = (const struct fleet_node *)nodes + *(const uint32_t *)a;
    const struct fleet_node *y = (const struct fleet_node *)nodes + *(const uint32_t *)b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    int order = strverscmp(x->name, y->name); /* n2 before n10 */
    return order ? order : strcmp(x->name, y->name);
}

int ocv_fleet_sort(struct ocv_fleet *fleet, struct ocv_error *err)
{
    if (fleet->sorted)
        return OCV_OK;
    uint32_t *order = reallocarray(fleet->order, fleet->n_nodes + 1, sizeof(*order));
    if (!order)
        return ocv_error_nomem(err);
    fleet->order = order;
    bool in_order = true;
    for (size_t i = 0; i < fleet->n_nodes; i++) {
        order[i] = (uint32_t)i;
        in_order =
            in_order && (!i || by_weight_and_name(&order[i - 1], &order[i], fleet->nodes) < 0);
    }
    if (!in_order)
        qsort_r(order, fleet->n_nodes, sizeof(*order), by_weight_and_name, fleet->nodes);
    fleet->sorted = true;
    return OCV_OK;
}

size_t ocv_fleet_count(const struct ocv_fleet *fleet)
{
    return fleet->n_nodes;
}

size_t ocv_fleet_class_count(const struct ocv_fleet *fleet)
{
    return fleet->n_classes;
}

struct ocv_node ocv_fleet_node(const struct ocv_fleet *fleet, size_t i, size_t *class_place)
{
    const struct fleet_node *node = &fleet->nodes[i];
    if (class_place)
        *class_place = node->class_place;
    return (struct ocv_node){.name = node->name,
                             .weight = node->weight,
                             .slots = node->slots,
                             .excluded = node->excluded};
}

size_t ocv_fleet_find(const struct ocv_fleet *fleet, const char *name)
{
    size_t at = ocv_names_find(&fleet->by_name, fleet, name);
    return at == SIZE_MAX ? fleet->n_nodes : at;
}

const char *ocv_fleet_class(const struct ocv_fleet *fleet, size_t class_place)
{
    return fleet->classes[class_place].id;
}

const struct ocv_profile *ocv_fleet_class_profile(const struct ocv_fleet *fleet, size_t class_place)
{
    return fleet->classes[class_place].profile;
}
