/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/options.h"
#include "test/unit/core_util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct inner {
    bool deep;
    const char *file;
};

struct request {
    bool quiet;
    int level;
    struct ocv_option_list places;
    struct inner inner;
};

static int take_level(const struct ocv_option_given *given, struct ocv_error *err)
{
    int *level = given->into, word = ocv_option_word(given->option, given->value);
    (void)err;
    *level = word;
    return word < 0 ? OCV_OPTION_WRONG : OCV_OK;
}

static int take_stop(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)given;
    (void)err;
    return OCV_OPTION_STOP;
}

static const struct ocv_option inner_rows[] = {
    {.name = "deep", .help = "further down", OCV_OPTION_FLAG(struct inner, deep)},
    {.name = "file", .value = "FILE", .help = "one\ntwo", OCV_OPTION_TEXT(struct inner, file)},
    OCV_OPTIONS_END};

static const struct ocv_option rows[] = {
    {.name = "quiet", .letter = 'q', .help = "less", OCV_OPTION_FLAG(struct request, quiet)},
    {.name = "level",
     .letter = 'l',
     .value = "low|high",
     .names = "--level, -l",
     .help = "\nof it",
     OCV_OPTION_MEMBER(take_level, struct request, level)},
    {.name = "place", .value = "PLACE", OCV_OPTION_LIST(struct request, places)},
    {.group = inner_rows, .offset = offsetof(struct request, inner)},
    {.name = "key",
     .value = "FILE",
     .help = "secret",
     .flags = OCV_OPTION_FULL,
     OCV_OPTION_TEXT(struct request, inner.file)},
    {.name = "kay", .flags = OCV_OPTION_HIDDEN, OCV_OPTION_FLAG(struct request, quiet)},
    {.name = "a-very-long-name-of-an-option", .value = "V", .help = "text", OCV_OPTION_CALL(NULL)},
    {.name = "rare",
     .help = "seldom",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct request, quiet)},
    {.name = "stop", .help = "", OCV_OPTION_CALL(take_stop)},
    OCV_OPTIONS_END};

#define ARGUMENTS_MAX 600

/* Arguments as one text, parted by blanks. */
struct run {
    struct request request;
    struct ocv_options options;
    const struct ocv_option *stop;
    struct ocv_error err;
    char *argv[ARGUMENTS_MAX], *text;
    int argc, status;
};

