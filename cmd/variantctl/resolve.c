/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl resolve, variantctl explain: the same decision for programs and for people. */
#include "cmd/common/explain.h"
#include "cmd/common/image.h"
#include "cmd/common/lazy/registry_load.h"
#include "cmd/common/names.h"
#include "cmd/variantctl/verbs.h"

#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX (64u * 1024 * 1024)

enum { OPTION_INDEX = 1, OPTION_FORMAT };

static const struct option options[] = {{"index", required_argument, NULL, OPTION_INDEX},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        CLI_RESOLVE_OPTIONS,
                                        CLI_REGISTRY_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char resolve_help[] =
    "Usage: variantctl resolve [OPTIONS] IMAGE | oci:DIR[:TAG] | --index FILE\n"
    "\n"
    "Choose the variant for this machine, or for the one of --profile.\n"
    "Exit 0: chosen; 3: nothing fits; 4: malformed index or profile.\n"
    "\n"
    "Options:\n"
    "  --index FILE             an index document, '-' for standard input\n"
    "  --format text|json       what is printed (json)\n" CLI_RESOLVE_HELP CLI_COMMON_HELP
        CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl resolve registry.example/app:1.0\n"
    "  variantctl resolve --profile h100.json --require nvidia oci:images:app\n"
    "  variantctl resolve --index index.json --platform linux/arm64\n";

static const char explain_help[] =
    "Usage: variantctl explain [OPTIONS] IMAGE | oci:DIR[:TAG] | --index FILE\n"
    "\n"
    "Choose the variant for this machine, or for the one of --profile.\n"
    "Exit 0: chosen; 3: nothing fits; 4: malformed index or profile.\n"
    "\n"
    "Options:\n"
    "  --index FILE             an index document, '-' for standard input\n"
    "  --format text|json       what is printed (text)\n" CLI_RESOLVE_HELP CLI_COMMON_HELP
        CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl explain registry.example/app:1.0\n"
    "  variantctl explain --profile h100.json registry.example/app:1.0\n"
    "  variantctl explain --disable nvidia --index index.json\n";

struct request {
    const char *index_file, *image;
    bool json;
};

static int print_decision(const struct cli *cli, const struct image *image,
                          const struct request *request, const struct ocv_decision *decision,
                          struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int status = request->json ? ocv_decision_format_json(decision, &text, err)
                               : explain_format(cli, image, decision, &text, err);
    return status < 0 ? status : cli_print(text.data, text.len, err);
}

static int run(struct cli *cli, const struct request *request, struct image *image,
               struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    int status = cli_load(cli, err);
    bool registry = !request->index_file && strncmp(request->image, "oci:", 4) != 0;
    if (status == OCV_OK && registry)
        (void)!registry_load(!cli->probe, NULL); /* cli_registry tries again, and reports it */
    if (status == OCV_OK && !request->index_file)
        cli_profile_begin(cli);
    if (status == OCV_OK)
        status = image_open_either(cli, request->index_file, request->image, image, true, err);
    if (status == OCV_OK)
        status = image_resolve(cli, image, &decision, err);
    if (status == OCV_OK)
        status = print_decision(cli, image, request, decision, err);
    if (status < 0)
        return status;
    const char *const *warnings;
    size_t n = request->json ? 0 : ocv_index_warnings(image->index, &warnings);
    for (size_t i = 0; i < n; i++)
        cli_warn(cli, "%s", warnings[i]);
    if (ocv_decision_selected(decision))
        return OCV_OK;
    status = names_no_match(cli, image->text, image->reference, image->index, decision, err);
    if (!request->json && err && !strncmp(err->hint, "variantctl explain", 18))
        err->hint[0] = '\0'; /* that was done */
    return status;
}

static int resolve_or_explain(struct cli *cli, int argc, char **argv, bool json)
{
    struct ocv_error err = {0};
    struct request request = {.json = json};
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, json ? resolve_help : explain_help, &value,
                           &code)) {
        if (value == OPTION_INDEX)
            request.index_file = optarg;
        else if (value != OPTION_FORMAT || !cli_format(optarg, &request.json))
            return cli_bad_option(cli, argv, value);
    }
    if (code >= 0)
        return code;
    request.image = argv[optind];
    if ((request.index_file != NULL) + (argc - optind) != 1) {
        ocv_error_set(&err, OCV_ERR_INVALID, "%s: give one IMAGE, oci:DIR[:TAG] or --index FILE",
                      argv[0]);
        return cli_fail(cli, &err);
    }
    struct image image = {0};
    int status = run(cli, &request, &image, &err);
    if (CLI_GIVES_BACK)
        image_close(&image);
    return status < 0 ? cli_fail(cli, &err) : 0;
}

int cmd_resolve(struct cli *cli, int argc, char **argv)
{
    return resolve_or_explain(cli, argc, argv, true);
}

int cmd_explain(struct cli *cli, int argc, char **argv)
{
    return resolve_or_explain(cli, argc, argv, false);
}
