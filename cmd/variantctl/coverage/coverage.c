/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl coverage: which host of a fleet gets which variant, which get only the default,
 * and which variants nobody gets; or what another data directory changes of that (compare.c). */
#include "cmd/variantctl/coverage/coverage.h"

#include "cmd/variantctl/verbs.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_INDEX = 1, OPTION_FORMAT, OPTION_PROFILES, OPTION_BEFORE, OPTION_AFTER };

static const struct option options[] = {{"index", required_argument, NULL, OPTION_INDEX},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"profiles", required_argument, NULL, OPTION_PROFILES},
                                        {"before", required_argument, NULL, OPTION_BEFORE},
                                        {"after", required_argument, NULL, OPTION_AFTER},
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
    "5: a choice changes.\n"
    "\n"
    "Options:\n"
    "  --profiles DIR|FILE      profiles (*.json), or recorded machines (directories\n"
    "                           with sys or proc in them); again for more\n"
    "  --before DIR             compare the choices by this data directory ...\n"
    "  --after DIR              ... with those by this one (each: the installed one)\n"
    "  --index FILE             an index document, '-' for standard input\n"
    "  --format text|json       what is printed (text)\n" CLI_RESOLVE_HELP CLI_COMMON_HELP
        CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl coverage --profiles fleet registry.example/app:1.0\n"
    "  variantctl coverage --profiles fleet --index index.json\n"
    "  variantctl coverage --profiles fleet --after new oci:images:app\n";

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
    return status == OCV_OK ? cli_print(out.data, out.len, err) : status;
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
