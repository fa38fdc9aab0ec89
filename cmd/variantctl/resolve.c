/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl resolve, variantctl explain: the same decision for programs and for users. */
#include "cmd/common/image/image.h"
#include "cmd/common/lazy/registry_load.h"
#include "cmd/common/names.h"
#include "cmd/variantctl/verbs.h"

#include "lib/base/cleanup.h"

#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX (64u * 1024 * 1024)

struct resolve_options {
    const char *index_file, *image;
    bool json;
};

static const struct ocv_option resolve_options[] = {
    CLI_INDEX(struct resolve_options, index_file),
    CLI_FORMAT(struct resolve_options, json, "what is printed (json)"), OCV_OPTIONS_END};

static const struct ocv_option explain_options[] = {
    CLI_INDEX(struct resolve_options, index_file),
    CLI_FORMAT(struct resolve_options, json, "what is printed (text)"), OCV_OPTIONS_END};

static const struct cli_command resolve_command = {
    .usage = "Usage: variantctl resolve [OPTIONS] IMAGE | oci:DIR[:TAG] | --index FILE\n"
             "\n"
             "Choose the variant for this machine, or for the one of --profile.\n"
             "Exit 0: chosen; 3: nothing fits; 4: malformed index or profile.\n",
    .options = resolve_options,
    .groups = CLI_RESOLVE | CLI_REGISTRY,
    .end = "\n"
           "Examples:\n"
           "  variantctl resolve registry.example/app:1.0\n"
           "  variantctl resolve --profile h100.json --require nvidia oci:images:app\n"
           "  variantctl resolve --index index.json --platform linux/arm64\n"};

static const struct cli_command explain_command = {
    .usage = "Usage: variantctl explain [OPTIONS] IMAGE | oci:DIR[:TAG] | --index FILE\n"
             "\n"
             "Choose the variant for this machine, or for the one of --profile.\n"
             "Exit 0: chosen; 3: nothing fits; 4: malformed index or profile.\n",
    .options = explain_options,
    .groups = CLI_RESOLVE | CLI_REGISTRY,
    .end = "\n"
           "Examples:\n"
           "  variantctl explain registry.example/app:1.0\n"
           "  variantctl explain --profile h100.json registry.example/app:1.0\n"
           "  variantctl explain --disable nvidia --index index.json\n"};

static int print_decision(const struct cli *cli, const struct image *image,
                          const struct resolve_options *request,
                          const struct ocv_decision *decision, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    OCV_TRY(request->json ? ocv_decision_format_json(decision, &text, err)
                          : explain_format(cli, image, decision, &text, err));
    return cli_print(text.data, text.len, err);
}

static int resolve_image(struct cli *cli, const struct resolve_options *request,
                         struct image *image, struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    int status = cli_load(cli, err);
    bool registry = !request->index_file && strncmp(request->image, "oci:", 4) != 0;
    if (status == OCV_OK && !request->index_file)
        cli_profile_begin(cli);
    if (status == OCV_OK && registry)
        (void)!registry_load(NULL); /* cli_registry tries again, and reports it */
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
    status = names_no_match(cli, image->text, image->reference, image->index, decision,
                            image_ruled_tag(image), err);
    if (!request->json && err && !strncmp(err->hint, "variantctl explain", 18))
        err->hint[0] = '\0'; /* the hint was followed already */
    return status;
}

static int resolve_or_explain(struct cli *cli, int argc, char **argv, bool json)
{
    struct ocv_error err = {0};
    struct resolve_options request = {.json = json};
    int code = cli_read(cli, json ? &resolve_command : &explain_command, &request, argc, argv);
    if (code >= 0)
        return code;
    request.image = *cli->arguments;
    if ((request.index_file != NULL) + cli->n_arguments != 1) {
        ocv_error_set(&err, OCV_ERR_INVALID, "%s: give one IMAGE, oci:DIR[:TAG] or --index FILE",
                      argv[0]);
        return cli_fail(cli, &err);
    }
    struct image image = {0};
    int status = resolve_image(cli, &request, &image, &err);
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
