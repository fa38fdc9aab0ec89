/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NVIDIA GPUs and their driver as the kernel's files show them. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include "lib/base/cleanup.h"
#include "lib/probe/providers/gpu.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASS_VGA 0x030000u /* Linux nv-pci-table.c: exactly these two are GPUs */
#define CLASS_3D 0x030200u
#define CLASS_BRIDGE 0x06u /* base class */
#define TEXT_MAX 4096u     /* bytes of a procfs file */
#define PROC_GPUS "proc/driver/nvidia/gpus"
#define PROC_ENTRIES_MAX 1024u /* entries of that directory that are looked at */

/* Kernel drivers under which a GPU runs CUDA programs, by their names in sysfs. Source: NVIDIA's
 * kernel modules for desktops and servers, and those of Jetson Linux. */
static const char *const computing[] = {"nvidia", "nvgpu"};

/* Where the driver's libraries are installed. */
static const char *const library_directories[] = {"usr/lib/x86_64-linux-gnu",
                                                  "usr/lib/aarch64-linux-gnu",
                                                  "usr/lib/powerpc64le-linux-gnu",
                                                  "usr/lib64",
                                                  "usr/lib",
                                                  "usr/local/nvidia/lib64"};

struct ocv_nvidia_gpu *ocv_nvidia_add_gpu(struct ocv_nvidia_machine *m, const char *id)
{
    if (m->n == OCV_NVIDIA_GPUS_MAX)
        return NULL;
    struct ocv_nvidia_gpu *gpu = &m->gpus[m->n];
    *gpu = (struct ocv_nvidia_gpu){.index = (unsigned)m->n++, .mig = -1, .driven = true};
    snprintf(gpu->id, sizeof(gpu->id), "%s", id);
    return gpu;
}

/* The first word of the form 535.129.03; false if there is none. */
static bool version_in(const char *text, char *out, size_t size)
{
    for (const char *word = text; *word; word += strcspn(word, " \t\n")) {
        word += strspn(word, " \t\n");
        size_t len = strspn(word, "0123456789.");
        size_t major = strspn(word, "0123456789");
        if (major > 0 && major < 6 && word[major] == '.' &&
            isdigit((unsigned char)word[major + 1]) && strcspn(word, " \t\n") == len &&
            len < size) {
            memcpy(out, word, len);
            out[len] = '\0';
            return true;
        }
    }
    return false;
}

/* The value after "KEY:" in a file of the driver. */
static bool value_of(const char *text, const char *key, char *out, size_t size)
{
    const char *line = strstr(text, key);
    if (!line)
        return false;
    line += strlen(key);
    line += strspn(line, " \t");
    size_t len = strcspn(line, "\n");
    while (len > 0 && isspace((unsigned char)line[len - 1]))
        len--;
    if (len == 0 || len >= size)
        return false;
    for (size_t i = 0; i < len; i++)
        if (line[i] < 0x20 || line[i] > 0x7e)
            return false;
    memcpy(out, line, len);
    out[len] = '\0';
    return true;
}

