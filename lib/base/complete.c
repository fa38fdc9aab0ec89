/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/options.h"

#include <ctype.h>
#include <string.h>

#define KIND_MAX 96
#define WORDS "abcdefghijklmnopqrstuvwxyz0123456789-"

void ocv_complete_offer(struct ocv_completion *c, const char *text, const char *about)
{
    const char *end = text; /* of what a shell neither splits nor runs */
    while (isalnum((unsigned char)*end) || (*end && strchr("-_./:@%+=,", *end)))
        end++;
    if (strncmp(text, c->word, strlen(c->word)) != 0 || !*text || *end)
        return;
    fputs(text, c->out);
    if (about && *about)
        fprintf(c->out, "\t%.*s", (int)strcspn(about, "\n"), about);
    fputc('\n', c->out);
}

void ocv_complete_words(struct ocv_completion *c, const char *words)
{
    char word[KIND_MAX];
    for (; *words; words += strcspn(words, "|"), words += *words == '|') {
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, "|"), words);
        ocv_complete_offer(c, word, NULL);
    }
}

void ocv_complete_end(const struct ocv_completion *c)
{
    fprintf(c->out, ":%u\n", c->how);
}

/* "text|json", "FILE|DIR"; a value that the command completes as a whole goes first:
 * "NS=all|any|first". */
static void offer_kind(struct ocv_completion *c, const char *kind)
{
    char one[KIND_MAX];
    if (c->kind && c->kind(c, kind))
        return;
    for (; *kind; kind += strcspn(kind, "|"), kind += *kind == '|') {
        snprintf(one, sizeof(one), "%.*s", (int)strcspn(kind, "|"), kind);
        if (!strncmp(one, "FILE", 4) || !strncmp(one, "PATH", 4))
            c->how &= ~(unsigned)(OCV_COMPLETE_NO_FILES | OCV_COMPLETE_DIRECTORIES);
        else if (!strncmp(one, "DIR", 3) && c->how & OCV_COMPLETE_NO_FILES)
            c->how = (c->how & ~(unsigned)OCV_COMPLETE_NO_FILES) | OCV_COMPLETE_DIRECTORIES;
        else if (islower((unsigned char)*one) && one[strspn(one, WORDS)] == '\0')
            ocv_complete_offer(c, one, NULL);
        else if (c->kind)
            c->kind(c, one);
    }
}

static const struct ocv_option *find_long(const struct ocv_options *options, const char *name)
{
    size_t len = strcspn(name, "=");
    for (size_t i = 0; i < options->n; i++)
        if (strlen(options->list[i].row->name) == len &&
            !strncmp(options->list[i].row->name, name, len))
            return options->list[i].row;
    return NULL;
}

static bool takes_next(const struct ocv_option *row)
{
    return row && row->value && !(row->flags & OCV_OPTION_OPTIONAL);
}

/* The option whose value is the next word, or NULL: for "-qn" that is -n. */
static const struct ocv_option *wants_next(const struct ocv_options *options, const char *word)
{
    const struct ocv_option *row = NULL;
    if (!strncmp(word, "--", 2)) {
        row = strchr(word, '=') ? NULL : find_long(options, word + 2);
        return takes_next(row) ? row : NULL;
    }
    for (const char *letter = word + 1; *letter; letter++)
        for (size_t i = 0; i < options->n; i++)
            if (options->list[i].row->letter == *letter && takes_next(options->list[i].row))
                return letter[1] ? NULL : options->list[i].row;
    return NULL;
}

/* The next word of the first line, "" at its end. */
static const char *next_token(const char *at, char out[KIND_MAX])
{
    at += strspn(at, " ");
    size_t n = strcspn(at, " \n");
    snprintf(out, KIND_MAX, "%.*s", (int)n, at);
    return at + n;
}

/* Offer what the usage line has for this argument. Words before the first argument are the
 * command's name; "A | B" is one argument; the value of an option is not counted. */
static void offer_argument(struct ocv_completion *c, size_t wanted)
{
    char token[KIND_MAX];
    size_t n = 0; /* arguments so far */
    bool or = false, again = false, begun = false;
    const char *at = c->usage + strlen("Usage:");
    for (at = next_token(at, token); *token; at = next_token(at, token)) {
        bool bar = strchr(token, '|') != NULL;
        if (!strcmp(token, "|")) {
            or = true;
            continue;
        }
        if (token[0] == '-' && token[1])
            at = next_token(at, token);
        else if (strcmp(token, "[OPTIONS]") != 0 &&
                 (begun || or || bar || !islower((unsigned char)token[0]))) {
            n += ! or || !n;
            begun = true;
            /* "[LABEL=PROPERTY[,...]]...": it may be left out or given again */
            size_t len = strlen(token);
            bool dots = len > 3 && !strcmp(token + len - 3, "...");
            again = dots || (or &&again);
            if (dots)
                token[len - 3] = '\0';
            if (n == wanted + 1)
                offer_kind(c, token + strspn(token, "["));
        }
        or = false;
    }
    if (again && n && wanted >= n)
        offer_argument(c, n - 1);
}

/* Is the option in the help: by itself, or as another name of one ("--cacert, --cert FILE")? */
static bool is_told(const struct ocv_options *options, const struct ocv_option *row)
{
    char name[KIND_MAX];
    size_t len = (size_t)snprintf(name, sizeof(name), "--%s", row->name);
    for (size_t i = 0; i < options->n && !row->help; i++) {
        const char *names = options->list[i].row->names;
        const char *at = names && options->list[i].row->help ? strstr(names, name) : NULL;
        if (at && !islower((unsigned char)at[len]) && at[len] != '-')
            return true;
    }
    return row->help != NULL;
}

void ocv_complete(struct ocv_completion *c, int argc, char **argv)
{
    const struct ocv_option *row = NULL; /* the option whose value is being typed */
    size_t argument = 0;                 /* else: which argument */
    bool options_over = false;           /* "--" */
    c->word = argc > 1 ? argv[argc - 1] : "";
    c->before = argv + 1;
    c->n_before = argc > 2 ? (size_t)argc - 2 : 0;
    c->how = OCV_COMPLETE_NO_FILES;
    for (size_t i = 0; i < c->n_before; i++) {
        const char *word = c->before[i];
        if (row)
            row = NULL;
        else if (options_over || word[0] != '-' || !word[1])
            argument++;
        else if (!strcmp(word, "--"))
            options_over = true;
        else
            row = wants_next(c->options, word);
    }
    const char *equals = strchr(c->word, '=');
    if (!row && !options_over && !strncmp(c->word, "--", 2) && equals) {
        row = find_long(c->options, c->word + 2);
        c->word = equals + 1;
        if (row && row->value)
            offer_kind(c, row->value);
    } else if (row) {
        offer_kind(c, row->value);
    } else if (!options_over && c->word[0] == '-') {
        char name[KIND_MAX];
        for (size_t i = 0; i < c->options->n; i++) {
            const struct ocv_option *offered = c->options->list[i].row;
            const char *help = offered->help;
            snprintf(name, sizeof(name), "--%s", offered->name);
            if (!(offered->flags & OCV_OPTION_HIDDEN) && is_told(c->options, offered))
                ocv_complete_offer(c, name, help && *help != '\n' ? help : NULL);
        }
    } else {
        offer_argument(c, argument);
    }
    ocv_complete_end(c);
}
