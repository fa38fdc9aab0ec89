/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an index whose nested indexes and configurations are the same bytes again: it ends,
 * and within its limits. */
#include "cmd/common/image/nested_index.h"

#include <stdlib.h>

struct bytes {
    const uint8_t *data;
    size_t size, reads;
};

static int get(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
               struct ocv_error *err)
{
    struct bytes *b = data;
    (void)wanted;
    if (++b->reads > NESTED_INDEXES_MAX + NESTED_CONFIGS_MAX)
        abort();
    return ocv_buffer_append(body, b->data, b->size, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_index) flat = NULL;
    struct bytes bytes = {data, size, 0};
    const struct nested_source source = {.data = &bytes, .get = get, .config = get, .lone = true};
    if (ocv_index_parse(data, size, NULL, &index, NULL) < 0)
        return 0;
    if (nested_index_flatten(index, &source, &flat, NULL) == OCV_OK &&
        ocv_index_count(flat) > OCV_INDEX_ENTRIES_MAX)
        abort();
    return 0;
}
