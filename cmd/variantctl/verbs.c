/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verbs.h"

#include <string.h>

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* "-v lint" is "lint -v". */
static void verb_first(int argc, char **argv)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && !is_help(argv[at]) &&
           strcmp(argv[at], "--version") != 0)
        at += strcmp(argv[at], "--config") == 0 ? 2 : 1;
    if (at >= argc)
        return;
    char *verb = argv[at];
    memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
    argv[1] = verb;
}

static void print_help(FILE *out, const struct verbs *verbs)
{
    fputs(verbs->usage, out);
    for (const struct verb *v = verbs->list; v->name; v++)
        fprintf(out, "  %-10s %s\n", v->name, v->help);
    fputs(verbs->end, out);
}

static int unknown(const struct cli *cli, const char *verb)
{
    const char *space = *cli->verb ? " " : "";
    if (*verb == '-')
        fprintf(stderr, "variantctl: no verb is named, only '%s'\n", verb);
    else
        fprintf(stderr, "variantctl: unknown verb '%s%s%s'\n", cli->verb, space, verb);
    fprintf(stderr, "hint: variantctl %s%s--help\n", cli->verb, space);
    return 2;
}

int verbs_run(struct cli *cli, const struct verbs *verbs, int argc, char **argv)
{
    verb_first(argc, argv);
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (!verb || is_help(verb) || !strcmp(verb, "help")) {
        print_help(verb ? stdout : stderr, verbs);
        return verb ? 0 : 2;
    }
    if (!strcmp(verb, "--version")) {
        cli_print_version(cli);
        return 0;
    }
    for (const struct verb *v = verbs->list; v->name; v++)
        if (!strcmp(verb, v->name)) {
            size_t len = strlen(cli->verb);
            snprintf(cli->verb + len, sizeof(cli->verb) - len, "%s%s", len ? " " : "", verb);
            return v->run(cli, argc - 1, argv + 1);
        }
    return unknown(cli, verb);
}
