/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace amd. A GPU that no program can compute on (another driver, none, refused by KFD) is
 * shown with empty lists and as secondary: it serves no build and takes nothing from the others.
 * Overrides of user space (HSA_OVERRIDE_GFX_VERSION) are not looked at: an image may lack them. */
#include "lib/probe/providers/amd/amd.h"
#include "lib/base/cleanup.h"
#include "lib/probe/providers/gpu.h"
#include "ocivariant/property.h"

#include <stdio.h>
#include <string.h>

#define CAPABILITY_SRAMECC (1u << 26) /* HSA_CAP_SRAM_EDCSUPPORTED, uapi/linux/kfd_sysfs.h */
#define FIRST_WITH_RETRY 90000u       /* gfx900 */
#define FORCED_MAX 64u                /* targets in the environment variable */

struct amd_probe {
    const struct ocv_probe_host *host;
    const struct ocv_amd_machine *m;
    struct ocv_result *result;
    struct ocv_error *err;
    char noretry;      /* amdgpu's parameter: '0', '1', or '-' for the driver's own choice */
    bool assumed;      /* it could not be read */
    const char *xnack; /* mode of a program's GPUs, or NULL */
    const char *force; /* targets from the environment, or NULL */
    struct ocv_amd_driver driver;
};

enum value { EXACT, GENERIC, XNACK, SRAMECC, N_VALUES };

static const char *const feature_of[N_VALUES] = {"gfx_arch", "gfx_arch", "xnack", "sramecc"};

/* What a program that asks for nothing gets. It is one mode for all GPUs of the process: off as
 * soon as one of them cannot retry (Linux, kfd_process_xnack_mode, which does not look at GPUs
 * before gfx9). NULL where it cannot be told. */
static const char *xnack_mode(const struct amd_probe *run)
{
    bool unsettled = false;
    for (size_t i = 0; i < run->m->usable; i++) {
        unsigned target = run->m->gpus[i].target, traits = ocv_amd_traits(target);
        if (target < FIRST_WITH_RETRY)
            continue;
        if (!(traits & OCV_AMD_XNACK) || (traits & OCV_AMD_NO_RETRY) || run->noretry == '1')
            return "off";
        if (run->noretry != '0' && (traits & OCV_AMD_UNSETTLED))
            unsettled = true;
        else if (run->noretry != '0' && !(traits & OCV_AMD_RETRY))
            return "off";
    }
    return unsettled ? NULL : "on";
}

static const char *value_of(const struct amd_probe *run, const struct ocv_amd_gpu *gpu,
                            enum value kind)
{
    unsigned traits = ocv_amd_traits(gpu->target);
    if (kind == EXACT)
        return gpu->name;
    if (kind == GENERIC)
        return ocv_amd_generic(gpu->target);
    if (kind == XNACK)
        return traits & OCV_AMD_XNACK ? run->xnack : NULL;
    if (!gpu->node || !gpu->node->has_capability || !(traits & OCV_AMD_SRAMECC))
        return NULL;
    return gpu->node->capability & CAPABILITY_SRAMECC ? "on" : "off";
}

/* `device` NULL: the namespace's list, which is that of the least bounded GPU. */
static int add_user_spaces(const struct amd_probe *run, unsigned target, json_t *device)
{
    struct ocv_rocm_version versions[OCV_AMD_USER_SPACES_MAX];
    char text[32];
    size_t n = ocv_amd_user_spaces(&run->driver, target, versions);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%u.%u", versions[i].major, versions[i].minor);
        OCV_TRY(device ? ocv_device_add(device, "rocm_user_space", text, run->err)
                       : ocv_result_add(run->result, "rocm_user_space", text, run->err));
    }
    return OCV_OK;
}

static int add_line(const struct amd_probe *run, const struct ocv_amd_gpu *gpu, json_t *device,
                    const char *key, const char *file)
{
    char path[128], line[96];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", gpu->address, file);
    if (!gpu->pci || !ocv_sysroot_line(run->host->root, path, line, sizeof(line)))
        return OCV_OK;
    return ocv_device_attribute(device, key, line, run->err);
}

static int add_gpu(const struct amd_probe *run, const struct ocv_amd_gpu *gpu)
{
    static const char *const features[] = {
        "gfx_arch",       "xnack", "sramecc", "rocm_version", "rocm_version_lower_bound",
        "rocm_user_space"};
    char path[96], name[96], uuid[32], reason[160];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/product_name", gpu->address);
    bool named = gpu->pci && ocv_sysroot_line(run->host->root, path, name, sizeof(name));
    json_t *device = ocv_result_device(run->result, gpu->address, named ? name : NULL);
    if (!device)
        return ocv_error_nomem(run->err);
    OCV_TRY(ocv_gpu_mark(device, gpu->index, gpu->secondary, gpu->guess, run->err));
    if (gpu->node && gpu->node->unique_id) {
        /* as ROCm's tools write it */
        snprintf(uuid, sizeof(uuid), "GPU-%016llx", (unsigned long long)gpu->node->unique_id);
        if (json_object_set_new(device, "uuid", json_string(uuid)) < 0)
            return ocv_error_nomem(run->err);
    }
    OCV_TRY(ocv_gpu_add_number(device, "memory", gpu->memory, run->err));
    if (gpu->pci)
        OCV_TRY(ocv_device_attribute(device, "driver", gpu->pci->driver, run->err));
    OCV_TRY(ocv_device_attribute(device, "integrated", gpu->integrated ? "true" : "", run->err));
    if (gpu->nodes > 1)
        OCV_TRY(ocv_gpu_add_number(device, "partitions", gpu->nodes, run->err));
    OCV_TRY(add_line(run, gpu, device, "compute_partition", "current_compute_partition"));
    OCV_TRY(add_line(run, gpu, device, "memory_partition", "current_memory_partition"));

    if (gpu->state != OCV_AMD_USABLE) {
        ocv_amd_reason(run->m, gpu, reason, sizeof(reason));
        return ocv_gpu_bar(device, features, sizeof(features) / sizeof(*features), reason,
                           run->err);
    }
    for (int kind = run->force ? XNACK : EXACT; kind < N_VALUES; kind++) {
        const char *value = value_of(run, gpu, (enum value)kind);
        if (value)
            OCV_TRY(ocv_device_add(device, feature_of[kind], value, run->err));
    }
    if (ocv_amd_bounded(&run->driver, gpu->target))
        OCV_TRY(add_user_spaces(run, gpu->target, device));
    return OCV_OK;
}

