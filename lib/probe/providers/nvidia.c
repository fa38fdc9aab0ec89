/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace nvidia, from sysfs and procfs: which GPUs the PCI bus has, and which CUDA version the
 * loaded kernel driver's branch supports. */
#include "nvidia.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_VGA 0x030000u /* Linux nv-pci-table.c: exactly these two are GPUs */
#define CLASS_3D 0x030200u
#define GPUS_MAX 256u     /* GPUs of a machine; more are not looked at */
#define TEXT_MAX 4096u    /* bytes of a procfs file */
#define CUDA_MAJOR_MIN 11 /* below it the published provider has no lists */

struct gpu {
    const struct ocv_pci_device *pci; /* NULL: the GPU of a Tegra */
    unsigned sm;
    unsigned index; /* by PCI address */
    bool guess;
    bool secondary; /* below what the provider lists, or the chip's own beside a card */
};

struct machine {
    struct gpu gpus[GPUS_MAX];
    size_t n;
    char driver[64];
    struct ocv_cuda_version cuda;
    bool newer; /* the driver is newer than what is known */
    bool tegra;
};

/* Source: L4T device trees. */
static const struct {
    const char *compatible;
    unsigned sm;
} tegras[] = {{"nvidia,tegra264", 110},
              {"nvidia,tegra234", 87},
              {"nvidia,tegra194", 72},
              {"nvidia,tegra186", 62},
              {"nvidia,tegra210", 53}};

/* Jetson Linux release -> CUDA; driver branches there do not follow the table for desktops. */
static const struct {
    unsigned release, revision;
    struct ocv_cuda_version cuda;
} l4ts[] = {
    {38, 0, {13, 0}}, {36, 4, {12, 6}}, {36, 0, {12, 2}}, {34, 0, {11, 4}}, {32, 0, {10, 2}}};

static bool is_gpu(const struct ocv_pci_device *device)
{
    return device->vendor == OCV_PCI_NVIDIA &&
           (device->class_code == CLASS_VGA || device->class_code == CLASS_3D) &&
           strcmp(device->driver, "vfio-pci") != 0; /* belongs to a virtual machine */
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

static void read_driver(const struct ocv_probe_host *host, struct machine *m)
{
    char line[256];
    if (ocv_sysroot_line(host->root, "sys/module/nvidia/version", line, sizeof(line)) &&
        version_in(line, m->driver, sizeof(m->driver)))
        return;
    if (!ocv_sysroot_line(host->root, "proc/driver/nvidia/version", line, sizeof(line)))
        return;
    const char *banner = strstr(line, "Kernel Module"); /* the second line is the compiler's */
    if (banner)
        version_in(banner, m->driver, sizeof(m->driver));
}

static void read_tegra(const struct ocv_probe_host *host, struct machine *m)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX);
    if (ocv_sysroot_read(host->root, "proc/device-tree/compatible", &text, NULL) < 0)
        return;
    for (size_t at = 0; at < text.len && !m->tegra; at += strlen(text.data + at) + 1)
        for (size_t i = 0; i < sizeof(tegras) / sizeof(*tegras); i++)
            if (strcmp(text.data + at, tegras[i].compatible) == 0) {
                m->tegra = true;
                if (m->n < GPUS_MAX)
                    m->gpus[m->n++] = (struct gpu){.sm = tegras[i].sm};
                break;
            }
}

/* "# R36 (release), REVISION: 4.3, ..." */
static void read_l4t(const struct ocv_probe_host *host, struct machine *m)
{
    char line[512];
    if (!ocv_sysroot_line(host->root, "etc/nv_tegra_release", line, sizeof(line)) ||
        strncmp(line, "# R", 3) != 0)
        return;
    unsigned long release = strtoul(line + 3, NULL, 10);
    const char *at = strstr(line, "REVISION: ");
    unsigned long revision = at ? strtoul(at + strlen("REVISION: "), NULL, 10) : 0;
    for (size_t i = 0; i < sizeof(l4ts) / sizeof(*l4ts); i++)
        if (release > l4ts[i].release ||
            (release == l4ts[i].release && revision >= l4ts[i].revision)) {
            m->cuda = l4ts[i].cuda;
            return;
        }
}

static int by_capability(const void *a, const void *b)
{
    const struct gpu *left = a, *right = b;
    if (left->secondary != right->secondary)
        return left->secondary ? 1 : -1;
    if (left->sm != right->sm)
        return left->sm > right->sm ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static void look(const struct ocv_probe_host *host, struct machine *m)
{
    for (size_t i = 0; i < host->pci.n && m->n < GPUS_MAX; i++)
        if (is_gpu(&host->pci.devices[i])) {
            struct gpu *gpu = &m->gpus[m->n++];
            gpu->pci = &host->pci.devices[i];
            gpu->sm = ocv_nvidia_sm(gpu->pci->device, &gpu->guess);
        }
    bool discrete = m->n > 0;
    read_tegra(host, m);
    read_driver(host, m);
    if (m->tegra && !discrete)
        read_l4t(host, m);
    else if (m->driver[0])
        m->cuda = ocv_nvidia_cuda((unsigned)strtoul(m->driver, NULL, 10), &m->newer);
    unsigned best = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->gpus[i].sm > best && (m->gpus[i].pci || !discrete))
            best = m->gpus[i].sm;
    for (size_t i = 0; i < m->n; i++) {
        struct gpu *gpu = &m->gpus[i];
        gpu->index = (unsigned)i;
        gpu->secondary =
            best >= OCV_NVIDIA_SM_MIN && (gpu->sm < OCV_NVIDIA_SM_MIN || (!gpu->pci && discrete));
    }
    qsort(m->gpus, m->n, sizeof(*m->gpus), by_capability);
}

