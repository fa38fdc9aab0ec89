/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of namespace amd. */
#include "lib/probe/providers/amd/amd.h"

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(*(array)))

#define APU OCV_AMD_INTEGRATED
#define CDNA OCV_AMD_COMPUTE
#define ECC OCV_AMD_SRAMECC
#define XNACK OCV_AMD_XNACK
#define RETRY (OCV_AMD_XNACK | OCV_AMD_RETRY)
#define UNSETTLED (OCV_AMD_XNACK | OCV_AMD_UNSETTLED)
#define NO_RETRY (OCV_AMD_XNACK | OCV_AMD_NO_RETRY)

/* Generic targets, XNACK and SRAM ECC: LLVM, AMDGPU usage, tables of processors and of generic
 * processors; gfx1154 and gfx117x: LLVM's table of subarchitectures. Default of XNACK: Linux,
 * amdgpu_gmc_noretry_set (retry stays on for those that it does not name) and
 * kfd_process_xnack_mode (never from GC 10.1 to 12.0). gfx908 and gfx90a have no generic target. */
static const struct {
    const char *generic;
    unsigned target;
    unsigned traits;
} targets[] = {
    {NULL, 70000, APU},
    {NULL, 70001, 0},
    {NULL, 80001, APU | XNACK},
    {NULL, 80002, 0},
    {NULL, 80003, 0},
    {NULL, 80100, APU | XNACK},
    {"gfx9_generic", 90000, XNACK},
    {"gfx9_generic", 90002, APU | RETRY},
    {"gfx9_generic", 90004, RETRY},
    {"gfx9_generic", 90006, XNACK | ECC},
    {NULL, 90008, CDNA | XNACK | ECC},
    {"gfx9_generic", 90009, APU | RETRY},
    {NULL, 90010, CDNA | XNACK | ECC},
    {"gfx9_generic", 90012, APU | UNSETTLED},
    {"gfx9_4_generic", 90400, CDNA | XNACK | ECC},
    {"gfx9_4_generic", 90401, CDNA | XNACK | ECC},
    {"gfx9_4_generic", 90402, CDNA | XNACK | ECC},
    {"gfx9_4_generic", 90500, CDNA | XNACK | ECC},
    {"gfx10_1_generic", 100100, NO_RETRY},
    {"gfx10_1_generic", 100101, NO_RETRY},
    {"gfx10_1_generic", 100102, NO_RETRY},
    {"gfx10_1_generic", 100103, APU | NO_RETRY},
    {"gfx10_3_generic", 100300, 0},
    {"gfx10_3_generic", 100301, 0},
    {"gfx10_3_generic", 100302, 0},
    {"gfx10_3_generic", 100303, APU},
    {"gfx10_3_generic", 100304, 0},
    {"gfx10_3_generic", 100305, APU},
    {"gfx10_3_generic", 100306, APU},
    {"gfx11_generic", 110000, 0},
    {"gfx11_generic", 110001, 0},
    {"gfx11_generic", 110002, 0},
    {"gfx11_generic", 110003, APU},
    {"gfx11_generic", 110500, APU},
    {"gfx11_generic", 110501, APU},
    {"gfx11_generic", 110502, APU},
    {"gfx11_generic", 110503, APU},
    {"gfx11_generic", 110504, APU},
    {"gfx11_7_generic", 110700, APU},
    {"gfx11_7_generic", 110701, APU},
    {"gfx12_generic", 120000, 0},
    {"gfx12_generic", 120001, 0},
    {"gfx12_5_generic", 120500, CDNA | UNSETTLED},
    {"gfx12_5_generic", 120501, CDNA | UNSETTLED},
};

/* IP version of the graphics core -> target. Source: Linux, kgd2kfd_probe in kfd_device.c; 11.5.4
 * and later 11.x: the patches that add them there. The two numbers differ in many rows. */
static const struct {
    uint8_t major, minor, revision;
    unsigned target;
} cores[] = {
    {9, 0, 1, 90000},   {9, 1, 0, 90002},   {9, 2, 2, 90002},   {9, 2, 1, 90004},
    {9, 3, 0, 90012},   {9, 4, 0, 90006},   {9, 4, 1, 90008},   {9, 4, 2, 90010},
    {9, 4, 3, 90402},   {9, 4, 4, 90402},   {9, 5, 0, 90500},   {10, 1, 10, 100100},
    {10, 1, 2, 100101}, {10, 1, 1, 100102}, {10, 1, 3, 100103}, {10, 1, 4, 100103},
    {10, 3, 0, 100300}, {10, 3, 2, 100301}, {10, 3, 4, 100302}, {10, 3, 1, 100303},
    {10, 3, 5, 100304}, {10, 3, 3, 100305}, {10, 3, 6, 100306}, {10, 3, 7, 100306},
    {11, 0, 0, 110000}, {11, 0, 3, 110001}, {11, 0, 2, 110002}, {11, 0, 1, 110003},
    {11, 0, 4, 110003}, {11, 5, 0, 110500}, {11, 5, 1, 110501}, {11, 5, 2, 110502},
    {11, 5, 3, 110503}, {11, 5, 4, 110504}, {11, 5, 6, 110504}, {11, 7, 0, 110700},
    {11, 7, 1, 110701}, {12, 0, 0, 120000}, {12, 0, 1, 120001}, {12, 1, 0, 120500},
};

