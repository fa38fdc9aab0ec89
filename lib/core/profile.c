/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Profiles (schema/profile.schema.json): what one host supports, best first. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"
#include "ocivariant/descriptor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PROFILE_SCHEMA "dev.ocivariant.profile/v1"

/* A list member: absent is empty, another type or too long is an error. */
static int list_member(const json_t *object, const char *what, const char *key, size_t max,
                       const json_t **out, size_t *n, struct ocv_error *err)
{
    *out = json_object_get(object, key);
    *n = json_array_size(*out);
    if (*out && !json_is_array(*out))
        return ocv_error_set(err, OCV_ERR_DATA, "profile: %s: '%s' is not a list", what, key);
    if (*n > max)
        return ocv_error_set(err, OCV_ERR_DATA, "profile: %s: '%s' has more than %zu members", what,
                             key, max);
    return OCV_OK;
}

/* The checked name member of a namespace or feature. */
static int read_name(const json_t *object, const char *key, const char *what, const char **out,
                     struct ocv_error *err)
{
    const char *name = ocv_json_text(object, key);
    if (!name || !ocv_property_name_valid(name, strlen(name)))
        return ocv_error_set(err, OCV_ERR_DATA, "profile: %s: '%s' is missing or not of a-z 0-9 _",
                             what, key);
    *out = name;
    return OCV_OK;
}

static int read_features(struct ocv_profile *profile, const json_t *object, const char *what,
                         struct ocv_feature **out, size_t *count, struct ocv_error *err)
{
    const json_t *list;
    size_t n;
    OCV_TRY(list_member(object, what, "features", OCV_PROFILE_FEATURES_MAX, &list, &n, err));
    *out = ocv_arena_alloc(&profile->arena, n + 1, sizeof(**out));
    ocv_auto_free const char **names = malloc((n + 1) * sizeof(*names));
    if (!*out || !names)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i), *values;
        struct ocv_feature *feature = &(*out)[i];
        OCV_TRY(read_name(item, "name", what, &feature->name, err));
        OCV_TRY(list_member(item, feature->name, "values", OCV_PROFILE_VALUES_MAX, &values,
                            &feature->n_values, err));
        feature->values = ocv_arena_alloc(&profile->arena, feature->n_values + 1, sizeof(char *));
        if (!feature->values)
            return ocv_error_nomem(err);
        /* Values are unique and ordered; a second mention adds nothing and is dropped. Sorting out
         * duplicates by comparison with all earlier ones would be quadratic on a hostile file, so
         * the resolver simply takes the first place of a value. */
        for (size_t k = 0; k < feature->n_values; k++) {
            const char *value = json_string_value(json_array_get(values, k));
            if (!value || !ocv_property_value_valid(value, strlen(value)))
                return ocv_error_set(err, OCV_ERR_DATA,
                                     "profile: %s :: %s: value %zu '%.60s' is not "
                                     "of a-z 0-9 _ .",
                                     what, feature->name, k, value ? value : "");
            feature->values[k] = value;
        }
        names[i] = feature->name;
    }
    *count = n;
    qsort(names, n, sizeof(*names), ocv_text_order);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(names[i - 1], names[i]))
            return ocv_error_set(err, OCV_ERR_DATA, "profile: %s: feature '%s' is listed twice",
                                 what, names[i]);
    return OCV_OK;
}

static int read_namespace(struct ocv_profile *profile, const json_t *object,
                          struct ocv_namespace *ns, struct ocv_error *err)
{
    OCV_TRY(read_name(object, "namespace", "namespaces", &ns->name, err));
    const struct ocv_namespace *before = ocv_profile_namespace(profile, ns->name);
    if (before)
        return ocv_error_set(err, OCV_ERR_DATA, "profile: namespace '%s' is listed twice",
                             ns->name);
    const json_t *devices;
    OCV_TRY(read_features(profile, object, ns->name, &ns->features, &ns->n_features, err));
    OCV_TRY(list_member(object, ns->name, "devices", OCV_PROFILE_DEVICES_MAX, &devices,
                        &ns->n_devices, err));
    ns->devices = ocv_arena_alloc(&profile->arena, ns->n_devices + 1, sizeof(*ns->devices));
    if (!ns->devices)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < ns->n_devices; i++) {
        const json_t *item = json_array_get(devices, i);
        struct ocv_device *device = &ns->devices[i];
        OCV_TRY(ocv_json_string(item, "profile: device", "id", &device->id, err));
        OCV_TRY(ocv_json_string(item, "profile: device", "uuid", &device->uuid, err));
        if (!json_is_object(item))
            return ocv_error_set(err, OCV_ERR_DATA, "profile: %s: device %zu is not an object",
                                 ns->name, i);
        const json_t *index = json_object_get(item, "index");
        json_int_t number = json_integer_value(index);
        device->index =
            json_is_integer(index) && number >= 0 && number < INT_MAX ? (long)number : (long)i;
        device->secondary = json_is_true(json_object_get(item, "secondary"));
        if (!device->id && !(device->id = ocv_arena_printf(&profile->arena, "%ld", device->index)))
            return ocv_error_nomem(err);
        OCV_TRY(
            read_features(profile, item, ns->name, &device->features, &device->n_features, err));
    }
    return OCV_OK;
}

