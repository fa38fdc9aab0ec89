/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace intel: GPUs by their id, and NPUs. A device without its driver, or of an id that the
 * tables lack, is shown with empty lists and as secondary: it serves no build and takes nothing
 * from the others. An NPU takes no part in what is asked of GPUs, and the reverse: each has lists
 * of its own features only. */
#include "lib/probe/providers/intel/intel.h"
#include "lib/base/cleanup.h"
#include "lib/probe/providers/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 256u /* GPUs and NPUs of a machine; more are not looked at */
#define TILES_MAX 8u     /* of a GPU; each has memory of its own */
#define FORCED_MAX 64u   /* bytes of the environment variable */

struct device {
    const struct ocv_pci_device *pci;
    const struct ocv_intel_gpu *gpu; /* NULL: an NPU, or unknown */
    const char *npu;                 /* generation, NULL: a GPU, or unknown */
    bool is_npu;
    bool driven;
    bool lost;
    bool secondary;
    unsigned index; /* by PCI address */
};

struct machine {
    struct device devices[DEVICES_MAX]; /* usable first */
    size_t n;
    size_t usable;
};

static bool is_usable(const struct device *device)
{
    return device->driven && !device->lost && (device->gpu || device->npu);
}

/* Usable ones first, GPUs before NPUs, cards before what shares the processor's package. */
static int by_capability(const void *a, const void *b)
{
    const struct device *left = a, *right = b;
    if (is_usable(left) != is_usable(right))
        return is_usable(left) ? -1 : 1;
    if (left->is_npu != right->is_npu)
        return left->is_npu ? 1 : -1;
    if (left->secondary != right->secondary)
        return left->secondary ? 1 : -1;
    if (left->gpu && right->gpu) { /* newer IP versions first; the numbers between the dots count */
        const char *x = left->gpu->ip, *y = right->gpu->ip;
        while (*x && *y) {
            char *end_x, *end_y;
            unsigned long m = strtoul(x, &end_x, 10), n = strtoul(y, &end_y, 10);
            if (m != n)
                return m > n ? -1 : 1;
            x = end_x + (*end_x == '.');
            y = end_y + (*end_y == '.');
        }
    }
    int order = left->npu && right->npu ? strcmp(right->npu, left->npu) : 0;
    return order ? order : left->index < right->index ? -1 : 1;
}

static void scan_devices(const struct ocv_probe_host *host, struct machine *m)
{
    bool discrete = false;
    m->n = m->usable = 0;
    for (size_t i = 0; i < host->pci.n && m->n < DEVICES_MAX; i++) {
        const struct ocv_pci_device *pci = &host->pci.devices[i];
        struct device *device = &m->devices[m->n];
        char node[32];
        *device = (struct device){.pci = pci};
        if (pci->vendor != OCV_PCI_INTEL)
            continue;
        device->npu = ocv_intel_npu_find(pci->device);
        device->is_npu = device->npu || strcmp(pci->driver, "intel_vpu") == 0;
        if (!device->is_npu && !ocv_gpu_is_class(pci->class_code))
            continue;
        if (device->is_npu) {
            /* the class accel is shared: the device's own directory has its entry */
            device->driven = strcmp(pci->driver, "intel_vpu") == 0 ||
                             (!pci->driver[0] && ocv_gpu_node(host, pci->address, "accel", "accel",
                                                              node, sizeof(node)));
        } else {
            device->gpu = ocv_intel_gpu_find(pci->device);
            device->driven = strcmp(pci->driver, "i915") == 0 || strcmp(pci->driver, "xe") == 0;
            /* other accelerators of this vendor have providers of their own, or none */
            if (!device->gpu && pci->class_code >> 16 == 0x12)
                continue;
        }
        device->lost = device->driven && ocv_pci_is_lost(host->root, pci->address);
        /* virtual functions that this host made and does not use itself are for guests */
        if (!device->driven && pci->virtual_function)
            continue;
        device->index = (unsigned)m->n++;
        m->usable += is_usable(device);
        discrete = discrete || (is_usable(device) && device->gpu && !device->gpu->integrated);
    }
    for (size_t i = 0; i < m->n; i++) {
        struct device *device = &m->devices[i];
        device->secondary =
            !is_usable(device) || (discrete && device->gpu && device->gpu->integrated);
    }
    if (m->n)
        qsort(m->devices, m->n, sizeof(*m->devices), by_capability);
}

