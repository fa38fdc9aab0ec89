/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The AMD GPUs of a machine: what the PCI bus shows, with the KFD nodes that belong to each. */
#include "lib/base/cleanup.h"
#include "lib/probe/providers/amd/amd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_MASK 0x7u

/* Partitions of a GPU count up in the function bits of their location. */
static void attach_node(struct ocv_amd_machine *m, const struct ocv_kfd_node *node)
{
    char address[24];
    struct ocv_amd_gpu *gpu = NULL;
    unsigned function = node->location & FUNCTION_MASK;
    for (bool again = true; !gpu && again; function = 0) {
        again = function != 0; /* as function 0 */
        snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", node->domain, node->location >> 8,
                 node->location >> 3 & 0x1f, function);
        for (size_t i = 0; i < m->n && !gpu; i++)
            if (strcmp(m->gpus[i].address, address) == 0)
                gpu = &m->gpus[i];
    }
    if (!gpu && m->n < OCV_AMD_GPUS_MAX) {
        gpu = &m->gpus[m->n++];
        *gpu = (struct ocv_amd_gpu){.device = (uint16_t)node->device};
        memcpy(gpu->address, address, sizeof(address));
    }
    if (!gpu)
        return;
    if (gpu->nodes++ == 0)
        gpu->node = node;
    if (node->memory <= UINT64_MAX - gpu->memory)
        gpu->memory += node->memory;
}

/* Only amdgpu computes, and only what KFD has. A recording of devices alone shows neither KFD nor
 * modules: there the driver's link is enough. */
static enum ocv_amd_state state_of(const struct ocv_probe_host *host,
                                   const struct ocv_amd_machine *m, const struct ocv_amd_gpu *gpu)
{
    const char *driver = gpu->pci ? gpu->pci->driver : "";
    bool bound = strcmp(driver, "amdgpu") == 0;
    if (gpu->target == 0)
        return OCV_AMD_UNKNOWN;
    if (*driver && !bound)
        return OCV_AMD_OTHER_DRIVER;
    if (bound && ocv_pci_is_lost(host->root, gpu->address))
        return OCV_AMD_LOST;
    if (gpu->node)
        return OCV_AMD_USABLE;
    if (!bound)
        return OCV_AMD_NO_DRIVER;
    if (m->kfd.present)
        return m->node && m->kfd.hidden ? OCV_AMD_USABLE : OCV_AMD_NOT_IN_KFD;
    return m->whole ? OCV_AMD_NO_KFD : OCV_AMD_USABLE;
}

static void describe_gpu(const struct ocv_probe_host *host, const struct ocv_amd_machine *m,
                         struct ocv_amd_gpu *gpu)
{
    char path[128];
    uint64_t memory;
    if (gpu->node)
        gpu->target = gpu->node->target;
    static const char *const parts[] = {"major", "minor", "revision"};
    uint64_t ip[3];
    size_t known = 0;
    for (bool there = gpu->target == 0 && gpu->pci; there && known < 3; known += there) {
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/ip_discovery/die/0/GC/0/%s",
                 gpu->address, parts[known]);
        there = ocv_gpu_number(host, path, &ip[known]);
    }
    if (known == 3)
        gpu->target = ocv_amd_of_ip(ip[0], ip[1], ip[2]);
    if (gpu->target == 0)
        gpu->target = ocv_amd_of_device(gpu->device, &gpu->guess);
    if (gpu->target && !ocv_amd_name(gpu->target, gpu->name, sizeof(gpu->name)))
        gpu->target = 0;
    gpu->state = state_of(host, m, gpu);
    if (!gpu->pci)
        return;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/mem_info_vram_total", gpu->address);
    if (ocv_gpu_number(host, path, &memory))
        gpu->memory = memory;
}

static int by_address(const void *a, const void *b)
{
    const struct ocv_amd_gpu *left = a, *right = b;
    size_t n = strlen(left->address), m = strlen(right->address);
    return n != m ? (n < m ? -1 : 1) : strcmp(left->address, right->address);
}

/* Cards for computing before others; of one sort, the newer target. Equal ones stay together. */
static int by_capability(const void *a, const void *b)
{
    const struct ocv_amd_gpu *left = a, *right = b;
    unsigned l = ocv_amd_traits(left->target) & OCV_AMD_COMPUTE;
    unsigned r = ocv_amd_traits(right->target) & OCV_AMD_COMPUTE;
    if ((left->state == OCV_AMD_USABLE) != (right->state == OCV_AMD_USABLE))
        return left->state == OCV_AMD_USABLE ? -1 : 1;
    if (left->secondary != right->secondary)
        return left->secondary ? 1 : -1;
    if (l != r)
        return l > r ? -1 : 1;
    if (left->target != right->target)
        return left->target > right->target ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

int ocv_amd_scan(const struct ocv_probe_host *host, struct ocv_amd_machine *out,
                 struct ocv_error *err)
{
    out->n = out->usable = 0;
    out->card = false;
    out->node = host->whole_node;
    out->whole = host->live || ocv_sysroot_directory(host->root, "sys/module/amdgpu");
    OCV_TRY(ocv_kfd_read(host, &out->kfd, err));
    for (size_t i = 0; i < host->pci.n && out->n < OCV_AMD_GPUS_MAX; i++) {
        const struct ocv_pci_device *pci = &host->pci.devices[i];
        if (pci->vendor != OCV_PCI_AMD || !ocv_gpu_is_class(pci->class_code))
            continue;
        /* virtual functions that this host made are for guests, where they look like devices */
        if (pci->virtual_function && strcmp(pci->driver, "amdgpu") != 0)
            continue;
        struct ocv_amd_gpu *gpu = &out->gpus[out->n++];
        *gpu = (struct ocv_amd_gpu){.pci = pci, .device = pci->device};
        memcpy(gpu->address, pci->address, sizeof(gpu->address));
    }
    for (size_t i = 0; i < out->kfd.n; i++)
        attach_node(out, &out->kfd.nodes[i]);
    for (size_t i = 0; i < out->n; i++)
        describe_gpu(host, out, &out->gpus[i]);
    if (out->n) {
        bool discrete = false;
        qsort(out->gpus, out->n, sizeof(*out->gpus), by_address);
        for (size_t i = 0; i < out->n; i++) {
            struct ocv_amd_gpu *gpu = &out->gpus[i];
            unsigned traits = ocv_amd_traits(gpu->target);
            gpu->index = (unsigned)i;
            gpu->integrated = (traits & OCV_AMD_INTEGRATED) ||
                              (gpu->node && gpu->node->with_cpu && !(traits & OCV_AMD_COMPUTE));
            out->usable += gpu->state == OCV_AMD_USABLE;
            discrete = discrete || (gpu->state == OCV_AMD_USABLE && !gpu->integrated);
        }
        out->card = discrete;
        for (size_t i = 0; i < out->n; i++)
            out->gpus[i].secondary =
                out->gpus[i].state != OCV_AMD_USABLE || (discrete && out->gpus[i].integrated);
        qsort(out->gpus, out->n, sizeof(*out->gpus), by_capability);
    }
    return OCV_OK;
}
