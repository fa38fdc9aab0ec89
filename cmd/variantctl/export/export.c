/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl export VERB: what a machine supports, in the formats of schedulers. */
#include "cmd/variantctl/verbs.h"

#include <string.h>

static const struct verb all[] = {
    {"backendai", "a node as the heartbeat of a Backend.AI agent describes it",
     cmd_export_backendai},
    {"nfd", "class and properties of a node, for node-feature-discovery", cmd_export_nfd},
    {"slurm", "features of a node, for slurm.conf, slurmd and scontrol", cmd_export_slurm},
    {NULL, NULL, NULL},
};

int cmd_export(struct cli *cli, int argc, char **argv)
{
    const struct verbs verbs = {
        .usage = "Usage: variantctl export VERB [OPTIONS]\n\nVerbs:\n",
        .list = all,
        .end = "\nExamples:\n"
               "  variantctl export nfd\n"
               "  variantctl export slurm --profiles fleet --scontrol\n"
               "  variantctl export backendai\n",
    };
    return verbs_run(cli, &verbs, argc, argv);
}
