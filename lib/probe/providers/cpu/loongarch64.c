/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace loongarch64: levels of the software development conventions and vectors. /proc/cpuinfo
 * does not tell what v1.1 adds, so a recorded machine is v1.0 at most. */
#include "lib/probe/providers/cpu/cpu.h"

#if defined(__loongarch__) && __loongarch_grlen == 64
#include <sys/auxv.h>
#endif

#define HWCAP 0
#define CPUCFG2 1 /* words of CPUCFG, which user space may read */
#define CPUCFG3 2

/* Bits: Linux arch/loongarch/include/uapi/asm/hwcap.h; LoongArch Reference Manual volume 1, table
 * of CPUCFG words. */
static const struct ocv_cpu_flag flags[] = {
    {"lasx", HWCAP, 5, false, NULL},        {"lsx", HWCAP, 4, false, NULL},
    {"fpu", HWCAP, 3, true, NULL},          {"ual", HWCAP, 2, true, NULL},
    {"frecipe", CPUCFG2, 25, true, NULL},   {"div32", CPUCFG2, 26, true, NULL},
    {"lam_bh", CPUCFG2, 27, true, NULL},    {"lamcas", CPUCFG2, 28, true, NULL},
    {"ld_seq_sa", CPUCFG3, 23, true, NULL},
};

/* Source: what GCC's -march=la64v1.0 and -march=la64v1.1 may use. */
static const struct ocv_cpu_level levels[] = {
    {"la64v1.0", {"ual", "fpu", "lsx"}},
    {"la64v1.1", {"frecipe", "div32", "lam_bh", "lamcas", "ld_seq_sa"}},
};

#if defined(__loongarch__) && __loongarch_grlen == 64
#define HWCAP_CPUCFG 1u

static uint64_t read_cpucfg(uint64_t word)
{
    uint64_t value;
    __asm__("cpucfg %0, %1" : "=r"(value) : "r"(word));
    return value & UINT32_MAX;
}

static void ask_processor(struct ocv_cpu_facts *facts)
{
    facts->words[HWCAP] = getauxval(AT_HWCAP);
    if (facts->words[HWCAP] & HWCAP_CPUCFG) {
        facts->words[CPUCFG2] = read_cpucfg(2);
        facts->words[CPUCFG3] = read_cpucfg(3);
    }
}
#else
#define ask_processor NULL
#endif

const struct ocv_cpu ocv_cpu_loongarch64 = {.ns = "loongarch64",
                                            .architecture = "loong64",
                                            .flags = flags,
                                            .n_flags = sizeof(flags) / sizeof(*flags),
                                            .feature = "level",
                                            .levels = levels,
                                            .n_levels = sizeof(levels) / sizeof(*levels),
                                            .live = ask_processor};
