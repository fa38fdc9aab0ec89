/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries to NVML. Declarations follow NVIDIA's documentation of NVML's interface, which keeps old
 * entry points; a missing one is reported as FUNCTION_NOT_FOUND. The essential facts of all GPUs
 * are queried first: if a later call hangs, only the rest is lost. */
#include "plugins/nvml/query.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION_NOT_FOUND 13
#define DRIVER_VERSION_MAX 80u /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */

/* nvmlReturn_t */
static const char *const names[] = {
    [0] = "SUCCESS",
    [1] = "UNINITIALIZED",
    [2] = "INVALID_ARGUMENT",
    [3] = "NOT_SUPPORTED",
    [4] = "NO_PERMISSION",
    [5] = "ALREADY_INITIALIZED",
    [6] = "NOT_FOUND",
    [7] = "INSUFFICIENT_SIZE",
    [8] = "INSUFFICIENT_POWER",
    [9] = "DRIVER_NOT_LOADED",
    [10] = "TIMEOUT",
    [11] = "IRQ_ISSUE",
    [12] = "LIBRARY_NOT_FOUND",
    [13] = "FUNCTION_NOT_FOUND",
    [14] = "CORRUPTED_INFOROM",
    [15] = "GPU_IS_LOST",
    [16] = "RESET_REQUIRED",
    [17] = "OPERATING_SYSTEM",
    [18] = "LIB_RM_VERSION_MISMATCH",
    [19] = "IN_USE",
    [20] = "MEMORY",
    [21] = "NO_DATA",
    [22] = "VGPU_ECC_NOT_SUPPORTED",
    [23] = "INSUFFICIENT_RESOURCES",
    [24] = "FREQ_NOT_SUPPORTED",
    [25] = "ARGUMENT_VERSION_MISMATCH",
    [26] = "DEPRECATED",
    [27] = "NOT_READY",
    [28] = "GPU_NOT_FOUND",
    [29] = "INVALID_STATE",
};

/* nvmlGpuVirtualizationMode_t */
static const char *const virtualizations[] = {"none", "passthrough", "vgpu", "host_vgpu",
                                              "host_vsga"};

typedef void *device_handle;

struct nvml_memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};