/* PCI device -> target, for kernels without KFD that have no ip_discovery. First hit wins.
 *
 * Chips up to Navi 24: pciidlist of Linux' amdgpu_drv.c says which chip an id is, kgd2kfd_probe in
 * kfd_device.c what its target is. A range holds ids of that chip alone, in Linux and in pci.ids.
 * Kaveri, Cyan Skillfish but 13db and 13fe, 74b6: ROCm's rocm_agent_enumerator. 13db, 1435 (the
 * second Van Gogh) and 693b: pci.ids, which names the chip. Later chips: pci.ids names the chip of
 * an id, ROCm's "GPU specifications", LLVM's "AMDGPU usage" and rocm_agent_enumerator the target of
 * a chip; Raphael and its successors: GC 10.3.6 and 10.3.7, for which Linux has one target; 1902:
 * libdrm's amdgpu.ids (Radeon 820M and 840M) and the GPU table of ROCm's releases, which also has
 * the Radeon PRO V710 (7460, 7461; its older enumerators said gfx1100). 15d9, 73a8, 73c4, 73c5 and
 * 73c8: AMD's device_info (a44c00c0); 74a8, 74bc and 75a1 to 75b8: its GPU operator (6df13c17);
 * 75c1: ROCm/rocm-systems issue 10431. Ids that only lie in a chip's block are marked as a guess.
 *
 * Not here: 98e4 (Stoney), which Linux never gave to KFD. */
