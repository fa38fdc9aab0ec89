/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint: indexes, their images and tags against the rules of schema/lint-rules.yaml. */
#include "lint.h"
#include "rules.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPTION_INDEX = 1,
    OPTION_TAGS_FILE,
    OPTION_FORMAT,
    OPTION_OUTPUT,
    OPTION_FIX,
    OPTION_DRY_RUN,
    OPTION_SETTINGS,
    OPTION_REPOSITORY,
    OPTION_TAGS,
    OPTION_NO_CHILDREN,
    OPTION_FAIL_ON,
    OPTION_RULES,
    OPTION_EXPLAIN
};

static const struct option options[] = {{"index", required_argument, NULL, OPTION_INDEX},
                                        {"tags-file", required_argument, NULL, OPTION_TAGS_FILE},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"output", required_argument, NULL, OPTION_OUTPUT},
                                        {"fix", no_argument, NULL, OPTION_FIX},
                                        {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
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

static void print_help(void)
{
    fputs(
        "Usage: variantctl lint [OPTIONS] REPO:TAG | oci:DIR[:TAG] | FILE...\n\n"
        "Check indexes, their images and tags. A FILE is an index (JSON) or a list of references,\n"
        "one a line; oci:DIR alone is every tag of the layout. Settings of a repository are read\n"
        "from " OCV_LINT_CONFIG_FILE ", here or above, up to the top of the git repository.\n"
        "Exit 0: no error found; 5: errors; 4: an input cannot be read.\n\nOptions:\n"
        "  --index FILE             an index document, '-' for standard input\n"
        "  --tags-file FILE         a list of references, '-' for standard input\n"
        "  --format text|json|sarif|github   what is printed (text)\n"
        "  --output FILE            there instead of standard output; with --fix the index\n"
        "  --fix                    correct what is mechanical, where the input came from; the\n"
        "                           rest is reported with what to run\n"
        "  --dry-run                with --fix: write nothing\n"
        "  --fail-on error|warning|never     when to exit with 5 (error)\n"
        "  --settings FILE          instead of " OCV_LINT_CONFIG_FILE "\n"
        "  --repository NAME        read tags by the rules of this repository\n"
        "  --tags                   judge all tags of the repository, not those of the tag's "
        "group\n"
        "  --no-children            look at the index only, not at its images and tags\n"
        "  --rules                  list the rules\n"
        "  --explain RULE           one rule, with a bad and a good example\n" CLI_REGISTRY_HELP
            CLI_COMMON_HELP,
        stdout);
}

#define INPUTS_MAX 4096u
#define OUTPUT_MAX (256u * 1024 * 1024)

struct request {
    struct cli *cli;
    const char *settings, *output;
    struct lint_options lint;
    enum ocv_lint_format format;
    enum ocv_lint_level fail_on; /* OFF: never */
    bool fix, dry_run;
    const char **files;
    size_t n_files;
    struct ocv_lint_config *config;
    struct ocv_tag_rules *rules;
    struct ocv_lint_report report;
    struct ocv_lint_failure *failures;
    size_t n_failures;
    int exit_code; /* of the first input that could not be read */
};

/* ---- the rules themselves ---- */

static int list_rules(void)
{
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        printf("%s  %-28s  %-7s  %-5s  %s\n", rule->id, rule->name,
               ocv_lint_level_name(rule->level), rule->fix == OCV_LINT_FIX_WRITE ? "--fix" : "",
               rule->what);
    }
    return 0;
}

static void print_example(const char *title, const char *text)
{
    printf("\n%s\n", title);
    while (*text) {
        size_t n = strcspn(text, "\n");
        printf("    %.*s\n", (int)n, text);
        text += n + (text[n] != '\0');
    }
}

static int explain_rule(const struct cli *cli, const char *name)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule_find(name);
    struct ocv_error err = {0};
    if (!rule) {
        ocv_error_set(&err, OCV_ERR_INVALID, "no rule '%.60s'", name);
        ocv_error_hint(&err, "variantctl lint --rules lists them");
        return cli_fail(cli, &err);
    }
    printf("%s %s (%s)\n\n%s\n%s\n", rule->id, rule->name, ocv_lint_level_name(rule->level),
           rule->what, rule->why);
    print_example("Bad", rule->bad);
    print_example("Good", rule->good);
    return 0;
}

/* ---- settings ---- */

static int read_settings(struct request *r, const char *path, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_LINT_CONFIG_MAX);
    int status = cli_read_file(path, &text, err);
    if (status == OCV_ERR_NOT_FOUND && !r->settings)
        return status;
    if (status < 0)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s", err->message);
    cli_say(r->cli, "settings %s", path);
    return ocv_lint_config_read(path, text.data ? text.data : "", text.len, &r->config, err);
}

