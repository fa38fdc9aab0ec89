/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A profile's GPUs, as the conditions of NVIDIA's container toolkit speak of them. */
#include "lib/base/format/json.h"
#include "lib/internal/content/image_config.h"

#include "gen/config-facts.h"
#include "gen/toolkits.h"
#include "lib/core/core_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

const char *ocv_gpu_brand(const char *name)
{
    for (size_t i = 0; i < COUNT(config_brands); i++)
        if (strcasestr(name, config_brands[i].a))
            return config_brands[i].b;
    return NULL;
}

static const struct ocv_feature *find_feature(const struct ocv_feature *list, size_t n,
                                              const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0 && list[i].n_values > 0)
            return &list[i];
    return NULL;
}

/* "90a_real" -> "9.0" */
static void read_arch(const struct ocv_feature *feature, char out[16])
{
    const char *value = feature ? feature->values[0] : "";
    size_t digits = strspn(value, "0123456789");
    if (digits >= 2 && digits <= 3)
        snprintf(out, 16, "%.*s.%c", (int)(digits - 1), value, value[digits - 1]);
}

/* Is the device among "0,2" or "GPU-...,0:1"? What is no list of such words means all. */
static bool is_wanted(const struct ocv_device *device, long place, const char *devices)
{
    bool listed = false;
    if (!devices || !*devices || strcmp(devices, "all") == 0)
        return true;
    for (const char *at = devices; *at; at += strcspn(at, ","), at += *at == ',') {
        char *end;
        long index = strtol(at, &end, 10);
        bool number = end != at && (*end == ',' || *end == ':' || *end == '\0');
        bool uuid = strncmp(at, "GPU-", 4) == 0;
        if (!number && !uuid)
            return true;
        size_t n = strcspn(at, ",");
        listed = listed || (number && index == (device->index >= 0 ? device->index : place)) ||
                 (uuid && device->uuid && strlen(device->uuid) == n &&
                  strncmp(device->uuid, at, n) == 0);
    }
    return listed;
}

void ocv_gpu_host_read(const struct ocv_profile *profile, const char *devices,
                       struct ocv_gpu_host *out)
{
    const json_t *json = NULL, *one;
    size_t k;
    json_array_foreach(json_object_get(profile->root, "namespaces"), k, one)
    {
        const char *name = ocv_json_text(one, "namespace");
        if (!json && name && strcmp(name, OCV_TOOLKIT_NAMESPACE) == 0)
            json = one;
    }
    const json_t *list = json_object_get(json, "devices");
    const struct ocv_namespace *ns = ocv_profile_namespace(profile, OCV_TOOLKIT_NAMESPACE);
    *out = (struct ocv_gpu_host){.driver = ocv_json_text(json, "driver")};
    if (!ns)
        return;
    const struct ocv_feature *cuda =
        find_feature(ns->features, ns->n_features, OCV_TOOLKIT_VERSION);
    const struct ocv_feature *arch = find_feature(ns->features, ns->n_features, OCV_TOOLKIT_DEVICE);
    out->cuda = cuda ? cuda->values[0] : NULL;
    for (size_t i = 0; i < ns->n_devices && out->n < OCV_GPUS_MAX; i++) {
        const struct ocv_device *d = &ns->devices[i];
        const struct ocv_feature *own =
            find_feature(d->features, d->n_features, OCV_TOOLKIT_DEVICE);
        struct ocv_gpu *gpu = &out->gpus[out->n];
        if (!own ||
            !is_wanted(d, (long)i, devices)) /* one that its driver does not drive has none */
            continue;
        gpu->name = ocv_json_text(json_array_get(list, i), "name");
        gpu->brand = gpu->name ? ocv_gpu_brand(gpu->name) : NULL;
        read_arch(own, gpu->arch);
        out->n++;
    }
    if (ns->n_devices == 0 && (cuda || arch)) { /* a profile without devices has its best one */
        read_arch(arch, out->gpus[0].arch);
        out->n = 1;
    }
}
