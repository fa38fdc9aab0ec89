/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace x86_64: psABI level and instruction set flags, from what the processor and the
 * operating system say of themselves, never from a table of models. */
#include "lib/base/cleanup.h"
#include "lib/probe/providers/cpu/cpu.h"
#include "lib/probe/providers/gpu.h"

#include <string.h>

/* State that the operating system must save before a feature is usable: bits of XCR0.
 * Source: Intel SDM volume 1, chapter 13. */
#define STATE_AVX 0x6u     /* SSE and the upper halves of YMM */
#define STATE_AVX512 0xe6u /* and opmask, upper ZMM, high ZMM */
#define STATE_AMX 0x60000u /* tile configuration and data */
#define STATE_APX 0x80000u /* extended general-purpose registers */
#define STATE_XSAVE 0x1u   /* bit 0 is always set where XSAVE is enabled at all */

enum { NONE, V1, V2, V3, V4 };

/* AVX10 has a version number instead of bits: `bit` is the version that is asked for. */
#define LEAF_AVX10 0x24u

struct flag {
    const char *name; /* as published by the wheel variant providers; NULL: only part of a level */
    const char *kernel; /* /proc/cpuinfo's spelling where it differs, or the flag of a level only */
    uint32_t leaf;
    uint32_t subleaf;
    enum ocv_register reg;
    unsigned bit;
    unsigned state;
    unsigned level; /* psABI level that needs it */
};

/* In the order of the profile. The 56 published names keep their spelling and order; newer ones
 * stand before them, those of dead ends after them. Bits: Intel SDM volume 2 CPUID, Intel ISA
 * extensions reference 319433, AMD APM volume 3 appendix E; levels: x86-64 psABI, glibc
 * sysdeps/x86/get-isa-level.h; kernel spelling: Linux arch/x86/include/asm/cpufeatures.h. */