static const struct {
    uint16_t first, last;
    unsigned target;
    bool guess;
} devices[] = {
    {0x1304, 0x1307, 70000, false}, /* Kaveri; 1308 and 1314 are sound */
    {0x1309, 0x1313, 70000, false},
    {0x1315, 0x1318, 70000, false},
    {0x131b, 0x131d, 70000, false},
    {0x67a0, 0x67be, 70001, false}, /* Hawaii */
    {0x6920, 0x6939, 80002, false}, /* Tonga */
    {0x693b, 0x693b, 80002, false},
    {0x7300, 0x7300, 80003, false}, /* Fiji */
    {0x730f, 0x730f, 80003, false},
    {0x67c0, 0x67ff, 80003, false}, /* Polaris 10 and 11 */
    {0x6fdf, 0x6fdf, 80003, false},
    {0x6980, 0x699f, 80003, false}, /* Polaris 12 */
    {0x694c, 0x694c, 80003, false}, /* Vega M */
    {0x694e, 0x694f, 80003, false},
    {0x6860, 0x687f, 90000, false}, /* Vega 10 */
    {0x15dd, 0x15dd, 90002, false}, /* Raven, Picasso */
    {0x15d8, 0x15d9, 90002, false},
    {0x9870, 0x9870, 80001, false}, /* Carrizo */
    {0x9874, 0x9877, 80001, false},
    {0x69a0, 0x69af, 90004, false}, /* Vega 12 */
    {0x66a0, 0x66af, 90006, false}, /* Vega 20 */
    {0x7388, 0x7388, 90008, false}, /* Arcturus */
    {0x738c, 0x738c, 90008, false},
    {0x738e, 0x738e, 90008, false},
    {0x7390, 0x7390, 90008, false},
    {0x7408, 0x7408, 90010, false}, /* Aldebaran */
    {0x740c, 0x740c, 90010, false},
    {0x740f, 0x7410, 90010, false}, /* MI210, and its virtual function */
    {0x1636, 0x1636, 90012, false}, /* Renoir and its like */
    {0x1638, 0x1638, 90012, false},
    {0x15e7, 0x15e7, 90012, false},
    {0x164c, 0x164c, 90012, false},
    {0x7310, 0x731f, 100100, false}, /* Navi 10 */
    {0x7360, 0x7360, 100101, false}, /* Navi 12 */
    {0x7362, 0x7362, 100101, false},
    {0x7340, 0x734f, 100102, false}, /* Navi 14 */
    {0x13db, 0x13db, 100103, false}, /* Cyan Skillfish */
    {0x13f3, 0x13f3, 100103, false},
    {0x13f9, 0x13fc, 100103, false},
    {0x13fe, 0x13fe, 100103, false},
    {0x73a8, 0x73a8, 110000, false}, /* Navi 31, in the middle of Navi 21 */
    {0x73a0, 0x73bf, 100300, false}, /* Navi 21 */
    {0x73c4, 0x73c5, 110001, false}, /* Navi 32, in the middle of Navi 22 */
    {0x73c8, 0x73c8, 110001, false},
    {0x73c0, 0x73df, 100301, false}, /* Navi 22 */
    {0x73f0, 0x73f0, 110002, true},  /* Navi 33, in the middle of Navi 23 */
    {0x73e0, 0x73ff, 100302, false}, /* Navi 23 */
    {0x163f, 0x163f, 100303, false}, /* Van Gogh */
    {0x1435, 0x1435, 100303, false},
    {0x7420, 0x743f, 100304, false}, /* Navi 24 */
    {0x164d, 0x164d, 100305, false}, /* Rembrandt */
    {0x1681, 0x1681, 100305, false},
    {0x164e, 0x164e, 100306, false}, /* Raphael */
    {0x13c0, 0x13c0, 100306, false}, /* Granite Ridge */
    {0x1506, 0x1506, 100306, false}, /* Mendocino */
    {0x74a0, 0x74a2, 90402, false},  /* MI300A, MI300X, MI308X */
    {0x74a5, 0x74a5, 90402, false},  /* MI325X */
    {0x74a8, 0x74a9, 90402, false},  /* MI308X HF, MI300X HF */
    {0x74b5, 0x74b6, 90402, false},  /* MI300X and MI308X, virtual functions */
    {0x74b9, 0x74b9, 90402, false},
    {0x74bc, 0x74bd, 90402, false},
    {0x75a0, 0x75a1, 90500, false}, /* MI350X, MI355X */
    {0x75a3, 0x75a3, 90500, false}, /* MI355X */
    {0x75a8, 0x75a8, 90500, false}, /* MI350P */
    {0x75b0, 0x75b0, 90500, false}, /* MI350X, MI355X and MI350P, virtual functions */
    {0x75b3, 0x75b3, 90500, false},
    {0x75b8, 0x75b8, 90500, false},
    {0x75c1, 0x75c1, 120500, false}, /* MI455X */
    {0x7448, 0x744a, 110000, false}, /* Navi 31 */
    {0x744c, 0x744c, 110000, false},
    {0x745e, 0x745e, 110000, false},
    {0x7440, 0x745f, 110000, true},
    {0x7460, 0x7461, 110001, false}, /* Navi 32 */
    {0x7470, 0x7470, 110001, false},
    {0x747e, 0x747e, 110001, false},
    {0x7470, 0x747f, 110001, true},
    {0x7480, 0x7481, 110002, false}, /* Navi 33 */
    {0x7483, 0x7483, 110002, false},
    {0x7489, 0x7489, 110002, false},
    {0x7499, 0x7499, 110002, false},
    {0x7480, 0x749f, 110002, true},
    {0x15bf, 0x15bf, 110003, false}, /* Phoenix, Hawk Point */
    {0x15c8, 0x15c8, 110003, false},
    {0x164f, 0x164f, 110003, false},
    {0x1900, 0x1901, 110003, false},
    {0x150e, 0x150e, 110500, false}, /* Strix */
    {0x1586, 0x1586, 110501, false}, /* Strix Halo */
    {0x1114, 0x1114, 110502, false}, /* Krackan */
    {0x1902, 0x1902, 110503, false},
    {0x7590, 0x7590, 120000, false}, /* Navi 44 */
    {0x7550, 0x7551, 120001, false}, /* Navi 48 */
};

bool ocv_amd_name(unsigned target, char *out, size_t size)
{
    unsigned major = target / 10000, minor = target / 100 % 100, stepping = target % 100;
    /* minor and stepping are one hexadecimal digit each */
    if (major < 6 || major > 99 || minor > 15 || stepping > 15)
        return false;
    snprintf(out, size, "gfx%u%x%x", major, minor, stepping);
    return true;
}

const char *ocv_amd_generic(unsigned target)
{
    for (size_t i = 0; i < N(targets); i++)
        if (targets[i].target == target)
            return targets[i].generic;
    return NULL;
}

const char *ocv_amd_generic_of(const char *name)
{
    char it[16];
    for (size_t i = 0; i < N(targets); i++)
        if (ocv_amd_name(targets[i].target, it, sizeof(it)) && !strcmp(it, name))
            return targets[i].generic;
    return NULL;
}

unsigned ocv_amd_traits(unsigned target)
{
    for (size_t i = 0; i < N(targets); i++)
        if (targets[i].target == target)
            return targets[i].traits;
    return 0;
}

unsigned ocv_amd_of_ip(uint64_t major, uint64_t minor, uint64_t revision)
{
    for (size_t i = 0; i < N(cores); i++)
        if (cores[i].major == major && cores[i].minor == minor && cores[i].revision == revision)
            return cores[i].target;
    return 0;
}

unsigned ocv_amd_of_device(uint16_t device, bool *guess)
{
    for (size_t i = 0; i < N(devices); i++)
        if (device >= devices[i].first && device <= devices[i].last) {
            *guess = devices[i].guess;
            return devices[i].target;
        }
    *guess = false;
    return 0;
}
