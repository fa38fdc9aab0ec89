/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Any bytes as a rule file: an accepted one can read any tag, and plan any list of tags. */
#include "lib/internal/tags/tags.h"
#include "ocivariant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tags[] = {"1.9", "86-1.9", "2.1-cuda12.8-py312", "a_b-c.d", "-", "__"};
    struct ocv_tag_rules *rules = NULL;
    struct ocv_reference *reference = NULL;
    struct ocv_tag_plan *plan = NULL;
    if (ocv_tag_rules_new(&rules, NULL) < 0)
        return 0;
    if (ocv_tag_rules_add(rules, "fuzz", (const char *)data, size, NULL, NULL) == OCV_OK &&
        ocv_reference_parse("demo/app", &reference, NULL) == OCV_OK &&
        ocv_tag_plan_new(rules, reference, NULL, tags, 6, &plan, NULL) == OCV_OK) {
        for (size_t i = 0; i < ocv_tag_plan_sets(plan); i++)
            for (size_t k = 0; k < ocv_tag_plan_members(plan, i); k++) {
                const char *label = NULL;
                if (!ocv_tag_text(ocv_tag_plan_member(plan, i, k, &label)) || !label)
                    __builtin_trap();
            }
    }
    ocv_tag_plan_free(plan);
    ocv_reference_free(reference);
    ocv_tag_rules_free(rules);
    return 0;
}
