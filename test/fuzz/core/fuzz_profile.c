/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles: an accepted profile, written and parsed again, gives the same text. */
#include "lib/core/core_internal.h"
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_profile) again = NULL;
    ocv_auto_buffer first;
    ocv_auto_buffer second;
    ocv_buffer_init(&first, 1u << 28);
    ocv_buffer_init(&second, 1u << 28);
    if (ocv_profile_parse(data, size, &profile, NULL) < 0)
        return 0;
    if (ocv_json_append(profile->root, 0, &first, NULL) < 0)
        abort();
    if (first.len > OCV_PROFILE_MAX)
        return 0; /* escapes may make it exceed the limit */
    if (ocv_profile_parse(first.data, first.len, &again, NULL) < 0 ||
        ocv_json_append(again->root, 0, &second, NULL) < 0)
        abort();
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
        abort();
    return 0;
}
