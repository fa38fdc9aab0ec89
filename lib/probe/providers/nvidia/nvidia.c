/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace nvidia: which GPUs there are, which machine code they run and which CUDA version their
 * driver supports. Files of the kernel first, NVIDIA's libraries only where they were asked for. */
#include "lib/probe/providers/nvidia/nvidia.h"
#include "lib/base/cleanup.h"
#include "lib/probe/providers/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the published provider's variables say instead of the machine. */
struct forced {
    bool cuda, sm;
    struct ocv_cuda_version version;
    unsigned capability;
};

/* The user space of a newer driver than the machine's own. WSL's driver is Windows'. */
static bool runs_newer(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu)
{
    return gpu->pci && !m->wsl && ocv_nvidia_data_centre(gpu->pci->device, gpu->sm);
}

/* The driver's branch, 0 if none serves or it is unknown. Tegras have drivers of their own until
 * CUDA 13, with which theirs is the one of servers (JetPack 7): what it supports tells. */
static unsigned branch_of(const struct ocv_nvidia_machine *m, const struct forced *forced)
{
    if (forced->cuda)
        return ocv_nvidia_branch(0, forced->version);
    if (!m->cuda.major || ocv_nvidia_driver_state(m) != OCV_NVIDIA_USABLE)
        return 0;
    if (m->tegra)
        return m->cuda.major >= 13 ? ocv_nvidia_branch(0, m->cuda) : 0;
    return ocv_nvidia_branch((unsigned)strtoul(m->driver, NULL, 10), m->cuda);
}

static int add_gpu(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu,
                   unsigned branch, struct ocv_result *result, struct ocv_error *err)
{
    static const char *const features[] = {"cuda_version_lower_bound", "cuda_version_upper_bound",
                                           "sm_arch", "forward_compatibility"};
    char why[sizeof(m->trouble)], capability[16] = "", memory[24] = "", instances[16] = "";
    json_t *device = ocv_result_device(result, gpu->id, gpu->name[0] ? gpu->name : NULL);
    if (!device ||
        (gpu->uuid[0] && json_object_set_new(device, "uuid", json_string(gpu->uuid)) < 0))
        return ocv_error_nomem(err);
    OCV_TRY(ocv_gpu_mark(device, gpu->index, gpu->secondary, gpu->guess, err));

    if (gpu->sm)
        snprintf(capability, sizeof(capability), "%u.%u", gpu->sm / 10, gpu->sm % 10);
    if (gpu->memory)
        snprintf(memory, sizeof(memory), "%llu", (unsigned long long)gpu->memory);
    if (gpu->mig == 1)
        snprintf(instances, sizeof(instances), "%u", gpu->mig_instances);
    const char *const attributes[][2] = {
        {"compute_capability", capability},
        {"memory", memory},
        {"driver", gpu->pci ? gpu->pci->driver : ""},
        {"mig", gpu->mig == 1 ? "enabled" : ""},
        {"mig_instances", instances},
        {"mig_uuids", gpu->mig_uuids},
        {"virtualization", gpu->virtualization},
        {"integrated", gpu->integrated ? "true" : ""},
        {"visible", gpu->hidden ? "false" : ""},
    };
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        OCV_TRY(ocv_device_attribute(device, attributes[i][0], attributes[i][1], err));

    ocv_nvidia_why(m, gpu, why, sizeof(why));
    if (ocv_nvidia_barred(gpu))
        return ocv_gpu_bar(device, features, sizeof(features) / sizeof(*features), why, err);
    /* else what the namespace has */
    if (!m->force_code)
        OCV_TRY(gpu->state == OCV_NVIDIA_USABLE
                    ? ocv_nvidia_add_sm(result, device, gpu->sm, gpu->guess, err)
                    : ocv_gpu_add_none(device, "sm_arch", err));
    bool other = runs_newer(m, gpu) != runs_newer(m, &m->gpus[0]);
    return branch && other && gpu->state == OCV_NVIDIA_USABLE
               ? ocv_nvidia_add_user_spaces(result, device, branch, !runs_newer(m, &m->gpus[0]),
                                            err)
               : OCV_OK;
}

