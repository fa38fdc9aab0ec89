/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What NVIDIA's libraries say, merged into what the kernel's files show. A library knows the GPU's
 * capability and the CUDA version better; which kernel module is loaded, the kernel knows. */
#include "lib/base/cleanup.h"
#include "lib/probe/providers/nvidia/nvidia.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The GPU that NVML means; one that no file shows is added: containers and WSL2 show none. */
static struct ocv_nvidia_gpu *find_gpu(struct ocv_nvidia_machine *m,
                                       const struct ocv_nvidia_gpu *told, bool *used)
{
    char id[sizeof(told->id)];
    for (size_t i = 0; told->id[0] && i < m->n; i++)
        if (strcmp(m->gpus[i].id, told->id) == 0)
            return used[i] ? NULL : &m->gpus[i];
    for (size_t i = 0; m->tegra && i < m->n; i++) /* on Tegra its address is made up */
        if (!used[i] && !m->gpus[i].pci && m->gpus[i].integrated)
            return &m->gpus[i];
    snprintf(id, sizeof(id), "gpu%zu", m->n);
    return ocv_nvidia_add_gpu(m, told->id[0] ? told->id : id);
}

static void correct_gpu(struct ocv_nvidia_gpu *gpu, const struct ocv_nvidia_gpu *told)
{
    gpu->shown = true;
    if (told->sm) {
        gpu->sm = told->sm;
        gpu->guess = false;
    }
    if (told->name[0])
        memcpy(gpu->name, told->name, sizeof(gpu->name));
    if (told->uuid[0])
        memcpy(gpu->uuid, told->uuid, sizeof(gpu->uuid));
    if (told->memory)
        gpu->memory = told->memory;
    if (strcmp(told->virtualization, "none") != 0)
        memcpy(gpu->virtualization, told->virtualization, sizeof(gpu->virtualization));
    gpu->integrated = gpu->integrated || told->integrated;
    if (told->mig < 0)
        return; /* what procfs shows is kept */
    gpu->mig = told->mig;
    gpu->mig_instances = told->mig_instances;
    memcpy(gpu->mig_uuids, told->mig_uuids, sizeof(gpu->mig_uuids));
}

/* Its state tells the rest. */
static bool is_lost_device(const struct ocv_nvml_device *device)
{
    return strcmp(device->failure.name, "GPU_IS_LOST") == 0;
}

