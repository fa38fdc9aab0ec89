/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl fleet VERB: makes the files that `match` reads. */
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "lib/base/cleanup.h"

#include <string.h>

static const struct verb all[] = {
    {"pack", "write a fleet so that it loads fast: classes once, then nodes", cmd_fleet_pack},
    {"generate", "write a fleet for tests, varied from a few profiles", cmd_fleet_generate},
    {NULL, NULL, NULL},
};

int cmd_fleet(struct cli *cli, int argc, char **argv)
{
    const struct verbs verbs = {
        .usage = "Usage: variantctl fleet VERB [OPTIONS]\n\nVerbs:\n",
        .list = all,
        .end = "\nExamples:\n"
               "  variantctl fleet pack fleet >fleet.packed\n"
               "  variantctl fleet pack --strict fleet >fleet.packed\n"
               "  variantctl fleet generate --seed 7 --nodes 1000 h100.json >fleet.jsonl\n",
    };
    return verbs_run(cli, &verbs, argc, argv);
}

struct fleet_options {
    struct cli *cli;
    bool strict;
};

static const struct ocv_option options[] = {
    {.name = "strict",
     .help = "a malformed profile is an error, not left out",
     OCV_OPTION_FLAG(struct fleet_options, strict)},
    {.name = "override",
     .value = "NS::F=V,V",
     .help = "act as if every node had exactly these values",
     OCV_OPTION_MEMBER(cli_take_setting_of, struct fleet_options, cli)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl fleet pack [OPTIONS] FLEET...\n"
             "\n"
             "Write profiles as one file that loads fast: each class of equal nodes once,\n"
             "then the nodes by name. FLEET: a directory of profiles (*.json), JSON Lines,\n"
             "what `kubectl get nodes -o json` prints, a packed fleet, \"-\" for one of these on\n"
             "standard input. Exit 4: a duplicate name, or with --strict a malformed profile.\n",
    .options = options,
    .arguments = {"a FLEET", 1, CLI_MANY, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl fleet pack fleet >fleet.packed\n"
           "  variantctl fleet pack fleet h100.json >fleet.packed\n"
           "  variantctl fleet generate --seed 7 h100.json | variantctl fleet pack - >packed\n"};

int cmd_fleet_pack(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct fleet_options r = {.cli = cli};
    ocv_auto(ocv_fleet) fleet = NULL;
    ocv_auto_buffer out;
    size_t skipped;
    ocv_buffer_init(&out, OCV_FLEET_MAX);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(ocv_fleet_new(&fleet, err));
    for (char **path = cli->arguments; *path; path++)
        OCV_TRY(fleet_read(cli, *path, r.strict, fleet, &skipped, err));
    OCV_TRY(ocv_fleet_pack(fleet, &out, err));
    return cli_print(out.data, out.len, err);
}
