/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ordinary images: checks the requirements in their configuration (NVIDIA_REQUIRE_*), which a hook
 * sends together with the container's GPUs. If a tag rule knows that a family's builds need at
 * least the driver they were made for, an unmet requirement is a misfit instead of a warning. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit_internal.h"
#include "lib/base/text.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/tags/tags.h"

#include <stdio.h>
#include <string.h>

/* True if this node lacks what the rules say a tag with such a configuration needs. */
static bool rules_refuse(const struct instance *instance, const char *reference,
                         const struct ocv_image_config *config, char *reason, size_t size)
{
    ocv_auto(ocv_reference) name = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto(ocv_tag) answered = NULL;
    ocv_auto_buffer text;
    struct fit_answer one = {.verdict = OCV_VERDICT_OPEN};
    const struct ocv_tag_rules *rules = mirror_tag_rules(instance->mirror);
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    bool refused = rules && reference && ocv_reference_parse(reference, &name, NULL) == OCV_OK &&
                   name->tag && ocv_tag_parse(rules, name, NULL, &tag, NULL) == OCV_OK &&
                   ocv_tag_answer(tag, config, &answered, NULL) == OCV_OK &&
                   !ocv_tag_refused(answered) &&
                   ocv_properties_count(ocv_tag_properties(answered)) > 0 &&
                   ocv_properties_format(ocv_tag_properties(answered), &text, NULL) == OCV_OK;
    const struct ocv_record said = {.properties = text.data};
    refused = refused && fit_by_properties(instance, reference, NULL, &said, &one) == OCV_OK &&
              one.verdict == OCV_VERDICT_MISFIT;
    if (refused)
        snprintf(reason, size, "by its tag's family it does not run here: %.400s", one.reason);
    return refused;
}

json_t *fit_by_config(const struct instance *instance, const struct fit_question *q)
{
    ocv_auto(ocv_image_config) config = NULL;
    struct ocv_config_finding verdict = {.fit = OCV_CONFIG_NO_WORD};
    struct ocv_gpu_host host;
    if (!q->config)
        return NULL;
    size_t len = strlen(q->config);
    const struct snapshot *snapshot = node_get(instance->node);
    budget_read_begin(len);
    if (ocv_image_config_parse(q->config, len, &config, NULL) == OCV_OK) {
        ocv_gpu_host_read(snapshot->profile, q->devices, &host);
        if (ocv_config_check(config, &host, &verdict, NULL) < 0)
            verdict.fit = OCV_CONFIG_NO_WORD;
        if (verdict.fit == OCV_CONFIG_WARNING &&
            rules_refuse(instance, q->reference, config, verdict.reason, sizeof(verdict.reason)))
            verdict.fit = OCV_CONFIG_MISFIT;
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
