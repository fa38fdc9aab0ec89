/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes for the operator on a machine's AMD GPUs. */
#include "lib/probe/providers/amd/amd.h"

#include <stdio.h>
#include <string.h>

void ocv_amd_reason(const struct ocv_amd_machine *m, const struct ocv_amd_gpu *gpu, char *out,
                    size_t size)
{
    if (gpu->state == OCV_AMD_UNKNOWN)
        snprintf(out, size,
                 "its PCI id 1002:%04x is too old for ROCm, or newer than this program knows",
                 gpu->device);
    else if (gpu->state == OCV_AMD_LOST)
        snprintf(out, size, "it " OCV_PCI_LOST);
    else if (gpu->state == OCV_AMD_NO_DRIVER)
        snprintf(out, size, "the driver 'amdgpu' is not loaded for it");
    else if (gpu->state == OCV_AMD_NOT_IN_KFD)
        snprintf(out, size,
                 m->kfd.hidden ? "it is not given to this container or user"
                               : "amdgpu offers no compute on it (the kernel log says why: PCIe "
                                 "atomics, firmware)");
    else if (gpu->state == OCV_AMD_NO_KFD)
        snprintf(out, size,
                 "amdgpu is loaded, and the kernel has no KFD (/sys/class/kfd), which ROCm needs");
    else if (strcmp(gpu->pci->driver, "vfio-pci") == 0)
        snprintf(out, size, "it is given to a virtual machine (driver 'vfio-pci')");
    else
        snprintf(out, size, "driver '%s' is bound, which runs no ROCm program", gpu->pci->driver);
}

void ocv_amd_set_status(const struct ocv_probe_host *host, const struct ocv_amd_machine *m,
                        struct ocv_result *result)
{
    char *out = result->note;
    size_t size = sizeof(result->note);
    char more[32] = "", reason[160];
    result->status = OCV_RESULT_PARTIAL;
    if (m->usable < m->n) {
        const struct ocv_amd_gpu *gpu = &m->gpus[m->usable]; /* the first that is not usable */
        if (m->n - m->usable > 1)
            snprintf(more, sizeof(more), " (and %zu more)", m->n - m->usable - 1);
        ocv_amd_reason(m, gpu, reason, sizeof(reason));
        snprintf(out, size, "GPU %s%s: %s", gpu->address, more, reason);
    } else if (m->kfd.hidden && m->node) {
        snprintf(out, size,
                 "%zu KFD nodes may not be read in this container: the GPUs are known by what the "
                 "PCI bus shows",
                 m->kfd.hidden);
    } else if (m->kfd.hidden) {
        snprintf(out, size, "%zu KFD nodes may not be read: not given to this container or user",
                 m->kfd.hidden);
    } else if (m->kfd.broken) {
        snprintf(out, size, "%zu KFD nodes are malformed and left out", m->kfd.broken);
    } else if (m->usable && !m->kfd.present && host->root >= 0) {
        snprintf(out, size,
                 "the kernel shows no KFD (/sys/class/kfd): ROCm programs need it, what "
                 "the GPUs are is known without it");
    } else {
        /* the device nodes that ROCm opens; only on the machine that this runs on */
        char node[32], path[48] = "dev/kfd";
        enum ocv_gpu_access access = m->n ? ocv_gpu_access(host, path) : OCV_GPU_MAY;
        for (size_t i = 0; i < m->usable && access == OCV_GPU_MAY; i++)
            if (ocv_gpu_node(host, m->gpus[i].address, "drm", "renderD", node, sizeof(node))) {
                snprintf(path, sizeof(path), "dev/dri/%s", node);
                access = ocv_gpu_access(host, path);
            }
        if (access == OCV_GPU_MAY_NOT)
            snprintf(out, size,
                     "this user may not open /%s (group render): its programs find no GPU", path);
        else if (access == OCV_GPU_MISSING)
            snprintf(out, size, "/%s is missing here: programs started from here find no GPU",
                     path);
        else
            result->status = OCV_RESULT_OK;
    }
}