static int fill_result(struct amd_probe *run)
{
    static const char rocm_key[] = "AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION";
    struct ocv_rocm_version rocm = {0};
    const char *forced = ocv_probe_host_variable(run->host, rocm_key);
    bool counts = run->m->usable || run->force;
    unsigned target = run->m->usable ? run->m->gpus[0].target : 0; /* the least bounded */
    for (size_t i = 0; i < run->m->usable; i++)
        if (!ocv_amd_bounded(&run->driver, run->m->gpus[i].target))
            target = 0;
    /* targets of the published provider's variable; it separates them by commas, semicolons, blanks
     */
    static const char separators[] = ",; \t\n";
    size_t n = 0;
    for (const char *at = run->force; at && *(at += strspn(at, separators));) {
        size_t len = strcspn(at, separators);
        char value[32];
        snprintf(value, sizeof(value), "%.*s", (int)len, at);
        if (n++ == FORCED_MAX || len >= sizeof(value) || strncmp(value, "gfx", 3) != 0 ||
            !ocv_property_value_valid(value, len))
            return ocv_error_set(
                run->err, OCV_ERR_CONFIG,
                "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH=%.200s: not a list of targets", run->force);
        OCV_TRY(ocv_gpu_add_once(run->result, "gfx_arch", value, run->err));
        at += len;
    }
    /* the namespace's own lists are the union; every exact target comes before the generic ones */
    for (int kind = run->force ? XNACK : EXACT; kind < N_VALUES; kind++)
        for (size_t i = 0; i < run->m->usable; i++) {
            const char *value = value_of(run, &run->m->gpus[i], (enum value)kind);
            if (value)
                OCV_TRY(ocv_gpu_add_once(run->result, feature_of[kind], value, run->err));
        }
    if (counts)
        rocm = ocv_rocm_read(run->host);
    if (forced && !ocv_rocm_parse(forced, &rocm))
        return ocv_error_set(run->err, OCV_ERR_CONFIG, "%s=%.200s: not a version", rocm_key,
                             forced);
    OCV_TRY(ocv_rocm_add(run->result, rocm, run->err));
    if (counts)
        OCV_TRY(add_user_spaces(run, target, NULL));
    /* a forced target counts for the machine, also where no GPU of it can */
    bool devices = run->m->usable || !run->force;
    for (size_t i = 0; i < run->m->n && devices; i++)
        OCV_TRY(add_gpu(run, &run->m->gpus[i]));
    return OCV_OK;
}

static int probe_amd(const struct ocv_probe_host *host, struct ocv_result *result,
                     struct ocv_error *err)
{
    struct ocv_amd_machine m;
    struct amd_probe run = {.host = host, .m = &m, .result = result, .err = err};
    char line[16];
    int status = ocv_amd_scan(host, &m, err);
    if (status < 0)
        return status;
    run.force = ocv_probe_host_variable(host, "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH");
    if (m.n || m.kfd.hidden || m.kfd.broken || run.force) {
        result->source = run.force ? "environment" : m.kfd.n ? "kfd" : "sysfs";
        run.assumed = !ocv_sysroot_line(host->root, "sys/module/amdgpu/parameters/noretry", line,
                                        sizeof(line));
        run.noretry = run.assumed ? '-' : line[0];
        run.xnack = xnack_mode(&run);
        run.driver = ocv_amd_driver(host);
        ocv_gpu_driver_version(host, "amdgpu", result->driver, sizeof(result->driver));
        ocv_amd_set_status(host, &m, result);
        result->card = m.card;
        status = fill_result(&run);
        result->guess = run.driver.guess && (m.usable || run.force);
        for (size_t i = 0; i < m.usable; i++)
            result->guess = result->guess || m.gpus[i].guess ||
                            (run.assumed && value_of(&run, &m.gpus[i], XNACK));
    }
    static const char *const packages[] = {"u0######.inf", "c0######.inf"};
    if (!m.n && !run.force && ocv_gpu_is_windows(host, packages, 2)) {
        result->source = "sysfs";
        result->status = OCV_RESULT_PARTIAL;
        snprintf(result->note, sizeof(result->note),
                 "WSL2: Windows' driver shows its GPUs to ROCm for WSL (librocdxg) alone; say what "
                 "there is in the configuration: override: {amd: {gfx_arch: [gfx1100]}}");
    }
    ocv_kfd_free(&m.kfd);
    return status;
}

const struct provider ocv_provider_amd = {.name = "amd",
                                          .ns = "amd",
                                          .kind = "builtin",
                                          .version = "1",
                                          .probe = probe_amd,
                                          .quiet = true};
