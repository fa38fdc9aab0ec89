/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPUID: the answers of this processor, or those that a file recorded. */
#ifndef OCV_CPUID_H
#define OCV_CPUID_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCV_CPUID_FILE_MAX (1024u * 1024) /**< bytes of a --cpuid file */
#define OCV_CPUID_ROWS_MAX 4096u          /**< leaves in it */

enum ocv_register { OCV_EAX, OCV_EBX, OCV_ECX, OCV_EDX };

struct ocv_cpuid_row {
    uint32_t leaf;
    uint32_t subleaf;
    uint32_t registers[4];
};

/** The answers of one processor. Sorted by leaf and subleaf once read. */
struct ocv_cpuid {
    struct ocv_cpuid_row *rows;
    size_t n;
    bool has_xcr0; /**< not recorded: every state component counts as enabled if OSXSAVE is set */
    uint64_t xcr0;
};

/** Parse a text of "LEAF SUBLEAF EAX EBX ECX EDX" and "xcr0 HEX" lines; `#` starts a comment.
 *  `source` names it in messages. Malformed, a leaf twice, no leaf at all: OCV_ERR_DATA. */
int ocv_cpuid_parse(const char *source, const char *text, size_t len, struct ocv_cpuid *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Read such a file. */
int ocv_cpuid_read(const char *path, struct ocv_cpuid *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Ask the processor this runs on for `n` leaves. OCV_ERR_UNSUPPORTED on other architectures. */
int ocv_cpuid_live(const uint32_t (*leaves)[2], size_t n, struct ocv_cpuid *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_cpuid_free(struct ocv_cpuid *cpuid);
/** One register, 0 where the processor does not know the leaf (leaf 0, leaf 80000000 and leaf 7
 *  say which it knows; a processor answers something for the others too). */
uint32_t ocv_cpuid_word(const struct ocv_cpuid *cpuid, uint32_t leaf, uint32_t subleaf,
                        enum ocv_register reg);
/** State components that the operating system saves; 0 without OSXSAVE. */
uint64_t ocv_cpuid_xcr0(const struct ocv_cpuid *cpuid);

#endif
