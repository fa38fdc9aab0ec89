/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The YAML source of an index: accepted labels and properties are valid for writers. */
#include "lib/internal/edit/edit.h"
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_edit_source) source = NULL;
    struct ocv_error err = {0};
    if (ocv_edit_source_parse("fuzz", (const char *)data, size, &source, &err) < 0) {
        if (err.status == OCV_ERR_DATA && strncmp(err.message, "fuzz", 4) != 0)
            abort(); /* every message names its source */
        if (err.status != OCV_ERR_DATA && err.status != OCV_ERR_NOMEM)
            abort();
        return 0;
    }
    for (size_t i = 0; i < ocv_edit_source_count(source); i++) {
        struct ocv_edit_source_image image = ocv_edit_source_image(source, i);
        if (!*image.reference || !image.line)
            abort();
        if (image.label && !ocv_label_valid(image.label, strlen(image.label)))
            abort();
    }
    const char *key, *value;
    for (size_t i = 0; ocv_edit_source_annotation(source, i, &key, &value); i++)
        if (!*value && !*key)
            abort();
    return 0;
}
