/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/options.h"

#include "lib/base/text.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 64
#define SHOWN 100 /* characters of what was typed */
#define VALUE_MAX 96
#define COLUMN 27      /* where what the help says of an option begins */
#define LONG_FIRST 256 /* what getopt_long returns for the first row; below: letters */

void ocv_options_add(struct ocv_options *options, const struct ocv_option *table, void *into)
{
    for (; table->name || table->group; table++) {
        char *at = into ? (char *)into + (table->group ? table->offset : 0) : NULL;
        if (table->group)
            ocv_options_add(options, table->group, at);
        else if (options->n < OCV_OPTIONS_MAX) {
            options->list[options->n].row = table;
            options->list[options->n++].into = at;
        }
    }
}

int ocv_option_flag(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(bool *)given->into = true;
    return OCV_OK;
}

int ocv_option_text(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(const char **)given->into = given->value;
    return OCV_OK;
}

int ocv_option_stop(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)given;
    (void)err;
    return OCV_OPTION_STOP;
}

int ocv_option_add(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct ocv_option_list *list = given->into;
    if (list->n == OCV_OPTION_LIST_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u of --%s", OCV_OPTION_LIST_MAX,
                             given->option->name);
    list->texts[list->n++] = given->value;
    return OCV_OK;
}

int ocv_option_enum(const struct ocv_option_given *given, struct ocv_error *err)
{
    int word = ocv_option_word(given->option, given->value);
    (void)err;
    if (word < 0)
        return OCV_OPTION_WRONG;
    memcpy(given->into, &word, sizeof(word));
    return OCV_OK;
}

int ocv_option_text_word(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(const char **)given->into = given->value;
    return ocv_option_word(given->option, given->value) < 0 ? OCV_OPTION_WRONG : OCV_OK;
}

bool ocv_option_read_number(const char *text, unsigned least, unsigned most, unsigned *out)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    *out = (unsigned)n;
    return !*end && *text >= '0' && *text <= '9' && n >= least && n <= most;
}

int ocv_option_number(const struct ocv_option_given *given, struct ocv_error *err)
{
    const struct ocv_option *row = given->option;
    (void)err;
    return ocv_option_read_number(given->value, row->least, row->most, given->into)
               ? OCV_OK
               : OCV_OPTION_WRONG;
}

int ocv_option_word(const struct ocv_option *option, const char *value)
{
    const char *word = option->value;
    for (int i = 0;; i++) {
        size_t len = strcspn(word, "|");
        if (len == strlen(value) && !strncmp(word, value, len))
            return i;
        if (!word[len])
            return -1;
        word += len + 1;
    }
}

bool ocv_options_print(const struct ocv_options *options, FILE *out)
{
    bool all = true, brief = options->shown == OCV_OPTIONS_SHORT;
    for (size_t i = 0; i < options->n; i++) {
        const struct ocv_option *row = options->list[i].row;
        bool folded = row->flags & OCV_OPTION_FOLDED, more = row->flags & OCV_OPTION_MORE;
        if (!row->help)
            continue;
        if (!(brief                                ? !folded && !more
              : options->shown == OCV_OPTIONS_OWN  ? !folded
              : options->shown == OCV_OPTIONS_REST ? folded
                                                   : true)) {
            all = false;
            continue;
        }
        const char letter[] = {'-', row->letter, ',', ' ', '\0'};
        char names[160];
        if (row->names)
            snprintf(names, sizeof(names), "%s", row->names);
        else
            snprintf(names, sizeof(names), "%s--%s%s%s", row->letter ? letter : "", row->name,
                     row->value ? " " : "", row->value ? row->value : "");
        const char *line = row->help;
        int width = (int)strlen(names) + 2;
        bool alone = !*line || *line == '\n';
        fprintf(out, "  %s%*s", names, alone ? 0 : width < COLUMN ? COLUMN - width : 3, "");
        for (size_t len; *line; line += len) {
            len = strcspn(line, "\n");
            fwrite(line, 1, len, out);
            if (brief && len)
                break;
            if (line[len])
                fprintf(out, "\n%*s", COLUMN, "");
            len += line[len] != '\0';
        }
        fputc('\n', out);
        all = all && (!brief || !strchr(row->help + (*row->help == '\n'), '\n'));
    }
    return all;
}

