/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for libnvidia-ml.so.1 and libcuda.so.1: answers as the file case.json beside it says.
 *
 *   {"calls": [{"function", "args": [...], "result": {...} | "error": CODE}],
 *    "hang": FUNCTION, "crash": FUNCTION, "noise": FUNCTION}
 *
 * `calls` has the form of recordings of the published provider. A call finds its answer by function
 * and first arguments; one that is not recorded fails as an old driver would. A text, pointer or
 * number that the case leaves out stays untouched. */
#include <dlfcn.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define NOT_SUPPORTED 3

struct pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

static json_t *load_case(void)
{
    static json_t *loaded;
    Dl_info info;
    char path[4096];
    if (loaded)
        return loaded;
    if (!dladdr((void *)load_case, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof(path), "%.*s/case.json", slash ? (int)(slash - info.dli_fname) : 1,
             slash ? info.dli_fname : ".");
    loaded = json_load_file(path, 0, NULL);
    if (!loaded)
        fprintf(stderr, "%s: no case\n", path);
    return loaded;
}

static int named(const char *key, const char *function)
{
    const char *name = json_string_value(json_object_get(load_case(), key));
    return name && !strcmp(name, function);
}

/* "hang": "dlopen": hangs before its first call. */
__attribute__((constructor)) static void begin(void)
{
    if (named("hang", "dlopen"))
        for (;;)
            pause();
}

/* The recorded result of a call; an error is stored in `*code`. */
static json_t *answer(const char *function, size_t n, const json_int_t *args, int *code)
{
    size_t i;
    json_t *call;
    if (named("hang", function))
        for (;;)
            pause();
    if (named("crash", function))
        raise(SIGSEGV);
    if (named("noise", function))
        for (;;)
            if (puts("noise") == EOF)
                _exit(0);
    json_array_foreach(json_object_get(load_case(), "calls"), i, call)
    {
        const char *name = json_string_value(json_object_get(call, "function"));
        json_t *list = json_object_get(call, "args");
        int same = name && !strcmp(name, function);
        for (size_t k = 0; same && k < n; k++)
            same = json_integer_value(json_array_get(list, k)) == args[k];
        if (!same)
            continue;
        *code = (int)json_integer_value(json_object_get(call, "error"));
        return json_object_get(call, "result");
    }
    *code = NOT_SUPPORTED;
    return NULL;
}

static void copy_text(json_t *result, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(result, key));
    if (text)
        snprintf(out, size, "%s", text);
}

static void copy_number(json_t *result, const char *key, void *out, size_t size)
{
    json_t *number = json_object_get(result, key);
    uint64_t value = (uint64_t)json_integer_value(number);
    if (number)
        memcpy(out, &value, size); /* little-endian, as all machines that run these tests */
}

static int handle_text(const char *function, const char *key, void *handle, char *out,
                       unsigned size)
{
    int code;
    json_t *result = answer(function, 1, (json_int_t[]){(json_int_t)(intptr_t)handle}, &code);
    copy_text(result, key, out, size);
    return code;
}

API int nvmlInitWithFlags(unsigned flags);
API int nvmlInitWithFlags(unsigned flags)
{
    int code;
    answer("nvmlInitWithFlags", 1, (json_int_t[]){flags}, &code);
    return code;
}

API int nvmlSystemGetDriverVersion(char *out, unsigned size);
API int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    int code;
    copy_text(answer("nvmlSystemGetDriverVersion", 0, NULL, &code), "version", out, size);
    return code;
}

API int nvmlSystemGetCudaDriverVersion_v2(int *out);
API int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    int code;
    copy_number(answer("nvmlSystemGetCudaDriverVersion_v2", 0, NULL, &code), "version", out, 4);
    return code;
}

API int nvmlSystemGetCudaDriverVersion(int *out);
API int nvmlSystemGetCudaDriverVersion(int *out)
{
    int code;
    copy_number(answer("nvmlSystemGetCudaDriverVersion", 0, NULL, &code), "version", out, 4);
    return code;
}

API int nvmlDeviceGetCount_v2(unsigned *out);
API int nvmlDeviceGetCount_v2(unsigned *out)
{
    int code;
    copy_number(answer("nvmlDeviceGetCount_v2", 0, NULL, &code), "count", out, 4);
    return code;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    int code;
    copy_number(answer("nvmlDeviceGetHandleByIndex_v2", 1, (json_int_t[]){index}, &code), "handle",
                out, sizeof(*out));
    return code;
}

