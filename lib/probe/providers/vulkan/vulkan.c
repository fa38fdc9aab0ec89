/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace vulkan: GPUs that a Vulkan driver in a container can use through their DRM render
 * nodes. The driver comes with the image (Mesa), or is put there by the container engine
 * (NVIDIA's). Display controllers without such a driver, lavapipe and virtual GPUs do not count:
 * whether the host of a virtio GPU offers Venus cannot be read from files. No library is asked. */
#include "lib/probe/providers/vulkan/vulkan.h"
#include "lib/base/cleanup.h"
#include "lib/probe/providers/gpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES_MAX 64u /* GPUs of a machine; more are not looked at */
#define NODES_MAX 256u  /* render nodes of a machine; likewise */
#define TEXT_MAX 96u

/* As the vocabulary lists them. */
static const char *const drivers[] = {"radv",  "anv",  "hasvk",      "nvk",
                                      "panvk", "v3dv", "honeykrisp", "nvidia"};

struct device {
    char id[32];   /* PCI address, or the name of the render node */
    char node[32]; /* the render node; empty where the machine shows none of any GPU */
    struct ocv_vulkan_support support;
    size_t index; /* by PCI address, then by node */
};

struct machine {
    struct device devices[DEVICES_MAX];
    size_t n;
    bool more; /* than there is room for */
};

static void add_gpu(struct machine *m, const char *id, const char *node,
                    struct ocv_vulkan_support support)
{
    m->more = m->more || (support.driver && m->n == DEVICES_MAX);
    if (!support.driver || m->n == DEVICES_MAX)
        return;
    struct device *device = &m->devices[m->n++];
    snprintf(device->id, sizeof(device->id), "%s", id);
    snprintf(device->node, sizeof(device->node), "%s", node);
    device->support = support;
    device->index = m->n - 1;
}

/* The value of KEY= in the lines of a uevent, empty if it is not there. */
static void read_key(const char *text, const char *key, char out[TEXT_MAX])
{
    size_t len = strlen(key);
    out[0] = '\0';
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, key, len) == 0 && line[len] == '=') {
            snprintf(out, TEXT_MAX, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
            return;
        }
}

