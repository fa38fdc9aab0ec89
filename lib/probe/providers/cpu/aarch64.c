/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace aarch64: architecture version and flags from the kernel's hardware capabilities. No
 * kernel file states the version, and a table of models needs a release per processor. The kernel
 * itself lists only what all cores of a machine of unequal cores have. */
#include "lib/probe/providers/cpu/cpu.h"

#if defined(__aarch64__)
#include <string.h>
#include <sys/auxv.h>

#ifndef HWCAP_SVE
#define HWCAP_SVE (1UL << 22)
#endif
#endif

/* In the order of the profile: newest first. Bits: Linux arch/arm64/include/uapi/asm/hwcap.h. */
static const struct ocv_cpu_flag flags[] = {
    {"sme2p1", 1, 38, false, NULL},   {"sme2", 1, 37, false, NULL},
    {"sme", 1, 23, false, NULL},      {"sve2p1", 1, 36, false, NULL},
    {"sve2", 1, 1, false, NULL},      {"sveaes", 1, 2, false, NULL},
    {"svepmull", 1, 3, false, NULL},  {"svesha3", 1, 5, false, NULL},
    {"svesm4", 1, 6, false, NULL},    {"svebitperm", 1, 4, false, NULL},
    {"flagm2", 1, 7, false, NULL},    {"frint", 1, 8, false, NULL},
    {"sb", 0, 29, false, NULL},       {"bti", 1, 17, false, NULL},
    {"ecv", 1, 19, false, NULL},      {"wfxt", 1, 31, false, NULL},
    {"mops", 1, 43, false, NULL},     {"cssc", 1, 34, false, NULL},
    {"lse128", 1, 47, false, NULL},   {"lrcpc3", 1, 46, false, NULL},
    {"rprfm", 1, 35, false, NULL},    {"paca", 0, 30, false, NULL},
    {"pacg", 0, 31, false, NULL},     {"mte", 1, 18, false, NULL},
    {"ssbs", 0, 28, false, NULL},     {"asimdfhm", 0, 23, false, NULL},
    {"bf16", 1, 14, false, NULL},     {"ebf16", 1, 32, false, NULL},
    {"dcpodp", 1, 0, false, NULL},    {"dgh", 1, 15, false, NULL},
    {"dit", 0, 24, false, NULL},      {"flagm", 0, 27, false, NULL},
    {"i8mm", 1, 13, false, NULL},     {"ilrcpc", 0, 26, false, NULL},
    {"jscvt", 0, 13, false, NULL},    {"rng", 1, 16, false, NULL},
    {"sha3", 0, 17, false, NULL},     {"sha512", 0, 21, false, NULL},
    {"sm3", 0, 18, false, NULL},      {"sm4", 0, 19, false, NULL},
    {"svebf16", 1, 12, false, NULL},  {"svei8mm", 1, 9, false, NULL},
    {"svef32mm", 1, 10, false, NULL}, {"svef64mm", 1, 11, false, NULL},
    {"uscat", 0, 25, false, NULL},    {"asimddp", 0, 20, false, NULL},
    {"lrcpc", 0, 15, false, NULL},    {"asimdhp", 0, 10, false, NULL},
    {"dcpop", 0, 16, false, NULL},    {"fcma", 0, 14, false, NULL},
    {"fphp", 0, 9, false, NULL},      {"sve", 0, 22, false, NULL},
    {"asimdrdm", 0, 12, false, NULL}, {"atomics", 0, 8, false, NULL},
    {"aes", 0, 3, false, NULL},       {"asimd", 0, 1, false, NULL},
    {"cpuid", 0, 11, false, NULL},    {"crc32", 0, 7, false, NULL},
    {"evtstrm", 0, 2, false, NULL},   {"fp", 0, 0, false, NULL},
    {"pmull", 0, 4, false, NULL},     {"sha1", 0, 5, false, NULL},
    {"sha2", 0, 6, false, NULL},      {"hbc", 1, 44, true, NULL},
};

/* Not asked for, because kernels and hypervisors hide them on processors that have them: paca pacg
 * ssbs bti mte rng afp rpres dgh. ecv keeps Armv9.0 cores, which have i8mm and bf16, below v8.6.
 * Source: Arm ARM (DDI 0487) A2, checked against recorded processors of known version. */
static const struct ocv_cpu_level levels[] = {
    {"8.1", {"atomics", "asimdrdm", "crc32"}},
    {"8.2", {"dcpop"}},
    {"8.3", {"jscvt", "fcma", "lrcpc"}},
    {"8.4", {"asimddp", "flagm", "ilrcpc", "uscat", "dit"}},
    {"8.5", {"flagm2", "frint", "sb", "dcpodp"}},
    {"8.6", {"i8mm", "bf16", "ecv"}},
    {"8.7", {"wfxt"}},
    {"8.8", {"mops", "hbc"}},
    {"8.9", {"cssc"}},
};
#define N_LEVELS (sizeof(levels) / sizeof(*levels))

static const char *const v8_values[N_LEVELS + 1] = {"8a",   "8.1a", "8.2a", "8.3a", "8.4a",
                                                    "8.5a", "8.6a", "8.7a", "8.8a", "8.9a"};
static const char *const v8_variants[N_LEVELS + 1] = {"v8",   "v8.1", "v8.2", "v8.3", "v8.4",
                                                      "v8.5", "v8.6", "v8.7", "v8.8", "v8.9"};
#define V9_0_IS 5 /* Armv9.k is Armv8.(5+k) with SVE2 */
static const char *const v9_values[] = {"9.0a", "9.1a", "9.2a", "9.3a", "9.4a"};
static const char *const v9_variants[] = {"v9", "v9.1", "v9.2", "v9.3", "v9.4"};

static void put_versions(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts, size_t minor,
                         struct ocv_cpu_answer *answer)
{
    answer->variant = v8_variants[minor];
    if (minor >= V9_0_IS && ocv_cpu_has(cpu, facts, "sve2")) {
        answer->variant = v9_variants[minor - V9_0_IS];
        for (size_t k = minor - V9_0_IS + 1; k-- > 0;)
            ocv_cpu_put(answer, cpu->feature, v9_values[k]);
    }
    for (size_t k = minor + 1; k-- > 0;)
        ocv_cpu_put(answer, cpu->feature, v8_values[k]);
}

#if defined(__aarch64__)
static void ask_kernel(struct ocv_cpu_facts *facts)
{
    facts->words[0] = getauxval(AT_HWCAP);
    facts->words[1] = getauxval(AT_HWCAP2);
    if (facts->words[0] & HWCAP_SVE)
        return;
    /* qemu 8 keeps extensions of vectors that were switched off */
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (flags[i].word == 1 && !strncmp(flags[i].name, "sve", 3))
            facts->words[1] &= ~(UINT64_C(1) << flags[i].bit);
}
#else
#define ask_kernel NULL
#endif

const struct ocv_cpu ocv_cpu_aarch64 = {.ns = "aarch64",
                                        .architecture = "arm64",
                                        .flags = flags,
                                        .n_flags = sizeof(flags) / sizeof(*flags),
                                        .feature = "version",
                                        .levels = levels,
                                        .n_levels = N_LEVELS,
                                        .live = ask_kernel,
                                        .put_levels = put_versions};
