/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The packed form of a fleet: JSON Lines, classes before their nodes. */
#include "lib/base/cleanup.h"
#include "lib/match/match_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct fleet_node *x = *(const struct fleet_node *const *)a;
    const struct fleet_node *y = *(const struct fleet_node *const *)b;
    int order = strverscmp(x->name, y->name);
    return order ? order : strcmp(x->name, y->name);
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(const struct fleet_class *const *)a)->id,
                  (*(const struct fleet_class *const *)b)->id);
}

int ocv_fleet_pack(const struct ocv_fleet *fleet, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_free const struct fleet_class **classes =
        calloc(fleet->n_classes + 1, sizeof(const struct fleet_class *));
    ocv_auto_free const struct fleet_node **nodes =
        calloc(fleet->n_nodes + 1, sizeof(const struct fleet_node *));
    if (!classes || !nodes)
        return ocv_error_nomem(err);
    size_t used = 0; /* classes that have nodes, sorted */
    for (size_t i = 0; i < fleet->n_nodes; i++)
        classes[fleet->nodes[i].class_place] = &fleet->classes[fleet->nodes[i].class_place];
    for (size_t i = 0; i < fleet->n_classes; i++)
        if (classes[i])
            classes[used++] = classes[i];
    qsort(classes, used, sizeof(*classes), by_id);
    for (size_t i = 0; i < fleet->n_nodes; i++)
        nodes[i] = &fleet->nodes[i];
    qsort(nodes, fleet->n_nodes, sizeof(*nodes), by_name);
    OCV_TRY(ocv_buffer_printf(
        out, err, "{\"schema\":\"dev.ocivariant.fleet/v1\",\"classes\":%zu,\"nodes\":%zu}\n", used,
        fleet->n_nodes));
    for (size_t i = 0; i < used; i++) {
        OCV_TRY(ocv_buffer_printf(out, err, "{\"class\":\"%s\",\"profile\":", classes[i]->id));
        OCV_TRY(ocv_buffer_append(out, classes[i]->essence, classes[i]->len, err));
        OCV_TRY(ocv_buffer_append(out, "}\n", 2, err));
    }
    for (size_t i = 0; i < fleet->n_nodes; i++) { /* a node's name needs no escapes */
        const struct fleet_node *node = nodes[i];
        OCV_TRY(ocv_buffer_printf(out, err, "{\"name\":\"%s\",\"class\":\"%s\"", node->name,
                                  fleet->classes[node->class_place].id));
        if (node->weight)
            OCV_TRY(ocv_buffer_printf(out, err, ",\"weight\":%u", node->weight));
        if (node->slots != 1)
            OCV_TRY(ocv_buffer_printf(out, err, ",\"slots\":%u", node->slots));
        if (node->excluded)
            OCV_TRY(ocv_buffer_printf(out, err, ",\"excluded\":true"));
        OCV_TRY(ocv_buffer_append(out, "}\n", 2, err));
    }
    return OCV_OK;
}
