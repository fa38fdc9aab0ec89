/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any page of a list of referrers, twice: what has a digest is in the list once. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {0};
    struct ocv_buffer body = {.data = (char *)data, .len = size};
    json_t *list = json_array(), *seen = json_object();
    size_t entries;
    int status = ocv_referrers_read("page", &body, list, seen, &entries, &err);
    size_t n = json_array_size(list), known = json_object_size(seen);
    if (status < 0 && (!*err.message || n > size))
        abort();
    if (status == OCV_OK &&
        ocv_referrers_read("page", &body, list, seen, &entries, NULL) == OCV_OK &&
        (entries < n || json_array_size(list) != 2 * n - known))
        abort();
    json_decref(list);
    json_decref(seen);
    return 0;
}
