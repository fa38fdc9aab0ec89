/* SPDX-License-Identifier: GPL-3.0-or-later */
/* WWW-Authenticate: any bytes; the result is terminated and within its limits. */
#include "lib/registry/auth/credentials.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_challenge out[4];
    size_t n = ocv_challenge_parse((const char *)data, size, out, 4);
    if (n > 4)
        abort();
    for (size_t i = 0; i < n; i++) {
        if (!out[i].scheme[0] || !memchr(out[i].scheme, 0, sizeof(out[i].scheme)) ||
            !memchr(out[i].realm, 0, sizeof(out[i].realm)) ||
            !memchr(out[i].service, 0, sizeof(out[i].service)) ||
            !memchr(out[i].scope, 0, sizeof(out[i].scope)))
            abort();
    }
    return 0;
}
