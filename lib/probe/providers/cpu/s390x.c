/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace s390x: machine generations, as glibc-hwcaps has them. */
#include "lib/probe/providers/cpu/cpu.h"

#include <string.h>

#if defined(__s390x__)
#include <sys/auxv.h>
#endif

#define HWCAP 0
#define FACILITIES 2 /* word of facilities without a capability bit */

/* Bits: Linux arch/s390/include/asm/elf.h. */
static const struct ocv_cpu_flag flags[] = {
    {"nnpa", HWCAP, 20, false, NULL},      {"vxp2", HWCAP, 19, false, NULL},
    {"vxp", HWCAP, 16, false, NULL},       {"vxe2", HWCAP, 15, false, NULL},
    {"vxe", HWCAP, 13, false, NULL},       {"vxd", HWCAP, 12, false, NULL},
    {"vx", HWCAP, 11, false, NULL},        {"sort", HWCAP, 17, false, NULL},
    {"dflt", HWCAP, 18, false, NULL},      {"gs", HWCAP, 14, true, NULL},
    {"arch15", FACILITIES, 0, true, NULL},
};

/* Source: glibc, sysdeps/s390/s390-64/dl-hwcaps_subdirs.c. */
static const struct ocv_cpu_level levels[] = {
    {"z13", {"vx"}},   {"z14", {"vxd", "vxe", "gs"}}, {"z15", {"vxe2", "vxp"}},
    {"z16", {"vxp2"}}, {"z17", {"arch15"}},
};

/* z17 adds no flag to /proc/cpuinfo, but its machine types show it. */
static void correct_facts(const struct ocv_cpuinfo *cpuinfo, struct ocv_cpu_facts *facts)
{
    const char *machine = cpuinfo->fields[OCV_CPUINFO_MACHINE];
    const char *type = machine ? strstr(machine, "machine = ") : NULL;
    if (!type)
        return;
    type += strlen("machine = ");
    if (strncmp(type, "9175", 4) == 0 || strncmp(type, "9176", 4) == 0)
        facts->words[FACILITIES] = 1;
}

#if defined(__s390x__)
#define HWCAP_STFLE (1u << 2)
#define WORDS 4

static bool has_facility(const uint64_t *list, unsigned number)
{
    return list[number / 64] >> (63 - number % 64) & 1;
}

static void ask_kernel(struct ocv_cpu_facts *facts)
{
    facts->words[HWCAP] = getauxval(AT_HWCAP);
    facts->words[FACILITIES] = 0;
    if (!(facts->words[HWCAP] & HWCAP_STFLE))
        return;
    /* z17's facilities: miscellaneous instructions 4, vectors 3, packed decimals 3, concurrent
     * functions; the same four that glibc asks for */
    uint64_t list[WORDS] = {0};
    register unsigned long last __asm__("0") = WORDS - 1;
    __asm__ volatile("stfle %0" : "=Q"(list), "+d"(last) : : "cc");
    facts->words[FACILITIES] = has_facility(list, 84) && has_facility(list, 198) &&
                               has_facility(list, 199) && has_facility(list, 201);
}
#else
#define ask_kernel NULL
#endif

const struct ocv_cpu ocv_cpu_s390x = {.ns = "s390x",
                                      .architecture = "s390x",
                                      .flags = flags,
                                      .n_flags = sizeof(flags) / sizeof(*flags),
                                      .feature = "level",
                                      .levels = levels,
                                      .n_levels = sizeof(levels) / sizeof(*levels),
                                      .live = ask_kernel,
                                      .correct = correct_facts};
