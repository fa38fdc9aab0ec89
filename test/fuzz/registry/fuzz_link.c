/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Link and the other headers of an answer: any bytes. The target lies within the text. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *target = NULL;
    size_t n = ocv_link_next(text, size, &target);
    if (n && (target < text || target + n >= text + size || memchr(target, '>', n)))
        abort();
    struct ocv_response response = {0};
    ocv_response_reset(&response);
    for (size_t at = 0; at < size;) { /* line by line, as libcurl gives them */
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t len = end ? (size_t)(end + 1 - (data + at)) : size - at;
        char *line = malloc(len);
        if (!line)
            break;
        memcpy(line, data + at, len);
        (void)ocv_response_header(line, 1, len, &response);
        free(line);
        at += len;
    }
    if (response.range_start > response.range_end)
        abort();
    ocv_response_reset(&response);
    return 0;
}
