/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which GPUs count. One counts when a driver for CUDA has it, and when that driver knows the GPU
 * and is whole; all that is left out keeps its reason. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_LISTED 450u /* branch of OCV_NVIDIA_CUDA_MIN */

enum ocv_nvidia_state ocv_nvidia_driver_state(const struct ocv_nvidia_machine *m)
{
    if (m->force_driver)
        return OCV_NVIDIA_USABLE;
    if (!m->loaded)
        return OCV_NVIDIA_NOT_LOADED;
    if (m->vgpu_host)
        return OCV_NVIDIA_VGPU_HOST;
    /* module and libraries work together in one version only: one of them was upgraded since */
    bool other = m->driver[0] && m->library[0] && strcmp(m->driver, m->library) != 0;
    if (m->mismatch || (other && !m->tegra && !m->answered))
        return OCV_NVIDIA_MISMATCH;
    if (m->cuda.major == 0) /* unknown where the version is not shown, or a Tegra's release */
        return m->driver[0] && !m->tegra ? OCV_NVIDIA_DRIVER_TOO_OLD : OCV_NVIDIA_USABLE;
    if (m->cuda.major < OCV_NVIDIA_CUDA_MIN)
        return OCV_NVIDIA_DRIVER_TOO_OLD;
    /* outside of the published provider's range there is nothing that it would list */
    if (m->cuda.major > OCV_NVIDIA_CUDA_MAX ||
        (m->cuda.major == OCV_NVIDIA_CUDA_MAX && m->cuda.minor > OCV_NVIDIA_MINOR_MAX))
        return OCV_NVIDIA_DRIVER_TOO_NEW;
    return OCV_NVIDIA_USABLE;
}

static enum ocv_nvidia_state state_of(const struct ocv_nvidia_machine *m,
                                      const struct ocv_nvidia_gpu *gpu)
{
    bool driven = gpu->driven || gpu->shown;
    enum ocv_nvidia_state driver = ocv_nvidia_driver_state(m), kind = OCV_NVIDIA_USABLE;
    /* A GPU that NVIDIA's library shows has the driver that it needs, and Tegra's own GPU is part
     * of the release. A driver that is bound to one shows that a guess is wrong. */
    unsigned first, last, branch = (unsigned)strtoul(m->driver, NULL, 10);
    bool bound = gpu->driven && gpu->pci && gpu->pci->driver[0];
    if (!(bound && gpu->guess) && !gpu->shown && gpu->sm && branch &&
        !(m->tegra && gpu->integrated) && !m->force_driver) {
        ocv_nvidia_branches(gpu->sm, &first, &last);
        if (branch < first)
            kind = OCV_NVIDIA_GPU_TOO_NEW;
        else if (last && branch > last)
            kind = OCV_NVIDIA_GPU_TOO_OLD;
    }
    if (m->force_code)
        return OCV_NVIDIA_USABLE;
    if (gpu->lost)
        return OCV_NVIDIA_LOST;
    if (!driven && gpu->pci && gpu->pci->driver[0])
        return OCV_NVIDIA_OTHER_DRIVER;
    if (gpu->excluded && !gpu->shown)
        return OCV_NVIDIA_EXCLUDED;
    if (driver != OCV_NVIDIA_USABLE)
        return driver;
    if (kind != OCV_NVIDIA_USABLE) /* the driver did not take it, and this is why */
        return kind;
    if (!driven)
        return OCV_NVIDIA_UNBOUND;
    if (gpu->hidden)
        return OCV_NVIDIA_HIDDEN;
    return gpu->sm < OCV_NVIDIA_SM_MIN ? OCV_NVIDIA_NO_CODE : OCV_NVIDIA_USABLE;
}

bool ocv_nvidia_barred(const struct ocv_nvidia_gpu *gpu)
{
    return gpu->state != OCV_NVIDIA_USABLE && gpu->state != OCV_NVIDIA_NO_CODE;
}

