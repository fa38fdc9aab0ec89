/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as plain JSON: what is taken is what jansson makes of them. */
#include "lib/base/format/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool nomem = false;
    ocv_auto_json *json = ocv_json_plain((const char *)data, size, &nomem);
    if (!json)
        return 0;
    ocv_auto_json *expected = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (nomem || !expected || !json_equal(json, expected))
        __builtin_trap();
    return 0;
}
