/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "verbs.h"

#include <string.h>

static const struct {
    const char *name, *help;
    int (*run)(struct cli *cli, int argc, char **argv);
} verbs[] = {
    {"probe", "what this machine, or a recorded one, can run", cmd_probe},
    {"resolve", "choose in an index, as JSON for programs", cmd_resolve},
    {"explain", "choose in an index, as a table for people", cmd_explain},
    {"index", "make, edit, show, compare and copy indexes with variants", cmd_index},
    {"lint", "check indexes, their images and tags", cmd_lint},
    {"tags", "parse, plan, check: what published tags say, by rule files", cmd_tags},
    {"lock", "fix by digests what each machine gets of each image", cmd_lock},
    {"verify", "does what is on this node still fit it?", cmd_verify},
    {"setup", "have containerd, Docker, podman or CRI-O ask variantd", cmd_setup},
};

static void print_help(FILE *out)
{
    fputs("Usage: variantctl VERB [OPTIONS]\n\n"
          "Choose the image that was built for this machine, and see why.\n\nVerbs:\n",
          out);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
    fputs("\nOptions:\n  --help, --version\n\n'variantctl VERB --help' tells those of a verb.\n",
          out);
}

void verb_first(int argc, char **argv)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "--help") != 0 &&
           strcmp(argv[at], "-h") != 0 && strcmp(argv[at], "--version") != 0)
        at += strcmp(argv[at], "--config") == 0 ? 2 : 1;
    if (at >= argc)
        return;
    char *verb = argv[at];
    memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
    argv[1] = verb;
}

int main(int argc, char **argv)
{
    struct cli cli;
    cli_init(&cli, "variantctl");
    verb_first(argc, argv);
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (!verb) {
        print_help(stderr);
        return 2;
    }
    if (!strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help")) {
        print_help(stdout);
        return cli_quit(&cli, 0);
    }
    if (!strcmp(verb, "--version")) {
        cli_print_version(&cli);
        return cli_quit(&cli, 0);
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        if (strcmp(verb, verbs[i].name) != 0)
            continue;
        snprintf(cli.verb, sizeof(cli.verb), "%s", verb);
        return cli_quit(&cli, verbs[i].run(&cli, argc - 1, argv + 1));
    }
    fprintf(stderr,
            *verb == '-' ? "variantctl: no verb is named, only '%s'\n"
                         : "variantctl: unknown verb '%s'\n",
            verb);
    fputs("hint: variantctl --help\n", stderr);
    return 2;
}