static int by_number(const void *a, const void *b)
{
    const unsigned long *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void scan_platform(const struct ocv_probe_host *host, struct machine *m)
{
    DIR *dir = ocv_sysroot_opendir(host->root, "sys/class/drm");
    if (!dir)
        return;
    struct dirent *entry;
    unsigned long numbers[NODES_MAX];
    size_t n = 0;
    while (n < NODES_MAX && (entry = readdir(dir))) {
        const char *digits = entry->d_name + 7;
        if (strncmp(entry->d_name, "renderD", 7) == 0 && *digits && strlen(entry->d_name) < 32 &&
            strspn(digits, "0123456789") == strlen(digits))
            numbers[n++] = strtoul(digits, NULL, 10);
    }
    closedir(dir);
    qsort(numbers, n, sizeof(*numbers), by_number);
    /* those that are not on the PCI bus: their uevents name the devices */
    for (size_t i = 0; i < n; i++) {
        char node[32], path[96], driver[TEXT_MAX], compatible[TEXT_MAX], address[TEXT_MAX];
        struct ocv_error ignored = {0};
        ocv_auto_buffer text;
        ocv_buffer_init(&text, 4096);
        snprintf(node, sizeof(node), "renderD%lu", numbers[i]);
        snprintf(path, sizeof(path), "sys/class/drm/%s/device/uevent", node);
        if (ocv_sysroot_read(host->root, path, &text, &ignored) < 0 || !text.data)
            continue;
        read_key(text.data, "DRIVER", driver);
        read_key(text.data, "OF_COMPATIBLE_0", compatible);
        read_key(text.data, "PCI_SLOT_NAME", address);
        if (!address[0])
            add_gpu(m, node, node, ocv_vulkan_of_platform(driver, compatible));
    }
    m->more = m->more || n == NODES_MAX;
}

/* Cards first, then newer versions of the API. */
static int by_capability(const void *a, const void *b)
{
    const struct device *left = a, *right = b;
    if (left->support.integrated != right->support.integrated)
        return left->support.integrated ? 1 : -1;
    if (left->support.minor != right->support.minor)
        return left->support.minor > right->support.minor ? -1 : 1;
    return strcmp(left->id, right->id);
}

static int add_device(const struct machine *m, size_t i, struct ocv_result *result,
                      struct ocv_error *err)
{
    const struct device *device = &m->devices[i];
    char version[16];
    json_t *json = ocv_result_device(result, device->id, NULL);
    if (!json)
        return ocv_error_nomem(err);
    /* an integrated GPU beside a card, which comes first */
    bool secondary = device->support.integrated && !m->devices[0].support.integrated;
    OCV_TRY(ocv_gpu_mark(json, device->index, secondary, false, err));
    if (device->support.integrated)
        OCV_TRY(ocv_device_attribute(json, "integrated", "true", err));
    OCV_TRY(ocv_device_add(json, "driver", device->support.driver, err));
    for (unsigned minor = device->support.minor + 1; minor-- > 0;) {
        snprintf(version, sizeof(version), "1.%u", minor);
        OCV_TRY(ocv_device_add(json, "api_version", version, err));
    }
    return OCV_OK;
}

static int probe_vulkan(const struct ocv_probe_host *host, struct ocv_result *result,
                        struct ocv_error *err)
{
    struct machine m = {.n = 0};
    /* a server's driver may come without render nodes; recordings often leave them out */
    bool nodes = host->live || ocv_sysroot_directory(host->root, "sys/class/drm");
    char driver[64] = "";
    ocv_sysroot_line(host->root, "sys/module/nvidia/version", driver, sizeof(driver));
    for (size_t i = 0; i < host->pci.n; i++) {
        const struct ocv_pci_device *pci = &host->pci.devices[i];
        const struct ocv_vulkan_support support = ocv_vulkan_of_pci(pci, driver);
        char node[32] = "";
        if (!support.driver) /* most are no GPUs: nothing is read for them */
            continue;
        if (nodes && !ocv_gpu_node(host, pci->address, "drm", "renderD", node, sizeof(node)))
            continue;
        if (!ocv_pci_is_lost(host->root, pci->address))
            add_gpu(&m, pci->address, node, support);
    }
    scan_platform(host, &m);
    if (m.n == 0)
        return OCV_OK;
    qsort(m.devices, m.n, sizeof(*m.devices), by_capability);
    result->source = "sysfs";
    result->status = OCV_RESULT_OK;
    for (size_t i = 0; i < m.n && result->status == OCV_RESULT_OK; i++) {
        char path[64];
        snprintf(path, sizeof(path), "dev/dri/%s", m.devices[i].node);
        if (!m.devices[i].node[0] || ocv_gpu_access(host, path) != OCV_GPU_MAY_NOT)
            continue;
        result->status = OCV_RESULT_PARTIAL;
        snprintf(result->note, sizeof(result->note),
                 "this user may not open /%s (group render): its programs find no device", path);
    }
    if (m.more) {
        result->status = OCV_RESULT_PARTIAL;
        snprintf(result->note, sizeof(result->note),
                 "more than %zu GPUs: the others are not looked at", m.n);
    }
    /* What any of the devices has. */
    unsigned newest = 0;
    char version[16];
    OCV_TRY(ocv_result_add(result, "present", "on", err));
    for (size_t k = 0; k < sizeof(drivers) / sizeof(*drivers); k++)
        for (size_t i = 0; i < m.n; i++)
            if (strcmp(m.devices[i].support.driver, drivers[k]) == 0)
                OCV_TRY(ocv_gpu_add_once(result, "driver", drivers[k], err));
    for (size_t i = 0; i < m.n; i++)
        newest = m.devices[i].support.minor > newest ? m.devices[i].support.minor : newest;
    for (unsigned minor = newest + 1; minor-- > 0;) {
        snprintf(version, sizeof(version), "1.%u", minor);
        OCV_TRY(ocv_result_add(result, "api_version", version, err));
    }

    for (size_t i = 0; i < m.n; i++)
        OCV_TRY(add_device(&m, i, result, err));
    return OCV_OK;
}

const struct provider ocv_provider_vulkan = {.name = "vulkan",
                                             .ns = "vulkan",
                                             .kind = "builtin",
                                             .version = "1",
                                             .probe = probe_vulkan,
                                             .quiet = true};
