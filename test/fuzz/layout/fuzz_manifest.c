/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an image manifest, and as a document of unknown kind. The first byte selects the
 * Content-Type. */
#include "ocivariant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL, OCV_MEDIA_TYPE_INDEX, OCV_MEDIA_TYPE_MANIFEST, "",
                                        " ; "};
    if (size == 0)
        return 0;
    const char *type = types[data[0] % (sizeof(types) / sizeof(*types))];
    struct ocv_error err = {.status = OCV_OK};
    enum ocv_document_kind kind;
    struct ocv_manifest *manifest = NULL;
    int known = ocv_document_kind(data + 1, size - 1, type, &kind, &err);
    if (ocv_manifest_parse(data + 1, size - 1, type, &manifest, &err) == OCV_OK) {
        if (known != OCV_OK || kind != OCV_DOCUMENT_MANIFEST)
            __builtin_trap();
        for (size_t i = 0; i < ocv_manifest_layer_count(manifest); i++)
            if (ocv_manifest_layer(manifest, i)->size < 0)
                __builtin_trap();
    }
    ocv_manifest_free(manifest);
    return 0;
}
