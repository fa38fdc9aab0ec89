/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index VERB */
#include "verbs.h"

#include <string.h>

static const struct {
    const char *name, *help;
    int (*run)(struct cli *cli, int argc, char **argv);
} verbs[] = {
    {"create", "write an index over existing images", cmd_index_create},
    {"show", "what an index holds", cmd_index_show},
};

static void print_help(FILE *out)
{
    fputs("Usage: variantctl index VERB [OPTIONS]\n\nVerbs:\n", out);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
}

int cmd_index(struct cli *cli, int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (verb && (!strcmp(verb, "--help") || !strcmp(verb, "-h"))) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; verb && i < sizeof(verbs) / sizeof(*verbs); i++)
        if (!strcmp(verb, verbs[i].name))
            return verbs[i].run(cli, argc - 1, argv + 1);
    if (verb)
        fprintf(stderr, "variantctl: unknown verb 'index %s'\n", verb);
    print_help(stderr);
    return 2;
}
