/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Editing any index: without a change it keeps every byte; an added entry can be removed again, and
 * the other entries keep their bytes. */
#include "lib/internal/edit/edit.h"
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ocv_buffer format(struct ocv_edit *edit)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    if (ocv_edit_format(edit, &out, NULL) < 0)
        ocv_buffer_free(&out);
    return out;
}

static void add_and_remove(struct ocv_edit *edit)
{
    static const char digest[] =
        "sha256:abababababababababababababababababababababababababababababababab";
    ocv_auto(ocv_properties) properties = NULL;
    if (ocv_properties_parse("x86_64 :: level :: v3", 21, &properties, NULL) < 0)
        return;
    struct ocv_edit_image image = {.label = "fuzz",
                                   .properties = properties,
                                   .descriptor = {.media_type = OCV_MEDIA_TYPE_MANIFEST},
                                   .platform = {.os = "linux", .architecture = "riscv64"}};
    memcpy(image.descriptor.digest, digest, sizeof(digest));
    size_t before = ocv_edit_count(edit);
    if (ocv_edit_add(edit, &image, NULL) < 0)
        return;
    struct ocv_buffer with = format(edit);
    ocv_auto(ocv_index) index = NULL;
    if (with.len) {
        if (ocv_index_parse(with.data, with.len, NULL, &index, NULL) < 0 ||
            ocv_index_count(index) != before + 1 || !ocv_index_find_digest(index, digest))
            abort();
    }
    ocv_buffer_free(&with);
    if (ocv_edit_remove(edit, "fuzz", NULL, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_edit) edit = NULL;
    ocv_auto(ocv_edit) again = NULL;
    if (ocv_edit_open(data, size, NULL, OCV_EDIT_HIDDEN, &edit, NULL) < 0)
        return 0;
    struct ocv_buffer same = format(edit);
    if (same.len != size || memcmp(same.data, data, size) != 0)
        abort();
    ocv_buffer_free(&same);
    add_and_remove(edit);
    if (ocv_edit_open(data, size, NULL, OCV_EDIT_HIDDEN, &again, NULL) == 0 &&
        ocv_edit_relayout(again, NULL) == 0) {
        struct ocv_buffer laid = format(again);
        ocv_buffer_free(&laid);
    }
    return 0;
}
