/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What providers put into their namespace. */
#include "lib/probe/result/result.h"
#include "lib/base/format/json.h"

#include <string.h>

static int add_value(json_t *features, const char *feature, const char *value,
                     struct ocv_error *err)
{
    size_t n = json_array_size(features);
    for (size_t i = n; i-- > 0;) { /* from the back: values of one feature come together */
        json_t *entry = json_array_get(features, i);
        if (strcmp(ocv_json_text(entry, "name"), feature) == 0)
            return json_array_append_new(json_object_get(entry, "values"), json_string(value)) < 0
                       ? ocv_error_nomem(err)
                       : OCV_OK;
    }
    json_t *entry = json_pack("{s:s, s:[s]}", "name", feature, "values", value);
    return !entry || json_array_append_new(features, entry) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

int ocv_result_add(struct ocv_result *result, const char *feature, const char *value,
                   struct ocv_error *err)
{
    return add_value(result->features, feature, value, err);
}

json_t *ocv_result_device(struct ocv_result *result, const char *id, const char *name)
{
    json_t *device =
        json_pack("{s:s, s:i}", "id", id, "index", (int)json_array_size(result->devices));
    if (device && name && json_object_set_new(device, "name", json_string(name)) < 0) {
        json_decref(device);
        return NULL;
    }
    return device && json_array_append_new(result->devices, device) == 0 ? device : NULL;
}

int ocv_device_add(json_t *device, const char *feature, const char *value, struct ocv_error *err)
{
    json_t *features = json_object_get(device, "features");
    if (!features && json_object_set_new(device, "features", features = json_array()) < 0)
        return ocv_error_nomem(err);
    return add_value(features, feature, value, err);
}

int ocv_device_attribute(json_t *device, const char *key, const char *value, struct ocv_error *err)
{
    json_t *attributes = json_object_get(device, "attributes");
    if (!value || !*value)
        return OCV_OK;
    if (!attributes && json_object_set_new(device, "attributes", attributes = json_object()) < 0)
        return ocv_error_nomem(err);
    return json_object_set_new(attributes, key, json_string(value)) < 0 ? ocv_error_nomem(err)
                                                                        : OCV_OK;
}
