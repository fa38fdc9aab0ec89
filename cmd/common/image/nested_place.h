/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The images of an index, and of those in it, where an image is kept. */
#ifndef OCV_NESTED_PLACE_H
#define OCV_NESTED_PLACE_H

#include "cmd/common/image/nested_index.h"
#include "ocivariant/layout.h"
#include "ocivariant/registry.h"

/** A repository of a registry, or a layout; neither: a file, which has nothing more. */
struct nested_place {
    struct ocv_registry *registry;
    const struct ocv_reference *reference;
    const struct ocv_layout *layout;
    const char *digest; /**< of a document that was read before, or NULL */
    const struct ocv_buffer *body;
};

/** The index of all images of an index in which anything is to be read elsewhere
 *  (nested_index_flatten); `*out` stays NULL where there is nothing. `lone`: somebody has named a
 *  platform. A variant that stands alone is judged like others, any other such image is taken. */
int nested_place_walk(const struct nested_place *place, const struct ocv_index *index, bool lone,
                      struct ocv_index **out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
