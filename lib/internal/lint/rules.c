/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of rules, from schema/lint-rules.yaml. */
#include "lib/internal/lint/lint.h"

#include "lib/base/text.h"

#include <string.h>

static const struct ocv_lint_rule rules[] = {OCV_LINT_RULE_TABLE};

const struct ocv_lint_rule *ocv_lint_rule(size_t i)
{
    return i < OCV_LINT_RULES ? &rules[i] : NULL;
}

const struct ocv_lint_rule *ocv_lint_rule_find(const char *text)
{
    for (size_t i = 0; i < OCV_LINT_RULES; i++)
        if (!strcmp(rules[i].id, text) || !strcmp(rules[i].name, text))
            return &rules[i];
    return NULL;
}

const char *ocv_lint_rule_meant(const char *text)
{
    struct ocv_nearest nearest = {.wanted = text};
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        ocv_nearest_offer(&nearest, rules[i].id);
        ocv_nearest_offer(&nearest, rules[i].name);
    }
    return ocv_nearest_meant(&nearest);
}

const char *ocv_lint_level_name(enum ocv_lint_level level)
{
    static const char *const names[] = {"off", "note", "warning", "error"};
    return names[level];
}
