/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU namespaces that follow from the kernel's word: bits of the auxiliary vector on the machine
 * itself, names in /proc/cpuinfo on a recorded one. From facts to features is a pure function over
 * tables, which needs nothing but libc and can be cross-built alone (test/tools/cpuprobe.c). */
#ifndef OCV_CPU_H
#define OCV_CPU_H

#include "lib/probe/cpu/cpuid.h"

#define OCV_CPU_WORDS 3       /**< 0: AT_HWCAP, 1: AT_HWCAP2, 2: what the architecture adds */
#define OCV_CPU_NEEDS_MAX 12  /**< flags of a level */
#define OCV_CPU_ITEMS_MAX 128 /**< values of an answer */
#define OCV_CPU_NO_BIT 255    /**< of a flag that only a name shows */

/** What is known of the processors; a flag counts when its bit or its name is there. */
struct ocv_cpu_facts {
    const char *source; /**< for the profile: "hwcap", "hwprobe", "cpuinfo" */
    uint64_t words[OCV_CPU_WORDS];
    const char *const *names; /**< sorted, borrowed */
    size_t n_names;
    const char *without; /**< a name that does not count, or NULL */
};

struct ocv_cpu_flag {
    const char *name; /**< feature, and the kernel's spelling in /proc/cpuinfo */
    unsigned char word;
    unsigned char bit;
    bool internal;          /**< part of levels only, no feature */
    const char *implied_by; /**< another flag that contains this one, or NULL */
};

/** A step that includes all steps before it. */
struct ocv_cpu_level {
    const char *name;
    const char *needs[OCV_CPU_NEEDS_MAX]; /**< names of flags; NULL after the last */
};

struct ocv_cpu_item {
    const char *feature, *value; /**< never freed */
};

struct ocv_cpu_answer {
    const char *variant; /**< of the platform, or NULL */
    size_t n;
    struct ocv_cpu_item items[OCV_CPU_ITEMS_MAX]; /**< in the order of the profile */
};

/** A CPU namespace. */
struct ocv_cpu {
    const char *ns;
    const char *architecture;         /**< GOARCH */
    const struct ocv_cpu_flag *flags; /**< in the order of the profile */
    size_t n_flags;
    const char *feature;                /**< that lists the levels; comes before the flags */
    const struct ocv_cpu_level *levels; /**< lowest first */
    size_t n_levels;
    bool hwcap_is_thin; /**< AT_HWCAP has less than /proc/cpuinfo */
    /** Ask the processor this runs on. NULL in builds for other architectures. */
    void (*live)(struct ocv_cpu_facts *facts);
    /** Correct facts by fields of /proc/cpuinfo. May be NULL. */
    void (*correct)(const struct ocv_cpuinfo *cpuinfo, struct ocv_cpu_facts *facts);
    /** Put the values of `feature` for this many levels. NULL: their names, highest first. */
    void (*put_levels)(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts, size_t levels,
                       struct ocv_cpu_answer *answer);
};

extern const struct ocv_cpu ocv_cpu_aarch64, ocv_cpu_loongarch64, ocv_cpu_ppc64le, ocv_cpu_riscv64,
    ocv_cpu_s390x;

/** Features of a processor. */
void ocv_cpu_detect(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts,
                    struct ocv_cpu_answer *answer);
/** Facts of the processor this runs on. False where this build cannot ask it. */
bool ocv_cpu_live(const struct ocv_cpu *cpu, struct ocv_cpu_facts *facts);
/** /proc/cpuinfo can add to what the processor reports. */
bool ocv_cpu_thin(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts);
/** Add what /proc/cpuinfo says; its names are borrowed. False, and nothing is added, where it
 *  is of another architecture, as it is under an emulator. */
bool ocv_cpu_recorded(const struct ocv_cpu *cpu, const struct ocv_cpuinfo *cpuinfo,
                      struct ocv_cpu_facts *facts);

bool ocv_cpu_has(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts, const char *name);
void ocv_cpu_put(struct ocv_cpu_answer *answer, const char *feature, const char *value);

/** Facts from riscv_hwprobe(2): values of the keys BASE_BEHAVIOR and IMA_EXT_0. */
void ocv_riscv64_hwprobe(uint64_t base, uint64_t extensions, struct ocv_cpu_facts *facts);

/* Namespace x86_64, for tests. */

/** Names of the flags of namespace x86_64 in the order of the profile. NULL past the end. */
const char *ocv_x86_64_flag(size_t i);
/** Level of a processor, 0 below v1. */
unsigned ocv_x86_64_level(const struct ocv_cpuid *cpuid);

#endif