int ocv_profile_of_json(json_t *root, struct ocv_profile **out, struct ocv_error *err)
{
    const json_t *list, *schema = json_object_get(root, "schema");
    const char *text = json_string_value(schema);
    size_t n;
    ocv_auto(ocv_profile) profile = calloc(1, sizeof(*profile));
    if (!profile)
        return ocv_error_nomem(err);
    profile->root = json_incref(root);
    if (schema && (!text || strcmp(text, PROFILE_SCHEMA) != 0))
        return ocv_error_set(err, OCV_ERR_DATA, "profile: schema is '%.60s', known here: %s",
                             text ? text : "not a string", PROFILE_SCHEMA);
    if (!json_is_array(json_object_get(root, "namespaces")))
        return ocv_error_set(err, OCV_ERR_DATA, "profile: 'namespaces' is missing or not a list");
    OCV_TRY(
        list_member(root, "top level", "namespaces", OCV_PROFILE_NAMESPACES_MAX, &list, &n, err));
    profile->namespaces = ocv_arena_alloc(&profile->arena, n + 1, sizeof(*profile->namespaces));
    if (!profile->namespaces)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        OCV_TRY(read_namespace(profile, json_array_get(list, i), &profile->namespaces[i], err));
        profile->n_namespaces = i + 1;
    }
    const char *what = "profile: platform";
    const json_t *object = json_object_get(root, "platform");
    if (object && !json_is_object(object))
        return ocv_error_set(err, OCV_ERR_DATA, "%s is not an object", what);
    struct ocv_platform *p = &profile->platform;
    OCV_TRY(ocv_json_string(object, what, "os", &p->os, err));
    OCV_TRY(ocv_json_string(object, what, "architecture", &p->architecture, err));
    OCV_TRY(ocv_json_string(object, what, "variant", &p->variant, err));
    const json_t *features = json_object_get(object, "os.features");
    n = json_array_size(features);
    const char **names = n ? ocv_arena_alloc(&profile->arena, n, sizeof(*names)) : NULL;
    if (n && !names)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (!(names[i] = json_string_value(json_array_get(features, i))))
            return ocv_error_set(err, OCV_ERR_DATA, "%s: os.features has a non-string", what);
    p->os_features = names;
    p->n_os_features = n;
    *out = ocv_steal(&profile);
    return OCV_OK;
}

int ocv_profile_parse(const void *bytes, size_t len, struct ocv_profile **out,
                      struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load("profile", bytes, len, OCV_PROFILE_MAX, &root, err));
    return ocv_profile_of_json(root, out, err);
}

void ocv_profile_free(struct ocv_profile *profile)
{
    if (!profile)
        return;
    json_decref(profile->root);
    ocv_arena_free(&profile->arena);
    free(profile);
}

struct ocv_platform ocv_profile_platform(const struct ocv_profile *profile)
{
    return profile->platform;
}

bool ocv_profile_supports(const struct ocv_profile *profile, struct ocv_property property)
{
    const struct ocv_namespace *ns = ocv_profile_namespace(profile, property.ns);
    const struct ocv_feature *feature =
        ns ? ocv_feature_find(ns->features, ns->n_features, property.feature) : NULL;
    for (size_t i = 0; feature && i < feature->n_values; i++)
        if (!strcmp(feature->values[i], property.value))
            return true;
    return false;
}
