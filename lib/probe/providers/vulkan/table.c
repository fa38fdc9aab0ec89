/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which Vulkan driver of Mesa drives a GPU, and which version of the API it has there. Source:
 * Mesa's documentation, pages of its drivers and docs/features.txt, and the release notes of 24.0
 * to 25.1; the version is that of Mesa 25.1, which images made today have, and of a row the lowest.
 * NVIDIA's own driver: its release highlights of branches 510 (1.3) and 570 (1.4). */
#include "lib/probe/providers/amd/amd.h"
#include "lib/probe/providers/intel/intel.h"
#include "lib/probe/providers/nvidia/nvidia.h"
#include "lib/probe/providers/vulkan/vulkan.h"

#include <stdlib.h>
#include <string.h>

/* Intel's GPUs before Xe, by blocks of ids: Linux, include/drm/intel/pciids.h. anv: Gen9 and newer;
 * hasvk: Gen7 to Gen8. */
static const struct {
    const char *driver;
    uint16_t first, last;
    uint8_t minor;
} intel[] = {
    {"hasvk", 0x0152, 0x016a, 2}, {"hasvk", 0x0402, 0x042e, 2}, {"hasvk", 0x0a02, 0x0a2e, 2},
    {"hasvk", 0x0d02, 0x0d2e, 2}, {"hasvk", 0x0f30, 0x0f33, 2}, {"hasvk", 0x1602, 0x163e, 3},
    {"anv", 0x1902, 0x193d, 4},   {"anv", 0x1a84, 0x1a85, 4},   {"hasvk", 0x22b0, 0x22b3, 3},
    {"anv", 0x3184, 0x3185, 4},   {"anv", 0x3e90, 0x3ea9, 4},   {"anv", 0x4541, 0x4571, 4},
    {"anv", 0x4e51, 0x4e71, 4},   {"anv", 0x5902, 0x593b, 4},   {"anv", 0x5a84, 0x5a85, 4},
    {"anv", 0x87c0, 0x87ca, 4},   {"anv", 0x8a50, 0x8a71, 4},   {"anv", 0x9b21, 0x9bf6, 4},
};

/* Systems on a chip: the kernel driver, and how the first name in the device tree begins. Mali
 * before CSF (kernel driver panfrost) has no conformant driver. */
static const struct {
    const char *kernel, *compatible, *driver;
    uint8_t minor;
} platforms[] = {
    {"panthor", "", "panvk", 2},
    {"v3d", "brcm,2711-v3d", "v3dv", 3},
    {"v3d", "brcm,2712-v3d", "v3dv", 3},
    {"asahi", "apple,agx-", "honeykrisp", 4},
};

struct ocv_vulkan_support ocv_vulkan_of_pci(const struct ocv_pci_device *pci, const char *version)
{
    const struct ocv_vulkan_support none = {0};
    if (!ocv_gpu_is_class(pci->class_code))
        return none;
    if (pci->vendor == OCV_PCI_AMD && !strcmp(pci->driver, "amdgpu")) {
        bool guess;
        unsigned target = ocv_amd_of_device(pci->device, &guess);
        struct ocv_vulkan_support radv = {.driver = "radv", .minor = target >= 80000 ? 4 : 3};
        radv.integrated = ocv_amd_traits(target) & OCV_AMD_INTEGRATED;
        /* gfx908 and what followed it for computing have no graphics */
        bool computes = target == 90008 || target == 90010 || (target >= 90400 && target <= 90599);
        return computes ? none : radv;
    }
    if (pci->vendor == OCV_PCI_INTEL &&
        (!strcmp(pci->driver, "i915") || !strcmp(pci->driver, "xe"))) {
        const struct ocv_intel_gpu *xe = ocv_intel_gpu_find(pci->device);
        /* 12.60: Ponte Vecchio, for computing alone */
        if (xe && strncmp(xe->ip, "12.60.", 6) != 0 && strncmp(xe->ip, "12.61.", 6) != 0)
            return (struct ocv_vulkan_support){
                .driver = "anv", .minor = 4, .integrated = xe->integrated};
        for (size_t i = 0; !xe && i < sizeof(intel) / sizeof(*intel); i++)
            if (pci->device >= intel[i].first && pci->device <= intel[i].last)
                return (struct ocv_vulkan_support){
                    .driver = intel[i].driver, .minor = intel[i].minor, .integrated = true};
    }
    if (pci->vendor == OCV_PCI_NVIDIA && !strcmp(pci->driver, "nouveau")) {
        bool guess;
        unsigned sm = ocv_nvidia_sm(pci->device, &guess);
        struct ocv_vulkan_support nvk = {.driver = "nvk", .minor = sm >= 75 ? 4 : 3};
        return sm >= 50 ? nvk : none; /* from Maxwell on */
    }
    if (pci->vendor == OCV_PCI_NVIDIA && !strcmp(pci->driver, "nvidia")) {
        unsigned long branch = strtoul(version, NULL, 10);
        return (struct ocv_vulkan_support){.driver = "nvidia",
                                           .minor = branch >= 570   ? 4
                                                    : branch >= 510 ? 3
                                                                    : 2};
    }
    return none;
}

struct ocv_vulkan_support ocv_vulkan_of_platform(const char *driver, const char *compatible)
{
    for (size_t i = 0; i < sizeof(platforms) / sizeof(*platforms); i++)
        if (!strcmp(driver, platforms[i].kernel) &&
            !strncmp(compatible, platforms[i].compatible, strlen(platforms[i].compatible)))
            return (struct ocv_vulkan_support){
                .driver = platforms[i].driver, .minor = platforms[i].minor, .integrated = true};
    return (struct ocv_vulkan_support){0};
}
