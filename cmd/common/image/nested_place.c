/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/nested_place.h"

#include "ocivariant/digest.h"
#include "ocivariant/manifest.h"

#include "lib/base/cleanup.h"

#include <string.h>

static int get_nested(void *data, const struct ocv_descriptor *nested, struct ocv_buffer *body,
                      struct ocv_error *err)
{
    const struct nested_place *place = data;
    struct ocv_descriptor seen;
    if (place->digest && !strcmp(nested->digest, place->digest))
        return ocv_buffer_append(body, place->body->data, place->body->len, err);
    if (place->layout)
        return ocv_layout_read_blob(place->layout, nested->digest, body, err);
    if (!place->reference)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s is not in the file", nested->digest);
    return ocv_registry_get(place->registry, place->reference, nested->digest, body, &seen, err);
}

static int get_config(void *data, const struct ocv_descriptor *image, struct ocv_buffer *config,
                      struct ocv_error *err)
{
    const struct nested_place *place = data;
    ocv_auto(ocv_manifest) manifest = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    if (!place->layout && !place->reference)
        return OCV_ERR_NOT_FOUND; /* a file has no blobs */
    OCV_TRY(get_nested(data, image, &body, err));
    OCV_TRY(ocv_manifest_parse(body.data, body.len, image->media_type, &manifest, err));
    const struct ocv_descriptor *blob = ocv_manifest_config(manifest);
    return place->layout
               ? ocv_layout_read_blob(place->layout, blob->digest, config, err)
               : ocv_registry_get_blob(place->registry, place->reference, blob, config, err);
}

int nested_place_walk(const struct nested_place *place, const struct ocv_index *index, bool lone,
                      struct ocv_index **out, struct ocv_error *err)
{
    const struct nested_source source = {.data = (void *)(uintptr_t)place,
                                         .get = get_nested,
                                         .config = get_config,
                                         .lone = lone || ocv_index_has_variants(index)};
    return nested_index_is(index, source.lone) ? nested_index_flatten(index, &source, out, err)
                                               : OCV_OK;
}
