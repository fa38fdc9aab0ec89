/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user of an image's config. */
#include "lib/core/core_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char user[OCV_IMAGE_USER_MAX];
    if (ocv_image_user(data, size, user, NULL) == OCV_OK &&
        (!*user || strchr(user, ':') || strcmp(user, "0") == 0))
        abort();
    return 0;
}
