/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace ppc64le: processor generations, as glibc-hwcaps has them. */
#include "lib/probe/providers/cpu/cpu.h"

#include <string.h>

#if defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#include <sys/auxv.h>
#endif

#define HWCAP2 1
#define PLATFORM 2 /* word of what the generation's name adds to the bits */
#define BIT(n) (UINT64_C(1) << (n))

/* Bits: Linux arch/powerpc/include/uapi/asm/cputable.h. POWER11 has the bits of POWER10. */
enum { MMA = 17, ARCH_3_1 = 18, IEEE128 = 22, ARCH_3_00 = 23, ARCH_2_07 = 31 };

static const struct ocv_cpu_flag flags[] = {
    {"mma", HWCAP2, MMA, false, NULL},
    {"arch_3_1", HWCAP2, ARCH_3_1, true, NULL},
    {"ieee128", HWCAP2, IEEE128, true, NULL},
    {"arch_3_00", HWCAP2, ARCH_3_00, true, NULL},
    {"arch_2_07", HWCAP2, ARCH_2_07, true, NULL},
    {"power11", PLATFORM, 0, true, NULL},
};

/* Source: glibc, sysdeps/powerpc/powerpc64/le/dl-hwcaps_subdirs.c, to which power8, its baseline,
 * and power11 are added. */
static const struct ocv_cpu_level levels[] = {
    {"power8", {"arch_2_07"}},
    {"power9", {"arch_3_00", "ieee128"}},
    {"power10", {"arch_3_1", "mma"}},
    {"power11", {"power11"}},
};

/* The number in "POWER9 (raw), altivec supported" or "power9", 0 if there is none. In a partition
 * that is held to an older generation both name the older one. */
static unsigned generation(const char *name)
{
    return name ? ocv_cpuinfo_power(name, strlen(name)) : 0;
}

/* /proc/cpuinfo has no flags, only the generation's name. */
static void correct_facts(const struct ocv_cpuinfo *cpuinfo, struct ocv_cpu_facts *facts)
{
    unsigned n = generation(cpuinfo->fields[OCV_CPUINFO_CPU]);
    if (n >= 8)
        facts->words[HWCAP2] |= BIT(ARCH_2_07);
    if (n >= 9)
        facts->words[HWCAP2] |= BIT(ARCH_3_00) | BIT(IEEE128);
    if (n >= 10)
        facts->words[HWCAP2] |= BIT(ARCH_3_1) | BIT(MMA);
    if (n >= 11)
        facts->words[PLATFORM] = 1;
}

#if defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
static void ask_kernel(struct ocv_cpu_facts *facts)
{
    facts->words[HWCAP2] = getauxval(AT_HWCAP2);
    facts->words[PLATFORM] = generation((const char *)getauxval(AT_PLATFORM)) >= 11;
}
#else
#define ask_kernel NULL
#endif

const struct ocv_cpu ocv_cpu_ppc64le = {.ns = "ppc64le",
                                        .architecture = "ppc64le",
                                        .flags = flags,
                                        .n_flags = sizeof(flags) / sizeof(*flags),
                                        .feature = "level",
                                        .levels = levels,
                                        .n_levels = sizeof(levels) / sizeof(*levels),
                                        .live = ask_kernel,
                                        .correct = correct_facts};