/* What the driver says about one GPU. */
static void read_details(const struct ocv_probe_host *host, struct ocv_nvidia_gpu *gpu)
{
    char path[96], value[OCV_NVIDIA_TEXT_MAX];
    ocv_auto_buffer text, numa;
    ocv_buffer_init(&text, TEXT_MAX);
    ocv_buffer_init(&numa, TEXT_MAX);
    snprintf(path, sizeof(path), PROC_GPUS "/%s/information", gpu->id);
    if (ocv_sysroot_read(host->root, path, &text, NULL) == OCV_OK && text.len) {
        value_of(text.data, "Model:", gpu->name, sizeof(gpu->name));
        if (value_of(text.data, "GPU UUID:", value, sizeof(value)) && !strchr(value, '?'))
            memcpy(gpu->uuid, value, sizeof(gpu->uuid)); /* "GPU-????": the driver has not read it
                                                          * yet */
        if (value_of(text.data, "Device Minor:", value, sizeof(value)) && strlen(value) <= 4 &&
            strspn(value, "0123456789") == strlen(value))
            ocv_nvidia_scan_mig(host, (unsigned)strtoul(value, NULL, 10), gpu);
        gpu->excluded =
            value_of(text.data, "GPU Excluded:", value, sizeof(value)) && strcmp(value, "Yes") == 0;
    }
    /* memory that the kernel has as a node of its own: POWER9 with NVLink, GH200 */
    snprintf(path, sizeof(path), PROC_GPUS "/%s/numa_status", gpu->id);
    if (ocv_sysroot_read(host->root, path, &numa, NULL) == OCV_OK && numa.len &&
        value_of(numa.data, "Size:", value, sizeof(value)) && strlen(value) <= 15 &&
        strspn(value, "0123456789abcdef") == strlen(value))
        gpu->memory = strtoull(value, NULL, 16);
}

static bool path_exists(const struct ocv_probe_host *host, const char *path)
{
    int fd = ocv_sysroot_openat(host->root, path, O_PATH);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Some recordings hold no driver of any device, and then nothing says that a GPU has none. */
static bool drivers_recorded(const struct ocv_probe_host *host)
{
    char path[96], target[8];
    for (size_t i = 0; i < host->pci.n; i++)
        if (host->pci.devices[i].driver[0])
            return true;
    for (size_t i = 0; i < host->pci.n; i++) {
        const struct ocv_pci_device *bridge = &host->pci.devices[i];
        if (bridge->class_code >> 16 != CLASS_BRIDGE)
            continue; /* a bridge's driver is not read with the others' */
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s", bridge->address);
        ocv_auto_fd int dir = ocv_sysroot_openat(host->root, path, O_PATH | O_DIRECTORY);
        if (dir >= 0 && readlinkat(dir, "driver", target, sizeof(target)) > 0)
            return true;
    }
    /* the driver lists the GPUs that it has bound: are there none? */
    struct dirent *entry;
    ocv_auto_dir DIR *dir = ocv_sysroot_opendir(host->root, PROC_GPUS);
    bool none = dir != NULL;
    for (unsigned i = 0; none && i < PROC_ENTRIES_MAX && (entry = readdir(dir)); i++)
        none = entry->d_name[0] == '.';
    return none;
}

static void scan_bus(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m)
{
    char path[96];
    for (size_t i = 0; i < host->pci.n; i++) {
        const struct ocv_pci_device *pci = &host->pci.devices[i];
        if (pci->vendor != OCV_PCI_NVIDIA ||
            (pci->class_code != CLASS_VGA && pci->class_code != CLASS_3D))
            continue;
        if (pci->virtual_function) {
            m->virtual_functions++;
            continue;
        }
        struct ocv_nvidia_gpu *gpu = ocv_nvidia_add_gpu(m, pci->address);
        if (!gpu)
            continue;
        gpu->pci = pci;
        snprintf(path, sizeof(path), PROC_GPUS "/%s", pci->address);
        gpu->driven = !pci->driver[0] && (!drivers_recorded(host) || path_exists(host, path));
        for (size_t k = 0; k < sizeof(computing) / sizeof(*computing); k++)
            gpu->driven = gpu->driven || strcmp(pci->driver, computing[k]) == 0;
        gpu->lost = gpu->driven && ocv_pci_is_lost(host->root, pci->address);
        gpu->sm = ocv_nvidia_sm(pci->device, &gpu->guess);
        gpu->integrated = ocv_nvidia_integrated(gpu->sm);
        m->loaded = m->loaded || (gpu->driven && pci->driver[0]);
        read_details(host, gpu);
    }
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct ocv_nvidia_gpu *)a)->id, ((const struct ocv_nvidia_gpu *)b)->id);
}

