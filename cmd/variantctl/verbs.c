/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verbs.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/options.h"
#include "lib/base/text.h"

#include <string.h>

#define DOCUMENT_MAX ((size_t)256 << 20)

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "--help-all");
}

/* Turn "-v lint" into "lint -v". */
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
        if (v->help)
            fprintf(out, "  %-11s %s\n", v->name, v->help);
    fputs(verbs->end, out);
}

/* Suggest the verb that was meant, or the command that does this. */
static int fail_unknown(const struct cli *cli, const struct verbs *verbs, const char *verb)
{
    const char *space = *cli->verb ? " " : "";
    struct ocv_nearest nearest = {.wanted = verb};
    if (*verb == '-') {
        fprintf(stderr, "variantctl: no verb given, only '%s'\n", verb);
    } else {
        fprintf(stderr, "variantctl: '%s%s%s' is not a variantctl verb.\n", cli->verb, space, verb);
        for (const struct verb_elsewhere *e = verbs->elsewhere; e && e->name; e++)
            if (!strcmp(e->name, verb)) {
                fprintf(stderr, "hint: %s\n", e->command);
                return 2;
            }
    }
    for (const struct verb *v = verbs->list; v->name && *verb != '-'; v++)
        if (v->help)
            ocv_nearest_offer(&nearest, v->name);
    const char *meant = ocv_nearest_meant(&nearest);
    if (meant)
        fprintf(stderr, "The most similar verb is: %s%s%s\n", cli->verb, space, meant);
    fprintf(stderr, "hint: variantctl %s%s--help\n", cli->verb, space);
    return 2;
}

static const struct verb *find_verb(const struct verbs *verbs, const char *name)
{
    for (const struct verb *v = verbs->list; v->name; v++)
        if (!strcmp(name, v->name))
            return v;
    return NULL;
}

/* "VERB... WORD" from a shell that completes WORD. */
static int complete_line(struct cli *cli, const struct verbs *verbs, int argc, char **argv)
{
    bool helping = false;
    verb_first(argc - 1, argv);
    for (int skip; argc > 2 && argv[1][0] == '-'; argc -= skip, argv += skip)
        skip = strcmp(argv[1], "--config") == 0 && argc > 3 ? 2 : 1;
    if (argc > 2 && !strcmp(argv[1], "help")) {
        argc--, argv++;
        helping = true;
    }
    const struct verb *v = argc > 2 ? find_verb(verbs, argv[1]) : NULL;
    if (v)
        return v->run(cli, argc - 1, argv + 1);
    if (argc != 2) {
        puts(":4"); /* no such verb */
        return 0;
    }
    struct ocv_completion c = {.out = stdout, .word = argv[1], .how = OCV_COMPLETE_NO_FILES};
    for (v = verbs->list; v->name; v++)
        if (v->help)
            ocv_complete_offer(&c, v->name, v->help);
    for (const struct verb_topic *t = helping ? verbs->topics : NULL; t && t->name; t++)
        ocv_complete_offer(&c, t->name, t->help);
    if (verbs->topics && !helping)
        ocv_complete_offer(&c, "help", "a verb's own options");
    if (*argv[1] == '-') {
        ocv_complete_offer(&c, "--help", NULL);
        ocv_complete_offer(&c, "--version", NULL);
    }
    ocv_complete_end(&c);
    return 0;
}

int format_document(json_t *root, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *document = root;
    OCV_TRY(document ? ocv_json_append(document, JSON_INDENT(2), out, err) : ocv_error_nomem(err));
    return ocv_buffer_append(out, "\n", 1, err);
}

int print_document(json_t *root, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, DOCUMENT_MAX);
    OCV_TRY(format_document(root, &out, err));
    return cli_print(out.data, out.len, err);
}

int verbs_run(struct cli *cli, const struct verbs *verbs, int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], OCV_COMPLETE_WORD)) {
        cli->completing = true;
        argc--, argv++;
    }
    if (cli->completing)
        return complete_line(cli, verbs, argc, argv);
    verb_first(argc, argv);
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (!verb || is_help(verb)) {
        print_help(verb ? stdout : stderr, verbs);
        return verb ? 0 : 2;
    }
    if (!strcmp(verb, "help")) {
        static char option[] = "--help";
        if (argc < 3) {
            print_help(stdout, verbs);
            return 0;
        }
        for (const struct verb_topic *t = verbs->topics; t && t->name; t++)
            if (!strcmp(argv[2], t->name)) {
                t->print();
                return 0;
            }
        /* "help VERB" means "VERB --help" */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
        argv[argc - 1] = option;
        return verbs_run(cli, verbs, argc, argv);
    }
    if (!strcmp(verb, "--version") || !strcmp(verb, "version")) {
        printf("%s %s\n", cli->program, ocv_version());
        return 0;
    }
    const struct verb *v = find_verb(verbs, verb);
    if (!v)
        return fail_unknown(cli, verbs, verb);
    size_t len = strlen(cli->verb);
    snprintf(cli->verb + len, sizeof(cli->verb) - len, "%s%s", len ? " " : "", verb);
    int code = v->run(cli, argc - 1, argv + 1);
    return code < 0 ? cli_fail(cli, &cli->err) : code;
}
