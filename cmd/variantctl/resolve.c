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
    const char *index_file;
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
    .arguments = {"one IMAGE, oci:DIR[:TAG] or --index FILE", 1, 1,
                  CLI_INSTEAD(struct resolve_options, index_file), NULL},
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
    .arguments = {"one IMAGE, oci:DIR[:TAG] or --index FILE", 1, 1,
                  CLI_INSTEAD(struct resolve_options, index_file), NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl explain registry.example/app:1.0\n"
           "  variantctl explain --profile h100.json registry.example/app:1.0\n"
           "  variantctl explain --disable nvidia --index index.json\n"};

int cmd_resolve(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    bool json = strcmp(argv[0], "resolve") == 0;
    struct resolve_options r = {.json = json};
    ocv_auto_image image = {0};
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int code = cli_read(cli, json ? &resolve_command : &explain_command, &r, argc, argv);
    if (code >= 0)
        return code;
    const char *name = *cli->arguments;
    OCV_TRY(cli_load(cli, err));
    if (!r.index_file)
        cli_profile_begin(cli);
    if (!r.index_file && strncmp(name, "oci:", 4) != 0)
        (void)!registry_load(NULL); /* cli_registry tries again, and reports it */
    OCV_TRY(image_open_either(cli, r.index_file, name, &image, true, err));
    OCV_TRY(image_resolve(cli, &image, &decision, err));
    OCV_TRY(r.json ? ocv_decision_format_json(decision, &text, err)
                   : explain_format(cli, &image, decision, &text, err));
    OCV_TRY(cli_print(text.data, text.len, err));
    const char *const *warnings;
    size_t n = r.json ? 0 : ocv_index_warnings(image.index, &warnings);
    for (size_t i = 0; i < n; i++)
        cli_warn(cli, "%s", warnings[i]);
    if (ocv_decision_selected(decision))
        return OCV_OK;
    int status = names_no_match(cli, image.text, image.reference, image.index, decision,
                                image_ruled_tag(&image), err);
    if (!r.json && !strncmp(err->hint, "variantctl explain", 18))
        err->hint[0] = '\0'; /* the hint was followed already */
    return status;
}
