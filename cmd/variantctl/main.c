/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verbs.h"

static const struct verb all[] = {
    {"probe", "what this machine, or a recorded one, can run", cmd_probe},
    {"resolve", "choose in an index, as JSON for programs", cmd_resolve},
    {"explain", "choose in an index, as a table for people", cmd_explain},
    {"index", "make, edit, show, compare and copy indexes with variants", cmd_index},
    {"lint", "check indexes, their images and tags", cmd_lint},
    {"tags", "read published tags by rule files: parse, plan, check", cmd_tags},
    {"lock", "record the digest that each machine gets of each image", cmd_lock},
    {"verify", "check that the images on this node still fit it", cmd_verify},
    {"setup", "have containerd, Docker, podman or CRI-O ask variantd", cmd_setup},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    const struct verbs verbs = {
        "Usage: variantctl VERB [OPTIONS]\n\n"
        "Choose the image that was built for this machine, and see why.\n\nVerbs:\n",
        all,
        "\nOptions:\n  --help, --version\n\nRun 'variantctl VERB --help' for a verb's options.\n"};
    struct cli cli;
    cli_init(&cli, "variantctl");
    return cli_quit(&cli, verbs_run(&cli, &verbs, argc, argv));
}