/* GPUs that the driver names and the bus does not show: their entries there cannot be read. */
static void scan_proc(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m)
{
    ocv_auto_dir DIR *dir = ocv_sysroot_opendir(host->root, PROC_GPUS);
    struct dirent *entry;
    if (!dir)
        return;
    size_t before = m->n;
    for (unsigned i = 0; i < PROC_ENTRIES_MAX && (entry = readdir(dir)); i++) {
        const char *id = entry->d_name; /* 0000:3b:00.0 */
        size_t known = 0, len = strlen(id);
        while (known < m->n && strcmp(m->gpus[known].id, id) != 0)
            known++;
        if (known < m->n || len < 12 || len > 16 || strspn(id, "0123456789abcdef:.") != len ||
            id[len - 2] != '.' || id[len - 5] != ':' || id[len - 8] != ':')
            continue;
        m->loaded = true;
        struct ocv_nvidia_gpu *gpu = ocv_nvidia_add_gpu(m, id);
        if (gpu)
            read_details(host, gpu);
    }
    if (m->n > before)
        qsort(m->gpus, m->n, sizeof(*m->gpus), by_id);
}

int ocv_nvidia_scan(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m,
                    struct ocv_error *err)
{
    *m = (struct ocv_nvidia_machine){.source = "sysfs"};
    m->gpus = calloc(OCV_NVIDIA_GPUS_MAX, sizeof(*m->gpus));
    if (!m->gpus)
        return ocv_error_nomem(err);
    char line[256];
    if (ocv_sysroot_line(host->root, "sys/module/nvidia/version", line, sizeof(line)) &&
        version_in(line, m->driver, sizeof(m->driver))) {
        m->loaded = true;
    } else if (ocv_sysroot_line(host->root, "proc/driver/nvidia/version", line, sizeof(line))) {
        const char *banner = strstr(line, "Kernel Module"); /* the second line is the compiler's */
        m->loaded = true;
        if (banner)
            version_in(banner, m->driver, sizeof(m->driver));
    }
    scan_bus(host, m);
    scan_proc(host, m);
    m->vgpu_host = m->loaded && path_exists(host, "sys/module/nvidia_vgpu_vfio");
    m->wsl =
        path_exists(host, "dev/dxg") && (path_exists(host, "usr/lib/wsl/lib/libcuda.so.1") ||
                                         path_exists(host, "usr/lib/wsl/lib/libnvidia-ml.so.1"));
    if (m->driver[0])
        m->cuda = ocv_nvidia_cuda((unsigned)strtoul(m->driver, NULL, 10), &m->newer);
    ocv_nvidia_scan_tegra(host, m);
    /* Version in the name that libcuda.so.1 leads to: libcuda.so.570.124.06. Of several the one
     * that goes with the driver: what is left of an older installation harms nothing. */
    size_t directories = sizeof(library_directories) / sizeof(*library_directories);
    for (size_t i = 0; (m->n > 0 || m->loaded) && i < directories; i++) {
        char target[256], found[sizeof(m->library)];
        ocv_auto_fd int dir =
            ocv_sysroot_openat(host->root, library_directories[i], O_PATH | O_DIRECTORY);
        ssize_t n = dir < 0 ? -1 : readlinkat(dir, "libcuda.so.1", target, sizeof(target) - 1);
        if (n <= 0)
            continue;
        target[n] = '\0';
        const char *version = strstr(target, ".so.");
        if (version && version_in(version + 4, found, sizeof(found)) &&
            (!m->library[0] || strcmp(found, m->driver) == 0))
            memcpy(m->library, found, sizeof(m->library));
    }
    if (m->loaded)
        m->denied = ocv_gpu_access(host, "dev/nvidiactl") == OCV_GPU_MAY_NOT;
    for (size_t i = 0; i < m->n; i++)
        m->gpus[i].index = (unsigned)i;
    return OCV_OK;
}
