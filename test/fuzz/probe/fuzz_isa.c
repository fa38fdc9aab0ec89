/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The isa line of RISC-V: every name is inside the line or of `g`, of letters and digits, and never
 * empty; the walk ends. */
#include "lib/probe/cpu/cpuid.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9')))
            return false;
    return len > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_isa isa;
    const char *name;
    size_t len, n = 0;
    char *line = malloc(size ? size : 1); /* so that reading past it is detected */
    if (!line)
        return 0;
    if (size)
        memcpy(line, data, size);
    if (ocv_isa_begin(&isa, line, size))
        while (ocv_isa_next(&isa, &name, &len))
            if (!is_plain(name, len) || ++n > 7 * size) /* "g" expands to seven names */
                abort();
    free(line);
    return 0;
}
