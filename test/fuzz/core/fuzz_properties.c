/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Property lists and labels: the canonical form is a fixed point. */
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    ocv_auto(ocv_properties) set = NULL;
    ocv_auto(ocv_properties) again = NULL;
    ocv_auto_buffer first;
    ocv_auto_buffer second;
    ocv_buffer_init(&first, 1u << 16);
    ocv_buffer_init(&second, 1u << 16);
    if (ocv_label_valid(text, size) && !ocv_label_readable(text, size))
        abort();
    if (ocv_properties_parse(text, size, &set, NULL) < 0)
        return 0;
    if (ocv_properties_format(set, &first, NULL) < 0)
        abort();
    if (first.len > OCV_ENTRY_PROPERTIES_BYTES_MAX)
        return 0; /* the canonical form has more blanks */
    if (ocv_properties_parse(first.data ? first.data : "", first.len, &again, NULL) < 0 ||
        ocv_properties_format(again, &second, NULL) < 0)
        abort();
    if (first.len != second.len || (first.len && memcmp(first.data, second.data, first.len) != 0))
        abort();
    return 0;
}