static const struct flag flags[] = {
    {"avx10_2", NULL, LEAF_AVX10, 0, OCV_EBX, 2, STATE_AVX512, NONE},
    {"avx10_1", NULL, LEAF_AVX10, 0, OCV_EBX, 1, STATE_AVX512, NONE},
    {"apx", NULL, 7, 1, OCV_EDX, 21, STATE_APX, NONE},
    {"amx_complex", NULL, 7, 1, OCV_EDX, 8, STATE_AMX, NONE},
    {"amx_fp16", NULL, 7, 1, OCV_EAX, 21, STATE_AMX, NONE},
    {"amx_bf16", NULL, 7, 0, OCV_EDX, 22, STATE_AMX, NONE},
    {"amx_int8", NULL, 7, 0, OCV_EDX, 25, STATE_AMX, NONE},
    {"amx_tile", NULL, 7, 0, OCV_EDX, 24, STATE_AMX, NONE},
    {"avx512_fp16", NULL, 7, 0, OCV_EDX, 23, STATE_AVX512, NONE},
    {"avx_vnni_int16", NULL, 7, 1, OCV_EDX, 10, STATE_AVX, NONE},
    {"avx_vnni_int8", NULL, 7, 1, OCV_EDX, 4, STATE_AVX, NONE},
    {"avx_ne_convert", NULL, 7, 1, OCV_EDX, 5, STATE_AVX, NONE},
    {"avx_ifma", NULL, 7, 1, OCV_EAX, 23, STATE_AVX, NONE},
    {"sha512", NULL, 7, 1, OCV_EAX, 0, STATE_AVX, NONE},
    {"sm4", NULL, 7, 1, OCV_EAX, 2, STATE_AVX, NONE},
    {"sm3", NULL, 7, 1, OCV_EAX, 1, STATE_AVX, NONE},
    {"cmpccxadd", NULL, 7, 1, OCV_EAX, 7, 0, NONE},
    {"serialize", NULL, 7, 0, OCV_EDX, 14, 0, NONE},
    {"waitpkg", NULL, 7, 0, OCV_ECX, 5, 0, NONE},
    {"enqcmd", NULL, 7, 0, OCV_ECX, 29, 0, NONE},
    {"cldemote", NULL, 7, 0, OCV_ECX, 25, 0, NONE},
    /* published from here: provider-variant-x86-64 (pep817.md 4.3) */
    {"avx_vnni", NULL, 7, 1, OCV_EAX, 4, STATE_AVX, NONE},
    {"cppc", NULL, 0x80000008, 0, OCV_EBX, 27, 0, NONE},
    /* Intel has this in an MSR only; AMD's automatic IBRS is what Linux lists under this name */
    {"ibrs_enhanced", NULL, 0x80000021, 0, OCV_EAX, 8, 0, NONE},
    {"tsc_adjust", NULL, 7, 0, OCV_EBX, 1, 0, NONE},
    {"flush_l1d", NULL, 7, 0, OCV_EDX, 28, 0, NONE},
    {"movdir64b", NULL, 7, 0, OCV_ECX, 28, 0, NONE},
    {"movdiri", NULL, 7, 0, OCV_ECX, 27, 0, NONE},
    {"avx512_bf16", NULL, 7, 1, OCV_EAX, 5, STATE_AVX512, NONE},
    {"avx512_bitalg", NULL, 7, 0, OCV_ECX, 12, STATE_AVX512, NONE},
    {"avx512_vbmi2", NULL, 7, 0, OCV_ECX, 6, STATE_AVX512, NONE},
    {"avx512_vnni", NULL, 7, 0, OCV_ECX, 11, STATE_AVX512, NONE},
    {"avx512_vp2intersect", NULL, 7, 0, OCV_EDX, 8, STATE_AVX512, NONE},
    {"avx512_vpopcntdq", NULL, 7, 0, OCV_ECX, 14, STATE_AVX512, NONE},
    {"avx512ifma", NULL, 7, 0, OCV_EBX, 21, STATE_AVX512, NONE},
    {"avx512vbmi", "avx512_vbmi", 7, 0, OCV_ECX, 1, STATE_AVX512, NONE},
    {"rdpid", NULL, 7, 0, OCV_ECX, 22, 0, NONE},
    {"sha_ni", NULL, 7, 0, OCV_EBX, 29, 0, NONE},
    {"vaes", NULL, 7, 0, OCV_ECX, 9, STATE_AVX, NONE},
    {"vpclmulqdq", NULL, 7, 0, OCV_ECX, 10, STATE_AVX, NONE},
    {"clwb", NULL, 7, 0, OCV_EBX, 24, 0, NONE},
    {"clzero", NULL, 0x80000008, 0, OCV_EBX, 0, 0, NONE},
    {"avx512bw", NULL, 7, 0, OCV_EBX, 30, STATE_AVX512, V4},
    {"avx512cd", NULL, 7, 0, OCV_EBX, 28, STATE_AVX512, V4},
    {"avx512dq", NULL, 7, 0, OCV_EBX, 17, STATE_AVX512, V4},
    {"avx512f", NULL, 7, 0, OCV_EBX, 16, STATE_AVX512, V4},
    {"avx512vl", NULL, 7, 0, OCV_EBX, 31, STATE_AVX512, V4},
    {"clflushopt", NULL, 7, 0, OCV_EBX, 23, 0, NONE},
    {"gfni", NULL, 7, 0, OCV_ECX, 8, 0, NONE},
    {"rdseed", NULL, 7, 0, OCV_EBX, 18, 0, NONE},
    {"xsavec", NULL, 0xd, 1, OCV_EAX, 1, STATE_XSAVE, NONE},
    {"xsaveopt", NULL, 0xd, 1, OCV_EAX, 0, STATE_XSAVE, NONE},
    {"adx", NULL, 7, 0, OCV_EBX, 19, 0, NONE},
    {"avx2", NULL, 7, 0, OCV_EBX, 5, STATE_AVX, V3},
    {"avx", NULL, 1, 0, OCV_ECX, 28, STATE_AVX, V3},
    {"bmi2", NULL, 7, 0, OCV_EBX, 8, 0, V3},
    {"bmi1", NULL, 7, 0, OCV_EBX, 3, 0, V3},
    {"abm", NULL, 0x80000001, 0, OCV_ECX, 5, 0, V3},
    {"f16c", NULL, 1, 0, OCV_ECX, 29, STATE_AVX, V3},
    {"fma", NULL, 1, 0, OCV_ECX, 12, STATE_AVX, V3},
    {"movbe", NULL, 1, 0, OCV_ECX, 22, 0, V3},
    {"xsave", NULL, 1, 0, OCV_ECX, 26, STATE_XSAVE, NONE},
    {"rdrand", NULL, 1, 0, OCV_ECX, 30, 0, NONE},
    {"aes", NULL, 1, 0, OCV_ECX, 25, 0, NONE},
    {"pclmulqdq", NULL, 1, 0, OCV_ECX, 1, 0, NONE},
    {"sse4a", NULL, 0x80000001, 0, OCV_ECX, 6, 0, NONE},
    {"fsgsbase", NULL, 7, 0, OCV_EBX, 0, 0, NONE},
    {"sse4_2", NULL, 1, 0, OCV_ECX, 20, 0, V2},
    {"sse4_1", NULL, 1, 0, OCV_ECX, 19, 0, V2},
    {"ssse3", NULL, 1, 0, OCV_ECX, 9, 0, V2},
    {"sse3", "pni", 1, 0, OCV_ECX, 0, 0, V2},
    {"cx16", NULL, 1, 0, OCV_ECX, 13, 0, V2},
    {"lahf_lm", NULL, 0x80000001, 0, OCV_ECX, 0, 0, V2},
    {"popcnt", NULL, 1, 0, OCV_ECX, 23, 0, V2},
    {"sse2", NULL, 1, 0, OCV_EDX, 26, 0, V1},
    {"sse", NULL, 1, 0, OCV_EDX, 25, 0, V1},
    {"mmx", NULL, 1, 0, OCV_EDX, 23, 0, V1},
    /* to here */
    {"avx512er", NULL, 7, 0, OCV_EBX, 27, STATE_AVX512, NONE},
    {"avx512pf", NULL, 7, 0, OCV_EBX, 26, STATE_AVX512, NONE},
    {"xop", NULL, 0x80000001, 0, OCV_ECX, 11, STATE_AVX, NONE},
    {"fma4", NULL, 0x80000001, 0, OCV_ECX, 16, STATE_AVX, NONE},
    {"tbm", NULL, 0x80000001, 0, OCV_ECX, 21, 0, NONE},
    {NULL, "lm", 0x80000001, 0, OCV_EDX, 29, 0, V1},
    {NULL, "fpu", 1, 0, OCV_EDX, 0, 0, V1},
    {NULL, "cx8", 1, 0, OCV_EDX, 8, 0, V1},
    {NULL, "cmov", 1, 0, OCV_EDX, 15, 0, V1},
    {NULL, "fxsr", 1, 0, OCV_EDX, 24, 0, V1},
};
#define N_FLAGS (sizeof(flags) / sizeof(*flags))

