/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turn the output of an executable provider into a namespace of the profile. */
#include "lib/probe/executable/executable.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/probe/host/host.h"

#include <stdio.h>
#include <string.h>

/* NULL: without memory. */
static json_t *compose_namespace(const char *name, const json_t *answer)
{
    static const char *const of_provider[] = {"source", "version"};
    static const char *const keys[] = {"error", "driver", "guess", "features", "devices"};
    json_t *status = json_object_get(answer, "status");
    const json_t *own = json_object_get(answer, "provider");
    /* the provider's name is the one we give it; its own claim is ignored */
    ocv_auto_json *provider = json_pack("{s:s, s:s}", "name", name, "kind", "executable");
    ocv_auto_json *out = json_object();
    for (size_t i = 0; i < sizeof(of_provider) / sizeof(*of_provider); i++) {
        json_t *value = json_object_get(own, of_provider[i]);
        if (value && json_object_set(provider, of_provider[i], value) < 0)
            return NULL;
    }
    if (json_object_set(out, "namespace", json_object_get(answer, "namespace")) < 0 ||
        json_object_set(out, "provider", provider) < 0 ||
        json_object_set_new(out, "status", status ? json_incref(status) : json_string("ok")) < 0)
        return NULL;
    /* members that stay as they are, in the order of all namespaces */
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        json_t *value = json_object_get(answer, keys[i]);
        if (strcmp(keys[i], "features") == 0 && !value) {
            if (json_object_set_new(out, keys[i], json_array()) < 0)
                return NULL;
            continue;
        }
        bool says = value && !json_is_false(value) &&
                    !(strcmp(keys[i], "devices") == 0 && json_array_size(value) == 0);
        if (says && json_object_set(out, keys[i], value) < 0)
            return NULL;
    }
    size_t i;
    json_t *device;
    json_array_foreach(json_object_get(out, "devices"), i, device)
    {
        if (!json_object_get(device, "index") &&
            json_object_set_new(device, "index", json_integer((json_int_t)i)) < 0)
            return NULL;
    }
    return ocv_steal(&out);
}

int ocv_executable_answer(const char *name, const char *bytes, size_t len, json_t **out,
                          char replaces[OCV_EXECUTABLE_NAME_MAX + 1], struct ocv_error *err)
{
    ocv_auto_json *answer = NULL;
    if (len == 0)
        return ocv_error_set(err, OCV_ERR_DATA, "it printed nothing");
    OCV_TRY(ocv_json_load_counted("what it printed", bytes, len, OCV_CHILD_OUTPUT_MAX,
                                  OCV_JSON_VALUES_MAX, &answer, err));
    int status = ocv_executable_check(answer, err);
    if (status < 0) {
        ocv_error_prefix(err, "what it printed is not a namespace of a profile");
        return status;
    }
    const char *other = ocv_json_text(answer, "replaces");
    json_t *composed = compose_namespace(name, answer);
    if (!composed)
        return ocv_error_nomem(err);
    snprintf(replaces, OCV_EXECUTABLE_NAME_MAX + 1, "%s", other ? other : "");
    *out = composed;
    return OCV_OK;
}
