/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/common/progress/format.c: numbers and progress lines as text. */
#include "cmd/common/progress/progress_internal.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <string.h>

static const struct {
    int64_t bytes;
    const char *text;
} byte_cases[] = {
    {0, "0 B"},
    {999, "999 B"},
    {1000, "1.00 kB"},
    {9994, "9.99 kB"},
    {9996, "10.0 kB"},
    {99949, "99.9 kB"},
    {99950, "100 kB"},
    {999499, "999 kB"},
    {999500, "1.00 MB"},
    {27100000, "27.1 MB"},
    {1200000000, "1.20 GB"},
    {5100000000000, "5.10 TB"},
    {INT64_MAX, "9.22 EB"},
    {-1, "?"},
};

START_TEST(test_bytes)
{
    char out[FORMAT_NUMBER_MAX];

    ck_assert_str_eq(format_bytes(byte_cases[_i].bytes, out), byte_cases[_i].text);
}
END_TEST

static const struct {
    int64_t seconds;
    const char *text;
} duration_cases[] = {
    {0, "0s"},         {59, "59s"},      {60, "1m00s"},    {3599, "59m59s"},  {3600, "1h00m"},
    {86399, "23h59m"}, {86400, "1d00h"}, {90000, "1d01h"}, {2000000000, "?"},
};

START_TEST(test_duration)
{
    char out[128], end[32];
    const struct layer_line line = {.id = "x",
                                    .state = LAYER_DOWNLOADING,
                                    .size = 1000 * duration_cases[_i].seconds,
                                    .rate = 1000};

    format_layer_line(&line, 80, out, sizeof(out));
    snprintf(end, sizeof(end), "  %s left", duration_cases[_i].text);
    ck_assert_str_eq(out + strlen(out) - strlen(end), end);
}
END_TEST

START_TEST(test_short_digest)
{
    char out[16];

    ck_assert_str_eq(format_short_digest("sha256:0123456789abcdef0123", out), "0123456789ab");
    ck_assert_str_eq(format_short_digest("0123456789abcdef", out), "0123456789ab");
    ck_assert_str_eq(format_short_digest("abc", out), "abc");
    ck_assert_str_eq(format_short_digest("", out), "");
}
END_TEST

START_TEST(test_line)
{
    struct layer_line line = {.id = "0123456789ab",
                              .state = LAYER_DOWNLOADING,
                              .done = 50000000,
                              .size = 100000000,
                              .rate = 10000000};
    char out[256];

    format_layer_line(&line, 100, out, sizeof(out));
    ck_assert_ptr_nonnull(strstr(out, "0123456789ab: downloading"));
    ck_assert_ptr_nonnull(strstr(out, "]  50%"));
    ck_assert_ptr_nonnull(strstr(out, "50.0 MB/100 MB  10.0 MB/s  5s left"));
    line.rate = 0;
    format_layer_line(&line, 100, out, sizeof(out));
    ck_assert_ptr_nonnull(strstr(out, "50.0 MB/100 MB"));
    ck_assert_ptr_null(strstr(out, "left"));
    line.size = -1;
    format_layer_line(&line, 100, out, sizeof(out));
    ck_assert_str_eq(out, "0123456789ab: downloading  50.0 MB");
    line = (struct layer_line){.id = "0123456789ab", .state = LAYER_CACHED, .done = 5, .size = 5};
    format_layer_line(&line, 100, out, sizeof(out));
    ck_assert_str_eq(out, "0123456789ab: already here 5 B");
}
END_TEST

static const struct {
    struct layer_line line;
    const char *text;
} word_cases[] = {
    {{"x", LAYER_WAITING, 0, 2000, 0, 9, 0}, "x: waiting      2.00 kB"},
    {{"x", LAYER_DOWNLOADED, 2000, 2000, 0, 9, 0}, "x: downloaded   2.00 kB"},
    {{"x", LAYER_DOWNLOADING, 500, 2000, 70, 30, 12}, "x: downloading  500 B/2.00 kB  stalled 12s"},
    {{"x", LAYER_DOWNLOADING, 500, -1, 70, 30, 12}, "x: downloading  500 B  stalled 12s"},
    {{"x", LAYER_DOWNLOADING, 500, 2000, 0, 1, 0}, "x: downloading  500 B/2.00 kB"},
    {{"x", LAYER_EXTRACTING, -1, 2000, 0, 75, 0}, "x: extracting   1m15s"},
};

START_TEST(test_words)
{
    char out[256];

    format_layer_line(&word_cases[_i].line, 44, out, sizeof(out)); /* too narrow for a bar */
    ck_assert_str_eq(out, word_cases[_i].text);
}
END_TEST

/* A bar is full only when every byte is there, and no line is wider than the terminal. */
/* On a narrow terminal the rate goes first, then the sizes. */
START_TEST(test_narrow_lines)
{
    struct layer_line line = {.id = "0123456789ab",
                              .state = LAYER_DOWNLOADING,
                              .done = 1360000,
                              .size = 12600000,
                              .rate = 330000};
    static const struct {
        unsigned width;
        const char *end;
    } cases[] = {{64, "1.36 MB/12.6 MB  330 kB/s  34s left"},
                 {59, "1.36 MB/12.6 MB  34s left"},
                 {39, " 34s left"},
                 {33, " 10%"}};
    char out[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        format_layer_line(&line, cases[i].width, out, sizeof(out));
        size_t len = strlen(out), end = strlen(cases[i].end);
        ck_assert_uint_le(len, cases[i].width);
        ck_assert_str_eq(out + len - end, cases[i].end);
    }
    line.rate = 0;
    format_layer_line(&line, 39, out, sizeof(out));
    ck_assert_str_eq(out, "0123456789ab: downloading  10%");
    line.stalled = 7;
    format_layer_line(&line, 39, out, sizeof(out));
    ck_assert_str_eq(out, "0123456789ab: downloading  stalled 7s");
}
END_TEST

START_TEST(test_line_bounds)
{
    struct layer_line line = {.id = "0123456789ab",
                              .state = LAYER_DOWNLOADING,
                              .done = 999999,
                              .size = 1000000,
                              .rate = 1};
    char out[256];

    for (unsigned width = 20; width < 200; width++) {
        format_layer_line(&line, width, out, sizeof(out));
        ck_assert_uint_le(strlen(out), width);
        ck_assert_ptr_null(strstr(out, "100%"));
    }
    line.done = 2000000; /* an engine may say more than it announced */
    format_layer_line(&line, 120, out, sizeof(out));
    ck_assert_ptr_nonnull(strstr(out, "100%"));
    line = (struct layer_line){.id = "0123456789ab", .state = LAYER_EXTRACTING};
    format_layer_line(&line, 120, out, sizeof(out));
    ck_assert_ptr_nonnull(strstr(out, "100%"));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("progress_format");
    TCase *tcase = tcase_create("progress_format");

    tcase_add_loop_test(tcase, test_bytes, 0, sizeof(byte_cases) / sizeof(byte_cases[0]));
    tcase_add_loop_test(tcase, test_duration, 0,
                        sizeof(duration_cases) / sizeof(duration_cases[0]));
    tcase_add_test(tcase, test_short_digest);
    tcase_add_test(tcase, test_line);
    tcase_add_loop_test(tcase, test_words, 0, sizeof(word_cases) / sizeof(word_cases[0]));
    tcase_add_test(tcase, test_line_bounds);
    tcase_add_test(tcase, test_narrow_lines);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
