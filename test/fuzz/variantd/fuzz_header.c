/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accept, Range and Host: a range lies within the object and within the one requested. */
#include "cmd/variantd/http/httpd.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t length = 0, from = -1, end = -1;
    if (size < sizeof(length))
        return 0;
    memcpy(&length, data, sizeof(length));
    length &= INT64_MAX;
    char *value = strndup((const char *)data + sizeof(length), size - sizeof(length));
    if (!value)
        return 0;
    if (header_range_of(value, length, &from, &end) &&
        (!header_range_single(value) || from < 0 || end < from || end >= length))
        abort();
    if (header_accepts(value, "application/vnd.oci.image.manifest.v1+json") && !strchr(value, '/'))
        abort();
    if (header_host_is_ours(value, NULL, 0) && strpbrk(value, "@/, "))
        abort();
    free(value);
    return 0;
}
