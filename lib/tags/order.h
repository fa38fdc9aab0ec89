/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order of a set's builds by their toolkit, oldest first. */
#ifndef OCV_TAGS_ORDER_H
#define OCV_TAGS_ORDER_H

#include "lib/tags/tags_internal.h"

#define OCV_TAG_ORDER_NAMESPACE "priority" /**< the set's own */

struct ocv_tag_order {
    struct ocv_arena arena;
    const struct ocv_tag *const *tags; /* borrowed */
    size_t n_tags;
    const char **toolkits; /* each once; with fewer than two there is nothing to order */
    size_t n;
};

/** Borrows the tags. To be cleared in case of failure, too. */
int ocv_tag_order_make(struct ocv_tag_order *order, const struct ocv_tag *const *tags, size_t n,
                       struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_order_clear(struct ocv_tag_order *order);
/** "priority :: order :: 12.6" of a tag, or NULL. */
const char *ocv_tag_order_property(const struct ocv_tag_order *order, const struct ocv_tag *tag,
                                   char out[OCV_TAG_TEXT_MAX]);
/** Append the namespace's list, "order :: 12.6, order :: 12.8", where there is one. */
int ocv_tag_order_list(const struct ocv_tag_order *order, struct ocv_buffer *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the index's namespaces: the family's list, or where the order needs one the usual list;
 *  nothing where neither is. */
int ocv_tag_order_namespaces(const struct ocv_tag_order *order, struct ocv_buffer *out,
                             struct ocv_error *err) OCV_WARN_UNUSED;

#endif
