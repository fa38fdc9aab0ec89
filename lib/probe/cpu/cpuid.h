/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPUID: the answers of this processor, or those that a file recorded. */
#ifndef OCV_CPUID_H
#define OCV_CPUID_H

#include "ocivariant/buffer.h"
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

/* /proc/cpuinfo of this machine or of a recorded one. Needs no library but the core's buffers and
 * errors, so that it can be cross-built alone (test/tools/cpuprobe.c). */

#define OCV_CPUINFO_MAX (64u * 1024 * 1024) /**< bytes; 8,192 processors write about 16 MiB */
#define OCV_CPUINFO_FLAGS_MAX 1024u         /**< flags of a processor */

/** Lines that are kept as they are, of the first processor that has them. */
enum ocv_cpuinfo_field {
    OCV_CPUINFO_CPU,       /**< POWER: "POWER9 (raw), altivec supported" */
    OCV_CPUINFO_MACHINE,   /**< s390x: "version = FF,  identification = 2733E8,  machine = 3931" */
    OCV_CPUINFO_UARCH,     /**< RISC-V: "sifive,u74-mc" */
    OCV_CPUINFO_MVENDORID, /**< RISC-V: "0x710" */
    OCV_CPUINFO_MARCHID,   /**< RISC-V: "0x8000000058000001" */
    OCV_CPUINFO_FIELDS
};

struct ocv_cpuinfo {
    char *strings;      /**< what the others point into */
    const char **flags; /**< sorted; what every processor has. RISC-V: extensions of the isa line */
    size_t n_flags;
    const char *architecture; /**< GOARCH by the content, or NULL */
    const char *variant;      /**< of the platform where the content says it, or NULL */
    const char *fields[OCV_CPUINFO_FIELDS]; /**< NULL where there is no such line */
};

/** Take over `text` (also on failure) and read it. OCV_ERR_DATA past a limit. */
int ocv_cpuinfo_parse(struct ocv_buffer *text, struct ocv_cpuinfo *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_cpuinfo_free(struct ocv_cpuinfo *cpuinfo);
bool ocv_cpuinfo_has(const struct ocv_cpuinfo *cpuinfo, const char *flag);

/** The length of the next word of a line, between blanks; 0 at its end. */
size_t ocv_cpuinfo_word(const char **at, const char *end, const char **word);

/** The generation in the value of POWER's "cpu" line: 11 of "Power11 (architected)", "POWER10" or
 *  "power9", 0 if there is none. */
unsigned ocv_cpuinfo_power(const char *text, size_t len);

/** Walk over a line like "rv64imafdcv_zicbom_zba"; `g` counts as what it stands for. */
struct ocv_isa {
    const char *at, *end;
    const char *const *general; /**< rest of what `g` stands for */
};

/** False unless the line is of 64-bit RISC-V. */
bool ocv_isa_begin(struct ocv_isa *isa, const char *line, size_t len);
/** Next extension in line order, without its version: letters and digits, not terminated. False at
 *  the end, or where the isa line ends. */
bool ocv_isa_next(struct ocv_isa *isa, const char **name, size_t *len);

#endif