/* The value after "KEY:" in the driver's information file of a GPU. */
static bool information(const char *text, const char *key, char *out, size_t size)
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

static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static int add_gpu(const struct ocv_probe_host *host, const struct gpu *gpu, bool forced,
                   struct ocv_result *result, struct ocv_error *err)
{
    char path[96], name[96] = "", uuid[96] = "";
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX);
    if (gpu->pci) {
        snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", gpu->pci->address);
        if (ocv_sysroot_read(host->root, path, &text, NULL) == OCV_OK && text.len) {
            information(text.data, "Model:", name, sizeof(name));
            information(text.data, "GPU UUID:", uuid, sizeof(uuid));
        }
    }
    json_t *device =
        ocv_result_device(result, gpu->pci ? gpu->pci->address : "tegra", *name ? name : NULL);
    if (!device || !set(device, "index", json_integer(gpu->index)) ||
        (*uuid && strncmp(uuid, "GPU-?", 5) != 0 && !set(device, "uuid", json_string(uuid))) ||
        (gpu->secondary && !set(device, "secondary", json_true())) ||
        (gpu->guess && !set(device, "guess", json_true())))
        return ocv_error_nomem(err);
    return forced ? OCV_OK : ocv_nvidia_add_sm(result, device, gpu->sm, err);
}

static void judge(const struct machine *m, struct ocv_result *result)
{
    result->status = OCV_RESULT_PARTIAL;
    if (m->n == 0 && m->driver[0])
        snprintf(result->note, sizeof(result->note),
                 "the driver is loaded, but the PCI bus shows no readable GPU");
    else if (m->cuda.major == 0 && m->tegra)
        snprintf(result->note, sizeof(result->note),
                 "/etc/nv_tegra_release names no known release: the CUDA version is unknown");
    else if (!m->driver[0] && m->cuda.major == 0)
        snprintf(result->note, sizeof(result->note),
                 "the NVIDIA driver is not loaded: no CUDA program can run");
    else if (m->cuda.major < CUDA_MAJOR_MIN)
        snprintf(result->note, sizeof(result->note),
                 "driver %s supports no CUDA version from %d on", m->driver, CUDA_MAJOR_MIN);
    else if (m->n && m->gpus[0].sm == 0)
        snprintf(result->note, sizeof(result->note),
                 "GPU %s is of an unknown kind (PCI id 10de:%04x)", m->gpus[0].pci->address,
                 m->gpus[0].pci->device);
    else if (m->newer)
        snprintf(result->note, sizeof(result->note),
                 "driver %s is newer than this program knows: CUDA %u.%u at least", m->driver,
                 m->cuda.major, m->cuda.minor);
    else
        result->status = OCV_RESULT_OK;
}

/* The published provider's variables, for the machine that this runs on only. */
static int force(struct machine *m, unsigned *sm, bool *cuda, struct ocv_error *err)
{
    static const char cuda_key[] = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION";
    static const char sm_key[] = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH";
    const char *text = secure_getenv(cuda_key);
    if (text && *text) {
        if (!ocv_nvidia_force_cuda(text, &m->cuda))
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s=%s: not a version", cuda_key, text);
        *cuda = true;
    }
    text = secure_getenv(sm_key);
    if (text && *text && !ocv_nvidia_force_sm(text, sm))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s=%s: not MAJOR.MINOR", sm_key, text);
    return OCV_OK;
}

static int probe(const struct ocv_probe_host *host, struct ocv_result *result,
                 struct ocv_error *err)
{
    struct machine m = {.n = 0};
    unsigned forced_sm = 0;
    bool forced_cuda = false;
    look(host, &m);
    int status = host->live ? force(&m, &forced_sm, &forced_cuda, err) : OCV_OK;
    if (status < 0 || (m.n == 0 && !m.driver[0] && !forced_cuda && !forced_sm))
        return status;
    judge(&m, result);
    result->source = m.tegra ? "device-tree" : "sysfs";
    if (forced_cuda || forced_sm)
        result->source = "environment";
    memcpy(result->driver, m.driver, sizeof(result->driver));
    if (m.n == 0 && !forced_cuda && !forced_sm)
        return OCV_OK; /* a driver without a GPU supports nothing */
    unsigned best = forced_sm ? forced_sm : m.n ? m.gpus[0].sm : 0;
    if (m.cuda.major >= CUDA_MAJOR_MIN || forced_cuda)
        status = ocv_nvidia_add_cuda(result, m.cuda, err);
    if (status == OCV_OK)
        status = ocv_nvidia_add_sm(result, NULL, best, err);
    for (size_t i = 0; status == OCV_OK && i < m.n; i++)
        status = add_gpu(host, &m.gpus[i], forced_sm > 0, result, err);
    return status;
}

const struct provider ocv_provider_nvidia = {.name = "nvidia",
                                             .ns = "nvidia",
                                             .kind = "builtin",
                                             .version = "1",
                                             .probe = probe,
                                             .quiet = true};