/* Why a device serves no build. */
static void reason_of(const struct device *device, char *out, size_t size)
{
    const char *driver = device->pci->driver;
    if (!device->gpu && !device->npu)
        snprintf(out, size, "its PCI id 8086:%04x is %s", device->pci->device,
                 device->is_npu
                     ? "newer than this program knows"
                     : "older than the Xe generations, or newer than this program knows");
    else if (device->lost)
        snprintf(out, size, "it " OCV_PCI_LOST);
    else if (strcmp(driver, "vfio-pci") == 0)
        snprintf(out, size, "it is given to a virtual machine (driver 'vfio-pci')");
    else if (*driver)
        snprintf(out, size, "driver '%s' is bound, which serves no builds here", driver);
    else
        snprintf(out, size, "%s loaded for it",
                 device->is_npu ? "the driver 'intel_vpu' is not" : "neither 'xe' nor 'i915' is");
}

static int add_device(const struct ocv_probe_host *host, const struct device *device, bool forced,
                      struct ocv_result *result, struct ocv_error *err)
{
    static const char *const features[] = {"device_ip", "npu_arch"};
    const char *address = device->pci->address;
    const struct ocv_intel_gpu *gpu = device->gpu;
    char reason[160];
    json_t *json = ocv_result_device(result, address, NULL); /* names are for people: pci.ids */
    if (!json)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_gpu_mark(json, device->index, device->secondary, gpu && gpu->guess, err));
    if (gpu)
        OCV_TRY(ocv_device_attribute(json, "family", gpu->name, err));
    if (!device->is_npu && device->driven) {
        /* xe shows the memory of each tile, i915 (of discrete cards) that of the card */
        char path[128], card[32];
        uint64_t total = 0, size;
        for (unsigned tile = 0; tile < TILES_MAX; tile++) {
            snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/tile%u/physical_vram_size_bytes",
                     address, tile);
            if (!ocv_gpu_number(host, path, &size) || size > UINT64_MAX - total)
                break;
            total += size;
        }
        if (total == 0 && ocv_gpu_node(host, address, "drm", "card", card, sizeof(card))) {
            snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/drm/%s/lmem_total_bytes", address,
                     card);
            if (ocv_gpu_number(host, path, &size))
                total = size;
        }
        OCV_TRY(ocv_gpu_add_number(json, "memory", total, err));
    }
    OCV_TRY(ocv_device_attribute(json, "driver", device->pci->driver, err));
    if (gpu && gpu->integrated)
        OCV_TRY(ocv_device_attribute(json, "integrated", "true", err));
    if (!is_usable(device)) {
        reason_of(device, reason, sizeof(reason));
        return ocv_gpu_bar(json, features, sizeof(features) / sizeof(*features), reason, err);
    }
    if (device->npu)
        return ocv_device_add(json, "npu_arch", device->npu, err);
    if (forced)
        return OCV_OK;
    OCV_TRY(ocv_device_add(json, "device_ip", gpu->ip, err));
    return gpu->base ? ocv_device_add(json, "device_ip", gpu->base, err) : OCV_OK;
}

/* The device nodes that programs open; only on the machine that this runs on. */
static bool format_access(const struct ocv_probe_host *host, const struct machine *m, char *out,
                          size_t size)
{
    for (size_t i = 0; i < m->usable; i++) {
        const struct device *device = &m->devices[i];
        char node[32], path[64];
        if (!ocv_gpu_node(host, device->pci->address, device->is_npu ? "accel" : "drm",
                          device->is_npu ? "accel" : "renderD", node, sizeof(node)))
            continue;
        snprintf(path, sizeof(path), "dev/%s/%s", device->is_npu ? "accel" : "dri", node);
        enum ocv_gpu_access access = ocv_gpu_access(host, path);
        if (access == OCV_GPU_MAY)
            continue;
        snprintf(out, size,
                 access == OCV_GPU_MISSING
                     ? "/%s is missing here: programs started from here do not find the device"
                     : "this user may not open /%s (group render): its programs find no device",
                 path);
        return true;
    }
    return false;
}

