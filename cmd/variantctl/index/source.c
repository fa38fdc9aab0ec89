/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --from FILE: an index described in a file that is kept beside the Dockerfiles. */
#include "cmd/variantctl/index/index_verbs.h"

#include "lib/base/cleanup.h"

#include <string.h>

int build_from_source(struct build *b, const char *path, const struct ocv_edit_source *source,
                      struct ocv_error *err)
{
    const char *key, *value;
    ocv_edit_from_yaml(b->document);
    for (size_t i = 0; ocv_edit_source_annotation(source, i, &key, &value); i++) {
        int status = ocv_edit_set(b->document, key, value, err);
        if (status == OCV_ERR_INVALID || status == OCV_ERR_DATA) {
            ocv_error_prefix(err, "%s", path);
            status = err->status = OCV_ERR_DATA;
        }
        if (status < 0)
            return status;
    }
    for (size_t i = 0; i < ocv_edit_source_count(source); i++) {
        struct ocv_edit_source_image image = ocv_edit_source_image(source, i);
        struct ocv_properties *properties = NULL;
        char where[4200];
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        snprintf(where, sizeof(where), "%s:%zu", path, image.line);
        if (image.properties) { /* copied: the item and the source both own theirs */
            OCV_TRY(ocv_properties_format(image.properties, &text, err));
            OCV_TRY(ocv_properties_parse(text.data ? text.data : "", text.len, &properties, err));
        }
        OCV_TRY(build_item(b, image.label, image.reference, properties, where, err));
        struct item *item = &b->items[b->n_items - 1];
        item->source = source;
        item->source_image = i;
        item->by_label = image.shared && !image.platform;
        if (image.platform)
            OCV_TRY(ocv_platform_parse(image.platform, &item->platform, err));
    }
    return OCV_OK;
}
