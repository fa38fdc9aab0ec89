/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running the lint over texts. */
#ifndef OCV_LINT_UTIL_H
#define OCV_LINT_UTIL_H

#include "lib/internal/lint/lint_internal.h"
#include "test/unit/lint/lint_example.h"

UNUSED static struct ocv_tag_rules *tag_rules;

UNUSED static void read_rules(void)
{
    ck_assert_int_eq(ocv_tag_rules_new(&tag_rules, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_rules_load(tag_rules, "plugins/tags.d", NULL, NULL), OCV_OK);
}

UNUSED static void free_rules(void)
{
    ocv_tag_rules_free(tag_rules);
}

UNUSED static void lint_with(const char *text, const struct ocv_lint_config *config,
                             struct ocv_lint_report *report)
{
    struct example *e = example_read(text);
    struct ocv_lint_options options = {.config = config, .tag_rules = tag_rules};
    struct ocv_error err = {0};
    int status = ocv_lint_run(&e->input, &options, report, &err);
    ck_assert_msg(status == OCV_OK, "%s\n%s", err.message, text);
    example_free(e);
}

UNUSED static void lint(const char *text, struct ocv_lint_report *report)
{
    *report = (struct ocv_lint_report){0};
    lint_with(text, NULL, report);
}

UNUSED static const struct ocv_lint_finding *find(const struct ocv_lint_report *report,
                                                  const char *id)
{
    for (size_t i = 0; i < report->n; i++)
        if (!strcmp(report->findings[i].rule->id, id))
            return &report->findings[i];
    return NULL;
}

/* TEXT has a finding of rule ID whose message or hint contains SAYS; SAYS NULL: it has no such
 * finding. */
UNUSED static void expect(const char *text, const char *id, const char *says)
{
    struct ocv_lint_report report;
    lint(text, &report);
    bool found = false;
    char all[8192] = "";
    for (size_t i = 0; i < report.n; i++) {
        const struct ocv_lint_finding *f = &report.findings[i];
        size_t at = strlen(all);
        snprintf(all + at, sizeof(all) - at, "%s %s (%s)\n", f->rule->id, f->message,
                 f->hint ? f->hint : "");
        if (strcmp(f->rule->id, id) != 0)
            continue;
        found = found || !says || strstr(f->message, says) || (f->hint && strstr(f->hint, says));
    }
    ck_assert_msg(found == (says != NULL), "%s %s '%s' in\n%s\nfound\n%s", id,
                  says ? "does not say" : "is there", says ? says : "", text, all);
    ocv_lint_report_free(&report);
}

#endif