/* `placed`: which GPUs are lost is known. */
static void merge_answer(struct ocv_nvidia_machine *m, const struct ocv_nvml_answer *answer,
                         bool placed)
{
    const struct ocv_nvml_failure *failure = &answer->failure;
    if (strcmp(failure->name, "LIB_RM_VERSION_MISMATCH") == 0 ||
        strcmp(failure->name, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH") == 0) {
        m->mismatch = m->loaded = true;
        snprintf(m->trouble, sizeof(m->trouble),
                 "the driver's libraries are of another version than its loaded module%s%s (NVML: "
                 "driver/library version mismatch): reboot or reload the module",
                 m->driver[0] ? ", " : "", m->driver);
    } else if (strcmp(failure->name, "DRIVER_NOT_LOADED") == 0) {
        snprintf(m->trouble, sizeof(m->trouble),
                 "NVIDIA's libraries are installed, but the kernel driver is not loaded");
    } else if (strcmp(failure->name, "NO_PERMISSION") == 0) {
        snprintf(m->trouble, sizeof(m->trouble),
                 "no permission to use the GPUs (%s): see the owner of /dev/nvidiactl",
                 failure->call);
    } else if (failure->call[0]) {
        snprintf(m->trouble, sizeof(m->trouble), "%s failed with error %ld, %s", failure->call,
                 failure->code, failure->name[0] ? failure->name : "unknown");
    } else if (answer->hung[0]) {
        snprintf(m->trouble, sizeof(m->trouble),
                 "%s did not answer within %.1f s (is persistence mode off?)", answer->hung,
                 answer->time_ms / 1000.0);
    } else if (answer->none && (m->n || m->wsl)) {
        snprintf(m->trouble, sizeof(m->trouble),
                 "NVIDIA's libraries are not installed (libnvidia-ml.so.1, libcuda.so.1)");
    }
    for (size_t i = 0; i < answer->n && !m->trouble[0]; i++) {
        failure = &answer->devices[i].failure;
        if (failure->call[0] && !(placed && is_lost_device(&answer->devices[i])))
            snprintf(m->trouble, sizeof(m->trouble), "GPU %zu: %s failed with error %ld, %s", i,
                     failure->call, failure->code, failure->name[0] ? failure->name : "unknown");
    }
}

/* By address; what has none comes after. */
static int by_address(const void *a, const void *b)
{
    const struct ocv_nvidia_gpu *left = a, *right = b;
    bool has_left = strchr(left->id, ':'), has_right = strchr(right->id, ':');
    if (has_left != has_right)
        return has_left ? -1 : 1;
    return has_left ? strcmp(left->id, right->id)
                    : (left->index > right->index) - (left->index < right->index);
}

void ocv_nvidia_merge(struct ocv_nvidia_machine *m, const struct ocv_nvml_answer *answer)
{
    bool used[OCV_NVIDIA_GPUS_MAX] = {false}, complete = answer->counted && answer->n > 0;
    size_t lost = 0;
    if (!m->driver[0] && answer->driver[0]) {
        memcpy(m->driver, answer->driver, sizeof(m->driver));
        m->loaded = true;
        if (!m->tegra && !m->cuda.major)
            m->cuda = ocv_nvidia_cuda((unsigned)strtoul(m->driver, NULL, 10), &m->newer);
    }
    /* A forward compatibility package counts for the programs that are started with it. A container
     * is given the driver's own library, and an image may bring a package of its own. */
    if (answer->cuda.major && !(answer->compat && m->cuda.major)) {
        m->cuda = answer->cuda;
        m->newer = false;
        m->source = answer->cuda_library ? "libcuda" : "nvml";
    }
    for (size_t i = 0; i < answer->n; i++) {
        const struct ocv_nvml_device *device = &answer->devices[i];
        bool is_lost = is_lost_device(device);
        if (is_lost && !device->readable) { /* no handle, so which it is shows by elimination */
            lost++;
            continue;
        }
        if (!device->readable ||
            (!device->gpu.sm && device->failure.call[0] && !device->gpu.id[0])) {
            complete = false; /* it may be any of those that the files show */
            if (!device->readable)
                continue;
        }
        struct ocv_nvidia_gpu *gpu = find_gpu(m, &device->gpu, used);
        if (!gpu)
            continue;
        used[gpu - m->gpus] = true;
        m->loaded = m->answered = true;
        correct_gpu(gpu, &device->gpu);
        gpu->lost = gpu->lost || is_lost;
    }
    if (answer->hung[0])
        complete = false;
    size_t left = 0;
    for (size_t i = 0; i < m->n; i++)
        left += !used[i];
    for (size_t i = 0; complete && i < m->n; i++) {
        m->gpus[i].hidden = !used[i];
        m->gpus[i].lost = m->gpus[i].lost || (!used[i] && left == lost);
    }
    bool placed = lost == 0 || (complete && left == lost);
    qsort(m->gpus, m->n, sizeof(*m->gpus), by_address);
    for (size_t i = 0; i < m->n; i++)
        m->gpus[i].index = (unsigned)i;
    merge_answer(m, answer, placed);
}

/* Instances of GPUs in MIG mode, as the driver's files show them:
 * proc/driver/nvidia/capabilities/gpuMINOR/mig/giN/ciM, a directory for every compute instance. The
 * mode itself is not shown, so a GPU in MIG mode without an instance looks like one without MIG. */

#define ENTRIES_MAX 64u /* of a directory; a GPU has 7 instances at most */

/* How many directories "PREFIXn" there are; or, with `inner`, how many "INNERn" in all of them. */
static unsigned count_directories(const struct ocv_probe_host *host, const char *path,
                                  const char *prefix, const char *inner)
{
    char below[160];
    struct dirent *found;
    unsigned count = 0;
    ocv_auto_dir DIR *dir = ocv_sysroot_opendir(host->root, path);
    size_t len = strlen(prefix);
    for (unsigned i = 0; dir && i < ENTRIES_MAX && (found = readdir(dir)); i++) {
        const char *number = found->d_name + len;
        if (strncmp(found->d_name, prefix, len) != 0 || !*number || strlen(number) > 4 ||
            strspn(number, "0123456789") != strlen(number))
            continue;
        snprintf(below, sizeof(below), "%s/%s%.4s", path, prefix, number);
        count += inner ? count_directories(host, below, inner, NULL) : 1;
    }
    return count;
}

void ocv_nvidia_scan_mig(const struct ocv_probe_host *host, unsigned minor,
                         struct ocv_nvidia_gpu *gpu)
{
    char path[96];
    snprintf(path, sizeof(path), "proc/driver/nvidia/capabilities/gpu%u/mig", minor);
    unsigned count = count_directories(host, path, "gi", "ci");
    if (count == 0)
        return;
    gpu->mig = 1;
    gpu->mig_instances = count;
}
