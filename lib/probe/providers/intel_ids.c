/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of namespace intel. */
#include "intel.h"

/* GPUs. Source: Intel compute-runtime, device_ids_configs_*.h for the ids and
 * aot_config_headers/platforms.h for the IP versions (MIT). The kernel does not show a GPU's
 * stepping in sysfs: the table has that of the products on sale. Base: Level Zero's table of
 * compatible versions, as the published provider has it. */
static const struct ocv_intel_gpu gpus[] = {
    {0x9a40, 0x9a40, "TGL", "12.0.0", NULL, true},
    {0x9a49, 0x9a49, "TGL", "12.0.0", NULL, true},
    {0x9a59, 0x9a59, "TGL", "12.0.0", NULL, true},
    {0x9a60, 0x9a60, "TGL", "12.0.0", NULL, true},
    {0x9a68, 0x9a68, "TGL", "12.0.0", NULL, true},
    {0x9a70, 0x9a70, "TGL", "12.0.0", NULL, true},
    {0x9a78, 0x9a78, "TGL", "12.0.0", NULL, true},
    {0x4c80, 0x4c80, "RKL", "12.1.0", NULL, true},
    {0x4c8a, 0x4c8a, "RKL", "12.1.0", NULL, true},
    {0x4c8b, 0x4c8b, "RKL", "12.1.0", NULL, true},
    {0x4c8c, 0x4c8c, "RKL", "12.1.0", NULL, true},
    {0x4c90, 0x4c90, "RKL", "12.1.0", NULL, true},
    {0x4c9a, 0x4c9a, "RKL", "12.1.0", NULL, true},
    {0x4680, 0x4680, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x4682, 0x4682, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x4688, 0x4688, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x468a, 0x468a, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x468b, 0x468b, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x4690, 0x4690, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x4692, 0x4692, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x4693, 0x4693, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0xa780, 0xa783, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0xa788, 0xa78b, "ADL-S/RPL-S", "12.2.0", NULL, true},
    {0x4626, 0x4626, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x4628, 0x4628, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x462a, 0x462a, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46a0, 0x46a0, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46a1, 0x46a1, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46a3, 0x46a3, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46a6, 0x46a6, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46a8, 0x46a8, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46aa, 0x46aa, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46b0, 0x46b0, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46b1, 0x46b1, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46b3, 0x46b3, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46c0, 0x46c0, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46c1, 0x46c1, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46c3, 0x46c3, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0xa720, 0xa720, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0xa721, 0xa721, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0xa7a0, 0xa7a0, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0xa7a1, 0xa7a1, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0xa7a8, 0xa7ad, "ADL-P/RPL-P", "12.3.0", NULL, true},
    {0x46d0, 0x46d4, "ADL-N", "12.4.0", NULL, true},
    {0x4905, 0x4909, "DG1", "12.10.0", NULL, false},
    {0x4f80, 0x4f84, "DG2-G10", "12.55.8", NULL, false},
    {0x5690, 0x5692, "DG2-G10", "12.55.8", NULL, false},
    {0x56a0, 0x56a2, "DG2-G10", "12.55.8", NULL, false},
    {0x56af, 0x56af, "DG2-G10", "12.55.8", NULL, false},
    {0x56be, 0x56be, "DG2-G10", "12.55.8", NULL, false},
    {0x56bf, 0x56bf, "DG2-G10", "12.55.8", NULL, false},
    {0x56c0, 0x56c0, "DG2-G10", "12.55.8", NULL, false},
    {0x56c2, 0x56c2, "DG2-G10", "12.55.8", NULL, false},
    {0x4f87, 0x4f87, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x4f88, 0x4f88, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x5693, 0x5695, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x56a5, 0x56a5, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x56a6, 0x56a6, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x56b0, 0x56b0, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x56b1, 0x56b1, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x56ba, 0x56bd, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x56c1, 0x56c1, "DG2-G11", "12.56.5", "12.55.8", false},
    {0x4f85, 0x4f85, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x4f86, 0x4f86, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x5696, 0x5696, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x5697, 0x5697, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x56a3, 0x56a3, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x56a4, 0x56a4, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x56b2, 0x56b2, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x56b3, 0x56b3, "DG2-G12", "12.57.0", "12.55.8", false},
    {0x0bd0, 0x0bd0, "PVC-XL", "12.60.1", NULL, false},
    {0x0bd5, 0x0bdb, "PVC-XT", "12.60.7", NULL, false},
    {0x0b69, 0x0b69, "PVC-XT", "12.60.7", NULL, false},
    {0x0b6e, 0x0b6e, "PVC-XT", "12.60.7", NULL, false},
    {0x0bd4, 0x0bd4, "PVC-XT-VG", "12.61.7", NULL, false},
    {0x7d40, 0x7d40, "MTL-U/ARL-U/ARL-S", "12.70.4", NULL, true},
    {0x7d45, 0x7d45, "MTL-U/ARL-U/ARL-S", "12.70.4", NULL, true},
    {0x7d67, 0x7d67, "MTL-U/ARL-U/ARL-S", "12.70.4", NULL, true},
    {0x7d41, 0x7d41, "MTL-U/ARL-U/ARL-S", "12.70.4", NULL, true},
    {0x7d55, 0x7d55, "MTL-H", "12.71.4", "12.70.4", true},
    {0x7dd5, 0x7dd5, "MTL-H", "12.71.4", "12.70.4", true},
    {0x7d51, 0x7d51, "ARL-H", "12.74.4", NULL, true},
    {0x7dd1, 0x7dd1, "ARL-H", "12.74.4", NULL, true},
    {0xe202, 0xe202, "BMG-G21", "20.1.0", NULL, false},
    {0xe209, 0xe209, "BMG-G21", "20.1.0", NULL, false},
    {0xe20b, 0xe20d, "BMG-G21", "20.1.0", NULL, false},
    {0xe210, 0xe212, "BMG-G21", "20.1.0", NULL, false},
    {0xe215, 0xe215, "BMG-G21", "20.1.0", NULL, false},
    {0xe216, 0xe216, "BMG-G21", "20.1.0", NULL, false},
    {0xe220, 0xe223, "BMG-G31", "20.2.0", "20.1.0", false},
    {0x6420, 0x6420, "LNL-M", "20.4.4", "20.1.0", true},
    {0x64a0, 0x64a0, "LNL-M", "20.4.4", "20.1.0", true},
    {0x64b0, 0x64b0, "LNL-M", "20.4.4", "20.1.0", true},
    {0xb080, 0xb087, "PTL-H", "30.0.4", NULL, true},
    {0xb08f, 0xb08f, "PTL-H", "30.0.4", NULL, true},
    {0xb0a0, 0xb0a0, "PTL-H", "30.0.4", NULL, true},
    {0xb0b0, 0xb0b0, "PTL-H", "30.0.4", NULL, true},
    {0xb090, 0xb090, "PTL-U", "30.1.0", "30.0.4", true},
    {0xfd80, 0xfd80, "WCL", "30.3.1", "30.0.4", true},
    {0xfd81, 0xfd81, "WCL", "30.3.1", "30.0.4", true},
    {0xd740, 0xd740, "NVL-S", "30.4.4", "30.0.4", true},
    {0xd743, 0xd743, "NVL-S", "30.4.4", "30.0.4", true},
    {0xd744, 0xd744, "NVL-S", "30.4.4", "30.0.4", true},
    {0xd741, 0xd741, "NVL-U", "30.5.4", "30.0.4", true},
    {0xd742, 0xd742, "NVL-U", "30.5.4", "30.0.4", true},
    {0xd745, 0xd745, "NVL-U", "30.5.4", "30.0.4", true},
    {0xd74a, 0xd74a, "NVL-P", "35.10.4", NULL, true},
    {0xd74b, 0xd74b, "NVL-P", "35.10.4", NULL, true},
    {0xd750, 0xd757, "NVL-P", "35.10.4", NULL, true},
    {0xd75f, 0xd75f, "NVL-P", "35.10.4", NULL, true},
    {0x674c, 0x6750, "CRI", "35.11.0", NULL, false},
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
