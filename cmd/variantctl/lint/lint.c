/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint: checks indexes, their images and tags against the rules of
 * schema/lint-rules.yaml. */
#include "cmd/variantctl/lint/lint_verb.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/exit_code.h"

#include <stdlib.h>
#include <string.h>

static int take_file(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct lint_request *r = given->into;
    (void)err;
    r->files[r->n_files++] = given->value; /* cmd_lint has allocated room for all of argv */
    return OCV_OK;
}

static int take_json(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(enum ocv_lint_format *)given->into = OCV_LINT_FORMAT_JSON;
    return OCV_OK;
}

static int take_level(const struct ocv_option_given *given, struct ocv_error *err)
{
    static const enum ocv_lint_level levels[] = {OCV_LINT_ERROR, OCV_LINT_WARNING, OCV_LINT_OFF};
    int word = ocv_option_word(given->option, given->value);
    (void)err;
    if (word >= 0)
        *(enum ocv_lint_level *)given->into = levels[word];
    return word >= 0 ? OCV_OK : OCV_OPTION_WRONG;
}

static const struct ocv_option options[] = {
    {.name = "index",
     .value = "FILE",
     .help = "an index document, '-' for standard input",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_CALL(take_file)},
    {.name = "tags-file",
     .value = "FILE",
     .help = "a list of references, '-' for standard input",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_CALL(take_file)},
    {.name = "format",
     .value = "text|json|sarif|github", /* in the order of enum ocv_lint_format */
     .help = "what is printed (text)",
     OCV_OPTION_ENUM(struct lint_request, format)},
    {.name = "json",
     .flags = OCV_OPTION_HIDDEN,
     OCV_OPTION_MEMBER(take_json, struct lint_request, format)},
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .help = "write to FILE; with --fix: the corrected index",
     OCV_OPTION_TEXT(struct lint_request, output)},
    {.name = "fix",
     .help = "make mechanical corrections where the input came from",
     OCV_OPTION_FLAG(struct lint_request, fix)},
    {.name = "change-default",
     .help = "with --fix: even if other clients get another image",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct lint_request, change_default)},
    {.name = "dry-run",
     .help = "with --fix: show what would change, and write nothing",
     OCV_OPTION_FLAG(struct lint_request, dry_run)},
    {.name = "fail-on",
     .value = "error|warning|never",
     .help = "when to exit with 5 (error)",
     OCV_OPTION_MEMBER(take_level, struct lint_request, fail_on)},
    {.name = "settings",
     .value = "FILE",
     .help = "instead of " OCV_LINT_CONFIG_FILE,
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct lint_request, settings)},
    {.name = "repository",
     .value = "NAME",
     .help = "read tags by the rules of this repository",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct lint_request, lint.repository)},
    {.name = "tags",
     .help = "check all tags of the repository, not one group",
     OCV_OPTION_FLAG(struct lint_request, lint.all_tags)},
    {.name = "no-children",
     .help = "look at the index only, not at its images and tags",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct lint_request, lint.no_children)},
    {.name = "deep",
     .help = "read the code in the images' files, too (OCV7xx)",
     OCV_OPTION_FLAG(struct lint_request, lint.deep)},
    {.name = "rules", .help = "list the rules", OCV_OPTION_FLAG(struct lint_request, list_rules)},
    {.name = "explain",
     .value = "RULE",
     .help = "one rule, with a bad and a good example",
     OCV_OPTION_TEXT(struct lint_request, explain)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl lint [OPTIONS] REPO:TAG | oci:DIR[:TAG] | FILE...\n"
             "\n"
             "Check indexes, their images and tags. A FILE is an index (JSON), what 'index\n"
             "create --from' reads (YAML), or a list of references, one a line.\n",
    .details = "oci:DIR without a tag: all tags of the layout. Settings of a repository are read\n"
               "from " OCV_LINT_CONFIG_FILE ", here or above, within the git repository.\n"
               "Exit 0: no error; 5: errors; 4: an input is neither an index nor a list.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .complete = lint_complete_rule,
    .arguments = CLI_ANY_ARGUMENTS,
    .end = "\n"
           "Examples:\n"
           "  variantctl lint registry.example/app:1.0\n"
           "  variantctl lint --fix --dry-run oci:images:app\n"
           "  variantctl lint --explain OCV103\n"};

int cmd_lint(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct lint_request r = {.cli = cli, .fail_on = OCV_LINT_ERROR};
    r.files = calloc((size_t)argc + 1, sizeof(*r.files));
    if (!r.files)
        return cli_fail(cli, (ocv_error_nomem(&err), &err));
    int status = OCV_OK, code = cli_read(cli, &command, &r, argc, argv);
    for (size_t i = 0; code < 0 && r.list_rules && i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        printf("%s  %-28s  %-7s  %-5s  %s\n", rule->id, rule->name,
               ocv_lint_level_name(rule->level), rule->fix == OCV_LINT_FIX_WRITE ? "--fix" : "",
               rule->what);
    }
    if (code < 0 && r.list_rules)
        code = 0;
    else if (code < 0 && r.explain)
        code = lint_explain_rule(cli, r.explain);
    size_t n = cli->n_arguments + r.n_files;
    const char *wrong = n == 0                        ? "give a REPO:TAG, oci:DIR[:TAG] or FILE"
                        : r.dry_run && !r.fix         ? "--dry-run requires --fix"
                        : r.change_default && !r.fix  ? "--change-default requires --fix"
                        : r.fix && r.output && n != 1 ? "--fix --output takes one input"
                                                      : NULL;
    if (code < 0 && wrong)
        status = ocv_error_set(&err, OCV_ERR_INVALID, "lint: %s", wrong);
    if (code < 0 && status == OCV_OK)
        status = lint_run(&r, cli->arguments, &err);
    if (code < 0)
        code = status < 0 ? (err.status ? cli_fail(cli, &err) : ocv_error_exit_code(status))
                          : r.exit_code;
    for (size_t i = 0; i < r.n_failures; i++) {
        free((char *)(uintptr_t)r.failures[i].input);
        free((char *)(uintptr_t)r.failures[i].message);
    }
    free(r.failures);
    free(r.files);
    ocv_lint_config_free(r.config);
    ocv_tag_rules_free(r.rules);
    ocv_lint_report_free(&r.report);
    return code;
}
