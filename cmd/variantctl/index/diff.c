/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index diff OLD NEW: what changed, by label and platform. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"

#include <stdlib.h>
#include <string.h>

struct diff_options {
    bool json, exit_code;
};

static const struct ocv_option options[] = {
    {.name = "exit-code",
     .help = "exit with 5 when they differ",
     OCV_OPTION_FLAG(struct diff_options, exit_code)},
    CLI_FORMAT(struct diff_options, json, "what is printed (text)"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl index diff [OPTIONS] OLD NEW\n"
             "\n"
             "What changed from one index to another, by label and platform. OLD and NEW are\n"
             "images, oci:DIR[:TAG] or files.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"OLD and NEW", 2, 2, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl index diff registry.example/app:1.0 registry.example/app:1.1\n"
           "  variantctl index diff --json index.json registry.example/app:1.0\n"
           "  variantctl index diff --exit-code oci:images:app registry.example/app:1.0\n"};

static int open_any(struct cli *cli, const char *name, struct image *out, struct ocv_error *err)
{
    bool file = !strcmp(name, "-") || !strncmp(name, "/", 1) || !strncmp(name, "./", 2) ||
                !strncmp(name, "../", 3) ||
                (strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".json"));
    return file ? image_open_file(name, out, err) : image_open(cli, name, out, err);
}

int cmd_index_diff(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct diff_options r = {0};
    ocv_auto_image before = {0};
    ocv_auto_image after = {0};
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(open_any(cli, cli->arguments[0], &before, err));
    OCV_TRY(open_any(cli, cli->arguments[1], &after, err));
    bool differ = strcmp(before.top.digest, after.top.digest) != 0;
    const struct changes_side old = {before.index, &before.body, before.top.digest},
                              new = {after.index, &after.body, after.top.digest};
    ocv_auto_json *root = changes_between(&old, &new);
    if (r.json || !root) {
        OCV_TRY(print_document(ocv_steal(&root), err));
    } else {
        changes_print(root, stdout);
        OCV_TRY(cli_print("", 0, err));
    }
    return r.exit_code && differ ? ocv_error_exit_code(OCV_ERR_CHECK) : 0;
}