/* Three numbers with dots. */
static bool is_ip(const char *text)
{
    unsigned parts = 0;
    if (strlen(text) >= FORCED_MAX)
        return false;
    for (;; text++) {
        size_t len = strspn(text, "0123456789");
        text += len;
        if (len == 0 || ++parts > 3)
            return false;
        if (*text != '.')
            return parts == 3 && *text == '\0';
    }
}

static int probe_intel(const struct ocv_probe_host *host, struct ocv_result *result,
                       struct ocv_error *err)
{
    static const char key[] = "INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP";
    static const char *const packages[] = {"iigd", "igdlh"};
    struct machine m;
    /* the published provider's variable, for the machine that this runs on only */
    const char *force = ocv_probe_host_variable(host, key);
    if (force && !is_ip(force))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s=%.200s: not NUMBER.NUMBER.NUMBER", key,
                             force);
    scan_devices(host, &m);
    if (m.n == 0 && !force && ocv_gpu_is_windows(host, packages, 2)) {
        result->source = "sysfs";
        result->status = OCV_RESULT_PARTIAL;
        snprintf(
            result->note, sizeof(result->note),
            "WSL2: Windows' driver shows its GPUs to Intel's compute runtime for WSL alone; say "
            "what there is in the configuration: override: {intel: {device_ip: [20.1.0]}}");
        return OCV_OK;
    }
    if (m.n == 0 && !force)
        return OCV_OK;
    result->source = force ? "environment" : "sysfs";
    for (size_t i = 0; i < m.usable; i++) {
        const struct ocv_intel_gpu *gpu = m.devices[i].gpu;
        result->guess = result->guess || (gpu && gpu->guess && !force);
        result->card = result->card || (gpu && !gpu->integrated);
    }
    result->status = OCV_RESULT_PARTIAL;
    if (m.usable < m.n) {
        const struct device *device = &m.devices[m.usable]; /* the first that is not usable */
        char more[32] = "", reason[160];
        if (m.n - m.usable > 1)
            snprintf(more, sizeof(more), " (and %zu more)", m.n - m.usable - 1);
        reason_of(device, reason, sizeof(reason));
        snprintf(result->note, sizeof(result->note), "%s %s%s: %s", device->is_npu ? "NPU" : "GPU",
                 device->pci->address, more, reason);
    } else if (!format_access(host, &m, result->note, sizeof(result->note))) {
        result->status = OCV_RESULT_OK;
    }
    size_t i = 0; /* the first device that has a driver */
    while (i < m.n && !(m.devices[i].driven && m.devices[i].pci->driver[0]))
        i++;
    if (i < m.n)
        ocv_gpu_driver_version(host, m.devices[i].pci->driver, result->driver,
                               sizeof(result->driver));
    /* the namespace's lists are the union */
    if (force)
        OCV_TRY(ocv_result_add(result, "device_ip", force, err));
    for (i = 0; i < m.usable; i++) {
        const struct device *device = &m.devices[i];
        if (device->npu)
            OCV_TRY(ocv_gpu_add_once(result, "npu_arch", device->npu, err));
        else if (device->gpu && !force)
            OCV_TRY(ocv_gpu_add_once(result, "device_ip", device->gpu->ip, err));
        if (device->gpu && device->gpu->base && !force)
            OCV_TRY(ocv_gpu_add_once(result, "device_ip", device->gpu->base, err));
    }
    /* a forced version counts for the machine, also where no GPU of it can */
    for (i = 0; i < m.n && (m.usable || !force); i++)
        OCV_TRY(add_device(host, &m.devices[i], force != NULL, result, err));
    return OCV_OK;
}

const struct provider ocv_provider_intel = {.name = "intel",
                                            .ns = "intel",
                                            .kind = "builtin",
                                            .version = "1",
                                            .probe = probe_intel,
                                            .quiet = true};
