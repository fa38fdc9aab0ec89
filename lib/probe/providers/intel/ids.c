/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of namespace intel. */
#include "lib/probe/providers/intel/intel.h"

/* GPUs. Source: Intel compute-runtime, device_ids_configs_*.h and devices_base.inl for the ids and
 * aot_config_headers/platforms.h for the IP versions (MIT); Linux, include/drm/intel/pciids.h. The
 * kernel does not show a GPU's stepping in sysfs: the table has the one that platforms.h takes for
 * the product's name, that of the products on sale, and calls it a guess (last column) where there
 * are others. Base: Level Zero's table of compatible
 * versions, as the published provider has it.
 *
 * From Linux alone: 46a2, 46b2, 46c2, 9ac0, 9ac9, 9ad9 and 9af8, CRI above 674c, 0be0 to 0be5, b640
 * (an ARL-S there), and 7d60 (an MTL of no kind that is said). Not here: d74a and d74b, NVL-P for
 * compute-runtime and NVL-S for Linux. */
static const struct ocv_intel_gpu gpus[] = {
    {"TGL", "12.0.0", NULL, 0x9a40, 0x9a40, true, false},
    {"TGL", "12.0.0", NULL, 0x9a49, 0x9a49, true, false},
    {"TGL", "12.0.0", NULL, 0x9a59, 0x9a59, true, false},
    {"TGL", "12.0.0", NULL, 0x9a60, 0x9a60, true, false},
    {"TGL", "12.0.0", NULL, 0x9a68, 0x9a68, true, false},
    {"TGL", "12.0.0", NULL, 0x9a70, 0x9a70, true, false},
    {"TGL", "12.0.0", NULL, 0x9a78, 0x9a78, true, false},
    {"TGL", "12.0.0", NULL, 0x9ac0, 0x9ac0, true, false},
    {"TGL", "12.0.0", NULL, 0x9ac9, 0x9ac9, true, false},
    {"TGL", "12.0.0", NULL, 0x9ad9, 0x9ad9, true, false},
    {"TGL", "12.0.0", NULL, 0x9af8, 0x9af8, true, false},
    {"RKL", "12.1.0", NULL, 0x4c80, 0x4c80, true, false},
    {"RKL", "12.1.0", NULL, 0x4c8a, 0x4c8a, true, false},
    {"RKL", "12.1.0", NULL, 0x4c8b, 0x4c8b, true, false},
    {"RKL", "12.1.0", NULL, 0x4c8c, 0x4c8c, true, false},
    {"RKL", "12.1.0", NULL, 0x4c90, 0x4c90, true, false},
    {"RKL", "12.1.0", NULL, 0x4c9a, 0x4c9a, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x4680, 0x4680, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x4682, 0x4682, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x4688, 0x4688, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x468a, 0x468a, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x468b, 0x468b, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x4690, 0x4690, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x4692, 0x4692, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0x4693, 0x4693, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0xa780, 0xa783, true, false},
    {"ADL-S/RPL-S", "12.2.0", NULL, 0xa788, 0xa78b, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x4626, 0x4626, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x4628, 0x4628, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x462a, 0x462a, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46a0, 0x46a0, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46a1, 0x46a3, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46a6, 0x46a6, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46a8, 0x46a8, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46aa, 0x46aa, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46b0, 0x46b0, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46b1, 0x46b3, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46c0, 0x46c0, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0x46c1, 0x46c3, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0xa720, 0xa720, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0xa721, 0xa721, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0xa7a0, 0xa7a0, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0xa7a1, 0xa7a1, true, false},
    {"ADL-P/RPL-P", "12.3.0", NULL, 0xa7a8, 0xa7ad, true, false},
    {"ADL-N", "12.4.0", NULL, 0x46d0, 0x46d4, true, false},
    {"DG1", "12.10.0", NULL, 0x4905, 0x4909, false, false},
    {"DG2-G10", "12.55.8", NULL, 0x4f80, 0x4f84, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x5690, 0x5692, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x56a0, 0x56a2, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x56af, 0x56af, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x56be, 0x56be, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x56bf, 0x56bf, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x56c0, 0x56c0, false, true},
    {"DG2-G10", "12.55.8", NULL, 0x56c2, 0x56c2, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x4f87, 0x4f87, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x4f88, 0x4f88, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x5693, 0x5695, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x56a5, 0x56a5, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x56a6, 0x56a6, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x56b0, 0x56b0, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x56b1, 0x56b1, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x56ba, 0x56bd, false, true},
    {"DG2-G11", "12.56.5", "12.55.8", 0x56c1, 0x56c1, false, true},
    {"DG2-G12", "12.57.0", "12.55.8", 0x4f85, 0x4f85, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x4f86, 0x4f86, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x5696, 0x5696, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x5697, 0x5697, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x56a3, 0x56a3, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x56a4, 0x56a4, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x56b2, 0x56b2, false, false},
    {"DG2-G12", "12.57.0", "12.55.8", 0x56b3, 0x56b3, false, false},
    {"PVC-XL", "12.60.1", NULL, 0x0bd0, 0x0bd0, false, true},
    {"PVC-XT", "12.60.7", NULL, 0x0bd5, 0x0bdb, false, true},
    {"PVC-XT", "12.60.7", NULL, 0x0b69, 0x0b69, false, true},
    {"PVC-XT", "12.60.7", NULL, 0x0b6e, 0x0b6e, false, true},
    {"PVC-XT", "12.60.7", NULL, 0x0be0, 0x0be1, false, true},
    {"PVC-XT", "12.60.7", NULL, 0x0be5, 0x0be5, false, true},
    {"PVC-XT-VG", "12.61.7", NULL, 0x0bd4, 0x0bd4, false, false},
    {"MTL-U/ARL-U/ARL-S", "12.70.4", NULL, 0x7d40, 0x7d40, true, true},
    {"MTL-U/ARL-U/ARL-S", "12.70.4", NULL, 0x7d45, 0x7d45, true, true},
    {"MTL-U/ARL-U/ARL-S", "12.70.4", NULL, 0x7d67, 0x7d67, true, true},
    {"MTL-U/ARL-U/ARL-S", "12.70.4", NULL, 0x7d41, 0x7d41, true, true},
    {"MTL-U/ARL-U/ARL-S", "12.70.4", NULL, 0x7d60, 0x7d60, true, true},
    {"MTL-U/ARL-U/ARL-S", "12.70.4", NULL, 0xb640, 0xb640, true, true},
    {"MTL-H", "12.71.4", "12.70.4", 0x7d55, 0x7d55, true, true},
    {"MTL-H", "12.71.4", "12.70.4", 0x7dd5, 0x7dd5, true, true},
    {"ARL-H", "12.74.4", NULL, 0x7d51, 0x7d51, true, true},
    {"ARL-H", "12.74.4", NULL, 0x7dd1, 0x7dd1, true, true},
    {"BMG-G21", "20.1.0", NULL, 0xe202, 0xe202, false, true},
    {"BMG-G21", "20.1.0", NULL, 0xe209, 0xe209, false, true},
    {"BMG-G21", "20.1.0", NULL, 0xe20b, 0xe20d, false, true},
    {"BMG-G21", "20.1.0", NULL, 0xe210, 0xe212, false, true},
    {"BMG-G21", "20.1.0", NULL, 0xe215, 0xe215, false, true},
    {"BMG-G21", "20.1.0", NULL, 0xe216, 0xe216, false, true},
    {"BMG-G31", "20.2.0", "20.1.0", 0xe220, 0xe223, false, false},
    {"LNL-M", "20.4.4", "20.1.0", 0x6420, 0x6420, true, true},
    {"LNL-M", "20.4.4", "20.1.0", 0x64a0, 0x64a0, true, true},
    {"LNL-M", "20.4.4", "20.1.0", 0x64b0, 0x64b0, true, true},
    {"PTL-H", "30.0.4", NULL, 0xb080, 0xb087, true, true},
    {"PTL-H", "30.0.4", NULL, 0xb08f, 0xb08f, true, true},
    {"PTL-H", "30.0.4", NULL, 0xb0a0, 0xb0a0, true, true},
    {"PTL-H", "30.0.4", NULL, 0xb0b0, 0xb0b0, true, true},
    {"PTL-U", "30.1.0", "30.0.4", 0xb090, 0xb090, true, true},
    {"WCL", "30.3.1", "30.0.4", 0xfd80, 0xfd80, true, true},
    {"WCL", "30.3.1", "30.0.4", 0xfd81, 0xfd81, true, true},
    {"NVL-S", "30.4.4", "30.0.4", 0xd740, 0xd740, true, true},
    {"NVL-S", "30.4.4", "30.0.4", 0xd743, 0xd743, true, true},
    {"NVL-S", "30.4.4", "30.0.4", 0xd744, 0xd744, true, true},
    {"NVL-U", "30.5.4", "30.0.4", 0xd741, 0xd741, true, true},
    {"NVL-U", "30.5.4", "30.0.4", 0xd742, 0xd742, true, true},
    {"NVL-U", "30.5.4", "30.0.4", 0xd745, 0xd745, true, true},
    {"NVL-P", "35.10.4", NULL, 0xd750, 0xd757, true, true},
    {"NVL-P", "35.10.4", NULL, 0xd75f, 0xd75f, true, true},
    {"CRI", "35.11.0", NULL, 0x674c, 0x6750, false, false},
};

/* NPUs. Source: Linux, ivpu_drv.h. */
static const struct {
    uint16_t device;
    const char *arch;
} npus[] = {
    {0x7d1d, "37xx"}, /* Meteor Lake */
    {0xad1d, "37xx"}, /* Arrow Lake */
    {0x643e, "40xx"}, /* Lunar Lake */
    {0xb03e, "50xx"}, /* Panther Lake */
    {0xfd3e, "50xx"}, /* Wildcat Lake */
    {0xd71d, "60xx"}, /* Nova Lake */
};

const struct ocv_intel_gpu *ocv_intel_gpu_find(uint16_t device)
{
    for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
        if (device >= gpus[i].first && device <= gpus[i].last)
            return &gpus[i];
    return NULL;
}

const char *ocv_intel_npu_find(uint16_t device)
{
    for (size_t i = 0; i < sizeof(npus) / sizeof(*npus); i++)
        if (npus[i].device == device)
            return npus[i].arch;
    return NULL;
}
