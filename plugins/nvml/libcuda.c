/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries to CUDA's own library, for systems where NVML is missing or does not know the GPU:
 * Jetson, WSL2 with only part of the driver. cuInit creates no context. Declarations follow the
 * documentation of the CUDA driver API. */
#include "plugins/nvml/query.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTRIBUTE_INTEGRATED 18 /* CUdevice_attribute */
#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76
#define LIBRARY "libcuda.so.1"

struct libcuda {
    struct query *query;
    void *library;
};

/* A CUresult; the library's function for its name needs no initialisation, but may be missing. */
static bool check_call(struct libcuda *cuda, json_t *object, const char *call, int code)
{
    const char *name = NULL;
    query_call(cuda->query, NULL);
    if (code == 0)
        return true;
    int (*describe)(int, const char **) = dlsym(cuda->library, "cuGetErrorName");
    if (describe)
        describe(code, &name);
    query_error(cuda->query, object, call, code, name ? name : "UNKNOWN");
    return false;
}

static void *find_function(struct libcuda *cuda, const char *name)
{
    void *function = dlsym(cuda->library, name);
    query_call(cuda->query, function ? name : NULL);
    return function;
}

static bool get_attribute(struct libcuda *cuda, json_t *object, int device, int attribute, int *out)
{
    int (*function)(int *, int, int) = find_function(cuda, "cuDeviceGetAttribute");
    return function &&
           check_call(cuda, object, "cuDeviceGetAttribute", function(out, attribute, device));
}

static void get_text(struct libcuda *cuda, json_t *object, int device, const char *name,
                     const char *key)
{
    char text[QUERY_TEXT_MAX] = "";
    int (*function)(char *, int, int) = find_function(cuda, name);
    if (!function || !check_call(cuda, object, name, function(text, sizeof(text), device)))
        return;
    text[sizeof(text) - 1] = '\0';
    query_text(cuda->query, object, key, text);
}

void libcuda_ask(struct query *query)
{
    struct libcuda cuda = {.query = query, .library = query_open(query, LIBRARY)};
    json_t *root = query->root;
    int number = 0, n = 0;
    if (!cuda.library)
        return;
    int (*version)(int *) = find_function(&cuda, "cuDriverGetVersion");
    if (version && check_call(&cuda, root, "cuDriverGetVersion", version(&number)) &&
        !json_object_get(root, "cuda"))
        query_set(query, root, "cuda", json_integer(number));
    int (*init)(unsigned) = find_function(&cuda, "cuInit");
    if (!init || !check_call(&cuda, root, "cuInit", init(0)))
        return;
    int (*count)(int *) = find_function(&cuda, "cuDeviceGetCount");
    if (!count || !check_call(&cuda, root, "cuDeviceGetCount", count(&n)) || n <= 0)
        return;
    query_set(query, root, "library", json_string("libcuda"));
    query_set(query, root, "count", json_integer(n));
    query_set(query, root, "devices", json_array()); /* NVML knew no capability of its devices */
    for (int i = 0; i < n && i < (int)QUERY_DEVICES_MAX; i++) {
        json_t *object = query_append(query, root, "devices");
        query_set(query, object, "index", json_integer(i));
        int device = 0, major = 0, minor = 0, integrated = 0;
        unsigned char uuid[16] = {0};
        char text[QUERY_TEXT_MAX] = "GPU-";
        size_t memory = 0, at = strlen(text);
        int (*get)(int *, int) = find_function(&cuda, "cuDeviceGet");
        if (!get || !check_call(&cuda, object, "cuDeviceGet", get(&device, i)))
            continue;
        if (get_attribute(&cuda, object, device, ATTRIBUTE_MAJOR, &major) &&
            get_attribute(&cuda, object, device, ATTRIBUTE_MINOR, &minor))
            query_set(query, object, "capability", json_pack("[i, i]", major, minor));
        get_text(&cuda, object, device, "cuDeviceGetPCIBusId", "bus_id");
        get_text(&cuda, object, device, "cuDeviceGetName", "name");
        int (*identify)(unsigned char *, int) = find_function(&cuda, "cuDeviceGetUuid");
        if (identify && check_call(&cuda, object, "cuDeviceGetUuid", identify(uuid, device))) {
            for (size_t k = 0; k < sizeof(uuid); k++) {
                bool dash = k == 4 || k == 6 || k == 8 || k == 10;
                at += (size_t)snprintf(text + at, sizeof(text) - at, dash ? "-%02x" : "%02x",
                                       uuid[k]);
            }
            query_text(query, object, "uuid", text);
        }
        if (get_attribute(&cuda, object, device, ATTRIBUTE_INTEGRATED, &integrated))
            query_set(query, object, "integrated", json_boolean(integrated == 1));
        int (*total)(size_t *, int) = find_function(&cuda, "cuDeviceTotalMem_v2");
        if (total && check_call(&cuda, object, "cuDeviceTotalMem_v2", total(&memory, device)) &&
            memory <= INT64_MAX)
            query_set(query, object, "memory", json_integer((json_int_t)memory));
    }
}

void libcuda_locate(struct query *query)
{
    struct link_map *map = NULL;
    char *path = NULL;
    void *library = query_open(query, LIBRARY);
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        path = realpath(map->l_name, NULL);
    if (path)
        query_text(query, query->root, "cuda_library", path);
    free(path);
}
