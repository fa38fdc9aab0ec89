/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint --rules and --explain: the table of rules as text. */
#include "cmd/variantctl/lint/lint_verb.h"

#include "lib/base/options.h"
#include "lib/base/text.h"

#include <string.h>

static void print_example(const char *title, const char *text)
{
    printf("\n%s\n", title);
    while (*text) {
        size_t n = strcspn(text, "\n");
        printf("    %.*s\n", (int)n, text);
        text += n + (text[n] != '\0');
    }
}

bool lint_complete_rule(struct ocv_completion *c, const char *kind)
{
    if (strcmp(kind, "RULE") != 0)
        return false;
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        ocv_complete_offer(c, rule->id, rule->name);
        ocv_complete_offer(c, rule->name, rule->id);
    }
    return true;
}

int lint_explain_rule(const struct cli *cli, const char *name)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule_find(name);
    struct ocv_error err = {0};
    if (!rule) {
        char question[OCV_NEAREST_QUESTION_MAX];
        ocv_error_set(&err, OCV_ERR_INVALID, "no rule '%.60s'%s", name,
                      ocv_nearest_question(ocv_lint_rule_meant(name), question));
        ocv_error_hint(&err, "variantctl lint --rules lists them");
        return cli_fail(cli, &err);
    }
    printf("%s %s (%s)\n\n%s\n%s\n", rule->id, rule->name, ocv_lint_level_name(rule->level),
           rule->what, rule->why);
    print_example("Bad", rule->bad);
    print_example("Good", rule->good);
    return 0;
}