#define PARENTS_MAX 64u

/* From here upwards to the top of the git repository, or to the root. */
static int find_settings(struct request *r, struct ocv_error *err)
{
    char path[4096] = OCV_LINT_CONFIG_FILE, top[4096] = ".git", up[4096] = "";
    struct stat st;
    for (unsigned i = 0; i < PARENTS_MAX; i++) {
        int status = read_settings(r, path, err);
        if (status != OCV_ERR_NOT_FOUND)
            return status;
        if (stat(top, &st) == 0)
            break;
        size_t n = strlen(up);
        snprintf(up + n, sizeof(up) - n, "../");
        snprintf(path, sizeof(path), "%.4000s%s", up, OCV_LINT_CONFIG_FILE);
        snprintf(top, sizeof(top), "%.4000s.git", up);
    }
    return OCV_OK;
}

/* ---- inputs ---- */

static int remember_failure(struct request *r, const char *name, const struct ocv_error *err)
{
    if (r->exit_code == 0)
        r->exit_code = ocv_error_exit_code(err->status);
    cli_fail(r->cli, err);
    size_t n = r->n_failures;
    struct ocv_lint_failure *list = realloc(r->failures, (n + 1) * sizeof(*list));
    if (!list)
        return OCV_ERR_NOMEM;
    r->failures = list;
    char *input = strdup(name), *message = strdup(err->message);
    if (!input || !message) {
        free(input);
        free(message);
        return OCV_ERR_NOMEM;
    }
    list[r->n_failures++] = (struct ocv_lint_failure){input, message};
    return OCV_OK;
}

static int lint_one(struct request *r, const char *text, bool file, struct ocv_error *err)
{
    struct lint_source source = {0};
    struct ocv_lint_options how = {.config = r->config, .tag_rules = r->rules};
    int status = file ? lint_source_file(text, &source, err)
                      : lint_source_image(r->cli, text, &r->lint, &source, err);
    if (status == OCV_OK)
        status = ocv_lint_run(&source.input, &how, &r->report, err);
    if (status == OCV_OK && r->fix)
        status = lint_fix(r->cli, &source, r->output, r->dry_run, err);
    lint_source_close(&source);
    return status;
}

/* One bad input does not keep the others from being looked at; an interrupt does. */
static int lint_input(struct request *r, const char *text, bool file)
{
    struct ocv_error err = {0};
    int status = lint_one(r, text, file, &err);
    if (status < 0 && remember_failure(r, text, &err) < 0)
        return OCV_ERR_NOMEM;
    return status == OCV_ERR_INTERRUPTED || status == OCV_ERR_NOMEM ? status : OCV_OK;
}

struct tags_of_layout {
    char *names[INPUTS_MAX];
    size_t n;
    const char *text;
};

static int on_tag(void *data, const char *tag, const char *image_name,
                  const struct ocv_descriptor *descriptor)
{
    struct tags_of_layout *t = data;
    (void)image_name;
    (void)descriptor;
    size_t len = tag ? strlen(tag) : 0;
    bool signature = len > 4 && !strcmp(tag + len - 4, ".sig");
    if (!tag || signature || t->n == INPUTS_MAX)
        return OCV_OK;
    t->n += asprintf(&t->names[t->n], "%s:%s", t->text, tag) > 0;
    return OCV_OK;
}

/* oci:DIR without a tag: each of its tags, or its only entry. */
static int lint_layout(struct request *r, const char *text, const char *dir)
{
    ocv_auto(ocv_layout) layout = NULL;
    struct ocv_error err = {0};
    struct tags_of_layout *tags = calloc(1, sizeof(*tags));
    if (!tags)
        return OCV_ERR_NOMEM;
    tags->text = text;
    int status = ocv_layout_open(dir, OCV_LAYOUT_READ, &layout, &err);
    if (status == OCV_OK)
        status = ocv_layout_list(layout, on_tag, tags, &err);
    if (status < 0) {
        ocv_error_prefix(&err, "%s", text);
        status = remember_failure(r, text, &err);
    } else if (tags->n == 0) {
        status = lint_input(r, text, false);
    }
    for (size_t i = 0; i < tags->n; i++) {
        if (status == OCV_OK)
            status = lint_input(r, tags->names[i], false);
        free(tags->names[i]);
    }
    free(tags);
    return status;
}

static bool is_file(const char *text)
{
    struct stat st;
    size_t len = strlen(text);
    return !strcmp(text, "-") || text[0] == '/' || !strncmp(text, "./", 2) ||
           !strncmp(text, "../", 3) || (len > 5 && !strcmp(text + len - 5, ".json")) ||
           (stat(text, &st) == 0 && S_ISREG(st.st_mode));
}