static void run(struct run *r, const char *text)
{
    char *save = NULL;
    *r = (struct run){.options = {.command = "tool verb"}, .text = strdup(text)};
    for (char *w = strtok_r(r->text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        r->argv[r->argc++] = w;
    ocv_options_add(&r->options, rows, &r->request);
    optind = 0; /* glibc: start from the beginning */
    r->status = ocv_options_read(&r->options, r->argc, r->argv, &r->stop, &r->err);
}

static void expect(const char *text, const char *message, const char *meant)
{
    struct run r;
    run(&r, text);
    ck_assert_int_eq(r.status, OCV_ERR_INVALID);
    ck_assert_str_eq(r.err.message, message);
    ck_assert_str_eq(r.options.meant, meant);
    ck_assert_str_eq(r.err.hint, "tool verb --help");
    free(r.text);
}

START_TEST(values)
{
    struct run r;
    run(&r, "tool -q --lev=high --place a argument --place b --deep --file=-x -- --quiet");
    ck_assert_int_eq(r.status, OCV_OK);
    ck_assert(r.request.quiet && r.request.inner.deep);
    ck_assert_int_eq(r.request.level, 1);
    ck_assert_uint_eq(r.request.places.n, 2);
    ck_assert_str_eq(r.request.places.texts[1], "b");
    ck_assert_str_eq(r.request.inner.file, "-x");
    ck_assert_str_eq(r.argv[optind], "argument");
    ck_assert_str_eq(r.argv[optind + 1], "--quiet");
    free(r.text);
}
END_TEST

START_TEST(wrong_ones)
{
    expect("tool --qiet", "unknown option '--qiet'", "The most similar option is: --quiet");
    expect("tool --zzz=secret", "unknown option '--zzz'", "");
    expect("tool -z", "unknown option '-z'", "");
    expect("tool --quiet=1", "option '--quiet' takes no value", "");
    expect("tool --level", "--level needs low|high", "");
    expect("tool -l", "-l needs low|high", "");
    expect("tool --file --quiet", "--file needs FILE, got '--quiet'", "");
    expect("tool --level hihg", "invalid value 'hihg' for --level: low or high",
           "The most similar value is: high");
    expect("tool -l x", "invalid value 'x' for -l: low or high", "");
    /* a shortened secret's option is none; a hidden one is never offered */
    expect("tool --ke x", "unknown option '--ke'", "The most similar option is: --key");
    expect("tool --kayy", "unknown option '--kayy'", "");
}
END_TEST

START_TEST(stops)
{
    struct run r;
    run(&r, "tool --quiet --stop --nonsense");
    ck_assert_int_eq(r.status, OCV_OK);
    ck_assert_str_eq(r.stop->name, "stop");
    ck_assert(r.request.quiet);
    free(r.text);
}
END_TEST

START_TEST(list_limit)
{
    struct run r;
    char text[11 * ARGUMENTS_MAX];
    int at = snprintf(text, sizeof(text), "tool");
    for (unsigned i = 0; i < OCV_OPTION_LIST_MAX; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, " --place=x");
    run(&r, text);
    ck_assert_int_eq(r.status, OCV_OK);
    ck_assert_uint_eq(r.request.places.n, OCV_OPTION_LIST_MAX);
    free(r.text);
    snprintf(text + at, sizeof(text) - (size_t)at, " --place=x");
    run(&r, text);
    ck_assert_int_eq(r.status, OCV_ERR_INVALID);
    ck_assert_str_eq(r.err.message, "more than 256 of --place");
    free(r.text);
}
END_TEST

/* The help's lines; `whole`: whether it has all of them. */
static char *print_help(enum ocv_options_shown shown, const struct ocv_option *table, bool *whole)
{
    struct ocv_options options = {.shown = shown};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ocv_options_add(&options, table, NULL);
    *whole = ocv_options_print(&options, out);
    fclose(out);
    return text;
}

START_TEST(help)
{
    static const char wanted[] = "  -q, --quiet              less\n"
                                 "  --level, -l\n"
                                 "                           of it\n"
                                 "  --deep                   further down\n"
                                 "  --file FILE              one\n"
                                 "                           two\n"
                                 "  --key FILE               secret\n"
                                 "  --a-very-long-name-of-an-option V   text\n"
                                 "  --rare                   seldom\n"
                                 "  --stop\n";
    bool whole;
    char *text = print_help(OCV_OPTIONS_OWN, rows, &whole);
    ck_assert_str_eq(text, wanted);
    ck_assert(whole);
    free(text);
}
END_TEST

/* One line of each, and none of a rare one. */
START_TEST(short_help)
{
    static const char wanted[] = "  -q, --quiet              less\n"
                                 "  --level, -l\n"
                                 "                           of it\n"
                                 "  --deep                   further down\n"
                                 "  --file FILE              one\n"
                                 "  --key FILE               secret\n"
                                 "  --a-very-long-name-of-an-option V   text\n"
                                 "  --stop\n";
    static const struct ocv_option plain[] = {
        {.name = "quiet", .help = "less", OCV_OPTION_FLAG(struct request, quiet)}, OCV_OPTIONS_END};
    bool whole;
    char *text = print_help(OCV_OPTIONS_SHORT, rows, &whole);
    ck_assert_str_eq(text, wanted);
    ck_assert(!whole);
    free(text);
    text = print_help(OCV_OPTIONS_SHORT, inner_rows + 1, &whole);
    ck_assert_str_eq(text, "  --file FILE              one\n");
    ck_assert(!whole);
    free(text);
    text = print_help(OCV_OPTIONS_SHORT, plain, &whole);
    ck_assert_str_eq(text, "  --quiet                  less\n");
    ck_assert(whole);
    free(text);
}
END_TEST

RUN_TESTS("options", values, wrong_ones, stops, list_limit, help, short_help)
