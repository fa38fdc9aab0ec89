/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes, read without a tree (token answers, error pages, lists of tags). */
#include "lib/base/format/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int check(void *data, const struct ocv_json_at *at)
{
    if (at->depth > OCV_JSON_WALK_KEYS || (at->text && strlen(at->text) > *(const size_t *)data))
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {0};
    int status = ocv_json_walk((const char *)data, size, check, &size, &err);
    if (status < 0 && !err.message[0])
        abort();
    return 0;
}