/* The argument with the option in it. */
static const char *as_typed(char *const *argv)
{
    bool apart = optarg && optind > 1 && optarg == argv[optind - 1];
    const char *text = argv[optind - (apart ? 2 : 1)];
    return text ? text : "";
}

/* Of the option in it: "--name" or "-x". */
static int name_length(const char *text)
{
    return text[1] == '-' ? (int)strcspn(text, "=") : (int)strnlen(text, 2);
}

/* The line that names what was meant, if anything is near enough. */
static void set_meant(struct ocv_options *options, const struct ocv_nearest *nearest,
                      const char *what, const char *dashes)
{
    const char *meant = ocv_nearest_meant(nearest);
    if (meant)
        snprintf(options->meant, sizeof(options->meant), "The most similar %s is: %s%s", what,
                 dashes, meant);
}

static int unknown_option(struct ocv_options *options, const char *text, struct ocv_error *err)
{
    char name[NAME_MAX_LEN] = "";
    int len = (int)strcspn(text, "="); /* behind it may be a secret */
    if (!strncmp(text, "--", 2))
        snprintf(name, sizeof(name), "%.*s", len - 2, text + 2);
    struct ocv_nearest nearest = {.wanted = name};
    for (size_t i = 0; i < options->n; i++)
        if (!(options->list[i].row->flags & OCV_OPTION_HIDDEN))
            ocv_nearest_offer(&nearest, options->list[i].row->name);
    set_meant(options, &nearest, "option", "--");
    return ocv_error_set(err, OCV_ERR_INVALID, "unknown option '%.*s'", len < SHOWN ? len : SHOWN,
                         text);
}

/* What was meant is sought where the value is one of a list of words. */
static int wrong_value(struct ocv_options *options, const struct ocv_option *row, const char *text,
                       const char *value, struct ocv_error *err)
{
    char words[VALUE_MAX], may[VALUE_MAX];
    char *save = NULL;
    struct ocv_nearest nearest = {.wanted = value};
    snprintf(words, sizeof(words), "%s", row->value);
    bool list = strchr(words, '|') &&
                strspn(words, "abcdefghijklmnopqrstuvwxyz0123456789|-") == strlen(words);
    for (char *w = list ? strtok_r(words, "|", &save) : NULL; w; w = strtok_r(NULL, "|", &save))
        ocv_nearest_offer(&nearest, w);
    set_meant(options, &nearest, "value", "");
    if (row->most)
        snprintf(may, sizeof(may), "a number%s from %u to %u",
                 strcmp(row->value, "SECONDS") == 0 ? " of seconds" : "", row->least, row->most);
    else { /* "a, b or c" of "a|b|c" */
        const char *bars = row->value;
        may[0] = '\0';
        for (size_t len, n = 0; *bars && n < sizeof(may); bars += len + (bars[len] == '|')) {
            len = strcspn(bars, "|");
            const char *behind = !bars[len] ? "" : strchr(bars + len + 1, '|') ? ", " : " or ";
            n += (size_t)snprintf(may + n, sizeof(may) - n, "%.*s%s", (int)len, bars, behind);
        }
    }
    return ocv_error_set(err, OCV_ERR_INVALID, "invalid value '%.*s' for %.*s: %s", SHOWN, value,
                         name_length(text), text, may);
}

void ocv_options_report(const struct ocv_options *options, const struct ocv_error *err, FILE *out)
{
    fprintf(out, "%.*s: %s\n", (int)strcspn(options->command, " "), options->command, err->message);
    if (options->meant[0])
        fprintf(out, "%s\n", options->meant);
    if (err->hint[0])
        fprintf(out, "hint: %s\n", err->hint);
}

