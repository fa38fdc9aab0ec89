/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any lines as the heads of a registry's answer. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_response response = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    ocv_response_reset(&response);
    for (size_t at = 0, n; at < size; at += n) {
        const char *end = memchr(text + at, '\n', size - at);
        n = end ? (size_t)(end - text) - at + 1 : size - at;
        if (ocv_response_header(text + at, 1, n, &response) != n)
            break;
        if (response.status && (response.status < 100 || response.status > 999))
            abort();
    }
    ocv_response_reset(&response);
    free(text);
    return 0;
}
