/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/config/config.h"

#include <string.h>

static const char *const names[] = {
    [OCV_CHOOSE_ON] = "on", [OCV_CHOOSE_SHADOW] = "shadow", [OCV_CHOOSE_OFF] = "off"};

const char *ocv_choose_name(enum ocv_choose choose)
{
    return names[choose];
}

enum ocv_choose ocv_choose_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i]))
            return (enum ocv_choose)i;
    return OCV_CHOOSE_ON;
}

enum ocv_choose ocv_config_choose(const struct ocv_config *config)
{
    return config ? ocv_choose_of(ocv_config_get(config, "choose")) : OCV_CHOOSE_ON;
}

enum ocv_choose ocv_config_choose_text(const struct ocv_config *config, const char *reference)
{
    ocv_auto(ocv_reference) parsed = NULL;
    if (reference && ocv_reference_parse(reference, &parsed, NULL) < 0)
        parsed = NULL;
    return ocv_config_choose(ocv_config_for_reference(config, parsed));
}

enum ocv_workload ocv_config_workload(const struct ocv_config *config)
{
    const char *text = config ? ocv_config_get(config, "workload") : NULL;
    if (!text || ocv_config_choose(config) != OCV_CHOOSE_ON)
        return OCV_WORKLOAD_OFF;
    return !strcmp(text, "annotations") ? OCV_WORKLOAD_ANNOTATIONS
           : !strcmp(text, "devices")   ? OCV_WORKLOAD_DEVICES
                                        : OCV_WORKLOAD_OFF;
}