static int by_capability(const void *a, const void *b)
{
    const struct ocv_nvidia_gpu *left = a, *right = b;
    if (left->secondary != right->secondary)
        return left->secondary ? 1 : -1;
    if (ocv_nvidia_barred(left) != ocv_nvidia_barred(right))
        return ocv_nvidia_barred(left) ? 1 : -1;
    if (left->sm != right->sm)
        return left->sm > right->sm ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

void ocv_nvidia_rank(struct ocv_nvidia_machine *m)
{
    bool usable = false, discrete = false;
    for (size_t i = 0; i < m->n; i++) {
        struct ocv_nvidia_gpu *gpu = &m->gpus[i];
        gpu->state = state_of(m, gpu);
        usable = usable || gpu->state == OCV_NVIDIA_USABLE;
        discrete = discrete || (gpu->state == OCV_NVIDIA_USABLE && !gpu->integrated);
    }
    for (size_t i = 0; i < m->n; i++) {
        struct ocv_nvidia_gpu *gpu = &m->gpus[i];
        gpu->secondary = ocv_nvidia_barred(gpu) || (usable && gpu->state == OCV_NVIDIA_NO_CODE) ||
                         (gpu->integrated && discrete);
    }
    qsort(m->gpus, m->n, sizeof(*m->gpus), by_capability);
}

static void format_driver_too_old(const struct ocv_nvidia_machine *m, char *out, size_t size)
{
    char has[48] = "";
    if (m->cuda.major)
        snprintf(has, sizeof(has), ", which supports CUDA %u.%u,", m->cuda.major, m->cuda.minor);
    if (m->tegra)
        snprintf(out, size, "the driver supports CUDA %u.%u; programs need %u.0 or newer",
                 m->cuda.major, m->cuda.minor, OCV_NVIDIA_CUDA_MIN);
    else
        snprintf(out, size,
                 "driver %s%s is too old: programs need CUDA %u.0 or newer; install driver %u or "
                 "newer",
                 m->driver, has, OCV_NVIDIA_CUDA_MIN, OLDEST_LISTED);
}

void ocv_nvidia_why(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu, char *out,
                    size_t size)
{
    static const char vgpu_host[] = "the driver is NVIDIA's vGPU manager (nvidia_vgpu_vfio): CUDA "
                                    "programs run in its virtual machines only";
    static const char lost[] = "it " OCV_PCI_LOST;
    static const char *const plain[] = {
        [OCV_NVIDIA_EXCLUDED] = "the driver leaves it out (module parameter NVreg_ExcludedGpus)",
        [OCV_NVIDIA_NOT_LOADED] = "the NVIDIA driver is not loaded: no CUDA program can run",
        [OCV_NVIDIA_VGPU_HOST] = vgpu_host,
        [OCV_NVIDIA_UNBOUND] = "no driver is bound to it (the kernel log may say why)",
        [OCV_NVIDIA_HIDDEN] = "NVIDIA's library does not show it",
        [OCV_NVIDIA_LOST] = lost,
    };
    unsigned first, last;
    out[0] = '\0';
    switch (gpu->state) {
    case OCV_NVIDIA_USABLE:
    case OCV_NVIDIA_NO_CODE:
        return;
    case OCV_NVIDIA_OTHER_DRIVER:
        snprintf(out, size, "it is bound to the driver %s, which runs no CUDA program",
                 gpu->pci->driver);
        return;
    case OCV_NVIDIA_MISMATCH:
        if (m->mismatch)
            snprintf(out, size, "%s", m->trouble);
        else
            snprintf(
                out, size,
                "the driver's libraries are of version %s and its loaded module of %s, so programs "
                "fail with a driver/library version mismatch: reboot or reload the module",
                m->library, m->driver);
        return;
    case OCV_NVIDIA_DRIVER_TOO_OLD:
        format_driver_too_old(m, out, size);
        return;
    case OCV_NVIDIA_DRIVER_TOO_NEW:
        snprintf(out, size, "CUDA %u.%u is newer than this program knows (up to %u.%u)",
                 m->cuda.major, m->cuda.minor, OCV_NVIDIA_CUDA_MAX, OCV_NVIDIA_MINOR_MAX);
        return;
    case OCV_NVIDIA_GPU_TOO_NEW:
        ocv_nvidia_branches(gpu->sm, &first, &last);
        snprintf(out, size,
                 "driver %s runs no GPU as new as this (compute capability %u.%u); install driver "
                 "%u or newer",
                 m->driver, gpu->sm / 10, gpu->sm % 10, first);
        return;
    case OCV_NVIDIA_GPU_TOO_OLD:
        ocv_nvidia_branches(gpu->sm, &first, &last);
        snprintf(out, size,
                 "driver %s runs no GPU as old as this (compute capability %u.%u); driver %u is "
                 "the last that does",
                 m->driver, gpu->sm / 10, gpu->sm % 10, last);
        return;
    case OCV_NVIDIA_EXCLUDED:
    case OCV_NVIDIA_NOT_LOADED:
    case OCV_NVIDIA_VGPU_HOST:
    case OCV_NVIDIA_UNBOUND:
    case OCV_NVIDIA_HIDDEN:
    case OCV_NVIDIA_LOST:
        snprintf(out, size, "%s", plain[gpu->state]);
    }
}
