/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ordinary images: checks the requirements in their configuration (NVIDIA_REQUIRE_*), which a hook
 * sends together with the container's GPUs. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit_internal.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

json_t *fit_by_config(const struct instance *instance, const struct fit_question *q)
{
    ocv_auto(ocv_image_config) config = NULL;
    struct ocv_config_finding verdict = {.fit = OCV_CONFIG_NO_WORD};
    struct ocv_gpu_host gpus;
    if (!q->config)
        return NULL;
    size_t len = strlen(q->config);
    const struct snapshot *snapshot = node_get(instance->node);
    const struct ocv_fit_host host = fit_host(instance, snapshot);
    budget_read_begin(len);
    if (ocv_image_config_parse(q->config, len, &config, NULL) == OCV_OK) {
        ocv_gpu_host_read(snapshot->profile, q->devices, &gpus);
        ocv_fit_ordinary(&host, config, &gpus, mirror_tag_rules(instance->mirror), q->reference,
                         &verdict);
    }
    ocv_image_config_free(config);
    config = NULL;
    budget_read_end(len);
    node_put(snapshot);
    ocv_text_clean(verdict.reason);
    return verdict.fit == OCV_CONFIG_NO_WORD
               ? NULL
               : json_pack("{s:s, s:s}", "verdict", ocv_config_fit_name(verdict.fit), "reason",
                           verdict.reason);
}
