/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of plugins/nvml/nvml-query. It comes from a program that loaded a vendor's library, so
 * nothing in it is believed unread: every text is bounded and plain, every number has a range, and
 * what is out of it counts as not told. */
#include "lib/base/cleanup.h"
#include "lib/probe/providers/nvidia/nvidia.h"

#include "lib/base/format/json.h"
#include "lib/probe/host/host.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "nvml-query"
#define SCHEMA "dev.ocivariant.nvml-query/v1"
#define CAPABILITY_MAX 99 /* major of a compute capability */
#define CUDA_NUMBER_MAX 99999
#define ERRORS_MAX 64u /* failed calls that are looked at */

/* A member that is plain ASCII and fits; false and empty otherwise. */
static bool copy_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *text = ocv_json_text(object, key);
    size_t len = text ? strlen(text) : 0;
    out[0] = '\0';
    if (len == 0 || len >= size)
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    memcpy(out, text, len + 1);
    return true;
}

static void read_failure(const json_t *errors, bool essential, struct ocv_nvml_failure *out)
{
    /* many GPUs do not support these; that is not an error */
    static const char *const extras[] = {"nvmlDeviceGetMemoryInfo",
                                         "nvmlDeviceGetName",
                                         "nvmlDeviceGetUUID",
                                         "nvmlDeviceGetPciInfo_v3",
                                         "nvmlDeviceGetMigMode",
                                         "nvmlDeviceGetMaxMigDeviceCount",
                                         "nvmlDeviceGetMigDeviceHandleByIndex",
                                         "nvmlDeviceGetVirtualizationMode",
                                         "nvmlSystemGetCudaDriverVersion_v2"};
    for (size_t i = 0; i < json_array_size(errors) && i < ERRORS_MAX && !out->call[0]; i++) {
        const json_t *error = json_array_get(errors, i);
        const char *call = ocv_json_text(error, "call");
        bool extra = !call || strncmp(call, "cu", 2) == 0;
        for (size_t k = 0; !extra && k < sizeof(extras) / sizeof(*extras); k++)
            extra = strcmp(call, extras[k]) == 0;
        if (extra == essential || !copy_text(error, "call", out->call, sizeof(out->call)))
            continue;
        copy_text(error, "name", out->name, sizeof(out->name));
        out->code = (long)json_integer_value(json_object_get(error, "code"));
    }
}

static void read_device(const json_t *object, struct ocv_nvml_device *out)
{
    struct ocv_nvidia_gpu *gpu = &out->gpu;
    const json_t *capability = json_object_get(object, "capability");
    const json_t *mig = json_object_get(object, "mig");
    json_int_t major = json_integer_value(json_array_get(capability, 0));
    json_int_t minor = json_integer_value(json_array_get(capability, 1));
    json_int_t memory = json_integer_value(json_object_get(object, "memory"));
    /* NVML writes 00000000:3B:00.0 and the kernel 0000:3b:00.0 */
    char address[32], *colon;
    if (copy_text(object, "bus_id", address, sizeof(address)) && (colon = strchr(address, ':')) &&
        strspn(address, "0123456789abcdefABCDEF:.") == strlen(address) && strlen(colon) == 8) {
        unsigned long domain = strtoul(address, NULL, 16);
        for (char *c = colon; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        if (domain <= UINT32_MAX)
            snprintf(gpu->id, sizeof(gpu->id), "%04lx%s", domain, colon);
    }
    copy_text(object, "name", gpu->name, sizeof(gpu->name));
    copy_text(object, "uuid", gpu->uuid, sizeof(gpu->uuid));
    copy_text(object, "virtualization", gpu->virtualization, sizeof(gpu->virtualization));
    if (major > 0 && major <= CAPABILITY_MAX && minor >= 0 && minor <= 9)
        gpu->sm = (unsigned)(major * 10 + minor);
    gpu->memory = memory > 0 ? (uint64_t)memory : 0;
    gpu->integrated = json_is_true(json_object_get(object, "integrated")) ||
                      strstr(gpu->name, "(nvgpu)") || ocv_nvidia_integrated(gpu->sm);
    gpu->mig = json_is_boolean(mig) ? json_is_true(mig) : -1;
    const json_t *instances = json_object_get(object, "mig_devices");
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(instances) && i < OCV_NVML_MIG_MAX; i++) {
        char uuid[OCV_NVIDIA_TEXT_MAX];
        gpu->mig_instances++;
        if (!copy_text(json_array_get(instances, i), "uuid", uuid, sizeof(uuid)) ||
            strlen(uuid) + 3 > sizeof(gpu->mig_uuids) - at)
            continue;
        at += (size_t)snprintf(gpu->mig_uuids + at, sizeof(gpu->mig_uuids) - at, "%s%s",
                               at ? ", " : "", uuid);
    }
    read_failure(json_object_get(object, "errors"), true, &out->failure);
    out->readable = strcmp(out->failure.call, "nvmlDeviceGetHandleByIndex_v2") != 0;
}

