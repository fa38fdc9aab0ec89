/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/options.h"

#include "lib/base/nearest.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 64
#define VALUE_MAX 96
#define SHOWN 100 /* characters of what was typed */

bool ocv_option_swallows(char *const *argv)
{
    return optarg && optarg == argv[optind - 1] && optarg[0] == '-' && optarg[1];
}

/* The argument with the option in it. */
static const char *typed(char *const *argv)
{
    bool apart = optarg && optind > 1 && optarg == argv[optind - 1];
    const char *text = argv[optind - (apart ? 2 : 1)];
    return text ? text : "";
}

bool ocv_option_shortened(char *const *argv, const char *name)
{
    const char *text = typed(argv);
    return !strncmp(text, "--", 2) && strcspn(text + 2, "=") < strlen(name);
}

/* ---- what the help says ---- */

/* Does `at` stand where options are named: on an indented line, before the prose that begins behind
 * two spaces? */
static bool in_names(const char *help, const char *at)
{
    const char *line = at;
    while (line > help && line[-1] != '\n')
        line--;
    if (strncmp(line, "  -", 3) != 0)
        return false;
    for (line += 2; line < at; line++)
        if (line[0] == ' ' && line[1] == ' ')
            return false;
    return at[-1] == ' ';
}

/* What stands behind the option in its line of the help: "HOST[:PORT]". */
static bool value_in(const char *help, const char *name, char out[VALUE_MAX])
{
    for (const char *at = help; at && (at = strstr(at, name)) != NULL; at++) {
        const char *end = at + strlen(name);
        while (!strncmp(end, ", --", 4))
            end += 4 + strspn(end + 4, "abcdefghijklmnopqrstuvwxyz-");
        size_t len = *end == ' ' ? strcspn(end + 1, " \n") : 0;
        if (len == 0 || len >= VALUE_MAX || !in_names(help, at))
            continue;
        memcpy(out, end + 1, len);
        out[len - (end[len] == ',')] = '\0';
        return true;
    }
    return false;
}

static const char *value_name(const struct ocv_options *options, const char *name,
                              char out[VALUE_MAX])
{
    if (!value_in(options->help, name, out) && !value_in(options->more, name, out))
        snprintf(out, VALUE_MAX, "a value");
    return out;
}

/* ---- what is said ---- */

static void similar(const struct ocv_nearest *nearest, const char *what, const char *dashes,
                    char out[OCV_OPTION_TEXT_MAX])
{
    size_t len = strlen(out);
    const char *meant = ocv_nearest_meant(nearest);
    if (meant)
        snprintf(out + len, OCV_OPTION_TEXT_MAX - len, "\nThe most similar %s is: %s%s", what,
                 dashes, meant);
}

static void unknown(const struct option *list, const char *text, char out[OCV_OPTION_TEXT_MAX])
{
    char name[NAME_MAX_LEN] = "";
    int len = (int)strcspn(text, "="); /* behind it may be a secret */
    snprintf(out, OCV_OPTION_TEXT_MAX, "unknown option '%.*s'", len < SHOWN ? len : SHOWN, text);
    if (!strncmp(text, "--", 2))
        snprintf(name, sizeof(name), "%.*s", len - 2, text + 2);
    struct ocv_nearest nearest = {.wanted = name};
    for (; list->name; list++)
        ocv_nearest_offer(&nearest, list->name);
    similar(&nearest, "option", "--", out);
}

/* "text|json" as a list of words; false where the value is of another kind. */
static void wrong_value(const char *name, const char *values, char out[OCV_OPTION_TEXT_MAX])
{
    char words[VALUE_MAX];
    char *save = NULL;
    struct ocv_nearest nearest = {.wanted = optarg ? optarg : ""};
    snprintf(words, sizeof(words), "%s", values);
    bool list = strchr(values, '|') &&
                strspn(values, "abcdefghijklmnopqrstuvwxyz0123456789|-") == strlen(values);
    snprintf(out, OCV_OPTION_TEXT_MAX, "%s: invalid value '%.*s': expected %s", name, SHOWN,
             nearest.wanted, values);
    for (char *w = list ? strtok_r(words, "|", &save) : NULL; w; w = strtok_r(NULL, "|", &save))
        ocv_nearest_offer(&nearest, w);
    similar(&nearest, "value", "", out);
}

/* '?' with optopt set: an unknown letter, or a long option's value that was given a value it does
 * not take ("--quiet=1"). Letters that are known somewhere can be either. */
static bool value_unwanted(const char *text)
{
    bool letter = optopt >= 0x20 && optopt <= 0x7e;
    return optopt && (!letter || (strchr("hqv", optopt) && !strncmp(text, "--", 2)));
}

const char *ocv_option_wrong(const struct ocv_options *options, char *const *argv, int value,
                             char out[OCV_OPTION_TEXT_MAX])
{
    char name[NAME_MAX_LEN], values[VALUE_MAX];
    const char *text = value == ':' ? argv[optind - 1] : typed(argv);
    bool is_long = text && !strncmp(text, "--", 2);
    text = text ? text : "";
    snprintf(name, sizeof(name), "%.*s", is_long ? (int)strcspn(text, "=") : 2, text);
    if (value == ':' && !is_long)
        snprintf(name, sizeof(name), "-%c", optopt);
    if (value == ':')
        snprintf(out, OCV_OPTION_TEXT_MAX, "%s needs %s", name, value_name(options, name, values));
    else if (value != '?' && ocv_option_swallows(argv))
        snprintf(out, OCV_OPTION_TEXT_MAX, "%s needs %s, got '%.*s'", name,
                 value_name(options, name, values), SHOWN, optarg);
    else if (value != '?')
        wrong_value(name, value_name(options, name, values), out);
    else if (value_unwanted(text))
        snprintf(out, OCV_OPTION_TEXT_MAX, "option '%s' takes no value", name);
    else if (optopt)
        snprintf(out, OCV_OPTION_TEXT_MAX, "unknown option '-%c'", optopt);
    else
        unknown(options->list, text, out);
    return out;
}
