/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as .ocivariant-lint.yaml; an accepted file has a level for every rule. */
#include "lib/internal/lint/lint.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_lint_config *config = NULL;
    struct ocv_error err = {0};
    if (ocv_lint_config_read("fuzz", (const char *)data, size, &config, &err) < 0) {
        if (!err.message[0])
            __builtin_trap();
        return 0;
    }
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        const char *why = ocv_lint_config_allowed(config, rule, "r.example/a:1", "cu128");
        if (ocv_lint_config_level(config, rule) > OCV_LINT_ERROR || (why && !*why))
            __builtin_trap();
    }
    ocv_lint_config_free(config);
    return 0;
}
