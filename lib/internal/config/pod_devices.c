/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/internal/config/config.h"

#include "lib/core/core_internal.h"
#include "lib/internal/config/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ocv_workload_input_free(struct ocv_workload_input *input)
{
    free(input->settings);
    free(input->policies);
    ocv_config_free(input->devices);
    *input = (struct ocv_workload_input){0};
}

bool ocv_workload_anywhere(const struct ocv_config *config)
{
    bool any = false;
    for (size_t i = 0; config && i < config->n_repositories && !any; i++)
        any = ocv_config_workload(config->repositories[i].config) == OCV_WORKLOAD_DEVICES;
    return any;
}

int ocv_workload_devices(const char *devices, const struct ocv_profile *profile,
                         struct ocv_workload_input *input, struct ocv_preferences *preferences,
                         struct ocv_error *err)
{
    static char origin[] = "the pod's devices";
    OCV_TRY(ocv_config_new(&input->devices, err));
    if (*devices)
        OCV_TRY(ocv_config_set(input->devices, origin, "devices", devices, false, err));
    const struct ocv_config *c = input->devices;
    input->settings = calloc(c->n_devices + profile->n_namespaces + 1, sizeof(*input->settings));
    if (!input->settings)
        return ocv_error_nomem(err);
    size_t n = 0;
    for (; n < c->n_devices; n++)
        input->settings[n] = c->devices[n];
    for (size_t i = 0; i < profile->n_namespaces; i++) {
        const struct ocv_namespace *ns = &profile->namespaces[i];
        bool named = !ns->n_devices;
        for (size_t k = 0; k < c->n_devices && !named; k++)
            named = strcmp(c->devices[k].ns, ns->name) == 0;
        if (!named)
            input->settings[n++] =
                (struct ocv_device_setting){.ns = (char *)(uintptr_t)ns->name, .origin = origin};
    }
    preferences->devices = input->settings;
    preferences->n_devices = n;
    return OCV_OK;
}

int ocv_workload_given(const char *text, struct ocv_given_devices *out, struct ocv_error *err)
{
    out->n = 0;
    for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (!n)
            continue;
        if (out->n == OCV_GIVEN_MAX || n >= OCV_GIVEN_TEXT_MAX)
            return ocv_error_set(err, OCV_ERR_INVALID, "too many devices, or too long a name");
        struct ocv_given_device *device = &out->list[out->n];
        *device = (struct ocv_given_device){.group = out->n};
        memcpy(device->id, at, n);
        out->n++;
    }
    return OCV_OK;
}

int ocv_workload_preferences(const struct ocv_config *config, const struct ocv_profile *profile,
                             const char *given, struct ocv_workload_input *input,
                             struct ocv_preferences *out, char *by, struct ocv_error *err)
{
    char found[OCV_GIVEN_FOUND_MAX];
    enum ocv_workload mode = ocv_config_workload(config);
    *out = ocv_config_preferences(config);
    if (by)
        *by = '\0';
    if (mode == OCV_WORKLOAD_OFF)
        return OCV_OK;
    ocv_auto_free struct ocv_given_devices *list =
        mode == OCV_WORKLOAD_DEVICES && given ? calloc(1, sizeof(*list)) : NULL;
    if (list && ocv_workload_given(given, list, NULL) == OCV_OK &&
        ocv_given_find(list, profile, found, sizeof(found), NULL) == OCV_OK && *found) {
        if (by)
            memcpy(by, found, strlen(found) + 1);
        return ocv_workload_devices(found, profile, input, out, err);
    }
    /* nobody knows which: any of them */
    static char origin[] = "workload";
    input->policies = calloc(profile->n_namespaces + 1, sizeof(*input->policies));
    if (!input->policies)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < profile->n_namespaces; i++)
        input->policies[i] =
            (struct ocv_policy_setting){.ns = (char *)(uintptr_t)profile->namespaces[i].name,
                                        .origin = origin,
                                        .policy = OCV_POLICY_ANY};
    out->policies = input->policies;
    out->n_policies = profile->n_namespaces;
    return OCV_OK;
}
