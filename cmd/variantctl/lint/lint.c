/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint: indexes, their images and tags against the rules of schema/lint-rules.yaml. */
#include "cmd/variantctl/lint/lint_verb.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/exit_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTION_INDEX = 1,
    OPTION_TAGS_FILE,
    OPTION_FORMAT,
    OPTION_FIX,
    OPTION_DRY_RUN,
    OPTION_CHANGE_DEFAULT,
    OPTION_SETTINGS,
    OPTION_REPOSITORY,
    OPTION_TAGS,
    OPTION_NO_CHILDREN,
    OPTION_FAIL_ON,
    OPTION_RULES,
    OPTION_EXPLAIN
};

static const struct option options[] = {
    {"index", required_argument, NULL, OPTION_INDEX},
    {"tags-file", required_argument, NULL, OPTION_TAGS_FILE},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"output", required_argument, NULL, 'o'},
    {"fix", no_argument, NULL, OPTION_FIX},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"change-default", no_argument, NULL, OPTION_CHANGE_DEFAULT},
    {"settings", required_argument, NULL, OPTION_SETTINGS},
    {"repository", required_argument, NULL, OPTION_REPOSITORY},
    {"tags", no_argument, NULL, OPTION_TAGS},
    {"no-children", no_argument, NULL, OPTION_NO_CHILDREN},
    {"fail-on", required_argument, NULL, OPTION_FAIL_ON},
    {"rules", no_argument, NULL, OPTION_RULES},
    {"explain", required_argument, NULL, OPTION_EXPLAIN},
    CLI_REGISTRY_OPTIONS,
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl lint [OPTIONS] REPO:TAG | oci:DIR[:TAG] | FILE...\n"
    "\n"
    "Check indexes, their images and tags. A FILE is an index (JSON), what 'index\n"
    "create --from' reads (YAML), or a list of references, one a line; oci:DIR alone\n"
    "is every tag of the layout. Settings of a repository are read from\n"
    "" OCV_LINT_CONFIG_FILE ", here or above, within the git repository.\n"
    "Exit 0: no error; 5: errors; 4: an input is neither an index nor a list.\n"
    "\n"
    "Options:\n"
    "  --index FILE             an index document, '-' for standard input\n"
    "  --tags-file FILE         a list of references, '-' for standard input\n"
    "  --format text|json|sarif|github   what is printed (text)\n"
    "  -o, --output FILE        not to standard output; with --fix the index\n"
    "  --fix                    correct what is mechanical, where the input came from\n"
    "  --change-default         with --fix: also what changes the image of others\n"
    "  --dry-run                with --fix: write nothing\n"
    "  --fail-on error|warning|never   when to exit with 5 (error)\n"
    "  --settings FILE          instead of " OCV_LINT_CONFIG_FILE "\n"
    "  --repository NAME        read tags by the rules of this repository\n"
    "  --tags                   judge all tags of the repository, not one group\n"
    "  --no-children            look at the index only, not at its images and tags\n"
    "  --rules                  list the rules\n"
    "  --explain RULE           one rule, with a bad and a good example\n" CLI_COMMON_HELP
        CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl lint registry.example/app:1.0\n"
    "  variantctl lint --fix --dry-run oci:images:app\n"
    "  variantctl lint --explain OCV103\n";

static void free_request(struct lint_request *r)
{
    for (size_t i = 0; i < r->n_failures; i++) {
        free((char *)(uintptr_t)r->failures[i].input);
        free((char *)(uintptr_t)r->failures[i].message);
    }
    free(r->failures);
    free(r->files);
    ocv_lint_config_free(r->config);
    ocv_tag_rules_free(r->rules);
    ocv_lint_report_free(&r->report);
}

/* Of a list of words, the place of `text`; -1: none of them. */
static int choose(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

/* The verb's own options. False: a value that is none. */
static bool take_option(struct lint_request *r, int value)
{
    static const char *const formats[] = {"text", "json", "sarif", "github", NULL};
    static const char *const levels[] = {"never", "note", "warning", "error", NULL};
    int chosen = 0;
    switch (value) {
    case OPTION_INDEX:
    case OPTION_TAGS_FILE:
        r->files[r->n_files++] = optarg;
        break;
    case OPTION_FORMAT:
        chosen = choose(optarg, formats);
        r->format = chosen < 0 ? OCV_LINT_FORMAT_TEXT : (enum ocv_lint_format)chosen;
        break;
    case OPTION_FAIL_ON:
        chosen = choose(optarg, levels);
        chosen = chosen == 1 ? -1 : chosen;
        r->fail_on = chosen < 0 ? OCV_LINT_ERROR : (enum ocv_lint_level)chosen;
        break;
    case 'o':
        r->output = optarg;
        break;
    case OPTION_FIX:
        r->fix = true;
        break;
    case OPTION_DRY_RUN:
        r->dry_run = true;
        break;
    case OPTION_CHANGE_DEFAULT:
        r->change_default = true;
        break;
    case OPTION_SETTINGS:
        r->settings = optarg;
        break;
    case OPTION_REPOSITORY:
        r->lint.repository = optarg;
        break;
    case OPTION_TAGS:
        r->lint.all_tags = true;
        break;
    case OPTION_NO_CHILDREN:
        r->lint.no_children = true;
        break;
    default:
        return false;
    }
    return chosen >= 0;
}

static int check_request(const struct lint_request *r, int n, struct ocv_error *err)
{
    if (n == 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: give a REPO:TAG, oci:DIR[:TAG] or FILE");
    if (r->dry_run && !r->fix)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: --dry-run requires --fix");
    if (r->change_default && !r->fix)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: --change-default requires --fix");
    if (r->fix && r->output && n != 1)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: --fix --output is for one input");
    return OCV_OK;
}

int cmd_lint(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct lint_request r = {.cli = cli, .fail_on = OCV_LINT_ERROR};
    int value, code = -1;
    r.files = calloc((size_t)argc + 1, sizeof(*r.files));
    if (!r.files)
        return cli_fail(cli, (ocv_error_nomem(&err), &err));
    while (code < 0 && cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        if (value == OPTION_RULES || value == OPTION_EXPLAIN)
            code = value == OPTION_RULES ? lint_list_rules() : lint_explain_rule(cli, optarg);
        else if (!take_option(&r, value))
            code = cli_bad_option(cli, argv, value);
    }
    int status = code < 0 ? check_request(&r, argc - optind + (int)r.n_files, &err) : OCV_OK;
    if (code < 0 && status == OCV_OK)
        status = lint_run(&r, argv + optind, &err);
    if (code < 0)
        code = status < 0 ? (err.status ? cli_fail(cli, &err) : ocv_error_exit_code(status))
                          : r.exit_code;
    free_request(&r);
    return code;
}
