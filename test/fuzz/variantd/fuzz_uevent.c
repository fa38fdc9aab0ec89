/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a message of the kernel about a device: what is reported fits, and is text. */
#include "cmd/variantd/node/uevent.c"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[160], *message = malloc(size ? size : 1); /* of just that size, for ASan */
    if (!message)
        return 0;
    memcpy(message, data, size);
    bool matters = uevent_matters(message, size, why, sizeof(why));
    if (matters && (strncmp(why, "uevent: ", 8) != 0 || strlen(why) > 8 + 16 + 32 + 64 + 2))
        abort();
    free(message);
    return 0;
}
