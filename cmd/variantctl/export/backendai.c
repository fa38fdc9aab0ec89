/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl export backendai: this machine's part of an agent's heartbeat. */
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"

#define ESSENCE_MAX (64u * 1024 * 1024)
#define PLUGIN "ocivariant" /* key of the compute plug-in: contrib/backendai */
#define SCHEMA "dev.ocivariant.profile/v1"

static const struct cli_command command = {
    .usage = "Usage: variantctl export backendai [OPTIONS]\n"
             "\n"
             "Write what this machine, or the one of --profile, supports, as our compute\n"
             "plug-in puts it into every heartbeat of a Backend.AI agent (compute_plugins).\n"
             "That is its profile, without names, times and serial numbers, and its class.\n",
    .groups = CLI_HOST,
    .end = "\n"
           "Examples:\n"
           "  variantctl export backendai\n"
           "  variantctl export backendai --profile h100.json\n"
           "  variantctl export backendai --devices nvidia=0\n"};

int cmd_export_backendai(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    ocv_auto_buffer out;
    ocv_buffer_init(&out, ESSENCE_MAX);
    char class[OCV_CLASS_MAX];
    int code = cli_read(cli, &command, NULL, argc, argv);
    if (code >= 0)
        return code;
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(cli_profile(cli, err));
    OCV_TRY(ocv_profile_class(cli->profile, class, err));
    OCV_TRY(ocv_buffer_printf(&out, err,
                              "{\"" PLUGIN "\":{\"version\":\"" OCV_VERSION
                              "\",\"schema\":\"" SCHEMA "\",\"class\":\"%s\",\"profile\":",
                              class));
    OCV_TRY(ocv_profile_essence(cli->profile, &out, err));
    OCV_TRY(ocv_buffer_printf(&out, err, "}}\n"));
    return cli_print(out.data, out.len, err);
}
