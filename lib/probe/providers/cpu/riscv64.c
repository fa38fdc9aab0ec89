/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace riscv64: extensions and the application profiles that they make. The system call
 * riscv_hwprobe(2) where there is one (Linux 6.4), else AT_HWCAP's letters and the isa line of
 * /proc/cpuinfo, if that is RISC-V's: emulators pass the one of their host. */
#include "lib/probe/providers/cpu/cpu.h"

#include <string.h>

#if defined(__riscv) && __riscv_xlen == 64
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define LETTERS 0    /* word of AT_HWCAP: bit 0 is extension A */
#define EXTENSIONS 2 /* word of hwprobe's key IMA_EXT_0 */
#define LETTER(c) (UINT64_C(1) << ((c) - 'a'))
#define BIT_V (UINT64_C(1) << 2)

/* In the order of the profile. Bits: Linux arch/riscv/include/uapi/asm/hwprobe.h. */
static const struct ocv_cpu_flag flags[] = {
    {"v", EXTENSIONS, 2, false, NULL},
    {"zvfh", EXTENSIONS, 30, false, NULL},
    {"zvfhmin", EXTENSIONS, 31, false, "zvfh"},
    {"zvbb", EXTENSIONS, 17, false, NULL},
    {"zvbc", EXTENSIONS, 18, false, NULL},
    {"zvkb", EXTENSIONS, 19, false, "zvbb"},
    {"zvkg", EXTENSIONS, 20, false, NULL},
    {"zvkned", EXTENSIONS, 21, false, NULL},
    {"zvknhb", EXTENSIONS, 23, false, NULL},
    {"zvksed", EXTENSIONS, 24, false, NULL},
    {"zvksh", EXTENSIONS, 25, false, NULL},
    {"zvkt", EXTENSIONS, 26, false, NULL},
    {"zba", EXTENSIONS, 3, false, NULL},
    {"zbb", EXTENSIONS, 4, false, NULL},
    {"zbc", EXTENSIONS, 7, false, NULL},
    {"zbs", EXTENSIONS, 5, false, NULL},
    {"zbkb", EXTENSIONS, 8, false, NULL},
    {"zbkc", EXTENSIONS, 9, false, NULL},
    {"zbkx", EXTENSIONS, 10, false, NULL},
    {"zknd", EXTENSIONS, 11, false, NULL},
    {"zkne", EXTENSIONS, 12, false, NULL},
    {"zknh", EXTENSIONS, 13, false, NULL},
    {"zicond", EXTENSIONS, 35, false, NULL},
    {"zicbom", EXTENSIONS, 50, false, NULL},
    {"zicbop", EXTENSIONS, OCV_CPU_NO_BIT, false, NULL},
    {"zicboz", EXTENSIONS, 6, false, NULL},
    {"zfa", EXTENSIONS, 32, false, NULL},
    {"zfh", EXTENSIONS, 27, false, NULL},
    {"zfhmin", EXTENSIONS, 28, false, "zfh"},
    {"zacas", EXTENSIONS, 34, false, NULL},
    {"zawrs", EXTENSIONS, 48, false, NULL},
    {"zcb", EXTENSIONS, 44, false, NULL},
    {"zihintpause", EXTENSIONS, 36, false, NULL},
    {"zihintntl", EXTENSIONS, 29, false, NULL},
    {"zimop", EXTENSIONS, 42, false, NULL},
    {"zcmop", EXTENSIONS, 47, false, NULL},
    {"zkt", EXTENSIONS, 16, true, NULL},
    {"i", LETTERS, 8, true, NULL},
    {"m", LETTERS, 12, true, NULL},
    {"a", LETTERS, 0, true, NULL},
    {"f", LETTERS, 5, true, NULL},
    {"d", LETTERS, 3, true, NULL},
    {"c", LETTERS, 2, true, NULL},
};

/* Of each profile the extensions that the kernel reports. The others are either part of Linux's own
 * requirements (Zicsr, Ziccif, Za64rs, ...), or hints that do nothing where they are unknown
 * (Zihintpause, Zicbop), or reported only by kernels newer than the machines (Zicbom, Supm).
 * Source: RISC-V Profiles, RVA20, RVA22 and RVA23. */