int ocv_nvml_parse(const char *text, size_t len, struct ocv_nvml_answer *out, struct ocv_error *err)
{
    struct ocv_nvml_answer answer = {.n = 0};
    ocv_auto_json *root = NULL;
    char path[PATH_MAX], library[16];
    OCV_TRY(ocv_json_load(PROGRAM, text ? text : "", len, OCV_NVML_OUTPUT_MAX, &root, err));
    const char *schema = ocv_json_text(root, "schema");
    if (!schema || strcmp(schema, SCHEMA) != 0)
        return ocv_error_set(err, OCV_ERR_DATA, PROGRAM ": not an answer of schema " SCHEMA);
    const json_t *devices = json_object_get(root, "devices");
    answer.counted = json_is_integer(json_object_get(root, "count"));
    answer.n = json_array_size(devices);
    if (answer.n > OCV_NVML_DEVICES_MAX)
        answer.n = OCV_NVML_DEVICES_MAX;
    if (answer.n && !(answer.devices = calloc(answer.n, sizeof(*answer.devices))))
        return ocv_error_nomem(err);
    for (size_t i = 0; i < answer.n; i++)
        read_device(json_array_get(devices, i), &answer.devices[i]);

    json_int_t cuda = json_integer_value(json_object_get(root, "cuda"));
    bool told = copy_text(root, "library", library, sizeof(library));
    answer.cuda_library = told && strcmp(library, "libcuda") == 0;
    if (cuda > 0 && cuda <= CUDA_NUMBER_MAX)
        answer.cuda =
            (struct ocv_cuda_version){(unsigned)(cuda / 1000), (unsigned)(cuda % 1000 / 10)};
    copy_text(root, "driver", answer.driver, sizeof(answer.driver));
    if (strspn(answer.driver, "0123456789.") != strlen(answer.driver))
        answer.driver[0] = '\0';
    copy_text(root, "hung", answer.hung, sizeof(answer.hung));
    answer.compat = copy_text(root, "cuda_library", path, sizeof(path)) && strstr(path, "/compat/");
    read_failure(json_object_get(root, "errors"), true, &answer.failure);
    if (!answer.failure.call[0] && !answer.counted)
        read_failure(json_object_get(root, "errors"), false, &answer.failure);
    answer.none = !told && !answer.cuda.major && !answer.failure.call[0] && !answer.hung[0];
    *out = answer;
    return OCV_OK;
}

void ocv_nvml_free(struct ocv_nvml_answer *answer)
{
    free(answer->devices);
    *answer = (struct ocv_nvml_answer){.n = 0};
}

int ocv_nvml_ask(const struct ocv_probe_host *host, struct ocv_nvml_answer *out,
                 struct ocv_error *err)
{
    ocv_auto_buffer text;
    char path[PATH_MAX], time[16];
    const char *const argv[] = {PROGRAM, time, NULL};
    ocv_buffer_init(&text, OCV_NVML_OUTPUT_MAX);
    /* the rest is for the program to say which call it waits for */
    const unsigned time_ms = host->timeout_ms / 4 * 3;
    snprintf(time, sizeof(time), "%u", time_ms);
    if (!ocv_probe_host_libexec(host, PROGRAM, path, sizeof(path)))
        return ocv_error_set(err, OCV_ERR_INVALID, "the directory of " PROGRAM " is too long");
    const struct ocv_child_limits limits = {
        .timeout_ms = host->timeout_ms, .output_max = OCV_NVML_OUTPUT_MAX, .wide = true};
    OCV_TRY(ocv_child_run(path, argv, &limits, &text, err));
    OCV_TRY(ocv_nvml_parse(text.data, text.len, out, err));
    out->time_ms = time_ms;
    return OCV_OK;
}
