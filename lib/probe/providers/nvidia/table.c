/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an NVIDIA GPU's PCI id and its driver's version mean. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include "lib/probe/providers/nvidia/nvidia_ids.h"

#include <stdlib.h>

/* Blocks of ids that were given to a chip, for products that are newer than the list of ids. The
 * older ones go by the ids of the list, the newer ones by NVIDIA's own lists of reserved ids. */
static const struct {
    uint16_t first, last;
    uint8_t sm;
} blocks[] = {
    {0x0400, 0x06bf, 11},  {0x06c0, 0x0fbf, 21},  {0x0fc0, 0x0fff, 30},  {0x1000, 0x103f, 35},
    {0x1040, 0x117f, 21},  {0x1180, 0x11ff, 30},  {0x1200, 0x127f, 21},  {0x1280, 0x12ff, 35},
    {0x1340, 0x13bf, 50},  {0x13c0, 0x143f, 52},  {0x15f0, 0x15ff, 60},  {0x1600, 0x167f, 52},
    {0x1725, 0x172f, 60},  {0x1740, 0x17bf, 50},  {0x17c0, 0x17ff, 52},  {0x1b00, 0x1d7f, 61},
    {0x1d80, 0x1dff, 70},  {0x1e00, 0x1fff, 75},  {0x2080, 0x20ff, 80},  {0x2180, 0x21ff, 75},
    {0x2200, 0x227f, 86},  {0x22a3, 0x23ff, 90},  {0x2400, 0x25ff, 86},  {0x2680, 0x28ff, 89},
    {0x2900, 0x29ff, 100}, {0x2b80, 0x2c7f, 120}, {0x2d00, 0x2dff, 120}, {0x2e00, 0x2e2f, 121},
    {0x2f00, 0x2f80, 120}, {0x3000, 0x30ff, 107}, {0x3180, 0x31ff, 103}, {0x3200, 0x323f, 103},
};

/* Driver branch -> CUDA, Linux. Source: CUDA release notes, table "CUDA Toolkit and Corresponding
 * Driver Versions", up to 13.3 (610.43.02); 12.7, of which there is no toolkit: what driver 565
 * says of itself; 13.4 and 13.5: the cuda_compat package of a driver, which names the version
 * (redistrib_DRIVER.json among NVIDIA's downloads), and Triton's compatibility matrix (615.61). */
static const struct {
    unsigned branch;
    struct ocv_cuda_version cuda;
} branches[] = {
    {620, {13, 5}}, {615, {13, 4}}, {610, {13, 3}}, {595, {13, 2}}, {590, {13, 1}}, {580, {13, 0}},
    {575, {12, 9}}, {570, {12, 8}}, {565, {12, 7}}, {560, {12, 6}}, {555, {12, 5}}, {550, {12, 4}},
    {545, {12, 3}}, {535, {12, 2}}, {530, {12, 1}}, {525, {12, 0}}, {520, {11, 8}}, {515, {11, 7}},
    {510, {11, 6}}, {495, {11, 5}}, {470, {11, 4}}, {465, {11, 3}}, {460, {11, 2}}, {455, {11, 1}},
    {450, {11, 0}}, {440, {10, 2}}, {418, {10, 1}}, {410, {10, 0}}, {396, {9, 2}},  {387, {9, 1}},
    {384, {9, 0}},  {367, {8, 0}},  {352, {7, 5}},  {346, {7, 0}},
};
#define BRANCH_UNKNOWN 625u /* the first branch after the table's newest */

/* Capabilities up to `sm`, from the row before -> the branches that run them. Last ones: NVIDIA's
 * lists of legacy GPUs and its notice for branch 580. First ones: the changelog of NVIDIA's open
 * kernel modules for 89 (RTX 4090) and 90 (H100), their lists of GPUs for 100, 103, 120 and 121;
 * for 80, 86, 107 and 110 the toolkit that first compiles for them, which comes with the driver
 * that first runs them. Tegras go by their release. */
static const struct {
    uint8_t sm;
    uint16_t first, last;
} spans[] = {
    {29, 0, 390},  {49, 0, 470},  {74, 0, 580},  {79, 0, 0},    {80, 450, 0},
    {86, 455, 0},  {90, 520, 0},  {100, 570, 0}, {103, 580, 0}, {107, 615, 0},
    {110, 580, 0}, {120, 570, 0}, {121, 580, 0},
};

static int compare_ids(const void *key, const void *entry)
{
    const struct ocv_nvidia_id *wanted = key, *known = entry;
    return (wanted->id > known->id) - (wanted->id < known->id);
}

unsigned ocv_nvidia_sm(uint16_t device, bool *guess)
{
    const struct ocv_nvidia_id wanted = {.id = device};
    const struct ocv_nvidia_id *found =
        bsearch(&wanted, ocv_nvidia_ids, sizeof(ocv_nvidia_ids) / sizeof(*ocv_nvidia_ids),
                sizeof(*ocv_nvidia_ids), compare_ids);
    *guess = !found;
    if (found)
        return found->sm;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        if (device >= blocks[i].first && device <= blocks[i].last)
            return blocks[i].sm;
    *guess = false;
    return 0;
}

bool ocv_nvidia_integrated(unsigned sm)
{
    static const unsigned chips[] = {32, 53, 62, 72, 87, 110, 121}; /* Tegras, GB10 */
    for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); i++)
        if (sm == chips[i])
            return true;
    return false;
}

void ocv_nvidia_branches(unsigned sm, unsigned *first, unsigned *last)
{
    *first = *last = 0;
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        if (sm <= spans[i].sm) {
            *first = spans[i].first;
            *last = spans[i].last;
            return;
        }
}

struct ocv_cuda_version ocv_nvidia_cuda(unsigned driver_major, bool *newer)
{
    *newer = driver_major >= BRANCH_UNKNOWN;
    for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++)
        if (driver_major >= branches[i].branch)
            return branches[i].cuda;
    return (struct ocv_cuda_version){0, 0};
}