/* Every leaf that the table or its limits use; each costs an exit to the hypervisor in a guest. */
static const uint32_t leaves[][2] = {
    {0, 0},    {1, 0},          {7, 0},          {7, 1},          {0xd, 1},
    {0x24, 0}, {0x80000000, 0}, {0x80000001, 0}, {0x80000008, 0}, {0x80000021, 0},
};

static const char *const levels[] = {NULL, "v1", "v2", "v3", "v4"};

#define LEAF7_1_EDX_AVX10 (1u << 19)

/* Walk up and stop at the first level of which a flag is missing. */
static unsigned level_of(const bool have[N_FLAGS])
{
    for (unsigned level = V1; level <= V4; level++)
        for (size_t i = 0; i < N_FLAGS; i++)
            if (flags[i].level == level && !have[i])
                return level - 1;
    return V4;
}

static void read_cpuid(const struct ocv_cpuid *cpuid, bool have[N_FLAGS])
{
    bool avx10 = ocv_cpuid_word(cpuid, 7, 1, OCV_EDX) & LEAF7_1_EDX_AVX10;
    for (size_t i = 0; i < N_FLAGS; i++) {
        const struct flag *f = &flags[i];
        uint32_t word = ocv_cpuid_word(cpuid, f->leaf, f->subleaf, f->reg);
        bool told = f->leaf == LEAF_AVX10 ? avx10 && (word & 0xff) >= f->bit : word >> f->bit & 1;
        have[i] = told && (ocv_cpuid_xcr0(cpuid) & f->state) == f->state;
    }
}

unsigned ocv_x86_64_level(const struct ocv_cpuid *cpuid)
{
    bool have[N_FLAGS];
    read_cpuid(cpuid, have);
    return level_of(have);
}

const char *ocv_x86_64_flag(size_t i)
{
    return i < N_FLAGS ? flags[i].name : NULL;
}

static int probe_x86_64(const struct ocv_probe_host *host, struct ocv_result *result,
                        struct ocv_error *err)
{
    bool have[N_FLAGS];
    const char *arch = host->architecture;
    if (!arch || (strcmp(arch, "amd64") != 0 && strcmp(arch, "386") != 0))
        return OCV_OK;
    if (host->has_cpuid || !host->has_cpuinfo) {
        struct ocv_cpuid live = {0};
        if (!host->has_cpuid)
            OCV_TRY(ocv_cpuid_live(leaves, sizeof(leaves) / sizeof(*leaves), &live, err));
        result->source = "cpuid";
        read_cpuid(host->has_cpuid ? &host->cpuid : &live, have);
        ocv_cpuid_free(&live);
    } else {
        result->source = "cpuinfo";
        for (size_t i = 0; i < N_FLAGS; i++)
            have[i] = (flags[i].kernel && ocv_cpuinfo_has(&host->cpuinfo, flags[i].kernel)) ||
                      (flags[i].name && ocv_cpuinfo_has(&host->cpuinfo, flags[i].name));
    }
    unsigned level = level_of(have);
    result->status = OCV_RESULT_OK;
    result->variant = levels[level];
    for (unsigned i = level; i >= V1; i--)
        OCV_TRY(ocv_result_add(result, "level", levels[i], err));
    for (size_t i = 0; i < N_FLAGS; i++)
        if (have[i] && flags[i].name)
            OCV_TRY(ocv_result_add(result, flags[i].name, "on", err));
    return OCV_OK;
}

const struct provider ocv_provider_x86_64 = {.name = "x86_64",
                                             .ns = "x86_64",
                                             .kind = "builtin",
                                             .version = "1",
                                             .cpu = true,
                                             .probe = probe_x86_64};
