/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any page of a list of referrers, twice: a list that grows. */
#include "cmd/variantctl/place/place.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {0};
    struct ocv_buffer body = {.data = (char *)data, .len = size};
    json_t *list = json_array();
    int status = referrers_read(&body, "page", list, &err);
    size_t n = json_array_size(list);
    if (status < 0 && (!*err.message || n > size))
        abort();
    if (status == OCV_OK && referrers_read(&body, "page", list, NULL) == OCV_OK &&
        json_array_size(list) != 2 * n)
        abort();
    json_decref(list);
    return 0;
}
