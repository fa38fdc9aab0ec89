/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl coverage: which host of a fleet gets which variant, which hosts get only the default,
 * and which variants no host gets; or what another data directory would change (compare.c). */
#include "cmd/variantctl/coverage/coverage.h"

#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 400u

/* Name the first host in the error; the table has all of them. */
static int check_gate(const struct coverage *c, bool (*is_met)(const struct coverage_host *),
                      const char *what, struct ocv_error *err)
{
    char names[NAMES_SHOWN] = "";
    size_t n = coverage_count(c, is_met), all = coverage_count(c, NULL);
    for (size_t i = 0; i < c->n; i++) {
        size_t at = strlen(names);
        char name[COVERAGE_NAME_MAX];
        if (is_met(&c->hosts[i]))
            snprintf(names + at, sizeof(names) - at, "%s%s", at ? ", " : "",
                     coverage_name(&c->hosts[i], name));
    }
    return n ? ocv_error_set(err, OCV_ERR_CHECK, "%s on %zu of %zu machine%s: %s", what, n, all,
                             all == 1 ? "" : "s", names)
             : OCV_OK;
}

/* "nothing-fits,default-only" */
static int take_gates(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct coverage_request *r = given->into;
    (void)err;
    for (const char *text = given->value; *text;) {
        size_t n = strcspn(text, ",");
        bool nothing = n == 12 && !strncmp(text, "nothing-fits", n);
        bool only_default = n == 12 && !strncmp(text, "default-only", n);
        if (!nothing && !only_default)
            return OCV_OPTION_WRONG;
        r->fail_on_nothing = r->fail_on_nothing || nothing;
        r->fail_on_default = r->fail_on_default || only_default;
        text += n + (text[n] == ',');
    }
    return r->fail_on_nothing || r->fail_on_default ? OCV_OK : OCV_OPTION_WRONG;
}

static int take_profiles(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct coverage_request *r = given->into;
    if (r->n_profiles == COVERAGE_SOURCES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u --profiles", COVERAGE_SOURCES_MAX);
    r->profiles[r->n_profiles++] = given->value;
    return OCV_OK;
}

static const struct ocv_option options[] = {
    {.name = "profiles",
     .value = "DIR|FILE",
     .help = "profiles (*.json), recorded machines\n"
             "(directories with sys or proc in them), or a\n"
             "document of nodes, as 'match' takes it; again for\n"
             "more",
     OCV_OPTION_CALL(take_profiles)},
    {.name = "before",
     .value = "DIR",
     .help = "compare the choices with this data directory ...",
     OCV_OPTION_TEXT(struct coverage_request, before)},
    {.name = "after",
     .value = "DIR",
     .help = "... and with this one (each: the installed one)",
     OCV_OPTION_TEXT(struct coverage_request, after)},
    {.name = "fail-on",
     .value = "nothing-fits|default-only",
     .help = "exit 5 if that is true of a machine\n"
             "(both: with a comma between)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_CALL(take_gates)},
    {.name = "strict",
     .help = "a malformed profile is an error, not left out",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct coverage_request, strict)},
    {.name = "report",
     .value = "FILE",
     .help = "write a page for browsers: classes and images",
     OCV_OPTION_TEXT(struct coverage_request, report)},
    CLI_INDEX(struct coverage_request, index_file),
    CLI_FORMAT(struct coverage_request, json, "what is printed (text)"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl coverage --profiles FLEET [OPTIONS] IMAGE|oci:DIR[:TAG]\n"
             "       variantctl coverage --profiles FLEET --before DIR --after DIR IMAGE...\n"
             "\n"
             "Show which variant each machine of a fleet gets, or what another data directory\n"
             "(a release's, with its tag rules and providers) changes.\n",
    .details = "Exit 0: shown, nothing changes; 4: the index is malformed, or with --strict a\n"
               "profile; 5: a choice changes, or what --fail-on names.\n",
    .options = options,
    .groups = CLI_RESOLVE | CLI_REGISTRY,
    .arguments = CLI_ANY_ARGUMENTS,
    .end = "\n"
           "Examples:\n"
           "  variantctl coverage --profiles fleet registry.example/app:1.0\n"
           "  variantctl coverage --profiles fleet --report page.html oci:images:app\n"
           "  variantctl coverage --profiles fleet --after new oci:images:app\n"};

int cmd_coverage(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct coverage_request r = {.cli = cli};
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    if (cli->profile_file && r.n_profiles < COVERAGE_SOURCES_MAX)
        r.profiles[r.n_profiles++] = cli->profile_file;
    r.images = (const char *const *)cli->arguments;
    r.n_images = cli->n_arguments;
    bool compare = r.before || r.after;
    if (compare && (r.fail_on_nothing || r.fail_on_default))
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: --fail-on takes one image and no --before",
                             cli->verb);
    bool many = compare || (r.report && !r.index_file);
    if (compare && r.report)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: --report takes no --before", cli->verb);
    if (r.n_profiles == 0 ||
        (many ? r.index_file || r.n_images == 0 : (r.index_file != NULL) + r.n_images != 1)) {
        ocv_error_set(err, OCV_ERR_INVALID,
                      compare ? "%s: --before and --after compare images by name, with --profiles"
                              : "%s: give --profiles and one IMAGE, oci:DIR[:TAG] or --index",
                      cli->verb);
        if (r.n_profiles == 0)
            ocv_error_hint(err,
                           "--profiles takes a directory with what 'variantctl probe' prints on "
                           "each machine, as NAME.json");
        return OCV_ERR_INVALID;
    }
    if (compare)
        return coverage_compare(&r);

    ocv_auto_image image = {0};
    __attribute__((cleanup(coverage_free))) struct coverage c = {0};
    ocv_auto_buffer out;
    ocv_buffer_init(&out, COVERAGE_OUTPUT_MAX);
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(coverage_read_hosts(&r, &c, err));
    if (r.report) {
        OCV_TRY(coverage_report(&r, &c, err));
        if (r.n_images > 1) /* the table is of one */
            return OCV_OK;
    }
    OCV_TRY(image_open_either(cli, r.index_file, *r.images, &image, true, err));
    OCV_TRY(coverage_decide(cli, &image, &c, err));
    OCV_TRY(r.json ? coverage_format_json(&c, &out, err) : coverage_format(&c, &out, err));
    OCV_TRY(cli_print(out.data, out.len, err));
    if (r.fail_on_nothing)
        OCV_TRY(check_gate(&c, coverage_gets_nothing, "nothing fits", err));
    if (r.fail_on_default)
        OCV_TRY(check_gate(&c, coverage_gets_default, "only the default fits", err));
    return OCV_OK;
}