static int probe_nvidia(const struct ocv_probe_host *host, struct ocv_result *result,
                        struct ocv_error *err)
{
    static const char cuda_key[] = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION";
    static const char sm_key[] = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH";
    struct ocv_nvidia_machine m;
    const char *cuda = ocv_probe_host_variable(host, cuda_key);
    const char *sm = ocv_probe_host_variable(host, sm_key);
    struct forced forced = {.cuda = cuda != NULL, .sm = sm != NULL};
    OCV_TRY(ocv_nvidia_scan(host, &m, err));
    ocv_auto_free struct ocv_nvidia_gpu *gpus = m.gpus;
    if (cuda && !ocv_nvidia_force_cuda(cuda, &forced.version))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s=%s: not a version", cuda_key, cuda);
    if (sm && !ocv_nvidia_force_sm(sm, &forced.capability))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s=%s: not MAJOR.MINOR", sm_key, sm);
    if (host->deep && host->live && !(forced.cuda && forced.sm)) {
        struct ocv_nvml_answer answer;
        struct ocv_error failure = {0}; /* adds a note to what the files show */
        int status = ocv_nvml_ask(host, &answer, &failure);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status == OCV_OK) {
            ocv_nvidia_merge(&m, &answer);
            ocv_nvml_free(&answer);
        } else if (status != OCV_ERR_NOT_FOUND || m.n || m.loaded) {
            snprintf(m.trouble, sizeof(m.trouble), "NVIDIA's libraries: %s", failure.message);
        }
    }
    if (m.n == 0 && !m.loaded && !m.wsl && !m.virtual_functions && !m.trouble[0] && !forced.cuda &&
        !forced.sm)
        return OCV_OK;
    m.force_driver = forced.cuda;
    m.force_code = forced.sm;
    ocv_nvidia_rank(&m);
    ocv_nvidia_set_status(&m, result);
    result->source = forced.cuda || forced.sm ? "environment" : m.source;
    if ((forced.cuda && forced.sm) || (m.n == 0 && (forced.cuda || forced.sm))) {
        result->status = OCV_RESULT_OK; /* the environment's, not this machine's */
        result->note[0] = '\0';
        result->guess = false;
    }
    for (size_t i = 0; i < m.n; i++)
        result->card = result->card || (gpus[i].state == OCV_NVIDIA_USABLE && !gpus[i].integrated);
    memcpy(result->driver, m.driver, sizeof(result->driver));
    /* what no driver runs must not be chosen: without a GPU that counts there are no features */
    bool counts = m.n > 0 && !ocv_nvidia_barred(&gpus[0]);
    unsigned branch = branch_of(&m, &forced);
    if (forced.cuda)
        OCV_TRY(ocv_nvidia_add_cuda(result, forced.version, err));
    else if (counts && m.cuda.major && ocv_nvidia_driver_state(&m) == OCV_NVIDIA_USABLE)
        OCV_TRY(ocv_nvidia_add_cuda(result, m.cuda, err));
    if (forced.sm)
        OCV_TRY(ocv_nvidia_add_sm(result, NULL, forced.capability, false, err));
    else if (counts && gpus[0].state == OCV_NVIDIA_USABLE)
        OCV_TRY(ocv_nvidia_add_sm(result, NULL, gpus[0].sm, gpus[0].guess, err));
    if (branch && (counts || forced.cuda))
        OCV_TRY(ocv_nvidia_add_user_spaces(result, NULL, branch,
                                           m.n > 0 && runs_newer(&m, &gpus[0]), err));
    for (size_t i = 0; i < m.n; i++)
        OCV_TRY(add_gpu(&m, &gpus[i], branch, result, err));
    return OCV_OK;
}

const struct provider ocv_provider_nvidia = {.name = "nvidia",
                                             .ns = "nvidia",
                                             .kind = "builtin",
                                             .version = "3",
                                             .probe = probe_nvidia,
                                             .quiet = true};
