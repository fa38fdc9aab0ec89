/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any body of a refusal: the words of it that are shown, into buffers of several sizes. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = {1, 2, 5, 64, 600, 4096};
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 1024u * 1024);
    if (size && ocv_buffer_append(&body, data, size, NULL) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char *out = malloc(sizes[i]);
        if (!out)
            return 0;
        ocv_failure_text(&body, out, sizes[i]);
        if (strnlen(out, sizes[i]) == sizes[i])
            abort();
        free(out);
    }
    return 0;
}
