/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes for the operator on the machine. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void OCV_PRINTF(2, 3) set_partial(struct ocv_result *result, const char *format, ...)
{
    va_list args;
    if (result->note[0])
        return; /* what comes first matters most */
    va_start(args, format);
    vsnprintf(result->note, sizeof(result->note), format, args);
    va_end(args);
    result->status = OCV_RESULT_PARTIAL;
}

/* A GPU without an address is called gpu0; "GPU 0" reads better. */
static const char *short_id(const struct ocv_nvidia_gpu *gpu)
{
    return strncmp(gpu->id, "gpu", 3) == 0 ? gpu->id + 3 : gpu->id;
}

static void explain_gpu(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu,
                        struct ocv_result *result)
{
    char why[sizeof(result->note)], more[32] = "";
    if (ocv_nvidia_barred(gpu)) {
        /* "GPU 0000:3b:00.0 (and 1 more): ...": kept from counting for the same reason */
        size_t n = 0;
        for (size_t i = 0; i < m->n; i++)
            n += m->gpus[i].state == gpu->state;
        if (n > 1)
            snprintf(more, sizeof(more), " (and %zu more)", n - 1);
        ocv_nvidia_why(m, gpu, why, sizeof(why));
        set_partial(result, "GPU %s%s: %s", short_id(gpu), more, why);
    } else if (gpu->sm == 0 && gpu->pci) {
        set_partial(result, "GPU %s is of an unknown kind (PCI id 10de:%04x)", short_id(gpu),
                    gpu->pci->device);
    } else if (gpu->sm == 0) {
        set_partial(result, "the kind of GPU %s is not shown", short_id(gpu));
    } else if (gpu->sm < OCV_NVIDIA_SM_MIN) {
        set_partial(result, "GPU %s has compute capability %u.%u; programs need %u.%u or newer",
                    short_id(gpu), gpu->sm / 10, gpu->sm % 10, OCV_NVIDIA_SM_MIN / 10,
                    OCV_NVIDIA_SM_MIN % 10);
    } else if (gpu->mig == 1 && gpu->mig_instances == 0) {
        set_partial(result, "GPU %s is in MIG mode without an instance: programs see no GPU there",
                    short_id(gpu));
    }
}

void ocv_nvidia_set_status(const struct ocv_nvidia_machine *m, struct ocv_result *result)
{
    result->status = OCV_RESULT_OK;
    result->guess = false;
    for (size_t i = 0; i < m->n; i++)
        result->guess = result->guess || ((m->newer || m->gpus[i].guess) && !m->gpus[i].secondary);
    if (m->n == 0) {
        if (m->trouble[0])
            set_partial(result, "%s", m->trouble);
        else if (m->wsl)
            set_partial(result,
                        "WSL2: Windows' driver shows its GPUs to NVIDIA's libraries only; probe "
                        "with --deep");
        else if (m->virtual_functions)
            set_partial(result,
                        "only virtual functions of SR-IOV, which belong to virtual machines");
        else
            set_partial(result, "the driver%s%s is loaded, but no GPU answers",
                        m->driver[0] ? " " : "", m->driver);
        if (m->trouble[0])
            result->status = OCV_RESULT_FAILED;
        return;
    }
    /* what is wrong with the driver, reported where it keeps a GPU from counting */
    char why[sizeof(result->note)];
    enum ocv_nvidia_state state = ocv_nvidia_driver_state(m);
    size_t at = 0;
    while (at < m->n && m->gpus[at].state != state)
        at++;
    if (at < m->n && ocv_nvidia_barred(&m->gpus[at])) {
        ocv_nvidia_why(m, &m->gpus[at], why, sizeof(why));
        bool installed = state == OCV_NVIDIA_NOT_LOADED && m->library[0];
        set_partial(result, "%s%s%s%s", why, installed ? " (its libraries, version " : "",
                    installed ? m->library : "", installed ? ", are installed)" : "");
    } else if (m->loaded && m->trouble[0]) {
        set_partial(result, "%s", m->trouble);
    } else if (m->loaded && m->cuda.major == 0) {
        set_partial(result, m->tegra
                                ? "/etc/nv_tegra_release names no known release: the CUDA version "
                                  "is unknown"
                                : "the driver's version is not shown: the CUDA version is unknown");
    }
    if (m->denied)
        set_partial(result,
                    "no permission to open /dev/nvidiactl: programs of this user see no GPU");
    /* next to a usable GPU, a display card below the minimum or a GPU that was left out on purpose
     * is not reported; one that could be used and lacks something is */
    for (size_t i = 0; i < m->n; i++) {
        const struct ocv_nvidia_gpu *gpu = &m->gpus[i];
        if (!gpu->secondary || m->gpus[0].secondary || gpu->state == OCV_NVIDIA_OTHER_DRIVER ||
            gpu->state == OCV_NVIDIA_UNBOUND || gpu->state == OCV_NVIDIA_LOST ||
            gpu->state == OCV_NVIDIA_GPU_TOO_NEW)
            explain_gpu(m, gpu, result);
    }
    if (m->newer && m->tegra)
        set_partial(result, "Jetson Linux is newer than this program knows: CUDA %u.%u at least",
                    m->cuda.major, m->cuda.minor);
    else if (m->newer)
        set_partial(result, "driver %s is newer than this program knows: CUDA %u.%u at least",
                    m->driver, m->cuda.major, m->cuda.minor);
}
