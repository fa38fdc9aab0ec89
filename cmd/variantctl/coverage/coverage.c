/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl coverage: which host of a fleet gets which variant, which get only the default,
 * and which variants nobody gets; or what another data directory changes of that (compare.c). */
#include "cmd/variantctl/coverage/coverage.h"

#include "cmd/variantctl/verbs.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTION_INDEX = 1,
    OPTION_FORMAT,
    OPTION_PROFILES,
    OPTION_BEFORE,
    OPTION_AFTER,
    OPTION_FAIL_ON
};

static const struct option options[] = {{"index", required_argument, NULL, OPTION_INDEX},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"profiles", required_argument, NULL, OPTION_PROFILES},
                                        {"before", required_argument, NULL, OPTION_BEFORE},
                                        {"after", required_argument, NULL, OPTION_AFTER},
                                        {"fail-on", required_argument, NULL, OPTION_FAIL_ON},
                                        CLI_RESOLVE_OPTIONS,
                                        CLI_REGISTRY_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl coverage --profiles FLEET [OPTIONS] IMAGE|oci:DIR[:TAG]\n"
    "       variantctl coverage --profiles FLEET --before DIR --after DIR IMAGE...\n"
    "\n"
    "Resolve an index for every machine of a fleet and show who gets what, or what\n"
    "another data directory (a release's, with its tag rules and providers) changes.\n"
    "Exit 0: shown, nothing changes; 4: a profile or the index cannot be read;\n"
    "5: a choice changes, or what --fail-on names.\n"
    "\n"
    "Options:\n"
    "  --profiles DIR|FILE      profiles (*.json), or recorded machines (directories\n"
    "                           with sys or proc in them); again for more\n"
    "  --before DIR             compare the choices by this data directory ...\n"
    "  --after DIR              ... with those by this one (each: the installed one)\n"
    "  --fail-on nothing-fits|default-only   exit 5 if a machine gets nothing,\n"
    "                           or only the default entry; both: with a comma\n"
    "  --index FILE             an index document, '-' for standard input\n"
    "  --format text|json       what is printed (text)\n" CLI_RESOLVE_HELP CLI_COMMON_HELP
        CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl coverage --profiles fleet registry.example/app:1.0\n"
    "  variantctl coverage --profiles fleet --index index.json\n"
    "  variantctl coverage --profiles fleet --after new oci:images:app\n";

#define NAMES_SHOWN 400u

/* The table has all names. */
static int gate(const struct coverage *c, bool (*is_met)(const struct coverage_host *),
                const char *what, struct ocv_error *err)
{
    char names[NAMES_SHOWN] = "";
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t at = strlen(names);
        if (is_met(&c->hosts[i]))
            snprintf(names + at, sizeof(names) - at, "%s%s", n++ ? ", " : "", c->hosts[i].name);
    }
    return n ? ocv_error_set(err, OCV_ERR_CHECK, "%s on %zu of %zu machine%s: %s", what, n, c->n,
                             c->n == 1 ? "" : "s", names)
             : OCV_OK;
}

/* "nothing-fits,default-only" */
static bool take_gates(struct coverage_request *r, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, ",");
        bool nothing = n == 12 && !strncmp(text, "nothing-fits", n);
        bool only_default = n == 12 && !strncmp(text, "default-only", n);
        if (!nothing && !only_default)
            return false;
        r->fail_on_nothing = r->fail_on_nothing || nothing;
        r->fail_on_default = r->fail_on_default || only_default;
        text += n + (text[n] == ',');
    }
    return r->fail_on_nothing || r->fail_on_default;
}

static int run(const struct coverage_request *r, struct image *image, struct coverage *c,
               struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, COVERAGE_OUTPUT_MAX);
    int status = cli_load(r->cli, err);
    if (status == OCV_OK)
        status = coverage_read_hosts(r->cli, r->profiles, r->n_profiles, c, err);
    if (status == OCV_OK)
        status = image_open_either(r->cli, r->index_file, *r->images, image, true, err);
    if (status == OCV_OK)
        status = coverage_decide(r->cli, image, c, err);
    if (status == OCV_OK)
        status = r->json ? coverage_format_json(c, &out, err) : coverage_format(c, &out, err);
    if (status == OCV_OK)
        status = cli_print(out.data, out.len, err);
    if (status == OCV_OK && r->fail_on_nothing)
        status = gate(c, coverage_gets_nothing, "nothing fits", err);
    if (status == OCV_OK && r->fail_on_default)
        status = gate(c, coverage_gets_default, "only the default entry fits", err);
    return status;
}

static int show(const struct coverage_request *r)
{
    struct ocv_error err = {0};
    struct image image = {0};
    struct coverage coverage = {0};
    int status = run(r, &image, &coverage, &err);
    coverage_free(&coverage);
    image_close(&image);
    return status < 0 ? cli_fail(r->cli, &err) : 0;
}

int cmd_coverage(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct coverage_request r = {.cli = cli};
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        if (value == OPTION_INDEX)
            r.index_file = optarg;
        else if (value == OPTION_PROFILES && optarg && r.n_profiles < COVERAGE_SOURCES_MAX)
            r.profiles[r.n_profiles++] = optarg;
        else if (value == OPTION_BEFORE)
            r.before = optarg;
        else if (value == OPTION_AFTER)
            r.after = optarg;
        else if (value == OPTION_FAIL_ON && take_gates(&r, optarg))
            continue;
        else if (value != OPTION_FORMAT || !cli_format(optarg, &r.json))
            return cli_bad_option(cli, argv, value);
    }
    if (code >= 0)
        return code;
    if (cli->profile_file && r.n_profiles < COVERAGE_SOURCES_MAX)
        r.profiles[r.n_profiles++] = cli->profile_file;
    r.images = (const char *const *)argv + optind;
    r.n_images = (size_t)(argc - optind);
    bool compare = r.before || r.after;
    if (compare && (r.fail_on_nothing || r.fail_on_default)) {
        ocv_error_set(&err, OCV_ERR_INVALID, "%s: --fail-on is for one image, without --before",
                      cli->verb);
        return cli_fail(cli, &err);
    }
    if (r.n_profiles == 0 ||
        (compare ? r.index_file || r.n_images == 0 : (r.index_file != NULL) + r.n_images != 1)) {
        ocv_error_set(&err, OCV_ERR_INVALID,
                      compare ? "%s: --before and --after compare images by name, with --profiles"
                              : "%s: give --profiles and one IMAGE, oci:DIR[:TAG] or --index",
                      cli->verb);
        return cli_fail(cli, &err);
    }
    return compare ? coverage_compare(&r) : show(&r);
}
