/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Any bytes as the daemon's answer: everything returned lies inside of it. */
#include "lib/internal/records/daemon.h"
#include "ocivariant.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long status = 0;
    size_t body = 0, length = 0;
    if (ocv_daemon_parse_answer((const char *)data, size, &status, &body, &length, NULL) < 0)
        return 0;
    if (body > size || length != size - body || status < 0 || status > 999 ||
        memcmp(data + body - 4, "\r\n\r\n", 4) != 0)
        __builtin_trap();
    return 0;
}
