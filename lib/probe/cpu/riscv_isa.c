/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The isa line of RISC-V. Source: RISC-V ISA manual, "ISA extension naming conventions"; what Linux
 * writes of it: arch/riscv/kernel/cpu.c. */
#include "lib/probe/cpu/cpuid.h"

#include <string.h>

static const char *const general[] = {"i", "m", "a", "f", "d", "zicsr", "zifencei", NULL};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

bool ocv_isa_begin(struct ocv_isa *isa, const char *line, size_t len)
{
    if (len < 4 || memcmp(line, "rv64", 4) != 0)
        return false;
    *isa = (struct ocv_isa){.at = line + 4, .end = line + len};
    return true;
}

bool ocv_isa_next(struct ocv_isa *isa, const char **name, size_t *len)
{
    if (isa->general && *isa->general) {
        *name = *isa->general++;
        *len = strlen(*name);
        return true;
    }
    while (isa->at < isa->end && *isa->at == '_')
        isa->at++;
    if (isa->at == isa->end || !is_letter(*isa->at))
        return false;
    /* Names of several letters begin with z, x or s; kernels before 5.18 also wrote the privilege
     * modes, as the letters "su" after the others. */
    const char *start = isa->at, *end = start + 1;
    bool modes =
        isa->end - start >= 2 && start[1] == 'u' && (isa->end - start == 2 || start[2] == '_');
    bool several = *start == 's' ? isa->end - start >= 2 && is_letter(start[1]) && !modes
                                 : *start == 'z' || *start == 'x';
    if (several) {
        while (end < isa->end && (is_letter(*end) || is_digit(*end)))
            end++;
        isa->at = end;
        /* without its version; only the form 2p1 can be told from a name that ends with a digit
         * (zic64b, sv39, zve32x are none) */
        const char *at = end;
        while (at > start && is_digit(at[-1]))
            at--;
        if (at < end && at - start >= 3 && at[-1] == 'p' && is_digit(at[-2])) {
            for (at--; at > start && is_digit(at[-1]);)
                at--;
            end = at > start ? at : end;
        }
    } else {
        const char *at = end; /* past a version like 2p1 or 2 */
        while (at < isa->end && is_digit(*at))
            at++;
        if (isa->end - at >= 2 && *at == 'p' && is_digit(at[-1]) && is_digit(at[1]))
            for (at++; at < isa->end && is_digit(*at);)
                at++;
        isa->at = at;
    }
    if (*start == 'g' && end - start == 1) {
        isa->general = general;
        return ocv_isa_next(isa, name, len);
    }
    *name = start;
    *len = (size_t)(end - start);
    return true;
}