API int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor);
API int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    int code;
    json_t *result = answer("nvmlDeviceGetCudaComputeCapability", 1,
                            (json_int_t[]){(json_int_t)(intptr_t)handle}, &code);
    copy_number(result, "major", major, 4);
    copy_number(result, "minor", minor, 4);
    return code;
}

API int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *out);
API int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *out)
{
    return handle_text("nvmlDeviceGetPciInfo_v3", "bus_id", handle, out->bus_id,
                       sizeof(out->bus_id));
}

API int nvmlDeviceGetName(void *handle, char *out, unsigned size);
API int nvmlDeviceGetName(void *handle, char *out, unsigned size)
{
    return handle_text("nvmlDeviceGetName", "name", handle, out, size);
}

API int nvmlDeviceGetUUID(void *handle, char *out, unsigned size);
API int nvmlDeviceGetUUID(void *handle, char *out, unsigned size)
{
    return handle_text("nvmlDeviceGetUUID", "uuid", handle, out, size);
}

static int handle_number(const char *function, const char *key, void *handle, void *out,
                         size_t size)
{
    int code;
    copy_number(answer(function, 1, (json_int_t[]){(json_int_t)(intptr_t)handle}, &code), key, out,
                size);
    return code;
}

API int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *out);
API int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *out)
{
    return handle_number("nvmlDeviceGetMemoryInfo", "total", handle, out, 8);
}

API int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending);
API int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending)
{
    *pending = 0;
    return handle_number("nvmlDeviceGetMigMode", "current", handle, current, 4);
}

API int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *out);
API int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *out)
{
    return handle_number("nvmlDeviceGetMaxMigDeviceCount", "count", handle, out, 4);
}

API int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **out);
API int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **out)
{
    int code;
    json_int_t args[] = {(json_int_t)(intptr_t)handle, index};
    copy_number(answer("nvmlDeviceGetMigDeviceHandleByIndex", 2, args, &code), "handle", out,
                sizeof(*out));
    return code == NOT_SUPPORTED ? 6 : code; /* not recorded: there is no instance */
}

API int nvmlDeviceGetVirtualizationMode(void *handle, unsigned *out);
API int nvmlDeviceGetVirtualizationMode(void *handle, unsigned *out)
{
    return handle_number("nvmlDeviceGetVirtualizationMode", "mode", handle, out, 4);
}

API int cuDriverGetVersion(int *out);
API int cuDriverGetVersion(int *out)
{
    int code;
    copy_number(answer("cuDriverGetVersion", 0, NULL, &code), "version", out, 4);
    return code;
}

API int cuInit(unsigned flags);
API int cuInit(unsigned flags)
{
    int code;
    answer("cuInit", 1, (json_int_t[]){flags}, &code);
    return code;
}

API int cuDeviceGetCount(int *out);
API int cuDeviceGetCount(int *out)
{
    int code;
    copy_number(answer("cuDeviceGetCount", 0, NULL, &code), "count", out, 4);
    return code;
}

API int cuDeviceGet(int *out, int index);
API int cuDeviceGet(int *out, int index)
{
    int code;
    *out = index;
    answer("cuDeviceGet", 1, (json_int_t[]){index}, &code);
    return code;
}

API int cuDeviceGetAttribute(int *out, int attribute, int device);
API int cuDeviceGetAttribute(int *out, int attribute, int device)
{
    int code;
    json_int_t args[] = {attribute, device};
    copy_number(answer("cuDeviceGetAttribute", 2, args, &code), "value", out, 4);
    return code;
}

API int cuDeviceGetName(char *out, int size, int device);
API int cuDeviceGetName(char *out, int size, int device)
{
    return handle_text("cuDeviceGetName", "name", (void *)(intptr_t)device, out, (unsigned)size);
}

API int cuDeviceGetPCIBusId(char *out, int size, int device);
API int cuDeviceGetPCIBusId(char *out, int size, int device)
{
    return handle_text("cuDeviceGetPCIBusId", "bus_id", (void *)(intptr_t)device, out,
                       (unsigned)size);
}

API int cuDeviceTotalMem_v2(size_t *out, int device);
API int cuDeviceTotalMem_v2(size_t *out, int device)
{
    return handle_number("cuDeviceTotalMem_v2", "total", (void *)(intptr_t)device, out,
                         sizeof(*out));
}
