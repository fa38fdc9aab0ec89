/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fleet document. An accepted fleet can be packed, and unpacks to the same fleet. */
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PACKED_MAX ((size_t)256 * 1024 * 1024)

static void pack(const struct ocv_fleet *fleet, struct ocv_buffer *out)
{
    ocv_buffer_init(out, PACKED_MAX);
    if (ocv_fleet_pack(fleet, out, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_fleet_reading how = {.skip_bad = size && data[0] & 1};
    ocv_auto(ocv_fleet) fleet = NULL;
    ocv_auto(ocv_fleet) again = NULL;
    if (ocv_fleet_new(&fleet, NULL) < 0 || ocv_fleet_new(&again, NULL) < 0)
        return 0;
    if (ocv_fleet_read(fleet, size ? data + 1 : data, size ? size - 1 : 0, &how, NULL) < 0) {
        /* what was read before the error stays, and is complete */
    }
    ocv_auto_buffer first;
    ocv_auto_buffer second;
    pack(fleet, &first);
    how = (struct ocv_fleet_reading){0};
    if (ocv_fleet_read(again, first.data, first.len, &how, NULL) < 0)
        abort();
    pack(again, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
        abort();
    return 0;
}