static int lint_argument(struct request *r, const char *text)
{
    char *dir = NULL, *tag = NULL;
    int status;
    if (image_split_layout(text, &dir, &tag))
        status = tag ? lint_input(r, text, false) : lint_layout(r, text, dir ? dir : "");
    else
        status = lint_input(r, text, is_file(text));
    free(dir);
    free(tag);
    return status;
}

/* ---- output ---- */

static int write_report(struct request *r, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OUTPUT_MAX);
    bool to_file = r->output && !r->fix;
    int status = ocv_lint_format(&r->report, r->format, r->failures, r->n_failures, &out, err);
    if (status < 0 || !to_file || !strcmp(r->output, "-")) {
        bool index_there = r->fix && r->output && !strcmp(r->output, "-");
        if (status == OCV_OK && index_there) /* the corrected index has standard output */
            fwrite(out.data, 1, out.len, stderr);
        else if (status == OCV_OK)
            status = cli_print(out.data, out.len, err);
        return status;
    }
    FILE *file = fopen(r->output, "we");
    bool bad = !file || fwrite(out.data, 1, out.len, file) != out.len;
    bad = (file && fclose(file) != 0) || bad;
    return bad ? ocv_error_set(err, OCV_ERR_IO, "%s cannot be written", r->output) : OCV_OK;
}

static int run(struct request *r, char **arguments, struct ocv_error *err)
{
    int status = cli_load(r->cli, err);
    if (status == OCV_OK)
        status = r->settings ? read_settings(r, r->settings, err) : find_settings(r, err);
    if (status == OCV_OK)
        status = rules_load(r->cli, NULL, &r->rules, err);
    r->lint.tag_rules = r->rules;
    for (size_t i = 0; i < r->n_files && status == OCV_OK; i++)
        status = lint_input(r, r->files[i], true);
    for (size_t i = 0; arguments[i] && status == OCV_OK; i++)
        status = lint_argument(r, arguments[i]);
    return status == OCV_OK ? write_report(r, err) : status;
}

static int exit_code(const struct request *r)
{
    bool errors = r->report.counts[OCV_LINT_ERROR] > 0;
    bool warnings = r->report.counts[OCV_LINT_WARNING] > 0;
    if (r->exit_code)
        return r->exit_code;
    if (r->fail_on == OCV_LINT_OFF)
        return 0;
    return errors || (warnings && r->fail_on == OCV_LINT_WARNING)
               ? ocv_error_exit_code(OCV_ERR_CHECK)
               : 0;
}

static void free_request(struct request *r)
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
static bool take_option(struct request *r, int value)
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
    case OPTION_OUTPUT:
        r->output = optarg;
        break;
    case OPTION_FIX:
        r->fix = true;
        break;
    case OPTION_DRY_RUN:
        r->dry_run = true;
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

static int check_request(const struct request *r, int n, struct ocv_error *err)
{
    if (n == 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: give a REPO:TAG, oci:DIR[:TAG] or FILE");
    if (r->dry_run && !r->fix)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: --dry-run is for --fix");
    if (r->fix && r->output && n != 1)
        return ocv_error_set(err, OCV_ERR_INVALID, "lint: --fix --output is for one input");
    return OCV_OK;
}

int cmd_lint(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct request r = {.cli = cli, .fail_on = OCV_LINT_ERROR};
    int value, index = 0, code = -1;
    r.files = calloc((size_t)argc + 1, sizeof(*r.files));
    if (!r.files)
        return cli_fail(cli, (ocv_error_nomem(&err), &err));
    while (code < 0 && (value = getopt_long(argc, argv, ":v", options, &index)) != -1) {
        int taken = cli_option(cli, value, options, index, &err);
        if (taken < 0)
            code = cli_fail(cli, &err);
        else if (taken)
            continue;
        else if (value == CLI_OPTION_HELP || value == CLI_OPTION_VERSION)
            code = (value == CLI_OPTION_HELP ? print_help() : cli_print_version(cli), 0);
        else if (value == OPTION_RULES || value == OPTION_EXPLAIN)
            code = value == OPTION_RULES ? list_rules() : explain_rule(cli, optarg);
        else if (!take_option(&r, value))
            code = cli_bad_option(cli, argv, value);
    }
    int status = code < 0 ? check_request(&r, argc - optind + (int)r.n_files, &err) : OCV_OK;
    if (code < 0 && status == OCV_OK)
        status = run(&r, argv + optind, &err);
    if (code < 0)
        code = status < 0 ? (err.status ? cli_fail(cli, &err) : ocv_error_exit_code(status))
                          : exit_code(&r);
    free_request(&r);
    return code;
}