static const struct ocv_cpu_level levels[] = {
    {"rva20u64", {"i", "m", "a", "f", "d", "c"}},
    {"rva22u64", {"zba", "zbb", "zbs", "zicboz", "zfhmin", "zkt"}},
    {"rva23u64",
     {"v", "zvfhmin", "zvbb", "zvkt", "zicond", "zimop", "zcmop", "zcb", "zfa", "zawrs"}},
};

/* T-Head's older cores have the vector draft 0.7.1, whose code is another, and their kernels list
 * it as V. Cores of theirs with the ratified V have a marchid that is not 0. Source: Linux,
 * arch/riscv/kernel/cpufeature.c. */
static void correct_facts(const struct ocv_cpuinfo *cpuinfo, struct ocv_cpu_facts *facts)
{
    const char *vendor = cpuinfo->fields[OCV_CPUINFO_MVENDORID];
    const char *core = cpuinfo->fields[OCV_CPUINFO_MARCHID];
    const char *uarch = cpuinfo->fields[OCV_CPUINFO_UARCH];
    bool draft = (vendor && strcmp(vendor, "0x5b7") == 0 && (!core || strcmp(core, "0x0") == 0)) ||
                 (uarch && strncmp(uarch, "thead,c9", 8) == 0 && !core) ||
                 /* the letters "su" are of kernels long before Linux knew the ratified V */
                 (ocv_cpuinfo_has(cpuinfo, "s") && ocv_cpuinfo_has(cpuinfo, "u"));
    if (!draft)
        return;
    facts->words[LETTERS] &= ~LETTER('v');
    facts->words[EXTENSIONS] &= ~BIT_V;
    facts->without = "v";
}

#define BASE_IMA 1u
#define BIT_FD 1u
#define BIT_C 2u

void ocv_riscv64_hwprobe(uint64_t base, uint64_t extensions, struct ocv_cpu_facts *facts)
{
    facts->source = "hwprobe";
    facts->words[LETTERS] = 0;
    if (base & BASE_IMA)
        facts->words[LETTERS] |= LETTER('i') | LETTER('m') | LETTER('a');
    if (extensions & BIT_FD)
        facts->words[LETTERS] |= LETTER('f') | LETTER('d');
    if (extensions & BIT_C)
        facts->words[LETTERS] |= LETTER('c');
    facts->words[EXTENSIONS] = extensions;
}

#if defined(__riscv) && __riscv_xlen == 64
#define SYS_RISCV_HWPROBE 258
#define KEY_BASE_BEHAVIOR 3
#define KEY_IMA_EXT_0 4

struct hwprobe_pair {
    int64_t key; /* -1 where the kernel does not know it */
    uint64_t value;
};

static void ask_kernel(struct ocv_cpu_facts *facts)
{
    struct hwprobe_pair pairs[] = {{KEY_BASE_BEHAVIOR, 0}, {KEY_IMA_EXT_0, 0}};
    if (syscall(SYS_RISCV_HWPROBE, pairs, sizeof(pairs) / sizeof(*pairs), 0, NULL, 0) == 0 &&
        pairs[0].key >= 0 && pairs[1].key >= 0) { /* what all processors have in common */
        ocv_riscv64_hwprobe(pairs[0].value, pairs[1].value, facts);
        return;
    }
    facts->words[LETTERS] = getauxval(AT_HWCAP);
    if (facts->words[LETTERS] & LETTER('v'))
        facts->words[EXTENSIONS] = BIT_V;
}
#else
#define ask_kernel NULL
#endif

const struct ocv_cpu ocv_cpu_riscv64 = {.ns = "riscv64",
                                        .architecture = "riscv64",
                                        .flags = flags,
                                        .n_flags = sizeof(flags) / sizeof(*flags),
                                        .feature = "profile",
                                        .levels = levels,
                                        .n_levels = sizeof(levels) / sizeof(*levels),
                                        .hwcap_is_thin = true,
                                        .live = ask_kernel,
                                        .correct = correct_facts};
