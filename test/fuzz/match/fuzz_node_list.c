/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A node list: the number of names matches the count, and each has a valid length. */
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto_buffer out;
    size_t count;
    ocv_buffer_init(&out, (size_t)64 * 1024 * 1024);
    if (size > 4096 || ocv_node_list_expand((const char *)data, size, &out, &count, NULL) < 0)
        return 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(out.data + at);
        if (n == 0 || n > OCV_NODE_NAME_MAX)
            abort();
        at += n + 1;
    }
    if (at != out.len)
        abort();
    return 0;
}