struct pci { /* nvmlPciInfo_t */
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml {
    struct query *query;
    void *library;
};

static bool check_call(struct nvml *nvml, json_t *object, const char *name, int code)
{
    query_call(nvml->query, NULL);
    if (code == 0)
        return true;
    bool known = code > 0 && (size_t)code < sizeof(names) / sizeof(*names);
    query_error(nvml->query, object, name, code, known ? names[code] : "UNKNOWN");
    return false;
}

/* Look up a function, and mark it as entered; NULL, noted as an error, if the library lacks it. */
static void *find_function(struct nvml *nvml, json_t *object, const char *name)
{
    void *function = dlsym(nvml->library, name);
    if (!function)
        check_call(nvml, object, name, FUNCTION_NOT_FOUND);
    else
        query_call(nvml->query, name);
    return function;
}

static bool get_unsigned(struct nvml *nvml, json_t *object, device_handle handle, const char *name,
                         unsigned *out)
{
    int (*function)(device_handle, unsigned *) = find_function(nvml, object, name);
    return function && check_call(nvml, object, name, function(handle, out));
}

static void get_text(struct nvml *nvml, json_t *object, device_handle handle, const char *name,
                     const char *key)
{
    char text[QUERY_TEXT_MAX] = "";
    int (*function)(device_handle, char *, unsigned) = find_function(nvml, object, name);
    if (!function || !check_call(nvml, object, name, function(handle, text, sizeof(text))))
        return;
    text[sizeof(text) - 1] = '\0';
    query_text(nvml->query, object, key, text);
}

static void get_memory(struct nvml *nvml, json_t *object, device_handle handle)
{
    static const char name[] = "nvmlDeviceGetMemoryInfo";
    struct nvml_memory memory = {0};
    int (*function)(device_handle, struct nvml_memory *) = find_function(nvml, object, name);
    if (function && check_call(nvml, object, name, function(handle, &memory)) &&
        memory.total <= INT64_MAX)
        query_set(nvml->query, object, "memory", json_integer((json_int_t)memory.total));
}

static void get_mig(struct nvml *nvml, json_t *object, device_handle handle)
{
    static const char name[] = "nvmlDeviceGetMigMode";
    static const char by_index[] = "nvmlDeviceGetMigDeviceHandleByIndex";
    unsigned current = 0, pending = 0, most = 0;
    int (*function)(device_handle, unsigned *, unsigned *) = find_function(nvml, object, name);
    if (!function || !check_call(nvml, object, name, function(handle, &current, &pending)))
        return;
    query_set(nvml->query, object, "mig", json_boolean(current == 1));
    if (current != 1 ||
        !get_unsigned(nvml, object, handle, "nvmlDeviceGetMaxMigDeviceCount", &most))
        return;
    for (unsigned i = 0; i < most && i < QUERY_MIG_MAX; i++) {
        device_handle instance = NULL;
        int (*get)(device_handle, unsigned, device_handle *) =
            find_function(nvml, object, by_index);
        if (!get)
            return;
        int code = get(handle, i, &instance);
        if (code == 6) { /* NOT_FOUND: this slot is empty */
            query_call(nvml->query, NULL);
            continue;
        }
        if (!check_call(nvml, object, by_index, code) || !instance)
            return;
        json_t *found = query_append(nvml->query, object, "mig_devices");
        get_text(nvml, found, instance, "nvmlDeviceGetUUID", "uuid");
        get_text(nvml, found, instance, "nvmlDeviceGetName", "name");
        get_memory(nvml, found, instance);
    }
}

static bool ask_devices(struct nvml *nvml)
{
    static const char name[] = "nvmlDeviceGetCount_v2";
    static const char by_index[] = "nvmlDeviceGetHandleByIndex_v2";
    static const char address[] = "nvmlDeviceGetPciInfo_v3";
    static const char capability[] = "nvmlDeviceGetCudaComputeCapability";
    struct query *query = nvml->query;
    device_handle handles[QUERY_DEVICES_MAX] = {NULL};
    json_t *objects[QUERY_DEVICES_MAX] = {NULL};
    unsigned n = 0;
    bool capable = false;
    int (*function)(unsigned *) = find_function(nvml, query->root, name);
    if (!function || !check_call(nvml, query->root, name, function(&n)))
        return false;
    query_set(query, query->root, "count", json_integer(n));
    if (n > QUERY_DEVICES_MAX)
        n = QUERY_DEVICES_MAX;
    for (unsigned i = 0; i < n; i++) {
        objects[i] = query_append(query, query->root, "devices");
        query_set(query, objects[i], "index", json_integer(i));
        int (*get)(unsigned, device_handle *) = find_function(nvml, objects[i], by_index);
        if (!get || !check_call(nvml, objects[i], by_index, get(i, &handles[i])) || !handles[i])
            continue;
        struct pci pci;
        memset(&pci, 0, sizeof(pci));
        int (*get_pci)(device_handle, struct pci *) = find_function(nvml, objects[i], address);
        if (get_pci && check_call(nvml, objects[i], address, get_pci(handles[i], &pci))) {
            pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
            query_text(query, objects[i], "bus_id", pci.bus_id);
        }
        int major = 0, minor = 0;
        int (*get_cc)(device_handle, int *, int *) = find_function(nvml, objects[i], capability);
        if (get_cc &&
            check_call(nvml, objects[i], capability, get_cc(handles[i], &major, &minor))) {
            query_set(query, objects[i], "capability", json_pack("[i, i]", major, minor));
            capable = true;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned mode = 0;
        if (!handles[i])
            continue;
        get_text(nvml, objects[i], handles[i], "nvmlDeviceGetName", "name");
        get_text(nvml, objects[i], handles[i], "nvmlDeviceGetUUID", "uuid");
        get_memory(nvml, objects[i], handles[i]);
        get_mig(nvml, objects[i], handles[i]);
        if (get_unsigned(nvml, objects[i], handles[i], "nvmlDeviceGetVirtualizationMode", &mode) &&
            mode < sizeof(virtualizations) / sizeof(*virtualizations))
            query_text(query, objects[i], "virtualization", virtualizations[mode]);
    }
    return capable;
}

bool nvml_ask(struct query *query)
{
    static const char flagged[] = "nvmlInitWithFlags", plain[] = "nvmlInit_v2";
    static const char driver[] = "nvmlSystemGetDriverVersion";
    static const char *const cuda[] = {"nvmlSystemGetCudaDriverVersion_v2",
                                       "nvmlSystemGetCudaDriverVersion"};
    char text[DRIVER_VERSION_MAX] = "";
    struct nvml nvml = {.query = query, .library = query_open(query, "libnvidia-ml.so.1")};
    if (!nvml.library)
        return false;
    query_set(query, query->root, "library", json_string("nvml"));
    if (dlsym(nvml.library, flagged)) { /* driver 410 and newer */
        int (*init)(unsigned) = find_function(&nvml, query->root, flagged);
        if (!check_call(&nvml, query->root, flagged, init(0)))
            return false;
    } else {
        int (*init)(void) = find_function(&nvml, query->root, plain);
        if (!init || !check_call(&nvml, query->root, plain, init()))
            return false;
    }
    int (*version)(char *, unsigned) = find_function(&nvml, query->root, driver);
    if (version && check_call(&nvml, query->root, driver, version(text, sizeof(text)))) {
        text[sizeof(text) - 1] = '\0';
        query_text(query, query->root, "driver", text);
    }
    for (size_t i = 0; i < sizeof(cuda) / sizeof(*cuda); i++) {
        int number = 0;
        int (*function)(int *) = find_function(&nvml, query->root, cuda[i]);
        if (function && check_call(&nvml, query->root, cuda[i], function(&number))) {
            query_set(query, query->root, "cuda", json_integer(number));
            break;
        }
    }
    return ask_devices(&nvml); /* no shutdown: the process ends, and one more call could hang */
}
