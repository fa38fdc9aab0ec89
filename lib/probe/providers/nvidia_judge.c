/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which GPUs count, and what an operator should know about the machine. */
#include "nvidia.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drivers from here on run no chip before Turing. Source: NVIDIA's notice for branch 580, the last
 * one for Maxwell, Pascal and Volta. */
#define DRIVER_WITHOUT_VOLTA 590u
#define SM_TURING 75u

bool ocv_nvidia_gpu_usable(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu)
{
    unsigned long driver = strtoul(m->driver, NULL, 10);
    return gpu->sm >= OCV_NVIDIA_SM_MIN && !gpu->hidden &&
           (gpu->sm >= SM_TURING || driver < DRIVER_WITHOUT_VOLTA || m->tegra);
}

static int by_capability(const void *a, const void *b)
{
    const struct ocv_nvidia_gpu *left = a, *right = b;
    if (left->secondary != right->secondary)
        return left->secondary ? 1 : -1;
    if (left->sm != right->sm)
        return left->sm > right->sm ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

void ocv_nvidia_rank(struct ocv_nvidia_machine *m)
{
    bool usable = false, discrete = false;
    for (size_t i = 0; i < m->n; i++) {
        bool fit = ocv_nvidia_gpu_usable(m, &m->gpus[i]);
        usable = usable || fit;
        discrete = discrete || (fit && !m->gpus[i].integrated);
    }
    for (size_t i = 0; i < m->n; i++) {
        struct ocv_nvidia_gpu *gpu = &m->gpus[i];
        gpu->secondary =
            usable && (!ocv_nvidia_gpu_usable(m, gpu) || (gpu->integrated && discrete));
    }
    qsort(m->gpus, m->n, sizeof(*m->gpus), by_capability);
}

static void OCV_PRINTF(2, 3) partial(struct ocv_result *result, const char *format, ...)
{
    va_list args;
    if (result->note[0])
        return; /* what comes first matters most */
    va_start(args, format);
    vsnprintf(result->note, sizeof(result->note), format, args);
    va_end(args);
    result->status = OCV_RESULT_PARTIAL;
}

/* There is no GPU to speak of. */
static void judge_none(const struct ocv_nvidia_machine *m, struct ocv_result *result)
{
    if (m->taken && m->taken_by[0])
        partial(result,
                "%u GPU%s bound to the driver %s (%s): no CUDA program of this machine can "
                "use %s",
                m->taken, m->taken > 1 ? "s are" : " is", m->taken_by, m->taken_id,
                m->taken > 1 ? "them" : "it");
    else if (m->taken)
        partial(result, "the driver leaves GPU %s out (module parameter NVreg_ExcludedGpus)",
                m->taken_id);
    else if (m->trouble[0])
        partial(result, "%s", m->trouble);
    else if (m->wsl)
        partial(result, "WSL2: Windows' driver shows its GPUs to NVIDIA's libraries only; probe "
                        "with --deep");
    else if (m->virtual_functions)
        partial(result, "only virtual functions of SR-IOV, which belong to virtual machines");
    else
        partial(result, "the driver%s%s is loaded, but no GPU answers", m->driver[0] ? " " : "",
                m->driver);
}

static void judge_driver(const struct ocv_nvidia_machine *m, struct ocv_result *result)
{
    if (!m->loaded)
        partial(result, "the NVIDIA driver is not loaded: no CUDA program can run%s%s%s",
                m->library[0] ? " (its libraries, version " : "", m->library,
                m->library[0] ? ", are installed)" : "");
    else if (m->trouble[0])
        partial(result, "%s", m->trouble);
    else if (m->driver[0] && m->library[0] && strcmp(m->driver, m->library) != 0 && !m->tegra)
        partial(result,
                "the driver was upgraded to %s without a reboot, and %s is still loaded: programs "
                "fail with a driver/library version mismatch until the machine reboots",
                m->library, m->driver);
    else if (m->cuda.major == 0 && m->tegra)
        partial(result,
                "/etc/nv_tegra_release names no known release: the CUDA version is unknown");
    else if (m->cuda.major == 0)
        partial(result, "the driver's version is not shown: the CUDA version is unknown");
    else if (m->cuda.major < OCV_NVIDIA_CUDA_MIN)
        partial(result, "the driver%s%s supports CUDA %u.%u; programs need %u.0 or newer",
                m->driver[0] ? " " : "", m->driver, m->cuda.major, m->cuda.minor,
                OCV_NVIDIA_CUDA_MIN);
    else if (m->cuda.major > OCV_NVIDIA_CUDA_MAX)
        partial(result, "CUDA %u.%u is newer than this program knows (up to %u.%u)", m->cuda.major,
                m->cuda.minor, OCV_NVIDIA_CUDA_MAX, OCV_NVIDIA_MINOR_MAX);
}

/* A GPU without an address is called gpu0; "GPU 0" reads better. */
static const char *short_id(const struct ocv_nvidia_gpu *gpu)
{
    return strncmp(gpu->id, "gpu", 3) == 0 ? gpu->id + 3 : gpu->id;
}

static void judge_gpu(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu,
                      struct ocv_result *result)
{
    if (gpu->sm == 0 && gpu->pci)
        partial(result, "GPU %s is of an unknown kind (PCI id 10de:%04x)", short_id(gpu),
                gpu->pci->device);
    else if (gpu->sm == 0)
        partial(result, "the kind of GPU %s is not shown", short_id(gpu));
    else if (gpu->sm < OCV_NVIDIA_SM_MIN)
        partial(result, "GPU %s has compute capability %u.%u; programs need %u.%u or newer",
                short_id(gpu), gpu->sm / 10, gpu->sm % 10, OCV_NVIDIA_SM_MIN / 10,
                OCV_NVIDIA_SM_MIN % 10);
    else if (!ocv_nvidia_gpu_usable(m, gpu))
        partial(result, "driver %s runs no GPU as old as %s (compute capability %u.%u)", m->driver,
                short_id(gpu), gpu->sm / 10, gpu->sm % 10);
    else if (gpu->mig == 1 && gpu->mig_instances == 0)
        partial(result, "GPU %s is in MIG mode without an instance: programs see no GPU there",
                short_id(gpu));
}

void ocv_nvidia_judge(const struct ocv_nvidia_machine *m, struct ocv_result *result)
{
    result->status = OCV_RESULT_OK;
    result->guess = m->newer;
    for (size_t i = 0; i < m->n; i++)
        result->guess = result->guess || (m->gpus[i].guess && !m->gpus[i].secondary);
    if (m->n == 0) {
        judge_none(m, result);
        if (m->trouble[0])
            result->status = OCV_RESULT_FAILED;
        return;
    }
    judge_driver(m, result);
    if (m->denied)
        partial(result, "no permission to open /dev/nvidiactl: programs of this user see no GPU");
    for (size_t i = 0; i < m->n && !m->gpus[i].secondary; i++)
        judge_gpu(m, &m->gpus[i], result);
    if (m->newer)
        partial(result, "driver %s is newer than this program knows: CUDA %u.%u at least",
                m->driver, m->cuda.major, m->cuda.minor);
    if (m->taken && m->taken_by[0])
        partial(result, "GPU %s is bound to the driver %s and left out", m->taken_id, m->taken_by);
}