/* The place of the row that getopt_long means; options->n: none. */
static size_t find_row(const struct ocv_options *options, int value)
{
    size_t i = 0;
    if (value >= LONG_FIRST)
        return (size_t)(value - LONG_FIRST);
    while (i < options->n &&
           (!options->list[i].row->letter || options->list[i].row->letter != value))
        i++;
    return i;
}

static const char *value_name(const struct ocv_options *options, size_t i)
{
    return i < options->n && options->list[i].row->value ? options->list[i].row->value : "a value";
}

/* '?' and ':' of getopt_long. */
static int refuse_option(struct ocv_options *options, char *const *argv, int value,
                         struct ocv_error *err)
{
    const char *text = value == ':' ? argv[optind - 1] : as_typed(argv);
    const char *needed = value_name(options, find_row(options, optopt));
    int len = text ? (int)strcspn(text, "=") : 0;
    if (value == ':' && text && !strncmp(text, "--", 2))
        return ocv_error_set(err, OCV_ERR_INVALID, "%.*s needs %s", len, text, needed);
    if (value == ':')
        return ocv_error_set(err, OCV_ERR_INVALID, "-%c needs %s", optopt, needed);
    if (optopt >= LONG_FIRST)
        return ocv_error_set(err, OCV_ERR_INVALID, "option '%.*s' takes no value", len, text);
    if (optopt)
        return ocv_error_set(err, OCV_ERR_INVALID, "unknown option '-%c'", optopt);
    return unknown_option(options, text, err);
}

/* What is wrong with a known option before its row is asked. */
static int check_value(struct ocv_options *options, size_t i, char *const *argv,
                       struct ocv_error *err)
{
    const char *text = as_typed(argv);
    const struct ocv_option *row = options->list[i].row;
    /* has getopt_long given it the next option as its value ("--insecure --to oci:x")? What stands
     * behind "=" and a lone "-" are values. */
    if (optarg && optarg == argv[optind - 1] && optarg[0] == '-' && optarg[1])
        return ocv_error_set(err, OCV_ERR_INVALID, "%.*s needs %s, got '%.*s'", name_length(text),
                             text, value_name(options, i), SHOWN, optarg);
    bool shortened = !strncmp(text, "--", 2) && strcspn(text + 2, "=") < strlen(row->name);
    return row->flags & OCV_OPTION_FULL && shortened ? unknown_option(options, text, err) : OCV_OK;
}

int ocv_options_read(struct ocv_options *options, int argc, char **argv,
                     const struct ocv_option **stop, struct ocv_error *err)
{
    /* what getopt_long wants of the rows */
    struct option names[OCV_OPTIONS_MAX + 1] = {0};
    char letters[2 * OCV_OPTIONS_MAX + 2] = ":";
    size_t n = 1;
    int value, status = OCV_OK;
    for (size_t i = 0; i < options->n; i++) {
        const struct ocv_option *row = options->list[i].row;
        names[i].name = row->name;
        names[i].val = LONG_FIRST + (int)i;
        if (row->value || row->flags & OCV_OPTION_OPTIONAL)
            names[i].has_arg =
                row->flags & OCV_OPTION_OPTIONAL ? optional_argument : required_argument;
        if (row->letter) {
            letters[n++] = row->letter;
            if (row->value)
                letters[n++] = ':';
        }
    }
    *stop = NULL;
    while (status == OCV_OK && (value = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        size_t i = value == '?' || value == ':' ? options->n : find_row(options, value);
        status = i < options->n ? check_value(options, i, argv, err)
                                : refuse_option(options, argv, value, err);
        if (status < 0)
            break;
        const struct ocv_option *row = options->list[i].row;
        const struct ocv_option_given given = {
            .option = row, .value = optarg, .into = options->list[i].into + row->offset};
        if ((status = row->take(&given, err)) < 0)
            return status;
        if (status == OCV_OPTION_WRONG)
            status = wrong_value(options, row, as_typed(argv), optarg, err);
        *stop = status == OCV_OPTION_STOP ? row : NULL;
    }
    if (status < 0)
        ocv_error_hint(err, "%s --help", options->command);
    return status < 0 ? status : OCV_OK;
}
