/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an NVIDIA GPU's PCI id and its driver's version mean. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include "gen/toolkits.h"
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

#define BRANCH_UNKNOWN 625u /* the first branch after the newest of schema/toolkits.yaml */

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

/* The user space of a driver branch, as packages cuda-compat-X-Y have it -> older branches whose
 * kernel drivers it is made for, 0 after the last. Data-centre GPUs only. Source: the branches that
 * NVIDIA_REQUIRE_CUDA names in NVIDIA's base images of that CUDA version (11.8.0, 12.0.0, 12.4.1,
 * 12.6.3, 12.8.0, 12.9.1, 13.0, 13.2.0); Triton's release notes 23.08 and 24.04 for 535 and 545;
 * where neither was read (530, 555, 590), what the versions before and after have in common. A
 * guess alone are the rows from 610 on: 580, the branch with long-term support, and those after it.
 */
#define COMPAT_MAX 6
static const struct {
    uint16_t branch, kernels[COMPAT_MAX];
} compat[] = {
    {520, {450, 470, 510, 515}},      {525, {450, 470, 510, 515, 520}},
    {530, {450, 470, 510, 525}},      {535, {450, 470, 510, 525}},
    {545, {470, 525, 535}},           {550, {470, 525, 535}},
    {555, {470, 535, 550}},           {560, {470, 535, 550}},
    {570, {470, 535, 550, 560, 565}}, {575, {535, 550, 560, 565, 570}},
    {580, {535, 550, 565, 570, 575}}, {590, {535, 570, 580}},
    {595, {535, 570, 580, 590}},      {610, {580, 590, 595}},
    {615, {580, 590, 595, 610}},      {620, {580, 590, 595, 610, 615}},
};

#define N_DRIVERS (sizeof(ocv_drivers) / sizeof(*ocv_drivers))

/* The id is what an entry begins with, or all of it. */
static int compare_id(const void *key, const void *entry)
{
    const uint16_t *wanted = key, *known = entry;
    return (*wanted > *known) - (*wanted < *known);
}

unsigned ocv_nvidia_sm(uint16_t device, bool *guess)
{
    const struct ocv_nvidia_id *found =
        bsearch(&device, ocv_nvidia_ids, sizeof(ocv_nvidia_ids) / sizeof(*ocv_nvidia_ids),
                sizeof(*ocv_nvidia_ids), compare_id);
    *guess = !found;
    if (found)
        return found->sm;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        if (device >= blocks[i].first && device <= blocks[i].last)
            return blocks[i].sm;
    *guess = false;
    return 0;
}

bool ocv_nvidia_data_centre(uint16_t device, unsigned sm)
{
    /* GA100, GH100, GB100, GB110, GR100 and their siblings are for nothing else */
    return sm == 80 || sm == 90 || sm == 100 || sm == 103 || sm == 107 ||
           bsearch(&device, ocv_nvidia_data_centre_ids,
                   sizeof(ocv_nvidia_data_centre_ids) / sizeof(*ocv_nvidia_data_centre_ids),
                   sizeof(*ocv_nvidia_data_centre_ids), compare_id);
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
    for (size_t i = 0; i < N_DRIVERS; i++)
        if (driver_major >= ocv_drivers[i].branch)
            return (struct ocv_cuda_version){ocv_drivers[i].major, ocv_drivers[i].minor};
    return (struct ocv_cuda_version){0, 0};
}

unsigned ocv_nvidia_branch(unsigned driver_major, struct ocv_cuda_version cuda)
{
    if (driver_major >= BRANCH_UNKNOWN)
        return driver_major;
    for (size_t i = 0; i < N_DRIVERS; i++) {
        const struct ocv_driver *d = &ocv_drivers[i];
        bool supports = cuda.major > d->major || (cuda.major == d->major && cuda.minor >= d->minor);
        if (driver_major ? driver_major >= d->branch : supports)
            return d->branch;
    }
    return 0;
}

unsigned ocv_nvidia_user_space(unsigned branch, bool data_centre, size_t i)
{
    if (branch >= BRANCH_UNKNOWN && i-- == 0)
        return branch;
    for (size_t k = 0; k < N_DRIVERS; k++)
        if (ocv_drivers[k].branch <= branch && ocv_drivers[k].major >= OCV_TOOLKIT_MINOR_FROM &&
            i-- == 0)
            return ocv_drivers[k].branch;
    for (size_t k = 0; data_centre && k < sizeof(compat) / sizeof(*compat); k++)
        for (size_t n = 0; n < COMPAT_MAX; n++)
            if (compat[k].kernels[n] == branch && i-- == 0)
                return compat[k].branch;
    return 0;
}
