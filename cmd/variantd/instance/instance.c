/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/instance/instance.h"

#include "cmd/variantd/common/settings_make.h"

#include <stdlib.h>

int instance_new(struct settings *settings, struct metrics *metrics, const struct instance *last,
                 struct instance **out, struct ocv_error *err)
{
    struct instance *instance = calloc(1, sizeof(*instance));
    if (!instance) {
        settings_free(settings);
        return ocv_error_nomem(err);
    }
    instance->settings = settings;
    int status = node_new(settings, metrics, last ? last->node : NULL, &instance->node, err);
    if (status == OCV_OK)
        status = mirror_new(settings, instance->node, metrics, &instance->mirror, err);
    if (status < 0) {
        instance_free(instance);
        return status;
    }
    *out = instance;
    return OCV_OK;
}

void instance_free(struct instance *instance)
{
    if (!instance)
        return;
    if (instance->mirror)
        mirror_free(instance->mirror);
    node_free(instance->node);
    settings_free(instance->settings);
    free(instance);
}

void instance_log_changes(const struct instance *old, const struct instance *fresh,
                          struct metrics *metrics)
{
    node_compare(old->node, fresh->node, "SIGHUP", metrics);
}
