/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Images inherit NVIDIA_VISIBLE_DEVICES and NVIDIA_REQUIRE_* from their base images, so neither
 * shows that a container uses GPUs. It does if a runtime or an engine has given it a device. */
#include "plugins/oci-hook/hook.h"

#include "lib/base/format/json.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/records/records.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CDI_KEYS "cdi.k8s.io/"
#define CDI_KIND "nvidia.com/gpu="

/* "/dev/nvidia0", but not "/dev/nvidiactl", which cluster tools mount too. */
static bool any_is_gpu(const json_t *list, const char *key)
{
    static const char device[] = "/dev/nvidia";
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
    {
        const char *path = ocv_json_text(one, key);
        if (path && strncmp(path, device, sizeof(device) - 1) == 0 &&
            isdigit((unsigned char)path[sizeof(device) - 1]))
            return true;
    }
    return false;
}

/* The hook of the toolkit's older modes, or those of its newer modes. */
static bool has_toolkit_hook(const json_t *config)
{
    static const char *const stages[] = {"prestart", "createRuntime", "createContainer"};
    const json_t *hooks = json_object_get(config, "hooks"), *one;
    for (size_t s = 0; s < sizeof(stages) / sizeof(*stages); s++) {
        size_t i;
        json_array_foreach(json_object_get(hooks, stages[s]), i, one)
        {
            const char *path = ocv_json_text(one, "path");
            const char *slash = path ? strrchr(path, '/') : NULL;
            const char *name = slash ? slash + 1 : path;
            if (name &&
                (strncmp(name, "nvidia-container", 16) == 0 ||
                 strncmp(name, "nvidia-ctk", 10) == 0 || strncmp(name, "nvidia-cdi-hook", 15) == 0))
                return true;
        }
    }
    return false;
}

/* "nvidia.com/gpu=0,nvidia.com/gpu=1" from annotations, or NULL. */
static const char *cdi_devices(const json_t *config)
{
    const char *key;
    const json_t *value;
    json_object_foreach(json_object_get(config, "annotations"), key, value)
    {
        const char *text = json_string_value(value);
        if (text && strncmp(key, CDI_KEYS, strlen(CDI_KEYS)) == 0 && strstr(text, CDI_KIND))
            return text;
    }
    return NULL;
}

/* The variable, if it names devices and there is a hook that heeds it. */
static const char *visible_devices(const json_t *config)
{
    static const char name[] = OCV_REQUIREMENT_DEVICES "=";
    const char *found = NULL;
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(json_object_get(config, "process"), "env"), i, one)
    {
        const char *text = json_string_value(one);
        if (text && strncmp(text, name, sizeof(name) - 1) == 0)
            found = text + sizeof(name) - 1;
    }
    bool named = found && *found && strcmp(found, "void") != 0 && strcmp(found, "none") != 0;
    return named && has_toolkit_hook(config) ? found : NULL;
}

bool container_gets_gpu(const json_t *config)
{
    return any_is_gpu(json_object_get(json_object_get(config, "linux"), "devices"), "path") ||
           any_is_gpu(json_object_get(config, "mounts"), "destination") || cdi_devices(config) ||
           visible_devices(config);
}

char *container_config(const json_t *config)
{
    ocv_auto(ocv_image_config) image = NULL;
    ocv_auto_buffer essence;
    size_t at = 0;
    ocv_buffer_init(&essence, OCV_IMAGE_CONFIG_MAX);
    json_t *environment = json_object_get(json_object_get(config, "process"), "env");
    json_t *root = json_pack("{s:{s:O?}}", "config", "Env", environment);
    char *text = container_gets_gpu(config) ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    bool asks = text && ocv_image_config_parse(text, strlen(text), &image, NULL) == OCV_OK &&
                ocv_image_config_next(image, OCV_REQUIREMENT_PREFIX, &at) &&
                ocv_image_config_essence(image, &essence, NULL) == OCV_OK;
    free(text);
    return asks ? strndup(essence.data, essence.len) : NULL;
}

char *container_devices(const json_t *config)
{
    const char *cdi = cdi_devices(config), *visible = visible_devices(config);
    if (!cdi)
        return visible ? strdup(visible) : NULL;
    /* "nvidia.com/gpu=0,nvidia.com/gpu=1" -> "0,1" */
    char *out = calloc(1, strlen(cdi) + 1);
    size_t n = 0;
    for (const char *at = strstr(cdi, CDI_KIND); out && at; at = strstr(at, CDI_KIND)) {
        at += strlen(CDI_KIND);
        size_t len = strcspn(at, ",");
        if (n)
            out[n++] = ',';
        memcpy(out + n, at, len);
        n += len;
    }
    return out;
}

char *container_given(const json_t *config)
{
    return ocv_container_devices(config, has_toolkit_hook(config), "");
}
